"""Folded answers: an admonition of class `dropdown` is a plain `<details>`.

    ```{dropdown} What if the prompts double?
    ...
    ```

The stock extensions fold with a script or a style sheet of their own; a browser needs neither. `:open:` is not offered:
what should be read is not folded. In print everything is open (book.css, book.js).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.parsers.rst.directives.admonitions import Admonition
from sphinx.transforms.post_transforms import SphinxPostTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class folded(nodes.Element):
    """A block that a reader opens; its first child is the summary."""


class summary(nodes.TextElement):
    """The line of a folded block that stays in sight."""


class Dropdown(Admonition):
    """`{dropdown} Question`: an admonition that is folded."""

    def run(self) -> list[nodes.Node]:
        self.options["class"] = ["dropdown"]
        return list(super().run())


class FoldAdmonitions(SphinxPostTransform):
    """Turn `dropdown` admonitions into folded blocks."""

    default_priority = 400
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for node in list(self.document.findall(nodes.Element)):
            if isinstance(node, nodes.Admonition) and "dropdown" in node["classes"]:
                node.replace_self(_fold(node))


def _fold(node: nodes.Element) -> folded:
    block = folded("", classes=["folded", *node["classes"]], ids=node["ids"])
    title, *rest = node.children
    if isinstance(title, nodes.title):
        block += summary("", "", *title.children)
        block += rest
    else:
        block += summary("", "…")
        block += node.children
    return block


def visit_folded(self: Any, node: nodes.Element) -> None:
    self.body.append(self.starttag(node, "details"))


def depart_folded(self: Any, node: nodes.Element) -> None:
    self.body.append("</div></details>\n")


def visit_summary(self: Any, node: nodes.Element) -> None:
    self.body.append("<summary>")


def depart_summary(self: Any, node: nodes.Element) -> None:
    self.body.append('</summary><div class="folded-body">\n')


def setup(app: Sphinx) -> None:
    app.add_node(folded, html=(visit_folded, depart_folded))
    app.add_node(summary, html=(visit_summary, depart_summary))
    app.add_directive("dropdown", Dropdown, override=True)  # in the place of sphinx-design's
    app.add_post_transform(FoldAdmonitions)
