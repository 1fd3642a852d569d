"""Pieces of the build's glue that a page test would not catch."""

from __future__ import annotations

import hashlib
import json

import pytest
from conftest import ROOT

from widgets.book.sphinx_extension import recorded, roles


def test_an_unrecorded_demo_says_so():
    assert "Not yet recorded on a GPU." in recorded.recorded_html("no_such_demo", "en")


def test_a_recorded_demo_is_tabled_beside_the_bandwidth(tmp_path, monkeypatch):
    folder = tmp_path / "recorded"
    folder.mkdir()
    timing = {"case": "64 blocks", "dtype": "fp16", "bytes": 2.4e9, "flops": 0, "median_s": 1e-3}
    kept = {"device": "H200", "row": "h200_sxm", "date": "2026-12-01", "timings": [timing]}
    (folder / "gather_kv.json").write_text(json.dumps(kept), "utf-8")
    monkeypatch.setattr(recorded, "resource", lambda _name: tmp_path)
    html = recorded.recorded_html("gather_kv", "en")
    assert "Recorded on H200, 2026-12-01" in html
    assert "2.4\u00a0TB/s" in html and "50%" in html and "1\u00a0ms" in html


def test_rows_in_prose():
    link = roles.table_markup("data.html", "hardware.h100_sxm.hbm_bytes_per_s")
    assert ">3.35\u00a0TB/s<" in link and 'href="data.html#' in link
    share = roles.table_markup("data.html", "measurements.deepseek_day_prefix_hit_rate:%")
    assert ">56.3%<" in share
    with pytest.raises(LookupError):
        roles.table_markup("data.html", "hardware.h100_sxm.hbm_byte")


def test_vendored_plotly_is_what_its_manifest_says():
    folder = ROOT / "widgets" / "static" / "vendor"
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    text = json.dumps(manifest)
    digest = hashlib.sha256((folder / "plotly-basic.min.js").read_bytes()).hexdigest()
    assert digest in text and "MIT" in text
