"""The pickers of the instance page fill what Python's model(), hardware() and engine() give."""

from __future__ import annotations

import gzip
import json
import re

import pytest
from served import LANGUAGES, Panel, close

from widgets import book, engine, hardware, load, model
from widgets.book.sphinx_extension.assets import picker_scripts
from widgets.facts.choices import FORMATS, KV_FORMATS, published_format
from widgets.facts.tables import configs, table
from widgets.language import translate
from widgets.show.pickers import has_pickers, pickers
from widgets.show.words import STRINGS

PAGE = "chapters/instance.html"
CUSTOM = "-"
# Latent attention, a hybrid of linear and full attention, 4-bit experts with windows, dense.
MODELS = ("deepseek_v3", "qwen3_5_397b_a17b", "gpt_oss_120b", "llama_3_1_70b")


def instance(opened, query="", language="en", **options) -> Panel:
    return Panel(opened(LANGUAGES[language] + PAGE + query, **options), "instance")


def select(panel: Panel, kind: str):
    label = translate(STRINGS[f"picker_{kind}"])
    return panel.root.locator(".ep-pickers").get_by_label(label, exact=True)


def picked(panel: Panel) -> tuple[str, ...]:
    kinds = ("model", "gpu", "engine", "format")
    return tuple(select(panel, kind).input_value() for kind in kinds)


def stands(panel: Panel, wanted: dict[str, float]) -> None:
    got = panel.values()
    for name, value in wanted.items():
        assert close(got[name], value) or abs(got[name] / value - 1) < 1e-11, name


# --- the data -------------------------------------------------------------------------------


def test_the_data_is_what_python_fills():
    data = pickers()
    assert [one["key"] for one in data["models"]] == list(configs())
    for one in data["models"]:
        for weights in (None, *FORMATS):
            for kv in KV_FORMATS:
                bytes_each = data["weights"][weights] if weights else one["published"]
                filled = {**one["values"], **bytes_each, **one["kv"][kv]}
                assert filled == model(one["key"], weights=weights, kv=kv)
    assert [one["key"] for one in data["gpus"]] == [row["key"] for row in table("hardware")]
    for one in data["gpus"]:
        for weights, peak in one["peaks"].items():
            filled = {**one["values"], "peak_flops_per_gpu": peak}
            assert filled == hardware(one["key"], weights=weights)


def test_what_the_pickers_fill_lies_in_the_ranges():
    """A value out of range would be clamped, and no option would ever stand."""
    e, data = load("instance"), pickers()
    groups = [one["values"] for kind in ("models", "gpus", "engines") for one in data[kind]]
    groups += [*data["weights"].values(), *(one["published"] for one in data["models"])]
    groups += [kv for one in data["models"] for kv in one["kv"].values()]
    groups += [{"peak_flops_per_gpu": p} for one in data["gpus"] for p in one["peaks"].values()]
    for group in groups:
        for name, value in group.items():
            assert e.assumptions[name].low <= value <= e.assumptions[name].high, (name, value)


def test_the_assumptions_decide_who_has_pickers():
    assert [name for name in book.all_estimates() if has_pickers(load(name))] == ["instance"]


def test_the_size():
    assert len(gzip.compress(picker_scripts("en")["choices.js"].encode())) < 12_000


# --- choosing -------------------------------------------------------------------------------


@pytest.mark.parametrize("key", MODELS)
def test_choosing_fills_what_python_gives(key, language, opened):
    panel = instance(opened, language=language)
    select(panel, "gpu").select_option("b200_sxm")
    select(panel, "model").select_option(key)
    select(panel, "engine").select_option("sglang")
    for weights, kv in (("fp8", "bf16"), ("nvfp4", "fp8"), ("int4", "bf16")):
        choice = f"{weights}/{kv}"
        select(panel, "format").select_option(choice)
        stands(panel, {**model(key, weights=weights, kv=kv), **engine("sglang")})
        stands(panel, hardware("b200_sxm", weights=weights))
        assert picked(panel) == (key, "b200_sxm", "sglang", choice)
    select(panel, "format").select_option("/fp8")
    stands(panel, model(key, kv="fp8"))
    assert picked(panel) == (key, "b200_sxm", "sglang", "/fp8")
    panel.check(panel.values())


def test_every_model_and_gpu_stands_once_chosen(opened):
    panel = instance(opened)
    names = [one["key"] for one in pickers()["models"]]
    for kind, keys in (("model", names), ("gpu", [row["key"] for row in table("hardware")])):
        for key in keys:
            select(panel, kind).select_option(key)
            assert select(panel, kind).input_value() == key
            assert select(panel, "format").input_value() != CUSTOM, key


def test_a_choice_is_one_step_for_undo_and_back(opened):
    panel = instance(opened)
    before, shown = panel.values(), picked(panel)
    select(panel, "model").select_option("deepseek_v3")
    after = panel.values()
    assert after != before
    panel.button(STRINGS["undo"]).click()
    assert (panel.values(), picked(panel)) == (before, shown)
    assert panel.button(STRINGS["undo"]).is_disabled()
    panel.button(STRINGS["redo"]).click()
    assert panel.values() == after
    panel.page.wait_for_function("location.search.includes('instance.layers=61')")
    again = instance(opened, panel.page.url[panel.page.url.index("?") :])
    assert again.values() == after
    assert picked(again)[0] == "deepseek_v3"
    select(again, "gpu").select_option("h20_sxm")
    assert again.values() != after
    again.page.go_back()
    again.page.wait_for_function(
        "v => Number(document.querySelector('.ep-in input[name=hbm_bytes_per_gpu]').dataset.value) === v",
        arg=after["hbm_bytes_per_gpu"],
    )
    assert again.values() == after


