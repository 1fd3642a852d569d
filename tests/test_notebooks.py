"""The notebooks as they are stored: what nbval compares is there, and nothing heavy is."""

from __future__ import annotations

import json
import re

import nbformat
import pytest
import yaml
from conftest import CONTRACT, ROOT

from widgets import book

SLUGS = book.chapter_slugs()


def notebook(slug):
    return nbformat.read(ROOT / "chapters" / f"{slug}.ipynb", as_version=4)


def code_cells(slug):
    return [cell for cell in notebook(slug).cells if cell.cell_type == "code"]


@pytest.mark.parametrize("slug", SLUGS)
def test_printed_estimate_is_stored_whole(slug):
    name = book.main_estimate(slug)
    if name is None:
        pytest.skip(f"{slug} has no estimate of its own")
    printed = [c for c in code_cells(slug) if c.source.strip() == f"{name}()"]
    assert len(printed) == 1, "one cell prints the estimate"
    (cell,) = printed
    assert "nbval-ignore-output" not in cell.metadata.get("tags", [])
    assert cell.execution_count, "without its count nbval compares nothing"
    text = cell.outputs[0]["data"]["text/plain"]
    for output in CONTRACT.get(name, {}).get("cases", [{"outputs": {}}])[0]["outputs"]:
        assert re.search(rf"^{output} ", text, re.M), output
    assert "text/html" in cell.outputs[0]["data"]


@pytest.mark.parametrize("slug", SLUGS)
def test_ignored_cells_are_stored_empty(slug):
    for cell in code_cells(slug):
        if "nbval-ignore-output" in cell.metadata.get("tags", []):
            assert not cell.outputs and cell.execution_count is None, cell.source[:60]


@pytest.mark.parametrize("slug", SLUGS)
def test_notebook_is_light_and_without_widget_state(slug):
    path = ROOT / "chapters" / f"{slug}.ipynb"
    assert path.stat().st_size < 200_000
    assert "widgets" not in json.loads(path.read_text("utf-8"))["metadata"]


@pytest.mark.parametrize("slug", [s for s in SLUGS if book.main_estimate(s)])
def test_chapter_has_its_parts(slug):
    prose = "\n".join(c.source for c in notebook(slug).cells if c.cell_type == "markdown")
    for heading in (
        "The problem", "Clarify", "Estimate", "What the numbers say", "Architecture", "Trade-offs",
        "Follow-ups", "Where this estimate is weak", "Takeaways", "Sources",
    ):  # fmt: skip
        assert re.search(rf"^#+ {heading}", prose, re.M), heading
    assert len(re.findall(r"\{n\}`", prose)) >= 8, "live numbers in the prose"
    assert len(re.findall(r"\{dropdown\}", prose)) >= 4, "folded follow-ups"
    assert re.search(r"\{row\}`measurements\.", prose), "a published measurement"


@pytest.mark.parametrize("slug", [*SLUGS, "_template"])
def test_colab_installs_from_the_one_address(slug):
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["repository"]
    wanted = f'REPOSITORY, BRANCH = "{config["url"]}", "{config["branch"]}"'
    assert any(wanted in cell.source for cell in code_cells(slug)), "run tools/store_outputs.py"


TYPED = re.compile(
    r"(?<![\w`.])\d[\d,.]*\s?(?:GPUs?|GB|GiB|TB|ms|seconds?|nodes?|instances?|units?|requests?|tokens?|%)\b"
)
ALLOWED = re.compile(r"`[^`]*`|\$[^$]*\$|\([^)]*\)\s*=|\]\([^)]*\)|^````.*$", re.M)


@pytest.mark.parametrize("slug", SLUGS)
def test_numbers_with_units_are_rarely_typed(slug):
    """A scenario may say "at 30 ms"; a result may not be typed. The bound keeps an eye on it."""
    prose = "\n".join(c.source for c in notebook(slug).cells if c.cell_type == "markdown")
    typed = TYPED.findall(ALLOWED.sub("", prose))
    live = len(re.findall(r"\{(?:n|row)\}`", prose))
    assert len(typed) <= max(6, live // 3), typed
