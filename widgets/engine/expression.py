"""Expressions: what an estimate is made of while it is being traced.

An author writes ordinary arithmetic on named assumptions. Called with nodes, that
arithmetic builds an immutable graph; the graph is then run on numbers, NumPy arrays or
pint quantities (`run`), or printed as JavaScript or as a formula by other modules.

Whatever the graph cannot carry raises while the estimate is defined and names the helper
to use instead. Nothing falls back in silence.
"""

from __future__ import annotations

import itertools
import linecache
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

TOLERANCE = 1e-9
"""Relative slack of ceil, floor and comparisons, so that an exact fit does not flip because
two engines multiply in another order."""

_ids = itertools.count()


class ExpressionError(TypeError):
    """An estimate does something that cannot be traced."""


def _refuse(what: str, instead: str):
    def raiser(self, *_args):
        raise ExpressionError(f"{what} does not work on an assumption: {instead}.")

    return raiser


_TRUTH_HINTS = [
    (r"\bmax\s*\(", "the builtin max() picks a branch while tracing; use maximum(a, b)"),
    (r"\bmin\s*\(", "the builtin min() picks a branch while tracing; use minimum(a, b)"),
    (r"\b(and|or|not)\b", "combine conditions with &, | and ~"),
    (r"\b(if|while|assert)\b", "a Python `if` sees only one case; use where(condition, yes, no)"),
]


def _truth_hint() -> str:
    """Name the helper for the construct on the author's line, as far as the line shows it."""
    frame = sys._getframe(2)
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    for pattern, hint in _TRUTH_HINTS:
        if re.search(pattern, line):
            return hint
    return "use where(condition, yes, no), maximum(a, b) or minimum(a, b)"


@dataclass(frozen=True, eq=False, repr=False)
class Node:
    """One step of an estimate: an operation on other nodes.

    `free` holds the loop variables that the node depends on, so that a loop recomputes only
    what changes with it.
    """

    op: str
    args: tuple[Node, ...] = ()
    data: Any = None
    free: frozenset[int] = field(default=frozenset())

    def __repr__(self) -> str:
        shown = [repr(self.data)] if self.data is not None and not self.args else []
        return f"{self.op}({', '.join(shown + [repr(a) for a in self.args])})"

    # NumPy must hand the operation to us instead of spreading over the node.
    __array_ufunc__ = None

    def __add__(self, other):
        return apply("add", self, other)

    def __radd__(self, other):
        return apply("add", other, self)

    def __sub__(self, other):
        return apply("sub", self, other)

    def __rsub__(self, other):
        return apply("sub", other, self)

    def __mul__(self, other):
        return apply("mul", self, other)

    def __rmul__(self, other):
        return apply("mul", other, self)

    def __truediv__(self, other):
        return apply("div", self, other)

    def __rtruediv__(self, other):
        return apply("div", other, self)

    def __pow__(self, other):
        return apply("pow", self, other)

    def __rpow__(self, other):
        return apply("pow", other, self)

    def __neg__(self):
        return apply("neg", self)

    def __pos__(self):
        return self

    def __lt__(self, other):
        return apply("lt", self, other)

    def __le__(self, other):
        return apply("le", self, other)

    def __gt__(self, other):
        return apply("gt", self, other)

    def __ge__(self, other):
        return apply("ge", self, other)

    def __eq__(self, other):
        return apply("eq", self, other)

    def __ne__(self, other):
        return apply("ne", self, other)

    def __and__(self, other):
        return apply("and", self, other)

    def __rand__(self, other):
        return apply("and", other, self)

    def __or__(self, other):
        return apply("or", self, other)

    def __ror__(self, other):
        return apply("or", other, self)

    def __invert__(self):
        return apply("not", self)

    def __bool__(self):
        raise ExpressionError(
            f"An assumption has no yes or no while it is traced: {_truth_hint()}."
        )

    __int__ = _refuse("int()", "use floor(x)")
    __float__ = _refuse("float()", "keep the value as it is, or read the default from the estimate")
    __index__ = _refuse("use as an index or in range()", "use sum_over(n, f) or scan(steps, …)")
    __floordiv__ = __rfloordiv__ = _refuse("//", "use floor(a / b)")
    __mod__ = __rmod__ = _refuse("%", "use a - b * floor(a / b)")
    __divmod__ = __rdivmod__ = _refuse("divmod()", "use floor(a / b)")
    __abs__ = _refuse("the builtin abs()", "use maximum(x, -x)")
    __round__ = _refuse("the builtin round()", "use floor(x + 0.5)")
    __trunc__ = _refuse("int()", "use floor(x)")
    __floor__ = _refuse("math.floor()", "use the helper floor(x)")
    __ceil__ = _refuse("math.ceil()", "use the helper ceil(x)")
    __iter__ = _refuse("iteration", "use sum_over(n, f) or scan(steps, …)")
    __len__ = _refuse("len()", "an assumption is one number")
    __contains__ = _refuse("`in`", "use comparisons with & and |")
    __getitem__ = _refuse("indexing", "use interp(x, table)")
    __hash__ = _refuse("use as a key or in a set", "keep nodes in a list")  # type: ignore[assignment]


