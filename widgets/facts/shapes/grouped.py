"""Layers of grouped-query attention: full, sliding, or beside linear attention."""

from __future__ import annotations

from ...engine.printer import Record
from .attention import (
    add_biases,
    add_block_index,
    add_delta,
    add_grouped,
    add_lightning,
    keep,
    kv_heads_of,
)
from .families import DELTA
from .feed_forward import add_feed_forward
from .layers import attention_kinds, flagged
from .records import UnreadableConfig, count, count_or, first_of, has, record_at, truth_or

# Published Gemma 3 configs leave out what equals the defaults of their class in Transformers.
GEMMA3_HEADS = 8
GEMMA3_KV_HEADS = 4
GEMMA3_HEAD = 256
GEMMA3_VOCABULARY = 262_208


def heads_of(model: Record, family: str) -> float:
    """Query heads of a layer."""
    if family == "gemma3_text":
        return count_or(model, "num_attention_heads", GEMMA3_HEADS)
    return count(model, "num_attention_heads")


def kv_heads_of_model(model: Record, family: str, heads: float) -> float:
    """Key-value heads of a layer without head counts of its own."""
    if family == "gemma3_text" and not has(model, "num_key_value_heads"):
        return GEMMA3_KV_HEADS
    usual = "num_key_value_heads"
    return kv_heads_of(model, first_of(model, [usual, "num_attention_groups"], usual), heads)


def head_size(model: Record, family: str, heads: float) -> float:
    """Size of a head; without a field for it, the hidden size over the heads."""
    name = first_of(model, ["head_dim", "attention_head_dim"], "")
    if name != "":
        return count(model, name)
    if family == "gemma3_text":
        return GEMMA3_HEAD
    hidden = count(model, "hidden_size")
    if hidden % heads != 0:
        raise UnreadableConfig("head_dim is missing, and hidden_size is no multiple of the heads.")
    return hidden / heads


def table_rows(model: Record, family: str) -> float:
    """Rows of the input table."""
    if family == "gemma3_text":
        return count_or(model, "vocab_size", GEMMA3_VOCABULARY)
    return count(model, "vocab_size")


def add_grouped_layers(
    totals: dict[str, float], model: Record, family: str, layers: float, dtype: float
) -> None:
    heads = heads_of(model, family)
    kinds = attention_kinds(model, family, layers)
    shared = count_or(model, "num_kv_shared_layers", 0)
    for layer in range(int(layers)):
        what = kinds[layer]
        if what == "linear" and family == "minimax_m1":
            add_lightning(totals, model, heads, head_size(model, family, heads))
        elif what == "linear":
            add_delta(totals, model, dtype)
        elif family == "gemma4_text":
            add_gemma4(totals, model, what, layer >= layers - shared)
        elif family in ["mimo_v2_flash", "step3p5", "step3p7"] and what == "sliding":
            add_own_sliding(totals, model, family)
        else:
            add_usual(totals, model, family, what)
    if family == "minimax_m3":
        add_sparse_blocks(totals, model, layers)
    add_feed_forward(totals, model, family, layers)


def add_usual(totals: dict[str, float], model: Record, family: str, what: str) -> None:
    """One layer of grouped-query attention with the model's own head counts."""
    hidden = count(model, "hidden_size")
    heads = heads_of(model, family)
    head = head_size(model, family, heads)
    value = count_or(model, "v_head_dim", head) if family == "mimo_v2_flash" else head
    kv_heads = kv_heads_of_model(model, family, heads)
    add_grouped(totals, model, heads, kv_heads, head, value)
    add_biases(totals, model, family, heads * head, kv_heads * (head + value), hidden)
    if truth_or(model, "attn_output_gate", family in DELTA):
        totals["attention"] += hidden * heads * head
    if truth_or(model, "use_head_wise_attn_gate", False):
        totals["attention"] += hidden * heads
    keep(totals, what, heads, kv_heads, head, value)


def add_own_sliding(totals: dict[str, float], model: Record, family: str) -> None:
    """One sliding layer with head counts of its own (MiMo-V2-Flash, Step-3.5)."""
    if family == "mimo_v2_flash":
        heads = count(model, "swa_num_attention_heads")
        kv_heads = kv_heads_of(model, "swa_num_key_value_heads", heads)
        head = count(model, "swa_head_dim")
        value = count(model, "swa_v_head_dim")
    elif has(model, "attention_other_setting"):
        other = record_at(model, "attention_other_setting")
        heads = count(other, "num_attention_heads")
        kv_heads = kv_heads_of(other, "num_attention_groups", heads)
        head = count(other, "head_dim")
        value = head
    else:
        add_usual(totals, model, family, "sliding")
        return
    add_grouped(totals, model, heads, kv_heads, head, value)
    if truth_or(model, "use_head_wise_attn_gate", False):
        totals["attention"] += count(model, "hidden_size") * heads
    keep(totals, "sliding", heads, kv_heads, head, value)


def add_gemma4(totals: dict[str, float], model: Record, what: str, shares: bool) -> None:
    """Gemma 4: global layers have larger heads, fewer of them for keys, and no value matrix."""
    hidden = count(model, "hidden_size")
    heads = count(model, "num_attention_heads")
    head = count(model, "head_dim")
    kv_heads = kv_heads_of(model, "num_key_value_heads", heads)
    equal = what == "full" and truth_or(model, "attention_k_eq_v", False)
    if what == "full":
        head = count_or(model, "global_head_dim", head)
    if equal:
        kv_heads = count_or(model, "num_global_key_value_heads", kv_heads)
    totals["attention"] += 2 * hidden * heads * head
    if not shares:
        totals["attention"] += (hidden if equal else 2 * hidden) * kv_heads * head
        keep(totals, what, heads, kv_heads, head, head)
    elif what == "full":
        totals["flops"] += 4 * heads * head


def add_sparse_blocks(totals: dict[str, float], model: Record, layers: float) -> None:
    """MiniMax-M3: an indexer over blocks of keys in the layers that the config marks."""
    if not has(model, "sparse_attention_config"):
        return
    sparse = record_at(model, "sparse_attention_config")
    if not truth_or(sparse, "use_sparse_attention", True):
        return
    for what in flagged(sparse, "sparse_attention_freq", layers, "sparse", "full"):
        if what == "sparse":
            add_block_index(totals, model, sparse)
