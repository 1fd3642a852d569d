"""The published pages in a real browser.

Every page is opened in both languages; each opening goes through light and dark, 1280 and
390 px. Sliders: on every page with a panel, in English, all kinds of elements are compared
with what Python computes; the sample is said in the test's output (`-rP`).
"""

from __future__ import annotations

import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import random_assumptions
from served import LANGUAGES, SITE, bare_number, cell, pages, served, shown

from widgets import book, load
from widgets.show.bindings import resolve

PAGES = pages()
MODES = [("light", 1280), ("dark", 1280), ("dark", 390), ("light", 390)]
HOSTILE = [
    "?moe_serving.request_rate=<script>window.hacked=1</script>",
    "?moe_serving.request_rate=1e999",
    "?moe_serving.request_rate=NaN",
    "?moe_serving.request_rate=%22%3E%3Cimg%20src=x%20onerror=window.hacked=1%3E",
    "?moe_serving.__proto__=1&moe_serving.constructor=2",
    "?moe_serving.no_such_name=3",
]


@pytest.fixture(scope="module")
def site():
    with served() as address:
        yield address


@pytest.fixture
def opened(browser, site):
    """open(path, **context) → page; on leaving, the console was silent and no host but ours
    was asked."""
    contexts, complaints = [], []

    def open_page(path, **options):
        context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console",
            lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda e: complaints.append(str(e)))
        page.on(
            "request",
            lambda r: (
                None if r.url.startswith((site, "blob:", "data:")) else complaints.append(r.url)
            ),
        )
        page.goto(site + path)
        if options.get("java_script_enabled", True) and page.locator("[data-estimate]").count():
            page.wait_for_function("performance.getEntriesByName('estimates-ready').length")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints, complaints


def scroll_through(page):
    """Bring every figure into view, so that it is drawn."""
    page.evaluate(
        """async () => {
          for (let y = 0; y < document.documentElement.scrollHeight; y += 600) {
            scrollTo(0, y); await new Promise(done => setTimeout(done, 60));
          }
          scrollTo(0, 0);
        }"""
    )


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("path", PAGES)
def test_page_is_clean_in_every_mode(path, language, opened):
    page = opened(LANGUAGES[language] + path)
    assert page.evaluate("document.documentElement.lang") == {"en": "en", "zh": "zh-CN"}[language]
    for k, (theme, width) in enumerate(MODES):
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        if k % 2 == 0 and page.locator("[data-estimate]").count():
            scroll_through(page)  # figures are drawn; a change of theme draws those in view anew
        # A figure follows a new width in the next frame, so the page gets a moment.
        page.wait_for_function(
            "w => document.documentElement.scrollWidth <= w", arg=width, timeout=5000
        )
        found = Axe().run(page).response["violations"]
        assert not found, [(v["id"], [n["html"][:120] for n in v["nodes"][:3]]) for v in found]


def panels(path):
    """Names of the estimates whose panels a page shows."""
    slug = path.rpartition("/")[2].removesuffix(".html")
    html = (SITE / path).read_text("utf-8")
    own = [n for n in book.all_estimates() if book.slug_of(n) == slug]
    return [n for n in own if re.search(rf'estimate-panel[^>]*data-estimate="{n}"', html)]


WITH_PANEL = [(p, n) for p in PAGES for n in panels(p)]


def move(page, estimate, name, stop):
    """Move a slider as a reader does, by its own value, and tell the base-unit number."""
    slider = page.locator(
        f'.estimate-panel[data-estimate="{estimate}"] input[type=range][name="{name}"]'
    )
    return slider.evaluate(
        """(input, part) => {
          input.value = Math.round(part * Number(input.max));
          input.dispatchEvent(new Event("input", {bubbles: true}));
          return Number(input.dataset.value);
        }""",
        stop,
    )


def read(page, estimate):
    return page.evaluate(
        """name => [...document.querySelectorAll("[data-output], [data-assumption], [data-what-if]")]
          .filter(e => (e.closest("[data-estimate]") ?? e).dataset.estimate === name)
          .map(e => ({...e.dataset, text: e.textContent.trim(), inPanel: !!e.closest(".estimate-panel"), inStatic: !!e.closest(".estimate-static")}))""",
        estimate,
    )


