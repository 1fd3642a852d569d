"""The estimate `instance`: choices, public cases, and how far it is off published runs."""

from __future__ import annotations

import runpy

import numpy as np
import pytest
from conftest import ROOT

from widgets import engine, hardware, load, model, row, with_units
from widgets.book import validation
from widgets.engine.expression import run
from widgets.facts import choices, tables
from widgets.facts.shapes import UnknownArchitecture
from widgets.serving import Instance

GIB = 2**30
QWEN2_5_72B = {
    "model_type": "qwen2",
    "hidden_size": 8192,
    "intermediate_size": 29568,
    "num_attention_heads": 64,
    "num_hidden_layers": 80,
    "num_key_value_heads": 8,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "use_sliding_window": False,
    "vocab_size": 152064,
}


def served(which, gpu, weights, *, kv="bf16", published=False, with_engine="vllm", **load_and_gpus):
    chosen = model(which, weights=None if published else weights, kv=kv)
    filled = chosen | hardware(gpu, weights=weights) | engine(with_engine)
    return load("instance")(**(filled | load_and_gpus))


# --- choices --------------------------------------------------------------------------------


def test_a_choice_fills_assumptions_of_the_estimate():
    names = set(load("instance").assumptions)
    groups = [set(model("deepseek_v3")), set(hardware("h200_sxm")), set(engine("sglang"))]
    assert all(group <= names for group in groups)
    assert not groups[0] & groups[1] and not groups[1] & groups[2] and not groups[0] & groups[2]


@pytest.mark.parametrize("key", tables.configs())
def test_every_model_is_within_the_sliders(key):
    assert load("instance")(**model(key), **hardware("gb300"), tensor_parallel=8).tpot_s > 0


@pytest.mark.parametrize("key", [record["key"] for record in tables.table("hardware")])
def test_every_gpu_is_within_the_sliders(key):
    for weights in choices.FORMATS:
        assert load("instance")(**hardware(key, weights=weights)).tpot_s > 0


def test_a_config_stands_for_its_key():
    config = tables.configs()["gpt_oss_120b"]["config"]
    assert model(config) == model("gpt_oss_120b")


def test_formats_change_what_they_must():
    sixteen, eight = model("llama_3_1_70b"), model("llama_3_1_70b", weights="fp8", kv="fp8")
    assert sixteen["bytes_per_parameter"] == 2 * eight["bytes_per_parameter"] == 2
    assert sixteen["kv_bytes_per_token"] == 2 * eight["kv_bytes_per_token"] == 327_680
    assert hardware("h100_sxm", weights="nvfp4")["peak_flops_per_gpu"] == pytest.approx(1.979e15)
    assert hardware("b200_sxm", weights="nvfp4")["peak_flops_per_gpu"] == pytest.approx(9e15)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: model("deepsek_v3"), ["'deepsek_v3'", "deepseek_v3"]),
        (lambda: model("llama_3_1_8b", weights="fp9"), ["'fp9'", "fp8"]),
        (lambda: model("llama_3_1_8b", kv="int3"), ["'int3'", "bf16, fp8"]),
        (lambda: hardware("h100"), ["'h100'", "h100_sxm"]),
        (lambda: hardware("h100_sxm", weights="fp6"), ["'fp6'", "fp8"]),
        (lambda: engine("vlm"), ["'vlm'", "vllm"]),
    ],
)
def test_an_unknown_choice_names_the_nearest(ask, words):
    with pytest.raises(choices.UnknownChoice) as error:
        ask()
    assert all(word in str(error.value) for word in words)


def test_an_unknown_architecture_is_refused():
    with pytest.raises(UnknownArchitecture, match="model_type"):
        model({"model_type": "mamba_nova"})


# --- what the arithmetic must do ------------------------------------------------------------


