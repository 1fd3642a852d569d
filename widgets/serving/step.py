"""FLOPs, and the time of a step by its roofline."""

from __future__ import annotations

from ..engine.expression import maximum
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
