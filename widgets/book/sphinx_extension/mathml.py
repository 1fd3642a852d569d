"""Formulas as MathML, made at build time: no script, no request to another host."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

if TYPE_CHECKING:
    from sphinx.application import Sphinx

logger = logging.getLogger(__name__)

# latex2mathml knows `align*` and leaks the `&` of its inner forms.
_ALIGNED = re.compile(r"\\(begin|end)\{(?:aligned|split|align|eqnarray)\*?\}")
_GATHERED = re.compile(r"\\(begin|end)\{(?:gathered|gather|multline)\*?\}")
# Brackets written without \left and \right come out as identifiers.
_LONE_BRACKET = re.compile(r"<mi>(&#x0?(?:2308|2309|230A|230B|27E8|27E9);)</mi>")
_SPLIT_WORD = re.compile(r'(?:<mi mathvariant="normal">\w</mi>){2,}')
_LETTER = re.compile(r">(\w)<")
_COLUMN = re.compile(r' columnalign="(left|right|center)"')
_ALIGN_TABLE = re.compile(r'<mtable displaystyle="true"[^>]*>')
_LEAK = re.compile(r"&(?!#?\w+;)")
# MathML Core has no `mathvariant` but "normal": bold letters have code points of their own.
_BOLD = re.compile(r'<m([in]) mathvariant="bold">([A-Za-z0-9])</m\1>')


def to_mathml(latex: str, *, display: bool) -> str:
    """LaTeX as a `<math>` element. Raises ValueError where something has no MathML."""
    latex = _ALIGNED.sub(r"\\\1{align*}", latex.strip())
    latex = _GATHERED.sub(r"\\\1{matrix}", latex)
    try:
        markup = convert(latex, display="block" if display else "inline")
    except Exception as error:  # the converter raises many kinds, some of them bare
        raise ValueError(f"no MathML for {latex!r}: {error!r}") from error
    markup = _LONE_BRACKET.sub(r'<mo stretchy="false">\1</mo>', markup)
    markup = _SPLIT_WORD.sub(lambda m: f"<mi>{''.join(_LETTER.findall(m[0]))}</mi>", markup)
    markup = _BOLD.sub(lambda m: f"<m{m[1]}>{_bold(m[2])}</m{m[1]}>", markup)
    # Chromium aligns the blocks inside a cell by the prefixed value only, Firefox by the attribute.
    markup = _COLUMN.sub(r'\g<0> style="text-align:\1;text-align:-webkit-\1"', markup)
    markup = _ALIGN_TABLE.sub('<mtable displaystyle="true" class="aligned">', markup)
    if _LEAK.search(markup) or "\\" in markup:
        raise ValueError(f"no MathML for {latex!r}")
    if "mathvariant" in markup.replace('mathvariant="normal"', ""):
        raise ValueError(f"MathML Core cannot show a letter style in {latex!r}")
    return markup


def _bold(letter: str) -> str:
    if letter.isdigit():
        return chr(0x1D7CE + int(letter))
    start = 0x1D400 - ord("A") if letter.isupper() else 0x1D41A - ord("a")
    return chr(start + ord(letter))


def _markup(node: nodes.Element, *, display: bool) -> str:
    try:
        return to_mathml(node.astext(), display=display)
    except ValueError as error:
        logger.warning("%s", error, location=node, type="book", subtype="math")
        return f"<code>{escape(node.astext())}</code>"


def visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(_markup(node, display=False))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    # A long formula scrolls inside its own box, never the page.
    self.body.append(self.starttag(node, "div", CLASS="math-block"))
    self.body.append(_markup(node, display=True))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})</span>')
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))  # type: ignore[arg-type]
