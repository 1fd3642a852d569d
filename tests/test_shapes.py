"""Shapes: what the reader makes of public configs, against names, cards and measured sizes."""

from __future__ import annotations

import copy
import json
from dataclasses import asdict

import pytest

from widgets.facts.shapes import (
    UnknownArchitecture,
    UnreadableConfig,
    read_shape,
    shape_of,
    shapes_javascript,
)
from widgets.paths import resource

MODELS = json.loads((resource("data") / "configs.json").read_text("utf-8"))
GIB = 2**30


def config(key, **changes):
    """A copy of a model's config, with fields changed; None takes a field out."""
    changed = copy.deepcopy(MODELS[key]["config"]) | changes
    return {name: value for name, value in changed.items() if value is not None}


# --- against names and cards ------------------------------------------------------------------

STATED = [key for key in MODELS if "parameters" in MODELS[key]["card"]]
ACTIVE = [key for key in MODELS if "active_parameters" in MODELS[key]["card"]]


def test_one_config_alone_has_no_total_to_compare():
    # Its name says 7B, and its two tables of words alone are 1.2B.
    assert set(MODELS) - set(STATED) == {"mimo_7b"}
    assert shape_of(config("mimo_7b")).parameters == pytest.approx(7.62e9, rel=0.001)


@pytest.mark.parametrize("key", STATED)
def test_totals_agree_with_the_name_or_card(key):
    assert shape_of(config(key)).parameters == pytest.approx(
        MODELS[key]["card"]["parameters"], rel=0.03
    )


@pytest.mark.parametrize("key", ACTIVE)
def test_active_parameters_agree_with_the_name_or_card(key):
    shape, card = shape_of(config(key)), MODELS[key]["card"]
    # Cards differ in which tables of words they count; ours is the output alone.
    tables = {"output": 0, "table and output": 1, "layers": -1}[card["active_counts"]]
    counted = shape.active_parameters + tables * shape.embedding_parameters
    assert counted == pytest.approx(card["active_parameters"], rel=0.05)


def test_active_leaves_out_the_experts_that_are_not_chosen_and_nothing_else():
    for key in MODELS:
        s = shape_of(config(key))
        if s.experts:
            idle = (s.experts - s.experts_per_token) * s.expert_parameters
            assert s.active_parameters == s.parameters - s.embedding_parameters - idle, key
        else:
            assert s.active_parameters == s.parameters, key


# --- what is kept -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "kv_bytes"),
    [
        ("llama_3_1_8b", 131_072), ("llama_3_1_70b", 327_680), ("llama_3_1_405b", 516_096),
        ("deepseek_v3", 70_272), ("kimi_k2", 70_272), ("qwen3_32b", 262_144),
        ("qwen3_235b_a22b", 192_512), ("gpt_oss_120b", 36_864), ("qwen3_5_27b", 65_536),
        ("qwen3_0_6b", 114_688), ("mixtral_8x7b", 131_072), ("minimax_m2_5", 253_952),
    ],
)  # fmt: skip
def test_bytes_of_a_token_in_16_bits(key, kv_bytes):
    assert 2 * shape_of(config(key)).kv_numbers_per_token == kv_bytes


def test_qwen3_5_27b_keeps_keys_in_16_of_its_64_layers():
    s = shape_of(config("qwen3_5_27b"))
    assert s.kv_numbers_per_token == 16 * 2 * s.kv_heads * 256
    # 48 layers: 48 heads of 128 × 128 in float32, three inputs of 10,240 channels in bfloat16.
    assert s.state_bytes_per_request == 48 * (48 * 128 * 128 * 4 + 3 * 10_240 * 2)


def test_gpt_oss_windows():
    """Reported for gpt-oss-20b: 32 × 8,192 tokens take 12.0 GiB with full pages, else 6.09."""
    s = shape_of(config("gpt_oss_20b"))
    tokens = 32 * 8192
    full = 2 * tokens * (s.kv_numbers_per_token + s.window_kv_numbers_per_token)
    window = 2 * 32 * s.window_tokens * s.window_kv_numbers_per_token
    assert full / GIB == pytest.approx(12.0, rel=0.001)
    assert (2 * tokens * s.kv_numbers_per_token + window) / GIB == pytest.approx(6.09, rel=0.01)


