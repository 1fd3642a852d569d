"""What every demo notebook must have, whatever it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import notebooks
import pytest
import yaml

common = notebooks.common
SLUGS = [*notebooks.KERNELS, *notebooks.MEASUREMENTS]
CHAPTERS = {
    "segmented_lora": "multi_lora",
    "paged_attention": "long_context",
    "grammar_mask": "structured_output",
    "rejection_sampling": "speculative_decoding",
    "gather_kv": "kv_cache_pool",
    "expert_dispatch": "moe_serving",
    "xgrammar_cpu": "structured_output",
    "prefix_index_cpu": "gateway",
    "safetensors_load_cpu": "autoscaling",
    "serving": "autoscaling",
}


def tags(cell) -> list[str]:
    return cell.metadata.get("tags", [])


def code_cells(slug: str) -> list:
    return [cell for cell in notebooks.read(slug).cells if cell.cell_type == "code"]


def test_each_notebook_is_listed():
    assert set(SLUGS) == set(CHAPTERS)
    assert set(SLUGS) <= {path.stem for path in notebooks.DEMOS.glob("*.ipynb")}


@pytest.mark.parametrize("slug", SLUGS)
def test_it_leads_back_to_its_chapter_and_names_what_it_checks(slug):
    title, link = notebooks.read(slug).cells[0].source.split("\n\n")[:2]
    assert title.startswith("# ") and f"](../{CHAPTERS[slug]}.ipynb)" in link
    assumptions = common.load_estimate(CHAPTERS[slug])
    named = re.findall(r"`(\w+)`", notebooks.read(slug).cells[0].source)
    assert {*assumptions.assumptions, *assumptions.outputs} & set(named)


@pytest.mark.parametrize("slug", SLUGS)
def test_cells_have_ids_that_do_not_change(slug):
    stem = slug.replace("_", "-")
    ids = [cell["id"] for cell in notebooks.read(slug).cells]
    assert ids == [f"{stem}-{i:02d}" for i in range(len(ids))]


@pytest.mark.parametrize("slug", SLUGS)
def test_outputs_are_stored_as_text(slug):
    """A wholly stripped notebook would pass nbval having checked nothing."""
    cells = code_cells(slug)
    compared = [c for c in cells if c.outputs and "nbval-ignore-output" not in tags(c)]
    assert compared and all(c.execution_count for c in compared)
    for cell in cells:
        for output in cell.outputs:
            assert output.output_type == "stream" and output.name == "stdout"


@pytest.mark.parametrize("slug", notebooks.KERNELS)
def test_a_kernel_notebook_stores_its_checks_and_says_what_was_not_measured(slug):
    stored = "\n".join(o.text for cell in code_cells(slug) for o in cell.outputs)
    assert "yes" in stored and "floor, H100" in stored
    assert "not timed: no GPU" in stored
    recorded = (common.RECORDED / f"{slug}.json").exists()
    assert recorded != ("not yet recorded on a GPU" in stored)


@pytest.mark.parametrize("slug", notebooks.MEASUREMENTS)
def test_a_measurement_stores_its_figure_beside_the_chapter(slug):
    stored = "\n".join(o.text for cell in code_cells(slug) for o in cell.outputs)
    assert "measured here" in stored and "in the chapter" in stored and "date" in stored


@pytest.mark.parametrize("slug", SLUGS)
def test_the_address_is_that_of_the_configuration(slug):
    config = yaml.safe_load((common.ROOT / "_config.yml").read_text("utf-8"))["repository"]
    line = f'REPOSITORY, BRANCH = "{config["url"]}", "{config["branch"]}"'
    source = "\n".join(cell.source for cell in code_cells(slug))
    assert line in source, "run `make store-demos` after a change of the address in _config.yml"


def test_what_a_notebook_requires_is_pinned():
    for slug in SLUGS:
        call = re.search(r"common\.require\((.*?)\)", "\n".join(c.source for c in code_cells(slug)))
        assert call
        assert set(re.findall(r'"([\w-]+)"', call[1])) <= common.pins().keys()


def test_what_is_missing_is_named_outside_colab(monkeypatch):
    monkeypatch.setattr(common, "_is_there", lambda module: module != "xgrammar")
    with pytest.raises(ImportError, match=r"xgrammar.*make demos-env"):
        common.require("xgrammar", "safetensors")


def test_what_is_missing_in_binder_is_installed_as_pinned(monkeypatch):
    commands = []
    monkeypatch.setenv("BINDER_LAUNCH_HOST", "x")
    monkeypatch.setattr(common, "_is_there", lambda module: module == "torch")
    monkeypatch.setattr(subprocess, "run", lambda command, **_: commands.append(command))
    monkeypatch.setattr(sys, "path", list(sys.path))
    common.require("torch", "mistral-common")
    assert len(commands) == 1 and common.pins()["mistral-common"] in commands[0]
    assert common.pins()["torch"] not in commands[0] and str(common.ROOT) in commands[0]


def test_kernels_compile_for_real_gpus(tmp_path):
    """To machine code, without a GPU: Turing in FP16, Ampere and Hopper in BF16."""
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path)
    script = str(notebooks.DEMOS / "tests" / "compile_for.py")
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(lines) > 30 and all(line.endswith(" ok") for line in lines), done.stdout
