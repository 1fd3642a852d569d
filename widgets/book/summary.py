"""The summary: every chapter's headline, and the assumption that moves it most.

Nothing is retyped: the numbers and the levers come from the chapters' own estimates, and the
page's script works them out again when an assumption is moved.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from ..engine.estimate import Estimate
from ..engine.units import format_value
from ..language import translate
from ..show.spec import data_value, json_of, spec, spec_script, strings
from .loader import chapter_slugs, figures, load, main_estimate

SUMMARY_WORDS = {
    "chapter": "Chapter",
    "headline": "Headline",
    "now": "Now",
    "lever": "Moves it most",
    "low": "20% less",
    "high": "20% more",
    "table": "Headlines and levers",
}

CALCULATOR_WORDS = {
    "pick": "Calculator",
    "chapter": "The chapter behind it",
    "no_script": "The calculators need JavaScript. Each chapter holds its table of defaults:",
}

STEP = 0.2
"""A lever is what moves the headline most when each assumption alone is moved by this share."""


@dataclass(frozen=True)
class Lever:
    """An assumption, and the headline with it a fifth lower and a fifth higher."""

    assumption: str
    low: float
    high: float


def _chapters() -> list[tuple[str, Estimate]]:
    """Slug and own estimate of each chapter that has one, in reading order."""
    named = [(slug, main_estimate(slug)) for slug in chapter_slugs()]
    return [(slug, load(name)) for slug, name in named if name is not None]


def headline(estimate: Estimate) -> str:
    """Name of the result that stands for the estimate: its first headline that is a number."""
    return next(k for k, g in estimate.outputs.items() if g.headline and not g.boolean)


def lever(estimate: Estimate, output: str, values: Mapping[str, Any] | None = None) -> Lever:
    """The assumption whose ±20% spreads `output` widest; of equals the first declared.

    Moved values are clamped to the assumption's range and, for whole numbers, rounded, as the
    sliders do.
    """
    base = estimate.values(values or {})
    names = list(estimate.assumptions)
    inputs = {name: np.full(2 * len(names), base[name]) for name in names}
    for i, (name, a) in enumerate(estimate.assumptions.items()):
        ends = np.clip(base[name] * np.array([1 - STEP, 1 + STEP]), a.low, a.high)
        inputs[name][2 * i : 2 * i + 2] = np.floor(ends + 0.5) if a.integer else ends
    low, high = np.asarray(estimate(**inputs)[output], dtype=float).reshape(-1, 2).T
    best = 0
    for i in range(len(names)):
        if abs(high[i] - low[i]) > abs(high[best] - low[best]) * (1 + 1e-9):
            best = i
    return Lever(names[best], float(low[best]), float(high[best]))


def summary_html() -> str:
    """One row a chapter: headline, lever, and the headline at the lever's ends."""
    chapters = _chapters()
    rows = [_row(slug, e) for slug, e in chapters]
    specs = [spec_script(e) for _, e in chapters]
    words = {key: escape(translate(text)) for key, text in SUMMARY_WORDS.items()}
    heads = (words[k] for k in ("chapter", "headline", "now", "lever", "low", "high"))
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    return (
        '<div class="table-scroll" role="region" tabindex="0" '
        f'aria-label="{words["table"]}">'
        f'<table class="estimate-summary"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>{''.join(specs)}"
    )


def _row(slug: str, e: Estimate) -> str:
    output = headline(e)
    gives, values = e.outputs[output], e.values({})
    value, moved = e()[output], lever(e, output)

    def shown(at: float) -> str:
        return escape(e.text(output, values, {**e(), output: at}, "noun"))

    ends = "".join(
        f'<td data-lever-end="{end}">{shown(at)}</td>'
        for end, at in (("low", moved.low), ("high", moved.high))
    )
    return (
        f'<tr data-estimate="{e.name}" data-lever="{output}"><th scope="row">'
        f'<a href="{slug}.html">{escape(translate(e.title))}</a></th>'
        f"<td>{escape(translate(gives.label))}</td>"
        f'<td><button type="button" class="estimate-number"><output data-estimate="{e.name}" '
        f'data-output="{output}" data-style="noun" data-value="{data_value(value)}" '
        f'aria-live="off">{shown(value)}</output></button></td>'
        f"<td data-lever-name>{escape(translate(e.assumptions[moved.assumption].label))}</td>{ends}</tr>"
    )


class Summary:
    """The table as a cell's output."""

    def _repr_html_(self) -> str:
        return summary_html()

    def __repr__(self) -> str:
        lines = []
        for _, e in _chapters():
            output = headline(e)
            moved = lever(e, output)
            shown = format_value(e.outputs[output].display, e()[output])
            lines.append(f"{e.name:22} {output:36} {shown:>12}  {moved.assumption}")
        return "\n".join(lines)


def _version(e: Estimate) -> str:
    """Changes with what an estimate's script holds, so that no browser keeps an old one."""
    content = json_of(spec(e, figures(e.name))) + e.javascript()
    return hashlib.sha256(content.encode()).hexdigest()[:10]


class Calculators:
    """A picker and one panel, as a cell's output; an estimate's script is loaded when it is picked."""

    def _repr_html_(self) -> str:
        listed = [
            {
                "name": e.name,
                "title": translate(e.title),
                "href": f"{slug}.html",
                "script": f"../_static/estimates/{e.name}.js?v={_version(e)}",
            }
            for slug, e in _chapters()
        ]
        links = "".join(
            f'<li><a href="{one["href"]}">{escape(one["title"])}</a></li>' for one in listed
        )
        words = {key: escape(translate(text)) for key, text in CALCULATOR_WORDS.items()}
        attributes = {
            "estimates": json_of(listed),
            "strings": json_of(strings()),
            "label": words["pick"],
            "chapter": words["chapter"],
        }
        data = " ".join(f'data-{k}="{escape(v)}"' for k, v in attributes.items())
        return (
            f'<div class="estimate-calculators" data-calculators {data}>'
            f"<p>{words['no_script']}</p><ul>{links}</ul></div>"
        )

    def __repr__(self) -> str:
        return ", ".join(e.name for _, e in _chapters())
