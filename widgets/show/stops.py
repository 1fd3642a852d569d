"""How an assumption is entered: the unit of its box and the stops of its slider."""

from __future__ import annotations

from math import ceil, floor, log10

from ..engine.declare import Assume

_MANTISSAS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)


def box_unit(a: Assume) -> tuple[float, str]:
    """Scale and label of the unit in which an assumption is entered."""
    display = a.display
    ladder = display.ladder
    scale, label = next((s for s in ladder if abs(a.default) >= s[0] * (1 - 1e-9)), ladder[-1])
    return scale, display.prefix + label


_KEPT_BELOW = ("s", "h", "token")


def short_unit(label: str) -> str:
    """A box's unit without what its label says anyway: "tok/s" for "tok/s/GPU", "tok" for
    "tok/req"."""
    first, *below = label.split("/")
    return "/".join([first, *(part for part in below if part in _KEPT_BELOW)])


def stops(a: Assume) -> list[float]:
    """Values at which the slider rests, in base units, ascending: round ones, the ends, and
    the default, which is always a stop."""
    scale, _ = box_unit(a)
    if a.integer:
        round_ones = _whole_stops(int(a.low), int(a.high))
    elif a.log:
        round_ones = [v * scale for v in _log_stops(a.low / scale, a.high / scale)]
    else:
        round_ones = [v * scale for v in _linear_stops(a.low / scale, a.high / scale)]
    inside = {_clean(v) for v in round_ones if a.low < v < a.high}
    return sorted(inside | {float(a.low), float(a.high), float(a.default)})


def _clean(value: float) -> float:
    return float(f"{value:.12g}")


def _log_stops(low: float, high: float) -> list[float]:
    decades = range(floor(log10(low)), floor(log10(high)) + 1)
    return [m * 10.0**d for d in decades for m in _MANTISSAS]


def _linear_stops(low: float, high: float) -> list[float]:
    rough = (high - low) / 100
    unit = 10.0 ** floor(log10(rough))
    step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= rough * 0.999)
    return [k * step for k in range(ceil(low / step), floor(high / step) + 1)]


def _whole_stops(low: int, high: int) -> list[float]:
    if high - low <= 150:
        return [float(v) for v in range(low, high + 1)]
    few = [float(v) for v in range(low, min(high, 20) + 1)]
    return few + [v for v in _log_stops(max(low, 1), high) if v == int(v) and v > 20]
