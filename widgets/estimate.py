"""Estimates: a function of named assumptions that gives named results.

`@estimate` traces the author's function once. The object it returns can be called with
numbers or arrays, swept, printed as JavaScript or as a formula, and checked for units.
"""

from __future__ import annotations

import difflib
import inspect
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from . import javascript, mathematics
from .expression import ExpressionError, Node, as_node, assumption, run
from .language import translate
from .tables import Row, row
from .units import Display, atoms, display_for, format_value, quantity, registry, split_value

GROUPS = ("workload", "model", "hardware", "targets", "method")


class EstimateError(ValueError):
    """An estimate is declared wrongly, or called with what it cannot take."""


# --- where a number comes from --------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """Why an assumption has its default: "row", "rounded", "given" or "judgement"."""

    kind: str
    text: str
    row: Row | None = None


given = Source("given", "")


def from_row(path: str) -> Source:
    """The default is exactly the value of a row in the data tables."""
    return Source("row", "", row(path))


def rounded(path: str) -> Source:
    """The default is a row's value, rounded for the whiteboard (within 3%)."""
    return Source("rounded", "", row(path))


def judgement(reason: str) -> Source:
    """No table has it; `reason` says why this value is taken."""
    if not reason.strip():
        raise EstimateError("judgement() needs the reason for the value.")
    return Source("judgement", reason)


# --- what an author declares ----------------------------------------------------------------


@dataclass(frozen=True)
class Assume:
    """An assumption: default, unit and range in base units, and where the default comes from.

    show: "%" or "×" for a bare number, or the one unit label to keep to (such as "ms").
    suggested_by: a result that derives this value; the panel offers it, and never overrides.
    Raises EstimateError when the default lies outside the range or the source is missing.
    """

    default: float
    unit: str
    low: float
    high: float
    label: str = ""
    source: Source | None = None
    log: bool = False
    integer: bool = False
    meaning: str = ""
    group: str = "workload"
    show: str = ""
    digits: int | None = None
    suggested_by: str | None = None
    name: str = ""

    @property
    def scale(self) -> str:
        """ "log", "integer" or "linear"."""
        return "integer" if self.integer else "log" if self.log else "linear"

    @property
    def display(self) -> Display:
        return display_for(self.unit, show=self.show, digits=self.digits)

    def __float__(self) -> float:
        return float(self.default)

    def check(self) -> None:
        """Raises EstimateError that says what to mend."""
        atoms(self.unit)
        if not self.label:
            raise EstimateError(f"Assumption {self.name!r} needs a label for the reader.")
        if self.source is None:
            raise EstimateError(
                f"Assumption {self.name!r} = {self.default:g} has no source: give source=given, "
                "from_row(…), rounded(…) or judgement(reason)."
            )
        if not self.low < self.high:
            raise EstimateError(
                f"Assumption {self.name!r}: low {self.low:g} is not below high {self.high:g}."
            )
        if self.log and self.low <= 0:
            raise EstimateError(f"Assumption {self.name!r}: a log scale needs low above zero.")
        if self.group not in GROUPS:
            raise EstimateError(
                f"Assumption {self.name!r}: group {self.group!r} is none of {', '.join(GROUPS)}."
            )
        if not self.low <= self.default <= self.high:
            raise EstimateError(
                f"Assumption {self.name!r}: the default {self.default:g} is outside its range "
                f"{self.low:g} to {self.high:g}{' ' + self.unit if self.unit else ''}."
            )
        self._check_row()

    def _check_row(self) -> None:
        source = self.source
        if source is None or source.row is None:
            return
        slack = 0.03 if source.kind == "rounded" else 1e-9
        if abs(self.default - source.row.value) > slack * abs(source.row.value):
            raise EstimateError(
                f"Assumption {self.name!r} = {self.default:g} is not within {slack:.0%} of "
                f"{source.row.path} = {source.row.value:g}."
            )


