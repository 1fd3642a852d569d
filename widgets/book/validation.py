"""The estimate `instance` against published runs: how far off it is.

`tools/calibrate.py` fits with it, `make bench` and a test measure with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.expression import run
from ..facts.choices import engine
from ..facts.runs import IDENTITY, NODE_GPUS, assumptions_of, serving_runs
from .loader import load

if TYPE_CHECKING:
    import pandas

CONSTANTS = tuple(name for name in engine("textbook") if name != "ttft_fixed_s")
"""What an engine adds to the data sheet, for TPOT."""


@dataclass(frozen=True)
class Comparison:
    """Runs beside what the estimate says of them; arrays with one entry a run.

    inputs: assumptions by name. measured_s: TPOT in seconds.
    """

    runs: pandas.DataFrame
    inputs: dict[str, np.ndarray]
    measured_s: np.ndarray

    def tpot_s(self, **changes: Any) -> np.ndarray:
        """The estimate's TPOT for every run, in seconds; `changes` replace assumptions."""
        node = load("instance").nodes["tpot_s"]
        return np.broadcast_to(run([node], self.inputs | changes)[0], len(self.measured_s))

    def errors(self, **changes: Any) -> np.ndarray:
        """(estimate − measured) / measured, for every run."""
        return self.tpot_s(**changes) / self.measured_s - 1

    def where(self, chosen: np.ndarray) -> Comparison:
        """The runs for which `chosen`, an array of truths, holds."""
        inputs = {name: values[chosen] for name, values in self.inputs.items()}
        return Comparison(self.runs.loc[chosen], inputs, self.measured_s[chosen])


@cache
def comparison() -> Comparison:
    """All runs within a node; one object, which nobody changes."""
    everything = serving_runs()
    runs = everything.loc[everything["gpus"] <= NODE_GPUS].reset_index(drop=True)
    each = [assumptions_of(one) for one in runs.to_dict("records")]
    inputs = {name: np.array([one[name] for one in each], float) for name in each[0]}
    defaults = {name: a.default for name, a in load("instance").assumptions.items()}
    rest = {n: np.full(len(each), v, float) for n, v in defaults.items() if n not in inputs}
    return Comparison(runs, inputs | rest, np.asarray(runs["tpot_ms"]) / 1000)


def unseen() -> Comparison:
    """The runs that the constants were not fitted to."""
    compared = comparison()
    return compared.where(np.asarray(compared.runs["held_out"]))


def textbook() -> dict[str, float]:
    """The constants of a data sheet, as changes."""
    return {name: engine("textbook")[name] for name in CONSTANTS}


def siblings() -> np.ndarray:
    """For each run that the constants were not fitted to: whether the fit saw the same test at
    another concurrency."""
    runs = comparison().runs
    test = [name for name in IDENTITY if name not in ("concurrency", "engine_version")]
    seen = set(runs.loc[~runs["held_out"], test].itertuples(index=False, name=None))
    kept_out = runs.loc[runs["held_out"], test].itertuples(index=False, name=None)
    return np.array([run in seen for run in kept_out])


def median_error(errors: np.ndarray) -> float:
    """Median of the sizes."""
    return float(np.median(np.abs(errors)))


def groups(compared: Comparison, errors: np.ndarray) -> dict[str, np.ndarray]:
    """The errors by engine, model family and system: "engine_vllm" and so on."""
    return {
        f"{column}_{name}": errors[np.asarray(compared.runs[column] == name)]
        for column in ("engine", "family", "system")
        for name in sorted(set(compared.runs[column]))
    }
