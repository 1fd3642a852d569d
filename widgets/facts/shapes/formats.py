"""Bytes of a published weight, by the part of the model that it belongs to.

The parts are ``attention`` (embeddings and output go with it), ``dense``, ``shared`` and
``experts``. A format counts its scales: MXFP4 is 4 bits and 8 bits of scale for 32 weights,
NVFP4 the same for 16; an integer group has a 16-bit scale. Scales of blocks of 128 × 128 and
norms, gates and an output head that a checkpoint leaves in 16 bits are too small to count.
"""

from __future__ import annotations

from ...engine.printer import Record
from .attention import dtype_bytes
from .records import (
    contains,
    count,
    count_or,
    first_of,
    has,
    keys_of,
    kind,
    known,
    record_at,
    record_in,
    text,
    text_or,
    texts,
)

MXFP4 = 0.5 + 1 / 32
NVFP4 = 0.5 + 1 / 16
MXFP8 = 1 + 1 / 32
METHODS = ("fp8", "mxfp4", "modelopt", "compressed-tensors", "gptq", "awq", "fbgemm_fp8")
ALGORITHMS = (
    "FP8", "NVFP4", "W4A16_NVFP4", "MXFP8", "MXFP4", "MIXED_PRECISION", "FP8_PB_WO",
    "FP8_PER_CHANNEL_PER_TOKEN", "NVFP4_AWQ",
)  # fmt: skip
EXPERT_TYPES = ("fp4", "fp8", "bf16", "bfloat16")
KINDS = ("float", "int")
LEFT_ALONE = ("ignore", "modules_to_not_convert", "exclude_modules")
PARTS = ("attention", "dense", "shared", "experts")


def plain_bytes(config: Record, model: Record) -> float:
    """Bytes of a weight that no format compresses; 16 bits where the config does not say."""
    names = ["dtype", "torch_dtype"]
    source = model if has(model, first_of(model, names, "")) else config
    return dtype_bytes(source, first_of(source, names, "dtype"), 2)


def quantization_of(config: Record, model: Record) -> Record:
    """The description of the weights' format, from the text model or around it."""
    source = model if has(model, "quantization_config") else config
    if has(source, "quantization_config"):
        return record_at(source, "quantization_config")
    return config


def part_bytes(config: Record, model: Record, part: str, layers: float) -> float:
    """Bytes of one weight of a part, as published, scales included."""
    plain = plain_bytes(config, model)
    if not (has(config, "quantization_config") or has(model, "quantization_config")):
        return plain
    quantization = quantization_of(config, model)
    usual = "modelopt" if has(quantization, "quant_algo") else ""
    method = known(
        text_or(quantization, "quant_method", usual), "quantization_config.quant_method", METHODS
    )
    if method == "mxfp4":
        return MXFP4 if part == "experts" else plain
    if method == "fp8" or method == "fbgemm_fp8":
        return eight_bit(model, quantization, part)
    if method == "gptq" or method == "awq":
        return integer_bytes(quantization)
    if method == "compressed-tensors":
        return plain if left_alone(quantization, part, layers) else group_bytes(quantization)
    if part == "dense" and first_layer_left(model, quantization):
        return plain
    return modelopt_bytes(quantization, part, layers, plain)


def multiplied_bits(config: Record, model: Record, part: str, layers: float) -> float:
    """Width of the numbers in which a part is multiplied: 16, 8 or 4 bits.

    Whole numbers of less than 16 bits, and ModelOpt's W4A16, are unpacked to 16 bits first.
    """
    size = part_bytes(config, model, part, layers)
    if size >= 2 or is_unpacked(quantization_of(config, model)):
        return 16
    return 8 if size >= 1 else 4


def is_unpacked(quantization: Record) -> bool:
    """Whether activations stay in 16 bits, so that weights must join them."""
    if text_or(quantization, "quant_method", "") in ["gptq", "awq"]:
        return True
    if text_or(quantization, "quant_algo", "") == "W4A16_NVFP4":
        return True
    if not has(quantization, "config_groups"):
        return False
    groups = record_at(quantization, "config_groups")
    first = first_of(groups, keys_of(groups), "group_0")
    weights = record_at(record_at(groups, first), "weights")
    return text_or(weights, "type", "int") == "int" and count(weights, "num_bits") < 8


