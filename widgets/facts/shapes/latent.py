"""Layers of latent attention (DeepSeek's and its relatives), alone or beside delta attention."""

from __future__ import annotations

from ...engine.printer import Record
from .attention import add_compressed, add_index, add_kimi_delta, add_latent
from .feed_forward import add_experts, add_feed_forward
from .records import (
    UnreadableConfig,
    a_layer_each,
    count,
    count_or,
    counts,
    digits,
    has,
    is_among,
    known,
    record_at,
    texts,
)

INDEXED = ("deepseek_v32", "glm_moe_dsa")
INDEXER_TYPES = ("full", "shared")


def add_latent_layers(
    totals: dict[str, float], model: Record, family: str, layers: float, dtype: float
) -> None:
    linear: list[float] = []
    if family == "kimi_linear":
        linear = delta_layers(record_at(model, "linear_attn_config"), layers)
    for layer in range(int(layers)):
        if is_among(layer + 1, linear):
            add_kimi_delta(totals, model, record_at(model, "linear_attn_config"), dtype)
        else:
            add_latent(totals, model)
    if family in INDEXED or has(model, "index_topk"):
        for what in indexers(model, layers):
            if what == "full":
                add_index(totals, model)
    add_feed_forward(totals, model, family, layers)


def delta_layers(linear: Record, layers: float) -> list[float]:
    """Numbers, from 1, of Kimi's linear layers; every other layer is named a full one."""
    delta = counts(linear, "kda_layers")
    full = counts(linear, "full_attn_layers")
    for layer in range(int(layers)):
        linear_here = is_among(layer + 1, delta)
        full_here = is_among(layer + 1, full)
        if (linear_here and full_here) or not (linear_here or full_here):
            number = digits(layer + 1)
            raise UnreadableConfig(
                f"layer {number} is to be in one of kda_layers and full_attn_layers."
            )
    return delta


def indexers(model: Record, layers: float) -> list[str]:
    """``full`` for a layer with an indexer of its own, ``shared`` for one that borrows."""
    found: list[str] = []
    if has(model, "indexer_types"):
        found = texts(model, "indexer_types")
        a_layer_each("indexer_types", len(found), layers)
        for name in found:
            known(name, "indexer_types", INDEXER_TYPES)
        return found
    for _layer in range(int(layers)):
        found.append("full")
    return found


def add_compressed_layers(
    totals: dict[str, float], model: Record, family: str, layers: float
) -> None:
    """DeepSeek-V4: a compression ratio for each layer, and streams of the residual."""
    ratios = counts(model, "compress_ratios")
    a_layer_each("compress_ratios", len(ratios), layers)
    hidden = count(model, "hidden_size")
    streams = count_or(model, "hc_mult", 1)
    for layer in range(int(layers)):
        add_compressed(totals, model, ratios[layer])
        add_experts(totals, model, family)
        if streams > 1:
            totals["norms"] += 2 * (2 + streams) * streams * (streams * hidden + 1)
    if streams > 1:
        totals["norms"] += streams * streams * hidden
