"""Static files of the published pages: which there are, and under what address.

Extensions of the stock book bring 3 MB of scripts, styles and fonts. No page asks for
them, so they are deleted after the build; what is left is listed here.
"""

from __future__ import annotations

import hashlib
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pygments

from ...language import html_language
from ...paths import STATIC
from ...show import pickers, script
from ...show.spec import json_of, spec
from .. import loader

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

KEPT = frozenset(
    {
        # Sphinx writes these; only the search page asks for the scripts.
        "pygments.css",
        "documentation_options.js",
        "doctools.js",
        "sphinx_highlight.js",
        "searchtools.js",
        "language_data.js",
        "translations.js",
    }
)
PLOTLY = "vendor/plotly-basic.min.js"


def scripts() -> dict[str, str]:
    """Scripts that are joined from modules: their names and texts."""
    return {
        "workbench.js": script.page_script(),
        "worker.js": script.worker_script(),
        **{f"{name}.js": script.extension_script(name) for name in script.EXTENSIONS},
        **picker_scripts(html_language()),
    }


@cache
def picker_scripts(language: str) -> dict[str, str]:
    """What the pickers need, apart: only pages with pickers ask for it. Some names are
    translated, so `language` (of the build) is a part of the answer."""
    choices = json_of(pickers.pickers())
    return {
        "choices.js": f"self.bookChoices = {choices};\n",
        "shapes.js": pickers.shapes_script(),
    }


@lru_cache(maxsize=64)
def _hash(path: Path, changed_ns: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:10]


def version(name: str) -> str:
    """A query that changes with the file's content: `v=…`, "" for a file not yet there."""
    if name == "pygments.css":
        return f"v={pygments.__version__}"  # written after the pages, by Pygments alone
    if name in scripts():
        return f"v={hashlib.sha256(scripts()[name].encode()).hexdigest()[:10]}"
    path = STATIC / name
    return f"v={_hash(path, path.stat().st_mtime_ns)}" if path.is_file() else ""


def address(pathto: Any, name: str) -> str:
    """Address of a static file, relative to the page that `pathto` belongs to."""
    query = version(name)
    plain = pathto(f"_static/{name}", 1)
    return f"{plain}?{query}" if query else plain


def add_assets(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give the template the addresses of static files (event `html-page-context`)."""
    pathto = context["pathto"]
    context["asset"] = lambda name: address(pathto, name)
    context["worker"] = address(pathto, "worker.js")
    context["plotly"] = address(pathto, PLOTLY)


def remove_unused(app: Sphinx, exception: Exception | None) -> None:
    """Write the joined scripts, delete what no page asks for (event `build-finished`)."""
    if exception is not None or app.builder.name != "html":
        return
    folder = Path(app.outdir) / "_static"
    modules = {f"{name}.js" for name in script.MODULES}
    ours = {path.relative_to(STATIC) for path in STATIC.rglob("*") if path.is_file()}
    ours = {path for path in ours if path.as_posix() not in modules}
    for name, text in scripts().items():
        (folder / name).write_text(text, "utf-8")
    ours |= {Path(name) for name in scripts()} | write_estimates(folder)
    for path in sorted(folder.rglob("*"), reverse=True):  # files before their folder
        name = path.relative_to(folder)
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif name not in ours and name.as_posix() not in KEPT:
            path.unlink()


def write_estimates(folder: Path) -> set[Path]:
    """One script an estimate, with its spec: for the calculators page and for the worker."""
    (folder / "estimates").mkdir(exist_ok=True)
    written = set()
    for name in loader.estimates():
        estimate = loader.load(name)
        content = json_of(spec(estimate, loader.figures(name)))
        path = Path("estimates") / f"{name}.js"
        (folder / path).write_text(script.classic(name, estimate.javascript(), content), "utf-8")
        written.add(path)
    return written


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", add_assets, priority=900)
    app.connect("build-finished", remove_unused, priority=900)
