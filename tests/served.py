"""The built book, served for the browser tests; a panel on a page, and what it must show."""

from __future__ import annotations

import functools
import http.server
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from widgets import book, load
from widgets.engine.units import join

SITE = Path(__file__).resolve().parents[1] / "_build" / "html"
LANGUAGES = {"en": "", "zh": "zh/"}
CATALOGUES = {"en": "en", "zh": "zh_CN"}


class _Quiet(http.server.SimpleHTTPRequestHandler):
    headers_for = staticmethod(lambda _: {})

    def end_headers(self):
        for key, value in self.headers_for(Path(self.translate_path(self.path))).items():
            self.send_header(key, value)
        super().end_headers()

    def log_message(self, format, *args):
        pass


@contextmanager
def served(folder: Path = SITE, headers=None) -> Iterator[str]:
    """Address of a server on `folder`; fails when the book is not built.

    headers(path): further headers of a file.
    """
    if not (folder / "index.html").exists():
        raise RuntimeError(f"{folder} has no book: run `make book` first.")
    own = {"headers_for": staticmethod(headers)} if headers else {}
    handler = functools.partial(type("Handler", (_Quiet,), own), directory=str(folder))
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


def panels(path: str) -> list[str]:
    """Names of the estimates whose panels a page shows."""
    slug = path.rpartition("/")[2].removesuffix(".html")
    html = (SITE / path).read_text("utf-8")
    own = [n for n in book.all_estimates() if book.slug_of(n) == slug]
    return [n for n in own if re.search(rf'estimate-panel[^>]*data-estimate="{n}"', html)]


def with_panels() -> list[tuple[str, str]]:
    """(page, estimate) of every panel, the toolbox's small ones included."""
    return [(path, name) for path in pages() for name in panels(path)]


def chapters() -> list[tuple[str, str]]:
    """(page, estimate) of the panels that are workbenches."""
    return [(path, name) for path, name in with_panels() if "." not in name]


def close(a: float, b: float) -> bool:
    """Whether two numbers are the same but for the last bits."""
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1e-300)


class Panel:
    """A panel on an opened page, with the estimate that Python has of it."""

    def __init__(self, page, name: str):
        self.page, self.name, self.estimate = page, name, load(name)
        self.root = page.locator(f'section.estimate-panel[data-estimate="{name}"]')
        self.inputs = self.root.locator(".ep-in")

    def row(self, name: str):
        return self.inputs.locator(f'.ep-row[data-name="{name}"]')

    def slider(self, name: str):
        return self.inputs.locator(f'input[type=range][name="{name}"]')

    def value(self, name: str) -> float:
        return float(self.slider(name).get_attribute("data-value"))

    def values(self) -> dict[str, float]:
        """What all sliders say."""
        return self.inputs.evaluate(
            "all => Object.fromEntries([...all.querySelectorAll('input[type=range][name]')]"
            ".map(one => [one.name, Number(one.dataset.value)]))"
        )

    def slide(self, name: str, part: float) -> tuple[float, int, float]:
        """Move a slider as a reader does, to a part of its way; tells its data-value, the stop it
        was put on, and where its thumb is drawn (0 to 1)."""
        return tuple(
            self.slider(name).evaluate(
                """(input, part) => {
                  const stop = Math.round(part * Number(input.max));
                  input.value = stop;
                  input.dispatchEvent(new Event("input", {bubbles: true}));
                  const place = input.closest(".ep-row").style.getPropertyValue("--p");
                  return [Number(input.dataset.value), stop, Number(place)];
                }""",
                part,
            )
        )

    def unfold(self) -> Panel:
        """Open the folded groups of assumptions."""
        self.inputs.evaluate("all => all.querySelectorAll('details').forEach(d => d.open = true)")
        return self

    def enter(self, name: str, text: str) -> tuple[float, str, str]:
        """Type a text into a box and press Enter; tells value, complaint and the box's text."""
        row, box = self.row(name), self.row(name).locator(".ep-box")
        box.fill(text)
        box.press("Enter")
        return self.value(name), row.locator(".ep-why").inner_text(), box.input_value()

    def button(self, label: str):
        return self.root.locator(".ep-bar").get_by_role("button", name=label, exact=True)

    def tool(self, key: str):
        """Open a tool and tell its pane."""
        self.root.locator(f'[data-tool="{key}"]').click()
        return self.root.locator(f'[data-pane="{key}"]')

    def shown(self) -> list[dict]:
        """Every live number of the estimate on the page."""
        return self.page.evaluate(
            """name => [...document.querySelectorAll("[data-output], [data-assumption], [data-what-if]")]
              .filter(e => (e.closest("[data-estimate]") ?? e).dataset.estimate === name)
              .filter(e => !e.closest("math, .estimate-static"))
              .map(e => ({...e.dataset, text: e.textContent.trim(), inPanel: !!e.closest(".ep")}))""",
            self.name,
        )

    def check(self, values: dict[str, float]) -> None:
        """Every visible number of the estimate on the page is what Python computes."""
        e, seen = self.estimate, self.shown()
        assert {s["output"] for s in seen if "output" in s} >= set(e.outputs)
        results = e(**values)
        for s in seen:
            key, at, found = s.get("output") or s.get("assumption"), values, results
            if "whatIf" in s:
                key, at = s["whatIf"], e.overridden(values, json.loads(s["with"]))
                found = e(**at)
            value = at[key] if key in at else found[key]
            if isinstance(value, bool):
                assert s["value"] == str(value).lower(), key
            else:
                assert close(float(s["value"]), value), (key, s["value"], value)
            style = "noun" if s.get("unit") == "shown" else s.get("style", "")
            wanted = full(e, key, at, found) if s["inPanel"] else e.text(key, at, found, style)
            assert s["text"] == wanted, (key, s["text"], wanted)


def full(e, name: str, values, results) -> str:
    """A number with its unit, as a panel writes it."""
    number, unit = e.parts(name, values, results)
    declared = e.assumptions.get(name) or e.outputs[name]
    return number + join(declared.display, unit)
