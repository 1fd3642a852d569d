"""Prints a small, strictly typed subset of Python as JavaScript, and refuses everything else.

One text in Python is then the only definition of a computation that both a notebook and a page
run. What the two languages do differently is printed through a helper (``min``, ``//``, ``%``,
a key that is absent) or refused, with file:line and the reason: a number as a condition, a
comparison as a number, ``**``, a loop variable after its loop, a name that may not be set yet,
values of two types under one name.

The numeric subset (no annotations: numbers and arrays; assignment, ``if``, ``while``, ``for …
in range``, calls, ``+ - * / // %``, comparisons) is also what Numba compiles. The typed subset
adds texts, truth values, lists, dicts of numbers with keys that stand there, ``for … in`` a
list, f-strings of plain names, ``append``, conditional expressions and ``raise``. A *record*,
which is parsed JSON, is opened only by *given* functions, whose JavaScript stands beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .expressions import Refused
from .helpers import HELPERS
from .statements import printed
from .types import Record, signature_of

__all__ = ["Record", "Refused", "given", "javascript"]

_F = TypeVar("_F", bound=Callable[..., Any])


def given(text: str) -> Callable[[_F], _F]:
    """Give a function its JavaScript by hand: ``text`` is a whole ``function name(…) {…}``.

    For the few that must look inside a record. The two bodies are to agree on every input;
    the printer checks the name and the types of each call, tests check the rest.
    """

    def mark(function: _F) -> _F:
        signature_of(function)
        if f"function {function.__name__}(" not in text:
            raise Refused(f"the JavaScript of {function.__name__} defines another function")
        function.__dict__["javascript"] = text.strip()
        return function

    return mark


def javascript(*functions: Callable[..., Any]) -> str:
    """The functions and all that they call, as one JavaScript text.

    Helpers come first, then the constants in use, then one function for each. Raises Refused
    where a function leaves the subset, or where one name has two meanings.
    """
    texts: dict[str, tuple[Callable[..., Any], str]] = {}
    constants: dict[str, str] = {}
    waiting = list(functions)
    while waiting:
        function = waiting.pop(0)
        name = function.__name__
        if name in texts:
            if texts[name][0] is not function:
                raise Refused(f"two functions have the name {name}")
            continue
        by_hand = function.__dict__.get("javascript")
        if by_hand is not None:
            texts[name] = function, by_hand
            continue
        text, printer = printed(function)
        texts[name] = function, text
        waiting += printer.called.values()
        for constant, value in printer.constants.items():
            if constants.setdefault(constant, value) != value:
                raise Refused(f"{constant} is {value} for {name} and {constants[constant]} before")
    twice = set(constants) & set(texts)
    if twice:
        raise Refused(f"{min(twice)} is a function and a constant")
    lines = "".join(f"const {name} = {value};\n" for name, value in constants.items())
    return HELPERS + lines + "\n" + "\n\n".join(text for _, text in texts.values()) + "\n"
