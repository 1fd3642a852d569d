"""Tables of the page "How far off", from the rows that `tools/calibrate.py` wrote."""

from __future__ import annotations

from html import escape

import numpy as np

from ..engine.units import display_for, format_value
from ..facts.tables import row, table
from ..language import translate
from ..show.spec import row_href
from .loader import load
from .validation import median_error, siblings, textbook, unseen

HEADS = {
    "kept_out": "Runs kept out of the fit",
    "siblings": "with a sibling in the fit",
    "alone": "without one",
    "runs": "Runs",
    "error": "Median error",
    "bias": "Bias",
    "removed": "Taken out",
    "without": "Median error without it",
    "bias_without": "Bias without it",
    "costs": "Points that it removes",
    "nothing": "Nothing",
    "errors": "Errors by engine, model and GPU",
    "constants": "What each constant removes from the error",
}
KINDS = {"engine": "engines", "family": "shapes", "system": "hardware"}
"""What the errors are grouped by, and the table that has the names."""


def kinds() -> dict[str, list[tuple[str, str]]]:
    """Groups of `validation.csv` by what they are grouped by: (key of its rows, name)."""
    keys = {record["key"] for record in table("validation")}
    return {
        kind: [
            (f"{kind}_{record['key']}", record["name"])
            for record in table(source)
            if f"{kind}_{record['key']}_runs" in keys
        ]
        for kind, source in KINDS.items()
    }


def without() -> list[tuple[str, float]]:
    """(assumption of `instance`, median error without it), what costs most first."""
    prefix = "without_"
    found = [
        (record["key"].removeprefix(prefix), record["value"])
        for record in table("validation")
        if record["key"].startswith(prefix)
    ]
    return sorted(found, key=lambda one: -one[1])


class Errors:
    """Median error and bias by engine, model and GPU, as a cell's output."""

    def _repr_html_(self) -> str:
        rows = [_errors_row("held_out", translate(HEADS["kept_out"]))]
        rows += sibling_rows()
        rows += [_errors_row(key, name) for group in kinds().values() for key, name in group]
        return scrolling(HEADS["errors"], ("", HEADS["runs"], HEADS["error"], HEADS["bias"]), rows)

    def __repr__(self) -> str:
        names = [("held_out", "all"), *(one for group in kinds().values() for one in group)]
        return "\n".join(f"{name}: {_value(f'{key}_median_error'):.1%}" for key, name in names)


class Without:
    """The median error with one constant at a time put back to the data sheet's."""

    def _repr_html_(self) -> str:
        heads = tuple(HEADS[name] for name in ("removed", "without", "costs", "bias_without"))
        fitted, sheet, compared = _value("held_out_median_error"), textbook(), unseen()
        shares = _share("held_out_median_error"), "", _share("held_out_bias")
        rows = [_line(translate(HEADS["nothing"]), *shares)]
        labels = load("instance").assumptions
        for name, error in without():
            bias = float(np.median(compared.errors(**{name: sheet[name]})))
            cells = _share(f"without_{name}"), _points(error - fitted), _percent(bias)
            rows.append(_line(translate(labels[name].label), *cells))
        return scrolling(HEADS["constants"], heads, rows)

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {error:.1%}" for name, error in without())


def sibling_rows() -> list[str]:
    """The kept-out runs whose test the fit saw at another concurrency, and the others."""
    errors, seen = unseen().errors(), siblings()
    rows = []
    for key, chosen in (("siblings", errors[seen]), ("alone", errors[~seen])):
        shares = (_percent(median_error(chosen)), _percent(float(np.median(chosen))))
        rows.append(_line(translate(HEADS[key]), str(len(chosen)), *shares))
    return rows


def scrolling(caption: str, heads: tuple[str, ...], rows: list[str]) -> str:
    """A table in a box that scrolls sideways by itself; heads after the first are numbers'."""
    first, *others = (escape(translate(head)) for head in heads)
    corner = f'<th scope="col">{first}</th>' if first else "<td></td>"
    head = corner + "".join(f'<th scope="col" class="number">{text}</th>' for text in others)
    return (
        f'<div class="table-scroll" role="region" tabindex="0" aria-label="{escape(translate(caption))}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _errors_row(key: str, name: str) -> str:
    runs = f'<a href="{row_href(f"validation.{key}_runs")}">{_value(f"{key}_runs"):.0f}</a>'
    return _line(name, runs, _share(f"{key}_median_error"), _share(f"{key}_bias"))


def _line(name: str, *cells: str) -> str:
    shown = "".join(f'<td class="number">{cell}</td>' for cell in cells)
    return f'<tr><th scope="row">{escape(name)}</th>{shown}</tr>'


def _value(key: str) -> float:
    return row(f"validation.{key}").value


def _share(key: str) -> str:
    """A row's number as a percentage, linked to the row."""
    return f'<a href="{row_href(f"validation.{key}")}">{_percent(_value(key))}</a>'


def _percent(value: float) -> str:
    return escape(format_value(display_for("", show="%"), value))


def _points(change: float) -> str:
    """A difference of two percentages."""
    return f"{max(change, 0.0) * 100:.1f}"