def test_kv_is_copied_where_heads_run_out():
    few = served("qwen3_235b_a22b", "h100_sxm", "fp8", tensor_parallel=8)
    enough = served("qwen3_235b_a22b", "h100_sxm", "fp8", tensor_parallel=4)
    latent = served("deepseek_v3", "b200_sxm", "fp8", tensor_parallel=8)
    apart = served("deepseek_v3", "b200_sxm", "fp8", tensor_parallel=1, data_parallel=8)
    assert (few.kv_copies, enough.kv_copies, latent.kv_copies, apart.kv_copies) == (2, 1, 8, 1)
    assert few.kv_copied and not apart.kv_copied


def test_experts_are_spread_and_the_rest_is_split_or_copied():
    shape = model("deepseek_v3", weights="fp8")
    experts = shape["experts"] * shape["expert_parameters"]
    others = shape["parameters"] - experts
    split = served("deepseek_v3", "h200_sxm", "fp8", tensor_parallel=8)
    copied = served("deepseek_v3", "h200_sxm", "fp8", tensor_parallel=1, data_parallel=8)
    assert split.weight_bytes_per_gpu == pytest.approx((experts + others) / 8)
    assert copied.weight_bytes_per_gpu == pytest.approx(experts / 8 + others)


def parts_of_a_step(which, sequences, tokens_each):
    filled = model(which, weights="fp8") | hardware("h100_sxm", weights="fp8") | engine("vllm")
    at = Instance(**with_units(filled), network_latency_s=0.0, tensor_parallel=8)
    step = at.decode_step(sequences, 4000, tokens_each)
    names = ("launches_s", "weights_s", "arithmetic_s", "kv_s", "network_s", "total_s")
    return dict(zip(names, run([getattr(step, name) for name in names], {}), strict=True)), filled


def test_a_check_of_drafts_reads_weights_and_kv_once():
    (plain, filled), (check, _) = (parts_of_a_step("llama_3_1_70b", 16, n) for n in (1, 5))
    assert check["weights_s"] == plain["weights_s"] and check["kv_s"] == plain["kv_s"]
    assert check["arithmetic_s"] == pytest.approx(5 * plain["arithmetic_s"])
    more = filled["layers"] * filled["sequence_overhead_s"] * 16 * 4
    assert check["launches_s"] - plain["launches_s"] == pytest.approx(more)
    payload_s = 2 * 80 * 2 * 16 * 8192 * 2 * (7 / 8) / filled["link_bytes_per_s_per_gpu"]
    assert check["network_s"] - plain["network_s"] == pytest.approx(4 * payload_s)


def test_a_check_of_drafts_wakes_experts_as_that_many_tokens_do():
    (check, _), (batch, _) = (parts_of_a_step("deepseek_v3", *n) for n in ((4, 4), (16, 1)))
    differ = {name for name in check if check[name] != pytest.approx(batch[name])}
    assert differ == {"kv_s", "total_s"}
    assert check["kv_s"] == pytest.approx(batch["kv_s"] / 4)


def test_a_window_stops_growing_and_a_state_never_grows():
    windows = model("gpt_oss_120b")
    short, long = (
        load("instance")(**windows, input_tokens=n, output_tokens=2) for n in (1022, 8190)
    )
    grown = long.kv_bytes_per_request - short.kv_bytes_per_request
    assert grown == pytest.approx(windows["kv_bytes_per_token"] * 7168)
    state = served("qwen3_5_27b", "h100_sxm", "bf16").kv_bytes_per_request
    bare = model("qwen3_5_27b")["kv_bytes_per_token"] * 1536
    assert state - bare == pytest.approx(model("qwen3_5_27b")["state_bytes_per_request"])


def test_the_concurrency_at_the_target_is_the_largest_that_meets_it():
    e = load("instance")
    found = e(tpot_target_s=0.04).concurrency_at_target
    assert e(concurrency=found).tpot_s <= 0.04 < e(concurrency=found + 1).tpot_s
    assert e(tpot_target_s=0.002).concurrency_at_target == 0


