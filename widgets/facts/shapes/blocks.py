"""Models whose layers are blocks of one kind each, or differ in size from layer to layer."""

from __future__ import annotations

from ...engine.printer import Record
from .attention import add_grouped, add_mamba, keep
from .feed_forward import add_dense, add_experts, dense_width
from .grouped import add_usual, head_size
from .records import (
    UnknownArchitecture,
    UnreadableConfig,
    a_layer_each,
    count,
    digits,
    has,
    items,
    kind,
    known,
    letters,
    number_in,
    record_at,
    text,
    texts,
    truth_or,
)

BLOCK_TYPES = ("mamba", "attention", "moe", "mlp")
BLOCK_LETTERS = ("M", "*", "E", "-")


def add_blocks(totals: dict[str, float], model: Record, layers: float, dtype: float) -> None:
    """Nemotron-H: each layer is one block, Mamba, attention, experts or dense."""
    family = "nemotron_h"
    for block in blocks_of(model, layers):
        if block == "mamba":
            add_mamba(totals, model, dtype)
        elif block == "attention":
            add_usual(totals, model, family, "full")
        elif block == "moe":
            add_experts(totals, model, family)
        else:
            add_dense(totals, model, family, dense_width(model, family))
    # A block has one norm where a usual layer has two.
    totals["norms"] -= layers * count(model, "hidden_size")


def blocks_of(model: Record, layers: float) -> list[str]:
    """Names of the blocks: from a list, or from a pattern with a letter for each."""
    found: list[str] = []
    if has(model, "layers_block_type"):
        found = texts(model, "layers_block_type")
        for name in found:
            known(name, "layers_block_type", BLOCK_TYPES)
    else:
        for letter in letters(text(model, "hybrid_override_pattern")):
            known(letter, "hybrid_override_pattern", BLOCK_LETTERS)
            found.append(block_of(letter))
    if len(found) != layers:
        held = digits(len(found))
        wanted = digits(layers)
        raise UnreadableConfig(f"The block pattern has {held} entries for {wanted} layers.")
    return found


def block_of(letter: str) -> str:
    for index in range(len(BLOCK_LETTERS)):
        if BLOCK_LETTERS[index] == letter:
            return BLOCK_TYPES[index]
    return "mlp"


def add_searched(totals: dict[str, float], model: Record, layers: float) -> None:
    """Nemotron-NAS: every layer says for itself what it has."""
    blocks = items(model, "block_configs")
    a_layer_each("block_configs", len(blocks), layers)
    for layer in range(int(layers)):
        block = record_at(blocks[layer], "item")
        add_searched_attention(totals, model, record_at(block, "attention"))
        add_searched_feed_forward(totals, model, record_at(block, "ffn"))


def add_searched_attention(totals: dict[str, float], model: Record, block: Record) -> None:
    hidden = count(model, "hidden_size")
    if truth_or(block, "no_op", False):
        return
    if truth_or(block, "replace_with_linear", False):
        totals["attention"] += hidden * hidden
        return
    if has(block, "window_length"):
        raise UnknownArchitecture("window_length in block_configs is not known to this reader.")
    heads = count(model, "num_attention_heads")
    head = head_size(model, "nemotron-nas", heads)
    group = count(block, "n_heads_in_group")
    if heads % group != 0:
        raise UnreadableConfig("n_heads_in_group does not divide the number of attention heads.")
    kv_heads = heads / group
    add_grouped(totals, model, heads, kv_heads, head, head)
    keep(totals, "full", heads, kv_heads, head, head)


def add_searched_feed_forward(totals: dict[str, float], model: Record, block: Record) -> None:
    hidden = count(model, "hidden_size")
    if truth_or(block, "no_op", False):
        return
    if truth_or(block, "replace_with_linear", False):
        totals["dense"] += hidden * hidden
        return
    if has(block, "intermediate_size"):
        totals["dense"] += 3 * hidden * count(block, "intermediate_size")
        return
    if kind(block, "ffn_mult") != "number":
        raise UnreadableConfig("ffn_mult in block_configs is missing or no number.")
    wanted = 2 * number_in(block, "ffn_mult") * hidden / 3
    # The width is rounded up to a multiple of 256.
    width = int(wanted) + 255 - (int(wanted) + 255) % 256
    totals["dense"] += 3 * hidden * width
