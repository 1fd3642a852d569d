"""The book: finds the estimates in the chapters, and makes what pages quote from them."""

from __future__ import annotations

import ast
import json
import linecache
import re
import sys
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

import nbformat

from .estimate import Estimate, EstimateError, _unknown
from .panel import data_value, spec, spec_script
from .paths import resource
from .strings import GROUP_TITLES, STRINGS, SUMMARY_WORDS
from .tables import row
from .units import LABELS, format_value, labels, split_value

ESTIMATE_TAG, FIGURES_TAG = "estimate", "figures"


@dataclass(frozen=True)
class _Cell:
    source: str
    tags: frozenset[str]


def chapter_slugs() -> list[str]:
    """Slugs of the chapters, in the order of `_toc.yml` where there is one."""
    folder = resource("chapters")
    found = {path.stem for path in folder.glob("*.ipynb") if not path.stem.startswith("_")}
    toc = folder.parent / "_toc.yml"
    if not toc.exists():
        return sorted(found)
    listed = re.findall(r"file:\s*chapters/(\w+)", toc.read_text("utf-8"))
    return [slug for slug in listed if slug in found] + sorted(found - set(listed))


@lru_cache
def _cells(path: Path, _modified: float) -> list[_Cell]:
    notebook = nbformat.read(path, as_version=4)
    return [
        _Cell(cell.source, frozenset(cell.metadata.get("tags", [])))
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _tagged(slug: str, *tags: str) -> list[str]:
    path = resource("chapters") / f"{slug}.ipynb"
    cells = _cells(path, path.stat().st_mtime)
    return [cell.source for cell in cells if cell.tags & set(tags)]


def _defined(slug: str) -> list[str]:
    """Names of the estimates that a chapter's tagged cells define, without running them."""
    names = []
    for source in _tagged(slug, ESTIMATE_TAG):
        for item in ast.parse(source).body:
            if isinstance(item, ast.FunctionDef):
                names += [n for d in item.decorator_list if (n := _decorated(d, item.name))]
    return names


def _decorated(decorator: ast.expr, function: str) -> str | None:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    if not (isinstance(called, ast.Name) and called.id == "estimate"):
        return None
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    page = next(
        (k.value.value for k in keywords if k.arg == "page" and isinstance(k.value, ast.Constant)),
        "",
    )
    return f"{page}.{function}" if page else function


@lru_cache
def _index() -> dict[str, str]:
    """Estimate name → chapter slug, in reading order."""
    return {name: slug for slug in chapter_slugs() for name in _defined(slug)}


def estimates() -> list[str]:
    """Names of the chapters' estimates, in reading order."""
    return [name for name in _index() if "." not in name]


def all_estimates() -> list[str]:
    """The same with the toolbox's small ones."""
    return list(_index())


def load(name: str) -> Estimate:
    """The estimate `name` as its chapter defines it; raises EstimateError with the nearest name."""
    if name not in _index():
        raise EstimateError(_unknown(name, _index(), "The book has no estimate"))
    return _objects(_index()[name], (ESTIMATE_TAG,))[name.rpartition(".")[2]]


@lru_cache
def _objects(slug: str, tags: tuple[str, ...]) -> dict[str, Any]:
    """The names that a chapter's tagged cells define, run in a module of their own."""
    module = types.ModuleType(f"chapters.{slug}")
    sys.modules[module.__name__] = module  # dataclasses and pickling look it up
    for number, source in enumerate(_tagged(slug, *tags)):
        filename = f"chapters/{slug}.ipynb[{number}]"
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        exec(compile(source, filename, "exec"), module.__dict__)
    return module.__dict__


def figures(name: str) -> list[Any]:
    """The figures and diagrams that a chapter defines for the estimate `name`."""
    objects = _objects(_index()[name], (ESTIMATE_TAG, FIGURES_TAG)).values()
    drawn = [x for x in objects if hasattr(x, "messages") and hasattr(x, "estimate")]
    unique = {id(x): x for x in drawn}.values()
    return [x for x in unique if x.estimate.name == name]


def main_estimate(slug: str) -> str | None:
    """Name of the chapter's own estimate, if it has one."""
    return next((n for n, s in _index().items() if s == slug and "." not in n), None)


# --- texts to translate ---------------------------------------------------------------------


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
            *_PANEL_WORDS,
            *labels(),
            *LABELS.values(),
        ]
        return list(dict.fromkeys(own))
    slug = page.rpartition("/")[2]
    texts: list[str] = []
    for name in [n for n, s in _index().items() if s == slug]:
        texts += _estimate_messages(load(name))
        for figure in figures(name):
            texts += figure.messages()
    return [t for t in dict.fromkeys(texts) if t]


