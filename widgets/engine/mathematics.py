"""Print one step of an estimate as a formula: MathML for the page, LaTeX for a notebook.

A formula is one step deep: a result that appears inside another result's formula is named,
not expanded. Every named leaf carries `data-ref`, so that the page can put today's number
in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape

from .expression import Node

_ADD, _MUL, _UNARY, _POW, _ATOM = 1, 2, 3, 4, 5
_RELATIONS = {
    "ge": ("≥", r"\ge"), "le": ("≤", r"\le"), "gt": (">", ">"), "lt": ("<", "<"),
    "eq": ("=", "="), "ne": ("≠", r"\ne"), "and": ("∧", r"\land"), "or": ("∨", r"\lor"),
}  # fmt: skip


def inline_label(label: str) -> str:
    """A label as it stands inside a formula: no capital, unless it starts with a name or an
    abbreviation such as GPUs, LoRA or N+1."""
    first = label.split(" ", 1)[0]
    return label[0].lower() + label[1:] if first[1:].islower() and first.isalpha() else label


@dataclass(frozen=True)
class _Syntax:
    """The two notations differ in these strings only."""

    name: Callable[[str, str], str]
    number: Callable[[str], str]
    times: str
    plus: str
    minus: str
    fraction: Callable[[str, str], str]
    power: Callable[[str, str], str]
    fence: Callable[[str, str, str], str]
    function: Callable[[str, list[str]], str]
    relation: Callable[[str, str, str, str], str]
    cases: Callable[[str, str, str], str]
    big: Callable[[str, str, str, str], str]
    symbol: Callable[[str], str]


def _mo(text: str) -> str:
    return f"<mo>{escape(text)}</mo>"


def _row(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"


_MATHML = _Syntax(
    name=lambda ref, label: (
        f'<mi mathvariant="normal" data-ref="{escape(ref)}">{escape(label)}</mi>'
    ),
    number=lambda text: (
        f"<msup><mn>10</mn><mn>{text[3:]}</mn></msup>"
        if text.startswith("10^")
        else f"<mn>{text}</mn>"
    ),
    times=_mo("×"),
    plus=_mo("+"),
    minus=_mo("−"),
    fraction=lambda a, b: f"<mfrac>{_row(a)}{_row(b)}</mfrac>",
    power=lambda a, b: f"<msup>{_row(a)}{_row(b)}</msup>",
    fence=lambda left, body, right: _row(
        f'<mo fence="true" stretchy="true">{left}</mo>',
        body,
        f'<mo fence="true" stretchy="true">{right}</mo>',
    ),
    # The class keeps a name and its arguments together where a wide formula wraps.
    function=lambda f, args: (
        f'<mrow class="call"><mi>{escape(f)}</mi>{_mo("(")}{_mo(",").join(args)}{_mo(")")}</mrow>'
    ),
    relation=lambda a, mathml, _latex, b: _row(a, _mo(mathml), b),
    cases=lambda condition, yes, no: _row(
        '<mo fence="true" stretchy="true">{</mo>',
        f'<mtable columnalign="left"><mtr><mtd>{yes}</mtd><mtd>{_mo("if")}{condition}</mtd></mtr>'
        f"<mtr><mtd>{no}</mtd><mtd>{_mo('else')}</mtd></mtr></mtable>",
    ),
    big=lambda mathml, _latex, below, above: (
        f"<munderover>{_mo(mathml)}{_row(below)}{_row(above)}</munderover>"
    ),
    symbol=lambda text: (
        f'<mi mathvariant="{"italic" if len(text) == 1 else "normal"}">{escape(text)}</mi>'
    ),
)


def _latex_text(label: str) -> str:
    for char in "\\{}$&#_%":
        label = label.replace(char, {"\\": r"\backslash "}.get(char, "\\" + char))
    return rf"\text{{{label}}}"


_LATEX = _Syntax(
    name=lambda _ref, label: _latex_text(label),
    number=lambda text: (
        f"10^{{{text[3:]}}}" if text.startswith("10^") else text.replace(",", "{,}")
    ),
    times=r" \times ",
    plus=" + ",
    minus=" - ",
    fraction=lambda a, b: rf"\frac{{{a}}}{{{b}}}",
    power=lambda a, b: f"{{{a}}}^{{{b}}}",
    fence=lambda left, body, right: {
        "⌈": rf"\left\lceil {body} \right\rceil",
        "⌊": rf"\left\lfloor {body} \right\rfloor",
    }.get(left, rf"\left( {body} \right)"),
    function=lambda f, args: rf"\operatorname{{{f}}}\left({', '.join(args)}\right)",
    relation=lambda a, _mathml, latex, b: rf"{a} {latex} {b}",
    cases=lambda condition, yes, no: (
        rf"\begin{{cases}} {yes} & \text{{if }} {condition} \\ {no} & \text{{else}} \end{{cases}}"
    ),
    big=lambda _mathml, latex, below, above: rf"{latex}_{{{below}}}^{{{above}}}",
    symbol=lambda text: text if len(text) == 1 else _latex_text(text),
)


def _number_text(value: float | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    exponent = len(f"{value:.0f}") - 1 if value >= 1 else 0
    if value >= 1e5 and value == float(f"1e{exponent}"):
        return f"10^{exponent}"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.6g}"


class _Formula:
    def __init__(self, syntax: _Syntax, names: Mapping[int, str], labels: Mapping[str, str]):
        self.s, self.names, self.labels = syntax, names, labels
        self.letters = iter([*"ijkmnpq", *(f"i{k}" for k in range(2, 99))])
        self.variables: dict[int, str] = {}

    def label(self, ref: str) -> str:
        return self.s.name(ref, inline_label(self.labels[ref]))

    def text(self, node: Node, need: int = 0, root: bool = False) -> str:
        if not root and id(node) in self.names:
            return self.label(self.names[id(node)])
        text, strength = self.inside(node)
        return self.s.fence("(", text, ")") if strength < need else text

    def inside(self, node: Node) -> tuple[str, int]:
        s, args = self.s, node.args
        match node.op:
            case "const":
                return s.number(_number_text(node.data[0])), _ATOM if node.data[0] >= 0 else _ADD
            case "input":
                return self.label(node.data), _ATOM
            case "var":
                return s.symbol(self.variables.get(node.data, "i")), _ATOM
            case "add":
                return self.text(args[0], _ADD) + s.plus + self.text(args[1], _ADD), _ADD
            case "sub":
                return self.text(args[0], _ADD) + s.minus + self.text(args[1], _MUL), _ADD
            case "mul":
                return self.text(args[0], _MUL) + s.times + self.text(args[1], _MUL), _MUL
            case "div":
                return s.fraction(self.text(args[0]), self.text(args[1])), _POW
            case "neg":
                return s.minus + self.text(args[0], _UNARY), _ADD
            case "not":
                return s.function("not", [self.text(args[0])]), _ATOM
            case "pow":
                return s.power(self.text(args[0], _ATOM), self.text(args[1])), _POW
            case "sqrt":
                return s.function("√", [self.text(args[0])]), _ATOM
            case "ceil":
                return s.fence("⌈", self.text(args[0]), "⌉"), _ATOM
            case "floor":
                return s.fence("⌊", self.text(args[0]), "⌋"), _ATOM
            case "minimum" | "maximum":
                return s.function(node.op[:3], [self.text(a) for a in self.flat(node)]), _ATOM
            case "log" | "exp":
                return s.function({"log": "ln"}.get(node.op, node.op), [self.text(args[0])]), _ATOM
            case "where":
                return s.cases(*(self.text(arg) for arg in args)), _ADD
            case "interp":
                return s.function("table", [self.text(args[0])]), _ATOM
            case "sum" | "argmax":
                return self.loop(node), _MUL
            case "final" | "series":
                info = args[0].data
                state = (info.names + info.emitted)[node.data].replace("_", " ")
                return s.function("simulated", [s.symbol(state)]), _ATOM
        mathml, latex = _RELATIONS[node.op]
        return s.relation(self.text(args[0], _ADD), mathml, latex, self.text(args[1], _ADD)), 0

    def flat(self, node: Node) -> list[Node]:
        """min(min(a, b), c) reads better as min(a, b, c)."""
        first, second = node.args
        head = self.flat(first) if first.op == node.op and id(first) not in self.names else [first]
        return [*head, second]

    def loop(self, node: Node) -> str:
        letter = next(self.letters)
        self.variables[node.data.data] = letter
        count, body = (self.text(arg, _MUL if k else 0) for k, arg in enumerate(node.args))
        below = self.s.relation(self.s.symbol(letter), "=", "=", self.s.number("1"))
        if node.op == "sum":
            return self.s.big("∑", r"\sum", below, count) + body
        return self.s.function("best", [self.s.symbol(letter), body])


def latex(node: Node, names: Mapping[int, str], labels: Mapping[str, str]) -> str:
    """`node` as LaTeX. `names` maps ids of other results' nodes to their names."""
    return _Formula(_LATEX, names, labels).text(node, root=True)


def mathml(node: Node, names: Mapping[int, str], labels: Mapping[str, str]) -> str:
    """`node` as a MathML element; named leaves are `<mi data-ref=…>`."""
    body = _Formula(_MATHML, names, labels).text(node, root=True)
    return f'<math display="inline">{_row(body)}</math>'
