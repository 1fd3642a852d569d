"""The spec: everything that the page's script needs of an estimate, as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from ..engine.declare import Assume, EstimateError, Gives
from ..engine.estimate import Estimate
from ..engine.units import localized
from ..facts.tables import anchor
from ..language import html_language, translate
from .pickers import has_pickers
from .script import classic
from .stops import box_unit, short_unit, stops
from .words import GROUP_TITLES, STRINGS

FIRST_RANK = 7
"""At most so many assumptions stand in sight; the rest is folded by group."""


def first_rank(estimate: Estimate) -> tuple[str, ...]:
    """Names of the assumptions that stand in sight: those that the author named, or else those
    that move a headline most over their ranges. Raises EstimateError for more than seven."""
    named = [name for name, a in estimate.assumptions.items() if a.first]
    if len(named) > FIRST_RANK:
        raise EstimateError(
            f"{estimate.name}: {len(named)} assumptions are marked first=True; at most "
            f"{FIRST_RANK} fit on one screen."
        )
    if named:
        return tuple(named)
    reach = {name: _reach(estimate, name) for name in estimate.assumptions}
    best = sorted(reach, key=lambda name: -reach[name])[:FIRST_RANK]
    return tuple(name for name in estimate.assumptions if name in best)


def _reach(estimate: Estimate, name: str) -> float:
    """How far the whole range of an assumption moves a headline, relative to its size."""
    a = estimate.assumptions[name]
    found = estimate(**{name: np.array([a.low, float(a.default), a.high])})
    moved = 0.0
    for output in estimate.headlines or tuple(estimate.outputs):
        low, now, high = (float(x) for x in found[output])
        size = max(abs(low), abs(now), abs(high))
        moved = max(moved, max(abs(low - now), abs(high - now)) / size if size else 0.0)
    return moved


def source_spec(a: Assume) -> dict[str, Any]:
    """Kind, further words and link of an assumption's source; the kind has words of its own."""
    source = a.source
    assert source is not None  # Assume.check() has seen to it
    row = source.row
    text, href = (row.label, row_href(row.path)) if row else (source.text, None)
    return {"kind": source.kind, "text": translate(text), "href": href}


def row_href(path: str) -> str:
    """Address of a row on the data page, from any chapter's page."""
    return f"data.html#{anchor(path)}"


def assumption_spec(a: Assume, first: bool) -> dict[str, Any]:
    """An assumption as the front end reads it; `first` ones stand in sight."""
    scale, unit = box_unit(a)
    return {
        "name": a.name,
        "label": translate(a.label),
        "short": translate(a.short),
        "first": first,
        "band": list(a.band) if a.band else None,
        "follows": a.follows,
        "idle": translate(a.idle),
        "meaning": translate(a.meaning),
        "group": a.group,
        "unit": a.unit,
        "default": float(a.default),
        "low": float(a.low),
        "high": float(a.high),
        "scale": a.scale,
        "stops": stops(a),
        "box": {"scale": scale, "unit": localized(unit), "short": localized(short_unit(unit))},
        "display": a.display.spec(),
        "source": source_spec(a),
        "suggested_by": a.suggested_by,
    }


def _result_spec(estimate: Estimate, g: Gives) -> dict[str, Any]:
    verdict = None
    if g.verdict is not None:
        word, number = g.chip or (g.short or g.label, "")
        verdict = {
            "yes": translate(g.verdict[0]),
            "no": translate(g.verdict[1]),
            "alarm": g.alarm,
            "word": translate(word),
            "number": translate(number),
        }
    return {
        "name": g.name,
        "label": translate(g.label),
        "short": translate(g.short),
        "made_of": translate(g.made_of),
        "answers": translate(g.answers),
        "none": translate(g.none),
        "words": [translate(word) for word in g.words],
        "decision": g.decision,
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
    label, note = (translate(words) for words in estimate.defaults)
    textbook = {"key": "textbook", "label": label, "values": {}, "note": note}
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
    first = first_rank(estimate)
    return {
        "name": estimate.name,
        "title": translate(estimate.title),
        "language": html_language(),
        "compact": compact,
        "pickers": has_pickers(estimate) and not compact,
        "assumptions": [assumption_spec(a, k in first) for k, a in estimate.assumptions.items()],
        "results": [_result_spec(estimate, g) for g in estimate.outputs.values()],
        "constraints": [
            {"name": k, "no": translate(r.otherwise)} for k, r in estimate.requires.items()
        ],
        "limits": {name: list(limits) for name, limits in estimate.limits.items()},
        "presets": _preset_specs(estimate),
        "figures": [figure.spec() for figure in figures],
        "strings": strings(),
    }


def strings() -> dict[str, str]:
    """The panel's own words in the page's language."""
    own = {key: translate(text) for key, text in STRINGS.items()}
    return {**own, **{f"group_{key}": translate(text) for key, text in GROUP_TITLES.items()}}


def spec_script(estimate: Estimate, figures: Sequence[Any] = (), compact: bool = False) -> str:
    """The spec as a script element that a browser does not run, and the estimate as one it does."""
    body = inert(json_of(spec(estimate, figures, compact)))
    code = inert(classic(estimate.name, estimate.javascript()))
    name = escape(estimate.name)
    return (
        f'<script type="application/json" data-estimate-spec="{name}">{body}</script>'
        f"<script>{code}</script>"
    )


def json_of(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def inert(text: str) -> str:
    """Text that cannot end its script element, nor begin a comment in it."""
    return text.replace("</", "<\\/").replace("<!--", "<\\!--")


def data_value(value: Any) -> str:
    """A number as `data-value` holds it: unrounded, `true` or `false` for verdicts."""
    return str(value).lower() if isinstance(value, bool) else repr(float(value))
