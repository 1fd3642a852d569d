"""Approximations that a chapter's text vouches for, against the slow exact thing."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from widgets import engine, load


def exact_distinct(adapters, exponent, batch, replicas, homes):
    """Expected distinct adapters in a batch on one replica, summed over every adapter.

    An adapter lives on `homes` replicas, or on more when it is popular enough to need them.
    """
    weights = np.arange(1, adapters + 1) ** -float(exponent)
    popularity = weights / weights.sum()
    spread = np.minimum(replicas, np.maximum(homes, replicas * popularity))
    there = np.minimum(replicas * popularity / spread, 1)
    return (spread * (1 - (1 - there) ** batch)).sum() / replicas


@pytest.mark.parametrize("adapters", [1, 30, 1000, 100_000])
@pytest.mark.parametrize("exponent", [0, 0.7, 1, 1.6])
@pytest.mark.parametrize(("replicas", "homes"), [(8, 8), (8, 1), (64, 3)])
def test_zipf_sum_is_close_to_the_exact_one(adapters, exponent, replicas, homes):
    result = load("multi_lora")(
        adapters=adapters, zipf_exponent=exponent, replicas=replicas, adapter_replicas=homes
    )
    wanted = exact_distinct(adapters, exponent, 256, replicas, homes)
    assert result.expected_distinct == pytest.approx(wanted, rel=2e-4)


def simulated_rollout_s(gpus, samples, estimate, result, repeats=6):
    """Mean time until the last answer: all slots take a token a step, and the next prompt when
    they free up; a step is as long as the answers that a GPU then holds make it."""
    rng, ends = np.random.default_rng(0), []
    vllm, of = engine("vllm"), {k: float(a) for k, a in estimate.assumptions.items()}
    assert result.arithmetic_s < result.weights_s  # at the fullest step, so at every other
    always_s = of["layers"] * of["layer_overhead_s"] + result.weights_s
    sequence_s = of["layers"] * vllm["sequence_overhead_s"]
    kv_s = of["kv_bytes_per_token"] / (of["hbm_bytes_per_s"] * of["bandwidth_share"])
    sigma = np.sqrt(np.log(1 + of["length_cv"] ** 2))
    median = of["mean_output_tokens"] / np.sqrt(1 + of["length_cv"] ** 2)
    for _ in range(repeats):
        lengths = median * np.exp(sigma * rng.standard_normal(samples))
        waiting = list(np.minimum(of["max_output_tokens"], lengths))
        running, clock, seconds, begun = [], 0.0, 0.0, 0.0
        while running or waiting:
            while waiting and len(running) < int(result.slots):
                heapq.heappush(running, (clock + waiting.pop(), clock))
                begun += clock
            end, start = heapq.heappop(running)
            active = len(running) + 1
            held = max(active / gpus, 1)
            context = (end + clock) / 2 - begun / active
            seconds += (end - clock) * (always_s + held * (sequence_s + kv_s * context))
            clock, begun = end, begun - start
        ends.append(seconds)
    return float(np.mean(ends))


@pytest.mark.parametrize("gpus", [5, 12, 25, 41, 73])
def test_synchronous_rollout_agrees_with_a_queue_simulation(gpus):
    e = load("rl_rollout")
    result = e(rollout_gpus=gpus)
    simulated = simulated_rollout_s(gpus, 2048, e, result)
    assert result.rollout_s == pytest.approx(simulated, rel=0.03)


def test_a_synchronous_rollout_keeps_up_only_with_a_shorter_step():
    e = load("rl_rollout")
    assert not any(e(rollout_gpus=np.array([35, 200, 1024])).sync_keeps_up)
    enough = float(e(tensor_parallel=4).sync_gpus_from_bytes)
    fleets = np.array([enough - 4, enough])
    assert e(tensor_parallel=4, rollout_gpus=fleets).sync_keeps_up.tolist() == [False, True]


def test_fitted_shares_are_nearer_to_published_prefills_than_one_share():
    result = load("long_context")()
    runs = ("meta_1m", "meta_128k", "qwen_1m", "qwen_128k", "v31_8", "v31_32")

    def off(kind):
        return np.median([abs(float(result[f"{run}{kind}over_measured"]) - 1) for run in runs])

    assert off("_built_") < 0.1 < 0.3 < off("_")


def test_the_reference_design_of_long_context_fits():
    e = load("long_context")
    assert e().fits_decode_memory and e().fits_prefill_memory
    assert not e(bytes_per_parameter=1).fits_decode_memory  # as published, on eight H100
    assert e(**e.presets["h200"].numbers()).fits_decode_memory


def test_model_gpus_and_precision_change_the_gain_of_speculation():
    e = load("speculative_decoding")
    others = [{"gpus": 2}, {"bytes_per_parameter": 2}, e.presets["deepseek_v3"].numbers()]
    gains = [float(e(**other).speedup_at_batch) for other in [{}, *others]]
    assert len({round(gain, 3) for gain in gains}) == len(gains)


def test_the_last_batch_that_gains_has_room():
    e, contexts = load("speculative_decoding"), np.geomspace(100, 200_000, 40)
    result = e(context_tokens=contexts)
    assert np.all(result.last_gaining_batch <= result.batch_that_fits)
