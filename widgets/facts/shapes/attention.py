"""Weights and kept numbers of one layer's attention, for each kind of attention.

Every function adds to ``totals``: ``attention`` (weights), ``kv`` (numbers a token leaves for
good), ``window_kv`` (numbers a token leaves while it is inside the window), ``index`` (bytes of
index keys a token), ``state`` (bytes a request) and ``flops`` (for one query and one key).
"""

from __future__ import annotations

from ...engine.printer import Record
from .records import UnreadableConfig, count, count_or, has, known, text_or, truth_or

INDEX_SCALE = 4  # bytes: one float32 scale for the 8-bit numbers of an index key
BIASED = ("qwen2", "qwen2_moe", "gpt_oss", "mimo")
GATED = ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")
DTYPES = ("bfloat16", "float16", "float32", "auto")


def add_grouped(
    totals: dict[str, float],
    model: Record,
    heads: float,
    kv_heads: float,
    head: float,
    value: float,
) -> None:
    """Weights of queries, keys, values and output, and the arithmetic for one pair."""
    totals["attention"] += count(model, "hidden_size") * (heads + kv_heads) * (head + value)


def add_biases(
    totals: dict[str, float], model: Record, family: str, queries: float, keys: float, out: float
) -> None:
    """Biases of the projections: of queries, keys and values, and where stated of the output."""
    stated = truth_or(model, "attention_bias", False) or truth_or(model, "qkv_bias", False)
    if stated or family in BIASED:
        totals["attention"] += queries + keys
    if truth_or(model, "attention_bias", False) and family in ["llama", "gpt_oss"]:
        totals["attention"] += out


def keep_for_good(totals: dict[str, float], numbers: float, kv_heads: float, flops: float) -> None:
    """A layer whose keys and values grow with the context."""
    totals["kv"] += numbers
    totals["flops"] += flops
    before = totals["kv_heads"]
    totals["kv_heads"] = kv_heads if before < 0 else min(before, kv_heads)


def keep_in_window(totals: dict[str, float], numbers: float, kv_heads: float) -> None:
    """A layer that keeps keys and values of a window only."""
    totals["window_kv"] += numbers
    before = totals["window_kv_heads"]
    totals["window_kv_heads"] = kv_heads if before < 0 else min(before, kv_heads)


def keep(
    totals: dict[str, float], layer: str, heads: float, kv_heads: float, head: float, value: float
) -> None:
    numbers = kv_heads * (head + value)
    if layer == "full":
        keep_for_good(totals, numbers, kv_heads, 2 * heads * (head + value))
    else:
        keep_in_window(totals, numbers, kv_heads)


def add_latent(totals: dict[str, float], model: Record) -> None:
    """Multi-head latent attention: one latent and one rotary key for all heads of a layer."""
    hidden = count(model, "hidden_size")
    heads = count(model, "num_attention_heads")
    latent = count(model, "kv_lora_rank")
    nope = count(model, "qk_nope_head_dim")
    rope = count(model, "qk_rope_head_dim")
    value = count(model, "v_head_dim")
    queries = heads * (nope + rope)
    rank = count_or(model, "q_lora_rank", 0)
    totals["attention"] += hidden * rank + rank * queries + rank if rank > 0 else hidden * queries
    totals["attention"] += hidden * (latent + rope) + latent
    totals["attention"] += latent * heads * (nope + value) + heads * value * hidden
    if truth_or(model, "mla_use_output_gate", False):
        totals["attention"] += hidden * heads * value
    keep_for_good(totals, latent + rope, 0, 2 * heads * (nope + rope + value))


def add_index(totals: dict[str, float], model: Record) -> None:
    """The indexer of DeepSeek sparse attention: one 8-bit key and its scale for each token."""
    hidden = count(model, "hidden_size")
    heads = count(model, "index_n_heads")
    head = count(model, "index_head_dim")
    rank = count(model, "q_lora_rank")
    totals["attention"] += rank * heads * head + hidden * head + hidden * heads + 2 * head
    totals["index"] += head + INDEX_SCALE


def add_block_index(totals: dict[str, float], model: Record, sparse: Record) -> None:
    """The indexer of MiniMax sparse attention: one 16-bit key for each token."""
    hidden = count(model, "hidden_size")
    heads = count(sparse, "sparse_num_index_heads")
    head = count(sparse, "sparse_index_dim")
    totals["attention"] += hidden * heads * head + hidden * head + 2 * head
    totals["index"] += 2 * head


