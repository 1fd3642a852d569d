"""The panel: sliders, results and figures of one estimate, in a notebook or on the page.

One front end (the modules of `static/`), two hosts. In a notebook the panel is an ipywidgets
widget with a trait for each assumption and each result. In the book's build it is HTML: a
table of the defaults, and the spec from which the page's script makes the same panel without
a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from ..engine.declare import Assume
from ..engine.estimate import Estimate
from ..engine.units import split_value
from ..language import translate
from .bindings import fill
from .host import Html, building_book
from .live import make_panel
from .pickers import has_pickers
from .spec import data_value, first_rank, source_spec, spec_script
from .words import STRINGS

NO_SCRIPT = "The sliders need JavaScript. These are the results at the defaults."


def static_html(estimate: Estimate, figures: Sequence[Any], compact: bool) -> str:
    """What stands on the page before, or without, the script: results, formulas, assumptions."""
    result = estimate()
    name = escape(estimate.name)
    rows = "".join(
        f'<tr><th scope="row">{escape(label)}<div class="formula">{estimate.mathml(key)}</div></th>'
        f'<td data-output="{key}" data-value="{data_value(result[key])}">{escape(number)}</td><td>{escape(unit)}</td></tr>'
        for key, label, number, unit in result.table()
    )
    assumed = "".join(_static_assumption(a) for a in estimate.assumptions.values())
    verdicts = "".join(
        f"<p>{'✓' if result[g.name] != g.alarm else '✕'} {escape(fill(estimate, translate(g.verdict[not result[g.name]])))}</p>"
        for g in estimate.outputs.values()
        if g.verdict is not None
    )
    title = escape(translate(estimate.title))
    tables = _static_table("estimate-results", "Results at the defaults", rows)
    tables += _static_table("estimate-assumptions", "Assumptions", assumed)
    return (
        f'<section class="estimate-panel{" is-compact" if compact else ""}" id="estimate-{name}" data-estimate="{name}" '
        f'aria-label="{title}" style="{_reserved_room(estimate, compact)}">'
        f'<div class="estimate-static"><h3 class="estimate-title">{title}</h3>{_noscript()}{verdicts}{tables}'
        f"</div></section>{spec_script(estimate, figures, compact)}"
    )


def _noscript() -> str:
    return f"<noscript><p>{escape(translate(NO_SCRIPT))}</p></noscript>"


def _static_table(kind: str, caption: str, rows: str) -> str:
    words = escape(translate(caption))
    return f'<table class="{kind}"><caption>{words}</caption><tbody>{rows}</tbody></table>'


def _reserved_room(estimate: Estimate, compact: bool) -> str:
    """Counts from which the style sheet knows the panel's height before it is built."""
    first = list(estimate.assumptions) if compact else first_rank(estimate)
    groups = {estimate.assumptions[name].group for name in first}
    folded = {a.group for name, a in estimate.assumptions.items() if name not in first}
    counts = {"rows": len(first), "groups": len(groups), "folded": len(folded)}
    if has_pickers(estimate) and not compact:
        counts["pickers"] = 1
    return ";".join(f"--{key}:{count}" for key, count in counts.items())


def _static_assumption(a: Assume) -> str:
    number, unit = split_value(a.display, a.default)
    return (
        f'<tr><th scope="row">{escape(translate(a.label))}</th><td>{escape(number)}</td>'
        f"<td>{escape(unit)}</td><td>{escape(_source_words(a))}</td></tr>"
    )


def _source_words(a: Assume) -> str:
    source = source_spec(a)
    kind = translate(STRINGS[f"source_{source['kind']}"])
    if not source["text"]:
        return kind
    pattern = translate(STRINGS["kind_and_text"])
    return pattern.replace("{kind}", kind).replace("{text}", source["text"])


def panel(estimate: Estimate, *figures: Any, compact: bool = False) -> Any:
    """The panel of an estimate with its figures and diagrams.

    In a notebook: a widget with one float trait an assumption (set it, observe it, link it)
    and one trait a result, which Python computes. In the book's build: HTML.
    compact: a small toolbox panel without presets, figures and dock.
    """
    if building_book():
        return Html(static_html(estimate, figures, compact))
    return make_panel(estimate, figures, compact)
