"""The data tables: every hardware, model and measured number that the book uses.

A table is ``data/<name>.csv`` with a manifest ``data/<name>.toml``. Numbers are in
base units (byte, second, token, FLOP, US dollar). An address such as
``hardware.h100_sxm.hbm_bytes_per_s`` or
``measurements.deepseek_day_decode_tokens_per_s_per_gpu`` names one number:

- a *wide* table (hardware, models) has one row a thing and one column a quantity;
  units come from the manifest's columns;
- a *long* table (measurements) has one number a row, with its unit beside it;
- a *series* (trace statistics) has no keys and is read whole.
"""

from __future__ import annotations

import csv
import difflib
import json
import math
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from ..paths import resource

if TYPE_CHECKING:
    import pandas

# In the order of the catalogue page.
TABLES = (
    "hardware",
    "models",
    "shapes",
    "engines",
    "validation",
    "measurements",
    "mooncake_lru_hit_rate",
    "azure_llm_2023_per_minute",
    "azure_llm_2023_token_quantiles",
)
BOOKKEEPING = ("key", "name", "source", "grade", "note")


class UnknownPath(LookupError):
    """An address, table or source that does not exist; the message names near ones."""


class NoValue(LookupError):
    """The address exists, but the table holds no number there."""


@dataclass(frozen=True)
class Row:
    """One number of a table. ``float(row)`` is its value in ``unit``."""

    path: str
    value: float
    unit: str
    label: str
    source: str
    grade: str
    note: str

    def __float__(self) -> float:
        return float(self.value)


def row(path: str) -> Row:
    """The number at ``table.key`` (long table) or ``table.key.column`` (wide table).

    Raises UnknownPath when there is no such address and NoValue when the cell is
    empty or holds text.
    """
    name, _, rest = path.partition(".")
    if name not in TABLES:
        raise UnknownPath(_unknown("table", name, TABLES))
    kind = manifest(name)["kind"]
    if kind == "series":
        raise UnknownPath(f"{name!r} is a series without keys: use table({name!r}) or frame()")
    key, _, column = rest.partition(".")
    found = _by_key(name).get(key)
    if found is None or (column not in _value_columns(name) if kind == "wide" else column):
        raise UnknownPath(_unknown("number", path, paths(name)))
    return _long_row(path, found) if kind == "long" else _wide_row(path, name, found, column)


@cache
def paths(name: str) -> tuple[str, ...]:
    """Every address of a table that holds a number, in the table's order."""
    if manifest(name)["kind"] == "long":
        return tuple(f"{name}.{record['key']}" for record in table(name))
    return tuple(
        f"{name}.{record['key']}.{column}"
        for record in table(name)
        for column in _value_columns(name)
        if isinstance(record[column], float)
    )


def table(name: str) -> list[dict[str, Any]]:
    """All records of a table, in file order.

    Columns with a unit hold floats, or None where nothing is known; others hold text.
    """
    return [dict(record) for record in _records(name)]


@cache
def manifest(name: str) -> dict[str, Any]:
    """The manifest of a table: title, kind, licence, attribution, columns and units."""
    if name not in TABLES:
        raise UnknownPath(_unknown("table", name, TABLES))
    return tomllib.loads((resource("data") / f"{name}.toml").read_text("utf-8"))


def frame(name: str) -> pandas.DataFrame:
    """A table as a pandas DataFrame, indexed by key where it has keys."""
    import pandas  # here and not above: importing pandas takes longer than a whole estimate

    data = pandas.DataFrame(table(name), columns=list(manifest(name)["columns"]))
    return data.set_index("key") if "key" in data.columns else data


@cache
def configs() -> dict[str, dict[str, Any]]:
    """Structural fields of public `config.json` files by key: name, config, and what the model's
    card says. Source and licence stand in `data/shapes.toml`.
    """
    return json.loads((resource("data") / "configs.json").read_text("utf-8"))


def anchor(path: str) -> str:
    """Fragment of a table or row on the catalogue page: ``hardware-h100-sxm``.

    A column of a wide table shares the fragment of its row.
    """
    parts = path.split(".")[:2]
    return "-".join(parts).replace("_", "-")


def source(key: str) -> dict[str, Any]:
    """The bibliography entry behind a row's ``source``: type, fields and people.

    The result holds ``key``, ``type``, ``title``, ``year``, ``authors`` (a list),
    ``url`` and the other fields of the entry.
    """
    try:
        return dict(sources()[key])
    except KeyError:
        raise UnknownPath(_unknown("source", key, sources())) from None