_PANEL_WORDS = (
    "Textbook", "Results at the defaults", "Assumptions",
)  # fmt: skip


def _estimate_messages(estimate: Estimate) -> Iterable[str]:
    yield estimate.title
    for a in estimate.assumptions.values():
        yield from (a.label, a.meaning, *(label for _, label in a.display.ladder))
        if a.source is not None:
            yield a.source.row.label if a.source.row else a.source.text
    for g in estimate.outputs.values():
        yield from (
            g.label,
            g.meaning,
            *(g.verdict or ()),
            *(label for _, label in g.display.ladder),
        )
    for r in estimate.requires.values():
        yield r.otherwise
    for p in estimate.presets.values():
        yield from (p.label, p.note)


# --- numbers in prose -----------------------------------------------------------------------

_QUOTE = re.compile(
    r"^\s*(?:(?P<estimate>[a-z_]+(?:\.[a-z_]+)?)\.)?(?P<name>\w+)(?::(?P<style>number))?"
    r"\s*(?:\|\s*(?P<changes>.+))?$"
)
_CHANGE = re.compile(r"^\s*(\w+)\s*=\s*(\*?\s*[\d.eE+-]+|[a-z]\w*(?:\.\w+)*)\s*$")


@dataclass(frozen=True)
class Quote:
    """What a number in a sentence refers to."""

    estimate: str
    name: str
    style: str
    changes: Mapping[str, float | str]


def parse_quote(page: str, quoted: str) -> Quote:
    """Read `name`, `estimate.name`, `name:number` or `name | assumption=0.2, other=*3`.

    A change may also be a row of the data tables (`mfu=measurements.key`) or a preset
    (`preset=key`). A short name belongs to the page's own estimate. Raises EstimateError.
    """
    match = _QUOTE.match(quoted)
    slug = page.rpartition("/")[2]
    if match is None:
        raise EstimateError(f"Cannot read the number {quoted!r}: write estimate.result.")
    name = match["estimate"] or main_estimate(slug)
    if name is None:
        raise EstimateError(f"{page} has no estimate of its own: write estimate.{match['name']}.")
    if name not in _index() and f"{slug}.{name}" in _index():
        name = f"{slug}.{name}"
    return Quote(name, match["name"], match["style"] or "", _changes(name, match["changes"] or ""))


def _changes(name: str, listed: str) -> dict[str, float | str]:
    changes: dict[str, float | str] = {}
    for part in filter(str.strip, listed.split(",")):
        match = _CHANGE.match(part)
        if match is None:
            raise EstimateError(
                f"Cannot read the change {part!r}: write assumption=0.2 or assumption=*3."
            )
        key, number = match[1], match[2].replace(" ", "")
        if key == "preset":
            preset = load(name)._known(number, load(name).presets, "preset")
            changes |= preset.numbers()
        elif number[0].isalpha():
            changes[key] = row(number).value
        else:
            changes[key] = number if number.startswith("*") else float(number)
    return changes


def number_html(page: str, quoted: str) -> str:
    """A live number for a sentence, holding its value at the defaults. See parse_quote."""
    quote = parse_quote(page, quoted)
    estimate = load(quote.estimate)
    defaults = estimate.values({})
    values = estimate.overridden(defaults, quote.changes)
    if quote.name in estimate.assumptions:
        declared, value = estimate.assumptions[quote.name], values[quote.name]
    else:
        declared = estimate._known(quote.name, estimate.outputs, "assumption or result")
        value = estimate(**values)[quote.name]
    bare = quote.style == "number" and not isinstance(value, bool)
    shown = (
        split_value(declared.display, value)[0] if bare else format_value(declared.display, value)
    )
    return (
        '<button type="button" class="estimate-number">'
        f'<output data-estimate="{escape(quote.estimate)}" {_reference(estimate, quote)} '
        f'data-value="{data_value(value)}" aria-live="off">{escape(shown)}</output></button>'
    )


def _reference(estimate: Estimate, quote: Quote) -> str:
    style = ' data-style="number"' if quote.style else ""
    if quote.changes:
        changes = escape(json.dumps(dict(quote.changes)), quote=True)
        return f'data-what-if="{quote.name}" data-with="{changes}"{style}'
    kind = "assumption" if quote.name in estimate.assumptions else "output"
    return f'data-{kind}="{quote.name}"{style}'


def specs_html(_page: str, names: Iterable[str]) -> str:
    """Specs, without figures, of estimates that a page quotes but does not show."""
    return "".join(spec_script(spec(load(name))) for name in names)