def check_numbers(page, e, values):
    """Every visible number of the estimate on the page is what Python computes."""
    result = e(**values)
    seen = read(page, e.name)
    assert {s["output"] for s in seen if "output" in s} >= set(e.outputs)
    for s in seen:
        if "whatIf" in s:
            key, at = s["whatIf"], e.overridden(values, json.loads(s["with"]))
            value = at[key] if key in at else e(**at)[key]
        else:
            key = s.get("output") or s["assumption"]
            value = values[key] if key in values else result[key]
        declared = e.assumptions.get(key) or e.outputs[key]
        if isinstance(value, bool):
            assert s["value"] == str(value).lower(), key
        else:
            assert float(s["value"]) == pytest.approx(value, rel=1e-9, abs=1e-300), key
        wanted = {
            shown(declared, value) if not s["inPanel"] else cell(declared, value),
            bare_number(declared, value) if s.get("style") == "number" or s["inStatic"] else "",
        }
        assert s["text"] in wanted, (key, s["text"], wanted)


@pytest.mark.parametrize(("path", "name"), WITH_PANEL)
def test_sliders_move_everything(path, name, opened):
    """Each slider goes to one random stop, all together; then text, data and figures are read."""
    e, page = load(name), opened(path)
    draws = random_assumptions(e, 3, seed=23)
    values = e.values({})
    check_numbers(page, e, values)
    for k, assumption in enumerate(e.assumptions):
        part = (float(draws[assumption][2]) % 1 + 0.37 * k) % 1
        values[assumption] = move(page, name, assumption, part)
    check_numbers(page, e, values)
    drawn = book.figures(name)
    if drawn:
        check_figures(page, e, drawn, values)


def check_figures(page, e, drawn, values):
    scroll_through(page)
    shown_here = [f for f in drawn if page.locator(f'[data-figure="{f.id}"]').count()]
    assert "." in e.name or len(shown_here) == len(drawn), "a chapter shows all its figures"
    for figure in shown_here:
        host = page.locator(f'[data-figure="{figure.id}"]').first
        tab = page.get_by_role("tab", name=figure.title, exact=True)
        if not figure.page and tab.count():
            tab.first.click()
        host.scroll_into_view_if_needed()
        page.wait_for_function(
            "id => document.querySelector(`[data-figure='${id}'] .js-plotly-plot`)", arg=figure.id
        )
        page.wait_for_timeout(150)
        if figure.kind == "figure":
            check_drawn_data(host, e, figure, values)
        else:
            check_drawn_labels(host, e, figure, values)
        caption = host.locator("figcaption").inner_text()
        assert caption == fill_text(e, figure.alt, values)


def fill_text(e, template, values):
    from widgets.show.bindings import fill

    return fill(e, template, values)


def check_drawn_data(host, e, figure, values):
    """The first traces' y, as Plotly holds them, equal Python's; nought on a log axis is a gap."""
    wanted = resolve(e, [t["y"] for t in figure.spec()["wide"]["data"] if "y" in t], values)
    got = host.evaluate(
        "f => f.querySelector('.js-plotly-plot').data.map(t => Array.from(t.y ?? []))"
    )
    for ours, theirs in zip(wanted, got, strict=False):
        for a, b in zip(ours, theirs, strict=False):
            if b is not None and isinstance(a, float):
                assert b == pytest.approx(a, rel=1e-9), figure.id


def check_drawn_labels(host, e, figure, values):
    """The texts in the drawing are today's."""
    import html

    drawn = host.evaluate(
        "f => [...f.querySelectorAll('.annotation text')].map(t => t.textContent)"
    )
    joined = "".join(re.sub(r"\s", "", t) for t in drawn)
    labels = [a["text"] for a in figure.spec()["wide"]["layout"]["annotations"] if a.get("text")]
    for label in labels:
        text = html.unescape(re.sub(r"<[^>]+>", "", fill_text(e, label["template"], values)))
        assert re.sub(r"\s", "", text) in joined, (label["template"], joined)


def test_moving_request_rate_reaches_the_whole_moe_page(opened, site):
    page = opened("chapters/moe_serving.html")
    value = move(page, "moe_serving", "request_rate", 0.9)
    assert value > 1000
    wanted = load("moe_serving")(request_rate=value)
    prose = page.locator('.estimate-number output[data-output="total_gpus"]').first
    assert prose.inner_text() == shown(load("moe_serving").outputs["total_gpus"], wanted.total_gpus)
    page.wait_for_function("location.search.includes('request_rate')")
    assert f"moe_serving.request_rate={value:g}" in page.url
    again = opened(page.url.removeprefix(site))
    assert again.locator('input[name="request_rate"]').get_attribute("data-value") == f"{value:g}"
    other = again.locator("a.language-switch").get_attribute("href")
    assert "moe_serving.request_rate" in other, "the language switch carries the state"


