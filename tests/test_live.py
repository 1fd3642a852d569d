"""The panel as an ipywidgets widget: in this process, and in JupyterLab with a real kernel."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

import ipywidgets
import nbformat
import pytest
import traitlets

from widgets import load, panel
from widgets.engine.estimate import Estimate
from widgets.show.script import kernel_module


@pytest.fixture
def moe(monkeypatch):
    monkeypatch.delenv("BOOK_BUILD", raising=False)
    return panel(load("moe_serving"))


def test_traits_follow_and_results_are_computed(moe):
    moe.request_rate = 1000
    assert moe.total_gpus == load("moe_serving")(request_rate=1000).total_gpus
    assert (
        moe.survives_decode_unit_loss
        is load("moe_serving")(request_rate=1000).survives_decode_unit_loss
    )
    moe.reset()
    assert (moe.request_rate, moe.total_gpus) == (500, 544)


def test_observe_fires_once_per_change(moe):
    seen = []
    moe.observe(
        lambda change: seen.append((change["name"], change["new"])),
        names=["request_rate", "total_gpus"],
    )
    moe.request_rate = 1000
    assert sorted(name for name, _ in seen) == ["request_rate", "total_gpus"]
    moe.request_rate = 1000
    assert len(seen) == 2


def test_link_ties_an_assumption_to_an_int_slider(moe):
    slider = ipywidgets.IntSlider(min=10, max=10_000, value=500)
    ipywidgets.link((moe, "request_rate"), (slider, "value"))
    slider.value = 2000
    assert moe.request_rate == 2000
    moe.request_rate = 700
    assert slider.value == 700


def test_a_trait_out_of_range_teaches(moe):
    with pytest.raises(traitlets.TraitError, match=r"request_rate = .* from 10 to 10000 request/s"):
        moe.request_rate = 1e9
    assert moe.request_rate == 500


def test_plotly_is_sent_when_asked(moe, monkeypatch):
    sent = []
    monkeypatch.setattr(moe, "send", lambda content, buffers=None: sent.append((content, buffers)))
    moe._answer(moe, {"type": "plotly"}, [])
    assert sent[0][0] == {"type": "plotly"} and len(sent[0][1][0]) > 500_000


@pytest.fixture
def calls(monkeypatch):
    """A list that grows with each evaluation of an estimate."""
    made, call = [], Estimate.__call__
    monkeypatch.setattr(
        Estimate, "__call__", lambda self, **values: made.append(values) or call(self, **values)
    )
    return made


def test_a_whole_scenario_is_one_evaluation(moe, calls):
    e = moe.estimate
    preset = next(p for p in e.presets.values() if len(p.numbers()) > 2).numbers()
    moe.set_state({**e.values({}), **preset, "request_rate": 1000.0})  # as the front end sends it
    assert len(calls) == 1
    assert moe.total_gpus == e(**preset, request_rate=1000).total_gpus
    moe.reset()
    assert len(calls) == 3  # the line above is the second
    moe.set_state(e.values({}))
    assert len(calls) == 3
    moe.request_rate = 700
    assert len(calls) == 4


def test_the_front_end_is_one_module(moe):
    assert moe._esm == kernel_module()
    assert moe._esm.count("export default") == 1 and "import {" not in moe._esm


CELL = """\
import json, pathlib
from widgets import load, panel
from widgets.book import figures
p = panel(load("moe_serving"), *figures("moe_serving"))
calls, seen, call = [], [], type(p.estimate).__call__
type(p.estimate).__call__ = lambda self, **values: calls.append(1) or call(self, **values)
def note(change):
    if change["name"] == "request_rate":
        seen.append(change["new"])
    told = [p.request_rate, p.total_gpus, len(seen), len(calls)]
    pathlib.Path({path!r}).write_text(json.dumps(told))
