"""Numbers that turn one unit into another; each has a name and a unit."""

from __future__ import annotations

from ..engine.expression import constant

SECONDS_PER_HOUR = constant(3600.0, "s/hour", "SECONDS_PER_HOUR")
HOURS_PER_DAY = constant(24.0, "hour/day", "HOURS_PER_DAY")
BITS_PER_BYTE = constant(8.0, "bit/byte", "BITS_PER_BYTE")
FLOPS_PER_MAC = constant(2.0, "flop", "FLOPS_PER_MAC")
"""A multiply-accumulate is two floating-point operations."""
TOKENS_PER_MILLION = 1_000_000
