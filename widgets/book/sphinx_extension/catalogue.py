"""The directive `{data-catalogue}`: every data table, each row with an anchor, and the sources.

Markup is plain HTML: the tables are wide, and a row's anchor, unit and source need
attributes that Markdown tables have not. Sources link to the bibliography of the page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from ...engine import units
from ...facts import tables
from ...language import translate
from .translation import interface_text, is_gettext

if TYPE_CHECKING:
    from sphinx.application import Sphinx

GRADES = {
    "S": "seen in the source named",
    "S2": "seen only as an abstract, an excerpt or on another page",
    "C": "computed from the source's figures",
}
TRANSLATED = ("quantity", "note")
"""Columns whose cells are words. Names of systems and configurations stay as they are."""
_SKIPPED = ("key", "source", "grade", "note")  # the last three have cells of their own


class Catalogue(SphinxDirective):
    """Sections with a heading and a table, one for each data table."""

    def run(self) -> list[nodes.Node]:
        sections = [self._section(labelled(table)) for table in tables.catalogue()]
        return [*sections, self._sources()]

    def _section(self, table: dict[str, Any]) -> nodes.section:
        section = nodes.section(ids=[table["anchor"]])
        section += self._located(nodes.title, table["title"])
        about = (table["description"], table["attribution"], table["licence"])
        section += [self._located(nodes.paragraph, text) for text in about if text]
        if is_gettext(self.env.app):
            section += [self._located(nodes.paragraph, text) for text in words(table)]
        html = table_html(table, self.config.language)
        section += nodes.raw("", html, format="html")
        return section

    def _sources(self) -> nodes.section:
        section = nodes.section(ids=["sources"])
        section += self._located(nodes.title, "Sources")
        section += self.parse_text_to_nodes("```{bibliography}\n:all:\n```\n")
        return section

    def _located(self, node_class: Any, text: str) -> nodes.TextElement:
        # gettext takes and replaces only nodes that know where they come from.
        node = node_class(text, text)
        node.source, node.line = self.get_source_info()
        return node


def labelled(table: dict[str, Any]) -> dict[str, Any]:
    """`table` with the label that its manifest gives to each column."""
    columns = [
        {**column, "label": _label(table["name"], column["name"])} for column in table["columns"]
    ]
    return {**table, "columns": columns}


def words(table: dict[str, Any]) -> list[str]:
    """Everything in a table that is translated: column names, meanings, words in cells."""
    found: list[str] = []
    for column in table["columns"]:
        if column["name"] not in _SKIPPED:
            found += [column["label"], column["description"]]
    for row in table["rows"]:
        found += [row["cells"].get(name) or "" for name in TRANSLATED]
    return [text for text in dict.fromkeys(found) if text]


def table_html(table: dict[str, Any], language: str) -> str:
    """One table as HTML in a box that scrolls sideways by itself and by keyboard."""
    columns = _shown(table)
    sourced = any("source" in row["cells"] for row in table["rows"])
    heads = [_head(column) for column in columns]
    if sourced:
        heads += [
            f'<th scope="col">{interface_text(language, text)}</th>'
            for text in ("Source", "Grade", "Note")
        ]
    rows = "\n".join(_row(row, columns, sourced, language) for row in table["rows"])
    name = escape(translate(table["title"]))
    markup = (
        f'<div class="table-scroll" role="region" tabindex="0" aria-label="{name}">'
        f'<table class="data-table"><thead><tr>{" ".join(heads)}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
    return _folded(markup, table, language) if table["kind"] == "series" else markup


def _folded(markup: str, table: dict[str, Any], language: str) -> str:
    # A series is drawn in the chapters; here it is for looking up, and long.
    summary = interface_text(language, "{rows} rows").format(rows=len(table["rows"]))
    return (
        f'<details class="folded"><summary>{summary}</summary>'
        f'<div class="folded-body">{markup}</div></details>'
    )


def _shown(table: dict[str, Any]) -> list[dict[str, Any]]:
    """The columns to show, each with its label and the unit of its head.

    Columns in one unit share a prefix, so that they compare at a glance. In a long table
    each value carries its unit, so that the unit needs no column.
    """
    skipped = (*_SKIPPED, "unit") if table["kind"] == "long" else _SKIPPED
    columns = [column for column in table["columns"] if column["name"] not in skipped]
    steps = {unit: _step(table, unit) for unit in {column["unit"] for column in columns}}
    return [{**column, "step": steps[column["unit"]]} for column in columns]


def _label(table: str, column: str) -> str:
    about = tables.manifest(table)["columns"][column]
    label = about.get("label") or column.replace("_", " ")
    return label[:1].upper() + label[1:]


def _step(table: dict[str, Any], unit: str) -> tuple[float, str]:
    """Scale and label for all columns in `unit`: that of the column with smallest middle value."""
    names = [column["name"] for column in table["columns"] if column["unit"] == unit]
    middles = [value for name in names if (value := _middle(table, name))]
    if not middles or unit in ("", "text"):
        return 1.0, ""
    ladder = units.display_for(unit).ladder
    scale, label = next((step for step in ladder if min(middles) >= step[0]), ladder[-1])
    return scale, label or unit


def _middle(table: dict[str, Any], column: str) -> float | None:
    values = sorted(
        abs(value)
        for row in table["rows"]
        if isinstance(value := row["cells"].get(column), float) and math.isfinite(value) and value
    )
    return values[len(values) // 2] if values else None


def _head(column: dict[str, Any]) -> str:
    label, unit = escape(translate(column["label"])), escape(translate(column["step"][1]))
    about = escape(translate(column["description"]))
    number = "" if column["unit"] == "text" else ' class="number"'
    small = f" <small>{unit}</small>" if unit else ""
    return f'<th scope="col" title="{about}"{number}>{label}{small}</th>'


def _row(row: dict[str, Any], columns: list[dict[str, Any]], sourced: bool, language: str) -> str:
    cells = [*_cells(row, columns)]
    if sourced:
        cells.append(_source_cells(row, language))
    anchor = f' id="{escape(row["anchor"])}"' if row["anchor"] else ""
    # Spaces keep the words apart in the excerpts of the search page.
    return f"<tr{anchor}>{' '.join(cells)}</tr>"


def _cells(row: dict[str, Any], columns: list[dict[str, Any]]) -> Iterator[str]:
    for place, column in enumerate(columns):
        value = row["cells"].get(column["name"])
        if place == 0 and row["anchor"]:
            yield f'<th scope="row">{escape(translate(str(value)))}</th>'
        elif isinstance(value, str):
            shown = translate(value) if column["name"] in TRANSLATED else value
            words = ' class="words"' if len(value) > 24 else ""
            yield f"<td{words}>{escape(shown)}</td>"
        else:
            unit = row["cells"].get("unit") if column["name"] == "value" else None
            yield f'<td class="number">{_number(value, column["step"][0], unit)}</td>'


def _number(value: float | None, scale: float, unit: str | None) -> str:
    if value is None:
        return ""
    if math.isinf(value):
        return "∞"
    display = units.display_for(unit or "", digits=6)
    number, label = units.split_value(display, value / scale)
    if len(number) > 14:  # a count without a prefix
        digits, power = f"{value / scale:.4e}".split("e")
        number = f"{digits.rstrip('0').rstrip('.')} × 10<sup>{int(power)}</sup>"
    return f"{number} {escape(label)}" if label else number


def _source_cells(row: dict[str, Any], language: str) -> str:
    cells = row["cells"]
    key, grade, note = (cells.get(name) or "" for name in ("source", "grade", "note"))
    meaning = escape(interface_text(language, GRADES[grade])) if grade in GRADES else ""
    title, anchor = escape(row["source_title"]), nodes.make_id(f"source-{key}")
    return " ".join(
        (
            f'<td><a href="#{anchor}" title="{title}">{escape(key)}</a></td>',
            f'<td><abbr title="{meaning}">{escape(grade)}</abbr></td>',
            f'<td class="note">{escape(translate(note))}</td>',
        )
    )


def setup(app: Sphinx) -> None:
    app.add_directive("data-catalogue", Catalogue)
