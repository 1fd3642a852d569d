"""Groups of assumptions that belong to a choice: a model, a GPU, an engine.

>>> load("instance")(**model("deepseek_v3", weights="fp8", kv="fp8"),
...     **hardware("h200_sxm", weights="fp8"), **engine("vllm"))  # doctest: +SKIP
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from ..engine.expression import Node, constant
from .shapes import shape_of
from .tables import configs, table

FORMATS = {
    "bf16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "nvfp4": 0.5 + 1 / 16,
    "mxfp4": 0.5 + 1 / 32,
    "int4": 0.5 + 2 / 32,
}
"""Bytes a parameter with its scales: NVFP4 has 8 bits for every 16 numbers, MXFP4 8 for every 32,
4-bit integers 16 for every 32."""
KV_FORMATS = {"bf16": 2.0, "fp8": 1.0}
PEAKS = {
    "bf16": ("bf16_flops_per_s",),
    "fp8": ("fp8_flops_per_s", "bf16_flops_per_s"),
    "int8": ("fp8_flops_per_s", "bf16_flops_per_s"),
    "nvfp4": ("fp4_flops_per_s", "fp8_flops_per_s", "bf16_flops_per_s"),
    "mxfp4": ("fp4_flops_per_s", "fp8_flops_per_s", "bf16_flops_per_s"),
    "int4": ("bf16_flops_per_s",),
}
"""Where the peak of a weight format stands. A chip without it multiplies in the next larger one;
4-bit integers are unpacked to 16 bits."""


class UnknownChoice(LookupError):
    """A model, GPU, engine or format that the tables do not have; the message names near ones."""


def model(
    which: str | Mapping[str, Any], *, weights: str | None = None, kv: str = "bf16"
) -> dict[str, float]:
    """The assumptions that a model fixes, for `instance`.

    which: a key of the table `shapes`, or a dict read from a `config.json`.
    weights: a key of FORMATS for all weights; without it they weigh what the model publishes.
    kv: the format of keys and values, "bf16" or "fp8".
    Raises UnknownChoice, and for a config UnknownArchitecture or UnreadableConfig.
    """
    shape = shape_of(config_of(which))
    per_number = known(kv, KV_FORMATS, "KV format")
    published = shape.bytes_per_parameter, shape.bytes_per_expert_parameter or 1.0
    each = published if weights is None else (known(weights, FORMATS, "weight format"),) * 2
    return {
        **{name: getattr(shape, name) for name in SHARED},
        "bytes_per_parameter": each[0],
        "bytes_per_expert_parameter": each[1],
        "kv_bytes_per_token": shape.kv_numbers_per_token * per_number + shape.index_bytes_per_token,
        "window_kv_bytes_per_token": shape.window_kv_numbers_per_token * per_number,
    }


PUBLISHED = {16.0: "bf16", 8.0: "fp8", 4.0: "nvfp4"}
"""A format with the peak of numbers so many bits wide."""


def published_format(which: str | Mapping[str, Any]) -> str:
    """The format whose peak a model's published weights are multiplied at, for `hardware()`.

    Its experts' format, where it has experts. 4-bit integers are unpacked to 16 bits first.
    """
    return PUBLISHED[shape_of(config_of(which)).multiplied_bits]


SHARED = (
    "parameters", "active_parameters", "expert_parameters", "experts", "experts_per_token",
    "layers", "hidden_size", "window_tokens", "state_bytes_per_request", "kv_heads",
    "attention_flops_per_pair",
)  # fmt: skip
"""Fields of a shape that are assumptions as they stand."""


def config_of(which: str | Mapping[str, Any]) -> dict[str, Any]:
    """The configuration behind a key, or the one that is given."""
    if isinstance(which, str):
        return known(which, configs(), "model")["config"]
    return dict(which)


def hardware(key: str, *, weights: str = "bf16") -> dict[str, float]:
    """The assumptions that a GPU fixes, for `instance`; `weights` chooses the arithmetic peak.

    A link is one direction of NVLink, or of PCIe where there is none. Memory is what a process
    can use where that is published, else the product's.
    Raises UnknownChoice.
    """
    gpu = known(key, _keyed("hardware"), "GPU")
    peaks = [gpu[column] for column in known(weights, PEAKS, "weight format") if gpu[column]]
    nvlink = gpu["nvlink_bytes_per_s"]
    link = nvlink / 2 if nvlink else gpu["pcie_bytes_per_s"]
    return {
        "gpus_per_node": gpu["gpus_per_node"],
        "peak_flops_per_gpu": peaks[0],
        "hbm_bytes_per_gpu": gpu["hbm_usable_bytes"] or gpu["hbm_bytes"],
        "hbm_bytes_per_s_per_gpu": gpu["hbm_bytes_per_s"],
        "link_bytes_per_s_per_gpu": link,
        "network_bytes_per_s_per_gpu": min(gpu["network_bytes_per_s"] or link, link),
    }


def engine(key: str) -> dict[str, float]:
    """The fitted constants of an engine (or "textbook"), for `instance`.

    One set serves all models: experts have a bandwidth share and an MFU of their own.
    Raises UnknownChoice.
    """
    row = known(key, _keyed("engines"), "engine")
    return {name: value for name, value in row.items() if isinstance(value, float)}


UNITS = {
    "parameters": "parameter",
    "active_parameters": "parameter",
    "expert_parameters": "parameter/expert",
    "experts": "expert/layer",
    "experts_per_token": "expert/token",
    "layers": "layer",
    "window_tokens": "token",
    "state_bytes_per_request": "byte/request",
    "attention_flops_per_pair": "flop/pair",
    "bytes_per_parameter": "byte/parameter",
    "bytes_per_expert_parameter": "byte/parameter",
    "kv_bytes_per_token": "byte/token",
    "window_kv_bytes_per_token": "byte/token",
    "gpus_per_node": "gpu",
    "peak_flops_per_gpu": "flop/s/gpu",
    "hbm_bytes_per_gpu": "byte/gpu",
    "hbm_bytes_per_s_per_gpu": "byte/s/gpu",
    "link_bytes_per_s_per_gpu": "byte/s/gpu",
    "network_bytes_per_s_per_gpu": "byte/s/gpu",
    "layer_overhead_s": "s",
    "sequence_overhead_s": "s",
    "collective_latency_s": "s",
    "network_latency_s": "s",
    "ttft_fixed_s": "s",
}
"""Units of what a choice fills; what is not here is a share or a bare count."""


def with_units(values: Mapping[str, float]) -> dict[str, Node]:
    """The values of choices as constants of an estimate, each with its name and its unit."""
    return {name: constant(value, UNITS.get(name, ""), name) for name, value in values.items()}


def known(key: str, choices: Mapping[str, Any], what: str) -> Any:
    """`choices[key]`, or an UnknownChoice that names the nearest."""
    if key in choices:
        return choices[key]
    near = difflib.get_close_matches(key, list(choices), n=3, cutoff=0.4)
    hint = f"nearest: {', '.join(near)}" if near else f"known: {', '.join(choices)}"
    raise UnknownChoice(f"no {what} {key!r}; {hint}")


def _keyed(name: str) -> dict[str, dict[str, Any]]:
    return {record["key"]: record for record in table(name)}
