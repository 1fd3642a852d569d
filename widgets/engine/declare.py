"""What an author declares: assumptions, results, constraints, presets, and their sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .expression import Node
from .units import Display, atoms, display_for

GROUPS = ("workload", "model", "hardware", "targets", "method")


class EstimateError(ValueError):
    """An estimate is declared wrongly, or called with what it cannot take."""


# --- where a number comes from --------------------------------------------------------------


class TableRow(Protocol):
    """A number of a data table, as `facts.tables.row` gives it."""

    @property
    def path(self) -> str: ...
    @property
    def value(self) -> float: ...
    @property
    def label(self) -> str: ...


@dataclass(frozen=True)
class Source:
    """Why an assumption has its default: "row", "rounded", "given" or "judgement"."""

    kind: str
    text: str
    row: TableRow | None = None


# --- assumptions ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Assume:
    """An assumption: default, unit and range in base units, and where the default comes from.

    label: in full, as formulas write it; short: beside the slider, where the label is long.
    show: "%" or "×" for a bare number, or the one unit label to keep to (such as "ms").
    suggested_by: a result that derives this value; the panel offers it, and never overrides.
    first: one of the at most seven that stand in sight; where none is named, those that move
    the headlines most.
    band: plausible low and high, for "how sure"; without one the value holds still in draws.
    follows: an assumption fitted to the same system, drawn with it ("-name": against it).
    idle: why the slider may move nothing; placeholders are filled.
    Raises EstimateError when the default lies outside the range or the source is missing.
    """

    default: float
    unit: str
    low: float
    high: float
    label: str = ""
    source: Source | None = None
    log: bool = False
    integer: bool = False
    meaning: str = ""
    group: str = "workload"
    show: str = ""
    digits: int | None = None
    suggested_by: str | None = None
    short: str = ""
    first: bool = False
    band: tuple[float, float] | None = None
    follows: str = ""
    idle: str = ""
    name: str = ""

    @property
    def scale(self) -> str:
        """ "log", "integer" or "linear"."""
        return "integer" if self.integer else "log" if self.log else "linear"

    @property
    def display(self) -> Display:
        return display_for(self.unit, show=self.show, digits=self.digits)

    def __float__(self) -> float:
        return float(self.default)

    def check(self) -> None:
        """Raises EstimateError that says what to mend."""
        atoms(self.unit)
        if not self.label:
            raise EstimateError(f"Assumption {self.name!r} needs a label for the reader.")
        if self.source is None:
            raise EstimateError(
                f"Assumption {self.name!r} = {self.default:g} has no source: give source=given, "
                "from_row(…), rounded(…) or judgement(reason)."
            )
        if not self.low < self.high:
            raise EstimateError(
                f"Assumption {self.name!r}: low {self.low:g} is not below high {self.high:g}."
            )
        if self.log and self.low <= 0:
            raise EstimateError(f"Assumption {self.name!r}: a log scale needs low above zero.")
        if self.group not in GROUPS:
            raise EstimateError(
                f"Assumption {self.name!r}: group {self.group!r} is none of {', '.join(GROUPS)}."
            )
        if not self.low <= self.default <= self.high:
            raise EstimateError(
                f"Assumption {self.name!r}: the default {self.default:g} is outside its range "
                f"{self.low:g} to {self.high:g}{' ' + self.unit if self.unit else ''}."
            )
        self._check_row()
        self._check_band()

    def _check_row(self) -> None:
        source = self.source
        if source is None or source.row is None:
            return
        slack = 0.03 if source.kind == "rounded" else 1e-9
        if abs(self.default - source.row.value) > slack * abs(source.row.value):
            raise EstimateError(
                f"Assumption {self.name!r} = {self.default:g} is not within {slack:.0%} of "
                f"{source.row.path} = {source.row.value:g}."
            )

    def _check_band(self) -> None:
        if self.band is None:
            if self.follows:
                raise EstimateError(
                    f"Assumption {self.name!r} follows {self.follows!r} but has no band."
                )
            return
        low, high = self.band
        if not (self.low <= low <= self.default <= high <= self.high and low < high):
            raise EstimateError(
                f"Assumption {self.name!r}: the band {low:g} to {high:g} must hold the default "
                f"{self.default:g} and lie within {self.low:g} to {self.high:g}."
            )


# --- results --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gives:
    """A result: an expression, its unit and label, and how it is shown.

    verdict: (words when true, words when false); placeholders such as {total_gpus} are filled.
    alarm: true is the bad case, and carries the warning sign.
    chip: (word, number) of the verdict in short, the number a template.
    headline: one of the one to three large numbers. short: its label where room is scarce;
    made_of: the line under it, a template. detail: a step of minor interest.
    answers: the question it belongs to, a heading of the list of results.
    decision: something bought or set; held at today's value when draws ask whether it suffices.
    none: the words in place of a nought that stands for "cannot be had".
    words: a result that names one of these; its value is the place among them, from 1.
    """

    value: Any
    unit: str
    label: str
    digits: int | None = None
    style: str | None = None
    show: str = ""
    binary: bool = False
    meaning: str = ""
    headline: bool = False
    detail: bool = False
    signed: bool = False
    verdict: tuple[str, str] | None = None
    alarm: bool = False
    chip: tuple[str, str] | None = None
    short: str = ""
    made_of: str = ""
    answers: str = ""
    decision: bool = False
    none: str = ""
    words: tuple[str, ...] = ()
    name: str = ""

    @property
    def boolean(self) -> bool:
        return self.verdict is not None

    @property
    def display(self) -> Display:
        return display_for(
            self.unit, show=self.show, digits=self.digits, style=self.style, binary=self.binary
        )


@dataclass(frozen=True)
class Series:
    """Values over the steps of a scan, for figures only."""

    value: Node
    unit: str
    label: str


@dataclass(frozen=True)
class Requires:
    """A constraint between assumptions. Broken, it never raises: a verdict names it.

    otherwise: what to tell the reader; placeholders such as {nodes} are filled.
    """

    condition: Any
    otherwise: str


class Results:
    """What an estimate's function returns: constraints first, then named results."""

    def __init__(self, *requires: Requires, **gives: Gives | Series):
        self.requires = requires
        self.gives = {k: v for k, v in gives.items() if isinstance(v, Gives)}
        self.series = {k: v for k, v in gives.items() if isinstance(v, Series)}


@dataclass(frozen=True)
class Preset:
    """Values that belong together. A measured preset takes its values from rows only.

    values: assumption → number or row of a data table. note: what it is; placeholders are
    filled.
    """

    key: str
    label: str
    values: Mapping[str, Any]
    note: str = ""
    measured: bool = True

    def numbers(self) -> dict[str, float]:
        return {k: float(v) for k, v in self.values.items()}

    def comes_from_row(self, name: str) -> bool:
        """Whether the value of the assumption `name` is a row of a data table."""
        return hasattr(self.values[name], "path")
