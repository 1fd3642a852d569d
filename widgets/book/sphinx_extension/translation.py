"""Texts that gettext does not find in pages: captions, the page's own interface, labels.

They go to `locale/<language>/LC_MESSAGES/book.po`, except an estimate's labels, which
belong to the catalogue of the page that defines it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes
from sphinx import addnodes

from ...language import catalogue
from ..messages import messages

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

DOMAIN = "book"
INTERFACE = (
    "Bytes a second",
    "Case",
    "Chapters",
    "Colour theme",
    "Contents",
    "Copied",
    "Copy code",
    "Download this notebook",
    "Edit this page",
    "Filter the rows",
    "Grade",
    "Hide the code",
    "Next",
    "Median time",
    "Not yet recorded on a GPU.",
    "Note",
    "Open in Binder",
    "Open in Colab",
    "Previous",
    "Recorded on {device}, {date}",
    "Report a mistake",
    "Search",
    "Searching needs JavaScript.",
    "Share of the peak bandwidth",
    "Show the code",
    "Skip to the text",
    "Source",
    "dark",
    "follows the system",
    "light",
    "scrollable",
    "seen in the source named",
    "seen only as an abstract, an excerpt or on another page",
    "computed from the source's figures",
    "{rows} rows",
    "{shown} of {rows} rows",
)


def interface_text(language: str, text: str) -> str:
    """A text of the page's own interface. Raises KeyError for one not listed above."""
    if text not in INTERFACE:
        raise KeyError(f"{text!r} is missing in INTERFACE, so it would not be translated")
    return text if language == "en" else catalogue(language).get(text, text)


def is_gettext(app: Sphinx) -> bool:
    return app.builder.name == "gettext"


def add_labels(app: Sphinx, doctree: nodes.document) -> None:
    """Emit the labels of a page's estimates as hidden paragraphs, which gettext extracts.

    Only in the gettext build: elsewhere labels are translated when they are written.
    """
    if not is_gettext(app):
        return
    page = app.env.docname
    for message in messages(page):
        paragraph = nodes.paragraph(message, message, classes=["estimate-label"])
        paragraph.source, paragraph.line = app.env.doc2path(page), 1
        doctree += paragraph


def add_interface(app: Sphinx, env: BuildEnvironment) -> None:
    """Put captions, explicit titles, the book's title and the interface in `book.pot`."""
    if not is_gettext(app):
        return
    from sphinx.builders.gettext import MsgOrigin

    texts = [app.config.html_title, *_toc_texts(app), *INTERFACE]
    for text in dict.fromkeys(texts):
        app.builder.catalogs[DOMAIN].add(text, MsgOrigin(str(app.srcdir / "_toc.yml"), 1))  # type: ignore[attr-defined]


def _toc_texts(app: Sphinx) -> list[str]:
    texts = []
    for toctree in app.env.get_doctree(app.config.root_doc).findall(addnodes.toctree):
        texts.append(toctree.get("rawcaption") or "")
        texts += [title or "" for title, _ in toctree["entries"]]
    return [text for text in texts if text]


def translate_toc(app: Sphinx, doctree: nodes.document) -> None:
    """Captions and titles of `_toc.yml` in the page's own list of chapters."""
    if is_gettext(app) or app.config.language == "en":
        return
    known = catalogue(app.config.language)
    for toctree in doctree.findall(addnodes.toctree):
        caption = toctree.get("rawcaption") or ""
        toctree["caption"] = known.get(caption, caption) or None
        toctree["entries"] = [
            (known.get(title, title) if title else title, page)
            for title, page in toctree["entries"]
        ]


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", add_labels)
    app.connect("doctree-read", translate_toc, priority=900)  # after the toc is inserted
    app.connect("env-updated", lambda app, env: add_interface(app, env))
