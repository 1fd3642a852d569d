"""Shared pieces of the tests: the chapters' estimates, random assumptions, a browser."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from widgets import book
from widgets.engine.estimate import Estimate

ROOT = Path(__file__).resolve().parents[1]
CONTRACT = json.loads((ROOT / "tests" / "contract.json").read_text("utf-8"))
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


def find_browser() -> str:
    """Path of a Chrome or Chromium; raises when none is there, with what to do."""
    named = os.environ.get("CHROMIUM")
    if named:
        return named
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        raise RuntimeError("No Chrome or Chromium found: run `make browser`, or set CHROMIUM.")
    return found


@pytest.fixture(scope="session")
def browser():
    """One headless browser for a worker's tests."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def site():
    """Address of the built book."""
    from served import served

    with served() as address:
        yield address


@pytest.fixture
def opened(browser, site):
    """open(path, size=(1280, 900), **context) → page, its sliders responding; on leaving, the
    console was silent and no host but ours was asked."""
    contexts, complaints = [], []

    def open_page(path, size=(1280, 900), **options):
        width, height = size
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on(
            "console",
            lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda e: complaints.append(str(e)))
        ours = (site, "blob:", "data:")
        page.on("request", lambda r: None if r.url.startswith(ours) else complaints.append(r.url))
        page.goto(path if path.startswith(site) else site + path)
        if options.get("java_script_enabled", True) and page.locator("[data-estimate]").count():
            page.wait_for_function("performance.getEntriesByName('estimates-ready').length")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints, complaints


@pytest.fixture(params=["en", "zh"])
def language(request, monkeypatch):
    """A language of the book; Python's own texts are in it too."""
    from served import CATALOGUES

    monkeypatch.setenv("BOOK_LANGUAGE", CATALOGUES[request.param])
    return request.param


def random_assumptions(estimate: Estimate, count: int, seed: int = 7) -> dict[str, np.ndarray]:
    """`count` draws over the whole slider ranges, each on its own scale, ends included."""
    rng = np.random.default_rng(seed)
    drawn = {}
    for name, a in estimate.assumptions.items():
        if a.integer:
            values = rng.integers(int(a.low), int(a.high) + 1, count).astype(float)
        elif a.log:
            values = np.exp(rng.uniform(np.log(a.low), np.log(a.high), count))
        else:
            values = rng.uniform(a.low, a.high, count)
        values = np.clip(values, a.low, a.high)
        values[:2] = a.low, a.high
        drawn[name] = values
    return drawn


def every_estimate() -> list[str]:
    """Names of all estimates of the book, the toolbox's small ones included."""
    return book.all_estimates()


SAMPLED = (
    "Pages: every page, both languages, light and dark, 1280 and 390 px: console, hosts, width; "
    "axe with all rules below AAA in two of the four. Workbench: layout of every chapter in both languages; idle "
    "sliders at twelve stops each. Sampled: each slider at one random stop, all together, on every "
    "page in both languages, with figures in English, light, 1280 px; dock, undo, comparison, "
    "sentences, refusals and hostile addresses on the MoE page; a policy without eval on three "
    "pages, files on two."
)


def pytest_terminal_summary(terminalreporter):
    """Say what the browser tests cover, so that nobody takes a sample for the whole."""
    passed = terminalreporter.stats.get("passed", [])
    if any(re.search("test_(pages|inputs|workbench|tools)", r.nodeid) for r in passed):
        terminalreporter.write_line(SAMPLED)
