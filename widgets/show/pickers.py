"""The pickers on top of a panel: models, GPUs, engines and formats as data for the page.

Only the published page has them. In a notebook `model()`, `hardware()` and `engine()` of
`facts.choices` serve: they fill the same assumptions, and what the page holds is made by them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ..engine.estimate import Estimate
from ..facts import choices
from ..facts.shapes import shapes_javascript
from ..facts.tables import configs, table
from ..language import translate
from .script import wrapped_as

GPU, ENGINE = "h100_sxm", "vllm"
"""Rows whose columns tell which assumptions every GPU and every engine fills."""

MAKERS = ("NVIDIA ", "AMD Instinct ")
"""Left out of a GPU's name: on a phone the list is ninety pixels wide."""


@cache
def model_names() -> tuple[str, ...]:
    """Assumptions that a model fixes."""
    return tuple(choices.model(next(iter(configs()))))


def has_pickers(estimate: Estimate) -> bool:
    """Whether an estimate has every assumption that a model, a GPU and an engine fill."""
    names = {*model_names(), *choices.hardware(GPU), *choices.engine(ENGINE)}
    return names <= set(estimate.assumptions)


def pickers() -> dict[str, Any]:
    """What a page needs to fill the same assumptions as Python, in base units.

    models: key, name, repo, `values` (whatever the formats), `published` (bytes a weight), `format`
    (whose peak those have), `kv` (by KV format). weights: bytes a weight, by format. gpus: key,
    name, `values`, `peaks` (by weight format). engines: key, name, `values`. peaks (formats by
    bits) and shared serve a config that a reader brings.
    """
    return {
        "models": [_model(key, row) for key, row in configs().items()],
        "weights": {key: _weights(key) for key in choices.FORMATS},
        "gpus": [_gpu(row) for row in table("hardware")],
        "engines": [
            {
                "key": row["key"],
                "name": translate(row["name"]),
                "values": choices.engine(row["key"]),
            }
            for row in table("engines")
        ],
        "kv": choices.KV_FORMATS,
        "peaks": {f"{bits:.0f}": key for bits, key in choices.PUBLISHED.items()},
        "shared": list(choices.SHARED),
    }


def _model(key: str, row: dict[str, Any]) -> dict[str, Any]:
    by_kv = {kv: choices.model(key, kv=kv) for kv in choices.KV_FORMATS}
    plain = by_kv["bf16"]
    published = {name: plain[name] for name in _weights("bf16")}
    kept = [name for name in plain if name not in choices.SHARED and name not in published]
    return {
        "key": key,
        "name": row["name"].rpartition("/")[2],
        "repo": row["name"],
        "values": {name: plain[name] for name in choices.SHARED},
        "published": published,
        "format": choices.published_format(key),
        "kv": {kv: {name: values[name] for name in kept} for kv, values in by_kv.items()},
    }


def _weights(key: str) -> dict[str, float]:
    """Bytes a weight of a format, which are the same for every model."""
    filled = choices.model(next(iter(configs())), weights=key)
    return {name: value for name, value in filled.items() if name.startswith("bytes_per_")}


def _gpu(row: dict[str, Any]) -> dict[str, Any]:
    by_format = {key: choices.hardware(row["key"], weights=key) for key in choices.FORMATS}
    peak = "peak_flops_per_gpu"
    values = {name: value for name, value in by_format["bf16"].items() if name != peak}
    peaks = {key: filled[peak] for key, filled in by_format.items()}
    name = translate(row["name"])
    for maker in MAKERS:
        name = name.removeprefix(maker)
    return {"key": row["key"], "name": name, "values": values, "peaks": peaks}


def shapes_script() -> str:
    """The reader of configs as a classic script: `bookShapes.read_shape(config)`."""
    return wrapped_as("bookShapes", f"{shapes_javascript()}return {{ read_shape }};\n")
