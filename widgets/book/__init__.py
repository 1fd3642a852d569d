"""The book: its chapters' estimates, their texts, and the pages that are made of them."""

from .loader import (
    all_estimates,
    chapter_slugs,
    estimates,
    figures,
    load,
    main_estimate,
    slug_of,
)
from .messages import messages

__all__ = [
    "all_estimates", "chapter_slugs", "estimates", "figures", "load", "main_estimate", "messages",
    "slug_of",
]  # fmt: skip
