"""Formulas that more than one chapter needs.

Each works on numbers, arrays and on the assumptions of an estimate alike, takes and gives
base units (bytes, seconds, tokens, FLOPs, dollars), and says what it leaves out.
"""

from __future__ import annotations

from .expression import Table, ceil, constant, log, maximum
from .tables import table

SECONDS_PER_HOUR = constant(3600.0, "s/hour", "SECONDS_PER_HOUR")
HOURS_PER_DAY = constant(24.0, "hour/day", "HOURS_PER_DAY")
BITS_PER_BYTE = constant(8.0, "bit/byte", "BITS_PER_BYTE")
FLOPS_PER_MAC = constant(2.0, "flop", "FLOPS_PER_MAC")
"""A multiply-accumulate is two floating-point operations."""
TOKENS_PER_MILLION = 1_000_000


def kv_bytes_per_token_gqa(layers, kv_heads, head_size, bytes_per_number):
    """Bytes of keys and values that one token leaves behind, grouped-query attention.

    layers, kv_heads, head_size: counts (scalars or arrays of one shape); bytes_per_number: byte.
    Multi-head attention is the case kv_heads = heads. Gives byte/token.
    """
    return 2 * layers * kv_heads * head_size * bytes_per_number


def kv_bytes_per_token_mla(layers, latent_size, rope_size, bytes_per_number):
    """Bytes that one token leaves behind under multi-head latent attention, in byte/token.

    One latent and one rotary key a layer serve all heads; tensor parallelism does not split them.
    Source: DeepSeek-V2, which introduced it.
    """
    return layers * (latent_size + rope_size) * bytes_per_number


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


def units_needed(gpus, headroom, unit_gpus):
    """Deployment units that carry `gpus` GPUs of work with headroom, a whole number."""
    return ceil(gpus * headroom / unit_gpus)


def units_n_plus_1(gpus, unit_gpus):
    """Units that still carry the work after one of them is lost."""
    return ceil(gpus / unit_gpus) + 1


def in_flight(rate, latency_s):
    """Little's law: requests in the system = arrival rate × time in the system."""
    return rate * latency_s


def usd_per_million(usd_per_hour, tokens_per_s):
    """Dollars a million tokens for a fleet that costs `usd_per_hour` and delivers `tokens_per_s`."""
    return usd_per_hour / (tokens_per_s * SECONDS_PER_HOUR) * TOKENS_PER_MILLION


def transfer_s(payload_bytes, bytes_per_s):
    """Seconds to move `payload_bytes` at line rate; real transfers reach some half to 90% of it."""
    return payload_bytes / bytes_per_s


def waiting_factor(utilization):
    """Mean time in the system over the service time, one server, random arrivals (M/M/1).

    `utilization` below 1. Pessimistic for a server that batches, optimistic for bursty arrivals.
    """
    return 1 / (1 - utilization)


def lru_hit_table(trace):
    """Block hit rate of one LRU pool over the logarithm of its tokens, for `interp`.

    trace: "conversation" or "synthetic", of the table mooncake_lru_hit_rate. The curve belongs to
    the trace's traffic: scale a pool with `at_trace_traffic` first.
    """
    records = [r for r in table("mooncake_lru_hit_rate") if r["trace"] == trace]
    points = [r for r in records if r["capacity_tokens"] < 1e12]
    x = tuple(float(log(r["capacity_tokens"])) for r in points)
    return Table(x, tuple(r["block_hit_rate"] for r in points))


def at_trace_traffic(pool_tokens, tokens_per_s, trace_tokens_per_s):
    """Tokens of the pool that would hit as often under the trace's own traffic.

    Mixing n independent copies of a trace makes the distance between two uses of a block n
    times as long. One token at least, since its logarithm is looked up. Gives token.
    """
    return maximum(pool_tokens * trace_tokens_per_s / tokens_per_s, 1)
