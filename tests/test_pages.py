"""The published pages in a real browser.

Every page is opened in both languages; each opening goes through light and dark, 1280 and
390 px. What is put into a page is tested in `test_inputs.py`, what is done with it in
`test_workbench.py` and `test_tools.py`.
"""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from served import LANGUAGES, SITE, Panel, full, pages, panels, served, with_panels

from widgets import load
from widgets.show.words import STRINGS

PAGES = pages()
MOE = "chapters/moe_serving.html"
MODES = [("light", 1280), ("dark", 1280), ("dark", 390), ("light", 390)]
JUDGED = [("light", 1280), ("dark", 390)]
"""axe takes a minute for the largest page: it sees each theme and each width once."""
FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
BEYOND = {"wcag2aaa"}
"""Rules of this level ask for more than the book promises (a contrast of 7, for example)."""

AXE = """async (beyond) => {
  const rules = axe.getRules().filter(one => !one.tags.some(tag => beyond.includes(tag)));
  const enabled = Object.fromEntries(rules.map(one => [one.ruleId, {enabled: true}]));
  const found = await axe.run(document, {rules: enabled, resultTypes: ["violations"]});
  // The names in a formula can be pressed. axe takes a formula for a picture without parts, as
  // ARIA 1.1 did, and allows <math> no other role; MathML Core lets its parts have the focus.
  // Like a link in a line of text, a name is as large as its formula.
  const known = (id, node) => id === "nested-interactive" && node.html.startsWith("<math")
    || id === "target-size" && /^<m\\w+ [^>]*data-ref=/.test(node.html);
  return found.violations
    .map(one => [one.id, one.nodes.filter(n => !known(one.id, n)).slice(0, 3).map(n => n.html.slice(0, 160))])
    .filter(([, nodes]) => nodes.length);
}"""


def complaints(page) -> list:
    """What axe finds with all its rules, experimental ones and best practice too."""
    if not page.evaluate("typeof window.axe === 'object'"):
        page.evaluate(AXE_SCRIPT)
    return page.evaluate(AXE, sorted(BEYOND))


def scroll_through(page):
    """Bring every figure into view, so that it is drawn."""
    page.evaluate(
        """async () => {
          const frame = () => new Promise(done => requestAnimationFrame(done));
          for (let y = 0; y < document.documentElement.scrollHeight; y += 600) {
            scrollTo(0, y); await frame(); await frame(); await frame();
          }
          scrollTo(0, 0);
        }"""
    )


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
        if (theme, width) in JUDGED:
            # Boxes that now scroll are made reachable by an observer, after the next layout.
            page.evaluate(FRAMES)
            assert not complaints(page), (theme, width)


@pytest.mark.parametrize("tool", ["formulas", "matters", "sure", "solve"])
def test_tools_are_clean_too(tool, language, opened):
    """Opened, with B pinned, a slider moved, a refused text and a popover, on a phone."""
    panel = Panel(opened(LANGUAGES[language] + MOE, size=(390, 800)), "moe_serving")
    panel.page.evaluate("document.querySelector('.ep-pin').click()")
    panel.slide("request_rate", 0.9)
    panel.enter("prefix_hit_rate", "abc")
    panel.tool(tool)
    if tool == "formulas":
        panel.root.locator("[data-pane=formulas] .ep-result").first.click()
        panel.page.locator(".estimate-number").first.click()
    panel.page.wait_for_function(
        "() => document.querySelector('[data-uncertainty]')?.dataset.state !== 'running'"
    )
    assert not complaints(panel.page)


@pytest.mark.parametrize("path", [MOE, "chapters/autoscaling.html", "chapters/calculators.html"])
def test_forced_colours(path, opened):
    """Tracks, thumbs and verdicts do not rest on colours that are taken away."""
    page = opened(path, forced_colors="active")
    page.locator(".ep-track").first.wait_for()
    painted = page.locator(".ep-row").first.evaluate(
        """row => {
          const paint = (one, pseudo) => {
            const style = getComputedStyle(one, pseudo);
            return [style.backgroundColor, style.borderTopWidth, style.forcedColorAdjust].join(" ");
          };
          const track = row.querySelector(".ep-track");
          return [null, "::before", "::after"].map(pseudo => paint(track, pseudo));
        }"""
    )
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    seen = [one for one in painted if not one.startswith(("rgba(0, 0, 0, 0)", back))]
    assert seen, painted
    assert not complaints(page)


@pytest.mark.parametrize("path", sorted({p for p, _ in with_panels()}))
def test_without_script_the_defaults_are_there(path, language, opened):
    page = opened(LANGUAGES[language] + path, java_script_enabled=False)
    for name in panels(path):
        e = load(name)
        values, results = e.values({}), e()
        static = page.locator(f'.estimate-panel[data-estimate="{name}"] .estimate-static').first
        assert static.is_visible()
        assert static.locator("[data-output]").count() == len(e.outputs)
        assert static.locator("math").count() == len(e.outputs)
        key = next(iter(e.outputs))
        cells = static.locator(f'tr:has([data-output="{key}"]) td').all_inner_texts()
        wanted = full(e, key, values, results).replace("\u00a0", "")
        assert "".join(cells).replace("\u00a0", "") == wanted
    numbers = page.locator(".estimate-number output")
    assert all(t.strip() for t in numbers.all_text_contents())


