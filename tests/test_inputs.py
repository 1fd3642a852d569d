"""Sliders, number boxes and the address: what a reader puts in, against what Python makes of it.

Sliders are moved on every page with a panel, in both languages, each to one random stop; figures
are compared at these values in English.
"""

from __future__ import annotations

import html
import re
from urllib.parse import parse_qs, urlencode, urlparse

import pytest
from conftest import random_assumptions
from served import LANGUAGES, Panel, close, full, panels, with_panels

from widgets import book, load
from widgets.language import translate
from widgets.show.bindings import fill, resolve
from widgets.show.stops import stops
from widgets.show.words import STRINGS

WITH_PANEL = with_panels()
MOE = "chapters/moe_serving.html"


def place(a, value: float) -> float:
    """Where a value stands on its slider, 0 to 1, in words of its own."""
    from math import log

    at = log if a.log else float
    return (at(value) - at(a.low)) / (at(a.high) - at(a.low))


# --- sliders --------------------------------------------------------------------------------


def move_all(panel: Panel, seed: int) -> dict[str, float]:
    """Each slider to a random stop; the value and the thumb are what Python says of that stop."""
    e = panel.estimate
    draws = random_assumptions(e, 3, seed=seed)
    values = {}
    for k, (name, a) in enumerate(e.assumptions.items()):
        part = (float(draws[name][2]) % 1 + 0.37 * k) % 1
        value, stop, thumb = panel.slide(name, part)
        rests = stops(a)
        assert stop == round(part * (len(rests) - 1)), name
        assert value == rests[stop], (name, value, rests[stop])
        assert thumb == pytest.approx(place(a, value), abs=1e-4), (name, thumb)
        values[name] = value
    return values


@pytest.mark.parametrize(("path", "name"), WITH_PANEL)
def test_sliders_move_everything(path, name, language, opened):
    """All sliders go to random stops; then texts, data, boxes and figures are read."""
    panel = Panel(opened(LANGUAGES[language] + path), name)
    panel.check(panel.estimate.values({}))
    values = move_all(panel, seed=23)
    assert panel.values() == values
    panel.check(values)
    e = panel.estimate
    for key, value in values.items():
        words = panel.slider(key).get_attribute("aria-valuetext")
        # The slider says a plain value: it is nobody's limit there.
        assert words == full_alone(e, key, value), key
    if language == "en":
        check_figures(panel, values)


def full_alone(e, name, value):
    from widgets.engine.units import join, split_value

    display = e.assumptions[name].display
    number, unit = split_value(display, value)
    return number + join(display, unit)


def check_figures(panel: Panel, values) -> None:
    page, drawn = panel.page, book.figures(panel.name)
    for figure in drawn:
        tab = panel.root.get_by_role("tab", name=figure.title, exact=True)
        if tab.count():
            tab.click()
            pane = f'[data-tab="{figure.id}"]'
        else:
            pane = f'figure.estimate-figure:not(.ep-pane)[data-figure="{figure.id}"]'
        host = page.locator(pane).first
        if not host.count():
            assert "." in panel.name, f"a chapter shows all its figures, also {figure.id}"
            continue
        host.scroll_into_view_if_needed()
        page.wait_for_function(
            "pane => document.querySelector(pane + ' .js-plotly-plot')?._fullLayout?.width",
            arg=pane,
        )
        settle(page)
        assert host.locator("figcaption").inner_text() == fill(panel.estimate, figure.alt, values)
        (check_plot if figure.kind == "figure" else check_labels)(host, panel, figure, values)


def settle(page):
    """Two frames: what was asked for in this one has been drawn."""
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


PLOT = """host => {
  const plot = host.querySelector(".js-plotly-plot"), full = plot._fullLayout;
  const axes = Object.keys(full).filter(key => /^[xy]axis\\d*$/.test(key));
  return {
    data: plot.data.map(t => ({x: Array.from(t.x ?? []), y: Array.from(t.y ?? [])})),
    ranges: Object.fromEntries(axes.map(key => [key, full[key].range])),
    ticks: [...plot.querySelectorAll(".xtick text, .ytick text")].length,
  };
}"""


