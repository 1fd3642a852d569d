"""Published measurements beside what the estimates give for their settings.

`data/published/published.csv` says for each row which result is to be compared and with what
settings; both are read here, so that no estimate is typed.
"""

from __future__ import annotations

import ast
import csv
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.estimate import Estimate
from ..facts.choices import engine, hardware, model
from ..facts.runs import serving_runs
from ..paths import resource
from .loader import load

if TYPE_CHECKING:
    import pandas

CHOICES = ("model", "weights", "kv", "gpu", "peak", "engine", "preset")
"""Settings that stand for a group of assumptions; all others name one."""
OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.Pow: operator.pow,
}  # fmt: skip
RUNS = "aiconfigurator"
ALIKE = {"deepseek_v3": ("deepseek_v3", "deepseek_r1")}
"""Models of one shape, which rows do not tell apart."""
COLUMNS = {
    "tp": "tensor_parallel", "prompt_tokens": "input_tokens", "answer_tokens": "output_tokens",
    "concurrency": "concurrency",
}  # fmt: skip
"""Columns of the runs, and the settings that say the same."""


class UnreadableSettings(ValueError):
    """A row's result or settings that cannot be evaluated; the message names the row."""


@dataclass(frozen=True)
class Measurement:
    """One published number, and what the estimates give for it (None: not expressed)."""

    key: str
    problem: str
    quantity: str
    value: float
    unit: str
    system: str
    configuration: str
    compared: str
    textbook: float | None
    calibrated: float | None
    kind: str
    caveat: str
    reason: str
    repository: str
    path: str
    version: str
    licence: str
    grade: str

    @property
    def estimate(self) -> float | None:
        """The better informed of the two estimates."""
        return self.textbook if self.calibrated is None else self.calibrated

    @property
    def confirms(self) -> bool:
        """Whether the row counts in a median: not one that a constant was fitted to, that only
        tests an input, or whose own input had to be assumed."""
        return self.estimate is not None and self.kind != "assumption" and not self.caveat

    @property
    def address(self) -> str:
        """Where the number was read; "" for a page without an address of its own."""
        if "/" not in self.repository:
            return ""
        root = f"https://github.com/{self.repository}"
        pinned = len(self.version) == 40 and " " not in self.path
        return f"{root}/blob/{self.version}/{self.path}" if pinned else root


def error(estimate: float | None, measured: float) -> float | None:
    """(estimate − measured) / measured."""
    return None if estimate is None else estimate / measured - 1


@cache
def measurements() -> tuple[Measurement, ...]:
    """All rows in the table's order, with their estimates. Raises UnreadableSettings."""
    with (resource("data") / "published" / "published.csv").open(encoding="utf-8", newline="") as f:
        return tuple(_measurement(record) for record in csv.DictReader(f))


def problems() -> dict[str, list[Measurement]]:
    """The rows by problem, in the table's order."""
    found: dict[str, list[Measurement]] = {}
    for one in measurements():
        found.setdefault(one.problem, []).append(one)
    return found


def median(rows: list[Measurement], which: str) -> float | None:
    """Median size of the errors of "textbook" or "calibrated", of the rows that confirm; a row
    without a constant that was measured counts in both."""
    found = [
        error(one.textbook if which == "textbook" else one.estimate, one.value)
        for one in rows
        if one.confirms
    ]
    sizes = [abs(size) for size in found if size is not None]
    return float(np.median(sizes)) if sizes else None


# --- evaluation ---------------------------------------------------------------------------------


def _measurement(record: Mapping[str, str]) -> Measurement:
    first, _, second = record["result"].partition(" | ")
    both = f"{record['settings']} {record['textbook']}"
    textbook = _evaluated(record["key"], first, both) if first else None
    calibrated = None
    if second or record["calibrated"]:
        settings = f"{record['settings']} {record['calibrated']}"
        calibrated = _evaluated(record["key"], second or first, settings)
    kept = ("key", "problem", "quantity", "unit", "system", "configuration", "kind", "reason",
            "repository", "path", "version", "licence", "grade")  # fmt: skip
    value = float(record["value"])
    return Measurement(
        **{name: record[name] for name in kept},
        value=value,
        compared=first,
        textbook=textbook,
        calibrated=calibrated,
        caveat=record["caveat"] or ("fitted" if _was_fitted(record) else ""),
    )


def _evaluated(key: str, result: str, settings: str) -> float:
    """`result` is "estimate: expression" over names of its assumptions and results."""
    name, _, expression = result.partition(": ")
    try:
        estimate = load(name)
        found = estimate(**_assumptions(estimate, settings))
        return float(_calculated(ast.parse(expression, mode="eval").body, found))
    except (ValueError, LookupError, SyntaxError) as problem:
        raise UnreadableSettings(f"published measurement {key!r}: {problem}") from problem


def _assumptions(estimate: Estimate, settings: str) -> dict[str, float]:
    """Settings such as "model=deepseek_v3 weights=fp8 tensor_parallel=8" as assumptions."""
    given = dict(one.split("=") for one in settings.split())
    chosen = {name: given.pop(name) for name in CHOICES if name in given}
    weights = chosen.get("weights")
    values: dict[str, float] = {}
    if "preset" in chosen:
        values |= estimate.known(chosen["preset"], estimate.presets, "preset").numbers()
    if "model" in chosen:
        values |= model(chosen["model"], weights=weights, kv=chosen.get("kv", "bf16"))
    if "gpu" in chosen:
        values |= hardware(chosen["gpu"], weights=chosen.get("peak") or weights or "bf16")
    if "engine" in chosen:
        values |= engine(chosen["engine"])
    return values | {name: float(value) for name, value in given.items()}


def _calculated(node: ast.expr, found: Any) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            return float(found.assumptions[name] if name in found.assumptions else found[name])
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_calculated(left, found), _calculated(right, found))
    raise ValueError(f"{ast.unparse(node)!r} is no plain arithmetic over names")


def _was_fitted(record: Mapping[str, str]) -> bool:
    """Whether the engines' constants were fitted to a run with a row's settings."""
    found = runs_behind(record)
    return found is not None and bool((~found["held_out"]).any())


def runs_behind(record: Mapping[str, str]) -> pandas.DataFrame | None:
    """The serving runs with a row's settings; None for a row from elsewhere."""
    if "engine=" not in record["calibrated"] or RUNS not in record["repository"]:
        return None
    runs = serving_runs()
    given = dict(one.split("=") for one in f"{record['settings']} {record['calibrated']}".split())
    same = runs["family"].isin(ALIKE.get(given["model"], (given["model"],)))
    same &= (runs["system"] == given["gpu"]) & (runs["engine"] == given["engine"])
    for column, name in COLUMNS.items():
        if name in given:
            same &= runs[column] == float(given[name])
    return runs.loc[same]
