"""Bindings: where a figure's JSON or a text takes its numbers from an estimate.

A binding is JSON ({"$": "sweep", …}); Python resolves it for a notebook, the page's script for
the sliders. A text has placeholders: "{total_gpus}", "{total_gpus:number}", "{units:noun}".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..engine.declare import EstimateError
from ..engine.estimate import Estimate
from ..engine.expression import run
from ..language import translate

ROLES = {
    "client": "#5b6470", "control": "#7b5ea7", "prefill": "#0b6e7f", "decode": "#b8651b",
    "memory": "#3a7d44", "storage": "#8a6d3b", "network": "#4a6fa5", "accent": "#0b6e7f",
    "text": "#1c2024", "muted": "#60666d", "grid": "#e4e7ea", "bad": "#b3261e", "good": "#1a7f37",
    "measured": "#9c2f6b", "background": "#ffffff", "card": "#fafbfc",
}  # fmt: skip
"""What a colour stands for. The values are the light theme's, for notebooks; on the page the
style sheet decides."""

_PLACEHOLDER = re.compile(r"\{(\w+)(?::(number|noun))?\}")


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
    """Put numbers into a template: "{total_gpus} GPUs" (with the unit, where sentences do not
    supply it), "{total_gpus:number}" (without), "{units:noun}" ("1 unit", "8 units")."""
    values = estimate.values(assumptions or {})
    result = estimate(**values)
    known = {**estimate.assumptions, **estimate.outputs}

    def number(match: re.Match[str]) -> str:
        estimate.known(match[1], known, "assumption or result")
        return estimate.text(match[1], values, result, match[2] or "")

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
        case "series":
            return [x / b["scale"] for x in estimate.series_values(**values)[b["of"]]]
        case "text":
            words = fill(estimate, translate(b["template"]), values)
            return b.get("before", "") + words + b.get("after", "")
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


def localized_json(part: Any) -> Any:
    """Figure JSON with the templates of its texts in the page's language."""
    if isinstance(part, Mapping):
        if part.get("$") == "text":
            return {**part, "template": translate(part["template"])}
        return {k: localized_json(v) for k, v in part.items()}
    if isinstance(part, (list, tuple)):
        return [localized_json(v) for v in part]
    return part


def templates(part: Any) -> list[str]:
    if isinstance(part, Mapping):
        if part.get("$") == "text":
            return [part["template"]]
        return [t for v in part.values() for t in templates(v)]
    if isinstance(part, (list, tuple)):
        return [t for v in part for t in templates(v)]
    return []


def check_bindings(estimate: Estimate, where: str, part: Any) -> None:
    """Raises EstimateError if figure JSON names what the estimate does not have."""
    known = {**estimate.assumptions, **estimate.outputs}
    if isinstance(part, str):
        for name in placeholders(part):
            estimate.known(name, known, f"name (figure {where!r})")
    elif isinstance(part, Mapping):
        if "$" in part:
            if "of" in part and part["$"] != "series":
                estimate.known(part["of"], known, f"name (figure {where!r})")
            check_bindings(estimate, where, part.get("template", ""))
        else:
            for v in part.values():
                check_bindings(estimate, where, v)
    elif isinstance(part, (list, tuple)):
        for v in part:
            check_bindings(estimate, where, v)
