"""Bytes of keys and values."""

from __future__ import annotations


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
