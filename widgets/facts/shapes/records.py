"""Reading fields of parsed JSON: what is there, what must be, and what to say when it is not.

Given functions look inside a record, in Python and in JavaScript; all others are printed. A
field that is null counts as absent, as in every reader of such files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...engine.printer import Record, given

LARGEST = 1e9  # far above any size in a model, and products of a few stay in a double's range


class UnreadableConfig(ValueError):
    """A config that cannot be read: a field is missing, or holds what it cannot hold."""


class UnknownArchitecture(UnreadableConfig):
    """A model type, layer type or format that the reader does not know."""


@given("""\
function is_record(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}""")
def is_record(value: Record) -> bool:
    """Whether a value is an object of parsed JSON."""
    return isinstance(value, dict)


@given("""\
function kind(record, name) {
  const value = Object.hasOwn(record, name) ? record[name] : null;
  if (value === null || value === undefined) return "absent";
  if (Array.isArray(value)) return "list";
  return { boolean: "truth", number: "number", string: "text" }[typeof value] ?? "record";
}""")
def kind(record: Record, name: str) -> str:
    """What a field holds: absent (or null), truth, number, text, list or record."""
    value = record.get(name)
    if value is None:
        return "absent"
    for meaning, word in ((bool, "truth"), ((int, float), "number"), (str, "text")):
        if isinstance(value, meaning):
            return word
    return "list" if isinstance(value, list | tuple) else "record"


@given("function number_in(record, name) { return record[name]; }")
def number_in(record: Record, name: str) -> float:
    """A field that is known to be a number."""
    # A float, because a double is what JavaScript computes in.
    try:
        return float(record[name])
    except OverflowError:
        return math.inf


@given("function text_in(record, name) { return record[name]; }")
def text_in(record: Record, name: str) -> str:
    """A field that is known to be a text."""
    return record[name]


@given("function truth_in(record, name) { return record[name]; }")
def truth_in(record: Record, name: str) -> bool:
    """A field that is known to be true or false."""
    return record[name]


@given("function record_in(record, name) { return record[name]; }")
def record_in(record: Record, name: str) -> Record:
    """A field that is known to be an object."""
    return record[name]


@given("function elements(record, name) { return record[name].map((item) => ({ item })); }")
def elements(record: Record, name: str) -> list[Record]:
    """The elements of a field that is known to be a list, each as ``{"item": element}``."""
    return [{"item": item} for item in record[name]]


@given("function keys_of(record) { return Object.keys(record); }")
def keys_of(record: Record) -> list[str]:
    """The names of a record's fields, in its order."""
    return list(record)


@given("function letters(text) { return [...text]; }")
def letters(text: str) -> list[str]:
    """The characters of a text."""
    return list(text)


@given("function contains(text, part) { return text.includes(part); }")
def contains(text: str, part: str) -> bool:
    """Whether a text holds another."""
    return part in text


@given("function digits(number) { return number.toFixed(0); }")
def digits(number: float) -> str:
    """A whole number as text."""
    return f"{number:.0f}"


@given("""\
function shown(record, name) {
  const value = record[name];
  if (typeof value === "string") return `"${value}", a text`;
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number") return Array.isArray(value) ? "a list" : "an object";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toFixed(0);
  return Math.abs(value) >= 1e-4 && Math.abs(value) < 1e15 ? String(value) : "no whole number";
}""")
def shown(record: Record, name: str) -> str:
    """A field's value as a message shows it."""
    value = record[name]
    if isinstance(value, str):
        return f'"{value}", a text'
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, int | float):
        return "a list" if isinstance(value, list | tuple) else "an object"
    if abs(value) < 1e15 and value == int(value):
        return f"{value:.0f}"
    return str(value) if 1e-4 <= abs(value) < 1e15 else "no whole number"


def has(record: Record, name: str) -> bool:
    """Whether a field is there and not null."""
    return kind(record, name) != "absent"


def count_from(record: Record, name: str, low: float) -> float:
    """A whole number of at least ``low``; raises UnreadableConfig otherwise."""
    wanted = "a positive whole number" if low > 0 else "a whole number from 0 up"
    if kind(record, name) == "absent":
        raise UnreadableConfig(f"{name} is missing; it takes {wanted}.")
    value = shown(record, name)
    if kind(record, name) != "number":
        raise UnreadableConfig(f"{name} is {value}; it takes {wanted}.")
    number = number_in(record, name)
    if not (low <= number <= LARGEST and number == floor_of(number)):
        raise UnreadableConfig(f"{name} is {value}; it takes {wanted}, up to a billion.")
    return number


def floor_of(number: float) -> float:
    """The largest whole number that is not above."""
    return number // 1