def add_compressed(totals: dict[str, float], model: Record, ratio: float) -> None:
    """DeepSeek-V4: a window of single vectors, and one compressed vector for ``ratio`` tokens.

    The vector of a token is its key and its value at once. Ratio 4 has overlapping windows
    (twice the width) and an indexer over compressed keys; ratio 0 has the window alone.
    """
    hidden = count(model, "hidden_size")
    heads = count(model, "num_attention_heads")
    head = count(model, "head_dim")
    rank = count(model, "q_lora_rank")
    groups = count(model, "o_groups")
    out = count(model, "o_lora_rank")
    totals["attention"] += hidden * rank + rank * heads * head + hidden * head
    totals["attention"] += heads * head * out + groups * out * hidden + heads + rank + head
    keep_in_window(totals, head, 0)
    if ratio == 0:
        return
    wide = 2 * head if ratio == 4 else head
    totals["attention"] += 2 * hidden * wide + ratio * wide + head
    keep_for_good(totals, head / ratio, 0, 4 * heads * head / ratio)
    if ratio == 4:
        index = count(model, "index_head_dim")
        indexers = count(model, "index_n_heads")
        totals["attention"] += 4 * hidden * index + ratio * 2 * index + index
        totals["attention"] += rank * indexers * index + hidden * indexers
        totals["index"] += (index + INDEX_SCALE) / ratio


def dtype_bytes(record: Record, name: str, otherwise: float) -> float:
    """Bytes of a number of a stated type; ``auto`` and no field mean the one around it."""
    dtype = known(text_or(record, name, "auto"), name, DTYPES)
    if dtype == "float32":
        return 4
    return otherwise if dtype == "auto" else 2


def add_delta(totals: dict[str, float], model: Record, dtype: float) -> None:
    """Gated delta net (Qwen3-Next, Qwen3.5): a matrix of keys by values for each value head."""
    hidden = count(model, "hidden_size")
    key = count(model, "linear_key_head_dim")
    value = count(model, "linear_value_head_dim")
    heads = count(model, "linear_num_value_heads")
    keys = count(model, "linear_num_key_heads") * key
    values = heads * value
    kernel = count(model, "linear_conv_kernel_dim")
    mixed = 2 * keys + values
    totals["attention"] += hidden * (mixed + values + 2 * heads) + mixed * kernel
    totals["attention"] += 2 * heads + value + values * hidden
    held = dtype_bytes(model, "mamba_ssm_dtype", dtype)
    totals["state"] += heads * key * value * held + mixed * (kernel - 1) * dtype


def add_kimi_delta(totals: dict[str, float], model: Record, linear: Record, dtype: float) -> None:
    """Kimi delta attention: a square matrix for each head, in 32 bits, and three convolutions."""
    hidden = count(model, "hidden_size")
    heads = count(linear, "num_heads")
    head = count(linear, "head_dim")
    kernel = count(linear, "short_conv_kernel_size")
    width = heads * head
    low = hidden * head + head * width  # a gate of low rank
    gate = hidden * width if truth_or(linear, "use_full_rank_gate", False) else low
    totals["attention"] += 4 * hidden * width + 3 * width * kernel + low + gate
    totals["attention"] += hidden * heads + heads + width + head
    totals["state"] += width * head * 4 + 3 * width * (kernel - 1) * dtype


def add_lightning(totals: dict[str, float], model: Record, heads: float, head: float) -> None:
    """Lightning attention (MiniMax-Text-01, M1): a square matrix for each head, in 32 bits."""
    hidden = count(model, "hidden_size")
    totals["attention"] += 5 * hidden * heads * head + heads * head
    totals["state"] += heads * head * head * 4


def add_mamba(totals: dict[str, float], model: Record, dtype: float) -> None:
    """Mamba 2: a state for each channel, and the last inputs of the convolution."""
    hidden = count(model, "hidden_size")
    heads = count(model, "mamba_num_heads")
    inner = heads * count(model, "mamba_head_dim")
    size = count(model, "ssm_state_size")
    kernel = count(model, "conv_kernel")
    mixed = inner + 2 * count(model, "n_groups") * size
    bias = mixed if truth_or(model, "use_conv_bias", True) else 0
    totals["attention"] += hidden * (inner + mixed + heads) + mixed * kernel + bias
    totals["attention"] += 3 * heads + inner + inner * hidden
    held = dtype_bytes(model, "mamba_ssm_cache_dtype", dtype)
    totals["state"] += inner * size * held + mixed * (kernel - 1) * dtype


def kv_heads_of(model: Record, name: str, heads: float) -> float:
    """Key-value heads; they are never guessed from the query heads."""
    if not has(model, name):
        raise UnreadableConfig(
            f"{name} is missing; where every query head has keys and values of its own, it is "
            "the number of attention heads."
        )
    found = count(model, name)
    if heads % found != 0:
        raise UnreadableConfig(f"{name} does not divide the number of attention heads.")
    return found
