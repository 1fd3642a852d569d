"""Figures: Plotly figures whose numbers are bound to an estimate.

A figure is declared once. Its JSON holds bindings ({"$": "sweep", …}) where numbers and
texts go; Python fills them for a notebook, panel.js fills them for the sliders.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from .estimate import Estimate, EstimateError
from .expression import run
from .language import translate
from .units import LABELS, format_value, localized, split_value

ROLES = {
    "client": "#5b6470", "control": "#7b5ea7", "prefill": "#0b6e7f", "decode": "#b8651b",
    "memory": "#3a7d44", "storage": "#8a6d3b", "network": "#4a6fa5", "accent": "#0b6e7f",
    "text": "#1c2024", "muted": "#60666d", "grid": "#e4e7ea", "bad": "#b3261e", "good": "#1a7f37",
    "measured": "#9c2f6b", "background": "#ffffff", "card": "#fafbfc",
}  # fmt: skip
"""What a colour stands for. The values are the light theme's, for notebooks; on the page the
style sheet decides."""

_PLACEHOLDER = re.compile(r"\{(\w+)(?::(number))?\}")


# --- bindings -------------------------------------------------------------------------------


def value(of: str, scale: float = 1.0) -> dict[str, Any]:
    """Today's number of a result or an assumption, divided by `scale`."""
    return {"$": "value", "of": of, "scale": scale}


def default(of: str, scale: float = 1.0) -> dict[str, Any]:
    """The number at the defaults."""
    return {"$": "default", "of": of, "scale": scale}


