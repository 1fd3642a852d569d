"""The published measurements as tables of the page "How far off"."""

from __future__ import annotations

from html import escape

from ..engine.units import display_for, format_value
from ..language import translate
from .loader import load, slug_of
from .published import Measurement, error, measurements, median, problems
from .validation_tables import scrolling

HEADS = {
    "problem": "Problem", "rows": "Rows", "computed": "Computed", "counted": "Counted",
    "textbook": "Textbook", "calibrated": "Calibrated", "measurement": "Measurement",
    "measured": "Measured", "error": "Error", "by": "Computed by", "source": "Source",
    "grade": "Grade", "remark": "Remark", "medians": "Median errors by problem",
}  # fmt: skip
NOTES = {
    "fitted": "used to fit",
    "preset": "a preset comes from this system",
    "input": "an input is assumed, not published",
    "identity": "checks the arithmetic only",
    "assumption": "tests an assumption, no result",
}
PROBLEMS = {"single_instance": "instance"}
"""Problems whose estimate has another name."""


def estimate_of(problem: str) -> str:
    """Name of the estimate that a problem's rows belong to."""
    return PROBLEMS.get(problem, problem)


class Medians:
    """One line a problem: how many rows, how many count, and their median errors."""

    def _repr_html_(self) -> str:
        heads = ("problem", "rows", "computed", "counted", "textbook", "calibrated")
        rows = [_median_row(problem, found) for problem, found in problems().items()]
        return scrolling(HEADS["medians"], tuple(HEADS[head] for head in heads), rows)

    def __repr__(self) -> str:
        return "\n".join(
            f"{problem}: {_share(median(rows, 'calibrated'))}"
            for problem, rows in problems().items()
        )


class Tables:
    """Every measurement, folded by problem."""

    def _repr_html_(self) -> str:
        return "".join(_folded(problem, rows) for problem, rows in problems().items())

    def __repr__(self) -> str:
        return "\n".join(f"{one.key}: {_share(_error(one))}" for one in measurements())


def messages() -> list[str]:
    """English texts of the tables: heads, quantities, notes, reasons."""
    rows = measurements()
    found = [*HEADS.values(), *NOTES.values()]
    found += [one.quantity for one in rows] + [one.reason for one in rows]
    return [text for text in dict.fromkeys(found) if text]


def _median_row(problem: str, rows: list[Measurement]) -> str:
    counts = len(rows), sum(r.estimate is not None for r in rows), sum(r.confirms for r in rows)
    shares = [_share(median(rows, which)) for which in ("textbook", "calibrated")]
    name = estimate_of(problem)
    link = f'<a href="{slug_of(name)}.html">{escape(translate(load(name).title))}</a>'
    cells = "".join(f'<td class="number">{cell}</td>' for cell in (*counts, *shares))
    return f'<tr><th scope="row">{link}</th>{cells}</tr>'


def _folded(problem: str, rows: list[Measurement]) -> str:
    title = escape(translate(load(estimate_of(problem)).title))
    numbers = ("measured", "textbook", "calibrated", "error")
    heads = [_head("measurement"), *(_head(name, "number") for name in numbers)]
    heads += [_head(name) for name in ("remark", "source", "grade", "by")]
    body = "".join(_row(one) for one in rows)
    return (
        f'<details class="folded" id="measured-{problem.replace("_", "-")}">'
        f"<summary>{title} ({len(rows)})</summary>"
        f'<div class="folded-body"><div class="table-scroll" role="region" tabindex="0" aria-label="{title}">'
        f'<table class="data-table"><thead><tr>{"".join(heads)}</tr></thead><tbody>{body}</tbody></table></div></div></details>'
    )


def _head(name: str, kind: str = "") -> str:
    mark = f' class="{kind}"' if kind else ""
    return f'<th scope="col"{mark}>{escape(translate(HEADS[name]))}</th>'


def _row(one: Measurement) -> str:
    about = "; ".join(text for text in (one.system, one.configuration) if text)
    values = (one.value, one.textbook, one.calibrated)
    numbers = [*(_number(one.unit, value) for value in values), _share(_error(one))]
    cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
    small = f"<br><small>{escape(about)}</small>" if about else ""
    by = f"<code>{escape(one.compared)}</code>" if one.compared else "–"
    return (
        f'<tr><th scope="row" class="words">{escape(translate(one.quantity))}{small}</th>{cells}'
        f'<td class="note">{escape(_remark(one))}</td><td>{_source(one)}</td>'
        f'<td>{escape(one.grade)}</td><td class="words">{by}</td></tr>'
    )


def _remark(one: Measurement) -> str:
    notes = [one.caveat, "assumption" if one.kind == "assumption" else ""]
    return "; ".join(
        [*(translate(NOTES[note]) for note in notes if note), translate(one.reason)]
    ).strip("; ")


def _source(one: Measurement) -> str:
    name = escape(one.repository)
    title = escape(f"{one.path}, {one.licence}")
    return f'<a href="{escape(one.address)}" title="{title}">{name}</a>' if one.address else name


def _error(one: Measurement) -> float | None:
    return error(one.estimate, one.value)


def _number(unit: str, value: float | None) -> str:
    return "–" if value is None else escape(format_value(display_for(unit), value))


def _share(value: float | None) -> str:
    return (
        "–" if value is None else escape(format_value(display_for("", show="%", digits=2), value))
    )
