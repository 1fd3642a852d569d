"""Time the book on this machine: `make bench`. Compare ratios, not absolute times.

Everything is measured in one run: the same page with and without its panel, so that the
machine's speed cancels out. Beside a number stands its budget, where it has one.
`--no-build` takes the book that is built.
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
from widgets.book import validation  # noqa: E402

CHAPTER, SLOWEST = "chapters/moe_serving.html", "chapters/autoscaling.html"
LOADS, MOVES = 9, 80
COMPRESSED = {".html", ".css", ".js", ".svg", ".json"}


def budget(what: str, value: float, limit: float, unit: str = "ms", digits: int = 0) -> None:
    """Print a number beside the most that it may be."""
    mark = "ok" if value <= limit else "OVER"
    print(f"  {what:46} {value:8.{digits}f} {unit:3} of {limit:g} {unit}".ljust(74), mark)


def plain_copy(folder: Path) -> str:
    """The same chapter with the same theme, its panel, its specs, and all that serves them
    taken out."""
    html = (SITE / CHAPTER).read_text("utf-8")
    for part in (
        r'<section class="estimate-panel.*?</section>',
        r"<script[^>]*data-estimate-spec.*?</script>",
        r"<script>\(self\.bookEstimates.*?</script>",
        r"<script[^>]*workbench\.js[^>]*></script>",
        r"<link[^>]*panel\.css[^>]*>",
        r'<meta name="(?:plotly-src|draws-worker|estimate-names)"[^>]*>',
    ):
        html, found = re.subn(part, "", html, flags=re.S)
        if not found:
            raise RuntimeError(f"{CHAPTER} has no {part}: the plain page would be none.")
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
    page = opened(browser, url)
    page.locator(target).first.scroll_into_view_if_needed()
    page.wait_for_function(f"document.querySelector(`{target}`).querySelector('.main-svg')")
    page.wait_for_timeout(600)
    written, painted = page.evaluate(MOVE, [MOVES, "architecture" not in target])
    page.close()
    return written, painted


OPEN_SURE = """async () => {
  // How long the page cannot answer: the browser's own long tasks, and the widest gap of a ticker.
  let longest = 0, gap = 0, last = performance.now(), ticking = true;
  const observer = new PerformanceObserver(list => {
    for (const entry of list.getEntries()) longest = Math.max(longest, entry.duration);
  });
  observer.observe({type: "longtask"});
  const tick = () => {
    const now = performance.now();
    gap = Math.max(gap, now - last);
    last = now;
    if (ticking) setTimeout(tick);
  };
  tick();
  await new Promise(done => setTimeout(done, 100));
  gap = longest = 0;
  const start = performance.now();
  document.querySelector("[data-tool=sure]").click();
  const clicked = performance.now() - start;
  const node = document.querySelector("[data-uncertainty]");
  if (node.dataset.state !== "done") await new Promise(done => {
    new MutationObserver(() => node.dataset.state === "done" && done()).observe(node, {attributes: true});
  });
  const took = performance.now() - start;
  await new Promise(done => setTimeout(done, 60));
  ticking = false;
  observer.disconnect();
  document.querySelector("[data-tool=sure]").click();
  return [clicked, took, longest, gap];
}"""
TORNADO = """async (count) => {
  document.querySelector("[data-tool=matters]").click();
  const picks = [...document.querySelectorAll("[data-pane=matters] .ep-choice button")], took = [];
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    picks[i % picks.length].click();
    took.push(performance.now() - start);
    await new Promise(done => setTimeout(done, 20));
  }
  document.querySelector("[data-tool=matters]").click();
  return took;
}"""
HEIGHT = "document.querySelector('.estimate-panel .ep-card').getBoundingClientRect().height"


def opened(browser, url: str, width: int = 1280, height: int = 900):
    """A page whose sliders respond and that has come to rest."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(url, wait_until="load")
    page.wait_for_function("performance.getEntriesByName('estimates-ready').length")
    page.wait_for_timeout(1000)
    return page


