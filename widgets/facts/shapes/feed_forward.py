"""Weights of one layer's feed-forward part: dense, or routed experts beside shared ones.

Every function adds to ``totals``: ``dense``, ``shared``, ``router`` and ``routed`` (all routed
experts), and ``expert`` (one of them) and ``chosen`` (those that one token visits).
"""

from __future__ import annotations

from ...engine.printer import Record
from .layers import feed_forward_kinds
from .records import UnreadableConfig, count, count_or, first_of, has, truth_or

EXPERTS = ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
CHOSEN = (
    "num_experts_per_tok", "num_experts_per_token", "experts_per_token", "top_k_experts",
    "moe_top_k", "moe_topk",
)  # fmt: skip
SHARED = ("n_shared_experts", "num_shared_experts")
# Families whose ``intermediate_size`` is the width of an expert.
PLAIN_WIDTH = (
    "mixtral", "minimax_m2", "minimax_m3", "gpt_oss", "llama4_text", "olmoe", "phimoe",
    "minimax_m1",
)  # fmt: skip


def experts_of(model: Record) -> float:
    """Routed experts of a layer."""
    return count(model, first_of(model, EXPERTS, "num_experts"))


def chosen_of(model: Record) -> float:
    """Routed experts that one token visits."""
    name = first_of(model, CHOSEN, "num_experts_per_tok")
    chosen = count(model, name)
    if chosen > experts_of(model):
        raise UnreadableConfig(f"{name} is larger than the number of experts.")
    return chosen


def expert_width(model: Record, family: str) -> float:
    if family in PLAIN_WIDTH:
        return count(model, "intermediate_size")
    names = ["moe_intermediate_size", "expert_intermediate_size"]
    return count(model, first_of(model, names, "moe_intermediate_size"))


def shared_width(model: Record, family: str) -> float:
    """Inner width of the shared experts of a layer, all together."""
    if family == "llama4_text":
        return count(model, "intermediate_size")
    if has(model, "shared_expert_intermediate_size"):
        return count_or(model, "shared_expert_intermediate_size", 0)
    if has(model, "share_expert_dim"):
        return count_or(model, "share_expert_dim", 0)
    number = count_or(model, first_of(model, SHARED, "n_shared_experts"), 0)
    if has(model, "moe_shared_expert_intermediate_size"):
        return max(number, 1) * count_or(model, "moe_shared_expert_intermediate_size", 0)
    if has(model, "shared_intermediate_size"):
        return max(number, 1) * count_or(model, "shared_intermediate_size", 0)
    return number * expert_width(model, family)


def dense_width(model: Record, family: str) -> float:
    if family == "minimax_m3":
        return count(model, "dense_intermediate_size")
    if family == "llama4_text":
        return count(model, "intermediate_size_mlp")
    return count(model, "intermediate_size")


def matrices(family: str) -> float:
    """Matrices of a feed-forward part: a gate, an up and a down projection, or the last two."""
    return 2 if family == "nemotron_h" else 3


def add_dense(totals: dict[str, float], model: Record, family: str, width: float) -> None:
    totals["dense"] += matrices(family) * count(model, "hidden_size") * width


def add_experts(totals: dict[str, float], model: Record, family: str) -> None:
    """Router, routed experts and shared experts of one layer.

    Latent experts (Nemotron-3, Kimi-K3) work in a narrower space than the model: two
    projections, which every token passes, lead there and back.
    """
    hidden = count(model, "hidden_size")
    experts = experts_of(model)
    narrow = first_of(model, ["moe_latent_size", "routed_expert_hidden_size"], "")
    inner = hidden if narrow == "" else count(model, narrow)
    if narrow != "":
        totals["shared"] += 2 * hidden * inner
    width = expert_width(model, family)
    expert = matrices(family) * inner * width
    if family == "gpt_oss":
        expert += 2 * width + hidden  # biases
    totals["expert"] += expert
    totals["routed"] += experts * expert
    totals["chosen"] += chosen_of(model) * expert
    totals["router"] += hidden * experts
    totals["shared"] += matrices(family) * hidden * shared_width(model, family)


def add_feed_forward(totals: dict[str, float], model: Record, family: str, layers: float) -> None:
    """The feed-forward parts of all layers."""
    kinds = feed_forward_kinds(model, family, layers)
    wide = layers
    if truth_or(model, "use_double_wide_mlp", False):
        wide = layers - count_or(model, "num_kv_shared_layers", 0)
    for layer in range(int(layers)):
        if kinds[layer] != "sparse":
            width = dense_width(model, family)
            add_dense(totals, model, family, width if layer < wide else 2 * width)
        if kinds[layer] != "dense":
            add_experts(totals, model, family)
