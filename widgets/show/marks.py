"""Axes and marks: what a figure is made of."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..engine.estimate import Estimate
from ..engine.units import PLURALS, localized
from ..language import translate
from .bindings import cases, color, default, series, sweep, text, value
from .stops import box_unit

if TYPE_CHECKING:
    from .figures import Figure


@dataclass(frozen=True)
class Axis:
    """An axis: its label, unit as written, and a range that stays fixed.

    of: an assumption that the axis runs over; label, unit, scale and range come from it.
    scale: base units in one unit of the axis (1e9 for GB). low, high: in the axis's unit.
    """

    label: str = ""
    unit: str = ""
    log: bool = False
    low: float | None = None
    high: float | None = None
    scale: float = 1.0
    of: str = ""
    categories: tuple[str, ...] = ()
    percent: bool = False
    whole: bool = False

    def bound(self, estimate: Estimate) -> Axis:
        """With what the assumption `of` supplies filled in. A unit that only repeats what is
        counted (instances in "instance") is left out."""
        if not self.of:
            return self
        a = estimate.known(self.of, estimate.assumptions, "assumption")
        scale, unit = box_unit(a)
        return Axis(
            self.label or a.label,
            self.unit or ("" if unit in PLURALS.values() else unit),
            self.log or a.log,
            self.low if self.low is not None else a.low / scale,
            self.high if self.high is not None else a.high / scale,
            scale,
            self.of,
            whole=a.integer,
        )

    def points(self, count: int = 61) -> list[float]:
        """Where a sweep along this axis evaluates, in base units."""
        low, high = float(self.low or 0), float(self.high or 1)
        steps = [i / (count - 1) for i in range(count)]
        if self.log:
            spots = [low * (high / low) ** t * self.scale for t in steps]
        else:
            spots = [(low + (high - low) * t) * self.scale for t in steps]
        return sorted({float(round(x)) for x in spots}) if self.whole else spots

    def layout(self) -> dict[str, Any]:
        unit = f" ({localized(self.unit)})" if self.unit else ""
        axis: dict[str, Any] = {
            "title": {"text": translate(self.label) + unit, "standoff": 8},
            "gridcolor": color("grid"),
            "linecolor": color("grid"),
            "zeroline": False,
            "fixedrange": True,
            "automargin": False,
        }
        if self.categories:
            axis |= {"type": "category", "tickvals": [translate(c) for c in self.categories]}
        if self.log:
            axis |= {"type": "log", **self._log_ticks()}
        if self.low is not None and self.high is not None:
            ends = [self.low, self.high]
            axis["range"] = [math.log10(x) for x in ends] if self.log else ends
        else:
            axis |= {"rangemode": "tozero"} if not self.log else {}
        if self.unit == "%" or self.percent:
            axis["ticksuffix"] = "%"
        return axis

    def _log_ticks(self) -> dict[str, Any]:
        """Ticks of a log axis: at powers of ten, or at 1, 2 and 5 where there are few of those."""
        if self.low is None or self.high is None:
            return {"dtick": 1, "exponentformat": "SI"}
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        steps = (1,) if self._decades() > 2 else (1, 2, 5)
        spots = [m * 10.0**p for p in powers for m in steps]
        inside = [s for s in spots if self.low * 0.999 <= s <= self.high * 1.001]
        return {"tickvals": inside, "ticktext": [_short_number(s) for s in inside]}

    def _decades(self) -> float:
        return math.log10(self.high / self.low) if self.high and self.low else 3


@dataclass(frozen=True)
class Line:
    """A result along the x axis. changes: assumptions to change for this line ("*2" doubles)."""

    y: str
    label: str = ""
    role: str = "accent"
    dash: bool = False
    step: bool = False
    changes: Mapping[str, Any] = field(default_factory=dict)

    def traces(self, f: Figure) -> list[dict[str, Any]]:
        at = f.x.points(f.samples)
        x = [value_ / f.x.scale for value_ in at]
        y = sweep(f.x.of, at, self.y, f.y.scale, self.changes)
        line = {"color": color(self.role), "width": 2.25, "dash": "dash" if self.dash else "solid"}
        if self.step:
            line["shape"] = "hv"
        return [_trace(x=_rounded(x), y=y, mode="lines", line=line, meta=_meta("line", self.label))]


@dataclass(frozen=True)
class TimeLine:
    """A series of the estimate over time. step: x units a step (5 / 60 for hours)."""

    of: str
    label: str = ""
    role: str = "accent"
    steps: int = 0
    step: float = 1.0
    dash: bool = False
    fill: bool = False

    def traces(self, f: Figure) -> list[dict[str, Any]]:
        x = _rounded([(i + 1) * self.step for i in range(self.steps)])
        line = {"color": color(self.role), "width": 2, "dash": "dash" if self.dash else "solid"}
        trace = _trace(x=x, y=series(self.of, f.y.scale), mode="lines", line=line)
        trace["meta"] = _meta("line", self.label)
        if self.fill:
            trace |= {"fill": "tozeroy", "fillcolor": color(self.role, 0.12)}
        return [trace]


@dataclass(frozen=True)
class Here:
    """The current point on a curve, with the default's point as a ghost."""

    y: str
    label: str = ""
    x: str = ""
    role: str = "text"

    def traces(self, f: Figure) -> list[dict[str, Any]]:
        x = self.x or f.x.of
        ghost = _trace(
            x=[default(x, f.x.scale)], y=[default(self.y, f.y.scale)], mode="markers",
            marker={"size": 11, "symbol": "circle-open", "color": color("muted"), "line": {"width": 1.5}},
        )  # fmt: skip
        here = _trace(
            x=[value(x, f.x.scale)], y=[value(self.y, f.y.scale)], mode="markers+text",
            marker={"size": 10, "color": color(self.role)},
            text=[text(self.label)] if self.label else [""],
            textposition="top left", textfont={"color": color("text"), "size": 13},
        )  # fmt: skip
        ghost["meta"], here["meta"] = {"kind": "ghost"}, {"kind": "here"}
        return [ghost, here]


_AIR = '<span style="font-size:4px"> </span>'


@dataclass(frozen=True)
class Limit:
    """A dashed limit. at: a number in the axis's unit, or the name of an assumption or result."""

    at: float | str
    label: str
    axis: str = "y"
    role: str = "muted"

    def traces(self, f: Figure) -> list[dict[str, Any]]:
        own, other = (f.y, f.x) if self.axis == "y" else (f.x, f.y)
        spot = value(self.at, own.scale) if isinstance(self.at, str) else self.at
        ends = list(other.categories) if other.categories else [other.low, other.high]
        ends = [translate(e) if isinstance(e, str) else e for e in ends]
        flat = [spot] * len(ends)
        x, y = (ends, flat) if self.axis == "y" else (flat, ends)
        # A little air keeps a label off its own line: beside an upright one, above a level one.
        air = {"before": "\u2002"} if self.axis == "x" else {"after": f"<br>{_AIR}"}
        labelled = [""] * (len(ends) - 1) + [{**text(self.label), **air}]
        position = "top left" if self.axis == "y" else "bottom right"
        return [
            _trace(
                x=x, y=y, mode="lines+text", line={"color": color(self.role), "width": 1.5, "dash": "dash"},
                text=labelled, textposition=position, textfont={"color": color(self.role), "size": 12},
                meta={"kind": "limit"},
            )
        ]  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """Published points: x and y in the axes' units, `sources` one short text a point."""

    x: Sequence[float | str]
    y: Sequence[float]
    sources: Sequence[str]
    label: str = ""

    def traces(self, _f: Figure) -> list[dict[str, Any]]:
        shown = [translate(x) if isinstance(x, str) else x for x in self.x]
        return [
            _trace(
                x=shown, y=list(self.y), mode="markers",
                marker={"size": 10, "symbol": "diamond", "color": color("measured")},
                hovertext=list(self.sources), hoverinfo="text", meta=_meta("measured", self.label),
            )
        ]  # fmt: skip


@dataclass(frozen=True)
class Curve:
    """A fixed curve from a data table, in the axes' units."""

    x: Sequence[float]
    y: Sequence[float]
    label: str = ""
    role: str = "measured"
    markers: bool = True

    def traces(self, _f: Figure) -> list[dict[str, Any]]:
        mode = "lines+markers" if self.markers else "lines"
        line = {"color": color(self.role), "width": 1.75}
        marker = {"size": 7, "symbol": "diamond", "color": color(self.role)}
        trace = _trace(x=list(self.x), y=list(self.y), mode=mode, line=line, marker=marker)
        return [{**trace, "meta": _meta("line", self.label)}]


