"""FLOPs, and the time of a step by its roofline."""

from __future__ import annotations

from ..engine.expression import log, maximum, where
from .constants import FLOPS_PER_MAC


def linear_flops(parameters, tokens):
    """FLOPs of the matrix products with the weights: two a parameter and token.

    parameters: those active for a token. Leaves out attention over the context. Gives flop.
    """
    return FLOPS_PER_MAC * parameters * tokens


def causal_attention_flops(tokens, flops_per_pair, layers):
    """FLOPs of attention over a prompt of `tokens`, each token seeing those before it.

    flops_per_pair: flop a query-key pair and layer, all heads together. Gives flop.
    """
    return tokens * tokens / 2 * flops_per_pair * layers


def compute_rate(gpus, peak_flops_per_gpu, mfu):
    """FLOPs a second that `gpus` deliver at a model FLOP utilisation of `mfu`, in flop/s."""
    return gpus * peak_flops_per_gpu * mfu


def roofline_s(bytes_read, bytes_per_s, flops, flops_per_s, overhead_s=0.0):
    """Seconds of a step that overlaps reading and computing perfectly, plus a fixed overhead.

    Optimistic: real kernels overlap them only in part.
    """
    return maximum(bytes_read / bytes_per_s, flops / flops_per_s) + overhead_s


def launch_s(layers, sequences, layer_overhead_s, sequence_overhead_s):
    """Seconds of a step that no byte and no FLOP explains: launches, small kernels, scheduling.

    Every layer costs `layer_overhead_s`, and `sequence_overhead_s` more for each sequence in the
    batch. Both are fitted to runs of an engine (`tools/calibrate.py`).
    """
    return layers * (layer_overhead_s + sequence_overhead_s * sequences)


def awake_experts(experts, experts_per_token, tokens):
    """Experts of a layer that at least one of `tokens` visits, if routing were even.

    E × (1 − (1 − k/E)^tokens); nought for a dense model. Real routing is skewed, so that fewer
    are awake and the busiest GPU has more than its share; the two errors work against each other.
    """
    asleep = maximum(1 - experts_per_token / maximum(experts, 1), 0)
    return experts * (1 - asleep**tokens)


def collective_s(gpus, payload_bytes, bytes_per_s, latency_s):
    """Seconds of one all-reduce of `payload_bytes` on each of `gpus`, nought for one GPU.

    A ring moves 2 (g − 1)/g of the payload through every GPU; the latency grows with each
    doubling of the group. `latency_s` is fitted, `bytes_per_s` one direction of the link.
    """
    moved = 2 * payload_bytes * (gpus - 1) / gpus / bytes_per_s
    return where(gpus > 1, latency_s * log(gpus) / log(2.0) + moved, 0)