p.observe(note, names=[*p.estimate.assumptions, *p.estimate.outputs])
p
"""


@pytest.fixture
def lab(tmp_path):
    """Address of a JupyterLab that serves a notebook with a panel."""
    told = tmp_path / "told.json"
    cell = nbformat.v4.new_code_cell(CELL.format(path=str(told)))
    notebook = nbformat.v4.new_notebook(cells=[cell])
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    nbformat.write(notebook, tmp_path / "panel.ipynb")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
        "HOME": str(tmp_path),
    }
    environment.pop("BOOK_BUILD", None)
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", f"--port={port}", "--ip=127.0.0.1", "--allow-root",
        "--IdentityProvider.token=", "--ServerApp.password=", f"--ServerApp.root_dir={tmp_path}",
        "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    log = (tmp_path / "log").open("w")
    server = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{address}/api/status", timeout=2)
                break
            except OSError:
                time.sleep(0.25)
        else:
            pytest.fail((tmp_path / "log").read_text())
        yield address, told
    finally:
        server.terminate()
        server.wait(20)


@pytest.fixture
def lab_panel(lab, browser):
    """A page with a panel in JupyterLab, and what its kernel tells: request_rate, total_gpus,
    how often the rate was told to have changed, and how often the estimate was evaluated."""
    address, told = lab
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.goto(f"{address}/lab/tree/panel.ipynb")
    page.locator(".jp-CodeCell .cm-content").first.click(timeout=60_000)
    page.wait_for_selector(
        '[data-status="idle"], .jp-Notebook-ExecutionIndicator[data-status="idle"]', timeout=60_000
    )
    page.keyboard.press("Shift+Enter")
    page.locator('.ep-in input[type=range][name="request_rate"]').wait_for(timeout=60_000)

    def kernel(job) -> list:
        """What the kernel tells after `job`, once it is quiet."""
        told.unlink(missing_ok=True)
        job()
        for _ in range(100):
            if told.exists():
                break
            time.sleep(0.1)
        time.sleep(0.8)  # a second, wrong notification would arrive by now
        return json.loads(told.read_text())

    yield page, kernel
    page.close()


OVERLAPS = """() => {
  const box = (node) => { const range = document.createRange(); range.selectNodeContents(node); return range.getBoundingClientRect(); };
  const wrong = [];
  for (const unit of document.querySelectorAll(".estimate-panel .ep-unit")) {
    const number = unit.parentElement.querySelector(".ep-number");
    if (!number || !unit.textContent || !unit.checkVisibility()) continue;
    const a = box(number), b = box(unit);
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 0.5 && high > 0.5) wrong.push(`${number.textContent}|${unit.textContent}`);
  }
  return wrong;
}"""


def test_panel_in_jupyterlab(lab_panel):
    page, kernel = lab_panel
    e = load("moe_serving")
    section = page.locator(".estimate-panel")
    slider = page.locator('.ep-in input[type=range][name="request_rate"]')
    total = section.locator('[data-headline] [data-output="total_gpus"][data-scenario="a"]')

    def button(name):
        return section.get_by_role("button", name=name, exact=True)

    # A slider moves the numbers here, and the kernel once.
    rate, gpus, times, evaluated = kernel(
        lambda: slider.evaluate(
            "s => { s.value = Number(s.max) - 3; s.dispatchEvent(new Event('input', {bubbles: true})); }"
        )
    )
    assert (rate, times, evaluated) == (float(slider.get_attribute("data-value")), 1, 1)
    assert gpus == e(request_rate=rate).total_gpus == float(total.get_attribute("data-value"))
    # Undo and redo reach it, and so do a preset and Reset: one evaluation each.
    assert kernel(button("Undo").click)[:1] == [500]
    assert kernel(button("Redo").click)[:1] == [rate]
    preset = next(p for p in e.presets.values() if len(p.numbers()) > 2)
    picker = section.locator("select.ep-preset")
    *_, evaluated = kernel(lambda: picker.select_option(preset.key))
    assert evaluated == 4
    reset = kernel(button("Reset").click)
    assert (reset[0], reset[1], reset[3]) == (500, e().total_gpus, 5)
    # Nothing of JupyterLab's style gets in the way.
    assert page.evaluate(OVERLAPS) == []
    section.locator("[data-tool=formulas]").click()
    assert page.locator(".ep-result .ep-unit").count() > 5
    assert page.evaluate(OVERLAPS) == []
    page.wait_for_selector(".estimate-panel .estimate-plot .main-svg", timeout=30_000)
