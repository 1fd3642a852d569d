"""What each layer of a model is: its kind of attention and its kind of feed-forward part."""

from __future__ import annotations

from ...engine.printer import Record
from .families import DELTA, DENSE
from .records import (
    LARGEST,
    UnreadableConfig,
    a_layer_each,
    count,
    count_or,
    counts,
    has,
    is_among,
    kind,
    known,
    letters,
    text,
    texts,
    truth_or,
)

LAYER_TYPES = (
    "full_attention", "sliding_attention", "chunked_attention", "linear_attention",
    "deepseek_sparse_attention", "minimax_m3_sparse", "compressed_sparse_attention",
    "heavily_compressed_attention",
)  # fmt: skip
GROUPED_TYPES = ("full_attention", "sliding_attention", "chunked_attention")
DELTA_TYPES = ("full_attention", "linear_attention")
FEED_FORWARD_TYPES = ("dense", "sparse")
# Windows by default in every layer, where the config gives a window and says no more.
ALL_SLIDING = ("mistral", "phi3", "mixtral", "ministral", "phimoe")


def layer_types(model: Record, family: str, layers: float) -> list[str]:
    """``layer_types`` as the file has it, each among those that the family can have."""
    found = texts(model, "layer_types")
    a_layer_each("layer_types", len(found), layers)
    allowed = GROUPED_TYPES
    if family in DELTA or family == "minimax_m1":
        allowed = DELTA_TYPES
    kinds: list[str] = []
    for name in found:
        known(name, "layer_types", allowed)
        kinds.append(kind_of_layer(name))
    return kinds


def kind_of_layer(name: str) -> str:
    if name == "linear_attention":
        return "linear"
    return "full" if name == "full_attention" else "sliding"


def attention_kinds(model: Record, family: str, layers: float) -> list[str]:
    """``full``, ``sliding`` or ``linear`` for each layer of grouped-query attention."""
    if has(model, "layer_types") and family != "minimax_m3":
        return layer_types(model, family, layers)
    if family == "mimo_v2_flash":
        return flagged(model, "hybrid_layer_pattern", layers, "sliding", "full")
    if family == "minimax_m1":
        return flagged(model, "attn_type_list", layers, "full", "linear")
    kinds: list[str] = []
    for layer in range(int(layers)):
        kinds.append(kind_by_rule(model, family, layer))
    return kinds


def flagged(model: Record, name: str, layers: float, marked_as: str, unmarked: str) -> list[str]:
    """A list of 1 and 0, one for each layer, as two names."""
    flags = counts(model, name)
    a_layer_each(name, len(flags), layers)
    kinds: list[str] = []
    for flag in flags:
        if flag > 1:
            raise UnreadableConfig(f"{name} takes 0 or 1 for each layer.")
        kinds.append(marked_as if flag == 1 else unmarked)
    return kinds


def kind_by_rule(model: Record, family: str, layer: float) -> str:
    """The kind of one layer where no list says it: by the family's period."""
    if family in DELTA:
        period = period_of(model, "full_attention_interval", 4)
        return "full" if (layer + 1) % period == 0 else "linear"
    if family == "llama4_text":
        return llama4_kind(model, layer)
    if family == "gemma2" or family == "gpt_oss":
        return "sliding" if layer % 2 == 0 else "full"
    if family in ["gemma3_text", "gemma4_text", "cohere2", "olmo3"]:
        usual = 6 if family in ["gemma3_text", "gemma4_text"] else 4
        period = period_of(model, "sliding_window_pattern", usual)
        return "full" if (layer + 1) % period == 0 else "sliding"
    if not has(model, "sliding_window") or family in ["minimax_m2", "minimax_m3"]:
        return "full"
    if family in ALL_SLIDING:
        # A window as long as the longest context takes nothing away.
        longest = count_or(model, "max_position_embeddings", LARGEST)
        short = count(model, "sliding_window") < longest
        return "sliding" if short and truth_or(model, "use_sliding_window", True) else "full"
    if not truth_or(model, "use_sliding_window", False):
        return "full"
    return "sliding" if layer >= count_or(model, "max_window_layers", 0) else "full"


