"""What the chapters on fleets build from bytes, against what was published and what cannot be."""

from __future__ import annotations

import pytest

from widgets import load, row


def measured(key):
    return row(f"measurements.{key}").value


@pytest.mark.parametrize(
    ("result", "key"),
    [
        ("published_day_s", "deepseek_day_tpot_s"),
        ("published_profile_s", "deepseek_profile_decode_tpot_s"),
        ("published_sglang_s", "sglang_96h100_decode_tpot_s"),
    ],
)
def test_three_published_steps_come_out_within_a_tenth_or_so(result, key):
    assert load("moe_serving")()[result] == pytest.approx(measured(key), rel=0.11)


def test_a_unit_that_cannot_hold_the_model_is_red():
    moe = load("moe_serving")
    assert moe().fits_memory and moe().decode_weight_bytes_per_gpu == pytest.approx(24e9, rel=0.02)
    small = moe(decode_unit_gpus=8)
    assert not small.fits_memory
    assert small.decode_weight_bytes_per_gpu > moe.assumptions["hbm_bytes_per_gpu"].default
    assert small.total_gpus_from_bytes == 0  # shown in words
    assert not all(moe.constraints(prefill_unit_gpus=8).values())


def test_the_memory_verdict_follows_the_step_and_not_the_target():
    moe = load("moe_serving")
    assert moe(tpot_s=0.2).kv_bytes_in_step == moe().kv_bytes_in_step
    # The step shown is the one in which its sequences give the rate, wherever one does.
    shown = moe(decode_tokens_per_s_per_gpu=2000)
    assert shown.sequences_in_step == pytest.approx(2000 * shown.tpot_at_rate_s)
    at_most = moe(decode_tokens_per_s_per_gpu=moe().decode_rate_at_target)
    assert at_most.tpot_at_rate_s == pytest.approx(moe.assumptions["tpot_s"].default, rel=1e-6)


@pytest.mark.parametrize("gpus", [1, 2, 4, 8])
def test_prefill_of_a_session_from_bytes_meets_the_four_times_it_was_fitted_to(gpus):
    pool = load("kv_cache_pool")(context_tokens=8192, tensor_parallel=gpus)
    wanted = measured(f"llama_70b_h200_tp{gpus}_prefill_8k_s")
    assert pool.recompute_from_bytes_s == pytest.approx(wanted, rel=0.05)


def test_the_pools_verdicts_follow_the_gap_and_a_full_link():
    pool = load("kv_cache_pool")
    crowded = pool(turn_rate=2000, gap_s=6000)
    assert not crowded.memory_holds_sessions and not crowded.ssd_read_wins
    long_away = pool(gap_s=100_000)
    assert long_away.prefill_gpus_saved_if_all_return < pool().prefill_gpus_saved_if_all_return


def test_the_autoscaled_instance_is_the_chat_services():
    chat, scaled = load("chat_service"), load("autoscaling")
    if "instance_rate_from_bytes" not in chat.outputs:
        pytest.skip("the chat service has no rate from bytes")
    shared = {"bytes_per_parameter": 1.0, "model_parameters": 70e9}
    rate = chat(**shared).instance_rate_from_bytes
    assert scaled(**shared).instance_rate_from_bytes == pytest.approx(rate, rel=0.02)
