"""What a reader does with a model of numbers: which assumption matters, how sure the answer
is, and what would make it so.

The page's script (`static/analysis.js`) follows the same rules with the same random numbers,
so that both give the same answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .declare import Assume, EstimateError
from .expression import TOLERANCE, run
from .units import format_value

if TYPE_CHECKING:
    import pandas

    from .estimate import Estimate

STEP = 0.2
"""How far an assumption without a plausible band is moved to either side, as a share."""
DRAWS, SEED = 10_000, 7
POINTS = 401
"""How many values of a continuous assumption `solve` tries; whole numbers are tried all, up to
as many."""
QUANTILES = (0.1, 0.5, 0.9)
_PIECES, _ROUNDS = 32, 12
"""An edge is sought in so many pieces a round: an array costs little more than a number."""


# --- what matters most ----------------------------------------------------------------------


def ends(a: Assume, value: float, step: float) -> tuple[float, float]:
    """Low and high to which an assumption is moved around `value`."""
    if a.band is not None and a.band[0] <= value <= a.band[1]:
        low, high = a.band
    elif value == 0:
        low, high = step * min(a.low, 0.0), step * max(a.high, 0.0)
    else:
        low, high = sorted((value * (1 - step), value * (1 + step)))
    if a.integer:  # one up and one down at least
        low, high = min(math.floor(low + 0.5), value - 1), max(math.floor(high + 0.5), value + 1)
    return max(low, a.low), min(high, a.high)


def sensitivity(
    estimate: Estimate, output: str, step: float, assumptions: Mapping[str, Any]
) -> pandas.DataFrame:
    """See `Estimate.sensitivity`."""
    import pandas as pd

    gives = estimate.known(output, estimate.outputs, "result")
    if gives.boolean:
        raise EstimateError(
            f"{estimate.name}.{output} is a verdict: ask uncertainty() or solve() about it, "
            "or name a result that is a number."
        )
    if not 0 < step < 1:
        raise EstimateError(f"step = {step!r} must lie between 0 and 1, such as {STEP}.")
    base = _scalars(estimate, assumptions)
    moved = {name: ends(a, base[name], step) for name, a in estimate.assumptions.items()}
    inputs = {name: np.full(2 * len(base), value) for name, value in base.items()}
    for i, name in enumerate(base):
        inputs[name][2 * i : 2 * i + 2] = moved[name]
    at = _results(estimate, output, inputs, 2 * len(base)).astype(float).reshape(-1, 2)
    frame = pd.DataFrame(
        {
            "assumption": list(base),
            "low": [low for low, _ in moved.values()],
            "high": [high for _, high in moved.values()],
            "at_low": at[:, 0],
            "at_high": at[:, 1],
            "spread": np.abs(at[:, 1] - at[:, 0]),
        }
    )
    order = np.argsort(-frame["spread"].to_numpy(), kind="stable")
    return frame.iloc[order].reset_index(drop=True)


def _scalars(estimate: Estimate, assumptions: Mapping[str, Any]) -> dict[str, float]:
    values = estimate.values(assumptions)
    for name, value in values.items():
        if np.ndim(value):
            raise EstimateError(f"{estimate.name}: {name} must be one number here, not an array.")
    return {name: float(value) for name, value in values.items()}


def _results(estimate: Estimate, output: str, inputs: Mapping[str, Any], count: int) -> np.ndarray:
    """One result for `count` sets of assumptions; the others are not computed."""
    return np.broadcast_to(run([estimate.nodes[output]], inputs)[0], count)


# --- how sure -------------------------------------------------------------------------------


def uniform(count: int, seed: int) -> np.ndarray:
    """`count` numbers between 0 and 1, the same in Python and on the page (mulberry32).

    The generator's state is a counter, so all its values can be computed at once.
    """
    word = np.uint64(0xFFFFFFFF)
    t = (np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x6D2B79F5) + np.uint64(seed)) & word
    mixed = (t ^ (t >> np.uint64(15))) * (t | np.uint64(1)) & word
    mixed ^= (mixed + ((mixed ^ (mixed >> np.uint64(7))) * (mixed | np.uint64(61)) & word)) & word
    return ((mixed ^ (mixed >> np.uint64(14))) & word).astype(float) / 2.0**32


def drawn(estimate: Estimate, base: Mapping[str, float], draws: int, seed: int):
    """`draws` values of each assumption that has a plausible band.

    Triangular between the band's ends with its peak at today's value. A value outside its band
    takes the band along. What follows another assumption shares its random numbers.
    """
    unsure = [name for name, a in estimate.assumptions.items() if a.band is not None]
    leaders = [name for name in unsure if not estimate.assumptions[name].follows]
    numbers = dict(
        zip(leaders, uniform(draws * len(leaders), seed).reshape(draws, -1).T, strict=True)
    )
    result = {}
    for name in unsure:
        a = estimate.assumptions[name]
        leader = a.follows.removeprefix("-") or name
        if leader not in numbers:
            raise EstimateError(f"{estimate.name}: {name} follows {leader}, which is not drawn.")
        u = 1 - numbers[leader] if a.follows.startswith("-") else numbers[leader]
        result[name] = _triangle(a, base[name], u)
    return result


def _triangle(a: Assume, value: float, u: np.ndarray) -> np.ndarray:
    assert a.band is not None
    outside = not a.band[0] <= value <= a.band[1]
    moved = value / a.default if outside and a.default else 1.0
    low, high = max(a.low, a.band[0] * moved), min(a.high, a.band[1] * moved)
    low, high = min(low, value), max(high, value)
    if low == high:
        return np.full(len(u), value)
    cut = (value - low) / (high - low)
    below = low + np.sqrt(u * (high - low) * (value - low))
    above = high - np.sqrt((1 - u) * (high - low) * (high - value))
    found = np.where(u < cut, below, above)
    return np.floor(found + 0.5) if a.integer else found


def uncertainty(
    estimate: Estimate, draws: int, seed: int, assumptions: Mapping[str, Any]
) -> pandas.DataFrame:
    """See `Estimate.uncertainty`."""
    import pandas as pd

    if not (isinstance(draws, int) and draws >= 100):
        raise EstimateError(f"draws = {draws!r}: take a whole number, 100 at least.")
    if not (isinstance(seed, int) and 0 <= seed < 2**32):
        raise EstimateError(f"seed = {seed!r}: take a whole number from 0 to {2**32 - 1}.")
    base = _scalars(estimate, assumptions)
    unsure = drawn(estimate, base, draws, seed)
    inputs: dict[str, Any] = {**base, **unsure}
    bought = run([estimate.nodes[name] for name in estimate.decisions], base)
    held = estimate.verdicts_held(dict(zip(estimate.decisions, bought, strict=True)), inputs)
    rows = []
    for name, gives in estimate.outputs.items():
        if gives.boolean:
            share = float(np.mean(np.broadcast_to(held[name], draws)))
            rows.append({"result": name, "share": share})
        elif gives.headline:
            values = np.sort(_results(estimate, name, inputs, draws).astype(float))
            at = [float(values[math.floor(q * (draws - 1))]) for q in QUANTILES]
            rows.append({"result": name, **dict(zip(("p10", "p50", "p90"), at, strict=True))})
    return pd.DataFrame(rows, columns=["result", "p10", "p50", "p90", "share"]).set_index("result")


# --- solve for ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """What a number shall be: "at most", "at least" or exactly "reaches" a value."""

    kind: str
    value: float


def at_most(value: float) -> Target:
    """A target for `Estimate.solve`: the result shall not exceed `value`."""
    return Target("at most", float(value))


def at_least(value: float) -> Target:
    """A target for `Estimate.solve`: the result shall not fall below `value`."""
    return Target("at least", float(value))


@dataclass(frozen=True)
class Solution:
    """What `Estimate.solve` found.

    already: it holds at the values given. value: the one nearest to today's, None where none in
    the range does it. ranges: every stretch that does it. nearest_miss: where none does, the
    value at which the result comes closest, and the result there.
    """

    assumption: str
    wanted: str
    already: bool
    value: float | None
    ranges: tuple[tuple[float, float], ...]
    nearest_miss: tuple[float, Any] | None
    words: str

    def __repr__(self) -> str:
        return self.words


def solve(estimate: Estimate, for_: str, wanted: Mapping[str, Any]) -> Solution:
    """See `Estimate.solve`."""
    a = estimate.known(for_, estimate.assumptions, "assumption")
    targets = {k: v for k, v in wanted.items() if k not in estimate.assumptions}
    given = {k: v for k, v in wanted.items() if k in estimate.assumptions}
    for name in targets:
        estimate.known(name, estimate.outputs, "assumption or result")
    if len(targets) != 1:
        example = next(iter(estimate.headlines or estimate.outputs))
        raise EstimateError(
            f"{estimate.name}.solve() takes one result to reach, such as "
            f"{example}=at_most(…), not {', '.join(targets) or 'none'}."
        )
    ((output, target),) = targets.items()
    holds, miss = _condition(estimate, output, target)
    base = _scalars(estimate, given)
    today = base[for_]
    tried = np.union1d(_points(a), [today])
    at = lambda v: _results(estimate, output, {**base, for_: v}, len(v))  # noqa: E731
    results = at(tried)
    if _is_number(target):
        ranges, already = _reached(a, tried, results, float(target), at, today)
    else:
        yes = holds(results)
        ranges = _stretches(tried, yes, lambda v: holds(at(v)), a.integer)
        already = bool(yes[np.searchsorted(tried, today)])
    value = today if already else _nearest(a, today, [v for pair in ranges for v in pair])
    closest = None
    if not ranges and miss is not None:
        best = int(np.argmin(miss(results.astype(float))))
        closest = (float(tried[best]), float(results[best]))
    words = _answer(estimate, a, output, target, value, ranges, closest)
    return Solution(for_, output, already, value, tuple(ranges), closest, words)


def _is_number(target: Any) -> bool:
    return isinstance(target, (int, float)) and not isinstance(target, bool)


def _points(a: Assume) -> np.ndarray:
    if a.integer and a.high - a.low < POINTS:
        return np.arange(a.low, a.high + 1)
    t = np.linspace(0, 1, POINTS)
    found = a.low * (a.high / a.low) ** t if a.log else a.low + (a.high - a.low) * t
    found[0], found[-1] = a.low, a.high
    return np.unique(np.floor(found + 0.5)) if a.integer else found


def _condition(estimate: Estimate, output: str, target: Any):
    """Which of some results are as wanted, and how far each misses it (None for a verdict)."""
    boolean = estimate.outputs[output].boolean
    if boolean != isinstance(target, bool):
        kind = "a verdict: give True or False" if boolean else "a number: give one, or at_most(…)"
        raise EstimateError(f"{estimate.name}.{output} is {kind}, not {target!r}.")
    if boolean:
        return (lambda r: np.asarray(r, dtype=bool) == target), None
    value = target.value if isinstance(target, Target) else target
    if not _is_number(value) or not math.isfinite(value):
        raise EstimateError(f"{estimate.name}.{output} = {target!r} is not a number to reach.")
    slack = TOLERANCE * abs(value)
    if not isinstance(target, Target):
        return (lambda r: np.abs(r - value) <= slack), (lambda r: np.abs(r - value))
    if target.kind == "at most":
        return (lambda r: r <= value + slack), (lambda r: r - value)
    return (lambda r: r >= value - slack), (lambda r: value - r)


Holds = Callable[[np.ndarray], np.ndarray]


def _stretches(
    tried: np.ndarray, yes: np.ndarray, holds: Holds, whole: bool
) -> list[tuple[float, float]]:
    """Runs of tried values that do it, and where between two of them they end; results are not
    monotone."""
    ranges, start, last = [], 0.0, len(yes) - 1
    for i in np.flatnonzero(yes):
        if i == 0 or not yes[i - 1]:
            start = tried[i] if i == 0 else _edge(tried[i - 1], tried[i], holds, whole)
        if i == last or not yes[i + 1]:
            end = tried[i] if i == last else _edge(tried[i + 1], tried[i], holds, whole)
            ranges.append((float(start), float(end)))
    return ranges


def _edge(out: float, inside: float, holds: Holds, whole: bool) -> float:
    """The last value from `inside` towards `out` that still does it."""
    for _ in range(_ROUNDS):
        between = inside + (out - inside) * np.arange(1, _PIECES) / _PIECES
        if whole:
            between = np.array(list(dict.fromkeys(np.floor(between + 0.5))))
        between = between[(between != out) & (between != inside)]
        if not len(between):
            break
        first_out = int(np.argmin(np.append(holds(between), False)))
        steps = [inside, *between, out]
        inside, out = steps[first_out], steps[first_out + 1]
    return float(inside)


def _reached(
    a: Assume,
    tried: np.ndarray,
    results: np.ndarray,
    target: float,
    at: Callable[[np.ndarray], np.ndarray],
    today: float,
) -> tuple[list[tuple[float, float]], bool]:
    """Where a result equals a number, be it at a point or over a stretch, and whether it does
    today. A result that jumps over the number does not reach it."""
    slack = max(TOLERANCE * abs(target), 1e-12 * float(np.max(np.abs(results))))
    equal = lambda r: np.abs(r - target) <= slack  # noqa: E731
    yes = equal(results)
    found: list[tuple[float, float]] = []
    for low, high in _stretches(tried, yes, lambda v: equal(at(v)), a.integer):
        point = not a.integer and _place(a, high) - _place(a, low) < 1e-4
        found.append(((low + high) / 2, (low + high) / 2) if point else (low, high))
    for i in range(1, len(tried)):
        before, after = results[i - 1], results[i]
        if yes[i - 1] or yes[i] or (before - target) * (after - target) > 0:
            continue
        side = 1 if after > target else -1
        beyond = lambda v, side=side: side * (at(v) - target) >= 0  # noqa: E731
        edge = _edge(tried[i - 1], tried[i], beyond, a.integer)
        off = abs(float(at(np.array([edge]))[0]) - target)
        if off <= slack or (not a.integer and off <= 1e-6 * abs(after - before)):
            found.append((edge, edge))
    return sorted(found), bool(yes[np.searchsorted(tried, today)])


def _place(a: Assume, value: float) -> float:
    """Where a value stands on its slider, 0 to 1."""
    if a.log:
        return math.log(value / a.low) / math.log(a.high / a.low)
    return (value - a.low) / (a.high - a.low)


def _nearest(a: Assume, today: float, values: list[float]) -> float | None:
    here = _place(a, today)
    return min(values, key=lambda v: abs(_place(a, v) - here)) if values else None


def _answer(
    estimate: Estimate,
    a: Assume,
    output: str,
    target: Any,
    value: float | None,
    ranges: list[tuple[float, float]],
    closest: tuple[float, float] | None,
) -> str:
    """The answer as a sentence, in English, with what it rests on."""
    gives = estimate.outputs[output]
    if isinstance(target, Target):
        goal = f"{output} {target.kind} {format_value(gives.display, target.value)}"
    elif isinstance(target, bool):
        goal = f"{output} {'yes' if target else 'no'}"
    else:
        goal = f"{output} = {format_value(gives.display, target)}"
    show = lambda v: format_value(a.display, v)  # noqa: E731
    if value is None:
        miss = ""
        if closest is not None:
            miss = f"; nearest: {format_value(gives.display, closest[1])} at {show(closest[0])}"
        return f"{goal}: no {a.name} from {show(a.low)} to {show(a.high)} does it{miss}"
    stretches = ", ".join(
        show(low) if show(low) == show(high) else f"{show(low)} to {show(high)}"
        for low, high in ranges
    )
    return f"{goal}: {a.name} = {show(value)} (does it: {stretches})"
