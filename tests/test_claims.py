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
