"""What a page's template needs: navigation, language switch, links, scripts.

The templates in `templates/` replace the stock theme's page, whose scripts and styles
weigh 850 KB and whose markup fails accessibility checks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from docutils import nodes
from sphinx import addnodes
from sphinx.environment.adapters.toctree import document_toc

from ...language import catalogue
from ...show.spec import spec_script
from .. import validation_page
from ..loader import all_estimates, load
from . import roles
from .translation import interface_text

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

TEMPLATES = Path(__file__).parent / "templates"
LANGUAGES = {"en": ("en", "English", ""), "zh_CN": ("zh-CN", "中文", "zh/")}
"""Sphinx's name of a language: its HTML code, its own name, its folder on the site."""

EXTENDED = {"machine": '"pickers":true', "validation": "data-validation-runs"}
"""Scripts that only some pages need, and what stands in the body of such a page."""

_QUOTED = re.compile(r'data-estimate="([^"]+)"')
_CARRIED = re.compile(r'data-estimate-spec="([^"]+)"')


@dataclass(frozen=True)
class Link:
    """A link of the navigation or of the page's foot."""

    text: str
    href: str
    current: bool = False


@dataclass(frozen=True)
class Part:
    """A caption of the table of contents and its pages."""

    caption: str
    pages: tuple[Link, ...]


def name_folded_code(_app: Sphinx, config: Config) -> None:
    """The line of a folded code cell, before myst-nb reads its configuration."""
    config.nb_code_prompt_show = interface_text(config.language, "Show the code")
    config.nb_code_prompt_hide = interface_text(config.language, "Hide the code")


def prepare(app: Sphinx, config: Config) -> None:
    """Put the book's templates before the theme's, and tell kernels what they run for."""
    config.templates_path.insert(0, str(TEMPLATES))
    os.environ["BOOK_BUILD"] = "1"  # panels become HTML
    os.environ["BOOK_LANGUAGE"] = config.language


def complete_context(
    app: Sphinx,
    page: str,
    template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Add everything that `templates/layout.html` reads (event `html-page-context`)."""
    body = accessible(with_specs(page, context.get("body", "")))
    context["body"] = body
    context["book_title"] = translated(app, app.config.html_title)
    context["book_language"] = LANGUAGES[app.config.language][0]
    context["text"] = partial(interface_text, app.config.language)
    context["parts"] = navigation(app, page)
    context["contents"] = contents(app, page)
    context["languages"] = other_languages(app, page, context)
    context["source_links"] = source_links(app, page)
    context["description"] = description(doctree)
    context["is_live"] = "data-estimate" in body or "data-calculators" in body
    context["has_pickers"] = '"pickers":true' in body
    context["extensions"] = [name for name, mark in EXTENDED.items() if mark in body]
    names = (*all_estimates(), validation_page.NAME)
    context["estimate_names"] = " ".join(names) if context["is_live"] else ""
    context["translations_script"] = app.config.language != "en"


def with_specs(page: str, body: str) -> str:
    """`body` with the specs of estimates that it quotes without showing their panel."""
    missing = sorted(set(_QUOTED.findall(body)) - set(_CARRIED.findall(body)))
    if not missing:
        return body
    return body + "".join(spec_script(load(name)) for name in missing)


def accessible(body: str) -> str:
    """`body` without roles of docutils that ARIA has deprecated or that need children, and
    without an English name over the words of a fold ("Show the code")."""
    body = body.replace(' aria-label="Toggle hidden content"', "")
    for role in (' role="doc-biblioentry"', ' role="list" class="citation-list"'):
        body = body.replace(role, ' class="citation-list"' if "list" in role else "")
    return body


def navigation(app: Sphinx, page: str) -> list[Part]:
    """The parts of `_toc.yml` in the page's language."""
    root = app.config.root_doc
    parts = []
    for toctree in app.env.get_doctree(root).findall(addnodes.toctree):
        pages = tuple(
            Link(
                text=_title(app, name, given),
                href=app.builder.get_relative_uri(page, name),
                current=name == page,
            )
            for given, name in toctree["entries"]
        )
        caption = toctree.get("rawcaption") or toctree.get("caption") or ""
        parts.append(Part(translated(app, caption), pages))
    return parts


def _title(app: Sphinx, page: str, given: str | None) -> str:
    return translated(app, given) if given else app.env.titles[page].astext()


def translated(app: Sphinx, text: str) -> str:
    """A text of `_toc.yml` or `_config.yml` in the language of the build."""
    language = app.config.language
    return text if language == "en" else catalogue(language).get(text, text)


def contents(app: Sphinx, page: str) -> str:
    """HTML list of the page's sections, "" where there are fewer than two."""
    if page not in app.env.tocs:
        return ""
    toc: Any = document_toc(app.env, page, app.builder.tags)
    inner = next(_lists_below(toc), None)  # below the page's own title
    if inner is None or len(inner.children) < 2:
        return ""
    for section in list(_lists_below(inner)):
        for deeper in list(_lists_below(section)):
            deeper.parent.remove(deeper)
    return app.builder.render_partial(inner)["fragment"]  # type: ignore[attr-defined]


def _lists_below(toc: nodes.Element) -> Iterator[nodes.Element]:
    """The lists of subsections, one for each section of `toc` that has some."""
    for item in toc.findall(nodes.list_item):
        if item.parent is toc:
            yield from (child for child in item.children if isinstance(child, nodes.bullet_list))


def other_languages(app: Sphinx, page: str, context: dict[str, Any]) -> list[dict[str, str]]:
    """The same page in the other languages, by an address that works under any base."""
    here = LANGUAGES[app.config.language][2]
    to_root = context["content_root"] + "../" * here.count("/")
    own = app.builder.get_target_uri(page)
    return [
        {"code": code, "name": name, "href": f"{to_root}{folder}{own}"}
        for language, (code, name, folder) in LANGUAGES.items()
        if language != app.config.language
    ]


def source_links(app: Sphinx, page: str) -> list[Link]:
    """Links to the page's source; none while `repository.url` is empty.

    GitHub is the only host whose addresses are known here.
    """
    options = app.config.html_theme_options
    url = (options.get("repository_url") or "").rstrip("/")
    if not url or page not in app.env.all_docs:
        return []
    branch = options.get("repository_branch") or "main"
    path = Path(app.env.doc2path(page)).relative_to(app.srcdir).as_posix()
    slug = "/".join(url.split("/")[-2:])
    text = partial(interface_text, app.config.language)
    issue = urlencode({"title": f"{path}: "})
    links = [
        Link(text("Edit this page"), f"{url}/edit/{branch}/{path}"),
        Link(text("Report a mistake"), f"{url}/issues/new?{issue}"),
    ]
    if path.endswith(".ipynb"):
        colab = f"https://colab.research.google.com/github/{slug}/blob/{branch}/{path}"
        binder = f"https://mybinder.org/v2/gh/{slug}/{branch}?urlpath=lab/tree/{quote(path)}"
        links += [Link(text("Open in Colab"), colab), Link(text("Open in Binder"), binder)]
    return links


def description(doctree: nodes.document | None) -> str:
    """The first plain paragraph, for search engines; "" if it quotes a live number."""
    if doctree is None:
        return ""
    first = next(iter(doctree.findall(nodes.paragraph)), None)
    if first is None or any(first.findall(roles.live_number)):
        return ""
    return " ".join(first.astext().split())[:200]


def setup(app: Sphinx) -> None:
    app.connect("config-inited", name_folded_code, priority=100)
    app.connect("config-inited", prepare, priority=900)
    app.connect("html-page-context", complete_context, priority=900)