@pytest.mark.parametrize("query", HOSTILE)
def test_hostile_address_changes_nothing_but_a_notice(query, opened):
    page = opened("chapters/moe_serving.html" + query)
    check_numbers(page, load("moe_serving"), load("moe_serving").values({}))
    assert page.locator(".estimate-notice").count() >= 1
    assert page.evaluate("window.hacked") is None
    assert page.locator(".estimate-notice script, .estimate-notice img").count() == 0


def test_out_of_range_address_is_clamped_with_a_notice(opened):
    page = opened("chapters/moe_serving.html?moe_serving.request_rate=1e9")
    assert page.locator('input[name="request_rate"]').get_attribute("data-value") == "10000"
    assert page.locator(".estimate-notice").count() == 1


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("path", sorted({p for p, _ in WITH_PANEL}))
def test_without_script_the_defaults_are_there(path, language, opened):
    page = opened(LANGUAGES[language] + path, java_script_enabled=False)
    for name in panels(path):
        e = load(name)
        static = page.locator(f'.estimate-panel[data-estimate="{name}"] .estimate-static').first
        assert static.is_visible()
        assert static.locator("[data-output]").count() == len(e.outputs)
        assert static.locator("math").count() == len(e.outputs)
        key = next(iter(e.outputs))
        text = static.locator(f'[data-output="{key}"]').first.inner_text()
        if language == "en":
            assert cell(e.outputs[key], e()[key]).startswith(text.split("\u00a0")[0])
    numbers = page.locator(".estimate-number output")
    assert all(t.strip() for t in numbers.all_text_contents())


def test_print_shows_the_static_table(opened):
    page = opened("chapters/moe_serving.html")
    page.emulate_media(media="print")
    assert page.locator(".estimate-static").first.is_visible()
    assert not page.locator("input[type=range]").first.is_visible()


def test_losing_case_is_visible(opened):
    page = opened("chapters/moe_serving.html")
    verdict = page.locator('[data-verdict="survives_decode_unit_loss"]')
    assert "✕" in verdict.inner_text() and "67%" in verdict.inner_text()
    page.get_by_label("Preset").select_option("sglang_96h100")
    assert "missed" in page.locator(".ep-preset-note").inner_text()
    assert "✕" in page.locator('[data-verdict="meets_tpot"]').inner_text()


def test_keyboard_moves_a_slider_and_the_announcement_is_polite(opened):
    page = opened("chapters/moe_serving.html")
    slider = page.locator('input[name="request_rate"]')
    slider.focus()
    before = slider.get_attribute("data-value")
    page.keyboard.press("ArrowRight")
    assert slider.get_attribute("data-value") != before
    assert "req/s" in slider.get_attribute("aria-valuetext")
    assert page.locator('output:not([aria-live="off"])').count() == 0
    page.wait_for_function(
        "[...document.querySelectorAll('[role=status]')].some(e => /GPU/.test(e.textContent))"
    )


def test_a_number_explains_itself(opened):
    page = opened("chapters/moe_serving.html")
    page.locator('.estimate-number:has(output[data-output="total_gpus"])').first.click()
    page.wait_for_selector(".estimate-popover math, .estimate-popover .ep-formula")
    page.keyboard.press("Escape")


def test_search_finds_english_and_chinese_words(opened):
    for path, word in (("search.html", "prefill"), ("zh/search.html", "预填充")):
        page = opened(f"{path}?q={word}")
        page.wait_for_selector("#search-results li a")


def test_internal_links_lead_somewhere(site):
    from html.parser import HTMLParser
    from urllib.parse import unquote, urljoin, urlparse

    class Links(HTMLParser):
        def __init__(self):
            super().__init__()
            self.links, self.ids = [], set()

        def handle_starttag(self, tag, attrs):
            got = dict(attrs)
            self.ids.add(got.get("id"))
            if tag == "a" and got.get("href"):
                self.links.append(got["href"])

    parsed = {}
    for file in SITE.rglob("*.html"):
        parsed[file] = Links()
        parsed[file].feed(file.read_text("utf-8"))
    bad = []
    for file, links in parsed.items():
        base = site + file.relative_to(SITE).as_posix()
        for href in links.links:
            url = urlparse(urljoin(base, href))
            if not url.geturl().startswith(site):
                continue
            target = SITE / unquote(url.path).lstrip("/")
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (
                url.fragment
                and target in parsed
                and unquote(url.fragment) not in parsed[target].ids
            ):
                bad.append((file.name, href))
    assert not bad, bad[:10]
