"""The book's Sphinx extension: what a published page is made of.

It keeps Jupyter Book's parsing, execution and search, and replaces the stock theme's page:

- `layout`: templates, navigation, language switch, source links, scripts of a page
- `assets`: static files that a page may ask for, with hashes; the rest is deleted
- `mathml`: formulas as MathML, made at build time
- `roles`: live numbers and table values in prose
- `recorded`: what demo kernels reached on a GPU
- `catalogue`: the data tables as a page
- `translation`: what gettext does not find by itself
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import (
    admonitions,
    assets,
    catalogue,
    layout,
    mathml,
    recorded,
    roles,
    search,
    translation,
)

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Register every part; Sphinx calls this once for each build."""
    parts = (layout, assets, mathml, roles, admonitions, recorded, catalogue, search, translation)
    for part in parts:
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
