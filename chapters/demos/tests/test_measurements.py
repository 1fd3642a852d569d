"""The prefix index and the safetensors loaders, and what the notebooks share."""

from __future__ import annotations

import json
import random
from array import array

import notebooks
import pytest

common = notebooks.common


def index_module():
    return notebooks.module("prefix_index_cpu")


def test_a_key_stands_for_its_whole_prefix():
    index = index_module()
    tokens = array("I", range(3 * index.BLOCK + 5))
    keys = index.keys_of(tokens)
    changed = array("I", tokens)
    changed[0] += 1
    assert len(keys) == 3 and keys[:2] == index.keys_of(tokens[: 2 * index.BLOCK])
    assert not set(keys) & set(index.keys_of(changed))
    assert index.keys_of(tokens[: index.BLOCK - 1]) == []


def test_matches_name_each_holder_at_its_longest_prefix():
    index = index_module()
    tree = index.PrefixIndex()
    tree.add(0, ["a", "b", "c"])
    tree.add(5, ["a", "b"])
    tree.add(7, ["b", "c"])  # lost its first block: of no use
    assert tree.match(["a", "b", "c", "d"]) == [(2, 1 << 5), (3, 1 << 0)]
    assert tree.match(["x"]) == tree.match([]) == []
    tree.remove(0, ["a", "b", "c"])
    tree.remove(5, ["a", "b"])
    tree.remove(7, ["b", "c", "never held"])
    assert tree.holders == {}


@pytest.mark.parametrize("seed", range(5))
def test_the_route_is_that_of_asking_everybody(seed):
    index, draw = index_module(), random.Random(seed)
    tree, caches = index.PrefixIndex(), [set() for _ in range(7)]
    for tokens, instance in index.traffic(60, 7, 300, seed):
        keys = index.keys_of(tokens)
        queue_s = [draw.choice((0.0, 0.01, draw.random())) for _ in caches]
        given = (queue_s, 300, 10_000)
        expected = index.route_by_asking(caches, keys, *given)
        assert index.choose(tree.match(keys), *given) == expected
        tree.add(instance, keys)
        caches[instance].update(keys)


def test_a_percentile_is_a_value_that_was_seen():
    values = [3.0, 1.0, 2.0, 4.0]
    assert [common.percentile(values, p) for p in (0, 0.25, 0.5, 0.51, 1)] == [1, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("NVIDIA H100 80GB HBM3", "h100_sxm"),
        ("NVIDIA H100 PCIe", ""),
        ("NVIDIA H200", "h200_sxm"),
        ("NVIDIA H20", "h20_sxm"),
        ("NVIDIA A100-SXM4-80GB", "a100_80g_sxm"),
        ("NVIDIA A100-SXM4-40GB", ""),
        ("NVIDIA GB200", "gb200"),
        ("Tesla T4", ""),
    ],
)
def test_only_the_gpus_of_the_table_have_a_row(name, row):
    from widgets.facts import tables

    assert common.hardware_row(name) == row
    assert not row or f"hardware.{row}.hbm_bytes_per_s" in tables.paths("hardware")


def test_a_t4_has_no_bfloat16_and_hopper_is_known():
    t4, h100 = common.Device("cuda", "T4", (7, 5), ""), common.Device("cuda", "H100", (9, 0), "")
    assert (t4.has_bfloat16, h100.has_bfloat16) == (False, True)
    assert (t4.is_hopper, h100.is_hopper) == (False, True)


def test_a_wrong_result_is_noticed():
    torch = pytest.importorskip("torch")
    right = torch.ones(4)
    common.assert_close(right, right)
    with pytest.raises(AssertionError, match="case: error"):
        common.assert_close(right + 1e-3, right, "case")
    with pytest.raises(AssertionError):
        common.assert_close(right * float("nan"), right)
    with pytest.raises(AssertionError):
        common.assert_close(right[:3], right)


def test_a_recorded_run_is_shown_with_all_that_it_ran_on(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(common, "RECORDED", tmp_path)
    common.show_recorded("gather_kv")
    assert capsys.readouterr().out == "not yet recorded on a GPU\n"
    monkeypatch.setattr(common, "device", lambda: common.Device("cuda", "X", (9, 0), "h100_sxm"))
    monkeypatch.setattr(common, "_driver", lambda: "1.2.3")
    monkeypatch.setenv(common.RECORD, "make record-gpu")
    timing = common.Timing("case", "float16", 3.35e12, 0.0, 2.0, 1.9, 2.1)
    kept = json.loads(common.write_recorded("gather_kv", [timing]).read_text("utf-8"))
    assert {"device", "driver", "cuda", "torch", "triton", "date", "command"} <= kept.keys()
    common.show_recorded("gather_kv")
    shown = capsys.readouterr().out
    assert "make record-gpu" in shown and "1.2.3" in shown and "50%" in shown


@pytest.mark.parametrize("name", ["structured_output", "gateway", "autoscaling"])
def test_the_button_sets_what_was_measured(name):
    estimate = common.load_estimate(name)
    key = next(iter(estimate.assumptions))
    low = float(estimate.assumptions[key].low)
    box = common.measured_panel(name, {key: low / 2})  # outside the slider: moved to its end
    button, panel = box.children
    button.click()
    assert getattr(panel, key) == low
