"""Caches and moving what they hold."""

from __future__ import annotations

from ..engine.expression import Table, log, maximum
from ..facts.tables import table


def transfer_s(payload_bytes, bytes_per_s):
    """Seconds to move `payload_bytes` at line rate; real transfers reach some half to 90% of it."""
    return payload_bytes / bytes_per_s


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