def check_plot(host, panel: Panel, figure, values) -> None:
    """x and y of every trace as Plotly holds them, and the axes' ranges, are Python's."""
    wanted, got = resolve(panel.estimate, figure.spec()["wide"], values), host.evaluate(PLOT)
    layout = wanted["layout"]
    assert got["ticks"] > 0
    assert len(got["data"]) == len(wanted["data"]), figure.id
    for trace, drawn in zip(wanted["data"], got["data"], strict=True):
        for key in ("x", "y"):
            axis = layout[trace.get(f"{key}axis", key)[0] + "axis"]
            ours, theirs = list(trace.get(key) or []), drawn[key]
            assert len(ours) == len(theirs), (figure.id, key)
            for a, b in zip(ours, theirs, strict=True):
                where = (figure.id, trace.get("meta"), key, a, b)
                if isinstance(a, str):
                    assert a == b, where
                elif axis.get("type") == "log" and a <= 0:
                    assert b is None or b == a, where  # nought on a log axis is a gap
                else:
                    assert b is not None and close(b, a), where
    for key, drawn in got["ranges"].items():
        if "range" in layout.get(key, {}):
            assert drawn == pytest.approx(layout[key]["range"], rel=1e-9), (figure.id, key)


def check_labels(host, panel: Panel, figure, values) -> None:
    """The texts in a diagram are today's."""
    drawn = host.evaluate(
        "f => [...f.querySelectorAll('.annotation text')].map(t => t.textContent)"
    )
    joined = "".join(re.sub(r"\s", "", t) for t in drawn)
    labels = [a["text"] for a in figure.spec()["wide"]["layout"]["annotations"] if a.get("text")]
    for label in labels:
        filled = fill(panel.estimate, label["template"], values)
        text = html.unescape(re.sub(r"<[^>]+>", "", filled))
        assert re.sub(r"\s", "", text) in joined, (label["template"], joined)


def test_keys_go_from_stop_to_stop(opened):
    """Also from a typed value between two stops, to the next on either side; ends hold."""
    panel = Panel(opened(MOE), "moe_serving")
    rests, slider = stops(panel.estimate.assumptions["request_rate"]), panel.slider("request_rate")
    at = rests.index(1000.0)
    between = (rests[at] + rests[at + 1]) / 2
    for key, begin, wanted in [
        ("ArrowRight", 1000, rests[at + 1]), ("ArrowLeft", 1000, rests[at - 1]),
        ("ArrowUp", between, rests[at + 1]), ("ArrowDown", between, rests[at]),
        ("PageUp", 1000, rests[at + 5]), ("PageDown", 1000, rests[at - 5]),
        ("Home", 1000, rests[0]), ("ArrowLeft", rests[0], rests[0]),
        ("End", 1000, rests[-1]), ("ArrowRight", rests[-1], rests[-1]),
    ]:  # fmt: skip
        panel.enter("request_rate", f"{begin:g}")
        slider.press(key)
        assert panel.value("request_rate") == wanted, (key, begin)


# --- number boxes ---------------------------------------------------------------------------

TYPED = [  # (estimate, assumption, text, value); of None the text is refused
    ("moe_serving", "request_rate", "5k", 5000), ("moe_serving", "request_rate", "1,000", 1000),
    ("moe_serving", "request_rate", "1e3", 1000), ("moe_serving", "request_rate", "１０００", 1000),
    ("moe_serving", "request_rate", "0.2万", 2000), ("moe_serving", "request_rate", "2.5k", 2500),
    ("moe_serving", "request_rate", "5k req/s", 5000), ("moe_serving", "request_rate", "1e9", None),
    ("moe_serving", "request_rate", "abc", None), ("moe_serving", "request_rate", "1,5", None),
    ("moe_serving", "request_rate", "30 ms", None), ("moe_serving", "request_rate", "", None),
    ("moe_serving", "prefix_hit_rate", "50%", 0.5), ("moe_serving", "prefix_hit_rate", "70", 0.7),
    ("moe_serving", "prefix_hit_rate", "12.5", 0.125), ("moe_serving", "tpot_s", "30 ms", 0.03),
    ("moe_serving", "tpot_s", "0.03 s", 0.03), ("moe_serving", "usd_per_gpu_hour", "$3", 3),
    ("moe_serving", "usd_per_gpu_hour", "3 GB", None),
    ("moe_serving", "decode_unit_gpus", "2.5", None),
    ("multi_region", "model_bytes", "1.3 TB", 1.3e12), ("multi_region", "model_bytes", "600 GB", 6e11),
    ("multi_region", "model_bytes", "600 s", None),
]  # fmt: skip


@pytest.mark.parametrize("name", sorted({row[0] for row in TYPED}))
def test_typed_numbers(name, language, opened):
    """What people type is understood or refused with a reason; nothing changes in silence."""
    panel = Panel(opened(f"{LANGUAGES[language]}chapters/{name}.html"), name).unfold()
    for _, key, text, value in (row for row in TYPED if row[0] == name):
        before, written = panel.value(key), panel.row(key).locator(".ep-box").input_value()
        now, why, box = panel.enter(key, text)
        invalid = panel.row(key).locator(".ep-box").get_attribute("aria-invalid")
        if value is None:
            assert now == before, (key, text, "a refused text changes nothing")
            assert why and box == text and invalid == "true", (key, text, why)
            panel.row(key).locator(".ep-box").press("Escape")
            assert panel.row(key).locator(".ep-box").input_value() == written
            assert panel.row(key).locator(".ep-why").inner_text() == ""
            continue
        assert now == value and not why and invalid is None, (key, text, now, why)
        e = panel.estimate
        results = e(**panel.values())
        for output, gives in e.outputs.items():
            if gives.headline:
                strip = panel.root.locator(f'[data-headline] [data-output="{output}"]')
                assert strip.inner_text().replace("\n", "") == full(
                    e, output, panel.values(), results
                )


