"""Approximations that a chapter's text vouches for, against the slow exact thing."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from widgets import load


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


def simulated_rollout_s(slots, samples, estimate, repeats=12):
    """Mean time until the last answer, slots taking the next prompt as they free up."""
    e, rng, ends = estimate, np.random.default_rng(0), []
    cv, mean = 1.0, 8000.0
    sigma = np.sqrt(np.log(1 + cv**2))
    for _ in range(repeats):
        normal = rng.standard_normal(samples)
        tokens = np.minimum(32768, mean / np.sqrt(1 + cv**2) * np.exp(sigma * normal))
        free = [0.0] * slots
        end = 0.0
        for seconds in tokens * float(e.assumptions["tpot_s"]):
            done = heapq.heappop(free) + seconds
            end = max(end, done)
            heapq.heappush(free, done)
        ends.append(end)
    return float(np.mean(ends))


@pytest.mark.parametrize("gpus", [5, 12, 25, 41, 73])
def test_synchronous_rollout_agrees_with_a_queue_simulation(gpus):
    e = load("rl_rollout")
    result = e(rollout_gpus=gpus)
    simulated = simulated_rollout_s(int(result.slots), 2048, e)
    assert result.rollout_s == pytest.approx(simulated, rel=0.03)
