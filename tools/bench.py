"""Time the book on this machine: `make bench`. Compare ratios, not absolute times.

Everything is measured in one run: the same page with and without its panel, so that the
machine's speed cancels out.
"""

from __future__ import annotations

import gzip
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from conftest import FLAGS, find_browser, random_assumptions  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402
from served import SITE, served  # noqa: E402

from widgets import estimates, load  # noqa: E402

CHAPTER = "chapters/moe_serving.html"
LOADS, MOVES = 9, 80
COMPRESSED = {".html", ".css", ".js", ".svg", ".json"}


def plain_copy(folder: Path) -> str:
    """The same chapter with the same theme, its panel, specs and scripts of the panel taken out."""
    html = (SITE / CHAPTER).read_text("utf-8")
    html = re.sub(r'<section class="estimate-panel.*?</section>', "", html, flags=re.S)
    html = re.sub(r"<script[^>]*data-estimate-spec.*?</script>", "", html, flags=re.S)
    html = re.sub(r"<script[^>]*page\.js[^>]*></script>", "", html)
    html = re.sub(r"<link[^>]*(?:panel\.(?:js|css)|page\.js)[^>]*>", "", html)
    name = CHAPTER.replace(".html", "-plain.html")
    (folder / name).write_text(html, "utf-8")
    return name


READY = """() => {
  const load = performance.getEntriesByType("navigation")[0];
  const ready = performance.getEntriesByName("estimates-ready")[0];
  return [ready ? ready.startTime : NaN, load.domContentLoadedEventEnd, load.loadEventEnd];
}"""


def load_times(browser, url: str, panel: bool) -> tuple[float, float]:
    """Milliseconds until the sliders respond (or the parsed page is ready) and until load."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(url, wait_until="load")
    if panel:
        page.wait_for_function("performance.getEntriesByName('estimates-ready').length")
    page.wait_for_function("performance.getEntriesByType('navigation')[0].loadEventEnd > 0")
    ready, parsed, loaded = page.evaluate(READY)
    context.close()
    return (ready if panel else parsed), loaded


MOVE = """async ([count, inFrame]) => {
  const slider = document.querySelector('.estimate-panel input[name="request_rate"]');
  const task = () => new Promise(done => setTimeout(done)); // after a frame's callbacks: it is painted
  const frame = () => new Promise(done => requestAnimationFrame(done));
  const written = [], painted = [];
  for (let i = 0; i < count; i++) {
    slider.value = 5 + (i * 7) % (Number(slider.max) - 8);
    const drawn = new Promise(done => document.addEventListener("estimate-drawn", done, {once: true}));
    const start = performance.now();
    slider.dispatchEvent(new Event("input", {bubbles: true}));
    written.push(performance.now() - start);
    await Promise.race([drawn, new Promise(done => setTimeout(done, 400))]);
    if (!inFrame) await frame(); // a diagram is patched before its frame begins
    await task();
    painted.push(performance.now() - start);
    await new Promise(done => setTimeout(done, 60));
  }
  return [written, painted];
}"""


def moves(browser, url: str, target: str) -> tuple[list[float], list[float]]:
    """Milliseconds from a slider's event until its numbers are written, and until what is in
    view (`target`) is painted."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(url, wait_until="load")
    page.wait_for_function("performance.getEntriesByName('estimates-ready').length")
    page.locator(target).first.scroll_into_view_if_needed()
    page.wait_for_function(f"document.querySelector(`{target}`).querySelector('.main-svg')")
    page.wait_for_timeout(600)
    written, painted = page.evaluate(MOVE, [MOVES, "architecture" not in target])
    page.close()
    return written, painted


