"""The data tables say where every number comes from, agree with themselves, and teach when
asked for what they do not have."""

from __future__ import annotations

import ast
import csv
import json
import math
import runpy
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import ROOT

from widgets import paths
from widgets.engine import units
from widgets.facts import tables

KEYED = [name for name in tables.TABLES if tables.manifest(name)["kind"] != "series"]
SERIES = [name for name in tables.TABLES if name not in KEYED]
MODELS = tables.table("models")


def value(path: str) -> float:
    return float(tables.row(path))


def by_key(name: str) -> list:
    return [pytest.param(r, id=r["key"]) for r in tables.table(name)]


# --- every row ------------------------------------------------------------------------------


def test_the_folder_holds_a_csv_and_a_manifest_of_every_table_and_of_nothing_else():
    folder = paths.resource("data")
    stems = {path.stem for path in folder.glob("*.csv")}
    assert stems == set(tables.TABLES) == {path.stem for path in folder.glob("*.toml")}


def test_no_table_changed_in_silence():
    """A wrong digit in a measurement looks like any other; the list of checksums makes every
    change of a table a line of the diff."""
    found = runpy.run_path(str(ROOT / "tools" / "checksums.py"))["checksums"]().splitlines()
    listed = (paths.resource("data") / "checksums.txt").read_text("utf-8").splitlines()
    changed = sorted({line.split()[-1] for line in set(found) ^ set(listed)})
    assert not changed, f"{', '.join(changed)}: if meant, run python tools/checksums.py"