def constant(value: float, unit: str = "", name: str = "") -> Node:
    """A number with a unit and a name, such as the seconds of an hour."""
    return Node("const", (), (float(value), unit, name))


def assumption(name: str) -> Node:
    """The leaf that stands for an assumption."""
    return Node("input", (), name)


def _variable() -> Node:
    index = next(_ids)
    return Node("var", (), index, frozenset([index]))


def as_node(value: Any) -> Node:
    """A node as it is, a plain number (or array) as a constant."""
    if isinstance(value, Node):
        return value
    if isinstance(value, bool):
        return Node("const", (), (value, "", ""))
    if isinstance(value, (int, float, np.integer, np.floating)):
        return constant(float(value))
    if isinstance(value, np.ndarray):
        return Node("const", (), (value, "", ""))
    raise ExpressionError(
        f"An estimate takes numbers and assumptions, not {type(value).__name__}: {value!r}."
    )


def _free(*nodes: Node) -> frozenset[int]:
    return frozenset().union(*(node.free for node in nodes))


def apply(op: str, *args: Any) -> Any:
    """Build a node if any argument is one, else compute at once."""
    if any(isinstance(arg, Node) for arg in args):
        nodes = tuple(as_node(arg) for arg in args)
        return Node(op, nodes, None, _free(*nodes))
    return OPERATIONS[op](*args)


# --- what each operation does to numbers, arrays and quantities -----------------------------


def _is_quantity(value: Any) -> bool:
    return hasattr(value, "magnitude") and hasattr(value, "dimensionality")


def _is_zero(value: Any) -> bool:
    return not _is_quantity(value) and np.ndim(value) == 0 and float(value) == 0.0


def _pair(a: Any, b: Any):
    """Both as bare numbers in one unit, and a function that puts the unit back."""
    if not (_is_quantity(a) or _is_quantity(b)):
        return a, b, lambda x: x
    if _is_quantity(a) and _is_zero(b):
        return a.magnitude, 0.0, lambda x: x * a.units
    if _is_quantity(b) and _is_zero(a):
        return 0.0, b.magnitude, lambda x: x * b.units
    unit = a.units if _is_quantity(a) else b.units
    registry = unit._REGISTRY
    return (
        registry.Quantity(a).to(unit).magnitude,
        registry.Quantity(b).to(unit).magnitude,
        lambda x: x * unit,
    )


def _bare(value: Any) -> Any:
    """A number without dimension; raises pint's DimensionalityError otherwise."""
    return value.to("").magnitude if _is_quantity(value) else value


def _chosen(pick: Callable[[Any, Any], Any]):
    def operation(a, b):
        x, y, unit = _pair(a, b)
        return unit(pick(x, y))

    return operation


def _ge(a, b):
    x, y, _ = _pair(a, b)
    return x >= y - TOLERANCE * np.maximum(np.abs(x), np.abs(y))


def _not(value):
    return np.logical_not(value)


def _power(a, b):
    return a ** _bare(b)


def _ceil(x):
    x = _bare(x)
    return np.ceil(x - np.abs(x) * TOLERANCE) + 0.0


def _floor(x):
    x = _bare(x)
    return np.floor(x + np.abs(x) * TOLERANCE) + 0.0


def _where(condition, yes, no):
    x, y, unit = _pair(yes, no)
    return unit(np.where(condition, x, y)[()])


OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": _power,
    "neg": lambda a: -a,
    "ge": _ge,
    "le": lambda a, b: _ge(b, a),
    "gt": lambda a, b: _not(_ge(b, a)),
    "lt": lambda a, b: _not(_ge(a, b)),
    "eq": lambda a, b: _ge(a, b) & _ge(b, a),
    "ne": lambda a, b: _not(_ge(a, b) & _ge(b, a)),
    "and": lambda a, b: np.logical_and(a, b),
    "or": lambda a, b: np.logical_or(a, b),
    "not": _not,
    "ceil": _ceil,
    "floor": _floor,
    "minimum": _chosen(np.minimum),
    "maximum": _chosen(np.maximum),
    "where": _where,
    "log": lambda x: np.log(_bare(x)),
    "exp": lambda x: np.exp(_bare(x)),
    "sqrt": lambda x: x**0.5,
}