def eight_bit(model: Record, quantization: Record, part: str) -> float:
    """FP8 throughout, unless the experts have a format of their own."""
    if part != "experts":
        return 1
    if has(quantization, "moe_quant_algo"):
        return algorithm_bytes(text(quantization, "moe_quant_algo"))
    dtype = known(text_or(model, "expert_dtype", "fp8"), "expert_dtype", EXPERT_TYPES)
    if dtype == "fp4":
        return MXFP4
    return 1 if dtype == "fp8" else 2


def integer_bytes(quantization: Record) -> float:
    """GPTQ and AWQ: whole numbers with a 16-bit scale and a zero point for each group."""
    bits = count(quantization, first_of(quantization, ["bits", "w_bit"], "bits"))
    group = count(
        quantization, first_of(quantization, ["group_size", "q_group_size"], "group_size")
    )
    return (bits + (16 + bits) / group) / 8


def group_bytes(quantization: Record) -> float:
    """Compressed tensors: the first group of the config speaks for all."""
    groups = record_at(quantization, "config_groups")
    first = first_of(groups, keys_of(groups), "group_0")
    weights = record_at(record_at(groups, first), "weights")
    bits = count(weights, "num_bits")
    name = known(text_or(weights, "type", "int"), "quantization_config type", KINDS)
    size = count_or(weights, "group_size", 0)
    if size == 0 or bits == 8:
        return bits / 8
    scale = 8 if name == "float" else 16
    return (bits + scale / size) / 8


def algorithm_bytes(algorithm: str) -> float:
    """Bytes of a weight in one of ModelOpt's formats."""
    name = known(algorithm, "quantization_config.quant_algo", ALGORITHMS)
    if name in ["NVFP4", "W4A16_NVFP4", "NVFP4_AWQ"]:
        return NVFP4
    if name == "MXFP4":
        return MXFP4
    return MXFP8 if name == "MXFP8" else 1


def modelopt_bytes(quantization: Record, part: str, layers: float, plain: float) -> float:
    algorithm = text(quantization, "quant_algo")
    if algorithm == "MIXED_PRECISION":
        return mixed_bytes(quantization, part, plain)
    if left_alone(quantization, part, layers):
        return plain
    return algorithm_bytes(algorithm)


def mixed_bytes(quantization: Record, part: str, plain: float) -> float:
    """A format for each module: the first module of a part speaks for it."""
    modules = record_at(quantization, "quantized_layers")
    for name in keys_of(modules):
        if belongs(name, part) and kind(modules, name) == "record":
            return algorithm_bytes(text(record_in(modules, name), "quant_algo"))
    return plain


def belongs(module: str, part: str) -> bool:
    """Whether a module's name is one of a part's."""
    shared = contains(module, "shared_expert")
    routed = contains(module, "experts") and not shared
    if part == "experts":
        return routed
    if part == "shared":
        return shared
    if part == "attention":
        mixer = contains(module, "mixer.in_proj") or contains(module, "mixer.q_proj")
        return contains(module, "attn") or mixer
    return contains(module, "mlp.") and not (routed or shared)


def left_alone(quantization: Record, part: str, layers: float) -> bool:
    """Whether a config leaves a part out of its format: by a pattern, or layer by layer."""
    named = 0
    for field in LEFT_ALONE:
        if has(quantization, field):
            for pattern in texts(quantization, field):
                if leaves(pattern, part):
                    if contains(pattern, "re:") or contains(pattern, "*."):
                        return True
                    named += 1
    # Some checkpoints leave single layers alone; that is not yet the part.
    return named * 2 >= layers


def first_layer_left(model: Record, quantization: Record) -> bool:
    """Whether the dense layers that come before the experts are left alone, layer and all."""
    if not has(model, "first_k_dense_replace"):
        return False
    for field in LEFT_ALONE:
        if has(quantization, field):
            for pattern in texts(quantization, field):
                if contains(pattern, "layers.0*") or contains(pattern, "layers.0.*"):
                    return True
    return False


def leaves(pattern: str, part: str) -> bool:
    """Whether a pattern of modules leaves a part out."""
    if part == "shared":
        return contains(pattern, "shared_expert") and not contains(pattern, "gate")
    if part == "attention":
        small = contains(pattern, "norm") or contains(pattern, "index")
        return contains(pattern, "attn") and not small
    if part == "dense":
        entire = contains(pattern, "mlp*") or contains(pattern, "mlp.gate_proj")
        return entire or contains(pattern, "mlp\\.(")
    return contains(pattern, "experts") and not contains(pattern, "shared")