@pytest.mark.parametrize("name", tables.TABLES)
def test_the_manifest_describes_exactly_the_columns(name):
    with (paths.resource("data") / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        header, *records = csv.reader(file)
    about = tables.manifest(name)
    assert list(about["columns"]) == header
    assert all(len(record) == len(header) for record in records)
    for text in ("title", "description", "source", "licence"):
        assert about[text].strip(), text
    assert about["retrieved"].year >= 2025
    for column, meaning in about["columns"].items():
        assert meaning["label"] and meaning["description"], column
        if meaning["unit"] != "text":
            units.atoms(meaning["unit"])


@pytest.mark.parametrize("name", KEYED)
def test_keys_are_unique_and_snake_case(name):
    keys = [r["key"] for r in tables.table(name)]
    assert len(keys) == len(set(keys))
    assert all(key.isascii() and key.isidentifier() and key == key.lower() for key in keys)
    # Only then are the fragments of the catalogue page unique too.
    anchors = [tables.anchor(f"{name}.{key}") for key in keys]
    assert len(anchors) == len(set(anchors))


@pytest.mark.parametrize("name", KEYED)
def test_every_row_names_a_known_source_and_a_grade(name):
    for r in tables.table(name):
        assert r["source"] in tables.sources(), r["key"]
        assert r["grade"] in {"S", "S2", "C"}, r["key"]
        if name == "measurements" and r["grade"] == "C":
            assert r["note"], f"{r['key']} is computed and does not say how"


@pytest.mark.parametrize("name", KEYED)
def test_every_number_is_finite_and_has_a_known_unit(name):
    assert tables.paths(name)
    for path in tables.paths(name):
        r = tables.row(path)
        assert math.isfinite(r.value), path
        assert r.value >= 0 or path.endswith("_bias"), path
        assert r.label and r.grade in {"S", "S2", "C"}, path
        units.atoms(r.unit)


@pytest.mark.parametrize("name", SERIES)
def test_a_series_has_no_holes(name):
    for r in tables.table(name):
        assert all(cell is not None and cell != "" for cell in r.values()), r


def test_no_bibliography_entry_is_unused_or_incomplete():
    used = {r["source"] for name in KEYED for r in tables.table(name)}
    assert used == set(tables.sources())
    for key, entry in tables.sources().items():
        assert entry["title"] and entry["authors"] and entry["year"].isdigit(), key
        assert entry["url"].startswith("https://"), key


# --- hardware -------------------------------------------------------------------------------


@pytest.mark.parametrize("gpu", by_key("hardware"))
def test_hardware_rates_are_dense_and_in_base_units(gpu):
    assert 1e14 < gpu["bf16_flops_per_s"] < 1e16
    if gpu["fp8_flops_per_s"] is not None:
        assert gpu["fp8_flops_per_s"] / gpu["bf16_flops_per_s"] == pytest.approx(2, rel=0.02)
    if gpu["fp4_flops_per_s"] is not None:
        # Half the bits, twice the rate; three times on Blackwell Ultra. Sparsity would be more.
        ratio = gpu["fp4_flops_per_s"] / gpu["fp8_flops_per_s"]
        assert ratio == pytest.approx(round(ratio), rel=0.04) and round(ratio) in (2, 3)
    assert 20e9 < gpu["hbm_bytes"] < 400e9
    assert 0.25e12 < gpu["hbm_bytes_per_s"] < 10e12
    if gpu["pcie_bytes_per_s"] is not None:
        # A lane doubles with each generation: 16 lanes carry 32 GB/s one way in the fourth.
        assert gpu["pcie_bytes_per_s"] == 32e9 * 2 ** (gpu["pcie_generation"] - 4)


@pytest.mark.parametrize("gpu", by_key("hardware"))
def test_usable_memory_lies_near_the_products_name(gpu):
    if gpu["hbm_usable_bytes"] is not None:
        # At most the name read in GiB; a typed digit or a unit would leave the range.
        assert 0.97 < gpu["hbm_usable_bytes"] / gpu["hbm_bytes"] <= 2**30 / 1e9


def test_the_h100_ridge_is_295_flops_a_byte():
    ridge = value("hardware.h100_sxm.bf16_flops_per_s") / value("hardware.h100_sxm.hbm_bytes_per_s")
    assert ridge == pytest.approx(295, rel=0.002)


# --- models ---------------------------------------------------------------------------------


def kv_bytes_per_token(model: dict) -> float:
    layers = model["layers"] - model["sliding_layers"]
    if model["attention"] == "gqa":
        return 2 * layers * model["kv_heads"] * model["head_size"] * 2
    assert model["attention"] == "mla"
    return layers * (model["kv_lora_rank"] + model["rope_size"]) * 2


@pytest.mark.parametrize("model", by_key("models"))
def test_kv_bytes_follow_from_the_shape(model):
    assert model["kv_bytes_per_token"] == kv_bytes_per_token(model)
    full = model["layers"] - model["sliding_layers"]
    assert model["kv_bytes_per_token_layer"] * full == model["kv_bytes_per_token"]
    if model["index_bytes_per_token_layer"] is None:
        assert model["kv_bytes_per_token_fp8"] * 2 == model["kv_bytes_per_token"]
    else:
        # vLLM's layout: latent in FP8, its scales in FP32, the rotary part left in 16 bits.
        latent = model["kv_lora_rank"] + 4 * model["kv_lora_rank"] / 128 + 2 * model["rope_size"]
        per_layer = latent + model["index_bytes_per_token_layer"]
        assert model["kv_bytes_per_token_fp8"] == model["layers"] * per_layer


def test_the_two_kv_sizes_that_the_book_quotes():
    assert value("models.llama_3_1_70b.kv_bytes_per_token_fp8") == 163_840
    assert value("models.deepseek_v3.kv_bytes_per_token") == 70_272


@pytest.mark.parametrize("model", by_key("models"))
def test_attention_flops_follow_from_the_shape(model):
    heads = model["heads"]
    if model["attention"] == "gqa":
        assert model["flops_per_pair"] == 4 * heads * model["head_size"]
        assert model["kv_size"] == model["kv_heads"] * model["head_size"]
        return
    latent, rope = model["kv_lora_rank"], model["rope_size"]
    plain = 2 * heads * (model["nope_size"] + rope + model["value_size"])
    assert model["flops_per_pair"] == plain
    assert model["absorbed_flops_per_pair"] == 2 * heads * (latent + rope + latent)
    if model["index_heads"]:
        assert model["index_flops_per_pair"] == 2 * model["index_heads"] * model["index_size"]


def attention_weights(model: dict) -> float:
    hidden, heads = model["hidden_size"], model["heads"]
    if model["attention"] == "gqa":
        return 2 * hidden * (heads * model["head_size"] + model["kv_size"])
    key_size = model["nope_size"] + model["rope_size"]
    query = model["q_lora_rank"] * (hidden + heads * key_size)
    latent = hidden * (model["kv_lora_rank"] + model["rope_size"])
    expand = model["kv_lora_rank"] * heads * (model["nope_size"] + model["value_size"])
    return query + latent + expand + heads * model["value_size"] * hidden


def expert_weights(model: dict) -> float:
    return 3 * model["hidden_size"] * model["expert_ffn_size"]


def layer_weights(model: dict) -> float:
    """Weights of all layers: everything but the embeddings and small vectors."""
    dense = model["layers"] if model["routed_experts"] is None else model["dense_layers"]
    total = model["layers"] * attention_weights(model)
    if dense:
        total += dense * 3 * model["hidden_size"] * model["ffn_size"]
    if model["routed_experts"]:
        experts = model["routed_experts"] + model["shared_experts"]
        total += (model["layers"] - dense) * experts * expert_weights(model)
    return total


@pytest.mark.parametrize("model", by_key("models"))
def test_parameters_follow_from_the_shape(model):
    # What the layers do not explain are two embeddings: that implies a vocabulary.
    vocabulary = (model["parameters"] - layer_weights(model)) / (2 * model["hidden_size"])
    assert 30_000 < vocabulary < 230_000  # the first Llama has 32,000, later models four times that


@pytest.mark.parametrize("model", by_key("models"))
def test_active_parameters_leave_out_the_experts_not_chosen(model):
    idle = 0.0
    if model["routed_experts"]:
        idle_experts = model["routed_experts"] - model["experts_per_token"]
        idle = (model["layers"] - model["dense_layers"]) * idle_experts * expert_weights(model)
    assert model["active_parameters"] == pytest.approx(model["parameters"] - idle, rel=0.02)


# --- measurements ---------------------------------------------------------------------------

DERIVED = {
    "deepseek_day_prefill_tokens_per_s_per_gpu": 4026,
    "deepseek_day_decode_tokens_per_s_per_gpu": 1850,
    "sglang_96h100_prefill_4k_tokens_per_s_per_gpu": 50_302 / 8,
    "sglang_96h100_decode_tokens_per_s_per_gpu": 22_282 / 8,
    "mooncake_transfer_8x400g_bytes_per_s": 190e9,
    "llama_70b_h200_tp8_prefill_mfu": 0.26,
    "vllm_70b_h100_tp8_step_overhead_s": 0.0059,
}


@pytest.mark.parametrize(("key", "expected"), DERIVED.items())
def test_the_figures_that_chapters_build_on(key, expected):
    assert value(f"measurements.{key}") == pytest.approx(expected, rel=0.01)


def measured(key: str) -> float:
    return value(f"measurements.{key}")


def test_deepseeks_day_adds_up():
    day = {r["key"].removeprefix("deepseek_day_"): r["value"] for r in tables.table("measurements")}
    assert day["cached_input_tokens"] / day["input_tokens"] == pytest.approx(0.563, abs=5e-4)
    gpus = day["nodes"] * day["gpus_per_node"]
    assert gpus * 24 * day["usd_per_gpu_hour"] == pytest.approx(day["usd_per_day"])
    node_seconds = (
        day["input_tokens"] / day["prefill_tokens_per_s_per_node"]
        + day["output_tokens"] / day["decode_tokens_per_s_per_node"]
    )
    assert node_seconds / 86_400 == pytest.approx(day["nodes"], rel=0.01)
    computed = day["prefill_tokens_per_s_per_node"] * (1 - day["prefix_hit_rate"]) / 8
    assert day["prefill_tokens_per_s_per_gpu"] == pytest.approx(computed)


def test_the_step_outside_the_bandwidth_bound_follows_from_the_share_reached():
    share = measured("vllm_70b_h100_tp8_decode_bandwidth_share")
    bound = value("models.llama_3_1_70b.parameters") / (
        8 * value("hardware.h100_sxm.hbm_bytes_per_s")
    )
    overhead = bound / share - bound
    assert measured("vllm_70b_h100_tp8_step_overhead_s") == pytest.approx(overhead, rel=0.002)


def test_prefill_utilization_follows_from_the_measured_times():
    """Causal attention counted, against the FP8 peak, as the note says."""
    tokens = 8192
    linear = 2 * value("models.llama_3_1_70b.parameters") * tokens
    pairs = tokens**2 / 2
    attention = (
        pairs * value("models.llama_3_1_70b.flops_per_pair") * value("models.llama_3_1_70b.layers")
    )
    for gpus in (1, 2, 4, 8):
        seconds = measured(f"llama_70b_h200_tp{gpus}_prefill_8k_s")
        peak = gpus * value("hardware.h200_sxm.fp8_flops_per_s")
        share = (linear + attention) / (seconds * peak)
        assert measured(f"llama_70b_h200_tp{gpus}_prefill_mfu") == pytest.approx(share, rel=0.03)


@pytest.mark.parametrize(
    ("case", "model", "gpus"),
    [
        ("qwen3_235b_4xh100_vllm", "qwen3_235b_a22b", 4),
        ("qwen3_235b_4xh100_sglang", "qwen3_235b_a22b", 4),
        ("kimi_k2_thinking_tp8", "kimi_k2", 1),  # every GPU holds the whole latent
        ("kimi_k2_tp8_sglang", "kimi_k2", 1),
    ],
)
def test_tokens_in_a_log_follow_from_the_memory_beside_them(case, model, gpus):
    per_token = measured(f"case_{case}_kv_bytes") * gpus / measured(f"case_{case}_tokens")
    assert per_token == pytest.approx(value(f"models.{model}.kv_bytes_per_token"), rel=0.015)


@pytest.mark.parametrize("gpu", ["h100", "l40s", "b200"])
def test_a_process_sees_a_little_less_memory_than_the_driver(gpu):
    seen, shown = (measured(f"memory_{gpu}_{who}_bytes") for who in ("process", "driver"))
    assert 0.98 < seen / shown < 1


def test_weight_updates_follow_from_the_model_table():
    bytes_per_parameter = {"qwen3_235b": 2, "kimi_k2": 1}
    models = {"qwen3_235b": "qwen3_235b_a22b", "kimi_k2": "kimi_k2"}
    for key, gpus in (("qwen3_235b", "8xh800"), ("kimi_k2", "16xh20"), ("kimi_k2", "256xh20")):
        weights = value(f"models.{models[key]}.parameters") * bytes_per_parameter[key]
        rate = weights / measured(f"checkpoint_engine_{key}_{gpus}_s")
        assert measured(f"checkpoint_engine_{key}_{gpus}_bytes_per_s") == pytest.approx(rate)


@pytest.mark.parametrize("engine", ["llguidance", "xgrammar", "llama_cpp", "outlines"])
def test_mask_percentiles_rise(engine):
    steps = ("p50", "p90", "p95", "p99", "p99_9", "max")
    times = [measured(f"maskbench_{engine}_mask_{step}_s") for step in steps]
    assert times == sorted(times)


def test_hit_rates_quoted_from_the_traces_agree_with_the_table():
    for trace in ("conversation", "synthetic"):
        points = trace_points(trace)
        assert measured(f"mooncake_{trace}_lru_hit_rate_10m") == dict(points)[10e6]
        assert measured(f"mooncake_{trace}_lru_hit_rate_infinite") == dict(points)[math.inf]
        for size, tokens in (("3m", 3e6), ("50m", 50e6)):
            below = max(rate for capacity, rate in points if capacity <= tokens)
            above = min(rate for capacity, rate in points if capacity >= tokens)
            quoted = measured(f"mooncake_{trace}_lru_hit_rate_{size}")
            assert below - 1e-3 <= quoted <= above + 1e-3


def test_azure_quantiles_quoted_agree_with_the_table():
    for r in tables.table("azure_llm_2023_token_quantiles"):
        chosen = r["trace"] == "conversation" and r["quantity"] == "context_tokens"
        if chosen and r["percentile"] in (50, 90, 99):
            quoted = measured(f"azure_conversation_input_p{r['percentile']:.0f}_tokens")
            assert quoted == r["tokens"]


# --- series ---------------------------------------------------------------------------------


def trace_points(trace: str) -> list[tuple[float, float]]:
    rows = tables.table("mooncake_lru_hit_rate")
    return [(r["capacity_tokens"], r["block_hit_rate"]) for r in rows if r["trace"] == trace]


@pytest.mark.parametrize("trace", ["conversation", "synthetic"])
def test_a_larger_cache_never_hits_less(trace):
    points = trace_points(trace)
    assert len(points) > 10 and points[-1][0] == math.inf
    for (small, fewer), (large, more) in pairwise(points):
        assert small < large and fewer <= more <= 1


@pytest.mark.parametrize("trace", ["conversation", "code"])
def test_azure_minutes_are_in_order_and_sum_to_the_requests_quoted(trace):
    rows = [r for r in tables.table("azure_llm_2023_per_minute") if r["trace"] == trace]
    minutes = [r["minute"] for r in rows]
    assert minutes == sorted(set(minutes))
    assert sum(r["requests"] for r in rows) == measured(f"azure_{trace}_requests")


def test_azure_growth_and_peak_follow_from_the_minutes():
    def minutes(trace: str) -> list[float]:
        rows = tables.table("azure_llm_2023_per_minute")
        return [r["requests"] for r in rows if r["trace"] == trace]

    code = minutes("code")
    peak = max(code) / (sum(code) / len(code))
    assert measured("azure_code_peak_to_mean") == pytest.approx(peak, rel=1e-6)
    windows = [a + b for a, b in pairwise(minutes("conversation"))]
    growth = [later / now - 1 for now, later in zip(windows, windows[2:], strict=False)]
    assert measured("azure_conversation_growth_2min_max") == pytest.approx(max(growth), rel=0.02)
    settled = measured("azure_conversation_growth_2min_max_settled")
    assert settled == pytest.approx(max(growth[2:-1]), rel=0.01)


def test_azure_quantiles_rise():
    rows = tables.table("azure_llm_2023_token_quantiles")
    for one, next_ in pairwise(rows):
        if (one["trace"], one["quantity"]) == (next_["trace"], next_["quantity"]):
            assert one["percentile"] < next_["percentile"] and one["tokens"] <= next_["tokens"]


# --- the interface --------------------------------------------------------------------------


def test_a_row_is_a_number_with_its_unit_and_origin():
    r = tables.row("hardware.h100_sxm.hbm_bytes_per_s")
    assert (float(r), r.unit, r.source, r.grade) == (3.35e12, "byte/s/gpu", "aiconfigurator", "S")
    assert "H100" in r.label
    long = tables.row("measurements.deepseek_day_decode_tokens_per_s_per_gpu")
    assert (float(long), long.unit, long.grade) == (1850, "token/s/gpu", "C")


def test_a_computed_column_is_graded_computed():
    assert tables.row("models.deepseek_v3.layers").grade == "S"
    assert tables.row("models.deepseek_v3.kv_bytes_per_token").grade == "C"


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("hardware.h100.hbm_bytes_per_s", "hardware.h100_sxm.hbm_bytes_per_s"),
        ("models.llama_70b.kv_bytes_per_token", "models.llama_3_1_70b.kv_bytes_per_token"),
        ("measurements.deepseek_day_prefix_hits", "measurements.deepseek_day_prefix_hit_rate"),
        ("hardwear.h100_sxm.hbm_bytes", "hardware"),
        ("hardware.h100_sxm", "hardware.h100_sxm."),
        ("mooncake_lru_hit_rate.conversation", "frame"),
    ],
)
def test_an_unknown_path_names_the_nearest(path, hint):
    with pytest.raises(tables.UnknownPath) as error:
        tables.row(path)
    assert hint in str(error.value) and path.split(".")[0] in str(error.value)


