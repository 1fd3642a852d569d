"""Bytes of weights, keys and values."""

from __future__ import annotations

from ..engine.expression import maximum, minimum, where


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


def weight_bytes_per_gpu(other_bytes, tensor_parallel, expert_bytes, gpus):
    """Weights that one GPU holds, in byte/gpu.

    `other_bytes`, all weights that are no routed expert, are split over the tensor-parallel GPUs
    and copied for each data-parallel rank; `expert_bytes`, all routed experts together, are
    spread over all `gpus` of the instance.
    Leaves out experts that are placed twice and weights that an engine pads.
    """
    return expert_bytes / gpus + other_bytes / tensor_parallel


def kv_copies(kv_heads, tensor_parallel):
    """How often a tensor-parallel group holds each key and value.

    Heads are split over the GPUs; with fewer KV heads than GPUs each head is copied. A latent
    that all heads share (`kv_heads` = 0) is held by every GPU. A number from 1 to
    `tensor_parallel`.
    """
    return where(kv_heads <= 0, tensor_parallel, maximum(1, tensor_parallel / maximum(kv_heads, 1)))


def kv_bytes_at(tokens, bytes_per_token, window_tokens, window_bytes_per_token, state_bytes):
    """Bytes that a request of `tokens` keeps, copies not counted.

    Layers with full attention keep every token, those with a sliding window the last
    `window_tokens`, recurrent layers a state of fixed size. An engine that reserves full pages
    for sliding layers needs more.
    """
    window = window_bytes_per_token * minimum(tokens, window_tokens)
    return bytes_per_token * tokens + window + state_bytes


def bytes_for_kv(memory_bytes, memory_share, weight_bytes, reserved_bytes):
    """What is left for keys and values on a GPU; nought where the weights alone are too large."""
    return maximum(memory_bytes * memory_share - weight_bytes - reserved_bytes, 0)
