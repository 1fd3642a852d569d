"""The built book, served for the browser tests, and what a page of it must show."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from widgets.engine.units import format_value, split_value

SITE = Path(__file__).resolve().parents[1] / "_build" / "html"
LANGUAGES = {"en": "", "zh": "zh/"}


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format, *args):
        pass


@contextmanager
def served(folder: Path = SITE) -> Iterator[str]:
    """Address of a server on `folder`; fails when the book is not built."""
    if not (folder / "index.html").exists():
        raise RuntimeError(f"{folder} has no book: run `make book` first.")
    handler = functools.partial(_Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


def pages() -> list[str]:
    """Every HTML page of the English book, as a path below a language's folder."""
    found = (p.relative_to(SITE).as_posix() for p in SITE.rglob("*.html"))
    return sorted(p for p in found if not p.startswith(("zh/", "_static/", "_sources/")))


def shown(declared, value) -> str:
    """The text of a sentence's number, in English."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format_value(declared.display, value)


def cell(declared, value) -> str:
    """The text of a panel's number: number and unit, in English."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    number, unit = split_value(declared.display, value)
    gap = "" if declared.display.attach or not unit else "\u00a0"
    return f"{number}{gap}{unit}"


def bare_number(declared, value) -> str:
    """The text of a number quoted without its unit."""
    return (
        shown(declared, value)
        if isinstance(value, bool)
        else split_value(declared.display, value)[0]
    )
