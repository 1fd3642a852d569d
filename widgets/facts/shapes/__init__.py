"""Shapes: a model's public ``config.json`` as the numbers that an estimate needs.

``read_shape`` is written in the subset that ``engine.printer`` prints, so that the notebook and
the page read a config with one definition; ``shapes_javascript()`` is its printed text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...engine.printer import javascript
from .read import read_shape
from .records import UnknownArchitecture, UnreadableConfig

__all__ = [
    "Shape",
    "UnknownArchitecture",
    "UnreadableConfig",
    "read_shape",
    "shape_of",
    "shapes_javascript",
]


@dataclass(frozen=True)
class Shape:
    """What a text model weighs and keeps. Draft (multi-token prediction) heads and the vision
    and audio towers of multimodal models are not counted.

    parameters
        All weights: embeddings, layers and output.
    active_parameters
        Weights that take part in one token. With experts: all but the routed experts that are
        not chosen and the input table, of which a token reads one row; a tied table counts
        once, as the output. This is the count behind 671B-A37B (36.7 in DeepSeek's table),
        gpt-oss-120b's 5.1 and 30B-A3B. Without experts: ``parameters``, as dense models' cards
        give one number.
    expert_parameters
        One routed expert, summed over all its layers.
    experts, experts_per_token
        Routed experts of a layer (0: a dense model) and those that one token visits.
    layers, hidden_size
        As in the config.
    embedding_parameters
        The input table, where it is not the output's too: what a step does not read.
    kv_numbers_per_token
        Numbers that stay for every token of the context, over all layers.
    index_bytes_per_token
        Bytes of sparse attention's index keys for every token, whatever the KV format.
    window_tokens, window_kv_numbers_per_token
        Length of the sliding windows or chunks, and the numbers of one token inside them.
    state_bytes_per_request
        Recurrent states and convolution inputs of linear attention and Mamba layers, in bytes.
    kv_heads
        Key-value heads of the layers that grow (0: one latent that all heads share).
    attention_heads
        Query heads of a layer.
    bytes_per_parameter, bytes_per_expert_parameter
        As published, scales included: routed experts apart (0: no experts), and all else.
    multiplied_bits
        Width of the numbers that the routed experts (of a dense model, all weights) are
        multiplied in, as published: 16, 8 or 4.
    attention_flops_per_pair
        One query with one key: all heads, summed over the layers whose keys grow, 2 FLOP a
        multiply-add, latent attention unabsorbed, and no sparse selection taken off.
    """

    parameters: float
    active_parameters: float
    expert_parameters: float
    experts: float
    experts_per_token: float
    layers: float
    hidden_size: float
    embedding_parameters: float
    kv_numbers_per_token: float
    index_bytes_per_token: float
    window_tokens: float
    window_kv_numbers_per_token: float
    state_bytes_per_request: float
    kv_heads: float
    attention_heads: float
    bytes_per_parameter: float
    bytes_per_expert_parameter: float
    multiplied_bits: float
    attention_flops_per_pair: float


def shape_of(config: dict[str, Any]) -> Shape:
    """The shape of the model that a parsed ``config.json`` describes.

    Raises UnknownArchitecture for a model type, layer type, number format or attention field
    that the reader does not know, with the field, the value and the nearest known name, and
    UnreadableConfig where a field is missing or holds what it cannot hold.
    """
    return Shape(**{name: float(value) for name, value in read_shape(config).items()})


def shapes_javascript() -> str:
    """``read_shape`` and all it calls as JavaScript: ``read_shape(JSON.parse(text))``.

    It returns the fields of Shape, and throws an Error with the class's name as its ``name``.
    The text defines many short names: it belongs inside a function or a module of its own.
    """
    return javascript(read_shape)
