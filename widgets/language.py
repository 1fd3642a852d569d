"""The language of a page, and its catalogue.

English is written in the notebooks; other languages are gettext catalogues, one a page,
in `locale/<language>/LC_MESSAGES/`. The environment variable BOOK_LANGUAGE picks one.
"""

from __future__ import annotations

import os
from functools import lru_cache

from .paths import resource


def language() -> str:
    """Name of the catalogue in force: "en" (none) or "zh_CN"."""
    return os.environ.get("BOOK_LANGUAGE", "en")


def html_language() -> str:
    """The same as HTML writes it: "en", "zh-CN"."""
    return language().replace("_", "-")


@lru_cache
def catalogue(name: str) -> dict[str, str]:
    """All translations into the language `name`, of all pages. Fuzzy entries do not count."""
    from babel.messages.pofile import read_po

    messages: dict[str, str] = {}
    for path in sorted((resource("locale") / name / "LC_MESSAGES").rglob("*.po")):
        with path.open("rb") as file:
            for message in read_po(file):
                if message.id and message.string and not message.fuzzy:
                    messages[str(message.id)] = str(message.string)
    return messages


def translate(text: str) -> str:
    """`text` in the page's language, or as it is where the catalogue lacks it."""
    if not text or language() == "en":
        return text
    return catalogue(language()).get(text, text)
