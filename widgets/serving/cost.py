"""Fleets and what they cost."""

from __future__ import annotations

from ..engine.expression import ceil
from .constants import SECONDS_PER_HOUR, TOKENS_PER_MILLION


def units_needed(gpus, headroom, unit_gpus):
    """Deployment units that carry `gpus` GPUs of work with headroom, a whole number."""
    return ceil(gpus * headroom / unit_gpus)


def units_n_plus_1(gpus, unit_gpus):
    """Units that still carry the work after one of them is lost."""
    return ceil(gpus / unit_gpus) + 1


def usd_per_million(usd_per_hour, tokens_per_s):
    """Dollars a million tokens for a fleet that costs `usd_per_hour` and delivers `tokens_per_s`."""
    return usd_per_hour / (tokens_per_s * SECONDS_PER_HOUR) * TOKENS_PER_MILLION