def test_a_moved_value_is_said(opened):
    panel = instance(opened).unfold()
    select(panel, "gpu").select_option("h200_sxm")
    assert CUSTOM not in picked(panel)
    for name, kind in (
        ("layers", "model"),
        ("hbm_bytes_per_s_per_gpu", "gpu"),
        ("mfu_decode", "engine"),
        ("bytes_per_parameter", "format"),
    ):
        panel.slide(name, 0.9)
        assert select(panel, kind).input_value() == CUSTOM
        shown = select(panel, kind).evaluate("one => one.selectedOptions[0].textContent")
        assert shown == STRINGS["picker_changed"]
        panel.button(STRINGS["undo"]).click()
        assert CUSTOM not in picked(panel)


def test_a_format_keeps_a_layer_count_moved_by_hand(opened):
    panel = instance(opened).unfold()
    layers, _, _ = panel.slide("layers", 0.9)
    select(panel, "format").select_option("bf16/fp8")
    assert panel.value("layers") == layers
    assert panel.value("bytes_per_parameter") == FORMATS["bf16"]


# --- your model -----------------------------------------------------------------------------


def config_box(panel: Panel):
    panel.root.locator(".ep-yours summary").click()
    return panel.root.locator("[data-config]")


def says(panel: Panel) -> str:
    line = panel.root.locator(".ep-yours [role=status]")
    panel.page.wait_for_function(
        "() => document.querySelector('.ep-yours [role=status]').textContent"
    )
    return line.inner_text()


def pasted(key: str) -> str:
    """A config as Python writes it, with numbers that JSON does not have."""
    extra = {"_nan": float("nan"), "_inf": [-float("inf")], "_text": 'a "NaN" in \\ text: Infinity'}
    return json.dumps({**configs()[key]["config"], **extra})


def test_a_pasted_config_is_the_model_of_the_table(opened):
    panel = instance(opened)
    select(panel, "gpu").select_option("b200_sxm")
    box = config_box(panel)
    for key in configs():
        box.fill("")
        assert panel.root.locator(".ep-yours [role=status]").inner_text() == ""
        box.fill(pasted(key))
        assert STRINGS["your_model"] in says(panel)
        stands(panel, model(configs()[key]["config"]))
        stands(panel, hardware("b200_sxm", weights=published_format(key)))
        assert picked(panel)[0] == "yours" and picked(panel)[3] == "/bf16", key
    select(panel, "format").select_option("fp8/fp8")
    stands(panel, model(key, weights="fp8", kv="fp8"))
    assert picked(panel)[0] == "yours"


def drop(panel: Panel, text: str) -> None:
    panel.root.locator("[data-config]").evaluate(
        """(box, text) => {
          const carried = new DataTransfer();
          carried.items.add(new File([text], "config.json", {type: "application/json"}));
          box.dispatchEvent(new DragEvent("drop", {dataTransfer: carried, bubbles: true, cancelable: true}));
        }""",
        text,
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"model_type": "<b>lama</b>"}', "model_type"),
        ('{"model_type": "llama", "hidden_size": 4096}', "num_hidden_layers"),
        ("{", "JSON"),
        ("[1]", STRINGS["config_no_record"]),
    ],
)
def test_a_dropped_file_that_is_no_known_config_changes_nothing(text, words, opened):
    panel = instance(opened)
    before, shown = panel.values(), picked(panel)
    config_box(panel)
    drop(panel, text)
    assert words in says(panel)
    assert panel.root.locator(".ep-yours [role=status] *").count() == 0
    assert (panel.values(), picked(panel)) == (before, shown)
    assert panel.button(STRINGS["undo"]).is_disabled()


def test_a_chosen_file_fills(opened):
    panel = instance(opened)
    config_box(panel)
    chosen = {"name": "config.json", "mimeType": "application/json"}
    content = json.dumps(configs()["deepseek_v3"]["config"]).encode()
    panel.root.locator(".ep-yours input[type=file]").set_input_files({**chosen, "buffer": content})
    says(panel)
    stands(panel, model("deepseek_v3"))


def test_the_reader_is_loaded_only_when_a_config_is_there(opened):
    panel = instance(opened)
    loaded = "() => [...document.scripts].some(one => one.src.includes('/shapes.js'))"
    config_box(panel)
    assert not panel.page.evaluate(loaded)
    panel.root.locator("[data-config]").fill(pasted("llama_3_1_8b"))
    says(panel)
    assert panel.page.evaluate(loaded)


# --- the row --------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "most"), [(1280, 44), (390, 92)])
def test_the_row_stays_low(width, most, language, opened):
    panel = instance(opened, language=language, size=(width, 900))
    assert panel.root.locator(".ep-pickers").bounding_box()["height"] <= most


def test_only_a_page_with_pickers_loads_them(site):
    from served import SITE

    for name, expected in (("instance", True), ("moe_serving", False)):
        html = (SITE / "chapters" / f"{name}.html").read_text("utf-8")
        assert bool(re.search(r"_static/choices\.js", html)) is expected