@pytest.mark.parametrize(
    ("key", "tokens", "gib", "tolerance"),
    [
        ("qwen3_0_6b", 40_960, 4.38, 0.01),
        ("deepseek_v3", 163_840, 10.72, 0.01),
        ("kimi_k2", 8_050, 0.53, 0.01),
    ],
)
def test_reported_sizes_of_a_context(key, tokens, gib, tolerance):
    kept = 2 * tokens * shape_of(config(key)).kv_numbers_per_token
    assert kept / GIB == pytest.approx(gib, rel=tolerance)


GEMMA_3 = {
    "model_type": "gemma3",
    "torch_dtype": "bfloat16",
    "text_config": {
        "model_type": "gemma3_text", "hidden_size": 5376, "intermediate_size": 21_504,
        "num_hidden_layers": 62, "num_attention_heads": 32, "num_key_value_heads": 16,
        "head_dim": 128, "sliding_window": 1024,
    },
}  # fmt: skip


def test_gemma_3_has_windows_in_five_of_six_layers():
    """Reported for 131,072 tokens: 10.41 GiB, where a formula without windows says 62."""
    s = shape_of(GEMMA_3)
    kept = 131_072 * s.kv_numbers_per_token + s.window_tokens * s.window_kv_numbers_per_token
    assert 2 * kept / GIB == pytest.approx(10.41, rel=0.001)
    assert s.parameters == pytest.approx(27.0e9, rel=0.01)


def test_deepseek_v4_keeps_a_vector_for_each_group_of_tokens():
    """Published for V4-Pro at a million tokens, all in 16 bits: 9.62 GiB."""
    s = shape_of(config("deepseek_v4_pro"))
    # 8 bits and a scale are 132 bytes of an index key, 16 bits are 256.
    kept = 2 * s.kv_numbers_per_token + s.index_bytes_per_token * 256 / 132
    assert 2**20 * kept / GIB == pytest.approx(9.62, rel=0.001)
    assert (s.kv_heads, s.window_tokens) == (0, 128)


def test_the_index_of_sparse_attention():
    assert shape_of(config("deepseek_v3_2")).index_bytes_per_token == 61 * 132
    # GLM-5.2 has an index in 21 layers, and the others borrow its choice.
    assert shape_of(config("glm_5")).index_bytes_per_token == 78 * 132
    assert shape_of(config("glm_5_2")).index_bytes_per_token == 21 * 132
    assert shape_of(config("deepseek_v3")).index_bytes_per_token == 0


def test_windows_with_head_sizes_of_their_own():
    s = shape_of(config("mimo_v2_flash"))
    assert (s.kv_numbers_per_token, s.kv_heads) == (9 * 4 * (192 + 128), 4)
    assert s.window_kv_numbers_per_token == 39 * 8 * (192 + 128)
    s = shape_of(config("gemma_4_31b_nvfp4"))
    assert (s.kv_numbers_per_token, s.kv_heads) == (10 * 4 * 2 * 512, 4)
    assert s.window_kv_numbers_per_token == 50 * 16 * 2 * 256
    s = shape_of(config("llama_4_scout"))
    assert (s.window_tokens, s.kv_numbers_per_token) == (8192, 12 * 8 * 2 * 128)


def test_the_arithmetic_of_attention():
    assert shape_of(config("llama_3_1_70b")).attention_flops_per_pair == 80 * 4 * 64 * 128
    per_layer = 2 * 128 * (128 + 64 + 128)  # unabsorbed: keys of 192 and values of 128
    assert shape_of(config("deepseek_v3")).attention_flops_per_pair == 61 * per_layer


def test_mamba_keeps_a_state_and_no_more():
    s = shape_of(config("nemotron_3_nano"))
    inner, mixed = 64 * 64, 64 * 64 + 2 * 8 * 128
    assert s.state_bytes_per_request == 23 * (inner * 128 * 4 + mixed * 3 * 2)
    assert s.kv_numbers_per_token == 6 * 2 * 2 * 128


def test_the_models_table_says_the_same():
    """data/models.csv was made by other means; its dense rows and KV sizes must agree."""
    from widgets.facts import tables

    rows = {row["key"]: row for row in tables.table("models")}
    shared = sorted(set(rows) & set(MODELS))
    assert len(shared) == 9
    for key in shared:
        s = shape_of(config(key))
        assert 2 * s.kv_numbers_per_token == rows[key]["kv_bytes_per_token"], key
        assert s.parameters == pytest.approx(rows[key]["parameters"], rel=0.002), key