def test_an_impossible_machine_is_red_and_costs_nothing_that_could_be_read():
    r = served("deepseek_v3", "h100_sxm", "fp8", tensor_parallel=8)
    assert not r.fits and not r.all_run
    assert r.requests_that_fit == r.output_tokens_per_s == r.usd_per_million_output_tokens == 0


def test_a_network_between_nodes_is_paid_twice_a_layer():
    inside = served("deepseek_v3", "h100_sxm", "fp8", tensor_parallel=16, gpus_per_node=16)
    across = served("deepseek_v3", "h100_sxm", "fp8", tensor_parallel=16)
    least = 2 * 61 * load("instance").assumptions["network_latency_s"].default
    assert across.across_nodes and not inside.across_nodes
    assert across.network_s - inside.network_s > least


# --- public cases ---------------------------------------------------------------------------


QWEN3_14B = {
    "model_type": "qwen3", "hidden_size": 5120, "intermediate_size": 17408,
    "num_attention_heads": 40, "num_key_value_heads": 8, "num_hidden_layers": 40,
    "head_dim": 128, "vocab_size": 151_936, "torch_dtype": "bfloat16",
}  # fmt: skip


@pytest.mark.parametrize(
    ("case", "which", "tensor_parallel"),
    [
        ("qwen3_14b", QWEN3_14B, 1),
        ("qwen3_235b_4xh100_vllm", "qwen3_235b_a22b", 4),
        ("qwen3_235b_4xh100_sglang", "qwen3_235b_a22b", 4),
        ("kimi_k2_thinking_tp8", "kimi_k2", 8),
        ("kimi_k2_tp8_sglang", "kimi_k2", 8),
    ],
)
def test_kv_of_a_token_on_a_gpu_as_engines_logged_it(case, which, tensor_parallel):
    size, tokens = (
        row(f"measurements.case_{case}_{what}").value for what in ("kv_bytes", "tokens")
    )
    filled = model(which)
    copies = max(1, tensor_parallel / filled["kv_heads"]) if filled["kv_heads"] else tensor_parallel
    of_a_gpu = filled["kv_bytes_per_token"] * copies / tensor_parallel
    assert size / tokens == pytest.approx(of_a_gpu, rel=0.02)


def test_tokens_that_an_engine_logged():
    r1 = served(
        "deepseek_r1", "h200_sxm", "fp8", tensor_parallel=8, memory_share=0.82,
        with_engine="sglang",
    )  # fmt: skip
    assert r1.tokens_that_fit == pytest.approx(
        row("measurements.case_r1_8xh200_sglang_tokens").value, rel=0.1
    )
    qwen = served(
        "qwen3_235b_a22b", "h100_sxm", "fp8", tensor_parallel=4, memory_share=0.93,
        with_engine="sglang",
    )  # fmt: skip
    assert qwen.tokens_that_fit == pytest.approx(
        row("measurements.case_qwen3_235b_4xh100_sglang_tokens").value, rel=0.1
    )


def test_r1_needs_two_nodes_of_h100():
    one, two = (
        served("deepseek_r1", "h100_sxm", "fp8", tensor_parallel=n, input_tokens=131_072)
        for n in (8, 16)
    )
    assert one.tokens_that_fit == 0 and two.tokens_that_fit > 131_072


def test_weights_of_a_mixed_checkpoint():
    r = served("gpt_oss_120b", "h100_sxm", "mxfp4", published=True, tensor_parallel=1)
    assert r.weight_bytes_per_gpu == pytest.approx(
        row("measurements.case_gpt_oss_120b_weight_bytes").value, rel=0.06
    )


