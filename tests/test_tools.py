"""What matters most, how sure, solve for, take it along: on the page as in Python."""

from __future__ import annotations

import csv
import io
from urllib.parse import urlencode

import pytest
from served import LANGUAGES, Panel, chapters, close, full

import widgets
from widgets import load
from widgets.engine.analysis import at_most
from widgets.show.words import STRINGS

CHAPTERS = chapters()
CHANGED = {"moe_serving": {"request_rate": 1200.0, "prefix_hit_rate": 0.42}}


def changed(opened, path, name, language="en") -> tuple[Panel, dict[str, float]]:
    """The panel at changed values where the chapter has some, and these values."""
    changes = CHANGED.get(name, {})
    query = urlencode({f"{name}.{k}": v for k, v in changes.items()})
    return Panel(opened(f"{LANGUAGES[language]}{path}?{query}"), name), changes


@pytest.mark.parametrize(("path", "name"), CHAPTERS)
def test_what_matters_most(path, name, opened):
    """Order and ends of each headline's tornado."""
    panel, changes = changed(opened, path, name)
    e, pane = panel.estimate, panel.tool("matters")
    values = e.values(changes)
    results = e(**values)
    for output in (k for k in e.headlines if not e.outputs[k].boolean):
        pane.locator(f'.ep-choice [data-value="{output}"]').click()
        frame = e.sensitivity(output, **changes)
        # What moves it by the last bits only does not; of two that move it as far either is first.
        size = frame[["at_low", "at_high"]].abs().max(axis=1)
        wanted = frame[frame["spread"] > 1e-9 * size].head(10)
        rows = pane.locator(".ep-tornado-row").evaluate_all(
            """all => all.map(row => [row.querySelector("[data-bring]").dataset.bring,
              row.querySelector(".ep-end-low").textContent, row.querySelector(".ep-end-high").textContent])"""
        )
        spreads = dict(zip(frame["assumption"], frame["spread"], strict=True))
        got = [spreads[key] for key, *_ in rows]
        assert len(rows) == len(wanted) and all(
            close(a, b) for a, b in zip(got, wanted["spread"], strict=True)
        ), output
        ends = frame.set_index("assumption")[["at_low", "at_high"]]
        for key, *texts in rows:
            low, high = sorted(ends.loc[key])
            assert texts == [short(e, output, values, {**results, output: x}) for x in (low, high)]
    pane.locator("[data-bring]").first.click()
    brought = panel.page.evaluate("document.activeElement.name")
    assert brought == rows[0][0], "a click brings the slider"


def short(e, output, values, results) -> str:
    """As the tools write a number: the unit where it is not a mere word."""
    display = e.outputs[output].display
    number, _ = e.parts(output, values, results)
    return full(e, output, values, results) if display.attach or len(display.ladder) > 1 else number


@pytest.mark.parametrize(("path", "name"), CHAPTERS)
def test_how_sure(path, name, opened):
    """P10, P50, P90 and shares are those of Python's draws, also where a worker draws."""
    panel, changes = changed(opened, path, name)
    e = panel.estimate
    panel.tool("sure")
    body = panel.root.locator("[data-uncertainty]")
    panel.page.wait_for_function(
        "() => document.querySelector('[data-uncertainty]').dataset.state === 'done'"
    )
    wanted = e.uncertainty(**changes)
    cells = body.locator("[data-p10]").evaluate_all("all => all.map(one => ({...one.dataset}))")
    numbers = [k for k in e.headlines if not e.outputs[k].boolean]
    assert [c["name"] for c in cells] == numbers
    for cell in cells:
        row = wanted.loc[cell["name"]]
        for key in ("p10", "p50", "p90"):
            assert float(cell[key]) == pytest.approx(row[key], rel=1e-9), (cell, key)
    shares = body.locator("[data-share]").evaluate_all("all => all.map(one => ({...one.dataset}))")
    assert [s["name"] for s in shares] == [k for k, g in e.outputs.items() if g.boolean]
    for one in shares:
        assert float(one["share"]) == pytest.approx(wanted.loc[one["name"], "share"], abs=2e-4), one


def answers(panel) -> dict[str, float]:
    return panel.root.locator("[data-solve]").evaluate(
        "all => Object.fromEntries([...all.querySelectorAll('.ep-answer')]"
        ".map(one => [one.dataset.name, Number(one.dataset.value)]))"
    )


@pytest.mark.parametrize(("path", "name"), CHAPTERS)
def test_solve_for_a_verdict(path, name, opened):
    """Each answer's value turns the verdict; no other assumption can, as far as Python sees."""
    panel, changes = changed(opened, path, name)
    e, pane = panel.estimate, panel.tool("solve")
    now = e(**changes)
    verdicts = [k for k, g in e.outputs.items() if g.boolean]
    asked = pane.get_by_label(STRINGS["result"], exact=True)
    for verdict in verdicts[:2]:
        asked.select_option(verdict)
        found = answers(panel)
        for key, value in found.items():
            assert e(**{**changes, key: value})[verdict] != now[verdict], (verdict, key, value)
        for key in [k for k in e.assumptions if k not in found][
            :: 6 if name == "autoscaling" else 2
        ]:
            solution = e.solve(for_=key, **{verdict: not now[verdict]}, **_without(changes, key))
            assert solution.value is None, (verdict, key, solution)


def _without(changes, key):
    # solve() takes the others as given; the one that moves starts from its default.
    return {k: v for k, v in changes.items() if k != key}


