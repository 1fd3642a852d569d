"""Architecture diagrams: boxes and arrows of a Plotly figure, labels bound to an estimate.

A box stands at (stage, lane): stages follow a request through the system, lanes lie beside
each other. A wide page runs the stages from left to right, a narrow one from top to bottom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..engine.declare import EstimateError
from ..engine.estimate import Estimate
from .bindings import check_bindings, color, text
from .figures import figure_spec, mimebundle, plotly_figure

_WIDE_BOX, _NARROW_BOX = (0.70, 0.66), (0.90, 0.60)
"""Share of a cell that a box fills, along x and along y."""
_LANE_PX, _STAGE_PX = 104, 116


@dataclass(frozen=True)
class Box:
    """A part of the system. value: a template under the name, such as "{prefill_units} units"."""

    key: str
    label: str
    at: tuple[float, float]
    role: str
    value: str = ""


@dataclass(frozen=True)
class Arrow:
    """What flows between two boxes. label: a template; both: it flows both ways."""

    start: str
    end: str
    label: str = ""
    role: str = "muted"
    both: bool = False
    dash: bool = False


@dataclass(frozen=True)
class _View:
    """Where things lie in one of the two orientations."""

    wide: bool
    stages: float
    lanes: float

    def spot(self, at: tuple[float, float]) -> tuple[float, float]:
        stage, lane = at
        return (stage, lane) if self.wide else (lane, stage)

    @property
    def half(self) -> tuple[float, float]:
        w, h = _WIDE_BOX if self.wide else _NARROW_BOX
        return w / 2, h / 2

    def edge(self, a: tuple[float, float], b: tuple[float, float], gap: float = 1.06):
        """Where the line from the middle of `a` towards `b` leaves a's box."""
        dx, dy = b[0] - a[0], b[1] - a[1]
        half_w, half_h = self.half
        t = min(half_w / abs(dx) if dx else 9e9, half_h / abs(dy) if dy else 9e9)
        return a[0] + dx * t * gap, a[1] + dy * t * gap


@dataclass(frozen=True)
class Diagram:
    """The architecture of an estimate's system, shown where its cell stands.

    alt: a sentence with placeholders that tells the same as the drawing.
    """

    estimate: Estimate
    id: str
    title: str
    boxes: Sequence[Box]
    arrows: Sequence[Arrow]
    alt: str
    page: bool = True
    kind = "diagram"

    def __post_init__(self):
        keys = {box.key for box in self.boxes}
        for arrow in self.arrows:
            for end in (arrow.start, arrow.end):
                if end not in keys:
                    raise EstimateError(
                        f"Diagram {self.id!r}: no box {end!r}; it has {', '.join(sorted(keys))}."
                    )
        check_bindings(self.estimate, self.id, [self.alt, self._part(True)])

    def _extent(self) -> tuple[float, float]:
        return (max(b.at[0] for b in self.boxes) + 1, max(b.at[1] for b in self.boxes) + 1)

    @property
    def height(self) -> int:
        return round(self._extent()[1] * _LANE_PX + 16)

    @property
    def narrow_height(self) -> int:
        return round(self._extent()[0] * _STAGE_PX + 16)

    def _part(self, wide: bool) -> dict[str, Any]:
        stages, lanes = self._extent()
        view = _View(wide, stages, lanes)
        spots = {b.key: view.spot(b.at) for b in self.boxes}
        shapes = [self._rectangle(b, spots[b.key], view) for b in self.boxes]
        arrows = [a for arrow in self.arrows for a in self._arrow(arrow, spots, view)]
        labels = [a for b in self.boxes for a in self._label(b, spots[b.key])]
        columns, rows = (stages, lanes) if wide else (lanes, stages)
        hidden = {"visible": False, "fixedrange": True}
        layout = {
            "shapes": shapes,
            "annotations": arrows + labels,
            "xaxis": {**hidden, "range": [-0.5, columns - 0.5]},
            "yaxis": {**hidden, "range": [rows - 0.5, -0.5]},
            "margin": {"l": 2, "r": 2, "t": 4, "b": 4},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "showlegend": False,
            "dragmode": False,
            "font": {"family": "system-ui, sans-serif", "size": 13, "color": color("text")},
            "height": self.height if wide else self.narrow_height,
        }
        # A trace without points, since Plotly draws no axes for an empty figure.
        return {
            "data": [{"type": "scatter", "x": [], "y": [], "hoverinfo": "skip"}],
            "layout": layout,
        }

    def _rectangle(self, box: Box, spot: tuple[float, float], view: _View) -> dict[str, Any]:
        (x, y), (half_w, half_h) = spot, view.half
        return {
            "type": "rect", "x0": x - half_w, "x1": x + half_w, "y0": y - half_h, "y1": y + half_h,
            "line": {"color": color(box.role), "width": 1.5}, "fillcolor": color(box.role, 0.08), "layer": "below",
        }  # fmt: skip

    def _label(self, box: Box, spot: tuple[float, float]) -> list[dict[str, Any]]:
        lines = 2 if "<br>" in box.label else 1
        name = {
            "x": spot[0], "y": spot[1], "showarrow": False, "text": text(f"<b>{box.label}</b>"),
            "yshift": (9 if box.value else 0), "font": {"size": 12.5, "color": color(box.role)},
        }  # fmt: skip
        if not box.value:
            return [name]
        under = {
            "x": spot[0], "y": spot[1], "showarrow": False, "yshift": -9 - 7 * (lines - 1),
            "text": text(box.value), "font": {"size": 12, "color": color("text")},
        }  # fmt: skip
        return [name, under]

    def _arrow(
        self, arrow: Arrow, spots: Mapping[str, tuple[float, float]], view: _View
    ) -> list[dict[str, Any]]:
        a, b = spots[arrow.start], spots[arrow.end]
        tail, head = view.edge(a, b), view.edge(b, a)
        line = {
            "x": head[0], "y": head[1], "ax": tail[0], "ay": tail[1], "xref": "x", "yref": "y",
            "axref": "x", "ayref": "y", "showarrow": True, "arrowhead": 2, "arrowsize": 1,
            "arrowwidth": 1.5, "arrowcolor": color(arrow.role), "text": "",
            "arrowside": "end+start" if arrow.both else "end", "startarrowhead": 2,
        }  # fmt: skip
        flat = abs(a[1] - b[1]) < abs(a[0] - b[0]) * 0.2
        if not arrow.label or (flat and not view.wide):  # between boxes side by side is no room
            return [line]
        label = {
            "x": (tail[0] + head[0]) / 2, "y": (tail[1] + head[1]) / 2, "showarrow": False,
            "text": text(arrow.label), "font": {"size": 11.5, "color": color("muted")},
            "yshift": 10 if flat else 0, "bgcolor": color("background", 0 if flat else 0.85),
        }  # fmt: skip
        return [line, label]

    def spec(self) -> dict[str, Any]:
        """As JSON for panel.js, texts in the page's language."""
        return {
            **figure_spec(self, self._part(True), self._part(False)),
            "narrow_height": self.narrow_height,
        }

    def plotly(self, **assumptions: Any):
        """The same as a plotly Figure with numbers filled in."""
        return plotly_figure(self, self._part(True), assumptions)

    def messages(self) -> list[str]:
        """Texts to translate."""
        names = [f"<b>{b.label}</b>" for b in self.boxes]
        values = [b.value for b in self.boxes] + [a.label for a in self.arrows]
        return [t for t in dict.fromkeys([self.title, self.alt, *names, *values]) if t]

    def _repr_mimebundle_(self, **_: Any):
        return mimebundle(self)