def sweep(
    over: str,
    at: Sequence[float],
    of: str,
    scale: float = 1.0,
    changes: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """`of` with the assumption `over` put to each of `at`."""
    points = [float(f"{x:.6g}") for x in at]
    return {
        "$": "sweep",
        "over": over,
        "at": points,
        "of": of,
        "scale": scale,
        "with": dict(changes or {}),
    }


def cases(of: str, changes: Sequence[Mapping[str, Any]], scale: float = 1.0) -> dict[str, Any]:
    """`of` under each set of changed assumptions."""
    return {"$": "cases", "of": of, "with": [dict(c) for c in changes], "scale": scale}


def grid(
    over: tuple[str, str], at: tuple[Sequence[float], Sequence[float]], of: str
) -> dict[str, Any]:
    """`of` over two assumptions, rows along the second."""
    return {
        "$": "grid",
        "over": list(over),
        "at": [list(map(float, a)) for a in at],
        "of": of,
        "scale": 1.0,
    }


def series(of: str, scale: float = 1.0) -> dict[str, Any]:
    """A series of the estimate (values over the steps of a scan)."""
    return {"$": "series", "of": of, "scale": scale}


def text(template: str) -> dict[str, Any]:
    """A text with placeholders: "{total_gpus} GPUs"."""
    return {"$": "text", "template": template}


def color(role: str, alpha: float = 1.0) -> dict[str, Any]:
    """The colour of a role, as the theme in force has it."""
    if role not in ROLES:
        raise EstimateError(f"Colour role {role!r} is none of {', '.join(ROLES)}.")
    return {"$": "color", "role": role, "alpha": alpha}


def fill(estimate: Estimate, template: str, assumptions: Mapping[str, Any] | None = None) -> str:
    """Put numbers into a template: "{total_gpus} GPUs" (with unit), "{total_gpus:number}"."""
    values = estimate.values(assumptions or {})
    result = estimate(**values)

    def number(match: re.Match[str]) -> str:
        name = match[1]
        declared = estimate.assumptions.get(name) or estimate.outputs.get(name)
        if declared is None:
            estimate._known(
                name, {**estimate.assumptions, **estimate.outputs}, "assumption or result"
            )
        got = values[name] if name in values else result[name]
        display = declared.display  # type: ignore[union-attr]
        return split_value(display, got)[0] if match[2] else format_value(display, got)

    return _PLACEHOLDER.sub(number, template)


def placeholders(template: str) -> set[str]:
    """Names that a template mentions."""
    return {match[1] for match in _PLACEHOLDER.finditer(template)}


def _resolve_binding(estimate: Estimate, b: Mapping[str, Any], values: dict[str, Any]) -> Any:
    def at(changed: Mapping[str, Any]) -> float:
        # The one result that is asked for: a sweep must not simulate a day for each point.
        name, inputs = b["of"], estimate.values(changed)
        got = inputs[name] if name in inputs else run([estimate.nodes[name]], inputs)[0]
        return float(got) / b.get("scale", 1.0)

    match b["$"]:
        case "value":
            return at(values)
        case "default":
            return at(estimate.values({}))
        case "sweep":
            changed = estimate.overridden(values, b["with"])
            return [at({**changed, b["over"]: x}) for x in b["at"]]
        case "cases":
            return [at(estimate.overridden(values, changes)) for changes in b["with"]]
        case "grid":
            (nx, ny), (xs, ys) = b["over"], b["at"]
            return [[at({**values, nx: x, ny: y}) for x in xs] for y in ys]
        case "series":
            return [x / b["scale"] for x in estimate.series_values(**values)[b["of"]]]
        case "text":
            return fill(estimate, translate(b["template"]), values)
        case "color":
            red, green, blue = (int(ROLES[b["role"]][k : k + 2], 16) for k in (1, 3, 5))
            return f"rgba({red},{green},{blue},{b['alpha']})"
    raise EstimateError(f"Unknown binding {b['$']!r}.")


def resolve(estimate: Estimate, part: Any, values: dict[str, Any]) -> Any:
    """Figure JSON with every binding replaced by its number, array or text."""
    if isinstance(part, Mapping):
        if "$" in part:
            return _resolve_binding(estimate, part, values)
        return {k: resolve(estimate, v, values) for k, v in part.items()}
    if isinstance(part, (list, tuple)):
        return [resolve(estimate, v, values) for v in part]
    return part


def _localized(part: Any) -> Any:
    """Figure JSON with the templates of its texts in the page's language."""
    if isinstance(part, Mapping):
        if part.get("$") == "text":
            return {**part, "template": translate(part["template"])}
        return {k: _localized(v) for k, v in part.items()}
    if isinstance(part, (list, tuple)):
        return [_localized(v) for v in part]
    return part


def _templates(part: Any) -> list[str]:
    if isinstance(part, Mapping):
        if part.get("$") == "text":
            return [part["template"]]
        return [t for v in part.values() for t in _templates(v)]
    if isinstance(part, (list, tuple)):
        return [t for v in part for t in _templates(v)]
    return []


# --- axes and marks -------------------------------------------------------------------------


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
        a = estimate._known(self.of, estimate.assumptions, "assumption")
        scale, unit = box_unit(a)
        return Axis(
            self.label or a.label,
            self.unit or ("" if unit in LABELS.values() else unit),
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
            axis |= {
                "type": "log",
                "dtick": 1 if self._decades() > 2 else "D2",
                "exponentformat": "SI",
            }
        if self.low is not None and self.high is not None:
            ends = [self.low, self.high]
            axis["range"] = [math.log10(x) for x in ends] if self.log else ends
        else:
            axis |= {"rangemode": "tozero"} if not self.log else {}
        if self.unit == "%" or self.percent:
            axis["ticksuffix"] = "%"
        return axis

    def _decades(self) -> float:
        return math.log10(self.high / self.low) if self.high and self.low else 3


def box_unit(a: Any) -> tuple[float, str]:
    """Scale and label of the unit in which an assumption is entered."""
    display = a.display
    ladder = display.ladder
    scale, label = next((s for s in ladder if abs(a.default) >= s[0] * (1 - 1e-9)), ladder[-1])
    return scale, display.prefix + label


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
        labelled = [""] * (len(ends) - 1) + [text(self.label)]
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


def _rounded(values: Sequence[float]) -> list[float]:
    return [float(f"{v:.6g}") for v in values]


def _meta(kind: str, label: str) -> dict[str, Any]:
    return {"kind": kind, "label": translate(label)} if label else {"kind": kind}


def _trace(**parts: Any) -> dict[str, Any]:
    return {"type": "scatter", "hoverinfo": "skip", "showlegend": False, **parts}


# --- the figure -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """A figure of an estimate.

    alt: a sentence with placeholders that says what the figure shows at today's values; it is
    both the caption and the text alternative. page: shown where its cell stands instead of in
    the panel.
    """

    estimate: Estimate
    id: str
    title: str
    x: Axis
    y: Axis
    marks: Sequence[Mark]
    alt: str
    height: int = 340
    samples: int = 61
    stacked: bool = False
    page: bool = False
    kind = "figure"

    def __post_init__(self):
        object.__setattr__(self, "x", self.x.bound(self.estimate))
        object.__setattr__(self, "y", self.y.bound(self.estimate))
        check_bindings(self.estimate, self.id, [self.data(), self.alt])

    def data(self) -> list[dict[str, Any]]:
        return [trace for mark in self.marks for trace in mark.traces(self)]

    def layout(self) -> dict[str, Any]:
        legend = sum("label" in t.get("meta", {}) for t in self.data())
        layout: dict[str, Any] = {
            "margin": {"l": 62, "r": 20, "t": 34 if legend > 1 else 18, "b": 50},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": "system-ui, sans-serif", "size": 13, "color": color("text")},
            "showlegend": False,
            "xaxis": self.x.layout(),
            "yaxis": self.y.layout(),
            "barmode": "stack" if self.stacked else "group",
            "bargap": 0.35,
            "hovermode": "closest",
            "dragmode": False,
        }
        return layout

    def spec(self) -> dict[str, Any]:
        """As JSON for panel.js, texts in the page's language."""
        return figure_spec(self, {"data": self.data(), "layout": self.layout()}, None)

    def plotly(self, **assumptions: Any):
        """The same as a plotly Figure with numbers filled in."""
        return plotly_figure(self, {"data": self.data(), "layout": self.layout()}, assumptions)

    def messages(self) -> list[str]:
        """Texts to translate."""
        labels = [t["meta"]["label"] for t in self.data() if "label" in t.get("meta", {})]
        axes = [self.x.label, self.x.unit, self.y.label, self.y.unit]
        categories = [*self.x.categories, *self.y.categories]
        texts = [self.title, self.alt, *axes, *categories, *labels, *_templates(self.data())]
        return [t for t in dict.fromkeys(texts) if t]

    def _repr_mimebundle_(self, **_: Any):
        return mimebundle(self)


def check_bindings(estimate: Estimate, where: str, part: Any) -> None:
    """Raises EstimateError if figure JSON names what the estimate does not have."""
    known = {**estimate.assumptions, **estimate.outputs}
    if isinstance(part, str):
        for name in placeholders(part):
            estimate._known(name, known, f"name (figure {where!r})")
    elif isinstance(part, Mapping):
        if "$" in part:
            if "of" in part and part["$"] != "series":
                estimate._known(part["of"], known, f"name (figure {where!r})")
            check_bindings(estimate, where, part.get("template", ""))
        else:
            for v in part.values():
                check_bindings(estimate, where, v)
    elif isinstance(part, (list, tuple)):
        for v in part:
            check_bindings(estimate, where, v)


def figure_spec(
    figure: Any, wide: Mapping[str, Any], narrow: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The JSON of a figure or a diagram, as the page's script reads it."""
    return {
        "id": figure.id,
        "title": translate(figure.title),
        "kind": figure.kind,
        "place": "page" if figure.page else "panel",
        "height": figure.height,
        "wide": _localized(wide),
        "narrow": _localized(narrow),
        "alt": translate(figure.alt),
    }


def plotly_figure(figure: Any, part: Mapping[str, Any], assumptions: Mapping[str, Any]):
    """A plotly Figure with the bindings of `part` filled in."""
    import plotly.graph_objects as go

    estimate = figure.estimate
    filled = resolve(estimate, part, estimate.values(assumptions))
    return go.Figure(data=filled["data"], layout={**filled["layout"], "height": figure.height})


def mimebundle(figure: Any) -> dict[str, Any]:
    """In the book the place where the page draws it; in a notebook a plotly figure."""
    from .panel import building_book

    if building_book():
        return {"text/html": figure_html(figure), "text/plain": figure.title}
    return figure.plotly()._repr_mimebundle_()


def figure_html(figure: Any) -> str:
    """The figure's place on a page, with the caption at the defaults."""
    caption = fill(figure.estimate, translate(figure.alt))
    narrow = getattr(figure, "narrow_height", figure.height)
    return (
        f'<figure class="estimate-figure" data-estimate="{escape(figure.estimate.name)}" '
        f'data-figure="{escape(figure.id)}" style="--height:{figure.height}px;--narrow-height:{narrow}px">'
        f'<div class="estimate-plot" role="img" aria-label="{escape(translate(figure.title))}"></div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )
