"""The page "How far off": what it shows of published runs and measurements.

The live scatter's runs and constants go into the page as JSON; the arithmetic goes along as the
traced JavaScript of `instance`, for one run, and the page's script calls it for each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from typing import Any

import numpy as np

from ..engine import javascript
from ..engine.declare import Assume
from ..engine.units import display_for, format_value
from ..facts.choices import engine, hardware, model
from ..facts.runs import assumptions_of
from ..facts.sources import from_row
from ..facts.tables import row, table
from ..language import html_language, translate
from ..show.script import classic
from ..show.spec import assumption_spec, inert, json_of, strings
from .loader import load
from .validation import Comparison, comparison, median_error

NAME = "validation"
"""Owner of the constants in an address: `?validation.mfu=0.4`."""
ENGINES = tuple(record["key"] for record in table("engines") if record["key"] != "textbook")
OVERHEAD = "layer_overhead_s"
SETS = {
    **{f"{OVERHEAD}_{key}": (OVERHEAD,) for key in ENGINES},
    "sequence_overhead_s": ("sequence_overhead_s",),
    "bandwidth_share": ("bandwidth_share",),
    "expert_bandwidth_share": ("expert_bandwidth_share",),
    "mfu": ("mfu_prefill", "mfu_decode"),
    "expert_mfu": ("expert_mfu_prefill",),
    "collective_latency_s": ("collective_latency_s",),
}
"""The nine constants of the page, and the assumptions of `instance` that each of them sets."""
QUARTER = 0.25

WORDS = {
    "validation_title": "Published runs against the estimate",
    "validation_figure": "Estimated against measured time per output token",
    "validation_sentence": "Of {runs} runs that the fit never saw, half are off by less than {median}, and {within} lie within 25%. In the median the estimate is {bias}.",
    "validation_long": "{size} too long",
    "validation_short": "{size} too short",
    "validation_colour": "Colour by",
    "validation_which": "Runs",
    "validation_held_out": "kept out of the fit",
    "validation_all": "all",
    "validation_measured": "Measured TPOT, ms",
    "validation_estimated": "Estimated TPOT, ms",
    "validation_within": "within 25%",
    "validation_twice": "half and twice",
    "validation_outside": "{n} outside the frame",
    "validation_load": "{requests} in flight, {input} tokens in, {output} out",
    "group_method": "Constants",
    "validation_hover": "measured %{x} ms, estimate %{y:.3g} ms",
}
LABELS = {"engine": "engine", "tp": "tensor parallelism", "model": "model", "gpu": "GPU"}
FITTED, SHEET = "Fitted", "The data sheet"
RESULTS = {
    "median_error": ("Median error", "Half of the runs miss by less, to either side."),
    "bias": ("Bias", "Median of the errors with their sign; below nought the estimate is too short."),
    "within_quarter": ("Within 25%", "Share of the runs whose estimate is at most a quarter off."),
}  # fmt: skip
MFU_LABEL = "MFU of dense products"
MFU_MEANING = "Share of the peak that dense products and attention reach, in prefill and in decode."
COUNT = "Runs compared"
NO_SCRIPT = "The sliders need JavaScript. These are the errors at both sets of constants."


# --- the constants ----------------------------------------------------------------------------


def engine_of(name: str) -> str | None:
    """The engine whose runs alone a constant concerns; None: those of all."""
    return next((key for key in ENGINES if name == f"{OVERHEAD}_{key}"), None)


def sliders() -> dict[str, Assume]:
    """The nine constants as assumptions; range, meaning and display are those of `instance`."""
    of_instance = load("instance").assumptions
    names = {record["key"]: record["name"] for record in table("engines")}
    found = {}
    for name, sets in SETS.items():
        key = engine_of(name)
        path = f"engines.{key or ENGINES[0]}.{sets[0]}"
        own = {
            "name": name, "default": row(path).value, "source": from_row(path), "first": True,
            "band": None, "follows": "", "idle": "",
        }  # fmt: skip
        if key:
            own |= {
                "label": f"{of_instance[OVERHEAD].label}: {names[key]}",
                "short": f"{of_instance[OVERHEAD].short}: {names[key]}",
            }
        if name == "mfu":
            own |= {"label": MFU_LABEL, "short": "", "meaning": MFU_MEANING}
        found[name] = replace(of_instance[sets[0]], **own)
    return found


def data_sheet() -> dict[str, float]:
    """The data sheet's values of the nine constants."""
    return {name: engine("textbook")[sets[0]] for name, sets in SETS.items()}


def changes(values: Mapping[str, float], compared: Comparison) -> dict[str, Any]:
    """Values of the nine constants as assumptions of the runs: each has its engine's overhead."""
    found: dict[str, Any] = {}
    for name, sets in SETS.items():
        for one in sets:
            found[one] = values[name]
    overheads = [values[f"{OVERHEAD}_{key}"] for key in compared.runs["engine"]]
    return found | {OVERHEAD: np.array(overheads)}


# --- the runs as columns ------------------------------------------------------------------------


def columns(compared: Comparison) -> dict[str, Any]:
    """All that the page's script needs of the runs, compact: what belongs to a model or to a GPU
    is written once, and each run says which it has."""
    runs = compared.runs.to_dict("records")
    each = [assumptions_of(run) for run in runs]
    shared = [_names(model(runs[0]["family"])), _names(hardware(runs[0]["system"]))]
    own = ("tensor_parallel", "data_parallel", "input_tokens", "output_tokens", "concurrency")
    return {
        "count": len(runs),
        "groups": [_group(names, each) for names in shared],
        "columns": {name: [_short(one[name]) for one in each] for name in own},
        "labels": _labels(runs),
        "tpot_ms": [run["tpot_ms"] for run in runs],
        "held_out": [int(run["held_out"]) for run in runs],
        "sliders": {
            name: {"sets": sets, "engine": ENGINES.index(key) if (key := engine_of(name)) else None}
            for name, sets in SETS.items()
        },
    }


def _names(group: Mapping[str, Any]) -> tuple[str, ...]:
    used = _inputs_of_tpot()
    return tuple(name for name in group if name in used)


@cache
def _inputs_of_tpot() -> frozenset[str]:
    """Names of the assumptions that TPOT depends on."""
    waiting, seen, found = [load("instance").nodes["tpot_s"]], set(), set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        waiting += node.args
        if node.op == "input":
            found.add(node.data)
    return frozenset(found)


def _short(value: float) -> float | int:
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else float(value)


