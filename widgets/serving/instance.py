"""A model on its GPUs: what fits, how long a step takes, from bytes and fitted constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..engine.expression import constant, maximum, scan, where
from .memory import bytes_for_kv, kv_bytes_at, kv_copies, weight_bytes_per_gpu
from .step import awake_experts, collective_s, launch_s, linear_flops

ACTIVATION_BYTES = constant(2, "byte")
"""What a collective moves for each number of the hidden size: activations have 16 bits."""


@dataclass(frozen=True)
class DecodeStep:
    """Seconds of one decode step by their cause; numbers, arrays or nodes."""

    launches_s: Any
    weights_s: Any
    arithmetic_s: Any
    kv_s: Any
    network_s: Any

    @cached_property
    def total_s(self) -> Any:
        """Reading weights and computing overlap; the rest does not."""
        core = maximum(self.weights_s, self.arithmetic_s)
        return self.launches_s + core + self.kv_s + self.network_s


@dataclass(frozen=True)
class Instance:
    """A model, the GPUs that hold one copy of it, and the constants of its engine.

    The fields bear the names and base units of the assumptions of the estimate `instance`;
    `model()`, `hardware()` and `engine()` fill them from tables, `with_units()` gives such values
    their units. Each is a number, an array or a node. Sequences are all that the instance decodes
    at once, over its data-parallel ranks together.
    """

    parameters: Any
    active_parameters: Any
    expert_parameters: Any
    experts: Any
    experts_per_token: Any
    layers: Any
    hidden_size: Any
    bytes_per_parameter: Any
    bytes_per_expert_parameter: Any
    kv_bytes_per_token: Any
    window_tokens: Any
    window_kv_bytes_per_token: Any
    state_bytes_per_request: Any
    kv_heads: Any
    attention_flops_per_pair: Any
    gpus_per_node: Any
    peak_flops_per_gpu: Any
    hbm_bytes_per_gpu: Any
    hbm_bytes_per_s_per_gpu: Any
    link_bytes_per_s_per_gpu: Any
    network_bytes_per_s_per_gpu: Any
    layer_overhead_s: Any
    sequence_overhead_s: Any
    bandwidth_share: Any
    expert_bandwidth_share: Any
    mfu_prefill: Any
    expert_mfu_prefill: Any
    mfu_decode: Any
    collective_latency_s: Any
    network_latency_s: Any
    ttft_fixed_s: Any
    tensor_parallel: Any
    data_parallel: Any = 1

    @cached_property
    def gpus(self) -> Any:
        """GPUs that hold the instance."""
        return self.tensor_parallel * self.data_parallel

    @cached_property
    def across_nodes(self) -> Any:
        """Whether its collectives leave a node."""
        return self.gpus > self.gpus_per_node

    @cached_property
    def other_bytes(self) -> Any:
        """All weights that are no routed expert, once."""
        others = self.parameters - self.experts * self.expert_parameters
        return maximum(others, 0) * self.bytes_per_parameter

    @cached_property
    def weight_bytes_per_gpu(self) -> Any:
        """Weights that one GPU holds, in byte/gpu."""
        experts = self.experts * self.expert_parameters * self.bytes_per_expert_parameter
        return weight_bytes_per_gpu(self.other_bytes, self.tensor_parallel, experts, self.gpus)

    @cached_property
    def kv_copies(self) -> Any:
        """How often a tensor-parallel group holds each key and value."""
        return kv_copies(self.kv_heads, self.tensor_parallel)

    def kv_bytes(self, tokens: Any) -> Any:
        """Bytes that a request of `tokens` keeps, copies not counted."""
        return kv_bytes_at(
            tokens,
            self.kv_bytes_per_token,
            self.window_tokens,
            self.window_kv_bytes_per_token,
            self.state_bytes_per_request,
        )

    def kv_pool_bytes_per_gpu(self, memory_share: Any, reserved_bytes_per_gpu: Any) -> Any:
        """Left for KV on a GPU; nought where the weights alone are too large."""
        return bytes_for_kv(
            self.hbm_bytes_per_gpu, memory_share, self.weight_bytes_per_gpu, reserved_bytes_per_gpu
        )

    def requests_that_fit(self, tokens: Any, memory_share: Any, reserved_bytes_per_gpu: Any) -> Any:
        """Requests of `tokens` whose KV has room at once, not rounded."""
        pool = self.kv_pool_bytes_per_gpu(memory_share, reserved_bytes_per_gpu)
        return pool * self.gpus / self.kv_copies / self.kv_bytes(tokens)

    def prefill_s(self, tokens: Any) -> Any:
        """Seconds in which the whole instance computes a prompt of `tokens` that no cache holds."""
        of_experts = self.experts_per_token * self.expert_parameters
        dense = linear_flops(maximum(self.active_parameters - of_experts, 0), tokens)
        dense += self.attention_flops_per_pair * tokens * tokens / 2
        experts = linear_flops(of_experts, tokens)
        at_peak = dense / self.mfu_prefill + experts / self.expert_mfu_prefill
        return at_peak / (self.gpus * self.peak_flops_per_gpu)

    def prompt_s(self, tokens: Any, link_share: Any) -> Any:
        """Seconds of a prompt whose arithmetic has one GPU's MFU: collectives counted apart.

        `prefill_s` with the fitted MFU of an engine holds them in that MFU, whatever the number of
        GPUs. Use this where `mfu_prefill` was measured on one GPU.
        """
        return self.prefill_s(tokens) + self.collectives_s(tokens, link_share)

    def decode_step(self, sequences: Any, tokens: Any, tokens_each: Any = 1) -> DecodeStep:
        """One step of `sequences` at a mean context of `tokens`, with `tokens_each` new ones a piece.

        More than one is a step that checks drafts. They share weights and the sequence's KV, which
        are read once; arithmetic, awake experts, activations and what a collective moves grow with
        every token. Leaves out the arithmetic of attention.
        """
        computed = sequences * tokens_each
        return DecodeStep(
            launch_s(self.layers, computed, self.layer_overhead_s, self.sequence_overhead_s),
            self._weights_s(computed),
            linear_flops(self.active_parameters, computed)
            / (self.gpus * self.peak_flops_per_gpu * self.mfu_decode),
            sequences
            * self.kv_bytes(tokens)
            * self.kv_copies
            / self.gpus
            / (self.hbm_bytes_per_s_per_gpu * self.bandwidth_share),
            self.collectives_s(computed),
        )

    def ttft_idle_s(self, input_tokens: Any, tokens: Any) -> Any:
        """Time to the first token where nobody else is served; `tokens` is the mean context."""
        return (
            self.ttft_fixed_s + self.prefill_s(input_tokens) + self.decode_step(1, tokens).total_s
        )

    def _weights_s(self, tokens: Any) -> Any:
        bandwidth = self.hbm_bytes_per_s_per_gpu
        awake = awake_experts(self.experts, self.experts_per_token, tokens) / self.gpus
        awake_bytes = awake * self.expert_parameters * self.bytes_per_expert_parameter
        others_s = self.other_bytes / self.tensor_parallel / (bandwidth * self.bandwidth_share)
        return others_s + awake_bytes / (bandwidth * self.expert_bandwidth_share)

    def collectives_s(self, tokens: Any, link_share: Any = None) -> Any:
        """Two all-reduces a layer over the activations of `tokens`.

        link_share: the share of the link's rate that they reach; the whole where none is given.
        """
        payload = tokens / self.data_parallel * self.hidden_size * ACTIVATION_BYTES
        link = where(
            self.across_nodes, self.network_bytes_per_s_per_gpu, self.link_bytes_per_s_per_gpu
        )
        if link_share is not None:
            link = link * link_share
        once = collective_s(self.gpus, payload, link, self.collective_latency_s)
        return 2 * self.layers * (once + where(self.across_nodes, self.network_latency_s, 0))


def others_prefills_s(sequences: Any, prefill_s: Any, output_tokens: Any) -> Any:
    """What the prefills of the others add to each of a request's output tokens.

    While it decodes, every other request passes through prefill once: a steady closed loop on an
    instance that does both.
    """
    return maximum(sequences - 1, 0) * prefill_s / output_tokens


def largest_batch(step_at: Callable[[Any], Any], target_s: Any, bits: int = 12) -> Any:
    """The most sequences, below 2^bits, for which `step_at` stays within `target_s`.

    `step_at` gives seconds for a number of sequences and must not fall as they grow; nought
    where one sequence already takes longer. Each turn settles one binary digit.
    """

    def try_bit(turn: Any, state: dict[str, Any]) -> dict[str, Any]:
        more = state["sequences"] + 2.0 ** (bits - turn)
        return {"sequences": where(step_at(more) <= target_s, more, state["sequences"])}

    return scan(bits, {"sequences": 0}, try_bit)["sequences"]
