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


CELL = """\
import json, pathlib
from widgets import load, panel
p = panel(load("moe_serving"))
seen = []
def note(change):
    seen.append(change["new"])
    pathlib.Path({path!r}).write_text(json.dumps([p.request_rate, p.total_gpus, len(seen)]))
p.observe(note, names="request_rate")
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


def test_panel_in_jupyterlab_talks_to_its_kernel(lab, browser):
    address, told = lab
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.goto(f"{address}/lab/tree/panel.ipynb")
    page.locator(".jp-CodeCell .cm-content").first.click(timeout=60_000)
    page.wait_for_selector(
        '[data-status="idle"], .jp-Notebook-ExecutionIndicator[data-status="idle"]', timeout=60_000
    )
    page.keyboard.press("Shift+Enter")
    slider = page.locator('input[type=range][name="request_rate"]')
    slider.wait_for(timeout=60_000)
    slider.evaluate(
        "s => { s.value = Number(s.max) - 3; s.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    shown = float(slider.get_attribute("data-value"))
    for _ in range(80):
        if told.exists():
            break
        time.sleep(0.1)
    time.sleep(1)  # a second, wrong notification would arrive by now
    rate, total, times = json.loads(told.read_text())
    assert (rate, times) == (shown, 1)
    assert total == load("moe_serving")(request_rate=rate).total_gpus
    output = page.locator(
        '.estimate-panel [data-output="total_gpus"], [data-output="total_gpus"]'
    ).first
    assert float(output.get_attribute("data-value")) == total
    page.close()