# --- the helpers that authors use -----------------------------------------------------------


def ceil(x):
    """Smallest whole number not below x (a relative 1e-9 is forgiven)."""
    return apply("ceil", x)


def floor(x):
    """Largest whole number not above x (a relative 1e-9 is forgiven)."""
    return apply("floor", x)


def minimum(first, *others):
    """The smallest of its arguments; all need the same unit."""
    for other in others:
        first = apply("minimum", first, other)
    return first


def maximum(first, *others):
    """The largest of its arguments; all need the same unit."""
    for other in others:
        first = apply("maximum", first, other)
    return first


def where(condition, yes, no):
    """`yes` where the condition holds, else `no`. Both sides are computed."""
    return apply("where", condition, yes, no)


def log(x):
    """Natural logarithm of a number without dimension."""
    return apply("log", x)


def exp(x):
    """e to the power of a number without dimension."""
    return apply("exp", x)


def sqrt(x):
    """Square root."""
    return apply("sqrt", x)


@dataclass(frozen=True)
class Table:
    """Points of a curve for `interp`, x ascending. Units are those of x and y."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    x_unit: str = ""
    y_unit: str = ""

    def __post_init__(self):
        if len(self.x) != len(self.y) or len(self.x) < 2:
            raise ExpressionError("A table for interp needs as many x as y, and two at least.")
        if any(b <= a for a, b in itertools.pairwise(self.x)):
            raise ExpressionError("The x of a table for interp must ascend.")


def _maybe_run(node: Node, *inputs: Any) -> Any:
    """Compute at once where no argument is an assumption."""
    return node if any(isinstance(value, Node) for value in inputs) else run([node], {})[0]


def interp(x, table: Table):
    """Straight lines between the points of `table`; beyond its ends, the end's value."""
    node = as_node(x)
    return _maybe_run(Node("interp", (node,), table, node.free), x)


def _loop(op: str, n, f: Callable[[Node], Any]) -> Any:
    index = _variable()
    count, body = as_node(n), as_node(f(index))
    free = (count.free | body.free) - index.free
    node = Node(op, (count, body), index, free)
    return node if free or _has_input(node) else run([node], {})[0]


def sum_over(n, f: Callable[[Node], Any]):
    """f(1) + f(2) + … + f(n). `n` counts, without dimension."""
    return _loop("sum", n, f)


def argmax(n, f: Callable[[Node], Any]):
    """The k in 1…n with the largest f(k), the smallest k on a tie."""
    return _loop("argmax", n, f)


@dataclass(frozen=True)
class _Scan:
    names: tuple[str, ...]
    states: tuple[Node, ...]
    index: Node
    emitted: tuple[str, ...]


class Scan:
    """What `scan` returns: `scan["queue"]` is the state after the last step, and
    `scan.series("queue")` its values after each step (for figures)."""

    def __init__(self, node: Node):
        self._node = node

    def _position(self, name: str) -> int:
        names = self._node.data.names + self._node.data.emitted
        if name not in names:
            raise ExpressionError(f"The scan has no {name!r}; it has {', '.join(names)}.")
        return names.index(name)

    def __getitem__(self, name: str) -> Node:
        position = self._position(name)
        if position >= len(self._node.data.names):
            raise ExpressionError(f"{name!r} is emitted, not kept: add it to the state to read it.")
        return Node("final", (self._node,), position, self._node.free)

    def series(self, name: str) -> Node:
        """An array with one value a step; only for figures."""
        return Node("series", (self._node,), self._position(name), self._node.free)


def scan(
    steps: int, state: Mapping[str, Any], f: Callable[[Node, dict[str, Node]], dict[str, Any]]
) -> Scan:
    """Walk through time: state ← f(i, state) for i = 1…steps (a day in 5-minute steps, say).

    `f` returns a value for each name of the state, and may return further names, which are
    recorded for figures but not carried on.
    """
    names = tuple(state)
    variables = {name: _variable() for name in names}
    index = _variable()
    after = {key: as_node(value) for key, value in f(index, dict(variables)).items()}
    missing = [name for name in names if name not in after]
    if missing:
        raise ExpressionError(f"A step of the scan gives no value for {', '.join(missing)}.")
    emitted = tuple(key for key in after if key not in variables)
    info = _Scan(names, tuple(variables.values()), index, emitted)
    inits = tuple(as_node(state[name]) for name in names)
    bodies = tuple(after[key] for key in names + emitted)
    bound = frozenset([index.data, *(v.data for v in variables.values())])
    args = (as_node(steps), *inits, *bodies)
    return Scan(Node("scan", args, info, _free(*args) - bound))