# --- precision --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "rest", "experts"),
    [
        ("deepseek_v3", 1, 1), ("qwen3_235b_a22b", 2, 2), ("qwen3_235b_a22b_fp8", 1, 1),
        ("gpt_oss_120b", 2, 0.53125), ("kimi_k2_5", 2, 0.5625), ("kimi_k3", 2, 0.53125),
        ("deepseek_v4_flash", 1, 0.53125), ("llama_3_1_8b", 2, 0),
    ],
)  # fmt: skip
def test_bytes_of_a_weight_as_published(key, rest, experts):
    s = shape_of(config(key))
    assert (s.bytes_per_parameter, s.bytes_per_expert_parameter) == (rest, experts)


def test_a_model_of_two_precisions_has_their_mean():
    """NVFP4 in the feed-forward part, 16 bits in the rest."""
    s = shape_of(config("gemma_4_31b_nvfp4"))
    feed_forward = 60 * 3 * 5376 * 21_504
    norms = (2 * 60 + 1) * 5376
    rest = s.parameters - norms - feed_forward
    mean = (2 * rest + 0.5625 * feed_forward) / (rest + feed_forward)
    assert s.bytes_per_parameter == pytest.approx(mean, rel=1e-12)


def test_gpt_oss_120b_loads_as_reported():
    """Reported: 64.4 to 66.0 GiB."""
    s = shape_of(config("gpt_oss_120b"))
    experts = s.experts * s.expert_parameters
    rest = (s.parameters - experts) * s.bytes_per_parameter
    held = rest + experts * s.bytes_per_expert_parameter
    assert 0.94 * 64.4 <= held / GIB <= 66.0


@pytest.mark.parametrize(
    ("quantization", "expected"),
    [
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, (4 + 20 / 128) / 8),
        ({"quant_algo": "FP8"}, 1),
        ({"quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}, 0.5625),
        ({"quant_algo": "NVFP4", "ignore": ["*.mlp*", "re:.*self_attn.*"]}, 2),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"a": {"weights": {"num_bits": 8, "type": "float"}}},
            },
            1,
        ),
    ],
)
def test_formats_that_publishers_add(quantization, expected):
    s = shape_of(config("qwen3_8b", quantization_config=quantization))
    assert s.bytes_per_parameter == expected


# --- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "changes", "message"),
    [
        ("qwen3_8b", {"model_type": "qwen9"}, r'model_type is "qwen9".*nearest known is "qwen\d'),
        ("qwen3_8b", {"model_type": "lama"}, 'model_type is "lama".*"llama"'),
        ("qwen3_5_27b", {"model_type": "gwen3_5"}, 'model_type is "gwen3_5".*"qwen3_5"'),
        ("qwen3_8b", {"layer_types": ["full_atention"] * 36}, 'layer_types.*"full_attention"'),
        ("qwen3_8b", {"kv_lora_rank": 512}, "kv_lora_rank is not a field .* in qwen3"),
        ("qwen3_8b", {"linear_num_value_heads": 8}, "linear_num_value_heads is not a field"),
        ("qwen3_8b", {"num_experts": 8}, "num_experts is not a field .* in qwen3"),
        ("deepseek_v3", {"layer_types": ["retention"] * 61}, 'layer_types is "retention"'),
        ("minimax_m2_7", {"attn_type_list": [1, 0] * 31}, "attn_type_list takes 1"),
        ("gpt_oss_20b", {"layer_types": ["linear_attention"] * 24}, "layer_types"),
        ("qwen3_8b", {"torch_dtype": "float7"}, 'torch_dtype is "float7".*"float'),
        ("qwen3_8b", {"quantization_config": {"quant_method": "fp7"}}, '"fp7".*"fp8"'),
        ("deepseek_v4_flash", {"expert_dtype": "fp5"}, 'expert_dtype is "fp5"'),
        ("nemotron_3_nano", {"hybrid_override_pattern": "MX" * 26}, "hybrid_override_pattern"),
        ("glm_5_2", {"indexer_types": ["ful"] * 78}, 'indexer_types is "ful".*"full"'),
    ],
)
def test_an_unknown_architecture_names_the_field_and_the_nearest(key, changes, message):
    with pytest.raises(UnknownArchitecture, match=message):
        shape_of(config(key, **changes))


REQUIRED = {
    "llama_3_1_8b": (
        "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "vocab_size", "model_type",
    ),
    "deepseek_v3": (
        "kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim",
        "moe_intermediate_size", "num_experts_per_tok",
    ),
    "deepseek_v3_2": ("index_n_heads", "index_head_dim"),
    "deepseek_v4_flash": ("compress_ratios", "o_groups", "o_lora_rank", "sliding_window"),
    "nemotron_3_nano": ("mamba_num_heads", "ssm_state_size", "conv_kernel", "n_groups"),
    "mimo_v2_flash": ("hybrid_layer_pattern", "swa_num_key_value_heads"),
}  # fmt: skip
FIELDS = [(key, name) for key, names in REQUIRED.items() for name in names]