@dataclass(frozen=True)
class Bars:
    """One bar a category of the x axis. of: one result a bar, or one result with `changes`.

    labels: templates written on the bars. stack: bars of several marks add up.
    """

    of: str | Sequence[str]
    label: str = ""
    role: str | Sequence[str] = "accent"
    changes: Sequence[Mapping[str, Any]] = ()
    labels: Sequence[str] = ()

    def traces(self, f: Figure) -> list[dict[str, Any]]:
        if isinstance(self.of, str):
            y: Any = cases(self.of, self.changes, f.y.scale)
        else:
            y = [value(name, f.y.scale) if name else 0 for name in self.of]
        roles = [self.role] if isinstance(self.role, str) else list(self.role)
        colors = color(roles[0]) if len(roles) == 1 else [color(role) for role in roles]
        trace = {
            "type": "bar", "x": [translate(c) for c in f.x.categories], "y": y,
            "marker": {"color": colors}, "hoverinfo": "skip", "meta": _meta("bar", self.label),
            "name": translate(self.label), "cliponaxis": False,
        }  # fmt: skip
        if self.labels:
            trace |= {
                "text": [text(t) for t in self.labels],
                "textposition": "outside" if not f.stacked else "inside",
            }
            trace["textfont"] = (
                {"size": 12.5} if f.stacked else {"size": 12.5, "color": color("text")}
            )
        return [trace]


@dataclass(frozen=True)
class Heat:
    """A result over both axes, as a grid of coloured cells with the number in each.

    columns, rows: where the cells are evaluated, in base units, ascending; the axes' ranges
    are the outer edges. low, high: values of the palest and the strongest colour.
    """

    of: str
    columns: Sequence[float]
    rows: Sequence[float]
    low: float
    high: float
    role: str = "accent"

    def traces(self, f: Figure) -> list[dict[str, Any]]:
        # Bars that float at their row: the vendored bundle has no heat map, and bars keep
        # filling their cells at any width and on logarithmic axes.
        x_edges, y_edges = _edges(self.columns, f.x), _edges(self.rows, f.y)
        cells = [(x, y) for y in range(len(self.rows)) for x in range(len(self.columns))]
        changes = [{f.x.of: self.columns[x], f.y.of: self.rows[y]} for x, y in cells]
        found = cases(self.of, changes)
        return [
            {
                "type": "bar", "hoverinfo": "skip", "showlegend": False, "meta": {"kind": "heat"},
                "x": _rounded([(x_edges[x] + x_edges[x + 1]) / 2 for x, _ in cells]),
                "width": _rounded([x_edges[x + 1] - x_edges[x] for x, _ in cells]),
                "base": _rounded([y_edges[y] for _, y in cells]),
                "y": _rounded([y_edges[y + 1] - y_edges[y] for _, y in cells]),
                "marker": {
                    "color": found, "cmin": self.low, "cmax": self.high, "showscale": False,
                    "colorscale": [[0, color(self.role, 0.04)], [1, color(self.role, 0.6)]],
                    "line": {"color": color("background"), "width": 2},
                },
                "text": found, "texttemplate": "%{text:.3~g}", "textposition": "inside",
                "insidetextanchor": "middle", "textangle": 0, "constraintext": "none",
                "insidetextfont": {"size": 12.5, "color": color("text")}, "cliponaxis": False,
            }
        ]  # fmt: skip


def _edges(centres: Sequence[float], axis: Axis) -> list[float]:
    """Edges of the cells around `centres`, in the axis's unit; the outer ones are its ends."""
    at = [c / axis.scale for c in centres]
    inner = [math.sqrt(a * b) if axis.log else (a + b) / 2 for a, b in itertools.pairwise(at)]
    return [float(axis.low or 0), *inner, float(axis.high or 1)]


Mark = Line | TimeLine | Here | Limit | Measured | Curve | Bars | Heat


def _short_number(value: float) -> str:
    """A tick as an axis writes it: 2000 is 2k."""
    for scale, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= scale:
            return f"{value / scale:g}{suffix}"
    return f"{value:g}"


def _rounded(values: Sequence[float]) -> list[float]:
    return [float(f"{v:.6g}") for v in values]


def _meta(kind: str, label: str) -> dict[str, Any]:
    return {"kind": kind, "label": translate(label)} if label else {"kind": kind}


def _trace(**parts: Any) -> dict[str, Any]:
    return {"type": "scatter", "hoverinfo": "skip", "showlegend": False, **parts}
