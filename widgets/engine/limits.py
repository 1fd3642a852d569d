"""Limits: what a result is compared with in a verdict.

A number that stands beside its limit must not be rounded onto it: 99.9% is written so, and
not "100%" next to "does not survive". The limits are read off the verdicts' own comparisons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .expression import Node

if TYPE_CHECKING:
    from .estimate import Estimate

Limit = float | str
_COMPARISONS = ("ge", "le", "gt", "lt")


def limits_of(estimate: Estimate) -> dict[str, tuple[Limit, ...]]:
    """For each name that a verdict compares: the numbers or names that it is compared with."""
    names = {id(node): name for name, node in estimate.nodes.items()}
    found: dict[str, list[Limit]] = {}
    for name, gives in estimate.outputs.items():
        if gives.boolean:
            for left, right in _compared(estimate.nodes[name]):
                for one, other in ((left, right), (right, left)):
                    own, limit = _name(one, names), _limit(other, names)
                    if own is not None and limit is not None:
                        found.setdefault(own, []).append(limit)
    return {name: tuple(dict.fromkeys(limits)) for name, limits in found.items()}


def _compared(node: Node):
    """Both sides of each comparison from which a condition is made."""
    if node.op in _COMPARISONS:
        yield node.args[0], node.args[1]
    elif node.op in ("and", "or", "not"):
        for arg in node.args:
            yield from _compared(arg)


def _name(node: Node, names: dict[int, str]) -> str | None:
    return node.data if node.op == "input" else names.get(id(node))


def _limit(node: Node, names: dict[int, str]) -> Limit | None:
    return float(node.data[0]) if node.op == "const" else _name(node, names)