def _group(names: Sequence[str], each: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    rows = [tuple(_short(one[name]) for name in names) for one in each]
    distinct = list(dict.fromkeys(rows))
    place = {values: i for i, values in enumerate(distinct)}
    return {"names": names, "rows": distinct, "of": [place[values] for values in rows]}


def _labels(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a run may be coloured by: names of the kinds, and which each run is."""
    engines = {record["key"]: record["name"] for record in table("engines")}
    gpus = {record["key"]: record["name"] for record in table("hardware")}
    models = {record["key"]: record["name"].rpartition("/")[2] for record in table("shapes")}
    models = {key: name.removeprefix("Meta-") for key, name in models.items()}

    def kind(key: str, column: str, order: Sequence[Any], name: Any) -> dict[str, Any]:
        return {
            "label": translate(LABELS[key]),
            "names": [name(one) for one in order],
            "of": [order.index(run[column]) for run in runs],
        }

    def found(column: str) -> list[Any]:
        return sorted({run[column] for run in runs})

    return {
        "engine": kind("engine", "engine", ENGINES, engines.get),
        "tp": kind("tp", "tp", found("tp"), lambda size: f"TP{size:.0f}"),
        "model": kind("model", "family", found("family"), models.get),
        "gpu": kind(
            "gpu",
            "system",
            found("system"),
            lambda key: gpus[key].removeprefix("NVIDIA ").partition(" (")[0],
        ),
    }


# --- the page's element -------------------------------------------------------------------------


def spec() -> dict[str, Any]:
    """What the page's store is made from, in the shape of an estimate's spec."""
    return {
        "name": NAME,
        "title": translate(WORDS["validation_title"]),
        "language": html_language(),
        "compact": False,
        "assumptions": [assumption_spec(a, first=True) for a in sliders().values()],
        "results": [*map(_result, RESULTS), _count()],
        "constraints": [],
        "limits": {},
        "presets": [
            {"key": "data_sheet", "label": translate(SHEET), "values": data_sheet(), "note": ""},
            {"key": "fitted", "label": translate(FITTED), "values": {}, "note": ""},
        ],
        "figures": [],
        "strings": strings() | {key: translate(text) for key, text in WORDS.items()},
    }


def _result(name: str) -> dict[str, Any]:
    label, meaning = (translate(text) for text in RESULTS[name])
    display = display_for("", show="%", digits=2).spec()
    return _plain(name, label, meaning, display) | {"headline": True}


def _count() -> dict[str, Any]:
    return _plain("runs", translate(COUNT), "", display_for("", style="integer").spec())


def _plain(name: str, label: str, meaning: str, display: Mapping[str, Any]) -> dict[str, Any]:
    empty = dict.fromkeys(("short", "made_of", "answers", "none", "unit", "formula"), "")
    return {
        **empty, "name": name, "label": label, "meaning": meaning, "display": display, "words": [],
        "decision": False, "kind": "number", "headline": False, "detail": False, "verdict": None,
    }  # fmt: skip


def module() -> str:
    """The ES module of one run: `evaluate(assumptions)` gives its `tpot_s`."""
    instance = load("instance")
    defaults = {name: float(a.default) for name, a in instance.assumptions.items()}
    return javascript.module({"evaluate": {"tpot_s": instance.nodes["tpot_s"]}}, defaults, {})


def errors(values: Mapping[str, float]) -> np.ndarray:
    """Errors of the runs that the fit never saw, with these nine constants."""
    compared = comparison()
    compared = compared.where(np.asarray(compared.runs["held_out"]))
    return compared.errors(**changes(values, compared))


def results(values: Mapping[str, float]) -> dict[str, float]:
    """What the page's script computes, by the names of its results."""
    found = errors(values)
    return {
        "median_error": median_error(found),
        "bias": float(np.median(found)),
        "within_quarter": float(np.mean(np.abs(found) <= QUARTER)),
        "runs": len(found),
    }


def fitted() -> dict[str, float]:
    """The fitted values of the nine constants."""
    return {name: float(a.default) for name, a in sliders().items()}


class Scatter:
    """The live scatter as a cell's output."""

    def _repr_html_(self) -> str:
        now = results(fitted())
        title = escape(translate(WORDS["validation_title"]))
        return (
            f'<section class="estimate-panel validation" id="estimate-{NAME}" data-validation '
            f'data-median="{now["median_error"]!r}" data-bias="{now["bias"]!r}" data-runs="{now["runs"]}" '
            f'aria-label="{title}" style="--rows:9;--groups:1;--folded:0">'
            f'<div class="estimate-static"><noscript><p>{escape(translate(NO_SCRIPT))}</p></noscript>'
            f"{_static_table()}</div></section>"
            f'<script type="application/json" data-estimate-spec="{NAME}">{inert(json_of(spec()))}</script>'
            f'<script type="application/json" data-validation-runs>{inert(json_of(columns(comparison())))}</script>'
            f"<script>{inert(classic(NAME, module()))}</script>"
        )

    def __repr__(self) -> str:
        sets = {SHEET: data_sheet(), FITTED: fitted()}
        return "\n".join(f"{name:16} {results(values)}" for name, values in sets.items())


def _static_table() -> str:
    display = display_for("", show="%", digits=2)
    sets = {SHEET: results(data_sheet()), FITTED: results(fitted())}
    head = "".join(f'<th scope="col">{escape(translate(RESULTS[r][0]))}</th>' for r in RESULTS)
    body = ""
    for name, found in sets.items():
        cells = "".join(f"<td>{escape(format_value(display, found[r]))}</td>" for r in RESULTS)
        body += f'<tr><th scope="row">{escape(translate(name))}</th>{cells}</tr>'
    return f"<table><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>"


def messages() -> list[str]:
    """English texts of the page that stand outside its prose."""
    found = [text for a in sliders().values() for text in (a.label, a.short, a.meaning)]
    of_results = [text for pair in RESULTS.values() for text in pair]
    return [
        *WORDS.values(), *LABELS.values(), FITTED, SHEET, *of_results, COUNT, NO_SCRIPT, *found,
    ]  # fmt: skip