@dataclass(frozen=True)
class Gives:
    """A result: an expression, its unit and label, and how it is shown.

    verdict: (words when true, words when false); placeholders such as {total_gpus} are filled.
    alarm: true is the bad case, and carries the warning sign.
    headline: one of the one to three large numbers. detail: folded away at first.
    """

    value: Any
    unit: str
    label: str
    digits: int | None = None
    style: str | None = None
    show: str = ""
    binary: bool = False
    meaning: str = ""
    headline: bool = False
    detail: bool = False
    signed: bool = False
    verdict: tuple[str, str] | None = None
    alarm: bool = False
    name: str = ""

    @property
    def boolean(self) -> bool:
        return self.verdict is not None

    @property
    def display(self) -> Display:
        return display_for(
            self.unit, show=self.show, digits=self.digits, style=self.style, binary=self.binary
        )


@dataclass(frozen=True)
class Series:
    """Values over the steps of a scan, for figures only."""

    value: Node
    unit: str
    label: str


@dataclass(frozen=True)
class Requires:
    """A constraint between assumptions. Broken, it never raises: a verdict names it.

    otherwise: what to tell the reader; placeholders such as {nodes} are filled.
    """

    condition: Any
    otherwise: str


class Results:
    """What an estimate's function returns: constraints first, then named results."""

    def __init__(self, *requires: Requires, **gives: Gives | Series):
        self.requires = requires
        self.gives = {k: v for k, v in gives.items() if isinstance(v, Gives)}
        self.series = {k: v for k, v in gives.items() if isinstance(v, Series)}


@dataclass(frozen=True)
class Preset:
    """Values that belong together. A measured preset takes its values from rows only.

    values: assumption → number or row path. note: what it is; placeholders are filled.
    """

    key: str
    label: str
    values: Mapping[str, float | str]
    note: str = ""
    measured: bool = True

    def numbers(self) -> dict[str, float]:
        return {k: row(v).value if isinstance(v, str) else float(v) for k, v in self.values.items()}


# --- calling --------------------------------------------------------------------------------


class Result(Mapping[str, Any]):
    """Results of one evaluation, by key or by attribute; prints as a table."""

    def __init__(self, estimate: Estimate, assumptions: dict[str, Any], values: dict[str, Any]):
        self._estimate = estimate
        self._values = values
        self.assumptions = assumptions

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise KeyError(_unknown(name, self._values, f"{self._estimate.name} gives no"))
        return self._values[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def table(self) -> list[tuple[str, str, str, str]]:
        """Name, label, number and unit of each result, as text in the page's language."""
        lines = []
        for name, gives in self._estimate.outputs.items():
            value = self._values[name]
            if np.ndim(value):
                number, unit = f"{np.size(value)} values", gives.unit
            elif gives.boolean:
                number, unit = translate("yes") if value else translate("no"), ""
            else:
                number, unit = split_value(gives.display, value)
            lines.append((name, translate(gives.label), number, unit))
        return lines

    def __repr__(self) -> str:
        rows = self.table()
        wide = [max(len(r[k]) for r in rows) for k in range(4)]
        return "\n".join(
            f"{name:<{wide[0]}}  {number:>{wide[2]}} {unit:<{wide[3]}}  {label}".rstrip()
            for name, label, number, unit in rows
        )

    def _repr_html_(self) -> str:
        head = f"<caption>{escape(translate(self._estimate.title))}</caption>"
        body = "".join(
            f"<tr><th scope=row>{escape(label)}</th><td>{escape(number)}</td><td>{escape(unit)}</td></tr>"
            for _, label, number, unit in self.table()
        )
        return f"<table class=estimate-results>{head}<tbody>{body}</tbody></table>"


def _unknown(name: str, known: Any, what: str) -> str:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]!r}?" if near else f" Known: {', '.join(known)}."
    return f"{what} {name!r}.{hint}"


