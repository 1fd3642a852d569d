"""Formulas of the field that more than one chapter needs.

Each works on numbers, arrays and on the assumptions of an estimate alike, takes and gives
base units (bytes, seconds, tokens, FLOPs, dollars), and says what it leaves out.
"""

from .caches import at_trace_traffic, lru_hit_table, transfer_s
from .constants import (
    BITS_PER_BYTE,
    FLOPS_PER_MAC,
    HOURS_PER_DAY,
    SECONDS_PER_HOUR,
    TOKENS_PER_MILLION,
)
from .cost import units_n_plus_1, units_needed, usd_per_million
from .instance import DecodeStep, Instance, largest_batch, others_prefills_s
from .memory import (
    bytes_for_kv,
    kv_bytes_at,
    kv_bytes_per_token_gqa,
    kv_bytes_per_token_mla,
    kv_copies,
    weight_bytes_per_gpu,
)
from .queues import in_flight, waiting_factor
from .step import (
    awake_experts,
    causal_attention_flops,
    collective_s,
    compute_rate,
    launch_s,
    linear_flops,
    roofline_s,
)

__all__ = [
    "BITS_PER_BYTE", "FLOPS_PER_MAC", "HOURS_PER_DAY", "SECONDS_PER_HOUR", "TOKENS_PER_MILLION",
    "DecodeStep", "Instance",
    "at_trace_traffic", "awake_experts", "bytes_for_kv", "causal_attention_flops", "collective_s",
    "compute_rate", "in_flight", "kv_bytes_at", "kv_bytes_per_token_gqa",
    "kv_bytes_per_token_mla", "kv_copies", "largest_batch", "launch_s", "linear_flops",
    "lru_hit_table", "others_prefills_s", "roofline_s", "transfer_s", "units_n_plus_1", "units_needed", "usd_per_million",
    "waiting_factor", "weight_bytes_per_gpu",
]  # fmt: skip
