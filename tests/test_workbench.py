"""The workbench: its layout, and what a reader does with it, as the issue measures them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from served import LANGUAGES, Panel, chapters, full

from widgets import load
from widgets.language import translate
from widgets.show.stops import stops
from widgets.show.words import STRINGS

CHAPTERS = chapters()
MOE = "chapters/moe_serving.html"
SLACK = 1.15  # the figures are the MoE chapter's; the others have 15% more


def limit(name: str, size: float) -> float:
    return size if name == "moe_serving" else size * SLACK


def moe(opened, language="en", query="", **options) -> Panel:
    return Panel(opened(LANGUAGES[language] + MOE + query, **options), "moe_serving")


def word(key: str) -> str:
    return translate(STRINGS[key])


# --- layout ---------------------------------------------------------------------------------

BOXES = """root => {
  const box = (one) => { const r = one.getBoundingClientRect(); return [r.top, r.bottom]; };
  const last = (css) => Math.max(...[...root.querySelectorAll(css)].map(one => box(one)[1]));
  const [top] = box(root.querySelector("[data-headline]"));
  const [cardTop, cardBottom] = box(root.querySelector(".ep-card"));
  return {
    card: cardBottom - cardTop,
    sliders: last(".ep-in [data-rank=first] input[type=range]") - top,
    figure: last(".ep-pane:not(.is-off)") - top,
    out: box(root.querySelector(".ep-out"))[1] - box(root.querySelector(".ep-out"))[0],
    first: root.querySelectorAll(".ep-in [data-rank=first]").length,
  };
}"""


@pytest.mark.parametrize(("path", "name"), CHAPTERS)
def test_one_screen_on_a_desktop(path, name, language, opened):
    """Headline, verdicts, first-rank sliders and a figure in one sight; no page wider than its
    window, whatever that is."""
    panel = Panel(opened(LANGUAGES[language] + path), name)
    got = panel.root.evaluate(BOXES)
    assert 1 <= got["first"] <= 7
    assert got["card"] <= limit(name, 760), got
    assert max(got["sliders"], got["figure"]) <= limit(name, 620), got
    for width in (320, 390, 768, 1024, 1280, 1920):
        panel.page.set_viewport_size({"width": width, "height": 900})
        panel.page.wait_for_function(
            "w => document.documentElement.scrollWidth <= w", arg=width, timeout=4000
        )


WALK = """root => {
  const head = document.querySelector(".book-header");
  const rows = [...root.querySelectorAll(".ep-in [data-rank=first]")];
  const numbers = [...root.querySelectorAll("[data-headline] output")], out = root.querySelector(".ep-out");
  const strip = root.querySelector("[data-headline]");
  const box = (one) => one.getBoundingClientRect();
  const shown = (one) => {
    const r = box(one), at = document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2);
    return r.top >= 0 && r.bottom <= innerHeight && Boolean(at) && (strip.contains(at) || one.contains(at));
  };
  const sliders = rows.map(row => row.querySelector(".ep-track"));
  const from = scrollY + box(sliders[0]).bottom - innerHeight;
  const to = scrollY + box(sliders.at(-1)).top - out.offsetHeight - (head && getComputedStyle(head).position === "sticky" ? head.offsetHeight : 0);
  const lost = [];
  for (let y = Math.ceil(Math.max(0, from)); y <= to; y += 16) {
    scrollTo({top: y, behavior: "instant"});
    const edge = box(out).bottom;
    const slider = sliders.some(one => box(one).top >= edge - 1 && box(one).bottom <= innerHeight + 1);
    if (!numbers.every(shown) || !slider) lost.push([y, numbers.map(shown), slider]);
  }
  return {lost, from, to};
}"""


@pytest.mark.parametrize(("path", "name"), CHAPTERS)
def test_headline_and_a_slider_in_sight_on_a_phone(path, name, language, opened):
    panel = Panel(opened(LANGUAGES[language] + path, size=(390, 800)), name)
    got = panel.root.evaluate(BOXES)
    assert got["card"] <= limit(name, 1300), got
    assert got["out"] <= 290, got
    walk = panel.root.evaluate(WALK)
    assert not walk["lost"], (walk["from"], walk["to"], walk["lost"][:3])


@pytest.mark.parametrize(("path", "name"), CHAPTERS)
def test_headline_and_a_slider_in_sight_at_twice_the_size(path, name, language, opened):
    """640×450 is a small window at 200%: the figure folds, strip and sliders share the screen."""
    panel = Panel(opened(LANGUAGES[language] + path, size=(640, 450)), name)
    slider = panel.inputs.locator("[data-rank=first] input[type=range]").first
    slider.evaluate("one => one.scrollIntoView({block: 'end', behavior: 'instant'})")
    for one in (panel.root.locator("[data-headline] output").first, slider):
        box = one.bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 450, box
    assert panel.root.locator(".ep-stage").is_hidden()


def test_folded_results_stay_in_the_page(opened):
    panel = moe(opened)
    results = panel.root.locator("[data-pane=formulas] [data-output]")
    assert results.count() == len(panel.estimate.outputs)
    assert not results.first.is_visible()
    panel.tool("formulas")
    assert results.first.is_visible()


def test_moving_a_slider_brings_up_its_figure(opened):
    from widgets import book

    panel = moe(opened)
    figures = [f for f in book.figures("moe_serving") if f.kind == "figure" and not f.page]
    # The tab shows the figure that has the moved assumption on its x axis.
    for figure in figures:
        if not panel.row(figure.x.of).get_attribute("data-rank"):
            continue
        panel.slide(figure.x.of, 0.4)
        chosen = panel.root.get_by_role("tab", selected=True).inner_text()
        assert chosen in [f.title for f in figures if f.x.of == figure.x.of]


# --- mine: marks, undo, redo, reset -----------------------------------------------------------


def test_marks_undo_redo_and_reset(language, opened):
    panel = moe(opened, language)
    e, page = panel.estimate, panel.page
    undo, redo, reset = (panel.button(word(key)) for key in ("undo", "redo", "reset"))
    assert undo.is_disabled() and redo.is_disabled() and reset.is_disabled()
    # One slider dragged through many stops is one step, another slider is the next.
    for part in (0.5, 0.6, 0.7, 0.8, 0.9):
        first, _, _ = panel.slide("request_rate", part)
    second, _, _ = panel.slide("prefix_hit_rate", 0.2)
    default = {k: float(e.assumptions[k].default) for k in ("request_rate", "prefix_hit_rate")}
    now = lambda: (panel.value("request_rate"), panel.value("prefix_hit_rate"))  # noqa: E731
    assert "is-changed" in panel.row("request_rate").get_attribute("class")
    undo.click()
    assert now() == (first, default["prefix_hit_rate"])
    undo.click()
    assert now() == tuple(default.values()) and undo.is_disabled()
    assert "is-changed" not in panel.row("request_rate").get_attribute("class")
    redo.click()
    redo.click()
    assert now() == (first, second) and redo.is_disabled()
    panel.slider("request_rate").focus()
    page.keyboard.press("Control+z")
    assert now() == (first, default["prefix_hit_rate"])
    page.keyboard.press("Control+Shift+z")
    assert now() == (first, second)
    panel.row("request_rate").locator(".ep-reset-one").click()
    assert now() == (default["request_rate"], second)
    reset.click()
    assert panel.values() == e.values({}) and reset.is_disabled()
    undo.click()
    assert now() == (default["request_rate"], second)
    panel.check(panel.values())


def test_moves_apart_in_time_are_steps_apart(opened):
    panel = moe(opened)
    a, _, _ = panel.slide("request_rate", 0.8)
    panel.page.wait_for_timeout(1100)  # what is apart by more than a second
    panel.slide("request_rate", 0.9)
    panel.button("Undo").click()
    assert panel.value("request_rate") == a


def test_a_folded_group_says_how_many_changed(language, opened):
    panel = moe(opened, language).unfold()
    group = panel.inputs.locator("details.ep-more").first
    names = group.locator(".ep-row").evaluate_all("all => all.map(one => one.dataset.name)")
    mark = group.locator(".ep-folded-mark")
    assert mark.inner_text() == ""
    for k, name in enumerate(names[:2]):
        a = panel.estimate.assumptions[name]
        panel.slide(name, 0.0 if stops(a)[0] != a.default else 1.0)
        assert mark.inner_text() == word("changed_count").replace("{n}", str(k + 1))


def test_the_preset_says_what_stands(opened):
    panel = moe(opened)
    picker, status = panel.root.locator(".ep-preset"), panel.root.locator(".ep-status")
    for key, preset in panel.estimate.presets.items():
        picker.select_option(key)
        assert panel.values() == panel.estimate.values(preset.numbers())
        assert picker.input_value() == key
    panel.slide("request_rate", 0.9)
    assert picker.input_value() == ""
    assert word("you_changed") in status.inner_text()
    picker.select_option("textbook")
    assert panel.values() == panel.estimate.values({})


# --- compare --------------------------------------------------------------------------------


def test_compare_two_scenarios(language, opened):
    panel = moe(opened, language)
    e, page = panel.estimate, panel.page
    b_rate, _, _ = panel.slide("request_rate", 0.8)
    panel.button(word("pin")).click()
    a_rate, _, _ = panel.slide("request_rate", 0.3)
    headlines = [k for k, g in e.outputs.items() if g.headline]

    def shows(panel, a, b):
        a, b = e.values({"request_rate": a}), e.values({"request_rate": b})
        strip = panel.root.locator("[data-headline]")

        def texts(s, strip=strip):
            found = strip.locator(f'[data-scenario="{s}"]').all_text_contents()
            return [t.strip() for t in found]

        assert texts("a") == [full(e, k, a, e(**a)) for k in headlines]
        assert texts("b") == [f"B {full(e, k, b, e(**b))}" for k in headlines]
        panel.check(a)

    shows(panel, a_rate, b_rate)
    page.wait_for_function(
        "([a, b]) => { const q = new URLSearchParams(location.search); return "
        "q.get('moe_serving.request_rate') == a && q.get('b.moe_serving.request_rate') == b; }",
        arg=[a_rate, b_rate],
    )
    assert "b=moe_serving" in page.url
    page.wait_for_function(
        "() => [...document.querySelectorAll('.ep-pane:not(.is-off) .js-plotly-plot')]"
        ".some(plot => plot.data.some(t => t.meta?.kind === 'ghost-line'))"
    )
    again = Panel(opened(page.url), "moe_serving")
    shows(again, a_rate, b_rate)
    again.button(word("swap")).click()
    shows(again, b_rate, a_rate)
    again.button(word("undo")).click()
    shows(again, a_rate, b_rate)
    again.button(word("unpin")).click()
    assert again.root.locator('[data-scenario="b"]').count() == 0
    assert again.button(word("swap")).is_disabled()
    again.page.wait_for_function("!location.search.includes('b=')")
    ghosts = "() => document.querySelectorAll('.ep-pane:not(.is-off) .js-plotly-plot')[0]?.data.every(t => t.meta?.kind !== 'ghost-line')"
    again.page.wait_for_function(ghosts)


# --- in the sentence --------------------------------------------------------------------------


def number_in_prose(panel: Panel, name: str):
    css = f'.estimate-number.is-assumption:has([data-estimate="{panel.name}"][data-assumption="{name}"])'
    return panel.page.locator(css).first


def test_an_assumption_is_dragged_and_keyed_in_its_sentence(language, opened):
    panel = moe(opened, language)
    page, rests = panel.page, stops(panel.estimate.assumptions["request_rate"])
    number = number_in_prose(panel, "request_rate")
    assert number.get_attribute("role") == "slider"
    at = rests.index(panel.value("request_rate"))
    number.scroll_into_view_if_needed()
    box = number.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 20, y)
    page.mouse.move(x + 40, y)
    page.mouse.up()
    dragged = panel.value("request_rate")
    assert rests.index(dragged) > at + 2
    panel.check(panel.values())
    number.focus()
    page.keyboard.press("ArrowLeft")
    assert panel.value("request_rate") == rests[rests.index(dragged) - 1]
    assert number.get_attribute("aria-valuenow") == str(rests.index(dragged) - 1)


def test_a_sentence_opens_its_slider(language, opened):
    panel = moe(opened, language)
    page, number = panel.page, number_in_prose(panel, "request_rate")
    number.click()
    popover = page.locator(".estimate-popover")
    popover.locator("input[type=range]").wait_for()
    paragraph = number.locator(
        "xpath=ancestor::*[self::p or self::li or self::td][1]"
    ).bounding_box()
    box = popover.bounding_box()
    assert (
        box["y"] >= paragraph["y"] + paragraph["height"]
        or box["y"] + box["height"] <= paragraph["y"]
    )
    popover.locator("input[type=range]").focus()
    page.keyboard.press("End")
    assert panel.value("request_rate") == panel.estimate.assumptions["request_rate"].high
    page.keyboard.press("Escape")
    assert not popover.is_visible()
    assert number.evaluate("one => one === document.activeElement")


def test_a_result_opens_its_formula_and_the_next(opened):
    panel = moe(opened)
    page = panel.page
    number = page.locator('button.estimate-number:has(output[data-output="total_gpus"])').first
    number.click()
    popover = page.locator(".estimate-popover")
    names = popover.locator(".ep-formula").first.locator("[data-ref]")
    names.first.wait_for()
    for depth in range(1, 4):
        name = popover.locator(".ep-formula [data-ref][aria-expanded=false]").last
        if not name.count():
            break
        name.focus()
        page.keyboard.press("Enter")
        assert popover.locator(".ep-deeper > .ep-explained").count() >= 1, depth
    page.keyboard.press("Escape")
    assert not popover.is_visible()
    assert number.evaluate("one => one === document.activeElement")


# --- the dock ---------------------------------------------------------------------------------


def dock_of(panel: Panel):
    """Leap to a late section, as a link does; the dock is there."""
    panel.page.evaluate("location.hash = [...document.querySelectorAll('section[id]')].at(-1).id")
    panel.page.locator(".estimate-dock.is-shown").wait_for()
    return panel.page.locator(".estimate-dock")


def test_the_dock_and_its_drawer(language, opened):
    panel = moe(opened, language, reduced_motion="reduce")
    page, e = panel.page, panel.estimate
    assert page.locator(".estimate-dock.is-shown").count() == 0
    dock = dock_of(panel)
    dock.get_by_role("button", name=word("adjust")).click()
    drawer = page.locator(".estimate-drawer")
    first = panel.inputs.locator("[data-rank=first]").count()
    assert drawer.locator("input[type=range]").count() == first
    drawer.locator(".js-plotly-plot").wait_for()
    slider = drawer.locator('.ep-row[data-name="request_rate"] input[type=range]')
    slider.focus()
    page.keyboard.press("End")
    assert panel.value("request_rate") == e.assumptions["request_rate"].high
    values = panel.values()
    shown = [full(e, k, values, e(**values)) for k, g in e.outputs.items() if g.headline]
    assert [
        t.strip() for t in dock.locator(".ep-dock-head .ep-output").all_text_contents()
    ] == shown
    page.keyboard.press("Escape")
    assert drawer.is_hidden()
    dock.get_by_role("button", name=word("panel"), exact=True).click()
    page.wait_for_function("!document.querySelector('.estimate-dock.is-shown')")
    assert page.locator(".estimate-dock").evaluate("one => one.inert")


def test_the_dock_is_one_row_on_a_phone(opened):
    panel = moe(opened, size=(390, 800), reduced_motion="reduce")
    assert dock_of(panel).locator(".ep-dock-bar").bounding_box()["height"] == pytest.approx(
        44, abs=3
    )


# --- what is not in play ------------------------------------------------------------------------


def some_stops(a) -> np.ndarray:
    rests = stops(a)
    return np.array([*rests[:: max(1, len(rests) // 12)], rests[-1]])


def idle_in_python(e) -> set[str]:
    """Assumptions that move no result at the defaults, wherever they stand."""
    now = e()
    return {
        name
        for name, a in e.assumptions.items()
        if all(np.all(found == now[key]) for key, found in e(**{name: some_stops(a)}).items())
    }


@pytest.mark.parametrize(("path", "name"), CHAPTERS)
def test_a_slider_that_is_not_in_play_says_so(path, name, language, opened):
    """And why, in its author's words; every other one moves a result."""
    panel = Panel(opened(LANGUAGES[language] + path), name).unfold()
    wanted = idle_in_python(panel.estimate)
    assert {"autoscaling": {"code_share"}, "speculative_decoding": {"top_k"}}.get(
        name, set()
    ) <= wanted
    rows = panel.inputs.locator(".ep-row[data-idle]")
    if wanted:
        rows.first.wait_for()
    else:
        panel.page.wait_for_timeout(600)  # nothing is to come
    got = set(rows.evaluate_all("all => all.map(one => one.dataset.name)"))
    assert got == wanted
    for key in wanted:
        a = panel.estimate.assumptions[key]
        assert a.idle, f"{name}.{key} needs idle=…"
        words = panel.row(key).locator(".ep-idle").inner_text()
        assert words.startswith(word("idle")), words
        own = re.split(r"\{[^}]*\}", translate(a.idle))[0].strip()
        assert own[:20] in words, words


# --- calculators ------------------------------------------------------------------------------


def test_the_calculators_are_a_picker_and_one_panel(language, opened):
    page = opened(f"{LANGUAGES[language]}chapters/calculators.html?gateway.instances=7")
    page.locator("section.estimate-panel.is-mounted").wait_for()
    picker = page.locator("select.ep-picker")
    for name in ("gateway", "autoscaling"):
        picker.select_option(name)
        page.locator(f'section.estimate-panel.is-mounted[data-estimate="{name}"]').wait_for()
        assert page.locator("section.estimate-panel").count() == 1
    picker.select_option("gateway")
    panel = Panel(page, "gateway")
    panel.root.locator(".ep-card").wait_for()
    assert panel.value("instances") == 7
    value, _, _ = panel.slide("instances", 0.8)
    assert value in stops(load("gateway").assumptions["instances"])
    page.reload()
    page.locator("section.estimate-panel.is-mounted").wait_for()
    assert page.locator("section.estimate-panel").get_attribute("data-estimate") == "gateway"