def test_solve_for_a_number(language, opened):
    """The target is met, "Try it" sets it; where nothing meets it the nearest miss is said."""
    panel = Panel(opened(f"{LANGUAGES[language]}chapters/moe_serving.html"), "moe_serving")
    e, pane = panel.estimate, panel.tool("solve")
    pane.locator("select").first.select_option("total_gpus")
    target = pane.locator("input.ep-box")
    wanted = round(0.7 * e().total_gpus)
    target.fill(str(wanted))
    found = answers(panel)
    assert found
    for key, value in found.items():
        assert e(**{key: value}).total_gpus <= wanted, (key, value)
    target.fill("1")
    assert answers(panel) == {}
    miss = panel.root.locator("[data-miss]")
    key = miss.get_attribute("data-miss")
    others = {k: e.solve(for_=k, total_gpus=at_most(1)).nearest_miss for k in e.assumptions}
    best = min(result for _, result in others.values())
    assert others[key][1] == pytest.approx(best)
    values = e.values({key: others[key][0]})
    assert full(e, "total_gpus", values, e(**values)) in miss.inner_text()
    target.fill("abc")
    assert "abc" in panel.root.locator("[data-solve] .ep-wrong").inner_text()
    target.fill(str(wanted))
    row = panel.root.locator(".ep-answer").first
    key, value = row.get_attribute("data-name"), float(row.get_attribute("data-value"))
    row.get_by_role("button").last.click()
    assert panel.value(key) == value
    values = panel.values()
    assert e(**values).total_gpus <= wanted
    panel.check(values)


def test_a_verdict_asks_what_would_turn_it(opened):
    panel = Panel(opened("chapters/moe_serving.html"), "moe_serving")
    chip = panel.root.locator(".ep-verdict[data-verdict=no]").first
    name = chip.get_attribute("data-name")
    chip.click()
    panel.page.locator(".estimate-popover").get_by_text(STRINGS["what_turns_it"]).click()
    pane = panel.root.locator('[data-pane="solve"]')
    assert pane.locator("select").first.input_value() == name
    assert answers(panel)


# --- take it along --------------------------------------------------------------------------


def taken(panel: Panel, item: str) -> str:
    """Text that an item of the menu puts on the clipboard."""
    panel.page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    menu = panel.root.locator(".ep-menu")
    menu.locator("summary").click()
    menu.get_by_text(item, exact=True).click()
    panel.page.wait_for_function("window.copied")
    return panel.page.evaluate("window.copied")


@pytest.mark.parametrize("name", ["moe_serving", "autoscaling", "multi_region"])
def test_the_call_in_python(name, opened):
    """The copied text is Python, and gives what the page shows; B is a second call."""
    panel = Panel(opened(f"chapters/{name}.html"), name)
    for k, key in enumerate(panel.estimate.assumptions):
        panel.slide(key, (0.2 + 0.37 * k) % 1)
    panel.button(STRINGS["pin"]).click()
    b = panel.values()
    panel.slide(next(iter(b)), 0.05)
    code = taken(panel, STRINGS["copy_python"])
    space = {"widgets": widgets}
    exec(code, space)
    assert dict(space["result"]) == dict(load(name)(**panel.values()))
    assert dict(space["b"]) == dict(load(name)(**b))
    panel.check(panel.values())


def test_the_link(opened):
    panel = Panel(opened("chapters/moe_serving.html?gateway.instances=7"), "moe_serving")
    value, _, _ = panel.slide("prefix_hit_rate", 0.33)
    panel.page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    panel.root.locator(".ep-copy").click()
    panel.page.wait_for_function("window.copied")
    link = panel.page.evaluate("window.copied")
    assert f"?moe_serving.prefix_hit_rate={value:g}" in link
    assert Panel(opened(link), "moe_serving").value("prefix_hit_rate") == value


def test_the_table_as_csv(language, opened):
    panel = Panel(opened(f"{LANGUAGES[language]}chapters/moe_serving.html"), "moe_serving")
    e = panel.estimate
    panel.slide("request_rate", 0.9)
    panel.root.locator(".ep-menu summary").click()
    with panel.page.expect_download() as waiting:
        panel.root.locator(".ep-item").nth(1).click()
    text = waiting.value.path().read_text("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    values = panel.values()
    results = e(**values)
    assert [row["name"] for row in rows] == [*e.assumptions, *e.outputs]
    for row in rows:
        value = values.get(row["name"], dict(results).get(row["name"]))
        if isinstance(value, bool):
            assert row["value"] == str(value).lower()
        else:
            assert close(float(row["value"]), value), row
        assert row["shown"] == full(e, row["name"], values, results)
        assert row["label"] == e.labels[row["name"]]


@pytest.mark.parametrize(("item", "begin"), [(2, b"<svg"), (3, b"\x89PNG")])
def test_the_figure_as_a_picture(item, begin, opened):
    panel = Panel(opened("chapters/moe_serving.html"), "moe_serving")
    panel.root.locator(".ep-stage").scroll_into_view_if_needed()
    panel.root.locator(".ep-pane:not(.is-off) .js-plotly-plot").wait_for()
    panel.root.locator(".ep-menu summary").click()
    with panel.page.expect_download() as waiting:
        panel.root.locator(".ep-item").nth(item).click()
    content = waiting.value.path().read_bytes()
    assert content.startswith(begin)
    assert len(content) > 5000
