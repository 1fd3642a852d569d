"""English texts of a page that stand outside its prose, for its catalogue."""

from __future__ import annotations

from collections.abc import Iterable

from ..engine.estimate import TEXTBOOK, Estimate
from ..engine.units import LABELS, PLURALS, labels
from ..show.machine import messages as machine_messages
from ..show.panel import NO_SCRIPT
from ..show.words import GROUP_TITLES, STRINGS
from . import published_page, validation_page, validation_tables
from .loader import all_estimates, figures, load, slug_of
from .summary import CALCULATOR_WORDS, SUMMARY_WORDS


def messages(page: str) -> list[str]:
    """English texts of a page that stand outside its prose: labels, verdicts, figures.

    `page` is a document name such as "chapters/moe_serving". The index also carries the
    panel's own words and the unit labels.
    """
    if page == "index":
        own = [
            *STRINGS.values(),
            *GROUP_TITLES.values(),
            *SUMMARY_WORDS.values(),
            *CALCULATOR_WORDS.values(),
            *_PANEL_WORDS,
            *machine_messages(),
            *labels(),
            *LABELS.values(),
            *PLURALS.values(),
        ]
        return list(dict.fromkeys(own))
    slug = page.rpartition("/")[2]
    texts: list[str] = []
    if slug == "how_far_off":
        texts += [
            *validation_page.messages(),
            *validation_tables.HEADS.values(),
            *published_page.messages(),
        ]
    for name in [n for n in all_estimates() if slug_of(n) == slug]:
        texts += _estimate_messages(load(name))
        for figure in figures(name):
            texts += figure.messages()
    return [t for t in dict.fromkeys(texts) if t]


_PANEL_WORDS = (
    *TEXTBOOK, "Results at the defaults", "Assumptions", NO_SCRIPT,
)  # fmt: skip


def _estimate_messages(estimate: Estimate) -> Iterable[str]:
    yield estimate.title
    yield from () if estimate.defaults == TEXTBOOK else estimate.defaults
    for a in estimate.assumptions.values():
        yield from (a.label, a.short, a.meaning, a.idle, *(label for _, label in a.display.ladder))
        if a.source is not None:
            yield a.source.row.label if a.source.row else a.source.text
    for g in estimate.outputs.values():
        yield from (
            g.label,
            g.short,
            g.made_of,
            g.answers,
            g.none,
            *g.words,
            *(g.chip or ()),
            g.meaning,
            *(g.verdict or ()),
            *(label for _, label in g.display.ladder),
        )
    for r in estimate.requires.values():
        yield r.otherwise
    for p in estimate.presets.values():
        yield from (p.label, p.note)