def test_print_shows_the_static_table(opened):
    page = opened(MOE)
    page.emulate_media(media="print")
    assert page.locator(".estimate-static").first.is_visible()
    assert not page.locator("input[type=range]").first.is_visible()


def test_losing_case_is_visible(opened):
    panel = Panel(opened(MOE), "moe_serving")
    chip = lambda name: panel.root.locator(f'.ep-verdict[data-name="{name}"]')  # noqa: E731
    lost = chip("survives_decode_unit_loss")
    assert lost.get_attribute("data-verdict") == "no" and "✕" in lost.inner_text()
    assert STRINGS["bad"] in lost.text_content(), "also for who sees no sign"
    panel.root.locator(".ep-preset").select_option("sglang_96h100")
    assert "at short contexts" in panel.root.locator(".ep-status").inner_text()
    assert "✕" in chip("meets_tpot").inner_text()
    wanted = panel.estimate(**panel.values())
    for name, gives in panel.estimate.outputs.items():
        if gives.boolean:
            assert chip(name).get_attribute("data-verdict") == ("yes" if wanted[name] else "no")


def test_announcements_are_polite(opened):
    """One region speaks, once the reader rests; no number does by itself."""
    page = opened(MOE)
    slider = page.locator('.ep-in input[name="request_rate"]')
    slider.press("ArrowRight")
    assert "req/s" in slider.get_attribute("aria-valuetext")
    assert page.locator('output:not([aria-live="off"])').count() == 0
    assert page.locator("[aria-live=assertive], [role=alert]").count() == 0
    page.wait_for_function(
        "[...document.querySelectorAll('[role=status]')].some(e => /GPU/.test(e.textContent))"
    )


# --- where the page is opened -----------------------------------------------------------------

INLINE = re.compile(r"<script(?![^>]*\bsrc=)([^>]*)>(.*?)</script>", re.S)


def policy(file) -> dict[str, str]:
    """`script-src 'self'` and the hashes of a page's own inline scripts."""
    if file.suffix != ".html" or not file.is_file():
        return {}
    scripts = [body for kind, body in INLINE.findall(file.read_text("utf-8")) if "json" not in kind]
    hashes = {base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts}
    listed = " ".join(f"'sha256-{one}'" for one in sorted(hashes))
    return {"Content-Security-Policy": f"script-src 'self' {listed}"}


@pytest.mark.parametrize("path", [MOE, "chapters/autoscaling.html", "chapters/calculators.html"])
def test_the_page_works_without_eval(path, browser):
    """Under a policy of its own scripts only: sliders, figures and the worker that draws."""
    with served(headers=policy) as strict:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page, heard = context.new_page(), []
        page.on("console", lambda m: heard.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: heard.append(str(e)))
        answer = page.goto(strict + path)
        assert "'self'" in answer.headers["content-security-policy"]
        page.locator("section.estimate-panel.is-mounted .ep-card").wait_for()
        name = page.locator("section.estimate-panel").first.get_attribute("data-estimate")
        panel = Panel(page, name)
        key = panel.inputs.locator("[data-rank=first]").first.get_attribute("data-name")
        before = panel.value(key)
        assert panel.slide(key, 0.9)[0] != before
        panel.check(panel.values())
        panel.root.locator(".ep-stage").scroll_into_view_if_needed()
        panel.root.locator(".ep-pane:not(.is-off) .js-plotly-plot").wait_for()
        panel.tool("sure")
        page.wait_for_function(
            "() => document.querySelector('[data-uncertainty]').dataset.state === 'done'"
        )
        context.close()
        assert not heard, heard


@pytest.mark.parametrize("path", [MOE, "chapters/framework.html"])
def test_a_page_from_a_file(path, language, browser):
    """Opened without a server: sliders respond, draws are made."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, heard = context.new_page(), []
    page.on("pageerror", lambda e: heard.append(str(e)))
    page.goto((SITE / LANGUAGES[language] / path).as_uri())
    page.wait_for_function("performance.getEntriesByName('estimates-ready').length")
    name = panels(path)[-1]
    panel = Panel(page, name)
    values = panel.estimate.values({})
    for key in list(values)[:3]:
        values[key], _, _ = panel.slide(key, 0.8)
    panel.check(values)
    if "." not in name:
        panel.tool("sure")
        page.wait_for_function(
            "() => document.querySelector('[data-uncertainty]').dataset.state === 'done'"
        )
    context.close()
    assert not heard, heard


def test_theme_and_navigation(opened):
    """The theme button goes round and is remembered; the chapters fold out on a phone."""
    page = opened(MOE, size=(390, 800))
    theme = lambda: page.evaluate("document.documentElement.dataset.mode")  # noqa: E731
    seen = [theme()]
    for _ in range(2):
        page.locator(".theme-switch").click()
        seen.append(theme())
    assert sorted(seen) == ["auto", "dark", "light"]
    page.reload()
    assert theme() == seen[-1]
    toggle = page.locator(".navigation-toggle")
    toggle.click()
    assert toggle.get_attribute("aria-expanded") == "true"
    assert page.locator("#book-navigation a").first.is_visible()


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