def tools(browser, address: str) -> None:
    """The tornado and the draws, on the page and in its worker."""
    page = opened(browser, address + CHAPTER)
    budget("tornado, p95", percentile(page.evaluate(TORNADO, MOVES)), 20, digits=1)
    took = [page.evaluate(OPEN_SURE) for _ in range(9)]
    budget("10,000 draws, MoE, median", statistics.median(t for _, t, *_ in took), 150)
    page.close()
    page = opened(browser, address + SLOWEST)
    took = [page.evaluate(OPEN_SURE) for _ in range(5)]
    first, *later = (t for _, t, *_ in took)
    budget("10,000 draws, autoscaling, worker started", first, 1000)
    budget("10,000 draws, autoscaling, median after", statistics.median(later), 1000)
    print(f"  meanwhile the page rests {max(t[3] for t in took):.0f} ms at most", end="")
    print(f" (longest task {max(t[2] for t in took):.0f} ms; the click {took[0][0]:.0f} ms)")
    page.close()


def heights(browser, address: str) -> None:
    for width, height, most in ((1280, 900, 760), (390, 800, 1300)):
        page = opened(browser, address + CHAPTER, width, height)
        budget(f"panel at {width}×{height}", page.evaluate(HEIGHT), most, "px")
        page.close()


def percentile(values: list[float], part: float = 95) -> float:
    return float(np.percentile(values, part))


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


def errors() -> None:
    """Median errors of TPOT against the runs that the constants were not fitted to."""
    unseen = validation.unseen()
    found, dense = unseen.errors(), np.asarray(unseen.runs["dense"])
    budget("all", 100 * validation.median_error(found), 13.5, "%", digits=1)
    budget("dense models", 100 * validation.median_error(found[dense]), 12, "%", digits=1)
    for name, chosen in validation.groups(unseen, found).items():
        most = 20 if name.startswith("family") else 100
        size = 100 * validation.median_error(chosen)
        budget(f"{name} ({len(chosen)} runs)", size, most, "%", digits=1)
    plain = validation.median_error(unseen.errors(**validation.textbook()))
    print(f"  with the data sheet's constants {100 * plain:.1f} %")


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


def responses(browser, address: str, plain: str) -> None:
    """Until sliders respond, against the same page without its panel."""
    load_times(browser, address + CHAPTER, True)  # fills the server's and the disk's caches
    load_times(browser, address + plain, False)
    pairs = [
        (load_times(browser, address + CHAPTER, True), load_times(browser, address + plain, False))
        for _ in range(LOADS)
    ]
    ready = statistics.median(panel[0] for panel, _ in pairs)
    parsed = statistics.median(base[0] for _, base in pairs)
    loaded = statistics.median(base[1] for _, base in pairs)
    budget("sliders respond, median", ready, 250)
    print(f"  {'the page without its panel: parsed, loaded':46} {parsed:8.0f} ms, {loaded:.0f} ms")
    budget("sliders respond over the plain page parsed", ready / parsed, 1.3, "×", 2)


def pages(browser, address: str, plain: str) -> None:
    print("Until sliders respond")
    responses(browser, address, plain)
    print("From a slider's event")
    for label, target, most in (
        ("figure", ".estimate-panel .ep-pane:not([hidden]) .estimate-plot", 50),
        ("diagram", "figure.estimate-figure[data-figure=architecture] .estimate-plot", 25),
    ):
        written, painted = moves(browser, address + CHAPTER, target)
        print(f"  ({label} in view: numbers {spread(written)}; {label} {spread(painted)})")
        budget(f"numbers written, p95, {label} in view", percentile(written), 4, digits=1)
        budget(f"{label} painted, p95", percentile(painted), most)
    print("What a reader does with it")
    tools(browser, address)
    print("Room and weight")
    heights(browser, address)
    first, second = page_bytes(browser, address, [CHAPTER, "chapters/framework.html"])
    budget("first chapter page, compressed", first / 1000, 600, "kB")
    budget("a second one", second / 1000, 90, "kB")
    print("Evaluation in JavaScript")
    javascript_evaluations(browser)


def main() -> None:
    if "--no-build" not in sys.argv[1:]:
        print("Build")
        build_time()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site = Path(folder)
        shutil.copytree(SITE, site, dirs_exist_ok=True)
        plain = plain_copy(site)
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        with served(site) as address:
            pages(browser, address, plain)
        browser.close()
    print("Evaluation in Python")
    evaluations()
    print("How far off: TPOT against runs kept out of the fit")
    errors()


if __name__ == "__main__":
    main()