class Estimate:
    """A traced estimate. Call it: `estimate(request_rate=1000)["prefill_gpus"]`."""

    def __init__(
        self,
        function: Callable[..., Results],
        name: str,
        title: str,
        presets: Sequence[Preset] = (),
    ):
        self.function, self.name, self.title = function, name, title
        self.assumptions = _declared(function)
        leaves = {key: assumption(key) for key in self.assumptions}
        results = function(**leaves)
        if not isinstance(results, Results):
            raise EstimateError(f"{name} must return Results(…), not {type(results).__name__}.")
        self.outputs = {k: _named(g, k) for k, g in results.gives.items()}
        self.nodes = {k: as_node(g.value) for k, g in results.gives.items()}
        self.series = results.series
        self.requires = {f"c{i}": r for i, r in enumerate(results.requires)}
        self.presets = {p.key: p for p in presets}
        self._check()

    # -- declaration --

    def _check(self) -> None:
        both = set(self.assumptions) & set(self.outputs)
        if both:
            raise EstimateError(f"{self.name}: {', '.join(both)} is an assumption and a result.")
        for gives in self.outputs.values():
            atoms(gives.unit)
            if not gives.label:
                raise EstimateError(f"{self.name}: result {gives.name!r} needs a label.")
        for a in self.assumptions.values():
            if a.suggested_by is not None:
                self._known(a.suggested_by, self.outputs, "result")
        for preset in self.presets.values():
            self._check_preset(preset)

    def _check_preset(self, preset: Preset) -> None:
        for name, value in preset.numbers().items():
            a = self.assumptions.get(name) or self._known(name, self.assumptions, "assumption")
            if not a.low <= value <= a.high:
                raise EstimateError(
                    f"{self.name}, preset {preset.key!r}: {name} = {value:g} is outside {a.low:g} to {a.high:g}."
                )
            if preset.measured and not isinstance(preset.values[name], str):
                raise EstimateError(
                    f"{self.name}, preset {preset.key!r}: {name} must come from a row of the data tables."
                )

    def _known(self, name: str, known: Mapping[str, Any], what: str) -> Any:
        if name not in known:
            raise EstimateError(_unknown(name, known, f"{self.name} has no {what}"))
        return known[name]

    # -- evaluation --

    def values(self, given_values: Mapping[str, Any]) -> dict[str, Any]:
        """All assumptions, those given checked. Raises EstimateError that names the
        assumption, the value, the range and the nearest name."""
        for name in given_values:
            self._known(name, self.assumptions, "assumption")
        return {
            name: self._checked(a, given_values[name]) if name in given_values else float(a.default)
            for name, a in self.assumptions.items()
        }

    def _checked(self, a: Assume, value: Any) -> Any:
        unit = f" {a.unit}" if a.unit else ""
        allowed = f"a number from {a.low:g} to {a.high:g}{unit}"
        wrong = f"{self.name}: {a.name} = {value!r} is not a number; it takes {allowed}."
        if isinstance(value, bool) or not (
            isinstance(value, numbers.Real) or hasattr(value, "__array__")
        ):
            raise EstimateError(wrong)
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            raise EstimateError(wrong)
        if not np.all((array >= a.low) & (array <= a.high)):  # also catches NaN
            raise EstimateError(
                f"{self.name}: {a.name} = {value!r} is out of range; it takes {allowed}."
            )
        if a.integer and not np.all(array == np.round(array)):
            raise EstimateError(
                f"{self.name}: {a.name} = {value!r} must be whole; it takes {allowed}."
            )
        return array.astype(float) if array.ndim else float(array)

    def __call__(self, **assumptions: Any) -> Result:
        """Results for the given assumptions (numbers, or arrays of one shape)."""
        inputs = self.values(assumptions)
        raw = run(list(self.nodes.values()), inputs)
        shapes = [np.shape(v) for v in inputs.values() if np.ndim(v)]
        named = zip(self.outputs.items(), raw, strict=True)
        return Result(self, inputs, {k: _typed(g, v, shapes) for (k, g), v in named})

    def constraints(self, **assumptions: Any) -> dict[str, Any]:
        """Which constraints hold: {"c0": True, …}."""
        nodes = [as_node(r.condition) for r in self.requires.values()]
        held = run(nodes, self.values(assumptions))
        return {
            k: bool(v) if not np.ndim(v) else v for k, v in zip(self.requires, held, strict=True)
        }

    def series_values(self, **assumptions: Any) -> dict[str, list[float]]:
        """Values over time of each series, for figures."""
        raw = run([s.value for s in self.series.values()], self.values(assumptions))
        return {k: [float(x) for x in v] for k, v in zip(self.series, raw, strict=True)}

    def overridden(self, values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
        """`values` with `changes` put in: a number replaces, a string "*3" multiplies; the
        outcome is clamped to the assumption's range, as the sliders are."""
        changed = dict(values)
        for name, change in changes.items():
            a = self._known(name, self.assumptions, "assumption")
            if isinstance(change, str):
                change = values[name] * float(change.removeprefix("*"))
            changed[name] = min(max(float(change), a.low), a.high)
        return changed

    def sweep(self, name: str, values: Sequence[float], **assumptions: Any):
        """A DataFrame of all results, one row a value of the assumption `name`."""
        import pandas as pd

        self._known(name, self.assumptions, "assumption")
        swept = np.asarray(list(values), dtype=float)
        result = self(**{**assumptions, name: swept})
        return pd.DataFrame({name: swept, **{key: result[key] for key in result}})

    # -- other faces --

    @cached_property
    def _names(self) -> dict[int, str]:
        return {
            id(node): name for name, node in self.nodes.items() if node.op not in ("input", "const")
        }

    @property
    def labels(self) -> dict[str, str]:
        """Label of each assumption and result, in the page's language."""
        return {
            k: translate(x.label) for k, x in [*self.assumptions.items(), *self.outputs.items()]
        }

    def javascript(self) -> str:
        """Text of a self-contained ES module; `evaluate(assumptions)` gives the results."""
        functions = {
            "evaluate": self.nodes,
            "constraints": {k: as_node(r.condition) for k, r in self.requires.items()},
            "series": {k: s.value for k, s in self.series.items()},
        }
        return javascript.module(functions, {k: a.default for k, a in self.assumptions.items()})

    def latex(self, output: str) -> str:
        """The formula of one result as LaTeX, other results by name."""
        self._known(output, self.outputs, "result")
        return mathematics.latex(self.nodes[output], self._names, self.labels)

    def mathml(self, output: str) -> str:
        """The formula of one result as MathML, other results by name."""
        self._known(output, self.outputs, "result")
        return mathematics.mathml(self.nodes[output], self._names, self.labels)

    def check_dimensions(self) -> None:
        """Run the estimate on pint quantities; raises EstimateError if a result's unit is wrong."""
        inputs = {k: quantity(float(a.default), a.unit) for k, a in self.assumptions.items()}
        for name, node in self.nodes.items():
            gives = self.outputs[name]
            try:
                (value,) = run([node], inputs, quantity)
            except Exception as error:
                raise EstimateError(f"{self.name}.{name}: {error}") from error
            got = getattr(value, "dimensionality", registry().Quantity(1, "").dimensionality)
            want = quantity(1.0, gives.unit).dimensionality
            if got != want and not (gives.boolean and np.ndim(value) == 0):
                raise EstimateError(
                    f"{self.name}.{name} is declared in {gives.unit or 'no unit'!r} ({want}) but has {got}."
                )

    def _repr_html_(self) -> str:
        return self()._repr_html_()

    def __repr__(self) -> str:
        return f"<estimate {self.name}: {len(self.assumptions)} assumptions, {len(self.outputs)} results>"


def _declared(function: Callable[..., Results]) -> dict[str, Assume]:
    declared: dict[str, Assume] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if not isinstance(parameter.default, Assume):
            raise EstimateError(f"{function.__name__}: {name} needs a default of Assume(…).")
        declared[name] = _named(parameter.default, name)
        declared[name].check()
    return declared


def _named(declared: Any, name: str) -> Any:
    return replace(declared, name=name)


def _typed(gives: Gives, value: Any, shapes: list[tuple[int, ...]]) -> Any:
    if shapes:
        value = np.broadcast_to(value, shapes[0])
        return value.astype(bool) if gives.boolean else value
    return bool(value) if gives.boolean else float(value)


def estimate(
    function: Callable[..., Results] | None = None,
    *,
    title: str = "",
    page: str = "",
    presets: Sequence[Preset] = (),
) -> Any:
    """Decorator that turns a function of assumptions into an Estimate.

    page: name of the chapter for a small toolbox estimate, which is then called
    "page.function"; a chapter's own estimate leaves it out.
    """

    def decorate(function: Callable[..., Results]) -> Estimate:
        name = f"{page}.{function.__name__}" if page else function.__name__
        words = title or function.__name__.replace("_", " ").capitalize()
        return Estimate(function, name, words, presets)

    return decorate(function) if function is not None else decorate


__all__ = [
    "Assume", "Estimate", "EstimateError", "ExpressionError", "Gives", "Preset", "Requires",
    "Result", "Results", "Series", "estimate", "format_value", "from_row", "given", "judgement",
    "rounded",
]  # fmt: skip
