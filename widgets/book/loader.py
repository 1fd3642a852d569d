"""Finds the estimates in the chapters."""

from __future__ import annotations

import ast
import linecache
import re
import sys
import types
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import nbformat

from ..engine.declare import EstimateError
from ..engine.estimate import Estimate, unknown
from ..paths import resource

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
        raise EstimateError(unknown(name, _index(), "The book has no estimate"))
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


def slug_of(name: str) -> str:
    """Slug of the chapter that defines the estimate `name`."""
    return _index()[name]


def resolve_name(page: str, name: str | None) -> str | None:
    """Full name of the estimate that a page means by `name`: its own without one, its toolbox's
    by the short name."""
    slug = page.rpartition("/")[2]
    if name is None:
        return main_estimate(slug)
    return f"{slug}.{name}" if name not in _index() and f"{slug}.{name}" in _index() else name
