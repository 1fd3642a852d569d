"""Take the README's picture of a page: python tools/picture.py, after `make book`."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from conftest import FLAGS, find_browser  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402
from served import served  # noqa: E402


def main() -> None:
    with served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{address}chapters/moe_serving.html?moe_serving.request_rate=800")
        page.wait_for_function("performance.getEntriesByName('estimates-ready').length")
        card = "document.querySelector('.ep-card').getBoundingClientRect().top + scrollY"
        page.evaluate(f"scrollTo({{top: {card} - 150, behavior: 'instant'}})")
        page.wait_for_selector(".estimate-panel .main-svg")
        page.wait_for_timeout(1000)  # the contents have faded, the figure stands
        page.screenshot(path=ROOT / "docs" / "page.png")
        browser.close()


if __name__ == "__main__":
    main()
