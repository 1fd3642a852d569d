"""Figures: Plotly figures whose numbers are bound to an estimate.

A figure is declared once. Its JSON holds bindings where numbers and texts go; Python fills
them for a notebook, the page's script fills them for the sliders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ..engine.estimate import Estimate
from ..language import translate
from .bindings import check_bindings, color, fill, localized_json, resolve, templates
from .host import building_book
from .marks import Axis, Mark


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
        texts = [self.title, self.alt, *axes, *categories, *labels, *templates(self.data())]
        return [t for t in dict.fromkeys(texts) if t]

    def _repr_mimebundle_(self, **_: Any):
        return mimebundle(self)


def figure_spec(
    figure: Any, wide: Mapping[str, Any], narrow: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The JSON of a figure or a diagram, as the page's script reads it."""
    return {
        "id": figure.id,
        "title": translate(figure.title),
        "kind": figure.kind,
        "place": "page" if figure.page else "panel",
        "over": figure.x.of if figure.kind == "figure" else "",
        "height": figure.height,
        "wide": localized_json(wide),
        "narrow": localized_json(narrow),
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
