"""Where a cell's output is shown: in the book's build as HTML, in a notebook as a widget."""

from __future__ import annotations

import os


def building_book() -> bool:
    """Whether this runs in the book's build, where HTML is wanted and no widget."""
    return os.environ.get("BOOK_BUILD") == "1"


class Html:
    """A cell's output in the book's build."""

    def __init__(self, html: str):
        self.html = html

    def _repr_html_(self) -> str:
        return self.html
