"""A config as a flat dict of numbers: the one definition, in Python and on the page."""

from __future__ import annotations

from ...engine.printer import Record
from .blocks import add_blocks, add_searched
from .families import DENSE, LATENT, LATENT_FIELDS, OWN_FIELDS, OWNERS, family_of, text_model
from .feed_forward import EXPERTS, chosen_of, experts_of
from .formats import multiplied_bits, part_bytes, plain_bytes
from .grouped import add_grouped_layers, heads_of, table_rows
from .latent import add_compressed_layers, add_latent_layers
from .layers import LAYER_TYPES, window_of
from .records import (
    UnknownArchitecture,
    UnreadableConfig,
    contains,
    count,
    count_or,
    counts,
    has,
    known,
    texts,
    truth_or,
)

MOST_LAYERS = 10_000
TIED = ("gemma", "gemma2", "gemma3_text", "gemma4_text", "cohere2")


def read_shape(config: Record) -> dict[str, float]:
    """The shape behind a config; see Shape for the meaning and the units of every number."""
    model = text_model(config)
    family = family_of(config, model)
    check_fields(model, family)
    layers = layers_of(model)
    totals: dict[str, float] = {
        "attention": 0, "dense": 0, "shared": 0, "router": 0, "routed": 0, "expert": 0,
        "chosen": 0, "norms": 0, "kv": 0, "index": 0, "window_kv": 0, "state": 0, "flops": 0,
        "kv_heads": -1, "window_kv_heads": -1,
    }  # fmt: skip
    add_layers(totals, config, model, family, layers)
    return summed(totals, config, model, family, layers)


def check_fields(model: Record, family: str) -> None:
    """Refuse fields that give a model other layers than its type has."""
    word = f" {family} "
    for index in range(len(OWN_FIELDS)):
        if not contains(OWNERS[index], word):
            refuse_field(model, OWN_FIELDS[index], family)
    if family not in LATENT and family != "deepseek_v4":
        for field in LATENT_FIELDS:
            refuse_field(model, field, family)
    if family in DENSE:
        for field in EXPERTS:
            if has(model, field) and count_or(model, field, 0) > 0:
                refuse_field(model, field, family)
    if has(model, "layer_types"):
        for name in texts(model, "layer_types"):
            known(name, "layer_types", LAYER_TYPES)
    if family == "minimax_m2" and has(model, "attn_type_list"):
        for flag in counts(model, "attn_type_list"):
            if flag != 1:
                raise UnknownArchitecture("attn_type_list takes 1 for each layer in minimax_m2.")


def refuse_field(model: Record, field: str, family: str) -> None:
    if has(model, field):
        raise UnknownArchitecture(f"{field} is not a field that this reader knows in {family}.")


def layers_of(model: Record) -> float:
    """Number of layers; Nemotron's lists of blocks may stand in place of it."""
    if not has(model, "num_hidden_layers") and has(model, "layers_block_type"):
        return len_of(texts(model, "layers_block_type"))
    layers = count(model, "num_hidden_layers")
    if layers > MOST_LAYERS:
        raise UnreadableConfig("num_hidden_layers is larger than ten thousand.")
    return layers


def len_of(names: list[str]) -> float:
    return len(names)


def add_layers(
    totals: dict[str, float], config: Record, model: Record, family: str, layers: float
) -> None:
    dtype = plain_bytes(config, model)
    if family == "nemotron_h":
        add_blocks(totals, model, layers, dtype)
    elif family == "nemotron-nas":
        add_searched(totals, model, layers)
    elif family == "deepseek_v4":
        add_compressed_layers(totals, model, family, layers)
    elif family in LATENT:
        add_latent_layers(totals, model, family, layers, dtype)
    else:
        add_grouped_layers(totals, model, family, layers, dtype)


def summed(
    totals: dict[str, float], config: Record, model: Record, family: str, layers: float
) -> dict[str, float]:
    hidden = count(model, "hidden_size")
    table = table_rows(model, family) * hidden
    tied = is_tied(config, model, family)
    totals["norms"] += (2 * layers + 1) * hidden
    per_layer = per_layer_size(model, family, layers)
    extra = per_layer * table_rows_of_layers(model, per_layer)
    rest = totals["attention"] + totals["norms"] + totals["router"] + totals["dense"]
    rest += 3 * hidden * per_layer  # into the layer, its gate, and back
    rest += totals["shared"] + table + extra
    parameters = rest + totals["routed"] + (0 if tied else table)
    sparse = totals["routed"] > 0
    active = rest + totals["chosen"] if sparse else parameters
    windows = totals["window_kv"] > 0
    growing = totals["kv_heads"]
    kv_heads = growing if growing >= 0 else max(totals["window_kv_heads"], 0)
    return {
        "parameters": parameters,
        "active_parameters": active,
        "expert_parameters": totals["expert"],
        "experts": experts_of(model) if sparse else 0,
        "experts_per_token": chosen_of(model) if sparse else 0,
        "layers": layers,
        "hidden_size": hidden,
        "embedding_parameters": (0 if tied else table) + extra,
        "kv_numbers_per_token": totals["kv"],
        "index_bytes_per_token": totals["index"],
        "window_tokens": window_of(model, family) if windows else 0,
        "window_kv_numbers_per_token": totals["window_kv"],
        "state_bytes_per_request": totals["state"],
        "kv_heads": kv_heads,
        "attention_heads": heads_of(model, family),
        "bytes_per_parameter": rest_bytes(totals, config, model, layers, table),
        "bytes_per_expert_parameter": part_bytes(config, model, "experts", layers) if sparse else 0,
        "multiplied_bits": multiplied_bits(config, model, "experts" if sparse else "dense", layers),
        "attention_flops_per_pair": totals["flops"],
    }


def is_tied(config: Record, model: Record, family: str) -> bool:
    """Whether the output reuses the input table; the text model's own word comes first."""
    usual = family in TIED
    if has(model, "tie_word_embeddings"):
        return truth_or(model, "tie_word_embeddings", usual)
    return truth_or(config, "tie_word_embeddings", usual)


def per_layer_size(model: Record, family: str, layers: float) -> float:
    """Gemma 4's small models read a further embedding for every layer: their sizes, summed."""
    if family != "gemma4_text":
        return 0
    return layers * count_or(model, "hidden_size_per_layer_input", 0)


def table_rows_of_layers(model: Record, per_layer: float) -> float:
    return count(model, "vocab_size_per_layer_input") if per_layer > 0 else 0


def rest_bytes(
    totals: dict[str, float], config: Record, model: Record, layers: float, table: float
) -> float:
    """Bytes of a weight outside the routed experts: the mean over its parts."""
    attention = part_bytes(config, model, "attention", layers)
    dense = part_bytes(config, model, "dense", layers)
    shared = part_bytes(config, model, "shared", layers)
    differ_dense = totals["dense"] > 0 and dense != attention
    differ_shared = totals["shared"] > 0 and shared != attention
    if not (differ_dense or differ_shared):
        return attention
    held = (totals["attention"] + table) * attention
    held += totals["dense"] * dense + totals["shared"] * shared
    return held / (totals["attention"] + table + totals["dense"] + totals["shared"])
