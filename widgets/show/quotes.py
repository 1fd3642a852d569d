"""Numbers in sentences: what a role names, and the HTML that stands in its place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape

from ..engine.declare import EstimateError
from ..engine.estimate import Estimate
from ..facts.tables import row
from .spec import data_value

_QUOTE = re.compile(
    r"^\s*(?:(?P<estimate>[a-z_]+(?:\.[a-z_]+)?)\.)?(?P<name>\w+)(?::(?P<style>number|noun))?"
    r"\s*(?:\|\s*(?P<changes>.+))?$"
)
_CHANGE = re.compile(r"^\s*(\w+)\s*=\s*(\*?\s*[\d.eE+-]+|[a-z]\w*(?:\.\w+)*)\s*$")


@dataclass(frozen=True)
class Quote:
    """What a number in a sentence refers to."""

    estimate: Estimate
    name: str
    style: str
    changes: Mapping[str, float | str]


def parse_quote(quoted: str, find: Callable[[str | None], Estimate]) -> Quote:
    """Read `name`, `estimate.name`, `name:number`, `name:noun` or `name | assumption=0.2, other=*3`.

    A change may also be a row of the data tables (`mfu=measurements.key`) or a preset
    (`preset=key`). `find` gives the estimate of a name, or the page's own for None. Raises
    EstimateError.
    """
    match = _QUOTE.match(quoted)
    if match is None:
        raise EstimateError(f"Cannot read the number {quoted!r}: write estimate.result.")
    estimate = find(match["estimate"])
    changes = _changes(estimate, match["changes"] or "")
    return Quote(estimate, match["name"], match["style"] or "", changes)


def _changes(estimate: Estimate, listed: str) -> dict[str, float | str]:
    changes: dict[str, float | str] = {}
    for part in filter(str.strip, listed.split(",")):
        match = _CHANGE.match(part)
        if match is None:
            raise EstimateError(
                f"Cannot read the change {part!r}: write assumption=0.2 or assumption=*3."
            )
        key, number = match[1], match[2].replace(" ", "")
        if key == "preset":
            changes |= estimate.known(number, estimate.presets, "preset").numbers()
        elif number[0].isalpha():
            changes[key] = row(number).value
        else:
            changes[key] = number if number.startswith("*") else float(number)
    return changes


def number_html(quote: Quote, key: bool = False) -> str:
    """A live number for a sentence, holding its value at the defaults.

    An assumption can be dragged where it stands, a result can be asked; the page's script makes
    them so. key: the one number that its paragraph is about.
    """
    estimate = quote.estimate
    values = estimate.overridden(estimate.values({}), quote.changes)
    is_assumption = quote.name in estimate.assumptions
    if not is_assumption:
        estimate.known(quote.name, estimate.outputs, "assumption or result")
    results = estimate(**values)
    value = values[quote.name] if is_assumption else results[quote.name]
    shown = estimate.text(quote.name, values, results, quote.style)
    output = (
        f'<output data-estimate="{escape(estimate.name)}" {_reference(quote)} '
        f'data-value="{data_value(value)}" aria-live="off">{escape(shown)}</output>'
    )
    if is_assumption and not quote.changes:
        return f'<span class="estimate-number is-assumption">{output}</span>'
    kind = " is-key" if key else ""
    return f'<button type="button" class="estimate-number{kind}">{output}</button>'


def _reference(quote: Quote) -> str:
    style = f' data-style="{quote.style}"' if quote.style else ""
    if quote.changes:
        changes = escape(json.dumps(dict(quote.changes)), quote=True)
        return f'data-what-if="{quote.name}" data-with="{changes}"{style}'
    kind = "assumption" if quote.name in quote.estimate.assumptions else "output"
    return f'data-{kind}="{quote.name}"{style}'
