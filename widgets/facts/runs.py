"""Published runs of serving engines, in the terms of the estimate `instance`.

The runs are `data/runs/serving_runs.csv`; source, licence and what they do not say stand in the
README beside it.
"""

from __future__ import annotations

import re
import zlib
from functools import cache
from typing import TYPE_CHECKING, Any

from ..paths import resource
from .choices import engine, hardware, known, model
from .tables import configs

if TYPE_CHECKING:
    import pandas

NODE_GPUS = 8
"""Runs on more GPUs cross nodes, or mean something else by their parallel sizes."""
IDENTITY = (
    "model", "system", "engine", "engine_version", "precision", "tp", "attention_dp",
    "prompt_tokens", "answer_tokens", "concurrency",
)  # fmt: skip
"""What makes a run. A run measured twice is kept out twice."""
_SUFFIXES = re.compile(r"-(instruct|fp8|nvfp4|bf16|base)$")


@cache
def serving_runs() -> pandas.DataFrame:
    """All runs, one a row, with `gpus` (tensor × attention data parallelism), `dense`, `family`
    and `held_out`. Times in ms as published; formats are text, empty where not quantised.
    """
    import pandas  # here and not above: importing pandas takes longer than a whole estimate

    runs = pandas.read_csv(
        resource("data") / "runs" / "serving_runs.csv",
        keep_default_na=False,
        na_values={"attention_dp": [""]},
    )
    runs["attention_dp"] = runs["attention_dp"].fillna(1).clip(lower=1)
    runs["gpus"] = runs["tp"] * runs["attention_dp"]
    runs["family"] = [model_key(name) for name in runs["model"]]
    dense = {key: model(key)["experts"] == 0 for key in set(runs["family"])}
    runs["dense"] = [dense[key] for key in runs["family"]]
    runs["held_out"] = [held_out(run) for run in runs.to_dict("records")]
    return runs


def held_out(run: dict[str, Any]) -> bool:
    """Whether a run is kept out of the fit: half of them, by the checksum of what makes a run."""
    text = "|".join(str(run[column]) for column in IDENTITY)
    return zlib.crc32(text.encode()) % 2 == 0


@cache
def model_key(name: str) -> str:
    """The key in `configs()` of a model that runs name as on Hugging Face."""
    plain = {_plain(entry["name"]): key for key, entry in reversed(configs().items())}
    return known(_plain(name), plain, "model among the configs")


def _plain(name: str) -> str:
    short = name.rpartition("/")[2].lower().removeprefix("meta-")
    while (shorter := _SUFFIXES.sub("", short)) != short:
        short = shorter
    return short.replace("v3.1", "v3")


# Many runs share a choice, and reading a model's configuration takes a millisecond.
@cache
def _model(key: str, weights: str | None, kv: str) -> dict[str, float]:
    return model(key, weights=weights, kv=kv)


@cache
def _hardware(key: str, weights: str) -> dict[str, float]:
    return hardware(key, weights=weights)


_engine = cache(engine)


def assumptions_of(run: dict[str, Any]) -> dict[str, float]:
    """A run's model, hardware, engine and load as assumptions of `instance`.

    The KV format is a guess (see the README of the runs). gpt-oss is served as it is published.
    """
    published = str(run["weight_format"])
    weights = {"": "bf16", "fp8_block": "fp8"}.get(published, published)
    kv = "fp8" if run["engine"] == "trtllm" and weights != "bf16" else "bf16"
    mixed = "gpt_oss" in run["family"]
    return {
        **_model(run["family"], None if mixed else weights, kv),
        **_hardware(run["system"], weights),
        **_engine(run["engine"]),
        "tensor_parallel": run["tp"],
        "data_parallel": run["attention_dp"],
        "input_tokens": run["prompt_tokens"],
        "output_tokens": run["answer_tokens"],
        "concurrency": run["concurrency"],
    }
