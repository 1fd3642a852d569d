"""The directive `{data-catalogue}`: every data table, each row with an anchor.

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

from .. import tables, units
from ..language import translate
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
        return [self._section(table) for table in tables.catalogue()]

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

    def _located(self, node_class: Any, text: str) -> nodes.TextElement:
        # gettext takes and replaces only nodes that know where they come from.
        node = node_class(text, text)
        node.source, node.line = self.get_source_info()
        return node


def words(table: dict[str, Any]) -> list[str]:
    """Everything in a table that is translated: column names, meanings, words in cells."""
    found: list[str] = []
    for column in table["columns"]:
        if column["name"] not in _SKIPPED:
            found += [_label(column), column["description"]]
    for row in table["rows"]:
        found += [row["cells"].get(name) or "" for name in TRANSLATED]
    return [text for text in dict.fromkeys(found) if text]


def table_html(table: dict[str, Any], language: str) -> str:
    """One table as HTML in a box that scrolls sideways by itself and by keyboard."""
    columns = [_scaled(table, column) for column in _shown(table)]
    sourced = any("source" in row["cells"] for row in table["rows"])
    heads = [_head(column) for column in columns]
    if sourced:
        heads += [
            f'<th scope="col">{interface_text(language, text)}</th>'
            for text in ("Source", "Grade", "Note")
        ]
    rows = "\n".join(_row(row, columns, sourced, language) for row in table["rows"])
    name = escape(translate(table["title"]))
    return (
        f'<div class="table-scroll" role="region" tabindex="0" aria-label="{name}">'
        f'<table class="data-table"><thead><tr>{"".join(heads)}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _shown(table: dict[str, Any]) -> list[dict[str, Any]]:
    # In a long table each value carries its unit, so that the unit needs no column.
    skipped = (*_SKIPPED, "unit") if table["kind"] == "long" else _SKIPPED
    return [column for column in table["columns"] if column["name"] not in skipped]


def _label(column: dict[str, Any]) -> str:
    return column.get("label") or column["name"].replace("_", " ").capitalize()


def _scaled(table: dict[str, Any], column: dict[str, Any]) -> dict[str, Any]:
    """`column` with the one unit of its head: the largest that suits the middle value."""
    values = sorted(
        abs(value)
        for row in table["rows"]
        if isinstance(value := row["cells"].get(column["name"]), float) and value
    )
    if not values or column["unit"] in ("", "text"):
        return {**column, "scale": 1.0, "shown_unit": ""}
    ladder = units.display_for(column["unit"]).ladder
    middle = values[len(values) // 2]
    scale, label = next((step for step in ladder if middle >= step[0]), ladder[-1])
    return {**column, "scale": scale, "shown_unit": label or column["unit"]}


def _head(column: dict[str, Any]) -> str:
    label, unit = escape(translate(_label(column))), escape(translate(column["shown_unit"]))
    about = escape(translate(column["description"]))
    number = "" if column["unit"] == "text" else ' class="number"'
    small = f" <small>{unit}</small>" if unit else ""
    return f'<th scope="col" title="{about}"{number}>{label}{small}</th>'


def _row(row: dict[str, Any], columns: list[dict[str, Any]], sourced: bool, language: str) -> str:
    cells = "".join(_cells(row, columns))
    if sourced:
        cells += _source_cells(row, language)
    anchor = f' id="{escape(row["anchor"])}"' if row["anchor"] else ""
    return f"<tr{anchor}>{cells}</tr>"


def _cells(row: dict[str, Any], columns: list[dict[str, Any]]) -> Iterator[str]:
    for place, column in enumerate(columns):
        value = row["cells"].get(column["name"])
        if place == 0 and row["anchor"]:
            yield f'<th scope="row">{escape(translate(str(value)))}</th>'
        elif isinstance(value, str):
            shown = translate(value) if column["name"] in TRANSLATED else value
            yield f"<td>{escape(shown)}</td>"
        else:
            unit = row["cells"].get("unit") if column["name"] == "value" else None
            yield f'<td class="number">{_number(value, column["scale"], unit)}</td>'


def _number(value: float | None, scale: float, unit: str | None) -> str:
    if value is None:
        return ""
    if math.isinf(value):
        return "∞"
    display = units.display_for(unit or "", digits=6)
    number, label = units.split_value(display, value / scale)
    return f"{number} {escape(label)}" if label else number


def _source_cells(row: dict[str, Any], language: str) -> str:
    cells = row["cells"]
    key, grade, note = (cells.get(name) or "" for name in ("source", "grade", "note"))
    meaning = escape(interface_text(language, GRADES[grade])) if grade in GRADES else ""
    title = escape(row["source_title"])
    return (
        f'<td><a href="#source-{escape(key)}" title="{title}">{escape(key)}</a></td>'
        f'<td><abbr title="{meaning}">{escape(grade)}</abbr></td>'
        f'<td class="note">{escape(translate(note))}</td>'
    )


def grades_html(language: str) -> str:
    """What the grades mean, as a list."""
    items = "".join(
        f"<dt>{grade}</dt><dd>{escape(interface_text(language, meaning))}</dd>"
        for grade, meaning in GRADES.items()
    )
    return f'<dl class="grades">{items}</dl>'


class Grades(SphinxDirective):
    """`{data-grades}`: what the grades of the tables mean."""

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", grades_html(self.config.language), format="html")]


def setup(app: Sphinx) -> None:
    app.add_directive("data-catalogue", Catalogue)
    app.add_directive("data-grades", Grades)
