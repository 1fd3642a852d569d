"""Which names are set on every way through a function, and whether it can end by itself.

Python stops at a name that is not set yet and JavaScript goes on with ``undefined``, so such
a name is refused rather than printed.
"""

from __future__ import annotations

import ast

_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def unassigned(body: list[ast.stmt], known: set[str], stored: set[str]) -> ast.Name | None:
    """The first use of a stored name that some way reaches before it is set, or None."""
    found: list[ast.Name] = []
    _walk(body, set(known), stored, found)
    return found[0] if found else None


def never_ends(body: list[ast.stmt]) -> bool:
    """Whether a way leads past the last statement without a return or a raise."""
    return not _leaves(body, (ast.Return, ast.Raise))


def _leaves(body: list[ast.stmt], by: tuple[type, ...]) -> bool:
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return bool(last.orelse) and _leaves(last.body, by) and _leaves(last.orelse, by)
    return isinstance(last, by)


def _walk(body: list[ast.stmt], known: set[str], stored: set[str], found: list) -> set[str]:
    for node in body:
        if isinstance(node, ast.If):
            known = _branches(node, known, stored, found)
        elif isinstance(node, ast.For | ast.While):
            head = node.iter if isinstance(node, ast.For) else node.test
            _uses(head, known, stored, found)
            # A loop may run no time at all: what it sets is not sure after it.
            _walk(node.body, set(known), stored, found)
        else:
            _uses(node, known, stored, found)
            known = known | _sets(node)
    return known


def _branches(node: ast.If, known: set[str], stored: set[str], found: list) -> set[str]:
    _uses(node.test, known, stored, found)
    ways = []
    for branch in (node.body, node.orelse):
        after = _walk(branch, set(known), stored, found)
        if not _leaves(branch, _LEAVING):
            ways.append(after)
    return set.intersection(*ways) if ways else known | stored


def _uses(node: ast.AST, known: set[str], stored: set[str], found: list) -> None:
    for part in ast.walk(node):
        if isinstance(part, ast.AugAssign):
            part = part.target  # what is changed in place is read first
        elif isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            continue
        if isinstance(part, ast.Name) and part.id in stored - known:
            found.append(part)


def _sets(node: ast.stmt) -> set[str]:
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