def count(record: Record, name: str) -> float:
    """A positive whole number; raises UnreadableConfig otherwise."""
    return count_from(record, name, 1)


def count_or(record: Record, name: str, otherwise: float) -> float:
    """A whole number from 0 up, or another value where the field is absent."""
    return count_from(record, name, 0) if has(record, name) else otherwise


def text(record: Record, name: str) -> str:
    """A text; raises UnreadableConfig otherwise."""
    if not has(record, name):
        raise UnreadableConfig(f"{name} is missing; it takes a text.")
    if kind(record, name) != "text":
        value = shown(record, name)
        raise UnreadableConfig(f"{name} is {value}; it takes a text.")
    return text_in(record, name)


def text_or(record: Record, name: str, otherwise: str) -> str:
    """A text, or another where the field is absent."""
    return text(record, name) if has(record, name) else otherwise


def truth_or(record: Record, name: str, otherwise: bool) -> bool:
    """True or false, or another value where the field is absent."""
    if not has(record, name):
        return otherwise
    if kind(record, name) != "truth":
        value = shown(record, name)
        raise UnreadableConfig(f"{name} is {value}; it takes true or false.")
    return truth_in(record, name)


def record_at(record: Record, name: str) -> Record:
    """An object; raises UnreadableConfig otherwise."""
    if not has(record, name):
        raise UnreadableConfig(f"{name} is missing; it takes an object.")
    if kind(record, name) != "record":
        value = shown(record, name)
        raise UnreadableConfig(f"{name} is {value}; it takes an object.")
    return record_in(record, name)


def items(record: Record, name: str) -> list[Record]:
    """The elements of a list, each as a record with the one field ``item``."""
    if not has(record, name):
        raise UnreadableConfig(f"{name} is missing; it takes a list.")
    if kind(record, name) != "list":
        value = shown(record, name)
        raise UnreadableConfig(f"{name} is {value}; it takes a list.")
    return elements(record, name)


def texts(record: Record, name: str) -> list[str]:
    """A list of texts."""
    found: list[str] = []
    for one in items(record, name):
        if kind(one, "item") != "text":
            raise UnreadableConfig(f"{name} takes a list of texts.")
        found.append(text_in(one, "item"))
    return found


def counts(record: Record, name: str) -> list[float]:
    """A list of whole numbers from 0 up; true and false, which some files write, are 1 and 0."""
    found: list[float] = []
    for one in items(record, name):
        if kind(one, "item") == "truth":
            found.append(1 if truth_in(one, "item") else 0)
            continue
        if kind(one, "item") != "number":
            raise UnreadableConfig(f"{name} takes a list of whole numbers from 0 up.")
        number = number_in(one, "item")
        if not (0 <= number <= LARGEST and number == floor_of(number)):
            raise UnreadableConfig(f"{name} takes a list of whole numbers from 0 up.")
        found.append(number)
    return found


def a_layer_each(name: str, given_items: float, layers: float) -> bool:
    """Refuse a list that is shorter than the model; longer ones carry draft layers."""
    if given_items < layers:
        held = digits(given_items)
        wanted = digits(layers)
        raise UnreadableConfig(f"{name} has {held} entries for {wanted} layers.")
    return True


def is_among(number: float, numbers: list[float]) -> bool:
    for one in numbers:  # noqa: SIM110 - the printed subset has loops and no generators
        if one == number:
            return True
    return False


def first_of(record: Record, names: Sequence[str], otherwise: str) -> str:
    """The first of several names of one field that the file uses."""
    for name in names:
        if has(record, name):
            return name
    return otherwise


def known(value: str, field: str, names: Sequence[str]) -> str:
    """The value, if it is among the names; raises UnknownArchitecture with the nearest one."""
    if value in names:
        return value
    near = nearest(value, names)
    raise UnknownArchitecture(
        f'{field} is "{value}", which this reader does not know; the nearest known is "{near}".'
    )


def nearest(value: str, names: Sequence[str]) -> str:
    """The name that takes the fewest edits to reach."""
    best = ""
    least_edits = LARGEST
    for name in names:
        edits = distance(letters(value), letters(name))
        if edits < least_edits:
            best = name
            least_edits = edits
    return best


def distance(left: list[str], right: list[str]) -> float:
    """Levenshtein's distance: insertions, deletions and replacements."""
    row: list[float] = [0]
    for index in range(len(right)):
        row.append(index + 1)
    for letter in left:
        after: list[float] = [row[0] + 1]
        for column in range(len(right)):
            change = 0 if letter == right[column] else 1
            after.append(min(min(row[column + 1], after[column]) + 1, row[column] + change))
        row = after
    return row[len(right)]