def page_bytes(browser, address: str, paths: list[str]) -> list[int]:
    """Compressed bytes that each page adds in one browser, figures scrolled into view."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, sizes, seen = context.new_page(), [], set()
    for path in paths:
        total = 0

        def count(response):
            nonlocal total
            file = SITE / response.url.removeprefix(address).partition("?")[0]
            if response.url in seen or not file.is_file():
                return
            seen.add(response.url)
            data = file.read_bytes()
            total += len(gzip.compress(data, 6)) if file.suffix in COMPRESSED else len(data)

        page.on("response", count)
        page.goto(address + path, wait_until="load")
        for y in range(0, page.evaluate("document.documentElement.scrollHeight"), 700):
            page.evaluate(f"scrollTo(0, {y})")
            page.wait_for_timeout(60)
        page.wait_for_timeout(800)
        page.remove_listener("response", count)
        sizes.append(total)
    context.close()
    return sizes


def spread(values: list[float]) -> str:
    return f"median {statistics.median(values):6.1f}  p95 {np.percentile(values, 95):6.1f} ms"


def evaluations() -> None:
    for name in estimates():
        e = load(name)
        once = min(_seconds(lambda e=e: e()) for _ in range(5))
        drawn = random_assumptions(e, 10_000)
        many = min(_seconds(lambda e=e, d=drawn: e(**d)) for _ in range(3))
        print(
            f"  {name:22} one {once * 1e3:7.2f} ms   10,000 {many * 1e3:8.1f} ms   ratio {many / once:6.1f}"
        )


JS = """async ([code, count]) => {
  const m = await import(URL.createObjectURL(new Blob([code], {type: "text/javascript"})));
  for (let i = 0; i < 2000; i++) m.evaluate({});
  const start = performance.now();
  for (let i = 0; i < count; i++) m.evaluate({});
  return (performance.now() - start) / count * 1000;
}"""


def javascript_evaluations(browser) -> None:
    page = browser.new_page()
    for name in estimates():
        took = page.evaluate(JS, [load(name).javascript(), 3000])
        print(f"  {name:22} {took:8.2f} µs")
    page.close()


def _seconds(job) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def build_time() -> None:
    took = _seconds(
        lambda: subprocess.run(
            [sys.executable, "tools/build.py"], cwd=ROOT, check=True, capture_output=True
        )
    )
    print(f"  build of both languages {took:6.1f} s (the tests' time stands in their own output)")


def main() -> None:
    print("Build")
    build_time()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site = Path(folder)
        shutil.copytree(SITE, site, dirs_exist_ok=True)
        plain = plain_copy(site)
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        with served(site) as address:
            print("Until sliders respond, against the same page without a panel")
            load_times(browser, address + CHAPTER, True)  # fills the server's and disk's caches
            with_panel = [load_times(browser, address + CHAPTER, True) for _ in range(LOADS)]
            without = [load_times(browser, address + plain, False) for _ in range(LOADS)]
            ready = statistics.median(r for r, _ in with_panel)
            for label, column in (("parsed", 0), ("loaded", 1)):
                base = statistics.median(t[column] for t in without)
                print(
                    f"  sliders respond {ready:6.0f} ms / plain page {label} {base:6.0f} ms = {ready / base:5.2f}"
                )
            print("From a slider's event")
            for label, target in (
                ("figure", ".estimate-panel .ep-pane:not(.is-off) .estimate-plot"),
                ("diagram", "figure.estimate-figure[data-figure=architecture] .estimate-plot"),
            ):
                written, painted = moves(browser, address + CHAPTER, target)
                print(f"  numbers written          {spread(written)}   ({label} in view)")
                print(f"  {label + ' painted':24} {spread(painted)}")
            print("Compressed bytes")
            first, second = page_bytes(browser, address, [CHAPTER, "chapters/framework.html"])
            print(f"  first chapter page {first / 1000:6.0f} kB   second {second / 1000:6.0f} kB")
        print("Evaluation in JavaScript")
        javascript_evaluations(browser)
        browser.close()
    print("Evaluation in Python")
    evaluations()


if __name__ == "__main__":
    main()