@pytest.mark.parametrize(("key", "name"), FIELDS)
def test_a_missing_field_is_named(key, name):
    with pytest.raises(UnreadableConfig, match=f"{name} is missing"):
        shape_of(config(key, **{name: None}))


@pytest.mark.parametrize("value", ["4096", True, 0, -1, 1.5, float("nan"), 1e300, [4096], {}])
def test_what_is_no_positive_whole_number_is_named(value):
    with pytest.raises(UnreadableConfig, match=r"hidden_size is .*positive whole number"):
        shape_of(config("qwen3_8b", hidden_size=value))


@pytest.mark.parametrize("value", [None, [], "text", 3])
def test_what_is_no_object_is_said(value):
    with pytest.raises(UnreadableConfig, match="object with fields"):
        shape_of(value)


def test_lists_must_reach_every_layer():
    with pytest.raises(UnreadableConfig, match="compress_ratios has 3 entries for 43 layers"):
        shape_of(config("deepseek_v4_flash", compress_ratios=[4, 4, 4]))
    with pytest.raises(UnreadableConfig, match="block pattern has 2 entries for 52 layers"):
        shape_of(config("nemotron_3_nano", hybrid_override_pattern="M*"))


def test_kimi_names_every_layer_once():
    broken = config("kimi_k3")
    broken["text_config"]["linear_attn_config"]["kda_layers"].remove(7)
    with pytest.raises(UnreadableConfig, match="layer 7 is to be in one of"):
        shape_of(broken)


def test_heads_must_divide():
    with pytest.raises(UnreadableConfig, match="num_key_value_heads does not divide"):
        shape_of(config("qwen3_8b", num_key_value_heads=5))
    with pytest.raises(UnreadableConfig, match="num_experts_per_tok is larger"):
        shape_of(config("qwen3_30b_a3b", num_experts_per_tok=129))


def test_a_wrapper_gives_its_text_model():
    inner = MODELS["kimi_k2_5"]["config"]["text_config"]
    assert shape_of(inner) == shape_of(config("kimi_k2_5"))
    with pytest.raises(UnknownArchitecture, match='model_type is "kimi_k26"'):
        shape_of(config("kimi_k2_5", model_type="kimi_k26"))


# --- both languages ---------------------------------------------------------------------------

WRONG = {
    "type": config("qwen3_8b", model_type="qwen9"),
    "layer": config("qwen3_8b", layer_types=["full_atention"] * 36),
    "missing": config("qwen3_8b", hidden_size=None),
    "text": config("qwen3_8b", hidden_size="4,096 “units”"),
    "truth": config("qwen3_8b", hidden_size=True),
    "part": config("qwen3_8b", hidden_size=1.5),
    "small": config("qwen3_8b", hidden_size=1e-7),
    "large": config("qwen3_8b", hidden_size=10**16),
    "list": config("qwen3_8b", hidden_size=[1]),
    "short": config("deepseek_v4_flash", compress_ratios=[4, 4, 4]),
    "period": config("qwen3_5_27b") | {"text_config": {"full_attention_interval": 0}},
    "none": None,
    "array": [],
    "empty": {},
}
RUN = """([text, configs]) => {
  const read = new Function(`"use strict";${text}; return read_shape;`)();
  const found = {};
  for (const [key, config] of Object.entries(JSON.parse(configs))) {
    try { found[key] = read(config); } catch (why) { found[key] = [why.name, why.message]; }
  }
  return JSON.stringify(found);
}"""


def outcome(one):
    try:
        return read_shape(one)
    except UnreadableConfig as why:
        return [type(why).__name__, str(why)]


def test_the_page_reads_every_config_as_python_does(browser):
    configs = {key: model["config"] for key, model in MODELS.items()} | WRONG
    configs["gemma_3"] = GEMMA_3
    page = browser.new_page()
    found = json.loads(page.evaluate(RUN, [shapes_javascript(), json.dumps(configs)]))
    page.close()
    assert found == {key: outcome(one) for key, one in configs.items()}
    assert {key for key, one in found.items() if isinstance(one, list)} == set(WRONG)


def test_a_shape_is_plain_numbers():
    assert {type(value) for value in asdict(shape_of(config("qwen3_8b"))).values()} == {float}
