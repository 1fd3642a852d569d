"""Roles for numbers in prose: {n}`total_gpus` and {row}`hardware.h100_sxm.hbm_bytes`.

A role only marks the place while pages are read, so that catalogues keep it as written
and translations can move it. The HTML is made when a page is written.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from ...engine import units
from ...facts import tables
from ..quoted import is_headline, quoted_html

if TYPE_CHECKING:
    from sphinx.application import Sphinx

logger = logging.getLogger(__name__)


class live_number(nodes.Inline, nodes.Element):
    """A number of an estimate that follows the sliders; `target` is the role's text."""


class table_value(nodes.Inline, nodes.Element):
    """A number of a data table; `target` is its address."""


class NumberRole(SphinxRole):
    """Replace the role by a node of one kind that remembers its text."""

    def __init__(self, node_class: type[nodes.Element]) -> None:
        super().__init__()
        self.node_class = node_class

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        node = self.node_class(self.rawtext, target=self.text.strip())
        self.set_source_info(node)
        return [node], []


def table_markup(href_of_data: str, target: str) -> str:
    """HTML of a table's number with its unit, linked to its row.

    `target` ends in ":number" to leave the unit out, in ":%" to write a share as a
    percentage. Raises LookupError for an address that is not there.
    """
    address, _, style = target.partition(":")
    found = tables.row(address.strip())
    display = units.display_for(found.unit, show="%" if style == "%" else "")
    number, label = units.split_value(display, found.value)
    text = number if style == "number" else number + units.join(display, label)
    href = f"{href_of_data}#{tables.anchor(found.path)}"
    return f'<a class="table-value" href="{escape(href)}">{escape(text)}</a>'


def _append(self: Any, node: nodes.Element, make: Any) -> None:
    try:
        self.body.append(make(node["target"]))
    except Exception as error:  # whatever is wrong, name the file and the line
        logger.warning(
            "%s: %s", node["target"], error, location=node, type="book", subtype="number"
        )
    raise nodes.SkipNode


def visit_live_number(self: Any, node: nodes.Element) -> None:
    page = self.builder.current_docname
    _append(self, node, lambda target: quoted_html(page, target, _is_key(page, node)))


def _is_key(page: str, node: nodes.Element) -> bool:
    """Whether the number is the one that its paragraph is about: the first headline in it."""
    block = node.parent
    while not isinstance(block, nodes.paragraph):
        if block is None:
            return False
        block = block.parent
    numbers = block.findall(live_number)
    first = next((n for n in numbers if is_headline(page, n["target"])), None)
    return first is node


def visit_table_value(self: Any, node: nodes.Element) -> None:
    page = self.builder.current_docname
    href = self.builder.get_relative_uri(page, "chapters/data")
    _append(self, node, lambda target: table_markup(href, target))


def setup(app: Sphinx) -> None:
    app.add_node(live_number, html=(visit_live_number, None))  # type: ignore[arg-type]
    app.add_node(table_value, html=(visit_table_value, None))  # type: ignore[arg-type]
    app.add_role("n", NumberRole(live_number))
    app.add_role("row", NumberRole(table_value))