@pytest.mark.parametrize(
    ("text", "word"),
    [("1e9", "between"), ("abc", "not_a_number"), ("1,5", "comma"), ("30 ms", "other_unit"),
     ("7 apples", "no_unit"), ("", "type_a_number")],
)  # fmt: skip
def test_a_refusal_says_why(text, word, opened):
    _, why, _ = Panel(opened(MOE), "moe_serving").enter("request_rate", text)
    fixed = max(re.split(r"\{\w+\}", translate(STRINGS[word])), key=len).strip()
    assert fixed in why, why
    if word == "between":
        assert "10,000" in why, "the range is named"


def test_a_share_keeps_its_decimals(opened):
    panel = Panel(opened(MOE), "moe_serving")
    assert panel.enter("prefix_hit_rate", "70")[0] == 0.7
    panel.page.wait_for_function("location.search.includes('prefix_hit_rate')")
    assert address(panel.page)["moe_serving.prefix_hit_rate"] == "0.7"
    assert panel.enter("prefix_hit_rate", "33.3")[0] == 0.333


# --- the address ----------------------------------------------------------------------------


def address(page) -> dict[str, str]:
    return {k: v[-1] for k, v in parse_qs(urlparse(page.url).query, keep_blank_values=True).items()}


def moved(e) -> dict[str, float]:
    """Another value of every assumption, with decimals where it may have them."""
    found = {}
    for k, (name, a) in enumerate(e.assumptions.items()):
        part = 0.15 + 0.6 * ((0.618 * k) % 1)
        value = a.low * (a.high / a.low) ** part if a.log else a.low + part * (a.high - a.low)
        value = float(round(value)) if a.integer else float(f"{value:.7g}")
        if value == a.default:
            value = a.high if a.integer else float(f"{value * 1.0123:.7g}")
        found[name] = value
    return found


@pytest.mark.parametrize("path", sorted({path for path, _ in WITH_PANEL}))
def test_address_round_trip(path, opened):
    """Every assumption of every panel of a page goes through the address, and comes back."""
    wanted = {name: moved(load(name)) for name in panels(path)}
    query = {f"{n}.{k}": repr(v) for n, values in wanted.items() for k, v in values.items()}
    page = opened(f"{path}?{urlencode(query)}")
    assert page.locator(".estimate-notice").all_inner_texts() == []
    for name, values in wanted.items():
        assert Panel(page, name).values() == values
    # One slider moved writes the whole address anew: the same, but for that one.
    last = Panel(page, list(wanted)[-1])
    key = next(iter(last.estimate.assumptions))
    value, _, _ = last.slide(key, 1.0)
    page.wait_for_function(
        "([key, value]) => Number(new URLSearchParams(location.search).get(key)) === value",
        arg=[f"{last.name}.{key}", value],
    )
    written = {k: float(v) for k, v in address(page).items()}
    left = {k: float(v) for k, v in query.items()} | {f"{last.name}.{key}": value}
    if value == last.estimate.assumptions[key].default:
        del left[f"{last.name}.{key}"]
    assert written == left


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.125", 0.125),
        ("1.25e-1", 0.125),
        ("+5E-1", 0.5),
        (".5", 0.5),
        ("0.30000000000000004", 0.3),
    ],
)
def test_numbers_of_the_address(text, value, opened):
    page = opened(f"{MOE}?{urlencode({'moe_serving.prefix_hit_rate': text})}")
    assert Panel(page, "moe_serving").value("prefix_hit_rate") == value
    assert page.locator(".estimate-notice").count() == 0


def test_an_address_with_both_scenarios(opened):
    query = "?moe_serving.request_rate=700&b=moe_serving&b.moe_serving.prefix_hit_rate=0.125"
    panel = Panel(opened(MOE + query), "moe_serving")
    e = panel.estimate
    a, b = e.values({"request_rate": 700}), e.values({"prefix_hit_rate": 0.125})
    assert panel.values() == a
    under = panel.root.locator('[data-headline] [data-scenario="b"]').all_inner_texts()
    wanted = [f"B {full(e, k, b, e(**b))}" for k, g in e.outputs.items() if g.headline]
    assert under == wanted