@pytest.mark.parametrize("column", ["note", "source", "name", "key"])
def test_text_is_not_a_number(column):
    with pytest.raises(tables.UnknownPath):
        tables.row(f"hardware.h100_sxm.{column}")


def test_an_empty_cell_says_so_and_names_what_there_is():
    with pytest.raises(tables.NoValue, match=r"no value.*bf16_flops_per_s"):
        tables.row("hardware.a100_80g_sxm.fp8_flops_per_s")


def test_an_unknown_source_names_the_nearest():
    with pytest.raises(tables.UnknownPath, match="slora_blog"):
        tables.source("slora_blg")
    assert tables.source("slora_blog")["url"].startswith("https://lmsys.org/")


def test_tables_cannot_be_changed_by_their_readers():
    tables.table("hardware")[0]["hbm_bytes"] = 0
    assert value("hardware.h100_sxm.hbm_bytes") == 80e9


def test_a_frame_is_indexed_by_key():
    frame = tables.frame("hardware")
    assert frame.loc["h100_sxm", "hbm_bytes_per_s"] == 3.35e12
    assert next(iter(tables.frame("mooncake_lru_hit_rate").columns)) == "trace"


def test_anchors_of_a_row_and_of_its_columns_are_one():
    assert tables.anchor("hardware.h100_sxm.hbm_bytes") == "hardware-h100-sxm"
    assert tables.anchor("hardware.h100_sxm") == tables.anchor("hardware.h100_sxm.hbm_bytes")
    assert tables.anchor("hardware") == "hardware"