def _has_input(node: Node, seen: set[int] | None = None) -> bool:
    seen = set() if seen is None else seen
    if id(node) in seen:
        return False
    seen.add(id(node))
    return node.op == "input" or any(_has_input(arg, seen) for arg in node.args)


# --- running a graph ------------------------------------------------------------------------


class _Frame:
    """Values that hold for one turn of one loop."""

    def __init__(self, variables: frozenset[int]):
        self.variables = variables
        self.memo: dict[int, Any] = {}
        self.values: dict[int, Any] = {}


class _Run:
    def __init__(self, inputs: Mapping[str, Any], quantity: Callable[[float, str], Any] | None):
        self.inputs = inputs
        self.quantity = quantity
        self.frames = [_Frame(frozenset())]

    def frame(self, node: Node) -> _Frame:
        for frame in reversed(self.frames):
            if frame.variables & node.free:
                return frame
        return self.frames[0]

    def value(self, node: Node) -> Any:
        frame = self.frame(node)
        key = id(node)
        if key not in frame.memo:
            frame.memo[key] = self.compute(node)
        return frame.memo[key]

    def compute(self, node: Node) -> Any:
        special = getattr(self, f"_{node.op}", None)
        if special is not None:
            return special(node)
        return OPERATIONS[node.op](*(self.value(arg) for arg in node.args))

    def _const(self, node: Node) -> Any:
        value, unit, _ = node.data
        return self.quantity(value, unit) if self.quantity and unit else value

    def _input(self, node: Node) -> Any:
        return self.inputs[node.data]

    def _var(self, node: Node) -> Any:
        return self.frame(node).values[node.data]

    def _interp(self, node: Node) -> Any:
        x, table = self.value(node.args[0]), node.data
        if not self.quantity:
            return np.interp(x, table.x, table.y)
        bare = (x / self.quantity(1.0, table.x_unit)) if table.x_unit else x
        return self.quantity(float(np.interp(_bare(bare), table.x, table.y)), table.y_unit)

    def _turns(self, node: Node):
        """Each turn of a sum or an argmax: the index, which lanes still run, and the body."""
        count, index = np.floor(_bare(self.value(node.args[0])) + TOLERANCE), node.data
        self.frames.append(frame := _Frame(index.free))
        try:
            for i in range(1, int(np.max(count)) + 1):
                frame.memo.clear()
                frame.values[index.data] = float(i)
                yield float(i), i <= count, self.value(node.args[1])
        finally:
            self.frames.pop()

    def _sum(self, node: Node) -> Any:
        total: Any = 0.0
        for _, running, term in self._turns(node):
            total = total + (term if np.all(running) else _where(running, term, 0.0))
        return total

    def _argmax(self, node: Node) -> Any:
        best: Any = None
        best_i: Any = 1.0
        for i, running, value in self._turns(node):
            value = value.magnitude if _is_quantity(value) else value
            if best is None:
                best = value
                continue
            better = np.logical_and(running, np.logical_not(_ge(best, value)))
            best, best_i = np.where(better, value, best)[()], np.where(better, i, best_i)[()]
        return best_i

    def _scan(self, node: Node) -> list[list[Any]]:
        info: _Scan = node.data
        n = len(info.names)
        steps = round(float(np.max(_bare(self.value(node.args[0])))))
        state = [self.value(arg) for arg in node.args[1 : n + 1]]
        bodies = node.args[n + 1 :]
        history: list[list[Any]] = [[] for _ in bodies]
        bound = frozenset([info.index.data, *(v.data for v in info.states)])
        self.frames.append(frame := _Frame(bound))
        try:
            for i in range(1, steps + 1):
                frame.memo.clear()
                frame.values[info.index.data] = float(i)
                frame.values.update(zip((v.data for v in info.states), state, strict=True))
                after = [self.value(body) for body in bodies]
                state = after[:n]
                for k, value in enumerate(after):
                    history[k].append(value)
        finally:
            self.frames.pop()
        return history

    def _final(self, node: Node) -> Any:
        return self.value(node.args[0])[node.data][-1]

    def _series(self, node: Node) -> Any:
        return self.value(node.args[0])[node.data]


def run(
    nodes: list[Node],
    inputs: Mapping[str, Any],
    quantity: Callable[[float, str], Any] | None = None,
    given: Mapping[int, Any] | None = None,
) -> list[Any]:
    """Values of `nodes` for the given assumptions: numbers, arrays of one shape, or quantities.

    `quantity(value, unit)` makes constants into quantities when dimensions are checked.
    `given` holds values of steps, by the id of their node, that are not to be computed.
    """
    runner = _Run(inputs, quantity)
    runner.frames[0].memo.update(given or {})
    with np.errstate(all="ignore"):
        return [runner.value(node) for node in nodes]
