"""Where an assumption's default or a preset's value comes from."""

from __future__ import annotations

from dataclasses import dataclass

from ..engine import declare
from ..engine.declare import EstimateError, Source
from .tables import row

given = Source("given", "")


def from_row(path: str) -> Source:
    """The default is exactly the value of a row in the data tables."""
    return Source("row", "", row(path))


def rounded(path: str) -> Source:
    """The default is a row's value, rounded for the whiteboard (within 3%)."""
    return Source("rounded", "", row(path))


def judgement(reason: str) -> Source:
    """No table has it; `reason` says why this value is taken."""
    if not reason.strip():
        raise EstimateError("judgement() needs the reason for the value.")
    return Source("judgement", reason)


def spread(*paths: str) -> tuple[float, float]:
    """A plausible band: the least and the most of some rows in the data tables."""
    values = [row(path).value for path in paths]
    if len(values) < 2 or min(values) == max(values):
        raise EstimateError(f"spread() needs two different values, not {values}.")
    return min(values), max(values)


@dataclass(frozen=True)
class Preset(declare.Preset):
    """Values that belong together; a value may be the address of a row ("hardware.h20.hbm_bytes")."""

    def __post_init__(self):
        found = {k: row(v) if isinstance(v, str) else v for k, v in self.values.items()}
        object.__setattr__(self, "values", found)