def test_the_request_rate_reaches_the_whole_page(language, opened, site):
    panel = Panel(opened(LANGUAGES[language] + MOE), "moe_serving")
    page, e = panel.page, panel.estimate
    value, _, _ = panel.slide("request_rate", 0.9)
    assert value > 1000
    values = e.values({"request_rate": value})
    prose = page.locator('.estimate-number output[data-output="total_gpus"]').first
    assert prose.inner_text() == e.text("total_gpus", values, e(**values))
    page.wait_for_function("location.search.includes('request_rate')")
    assert address(page) == {"moe_serving.request_rate": f"{value:g}"}
    again = opened(page.url)
    assert Panel(again, "moe_serving").value("request_rate") == value
    for link in ("a.language-switch", 'a[href*="gateway.html"]'):
        assert "moe_serving.request_rate" in again.locator(link).first.get_attribute("href")


HOSTILE = [
    "?moe_serving.request_rate=<script>window.hacked=1</script>",
    "?moe_serving.request_rate=1e999",
    "?moe_serving.request_rate=NaN",
    "?moe_serving.request_rate=0x10",
    "?moe_serving.request_rate=",
    "?moe_serving.request_rate=%22%3E%3Cimg%20src=x%20onerror=window.hacked=1%3E",
    "?moe_serving.__proto__=1&moe_serving.constructor=2",
    "?moe_serving.constructor",
    "?moe_serving.no_such_name=3",
    "?b.moe_serving.no_such_name=3",
]


@pytest.mark.parametrize("query", HOSTILE)
def test_hostile_address_changes_nothing_but_a_notice(query, opened):
    panel = Panel(opened(MOE + query), "moe_serving")
    page = panel.page
    assert panel.values() == panel.estimate.values({})
    assert page.locator(".estimate-notice").count() >= 1
    assert page.evaluate("window.hacked") is None
    assert page.locator(".estimate-notice script, .estimate-notice img").count() == 0


def test_many_bad_parts_are_a_few_notices(language, opened):
    query = "&".join(f"moe_serving.bad{k}={k}" for k in range(400))
    page = opened(f"{LANGUAGES[language]}{MOE}?{query}")
    notices = page.locator(".estimate-notice")
    assert notices.count() == 6
    assert "395" in notices.last.inner_text()
    notices.first.get_by_role("button").click()
    assert notices.count() == 5


def test_out_of_range_is_clamped_with_a_notice(opened):
    page = opened(f"{MOE}?moe_serving.request_rate=1e9&moe_serving.decode_unit_gpus=16.4")
    panel = Panel(page, "moe_serving")
    assert panel.value("request_rate") == 10000
    assert panel.value("decode_unit_gpus") == 16
    assert page.locator(".estimate-notice").count() == 2


def test_a_preset_can_be_taken_back(opened):
    """Back undoes a preset; the select follows; another page's numbers are left in the address."""
    panel = Panel(opened(f"{MOE}?gateway.instances=7&moe_serving.request_rate=700"), "moe_serving")
    page, e = panel.page, panel.estimate
    before = panel.values()
    preset = next(iter(e.presets.values()))
    picker = panel.root.locator(".ep-preset")
    picker.select_option(preset.key)
    assert panel.values() == e.values(preset.numbers())
    page.wait_for_function("!location.search.includes('request_rate=700')")
    assert address(page)["gateway.instances"] == "7"
    page.go_back()
    page.wait_for_function("location.search.includes('request_rate=700')")
    assert panel.values() == before
    assert picker.input_value() == ""
    page.go_forward()
    page.wait_for_function("!location.search.includes('request_rate=700')")
    assert panel.values() == e.values(preset.numbers())


def test_the_summary_follows_the_address(language, opened, monkeypatch):
    """Headline and lever with an assumption changed are what Python works out."""
    from widgets.book import summary

    name, changes = "moe_serving", {"request_rate": 4000.0, "prefix_hit_rate": 0.125}
    query = urlencode({f"{name}.{k}": v for k, v in changes.items()})
    page = opened(f"{LANGUAGES[language]}chapters/summary.html?{query}")
    e = load(name)
    values = e.values(changes)
    output = summary.headline(e)
    lever = summary.lever(e, output, values)
    row = page.locator(f'tr[data-estimate="{name}"]')
    assert row.locator("output").inner_text() == e.text(output, values, e(**values), "noun")
    assert row.locator("[data-lever-name]").inner_text() == e.labels[lever.assumption]
    for end in ("low", "high"):
        shown = row.locator(f'[data-lever-end="{end}"]').inner_text()
        at = {**e(**values), output: getattr(lever, end)}
        assert shown == e.text(output, values, at, "noun"), end