@pytest.mark.parametrize(
    ("case", "which", "gpu", "weights", "engine_key", "settings"),
    [
        ("case_qwen2_5_72b_2xh100_tpot_s", QWEN2_5_72B, "h100_sxm", "bf16", "vllm",
         {"tensor_parallel": 2, "input_tokens": 128, "output_tokens": 128, "concurrency": 1}),
        ("case_r1_16xh100_tpot_s", "deepseek_r1", "h100_sxm", "fp8", "sglang",
         {"tensor_parallel": 16, "input_tokens": 128, "output_tokens": 128, "concurrency": 1}),
        ("case_r1_8xh200_c8_tpot_s", "deepseek_r1", "h200_sxm", "fp8", "sglang",
         {"tensor_parallel": 8, "input_tokens": 1024, "output_tokens": 1024, "concurrency": 8}),
        ("case_r1_8xh200_c16_tpot_s", "deepseek_r1", "h200_sxm", "fp8", "sglang",
         {"tensor_parallel": 8, "input_tokens": 1024, "output_tokens": 1024, "concurrency": 16}),
        ("run_qwen3_235b_8xh100_tpot_s", "qwen3_235b_a22b", "h100_sxm", "fp8", "trtllm",
         {"tensor_parallel": 8, "input_tokens": 1024, "output_tokens": 512, "concurrency": 64}),
    ],
)  # fmt: skip
def test_steps_that_people_measured(case, which, gpu, weights, engine_key, settings):
    r = served(which, gpu, weights, with_engine=engine_key, **settings)
    assert r.tpot_s == pytest.approx(row(f"measurements.{case}").value, rel=0.25)


# --- how far off ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def unseen():
    return validation.unseen()


def test_the_table_of_errors_is_what_the_estimate_gives(unseen):
    """Two points worse, and the estimate has lost what it was fitted for."""
    errors, dense = unseen.errors(), np.asarray(unseen.runs["dense"])
    for key, chosen in [
        ("held_out", errors),
        ("held_out_dense", errors[dense]),
        ("held_out_moe", errors[~dense]),
        *validation.groups(unseen, errors).items(),
    ]:
        recorded = row(f"validation.{key}_median_error").value
        assert validation.median_error(chosen) <= recorded + 0.02, key
        assert len(chosen) == row(f"validation.{key}_runs").value, key


def test_the_errors_are_as_small_as_the_book_promises(unseen):
    errors, dense = unseen.errors(), np.asarray(unseen.runs["dense"])
    assert validation.median_error(errors) <= 0.135
    assert validation.median_error(errors[dense]) <= 0.12
    families = {k: v for k, v in validation.groups(unseen, errors).items() if "family" in k}
    assert {k for k, v in families.items() if validation.median_error(v) > 0.2} == set()


def test_half_of_the_runs_are_kept_out_and_none_is_in_both():
    runs = validation.comparison().runs
    assert 0.45 < runs["held_out"].mean() < 0.55
    keys = runs.groupby(["model", "system", "engine", "tp", "attention_dp", "precision",
                         "engine_version", "prompt_tokens", "answer_tokens", "concurrency"])  # fmt: skip
    assert (keys["held_out"].nunique() == 1).all()


def test_a_data_sheet_is_four_times_as_far_off(unseen):
    fitted, sheet = unseen.errors(), unseen.errors(**validation.textbook())
    assert validation.median_error(sheet) > 4 * validation.median_error(fitted)


def test_the_table_of_shapes_is_what_the_reader_gives():
    fresh = runpy.run_path(str(ROOT / "tools" / "shapes_table.py"))["text"]()
    assert fresh == (ROOT / "data" / "shapes.csv").read_text("utf-8"), "tools/shapes_table.py"


@pytest.mark.parametrize(
    "key", [r["key"] for r in tables.table("models") if r["key"] in tables.configs()]
)
def test_the_older_table_of_models_agrees(key):
    older, shape = next(r for r in tables.table("models") if r["key"] == key), model(key)
    assert shape["parameters"] == pytest.approx(older["parameters"], rel=0.005)
    grown = shape["kv_bytes_per_token"] - row(f"shapes.{key}.index_bytes_per_token").value
    assert grown == older["kv_bytes_per_token"]