def period_of(model: Record, name: str, usual: float) -> float:
    """A period in layers: the stated one, or the family's usual one."""
    return count(model, name) if has(model, name) else usual


def llama4_kind(model: Record, layer: float) -> str:
    """Layers with rotary positions see a chunk; every fourth has none and sees all."""
    if not has(model, "attention_chunk_size"):
        return "full"
    if has(model, "no_rope_layers"):
        flags = counts(model, "no_rope_layers")
        if len(flags) > layer:
            return "full" if flags[int(layer)] == 0 else "sliding"
    period = period_of(model, "no_rope_layer_interval", 4)
    return "full" if (layer + 1) % period == 0 else "sliding"


def window_of(model: Record, family: str) -> float:
    """Tokens of the window, for a model with layers that have one."""
    if family == "llama4_text":
        return count(model, "attention_chunk_size")
    return count(model, "sliding_window")


# ---- feed-forward


def feed_forward_kinds(model: Record, family: str, layers: float) -> list[str]:
    """``dense`` or ``sparse`` for each layer; ``both`` where a layer has the two side by side."""
    kinds: list[str] = []
    if has(model, "mlp_layer_types"):
        found = texts(model, "mlp_layer_types")
        a_layer_each("mlp_layer_types", len(found), layers)
        for name in found:
            kinds.append(known(name, "mlp_layer_types", FEED_FORWARD_TYPES))
        return kinds
    if kind(model, "moe_layer_freq") == "list":
        return flagged(model, "moe_layer_freq", layers, "sparse", "dense")
    if has(model, "moe_layers_enum"):
        return enumerated(model, layers)
    for layer in range(int(layers)):
        kinds.append(feed_forward_by_rule(model, family, layer))
    return kinds


def enumerated(model: Record, layers: float) -> list[str]:
    """Step-3.5: the numbers of the layers with experts, as one text with commas."""
    kinds: list[str] = []
    for _layer in range(int(layers)):
        kinds.append("dense")
    return marked(kinds, letters(text(model, "moe_layers_enum")))


def marked(kinds: list[str], signs: list[str]) -> list[str]:
    numbers: list[float] = []
    current = -1
    for sign in signs:
        if sign == ",":
            numbers.append(current)
            current = -1
        elif sign in DIGITS:
            current = (0 if current < 0 else current * 10) + digit(sign)
        elif sign != " ":
            raise UnreadableConfig("moe_layers_enum takes layer numbers with commas.")
    numbers.append(current)
    found: list[str] = []
    for layer in range(len(kinds)):
        named = "dense"
        for number in numbers:
            if number == layer:
                named = "sparse"
        found.append(named)
    return found


DIGITS = ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9")


def digit(sign: str) -> float:
    for value in range(10):
        if DIGITS[value] == sign:
            return value
    return 0


def feed_forward_by_rule(model: Record, family: str, layer: float) -> str:
    if family == "gemma4_text":
        return "both" if truth_or(model, "enable_moe_block", False) else "dense"
    if family in DENSE:
        return "dense"
    if family == "llama4_text":
        if has(model, "moe_layers"):
            return "sparse" if is_among(layer, counts(model, "moe_layers")) else "dense"
        step = count_or(model, "interleave_moe_layer_step", 1)
        return "sparse" if step > 0 and (layer + 1) % step == 0 else "dense"
    if layer < count_or(model, "first_k_dense_replace", 0):
        return "dense"
    if has(model, "mlp_only_layers") and is_among(layer, counts(model, "mlp_only_layers")):
        return "dense"
    step = count_or(model, "decoder_sparse_step", 1)
    if step > 1 and (layer + 1) % step != 0:
        return "dense"
    every = count_or(model, "moe_layer_freq", 1)
    return "dense" if every > 1 and layer % every != 0 else "sparse"
