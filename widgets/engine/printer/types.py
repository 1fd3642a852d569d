"""The types of the printed subset: what a name may hold, and what fits where.

Two kinds of function share the subset. A *numeric* one has no annotations: its arguments are
numbers or arrays of numbers, and only its calls decide which. A *typed* one is annotated
throughout, and every name in it has one of the types below.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

NUMBER, ARRAY, TEXT, TRUTH, RECORD, COUNTS, NOTHING = (
    "number", "array", "text", "truth", "record", "counts", "nothing",
)  # fmt: skip
NUMERIC = "number or array"
LISTS = {NUMBER: "list of number", TEXT: "list of text", RECORD: "list of record"}
ELEMENTS = {name: element for element, name in LISTS.items()}

# What parsed JSON calls an object: its values may be anything, so that only given functions,
# which look before they touch, may open it.
Record = dict[str, Any]

_NAMES: tuple[tuple[Any, str], ...] = (
    (float, NUMBER), (int, NUMBER), (str, TEXT), (bool, TRUTH), (type(None), NOTHING),
    (None, NOTHING), (Record, RECORD), (dict[str, float], COUNTS),
    (list[float], LISTS[NUMBER]), (list[str], LISTS[TEXT]), (list[Record], LISTS[RECORD]),
    (Sequence[str], LISTS[TEXT]),
)  # fmt: skip


@dataclass(frozen=True)
class Signature:
    """Name, types of the arguments and type of the result of a function of the subset."""

    name: str
    arguments: tuple[str, ...]
    result: str
    typed: bool


def type_of(annotation: Any) -> str | None:
    """The subset's type behind an annotation, or None where there is none."""
    return next((name for meaning, name in _NAMES if meaning == annotation), None)


def signature_of(function: Callable[..., Any]) -> Signature:
    """Types of a function's arguments and result, from its annotations.

    Raises TypeError for a function that is annotated in part, and for a type that the subset
    does not have.
    """
    names = _parameters(function)
    hints = typing.get_type_hints(function)
    if not hints:
        return Signature(function.__name__, (NUMERIC,) * len(names), NUMERIC, typed=False)
    missing = [name for name in (*names, "return") if name not in hints]
    if missing:
        raise TypeError(f"{missing[0]} has no annotation: all arguments and the result, or none")
    kinds = {name: type_of(hint) for name, hint in hints.items()}
    strange = [name for name, kind in kinds.items() if kind is None]
    if strange:
        raise TypeError(f"the annotation of {strange[0]} is not a type of the subset")
    arguments = tuple(str(kinds[name]) for name in names)
    return Signature(function.__name__, arguments, str(kinds["return"]), typed=True)


def is_function(value: Any) -> bool:
    """Whether a value is a plain Python function, which alone can be printed."""
    return isinstance(value, types.FunctionType)


def fits(kind: str, wanted: str) -> bool:
    """Whether a value of one type may stand where another is wanted."""
    numeric = (NUMBER, ARRAY, NUMERIC)
    return kind == wanted or (NUMERIC in (kind, wanted) and kind in numeric and wanted in numeric)


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[: code.co_argcount]
