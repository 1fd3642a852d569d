"""Print an estimate's graph as a self-contained ES module.

Loops stay loops, shared steps are computed once, and a step that does not depend on a loop
stays outside it. The module imports nothing and knows no DOM.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from .expression import TOLERANCE, Node, Table

_PRELUDE = f"""\
const T = (a, b) => {TOLERANCE!r} * Math.max(Math.abs(a), Math.abs(b));
const ge = (a, b) => a >= b - T(a, b), le = (a, b) => ge(b, a);
const gt = (a, b) => !ge(b, a), lt = (a, b) => !ge(a, b);
const eq = (a, b) => ge(a, b) && ge(b, a), ne = (a, b) => !eq(a, b);
const ceil = x => Math.ceil(x - Math.abs(x) * {TOLERANCE!r}) + 0;
const floor = x => Math.floor(x + Math.abs(x) * {TOLERANCE!r}) + 0;
const interp = (x, X, Y) => {{
  const n = X.length;
  if (!(x > X[0])) return Y[0];
  if (x >= X[n - 1]) return Y[n - 1];
  let a = 0, b = n - 1;
  while (b - a > 1) {{ const m = (a + b) >> 1; if (X[m] <= x) a = m; else b = m; }}
  return Y[a] + (Y[b] - Y[a]) / (X[b] - X[a]) * (x - X[a]);
}};
"""

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "and": "&&", "or": "||"}
_CALL = {
    "ceil": "ceil", "floor": "floor", "ge": "ge", "le": "le", "gt": "gt", "lt": "lt",
    "eq": "eq", "ne": "ne", "minimum": "Math.min", "maximum": "Math.max", "log": "Math.log",
    "exp": "Math.exp", "sqrt": "Math.sqrt",
}  # fmt: skip


def _number(value: float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return (
        repr(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
    )


class _Scope:
    def __init__(self, variables: frozenset[int]):
        self.variables = variables
        self.names: dict[int, str] = {}
        self.lines: list[str] = []


class _Tables:
    """The interpolation tables of a module, each written once."""

    def __init__(self) -> None:
        self.known: dict[Table, str] = {}

    def name(self, table: Table) -> str:
        return self.known.setdefault(table, f"X{len(self.known)}")

    def lines(self) -> list[str]:
        return [
            f"const {name}{axis} = [{', '.join(map(_number, values))}];\n"
            for table, name in self.known.items()
            for axis, values in (("x", table.x), ("y", table.y))
        ]


class _Printer:
    def __init__(
        self,
        tables: _Tables,
        defaults: Mapping[str, float],
        given: Mapping[int, str],
        recorded: set[int],
    ) -> None:
        self.defaults = defaults
        self.scopes = [_Scope(frozenset())]
        self.scopes[0].names = {node: f"a[{json.dumps(name)}]" for node, name in given.items()}
        self.count = 0
        self.tables = tables
        self.loop_names: dict[int, str] = {}
        self.last: dict[int, list[str]] = {}
        self.recorded = recorded

    def fresh(self, letter: str = "v") -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def scope(self, node: Node) -> _Scope:
        for scope in reversed(self.scopes):
            if scope.variables & node.free:
                return scope
        return self.scopes[0]

    def name(self, node: Node) -> str:
        """The variable (or literal) that holds the node's value, written where it is needed."""
        if node.op == "const":
            return _number(node.data[0])
        scope = self.scope(node)
        known = scope.names.get(id(node))
        if known is None:
            text = self.expression(node)
            known = self.fresh()
            scope.lines.append(f"const {known} = {text};")
            scope.names[id(node)] = known
        return known

    def expression(self, node: Node) -> str:
        special = getattr(self, f"_{node.op}", None)
        if special is not None:
            return special(node)
        names = [self.name(arg) for arg in node.args]
        if node.op in _INFIX:
            left = f"({names[0]})" if names[0].startswith("-") else names[0]
            return f"{left} {_INFIX[node.op]} {f'({names[1]})' if names[1].startswith('-') else names[1]}"
        return f"{_CALL[node.op]}({', '.join(names)})"

    def _input(self, node: Node) -> str:
        return f"+(a[{json.dumps(node.data)}] ?? {_number(self.defaults[node.data])})"

    def _neg(self, node: Node) -> str:
        return f"-{self.name(node.args[0])}"

    def _not(self, node: Node) -> str:
        return f"!{self.name(node.args[0])}"

    def _where(self, node: Node) -> str:
        condition, yes, no = (self.name(arg) for arg in node.args)
        return f"{condition} ? {yes} : {no}"

    def _interp(self, node: Node) -> str:
        name = self.tables.name(node.data)
        return f"interp({self.name(node.args[0])}, {name}x, {name}y)"

    def _body(self, node: Node, variables: Mapping[int, str], bodies: tuple[Node, ...]):
        """Lines of a loop's body, and the names of what it computes."""
        outer = self.scope(node)
        scope = _Scope(frozenset(variables))
        self.scopes.append(scope)
        self.loop_names.update(variables)
        names = [self.name(body) for body in bodies]
        self.scopes.pop()
        return outer, scope.lines, names

    def _var(self, node: Node) -> str:
        return self.loop_names[node.data]

    def _sum(self, node: Node) -> str:
        count = self.name(node.args[0])
        i, total = self.fresh("i"), self.fresh("t")
        outer, lines, (term,) = self._body(node, {node.data.data: i}, (node.args[1],))
        outer.lines.append(
            f"let {total} = 0; for (let {i} = 1; {i} <= {count} + 1e-9; {i}++) "
            f"{{ {' '.join(lines)} {total} += {term}; }}"
        )
        return total

    def _argmax(self, node: Node) -> str:
        count = self.name(node.args[0])
        i, best, value = self.fresh("i"), self.fresh("k"), self.fresh("b")
        outer, lines, (term,) = self._body(node, {node.data.data: i}, (node.args[1],))
        outer.lines.append(
            f"let {best} = 1, {value} = -Infinity; for (let {i} = 1; {i} <= {count} + 1e-9; {i}++) "
            f"{{ {' '.join(lines)} if ({i} === 1 || gt({term}, {value})) "
            f"{{ {best} = {i}; {value} = {term}; }} }}"
        )
        return best

    def _scan(self, node: Node) -> str:
        info, n = node.data, len(node.data.names)
        steps = self.name(node.args[0])
        inits = [self.name(arg) for arg in node.args[1 : n + 1]]
        i, history = self.fresh("i"), self.fresh("h")
        states = [self.fresh("s") for _ in info.names]
        variables = {info.index.data: i}
        variables.update({v.data: s for v, s in zip(info.states, states, strict=True)})
        outer, lines, names = self._body(node, variables, node.args[n + 1 :])
        start = ", ".join(f"{s} = {init}" for s, init in zip(states, inits, strict=True))
        # Arrays of all steps cost more than the steps: only figures read them.
        wanted = id(node) in self.recorded
        keep = [f"{history}[{k}].push({name});" for k, name in enumerate(names) if wanted]
        if wanted:
            outer.lines.append(f"const {history} = [{', '.join('[]' for _ in names)}];")
        body = " ".join([*lines, *keep, *self._moved(states, names[:n])])
        outer.lines.append(f"let {start}; for (let {i} = 1; {i} <= {steps}; {i}++) {{ {body} }}")
        self.last[id(node)] = states
        return history if wanted else "0"

    def _moved(self, states: list[str], names: list[str]) -> list[str]:
        """Assignments that give each state its next value, as if all at once."""
        moves = [(s, name) for s, name in zip(states, names, strict=True) if s != name]
        old = {name: self.fresh("o") for _, name in moves if name in states}
        saved = [f"const {copy} = {name};" for name, copy in old.items()]
        return saved + [f"{s} = {old.get(name, name)};" for s, name in moves]

    def _final(self, node: Node) -> str:
        scan = node.args[0]
        self.name(scan)
        return self.last[id(scan)][node.data]

    def _series(self, node: Node) -> str:
        return f"{self.name(node.args[0])}[{node.data}]"