@cache
def sources() -> dict[str, dict[str, Any]]:
    """All bibliography entries by key, in the order of ``references.bib``."""
    from pybtex.database import parse_file  # comes with the book's bibliography extension

    entries = parse_file(str(resource("data") / "references.bib"), "bibtex").entries
    return {
        key: {
            **{field: _unbraced(text) for field, text in entry.fields.items()},
            "key": key,
            "type": entry.type,
            "authors": [_unbraced(str(person)) for person in entry.persons.get("author", [])],
        }
        for key, entry in entries.items()
    }


def catalogue() -> list[dict[str, Any]]:
    """Plain data for the generated catalogue page: one section a table, in reading order.

    A section has ``name``, ``anchor``, the manifest's texts, ``columns`` (name, unit,
    description) and ``rows``; a row has ``anchor`` (None in a series), ``cells`` (by
    column name: float, text or None), ``source`` (key), ``source_title`` and ``url``.
    """
    return [_section(name) for name in TABLES]


def _section(name: str) -> dict[str, Any]:
    about = manifest(name)
    columns = [
        {"name": column, "unit": meaning["unit"], "description": meaning["description"]}
        for column, meaning in about["columns"].items()
    ]
    texts = ("title", "description", "kind", "source", "licence", "attribution", "retrieved")
    return {
        "name": name,
        "anchor": anchor(name),
        **{text: str(about.get(text, "")) for text in texts},
        "columns": columns,
        "rows": [_catalogue_row(name, record) for record in table(name)],
    }


def _catalogue_row(name: str, record: dict[str, Any]) -> dict[str, Any]:
    keyed = "key" in record
    entry = sources().get(record["source"], {}) if keyed else {}
    return {
        "anchor": anchor(f"{name}.{record['key']}") if keyed else None,
        "cells": record,
        "source": record.get("source", ""),
        "source_title": entry.get("title", ""),
        "url": entry.get("url", ""),
    }


@cache
def _records(name: str) -> tuple[dict[str, Any], ...]:
    columns = manifest(name)["columns"]
    with (resource("data") / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            {
                column: _cell(text or "", numeric=_is_numeric(columns.get(column, {})))
                for column, text in record.items()
            }
            for record in csv.DictReader(file)
        )


def _is_numeric(column: dict[str, Any]) -> bool:
    # A text column says so with unit = "text": an empty unit is a pure number.
    return column.get("unit") != "text"


def _cell(text: str, *, numeric: bool) -> float | str | None:
    if not numeric:
        return text
    if text == "infinite":
        return math.inf
    return float(text) if text else None


@cache
def _by_key(name: str) -> dict[str, dict[str, Any]]:
    return {record["key"]: record for record in _records(name)}


@cache
def _value_columns(name: str) -> tuple[str, ...]:
    return tuple(
        column
        for column, meaning in manifest(name)["columns"].items()
        if column not in BOOKKEEPING and _is_numeric(meaning)
    )


def _long_row(path: str, record: dict[str, Any]) -> Row:
    return Row(
        path=path,
        value=record["value"],
        unit=record["unit"],
        label=f"{record['quantity']}, {record['system']}",
        source=record["source"],
        grade=record["grade"],
        note=record["note"],
    )


def _wide_row(path: str, name: str, record: dict[str, Any], column: str) -> Row:
    value, meaning = record[column], manifest(name)["columns"][column]
    if value is None:
        known = ", ".join(c for c in _value_columns(name) if record[c] is not None)
        raise NoValue(f"the table {name!r} has no value at {path!r}; this row has {known}")
    return Row(
        path=path,
        value=value,
        unit=meaning["unit"],
        label=f"{record['name']}: {meaning['label']}",
        source=record["source"],
        # A column that we compute from the others is no better than computed.
        grade=meaning.get("grade", record["grade"]),
        note=record["note"],
    )


def _unknown(what: str, given: str, valid: Any) -> str:
    near = difflib.get_close_matches(given, list(valid), n=3, cutoff=0.4)
    # Long addresses share a prefix, so that the whole string alone misleads.
    hint = f"; nearest: {', '.join(near)}" if near else ""
    return f"no {what} {given!r} in the data tables{hint}"


def _unbraced(text: str) -> str:
    return text.replace("{", "").replace("}", "")
