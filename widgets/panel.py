"""The panel: sliders, results and figures of one estimate, in a notebook or on the page.

One front end (static/panel.js), two hosts. In a notebook the panel is an ipywidgets widget
with a trait for each assumption and each result. In the book's build it is HTML: a table of
the defaults, and the spec from which the page's script makes the same panel without a kernel.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from .estimate import Assume, Estimate, Gives
from .figures import box_unit, fill
from .language import html_language, translate
from .strings import GROUP_TITLES, STRINGS
from .units import localized, split_value

STATIC = Path(__file__).parent / "static"
_MANTISSAS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)


def building_book() -> bool:
    """Whether this runs in the book's build, where HTML is wanted and no widget."""
    return os.environ.get("BOOK_BUILD") == "1"


# --- slider stops ---------------------------------------------------------------------------


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
    from math import floor, log10

    decades = range(floor(log10(low)), floor(log10(high)) + 1)
    return [m * 10.0**d for d in decades for m in _MANTISSAS]


def _linear_stops(low: float, high: float) -> list[float]:
    from math import ceil, floor, log10

    rough = (high - low) / 100
    unit = 10.0 ** floor(log10(rough))
    step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= rough * 0.999)
    return [k * step for k in range(ceil(low / step), floor(high / step) + 1)]


def _whole_stops(low: int, high: int) -> list[float]:
    if high - low <= 150:
        return [float(v) for v in range(low, high + 1)]
    few = [float(v) for v in range(low, min(high, 20) + 1)]
    return few + [v for v in _log_stops(max(low, 1), high) if v == int(v) and v > 20]


# --- the spec -------------------------------------------------------------------------------


def _source(a: Assume) -> dict[str, Any]:
    """Kind, further words and link of an assumption's source; the kind has words of its own."""
    source = a.source
    assert source is not None  # Assume.check() has seen to it
    row = source.row
    text, href = (row.label, row_href(row.path)) if row else (source.text, None)
    return {"kind": source.kind, "text": translate(text), "href": href}


def row_href(path: str) -> str:
    """Address of a row on the data page, from any chapter's page."""
    from .tables import anchor

    return f"data.html#{anchor(path)}"


def _assumption_spec(a: Assume) -> dict[str, Any]:
    scale, unit = box_unit(a)
    return {
        "name": a.name,
        "label": translate(a.label),
        "meaning": translate(a.meaning),
        "group": a.group,
        "unit": a.unit,
        "default": float(a.default),
        "low": float(a.low),
        "high": float(a.high),
        "scale": a.scale,
        "stops": stops(a),
        "box": {"scale": scale, "unit": localized(unit)},
        "display": a.display.spec(),
        "source": _source(a),
        "suggested_by": a.suggested_by,
    }


def _result_spec(estimate: Estimate, g: Gives) -> dict[str, Any]:
    verdict = None
    if g.verdict is not None:
        verdict = {"yes": translate(g.verdict[0]), "no": translate(g.verdict[1]), "alarm": g.alarm}
    return {
        "name": g.name,
        "label": translate(g.label),
        "meaning": translate(g.meaning),
        "unit": g.unit,
        "display": g.display.spec(),
        "kind": "boolean" if g.boolean else "number",
        "headline": g.headline,
        "detail": g.detail,
        "formula": estimate.mathml(g.name),
        "verdict": verdict,
    }


def _preset_specs(estimate: Estimate) -> list[dict[str, Any]]:
    textbook = {"key": "textbook", "label": translate("Textbook"), "values": {}, "note": ""}
    measured = [
        {
            "key": p.key,
            "label": translate(p.label),
            "values": p.numbers(),
            "note": translate(p.note),
        }
        for p in estimate.presets.values()
    ]
    return [textbook, *measured]


def spec(estimate: Estimate, figures: Sequence[Any] = (), compact: bool = False) -> dict[str, Any]:
    """Everything that the front end needs, as JSON; texts in the page's language."""
    return {
        "name": estimate.name,
        "title": translate(estimate.title),
        "language": html_language(),
        "compact": compact,
        "assumptions": [_assumption_spec(a) for a in estimate.assumptions.values()],
        "results": [_result_spec(estimate, g) for g in estimate.outputs.values()],
        "constraints": [
            {"name": k, "no": translate(r.otherwise)} for k, r in estimate.requires.items()
        ],
        "presets": _preset_specs(estimate),
        "figures": [figure.spec() for figure in figures],
        "code": estimate.javascript(),
        "strings": strings(),
    }


def strings() -> dict[str, str]:
    """The panel's own words in the page's language."""
    own = {key: translate(text) for key, text in STRINGS.items()}
    return {**own, **{f"group_{key}": translate(text) for key, text in GROUP_TITLES.items()}}


def spec_script(content: Mapping[str, Any]) -> str:
    """The spec as a script element that a browser does not run."""
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    name = escape(str(content["name"]))
    return f'<script type="application/json" data-estimate-spec="{name}">{body}</script>'


# --- the static page ------------------------------------------------------------------------


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
        f'<section class="estimate-panel" id="estimate-{name}" data-estimate="{name}" '
        f'aria-label="{title}" style="{_reserved_room(estimate, figures)}">'
        f'<div class="estimate-static"><h3 class="estimate-title">{title}</h3>{verdicts}{tables}'
        f"</div></section>{spec_script(spec(estimate, figures, compact))}"
    )


def _static_table(kind: str, caption: str, rows: str) -> str:
    words = escape(translate(caption))
    return f'<table class="{kind}"><caption>{words}</caption><tbody>{rows}</tbody></table>'


def _reserved_room(estimate: Estimate, figures: Sequence[Any]) -> str:
    """Counts from which the style sheet knows the panel's height before it is built."""
    counts = {
        "rows": len(estimate.assumptions),
        "groups": len({a.group for a in estimate.assumptions.values()}),
        "results": sum(not g.detail for g in estimate.outputs.values()),
        "figure": int(any(not f.page for f in figures)),
    }
    return ";".join(f"--{key}:{count}" for key, count in counts.items())


def _static_assumption(a: Assume) -> str:
    number, unit = split_value(a.display, a.default)
    return (
        f'<tr><th scope="row">{escape(translate(a.label))}</th><td>{escape(number)}</td>'
        f"<td>{escape(unit)}</td><td>{escape(_source_words(a))}</td></tr>"
    )


def _source_words(a: Assume) -> str:
    source = _source(a)
    kind = translate(STRINGS[f"source_{source['kind']}"])
    if not source["text"]:
        return kind
    pattern = translate(STRINGS["kind_and_text"])
    return pattern.replace("{kind}", kind).replace("{text}", source["text"])


def data_value(value: Any) -> str:
    """A number as `data-value` holds it: unrounded, `true` or `false` for verdicts."""
    return str(value).lower() if isinstance(value, bool) else repr(float(value))


class _Html:
    """A cell's output in the book's build."""

    def __init__(self, html: str):
        self.html = html

    def _repr_html_(self) -> str:
        return self.html


# --- the widget -----------------------------------------------------------------------------


def panel(estimate: Estimate, *figures: Any, compact: bool = False) -> Any:
    """The panel of an estimate with its figures and diagrams.

    In a notebook: a widget with one float trait an assumption (set it, observe it, link it)
    and one trait a result, which Python computes. In the book's build: HTML.
    compact: a small toolbox panel without presets, figures and dock.
    """
    if building_book():
        return _Html(static_html(estimate, figures, compact))
    from .live import make_panel

    return make_panel(estimate, figures, compact)
