"""Printing expressions: each returns its JavaScript and its type."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Callable
from typing import Any, NoReturn

from .helpers import CALLS
from .types import (
    ARRAY,
    COUNTS,
    ELEMENTS,
    LISTS,
    NUMBER,
    NUMERIC,
    RECORD,
    TEXT,
    TRUTH,
    Signature,
    fits,
    is_function,
    signature_of,
)

Printed = tuple[str, str]  # JavaScript and the type of its value

_OPERATORS: dict[type, tuple[str, int]] = {
    ast.Add: ("+", 1), ast.Sub: ("-", 1), ast.Mult: ("*", 2), ast.Div: ("/", 2),
}  # fmt: skip
_COMPARISONS: dict[type, str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "===", ast.NotEq: "!==",
}  # fmt: skip
_EQUALITY = (ast.Eq, ast.NotEq)
_MEMBERSHIP = {ast.In: "", ast.NotIn: "!"}


class Refused(SyntaxError):
    """Python outside the subset; the message says where (file:line) and why."""


class Expressions:
    """Prints the expressions of one function; collects the constants and functions it uses."""

    def __init__(self, function: Callable[..., Any], file: str, first: int) -> None:
        self.file, self.first = file, first
        self.globals: dict[str, Any] = function.__globals__
        self.signature = signature_of(function)
        self.constants: dict[str, str] = {}
        self.called: dict[str, Callable[..., Any]] = {}
        self.names: dict[str, str] = {}  # arguments and locals, with their types
        self.loops: dict[str, str] = {}  # loop variables in force, with their types
        self.targets: set[str] = set()  # every loop variable of the function

    def refuse(self, node: ast.AST, why: str) -> NoReturn:
        """Stop, with the place of the node in its file."""
        raise Refused(f"{self.file}:{self.first + getattr(node, 'lineno', 1) - 1}: {why}")

    def of(self, node: ast.expr, wanted: str) -> str:
        """JavaScript of an expression that must have one type."""
        text, kind = self.value(node)
        if not fits(kind, wanted):
            if kind == TRUTH and wanted in (NUMBER, NUMERIC):
                self.refuse(node, "a comparison is not a number")
            self.refuse(node, f"{ast.unparse(node)} is a {kind} where a {wanted} is wanted")
        return text

    def value(self, node: ast.expr) -> Printed:
        """JavaScript of any expression of the subset, and its type."""
        if isinstance(node, ast.Compare | ast.BoolOp) or isinstance(
            getattr(node, "op", None), ast.Not
        ):
            return f"({self.condition(node)})", TRUTH
        visit = getattr(self, f"_{type(node).__name__.lower()}", None)
        if visit is None:
            self.refuse(node, f"{type(node).__name__} is not in the subset")
        return visit(node)

    # ---- conditions

    def condition(self, node: ast.expr) -> str:
        """JavaScript of a condition: never a number, a text or a list taken for true."""
        if isinstance(node, ast.BoolOp):
            sign = " && " if isinstance(node.op, ast.And) else " || "
            return sign.join(
                f"({self.condition(v)})" if isinstance(v, ast.BoolOp) else self.condition(v)
                for v in node.values
            )
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"!({self.condition(node.operand)})"
        if isinstance(node, ast.Compare):
            return self._comparison(node)
        text, kind = self.value(node)
        if kind != TRUTH:
            self.refuse(
                node,
                "a condition is a comparison: the languages differ in which "
                f"values count as true, and this is a {kind}",
            )
        return text

    def _comparison(self, node: ast.Compare) -> str:
        if type(node.ops[0]) in _MEMBERSHIP and len(node.ops) == 1:
            text = self.of(node.left, TEXT)
            among = self.of(node.comparators[0], LISTS[TEXT])
            return f"{_MEMBERSHIP[type(node.ops[0])]}{among}.includes({text})"
        sides = [node.left, *node.comparators]
        if any(not isinstance(side, ast.Name | ast.Constant) for side in sides[1:-1]):
            self.refuse(node, "the middle of a chained comparison is a name or a number")
        pairs = zip(sides, node.ops, sides[1:], strict=False)
        return " && ".join(self._pair(node, *pair) for pair in pairs)

    def _pair(self, node: ast.Compare, left: ast.expr, op: ast.cmpop, right: ast.expr) -> str:
        sign = _COMPARISONS.get(type(op))
        if sign is None:
            self.refuse(node, f"{type(op).__name__} is not in the subset")
        (a, kind), (b, other) = self.value(left), self.value(right)
        if kind == TEXT and other == TEXT and isinstance(op, _EQUALITY):
            return f"{a} {sign} {b}"
        if not (fits(kind, NUMBER) and fits(other, NUMBER)):
            self.refuse(
                node, f"a {kind} and a {other} cannot be compared with {ast.unparse(node)!r}"
            )
        return f"{a} {sign} {b}"

    # ---- atoms

    def _name(self, node: ast.Name) -> Printed:
        name = node.id
        if name in self.loops:
            return name, self.loops[name]
        if name in self.names:
            return name, self.names[name]
        if name in self.targets:
            self.refuse(node, f"{name} is a loop variable: it ends with its loop")
        return name, self._constant_of_the_module(node, name)

    def _constant_of_the_module(self, node: ast.Name, name: str) -> str:
        value = self.globals.get(name)
        if type(value) in (int, float, str):
            text, kind = self._constant(ast.copy_location(ast.Constant(value), node))
        elif isinstance(value, tuple) and value:
            text, kind = self._list(ast.copy_location(_list_of(value), node))
            text = f"Object.freeze({text})"
        else:
            self.refuse(node, f"{name} is not a local name or a constant of the module")
        self.constants[name] = text
        return kind

    def _constant(self, node: ast.Constant) -> Printed:
        value = node.value
        if isinstance(value, bool):
            return ("true" if value else "false"), TRUTH
        if isinstance(value, str):
            return json.dumps(value), TEXT
        whole = isinstance(value, int) and abs(value) <= 2**53
        if not (whole or (isinstance(value, float) and math.isfinite(value))):
            self.refuse(node, f"{value!r} is not a number that a double holds, nor a text")
        return repr(value), NUMBER

    def _list(self, node: ast.List) -> Printed:
        printed = [self.value(element) for element in node.elts]
        if not printed:
            self.refuse(node, "an empty list says its type: name: list[str] = []")
        kind = printed[0][1]
        if kind not in LISTS or any(other != kind for _, other in printed):
            self.refuse(node, "a list holds texts, numbers or records, all of one type")
        return f"[{', '.join(text for text, _ in printed)}]", LISTS[kind]

    def _tuple(self, node: ast.Tuple) -> Printed:
        return self._list(ast.copy_location(ast.List(node.elts, ast.Load()), node))

    def _dict(self, node: ast.Dict) -> Printed:
        items = []
        for key, value in zip(node.keys, node.values, strict=True):
            if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
                self.refuse(node, "the keys of a dict are texts that stand there")
            if key.value == "__proto__" or any(key.value == k for k, _ in items):
                self.refuse(key, f"the key {key.value!r} cannot stand here")
            items.append((key.value, self.of(value, NUMBER)))
        return f"{{ {', '.join(f'{json.dumps(k)}: {v}' for k, v in items)} }}", COUNTS

    def _joinedstr(self, node: ast.JoinedStr) -> Printed:
        parts = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(json.dumps(part.value))
                continue
            assert isinstance(part, ast.FormattedValue)
            if part.format_spec or part.conversion != -1 or not isinstance(part.value, ast.Name):
                self.refuse(node, "an f-string takes plain names, without format")
            parts.append(self.of(part.value, TEXT))
        return f"({' + '.join(parts)})", TEXT

    # ---- operations

    def _ifexp(self, node: ast.IfExp) -> Printed:
        text, kind = self.value(node.body)
        other = self.of(node.orelse, kind)
        return f"({self.condition(node.test)} ? {text} : {other})", kind

    def _binop(self, node: ast.BinOp) -> Printed:
        for operator, helper in ((ast.Mod, "mod"), (ast.FloorDiv, "quotient")):
            if isinstance(node.op, operator):
                left, right = self.of(node.left, NUMBER), self._divisor(node.right)
                return f"{helper}({left}, {right})", NUMBER
        if type(node.op) not in _OPERATORS:
            self.refuse(node, f"{type(node.op).__name__} is not in the subset")
        sign, level = _OPERATORS[type(node.op)]
        kind = self._kind_of_sum(node)
        left = self._side(node.left, level, kind)
        if isinstance(node.op, ast.Div) and self.signature.typed:
            return f"{left} / {self._divisor(node.right)}", NUMBER
        return f"{left} {sign} {self._side(node.right, level + 1, kind)}", kind

    def _divisor(self, node: ast.expr) -> str:
        """A divisor: Python stops at zero, and so does the printed text of a typed function."""
        text = self.of(node, NUMBER)
        constant = isinstance(node, ast.Constant) and node.value != 0
        return text if constant or not self.signature.typed else f"divisor({text})"

    def _kind_of_sum(self, node: ast.BinOp) -> str:
        return TEXT if isinstance(node.op, ast.Add) and self.value(node.left)[1] == TEXT else NUMBER

    def _side(self, node: ast.expr, level: int, kind: str) -> str:
        """One side of an operation, in brackets where the tree needs them."""
        text = self.of(node, kind)
        own = _OPERATORS.get(type(node.op), ("", 9))[1] if isinstance(node, ast.BinOp) else 9
        return f"({text})" if own < level or isinstance(node, ast.UnaryOp) else text

    def _unaryop(self, node: ast.UnaryOp) -> Printed:
        if not isinstance(node.op, ast.USub):
            self.refuse(node, f"{type(node.op).__name__} is not in the subset")
        return "-" + self._side(node.operand, 3, NUMBER), NUMBER

    def _subscript(self, node: ast.Subscript) -> Printed:
        if not isinstance(node.value, ast.Name) or isinstance(
            node.slice, ast.Slice | ast.Tuple | ast.UnaryOp
        ):
            self.refuse(node, "an index is one number from 0 up, or a key, of a named value")
        name, kind = self._name(node.value)
        if kind in (ARRAY, NUMERIC):
            return f"{name}[{self.of(node.slice, NUMBER)}]", NUMBER
        if kind in ELEMENTS:
            return f"at({name}, {self.of(node.slice, NUMBER)})", ELEMENTS[kind]
        if kind == COUNTS:
            return f"at({name}, {self._key(node)})", NUMBER
        if kind == RECORD:
            self.refuse(node, f"{name} is a record: only given functions look inside")
        return self.refuse(node, f"{name} is a {kind}, which has no parts")

    def _key(self, node: ast.Subscript) -> str:
        key = node.slice
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            self.refuse(node, "a key is a text that stands there")
        if key.value == "__proto__":
            self.refuse(node, "the key '__proto__' cannot stand here")
        return json.dumps(key.value)

    # ---- calls

    def _call(self, node: ast.Call) -> Printed:
        if isinstance(node.func, ast.Attribute):
            self.refuse(node, f"the attribute {node.func.attr} is not in the subset")
        name = getattr(node.func, "id", "this")
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            self.refuse(node, "arguments are given by place")
        if name == "len":
            return self._length(node)
        if name in CALLS:
            self._count(node, name, CALLS[name].count("{}"))
            arguments = [self.of(a, NUMBER) for a in node.args]
            kind = ARRAY if name in ("zeros", "integers") else NUMBER
            return CALLS[name].format(*arguments), kind
        known = self._signature(node, name)
        self._count(node, name, len(known.arguments))
        arguments = [self.of(a, t) for a, t in zip(node.args, known.arguments, strict=True)]
        return f"{name}({', '.join(arguments)})", known.result

    def _signature(self, node: ast.Call, name: str) -> Signature:
        function = self.globals.get(name)
        if name in self.names or name in self.loops or not is_function(function):
            self.refuse(node, f"{name}() is not in the subset")
        assert function is not None
        try:
            known = signature_of(function)
        except TypeError as why:
            self.refuse(node, f"{name}(): {why}")
        if known.name != name:
            self.refuse(node, f"{name} is another name of {known.name}: call it by its own")
        self.called[name] = function
        return known

    def _count(self, node: ast.Call, name: str, count: int) -> None:
        if len(node.args) != count:
            self.refuse(node, f"{name}() takes {count} arguments here, not {len(node.args)}")

    def _length(self, node: ast.Call) -> Printed:
        self._count(node, "len", 1)
        if not isinstance(node.args[0], ast.Name):
            self.refuse(node, "len() takes a name")
        text, kind = self._name(node.args[0])
        # A text's length counts UTF-16 units in one language and characters in the other.
        if kind not in (ARRAY, NUMERIC, *ELEMENTS):
            self.refuse(node, f"len() takes a list or an array, not a {kind}")
        return f"{text}.length", NUMBER


def _list_of(values: tuple[Any, ...]) -> ast.List:
    elements: list[ast.expr] = [ast.Constant(value, lineno=1, col_offset=0) for value in values]
    return ast.List(elements, ast.Load())
