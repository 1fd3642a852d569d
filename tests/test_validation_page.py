"""The page "How far off": the scatter's numbers are Python's, and the page behaves."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from served import LANGUAGES
from test_pages import complaints

from widgets.book import estimates, published_page, validation, validation_page, validation_tables
from widgets.facts.tables import row
from widgets.language import translate
from widgets.show.script import source

PAGE = "chapters/how_far_off.html"
CLOSE = 1e-6


# --- without a browser ------------------------------------------------------------------------


def test_both_sets_of_constants_are_those_of_the_table():
    fitted = validation_page.results(validation_page.fitted())
    sheet = validation_page.results(validation_page.data_sheet())
    for found, prefix in ((fitted, "held_out"), (sheet, "textbook")):
        assert found["median_error"] == pytest.approx(
            row(f"validation.{prefix}_median_error").value, rel=0.01
        )
        assert found["bias"] == pytest.approx(row(f"validation.{prefix}_bias").value, rel=0.01)
        assert found["runs"] == row(f"validation.{prefix}_runs").value


def test_the_nine_constants_are_all_that_an_engine_adds():
    set_by_sliders = {name for sets in validation_page.SETS.values() for name in sets}
    assert len(validation_page.SETS) == 9
    assert set_by_sliders == set(validation.CONSTANTS)
    for name, a in validation_page.sliders().items():
        a.check()
        assert a.low <= validation_page.data_sheet()[name] <= a.high


def test_columns_hold_what_python_computes_with():
    """The page's columns, put together as its script does, are the comparison's inputs."""
    compared = validation.comparison()
    data = validation_page.columns(compared)
    inputs = {}
    for group in data["groups"]:
        for k, name in enumerate(group["names"]):
            inputs[name] = np.array([group["rows"][i][k] for i in group["of"]], float)
    inputs |= {name: np.array(values, float) for name, values in data["columns"].items()}
    for name, values in inputs.items():
        assert np.array_equal(values, compared.inputs[name]), name
    needed = validation_page._inputs_of_tpot() - set(inputs) - set(validation.CONSTANTS)
    for name in needed:  # what the page leaves out is the estimate's default for every run
        assert len(np.unique(compared.inputs[name])) == 1, name
    assert data["held_out"] == [int(one) for one in compared.runs["held_out"]]
    assert np.array_equal(np.array(data["tpot_ms"]) / 1000, compared.measured_s)


def test_every_kind_of_run_has_a_name_and_a_mark():
    data = validation_page.columns(validation.comparison())
    for label in data["labels"].values():
        assert all(label["names"]) and len(label["names"]) <= 8
        assert set(label["of"]) == set(range(len(label["names"])))


def test_the_frame_holds_every_run_at_both_presets():
    found = re.search(r"X_MS = \[(.*?), (.*?)\], Y_MS = \[(.*?), (.*?)\]", source("validation"))
    assert found
    low_x, high_x, low_y, high_y = map(float, found.groups())
    compared = validation.comparison()
    assert low_x < compared.measured_s.min() * 1000 < compared.measured_s.max() * 1000 < high_x
    for found in (compared.tpot_s(), compared.tpot_s(**validation.textbook())):
        assert low_y < found.min() * 1000 < found.max() * 1000 < high_y


def test_tables_name_every_group_and_every_constant():
    groups = validation.groups(validation.unseen(), validation.unseen().errors())
    named = {key for group in validation_tables.kinds().values() for key, _ in group}
    assert named == set(groups)
    assert {name for name, _ in validation_tables.without()} == set(validation.CONSTANTS)
    seen = validation.siblings()
    assert 0 < seen.sum() < len(seen) == row("validation.held_out_runs").value


def test_what_the_sentences_say_of_the_runs_holds():
    """Eight models, five GPUs, three engines; the layer overheads alone remove half of the error;
    most kept-out runs have a sibling; GB200 agrees with one request in flight, and not with two."""
    runs = validation.comparison().runs
    assert [runs[name].nunique() for name in ("family", "system", "engine")] == [8, 5, 3]
    sheet, fitted = validation_page.data_sheet(), validation_page.fitted()
    overheads = {name: fitted[name] for name in fitted if name.startswith("layer_overhead")}
    part = validation_page.results(sheet | overheads)["median_error"]
    assert 0.4 < part / validation_page.results(sheet)["median_error"] < 0.6
    assert validation.siblings().mean() > 0.6
    kept_out = validation.unseen()
    rack = kept_out.where(np.asarray(kept_out.runs["system"] == "gb200"))
    alone = np.asarray(rack.runs["concurrency"] == 1)
    assert rack.runs["family"].nunique() == 1
    assert np.abs(rack.errors()[alone]).max() < 0.05
    assert rack.errors()[np.asarray(rack.runs["concurrency"] == 2)].max() < -0.5
    crowded = rack.errors()[np.asarray(rack.runs["concurrency"] > 200)]
    assert len(crowded) == 2 and crowded.min() > 2


# --- in a browser -----------------------------------------------------------------------------


class Scatter:
    """The scatter on an opened page."""

    def __init__(self, page):
        self.page, self.root = page, page.locator("[data-validation]")

    def numbers(self) -> dict[str, float]:
        return {
            name: float(self.root.get_attribute(f"data-{attribute}"))
            for name, attribute in (("median_error", "median"), ("bias", "bias"), ("runs", "runs"))
        }

    def values(self) -> dict[str, float]:
        return self.root.evaluate(
            "root => Object.fromEntries([...root.querySelectorAll('input[type=range][name]')]"
            ".map(one => [one.name, Number(one.dataset.value)]))"
        )

    def slide(self, name: str, part: float) -> float:
        return self.root.locator(f'input[type=range][name="{name}"]').evaluate(
            """(input, part) => {
              input.value = Math.round(part * Number(input.max));
              input.dispatchEvent(new Event("input", {bubbles: true}));
              return Number(input.dataset.value);
            }""",
            part,
        )

    def press(self, words: str) -> None:
        self.root.get_by_role("button", name=translate(words), exact=True).click()

    def check(self) -> None:
        wanted, found = validation_page.results(self.values()), self.numbers()
        for name, value in found.items():
            assert value == pytest.approx(wanted[name], abs=CLOSE), name
        shown = self.root.locator('[data-output="within_quarter"]').get_attribute("data-value")
        assert float(shown) == pytest.approx(wanted["within_quarter"], abs=CLOSE)

    def clouds(self) -> list[dict]:
        """What is drawn of the runs, once the last move has been painted."""
        self.page.wait_for_selector(".validation .js-plotly-plot .scatterlayer")
        self.page.wait_for_timeout(300)
        return self.root.locator(".estimate-plot").evaluate(
            "plot => plot.data.filter(t => t.mode === 'markers')"
            ".map(t => ({name: t.name, x: [...t.x], y: [...t.y], symbol: t.marker.symbol}))"
        )


def test_sliders_move_the_median_to_what_python_has(language, opened):
    scatter = Scatter(opened(LANGUAGES[language] + PAGE))
    assert set(scatter.values()) == set(validation_page.SETS)
    scatter.check()
    before = scatter.numbers()
    assert before["median_error"] == pytest.approx(
        row("validation.held_out_median_error").value, abs=5e-4
    )
    for k, name in enumerate(validation_page.SETS):
        now = scatter.numbers()
        scatter.slide(name, 0.35 + 0.05 * k)
        assert scatter.numbers() != now, name
        slider = scatter.root.locator(f'input[name="{name}"]')
        assert slider.get_attribute("aria-valuetext") and slider.get_attribute("aria-label")
    scatter.check()
    scatter.press("Reset")
    assert scatter.numbers() == before


def test_presets_make_the_cloud_jump(opened):
    scatter = Scatter(opened(PAGE))
    fitted, sheet = (
        validation.unseen().errors(),
        validation.unseen().errors(**validation.textbook()),
    )
    scatter.root.scroll_into_view_if_needed()
    for words, errors in ((validation_page.SHEET, sheet), (validation_page.FITTED, fitted)):
        scatter.press(words)
        found = scatter.numbers()
        assert found["median_error"] == pytest.approx(validation.median_error(errors), abs=CLOSE)
        assert found["bias"] == pytest.approx(float(np.median(errors)), abs=CLOSE)
        scatter.check()
        drawn = [
            (x, y) for one in scatter.clouds() for x, y in zip(one["x"], one["y"], strict=True)
        ]
        assert len(drawn) == found["runs"]
        ratios = sorted(y / x - 1 for x, y in drawn)
        assert np.allclose(ratios, sorted(errors), atol=CLOSE)
    scatter.page.go_back()
    scatter.page.wait_for_function(
        "wanted => Math.abs(Number(document.querySelector('[data-validation]').dataset.median) - wanted) < 1e-6",
        arg=validation.median_error(sheet),
    )


def test_colours_and_runs_are_chosen(opened):
    scatter = Scatter(opened(PAGE))
    scatter.root.scroll_into_view_if_needed()
    by, which = scatter.root.locator("select").all()
    data = validation_page.columns(validation.comparison())
    for key, label in data["labels"].items():
        by.select_option(key)
        clouds = scatter.clouds()
        kept = {
            label["names"][k] for k, held in zip(label["of"], data["held_out"], strict=True) if held
        }
        assert {one["name"] for one in clouds} == kept
        assert len({one["symbol"] for one in clouds}) == len(clouds), "not by colour alone"
    which.select_option("all")
    assert sum(len(one["x"]) for one in scatter.clouds()) == data["count"]


def test_the_address_restores_the_constants(opened):
    scatter = Scatter(
        opened(
            f"{PAGE}?validation.mfu=0.3&validation.layer_overhead_s_vllm=9e9&validation.nothing=1"
        )
    )
    values = scatter.values()
    high = validation_page.sliders()["layer_overhead_s_vllm"].high
    assert (values["mfu"], values["layer_overhead_s_vllm"]) == (0.3, high)
    assert scatter.page.locator(".estimate-notice").count() == 2
    scatter.check()
    scatter.slide("collective_latency_s", 0.5)
    scatter.page.wait_for_function("location.search.includes('collective_latency_s')")
    again = Scatter(opened(scatter.page.url))
    assert again.values() == scatter.values() and again.numbers() == scatter.numbers()
    elsewhere = opened(f"chapters/moe_serving.html{scatter.page.evaluate('location.search')}")
    assert elsewhere.locator(".estimate-notice").count() == 0
    link = elsewhere.locator('a[href*="how_far_off.html"]').first
    assert "validation.mfu=0.3" in link.get_attribute("href")


def test_the_page_is_clean_and_speaks_politely(language, opened):
    page = opened(LANGUAGES[language] + PAGE)
    scatter = Scatter(page)
    for theme, width in (("light", 1280), ("dark", 390)):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        scatter.root.scroll_into_view_if_needed()
        scatter.clouds()
        page.wait_for_function("w => document.documentElement.scrollWidth <= w", arg=width)
        assert not complaints(page), (theme, width)
    scatter.press(validation_page.SHEET)
    median = translate(validation_page.RESULTS["median_error"][0])
    page.wait_for_function(
        "word => [...document.querySelectorAll('[role=status]')].some(e => e.textContent.includes(word))",
        arg=median,
    )
    assert page.locator('output:not([aria-live="off"])').count() == 0


def test_sliders_respond_before_the_figure_can_be_drawn(browser, site):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.route("**/plotly*", lambda route: None)  # never answered
    page.goto(site + PAGE, wait_until="commit")
    page.wait_for_function("performance.getEntriesByName('estimates-ready').length")
    scatter = Scatter(page)
    scatter.slide("mfu", 0.9)
    scatter.check()
    context.close()


def test_what_the_addition_weighs():
    import gzip

    html = validation_page.Scatter()._repr_html_()
    assert len(gzip.compress(html.encode())) < 40_000
    assert (
        json.loads(re.search(r"data-validation-runs>(.*?)</script>", html).group(1))["count"]
        == 1301
    )


# --- published measurements -------------------------------------------------------------------


def test_every_row_says_its_source_and_is_computed_or_says_why_not():
    from widgets.book import published
    from widgets.engine.units import display_for

    rows = published.measurements()
    assert len({one.key for one in rows}) == len(rows) > 150
    for one in rows:
        assert one.repository and one.path and one.version and one.licence, one.key
        assert one.grade in ("S", "S2"), one.key
        assert one.address.startswith("https://") or one.grade == "S2" or "/" not in one.repository
        assert (one.estimate is None) == bool(one.reason), one.key
        assert (one.estimate is None) == (not one.compared), one.key
        assert one.value > 0 and (one.estimate is None or one.estimate > 0), one.key
        assert one.caveat in ("", "fitted", "preset", "input", "identity"), one.key
        display_for(one.unit)
    assert set(map(published_page.estimate_of, published.problems())) <= set(estimates())


def test_estimates_of_published_rows_are_calls_of_the_chapters():
    from widgets import engine, hardware, load, model
    from widgets.book import published

    found = {one.key: one for one in published.measurements()}
    run = found["tpot_70b_h200_sxm_trtllm_tp4_1024_1024_c16"]
    settings = {
        "tensor_parallel": 4,
        "input_tokens": 1024,
        "output_tokens": 1024,
        "concurrency": 16,
    }
    choice = model("llama_3_1_70b", weights="fp8", kv="fp8") | hardware("h200_sxm", weights="fp8")
    for name, value in (("textbook", run.textbook), ("trtllm", run.calibrated)):
        assert value == load("instance")(**choice, **engine(name), **settings).tpot_s
    pool = found["mooncake_xfer_qwen3_8b_8192"]
    wanted = load("kv_cache_pool")(
        context_tokens=8192, kv_bytes_per_token=147456, dram_read_bytes_per_s=2e11
    )
    assert pool.textbook == wanted.dram_read_s
    assert (
        found["maskbench_forced_glaive"].textbook
        == load("structured_output").assumptions["forced_share"].default
    )


def test_rows_that_were_fitted_confirm_nothing():
    from widgets.book import published

    rows = [one for one in published.measurements() if "aiconfigurator" in one.repository]
    fitted = {one.key for one in rows if one.caveat == "fitted"}
    run, sibling = (f"tpot_70b_h200_sxm_trtllm_tp4_1024_1024_c{size}" for size in (64, 16))
    assert run in fitted and sibling not in fitted
    assert fitted and not any(one.confirms for one in rows if one.key in fitted)
    counted = published.problems()["single_instance"]
    assert published.median(counted, "calibrated") < published.median(counted, "textbook") / 2


def test_settings_that_cannot_be_read_name_the_row():
    from widgets.book import published

    for result, settings in (
        ("instance: no_such_result", ""),
        ("instance: tpot_s", "tensor_paralel=8"),
        ("instance: tpot_s", "gpu=h1000"),
        ("instance: __import__('os')", ""),
        ("nothing: tpot_s", ""),
    ):
        with pytest.raises(published.UnreadableSettings, match="a_row"):
            published._evaluated("a_row", result, settings)


def test_every_measurement_is_on_the_page(opened):
    from widgets.book import published

    page = opened(PAGE)
    for problem, rows in published.problems().items():
        table = page.locator(f"#measured-{problem.replace('_', '-')}")
        assert table.locator("tbody tr").count() == len(rows)
    assert page.locator("details.folded[id^=measured] a[href^='https://']").count() > 100
