"""Printing statements and whole functions."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from .expressions import Expressions, Refused
from .flow import never_ends, unassigned
from .helpers import CALLS, RESERVED
from .types import (
    ARRAY,
    COUNTS,
    ELEMENTS,
    NOTHING,
    NUMBER,
    NUMERIC,
    TEXT,
    fits,
    is_function,
    type_of,
)

_IN_PLACE: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


class Statements(Expressions):
    """Prints one function: its statements, and through its parent their expressions."""

    def function(self, node: ast.FunctionDef) -> str:
        """JavaScript of the function, its docstring as a comment."""
        self._check_head(node)
        inside = list(ast.walk(node))
        arguments = [a.arg for a in node.args.args]
        self.targets = {
            n.target.id for n in inside if isinstance(n, ast.For) and isinstance(n.target, ast.Name)
        }
        stored = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self._check_names(node, stored | set(arguments))
        self.stored = stored - self.targets - set(arguments)
        self.names = dict(zip(arguments, self.signature.arguments, strict=True))
        text, body = _documented(node)
        if self.signature.typed and self.signature.result != NOTHING and never_ends(body):
            self.refuse(node, f"{node.name} may end without a return")
        lines = self.block(body)
        missing = unassigned(body, set(arguments), self.stored)
        if missing is not None:
            self.refuse(missing, f"{missing.id} may not be set yet here")
        let = f"  let {', '.join(sorted(self.stored))};\n" if self.stored else ""
        block = lines.replace("{\n", "{\n" + let, 1)
        return f"{text}function {node.name}({', '.join(arguments)}) {block}"

    def _check_head(self, node: ast.FunctionDef) -> None:
        a = node.args
        if node.decorator_list or a.defaults or a.vararg or a.kwarg or a.kwonlyargs:
            self.refuse(node, "decorators, defaults and starred arguments are not in the subset")
        if a.posonlyargs:
            self.refuse(node, "positional-only arguments are not in the subset")

    def _check_names(self, node: ast.FunctionDef, names: set[str]) -> None:
        for name in sorted(names):
            if name in RESERVED or is_function(self.globals.get(name)):
                self.refuse(node, f"the name {name} is taken")

    def block(self, statements: list[ast.stmt]) -> str:
        """Statements in braces, indented by two spaces."""
        lines = [line for s in statements for line in self.statement(s).split("\n")]
        return "{\n" + "".join(f"  {line}\n" for line in lines) + "}"

    def statement(self, node: ast.stmt) -> str:
        """JavaScript of one statement."""
        visit = getattr(self, f"_{type(node).__name__.lower()}", None)
        if visit is None:
            self.refuse(node, f"{type(node).__name__} is not in the subset")
        return visit(node)

    # ---- assignments

    def _assign(self, node: ast.Assign) -> str:
        if len(node.targets) > 1:
            self.refuse(node, "one target for each assignment")
        return self._store(node, node.targets[0], *self.value(node.value))

    def _annassign(self, node: ast.AnnAssign) -> str:
        kind = type_of(self._annotation(node))
        if kind is None or node.value is None or not isinstance(node.target, ast.Name):
            self.refuse(node, "an annotated name has a type of the subset and a value")
        empty = isinstance(node.value, ast.List) and not node.value.elts and kind in ELEMENTS
        return self._store(node, node.target, "[]" if empty else self.of(node.value, kind), kind)

    def _annotation(self, node: ast.AnnAssign) -> Any:
        source = compile(ast.Expression(node.annotation), self.file, "eval")
        try:
            return eval(source, self.globals)  # our own source, as typing.get_type_hints does
        except NameError as why:
            self.refuse(node, str(why))

    def _store(self, node: ast.stmt, target: ast.expr, text: str, kind: str) -> str:
        if isinstance(target, ast.Subscript):
            return self._store_part(target, text, kind)
        if not isinstance(target, ast.Name):
            self.refuse(target, f"{type(target).__name__} as a target is not in the subset")
        if target.id in self.targets:
            self.refuse(target, f"{target.id} is a loop variable: only its loop may set it")
        if kind == NOTHING:
            self.refuse(node, "this has no value")
        before = self.names.setdefault(target.id, kind)
        if not fits(kind, before):
            self.refuse(node, f"{target.id} is a {before} and cannot become a {kind}")
        return f"{target.id} = {text};"

    def _store_part(self, target: ast.Subscript, text: str, kind: str) -> str:
        calls = [n for n in ast.walk(target) if isinstance(n, ast.Call)]
        if any(getattr(call.func, "id", None) not in CALLS for call in calls):
            self.refuse(
                target, "a call inside a target: the languages differ in what they do first"
            )
        place, _ = self._subscript(target)
        assert isinstance(target.value, ast.Name)
        name, holder = self._name(target.value)
        if holder not in (ARRAY, NUMERIC, COUNTS):
            self.refuse(target, f"{name} is a {holder}: it is read, or appended to")
        if not fits(kind, NUMBER):
            self.refuse(target, f"{name} holds numbers, not a {kind}")
        if holder == COUNTS:
            place = f"{name}[{self._key(target)}]"
        return f"{place} = {text};"

    def _augassign(self, node: ast.AugAssign) -> str:
        sign = _IN_PLACE.get(type(node.op))
        if sign is None:
            self.refuse(node, f"{type(node.op).__name__} in place is not in the subset")
        if isinstance(node.target, ast.Name) and node.target.id not in self.targets:
            self.of(ast.copy_location(ast.Name(node.target.id, ast.Load()), node), NUMBER)
        if self.signature.typed:
            # Through the plain form: it reads a key that must be there, and checks a divisor.
            read: Any = ast.parse(ast.unparse(node.target), mode="eval").body
            whole = ast.BinOp(read, node.op, node.value)
            for part in ast.walk(whole):
                ast.copy_location(part, node)
            return self._store(node, node.target, *self._binop(whole))
        text = self.of(node.value, NUMBER)
        stored = self._store(node, node.target, text, NUMBER)
        return stored.replace(" = ", f" {sign}= ", 1)

    # ---- control

    def _if(self, node: ast.If) -> str:
        text = f"if ({self.condition(node.test)}) {self.block(node.body)}"
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            return f"{text} else {self._if(node.orelse[0])}"
        return text + (f" else {self.block(node.orelse)}" if node.orelse else "")

    def _while(self, node: ast.While) -> str:
        if node.orelse:
            self.refuse(node, "while ... else is not in the subset")
        return f"while ({self.condition(node.test)}) {self.block(node.body)}"

    def _for(self, node: ast.For) -> str:
        if node.orelse or not isinstance(node.target, ast.Name):
            self.refuse(node, "for takes one name, and no else")
        name = node.target.id
        if name in self.loops or name in self.names or name in self.stored:
            self.refuse(node, f"{name} is in use already")
        call = node.iter
        if isinstance(call, ast.Call) and getattr(call.func, "id", None) == "range":
            return self._for_range(node, name, call)
        text, kind = self.value(node.iter)
        if kind not in ELEMENTS:
            self.refuse(node, f"for takes one name and a range or a list, not a {kind}")
        return f"for (const {name} of {text}) {self._body(node, name, ELEMENTS[kind])}"

    def _for_range(self, node: ast.For, name: str, call: ast.Call) -> str:
        if call.keywords or not 1 <= len(call.args) <= 3:
            self.refuse(node, "range() takes one to three numbers")
        bounds = [self.of(x, NUMBER) for x in call.args]
        step = self._step(node, call) if len(bounds) == 3 else 1
        low, high = ("0", bounds[0]) if len(bounds) == 1 else bounds[:2]
        sign, move = ("<", f"{name} += {step}") if step > 0 else (">", f"{name} -= {-step}")
        head = f"let {name} = {low}, {name}_end = {high}; {name} {sign} {name}_end; {move}"
        return f"for ({head}) {self._body(node, name, NUMBER)}"

    def _step(self, node: ast.For, call: ast.Call) -> int:
        try:
            step = ast.literal_eval(call.args[2])
        except ValueError:
            step = 0
        if type(step) is not int or step == 0:
            self.refuse(node, "the step of a range is a whole number that stands there")
        return step

    def _body(self, node: ast.For, name: str, kind: str) -> str:
        self.loops[name] = kind
        body = self.block(node.body)
        del self.loops[name]
        return body

    def _return(self, node: ast.Return) -> str:
        if node.value is None:
            if self.signature.typed and self.signature.result != NOTHING:
                self.refuse(node, f"a {self.signature.result} is to be returned")
            return "return;"
        return f"return {self.of(node.value, self.signature.result)};"

    def _raise(self, node: ast.Raise) -> str:
        call = node.exc
        name = getattr(getattr(call, "func", None), "id", None)
        kind = self.globals.get(name) if name else None
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            self.refuse(node, "raise takes an exception of the module and one text")
        assert isinstance(call, ast.Call)
        if node.cause or call.keywords or len(call.args) != 1:
            self.refuse(node, "raise takes an exception of the module and one text")
        return f'throw refusal("{kind.__name__}", {self.of(call.args[0], TEXT)});'

    def _expr(self, node: ast.Expr) -> str:
        call = node.value
        if not isinstance(call, ast.Call):
            self.refuse(node, "a statement without effect")
        if isinstance(call.func, ast.Attribute) and call.func.attr == "append":
            return self._append(node, call, call.func.value)
        return self._call(call)[0] + ";"

    def _append(self, node: ast.Expr, call: ast.Call, target: ast.expr) -> str:
        kind = self.names.get(target.id) if isinstance(target, ast.Name) else None
        if kind not in ELEMENTS or len(call.args) != 1 or call.keywords:
            self.refuse(node, "append takes one value, to a list with a local name")
        assert isinstance(target, ast.Name)
        return f"{target.id}.push({self.of(call.args[0], ELEMENTS[kind])});"

    def _break(self, node: ast.Break) -> str:
        return "break;"

    def _continue(self, node: ast.Continue) -> str:
        return "continue;"

    def _pass(self, node: ast.Pass) -> str:
        return ";"


def printed(function: Callable[..., Any]) -> tuple[str, Statements]:
    """JavaScript of one function, and the printer that knows what it uses."""
    file = inspect.getsourcefile(function) or "?"
    lines, first = inspect.getsourcelines(function)
    try:
        printer = Statements(function, file, first)
    except TypeError as why:
        raise Refused(f"{file}:{first}: {function.__name__}: {why}") from None
    node = ast.parse(textwrap.dedent("".join(lines))).body[0]
    if not isinstance(node, ast.FunctionDef):
        raise Refused(f"{file}:{first}: a plain function is wanted")
    return printer.function(node), printer


def _documented(node: ast.FunctionDef) -> tuple[str, list[ast.stmt]]:
    doc = ast.get_docstring(node)
    if not doc:
        return "", node.body
    text = textwrap.indent(doc, "    ").strip().replace("*/", "* /")
    return f"/** {text} */\n", node.body[1:]
