"""Fit the constants of `data/engines.csv` and measure what they are worth: make calibrate.

The fit sees one half of the published runs (`facts/runs.py` says which); the errors that it
writes to `data/validation.csv` are those of the other half. Takes a minute.
"""

from __future__ import annotations

import csv

import numpy as np
from scipy.optimize import minimize

from widgets import load
from widgets.book.validation import Comparison, comparison, groups, median_error, textbook
from widgets.engine.expression import run
from widgets.facts.runs import IDENTITY
from widgets.facts.tables import manifest
from widgets.paths import resource

ENGINES = {"trtllm": "TensorRT-LLM", "vllm": "vLLM", "sglang": "SGLang"}
OVERHEAD = "layer_overhead_s"
START = {
    **{f"{OVERHEAD}.{engine}": 6e-5 for engine in ENGINES},
    "sequence_overhead_s": 3e-7,
    "bandwidth_share": 0.9,
    "expert_bandwidth_share": 0.8,
    "mfu_prefill": 0.5,
    "expert_mfu_prefill": 0.12,
    "collective_latency_s": 4e-6,
}
"""The nine constants, and where the search begins."""
MISS = 0.6
"""Beyond this (in logarithms) a run is taken for another experiment than its row says: drafts
that no column tells of, a limit on sequences, a wrong column."""
QUIET = 8
"""At no more requests than this in flight, TTFT is taken to hold no queue."""
SOURCE = "aiconfigurator"


def changes(constants: dict[str, float], compared: Comparison) -> dict[str, np.ndarray | float]:
    """The constants as assumptions of the runs: each run has its engine's overhead."""
    overheads = [constants[f"{OVERHEAD}.{engine}"] for engine in compared.runs["engine"]]
    shared = {name: value for name, value in constants.items() if "." not in name}
    # One MFU for dense products: a decode step is rarely long enough to tell its own.
    return {**shared, "mfu_decode": shared["mfu_prefill"], OVERHEAD: np.array(overheads)}


def fit(compared: Comparison) -> dict[str, float]:
    """Constants with the least mean size of log(estimate / measured), misses cut off."""

    def constants(logs: np.ndarray) -> dict[str, float]:
        return dict(zip(START, np.exp(logs), strict=True))

    def loss(logs: np.ndarray) -> float:
        tried = constants(logs)
        over = sum(max(0.0, value - 1) for value in tried.values())  # a share is at most all
        misses = np.abs(np.log(compared.tpot_s(**changes(tried, compared)) / compared.measured_s))
        return float(np.mean(np.minimum(misses, MISS))) + over

    best = np.log(list(START.values()))
    for _ in range(3):  # a simplex that has collapsed is set up anew
        options = {"maxfev": 1500, "xatol": 1e-3, "fatol": 1e-5}
        best = minimize(loss, best, method="Nelder-Mead", options=options).x
    return {name: min(value, 1.0) for name, value in constants(best).items()}


def fixed_ttft(compared: Comparison, constants: dict[str, float], engine: str) -> float:
    """Median of what is left of an engine's TTFT after prefill and step, in seconds."""
    quiet = (compared.runs["concurrency"] <= QUIET) & (compared.runs["engine"] == engine)
    chosen = compared.where(quiet.to_numpy())
    inputs = chosen.inputs | changes(constants, chosen) | {"ttft_fixed_s": 0.0}
    explained = run([load("instance").nodes["ttft_s"]], inputs)[0]
    return max(0.0, float(np.median(chosen.runs["ttft_ms"].to_numpy() / 1000 - explained)))


def rows_of_engines(constants: dict[str, float], seen: Comparison) -> list[list[str]]:
    columns = list(manifest("engines")["columns"])
    names = columns[2:-3]  # between key and name, and source, grade and note
    note = "Fitted to one half of the runs; the fit knows one MFU for dense products."
    rows = [columns]
    for key, name in ENGINES.items():
        own = constants | {
            OVERHEAD: constants[f"{OVERHEAD}.{key}"],
            "mfu_decode": constants["mfu_prefill"],
            "ttft_fixed_s": rounded(fixed_ttft(seen, constants, key), 2),
        }
        rows.append([key, name, *(text(own[n]) for n in names), SOURCE, "C", note])
    sheet = (text(0.0 if name.endswith("_s") else 1.0) for name in names)
    rows.append(["textbook", "The data sheet", *sheet, SOURCE, "C", "No measurement."])
    return rows


def rows_of_validation(
    constants: dict[str, float], seen: Comparison, unseen: Comparison
) -> list[list[str]]:
    """Errors of the runs that the fit never saw, and beside them of those that it saw."""
    found: list[list[str]] = [list(manifest("validation")["columns"])]

    def row(key: str, quantity: str, value: float, system: str) -> None:
        found.append([key, quantity, text(rounded(value)), "", system, "", SOURCE, "C", ""])

    def median(key: str, errors: np.ndarray, system: str) -> None:
        row(f"{key}_median_error", "Median error of TPOT", median_error(errors), system)
        row(f"{key}_bias", "Median error of TPOT with its sign", float(np.median(errors)), system)
        row(f"{key}_runs", "Runs compared", len(errors), system)

    fitted = changes(constants, unseen)
    errors = unseen.errors(**fitted)
    dense = unseen.runs["dense"].to_numpy()
    row("runs", "Published runs within a node", len(seen.runs) + len(unseen.runs), "all")
    median("held_out", errors, "kept out of the fit")
    most = float(np.quantile(np.abs(errors), 0.9))
    row("held_out_p90_error", "Error that nine in ten keep to", most, "kept out of the fit")
    median("held_out_dense", errors[dense], "kept out of the fit, dense models")
    median("held_out_moe", errors[~dense], "kept out of the fit, models with experts")
    median("fit", seen.errors(**changes(constants, seen)), "seen by the fit")
    median("textbook", unseen.errors(**textbook()), "kept out of the fit, data sheet's constants")
    row("versions_apart", "Longer on the slower of two versions", versions_apart(), "same test")
    for name, chosen in groups(unseen, errors).items():
        median(name, chosen, f"kept out of the fit, {name.partition('_')[2]}")
    for name, value in textbook().items():
        without = unseen.errors(**{**fitted, name: value})
        row(f"without_{name}", "Median error of TPOT", median_error(without), f"without {name}")
    return found


def versions_apart() -> float:
    """What the slower of two versions of an engine adds to TPOT: the median over the tests that
    ran on more than one.
    """
    runs = comparison().runs
    test = [name for name in IDENTITY if name != "engine_version"]
    ratios = [
        float(same["tpot_ms"].max() / same["tpot_ms"].min())
        for _, same in runs.groupby(test)
        if same["engine_version"].nunique() > 1
    ]
    return float(np.median(ratios)) - 1


def rounded(value: float, digits: int = 3) -> float:
    return float(f"{value:.{digits}g}") if abs(value) < 1000 else float(round(value))


def text(value: float) -> str:
    return f"{value:g}"


def write(name: str, rows: list[list[str]]) -> None:
    with (resource("data") / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def main() -> None:
    compared = comparison()
    kept_out = compared.runs["held_out"].to_numpy()
    seen, unseen = compared.where(~kept_out), compared.where(kept_out)
    constants = {name: rounded(value) for name, value in fit(seen).items()}
    write("engines", rows_of_engines(constants, seen))
    write("validation", rows_of_validation(constants, seen, unseen))


if __name__ == "__main__":
    main()
