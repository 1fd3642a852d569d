"""Numbers that a page quotes: which estimate a name on the page belongs to."""

from __future__ import annotations

from ..engine.declare import EstimateError
from ..engine.estimate import Estimate
from ..show.quotes import Quote, number_html, parse_quote
from .loader import load, resolve_name


def quote_on(page: str, quoted: str) -> Quote:
    """What `quoted` names on `page` ("chapters/moe_serving"); see `show.quotes.parse_quote`."""

    def find(name: str | None) -> Estimate:
        found = resolve_name(page, name)
        if found is None:
            raise EstimateError(f"{page} has no estimate of its own: write estimate.{quoted}.")
        return load(found)

    return parse_quote(quoted, find)


def quoted_html(page: str, quoted: str, key: bool = False) -> str:
    """The live number that `quoted` names on `page`."""
    return number_html(quote_on(page, quoted), key)


def is_headline(page: str, quoted: str) -> bool:
    """Whether `quoted` is a headline of its estimate, as the panel has it."""
    quote = quote_on(page, quoted)
    return not quote.changes and quote.name in quote.estimate.headlines
