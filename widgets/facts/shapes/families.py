"""Which model a config describes: the text model inside it, and its family.

A family is a group of model types with one meaning of their fields. Every name in here was
checked against the modelling code of Transformers or vLLM.
"""

from __future__ import annotations

from ...engine.printer import Record
from .records import (
    UnreadableConfig,
    first_of,
    has,
    is_record,
    known,
    record_at,
    text,
)

# Families without experts.
DENSE = (
    "llama", "mistral", "ministral", "ministral3", "qwen2", "qwen3", "mimo", "phi3", "gemma",
    "gemma2", "gemma3_text", "olmo2", "olmo3", "granite", "smollm3", "seed_oss", "cohere2", "glm4",
    "qwen3_5_text", "nemotron-nas",
)  # fmt: skip
LATENT = (
    "deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "glm_moe_dsa", "glm4_moe_lite",
    "mistral4", "kimi_linear",
)  # fmt: skip
FAMILIES = (
    "llama", "mistral", "ministral", "ministral3", "qwen2", "qwen3", "mimo", "phi3", "gemma",
    "gemma2", "gemma3_text", "olmo2", "olmo3", "granite", "smollm3", "seed_oss", "cohere2", "glm4",
    "mixtral", "qwen2_moe", "qwen3_moe", "minimax_m2", "minimax_m3", "glm4_moe", "gpt_oss",
    "llama4_text", "step3p5", "step3p7", "mimo_v2_flash", "olmoe", "phimoe", "gemma4_text",
    "deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "glm_moe_dsa", "glm4_moe_lite",
    "mistral4", "qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "kimi_linear", "nemotron_h", "minimax_m1",
    "deepseek_v4", "nemotron-nas",
)  # fmt: skip

# Gated delta net in most layers, gated grouped-query attention in the others.
DELTA = ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")

# Other names of a family's text model, and where a wrapper leaves its text model's type out.
ALIASES = (
    "qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text", "qwen3_vl", "qwen3_vl_text",
    "qwen3_vl_moe", "qwen3_vl_moe_text", "qwen3_omni_moe_text", "qwen3_5", "qwen3_5_moe",
    "gemma3", "gemma4", "gemma4_unified", "gemma4_unified_text", "llama4", "minimax_m3_vl",
    "minimax_m3_vl_text", "glm4v_moe", "glm4v_moe_text", "deepseek_ref", "minimax_text_01",
    "minimax", "deci", "mistral3", "pixtral", "kimi_k25", "kimi_k3", "deepseek_v3_2", "step3p7_text",
    "mimo_v2", "nemotron_nas",
)  # fmt: skip
MEANINGS = (
    "qwen2", "qwen2", "qwen2", "qwen2", "qwen3", "qwen3",
    "qwen3_moe", "qwen3_moe", "qwen3_moe", "qwen3_5_text", "qwen3_5_moe_text",
    "gemma3_text", "gemma4_text", "gemma4_text", "gemma4_text", "llama4_text", "minimax_m3",
    "minimax_m3", "glm4_moe", "glm4_moe", "deepseek_v4", "minimax_m1",
    "minimax_m1", "nemotron-nas", "mistral", "mistral", "kimi_k2", "kimi_linear", "deepseek_v32",
    "step3p7", "mimo_v2_flash", "nemotron-nas",
)  # fmt: skip

# Multimodal wrappers: their text model lies in a field of its own; their towers are not counted.
WRAPPERS = (
    "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe", "gemma3",
    "gemma4", "gemma4_unified", "llama4", "minimax_m3_vl", "minimax_m3", "glm4v_moe", "mistral3",
    "pixtral", "kimi_k25", "kimi_k3", "kimi_vl", "llava", "llava_next", "internvl",
    "internvl_chat", "deepseek_vl_v2", "step3p7", "idefics3", "smolvlm",
)  # fmt: skip
NESTED = ("text_config", "llm_config", "language_config")

# Fields that give a model an attention of its own kind: read only where the family has it.
LATENT_FIELDS = ("kv_lora_rank", "q_lora_rank", "qk_rope_head_dim")
OWN_FIELDS = (
    "compress_ratios", "linear_num_value_heads", "linear_attn_config", "hybrid_override_pattern",
    "layers_block_type", "block_configs", "sparse_attention_config", "hybrid_layer_pattern",
    "attn_type_list", "ssm_state_size",
)  # fmt: skip
OWNERS = (
    " deepseek_v4 ", " qwen3_next qwen3_5_text qwen3_5_moe_text ", " kimi_linear ", " nemotron_h ",
    " nemotron_h ", " nemotron-nas ", " minimax_m3 ", " mimo_v2_flash ",
    " minimax_m1 minimax_m2 ", " nemotron_h ",
)  # fmt: skip


def text_model(config: Record) -> Record:
    """The part of a config that describes its text model: the whole, or a nested object."""
    if not is_record(config):
        raise UnreadableConfig("A config is an object with fields, as in a model's config.json.")
    nested = first_of(config, NESTED, "")
    if nested == "":
        return config
    known(text(config, "model_type"), "model_type", WRAPPERS)
    return record_at(config, nested)


def family_of(config: Record, model: Record) -> str:
    """The family of a text model; raises UnknownArchitecture for a type that is not known."""
    source = model if has(model, "model_type") else config
    name = text(source, "model_type")
    for index in range(len(ALIASES)):
        if name == ALIASES[index]:
            name = MEANINGS[index]
            break
    return known(name, "model_type", FAMILIES)