def test_the_catalogue_is_plain_data_with_a_link_for_every_row():
    sections = tables.catalogue()
    assert [section["name"] for section in sections] == list(tables.TABLES)
    json.dumps(sections)
    for section in sections:
        assert section["rows"] and section["licence"] and section["retrieved"]
        keyed = section["kind"] != "series"
        assert all(bool(r["url"]) == bool(r["anchor"]) == keyed for r in section["rows"])
        names = [column["name"] for column in section["columns"]]
        assert all(list(r["cells"]) == names for r in section["rows"])
    assert next(s for s in sections if s["name"].startswith("azure"))["attribution"]


def test_resources_are_found_from_any_directory(tmp_path):
    """A kernel runs in chapters/, pytest at the top."""
    root = paths.PACKAGE.parent
    code = (
        f"import sys; sys.path.insert(0, {str(root)!r}); from widgets import paths; from widgets.facts import tables; "
        "tables.row('hardware.h100_sxm.hbm_bytes'); print(paths.resource('data'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(paths.resource("data"))


@pytest.mark.parametrize("module", [paths, tables])
def test_reading_a_number_imports_the_standard_library_alone(module):
    tree = ast.parse(Path(module.__file__).read_text("utf-8"))
    for node in tree.body:  # what functions import, they import when called
        if isinstance(node, ast.Import):
            assert all(alias.name in sys.stdlib_module_names for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            own = node.level and node.module == "paths"
            assert own or node.module in sys.stdlib_module_names, node.module


def test_an_unknown_resource_is_refused():
    with pytest.raises(ValueError, match="chapters"):
        paths.resource("figures")


def test_an_installed_package_uses_its_own_copy(tmp_path, monkeypatch):
    """Beside it lies site-packages, where a folder `data` may be anybody's."""
    package = tmp_path / "widgets"
    for folder in (package / "_data", tmp_path / "data"):
        folder.mkdir(parents=True)
    monkeypatch.setattr(paths, "PACKAGE", package)
    paths.resource.cache_clear()
    try:
        assert paths.resource("data") == package / "_data"
        with pytest.raises(FileNotFoundError, match="locale"):
            paths.resource("locale")
    finally:
        paths.resource.cache_clear()


def test_manifests_are_valid_toml_with_a_date():
    for path in paths.resource("data").glob("*.toml"):
        assert tomllib.loads(path.read_text("utf-8"))["retrieved"].isoformat() >= "2025"