def _recorded(nodes: Iterable[Node]) -> set[int]:
    """Scans (by id) of which a series is asked for."""
    found: set[int] = set()
    seen: set[int] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.op == "series":
            found.add(id(node.args[0]))
        waiting += node.args
    return found


def _function(name: str, nodes: Mapping[str, Node], printer: _Printer) -> str:
    pairs = ", ".join(f"{json.dumps(key)}: {printer.name(node)}" for key, node in nodes.items())
    body = "".join(f"  {line}\n" for line in printer.scopes[0].lines)
    return f"export function {name}(a = {{}}) {{\n{body}  return {{{pairs}}};\n}}\n"


def module(
    functions: Mapping[str, Mapping[str, Node]],
    defaults: Mapping[str, float],
    given: Mapping[str, Mapping[int, str]],
) -> str:
    """ES module with one exported function for each group of nodes.

    Each takes an object of assumptions in base units, fills what is missing from `defaults`,
    and returns an object with the group's names. `given` says, for a function, which steps
    (by the id of their node) are not computed but read from the object under a name.
    """
    tables = _Tables()
    texts = [
        _function(
            name, nodes, _Printer(tables, defaults, given.get(name, {}), _recorded(nodes.values()))
        )
        for name, nodes in functions.items()
    ]
    return _PRELUDE + "".join(tables.lines() + texts)
