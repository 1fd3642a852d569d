"""An eleventh chapter is a notebook, a toc line and a catalogue: the template works as one."""

from __future__ import annotations

import nbformat
from conftest import ROOT

from widgets import Diagram, Estimate, Figure
from widgets.show.panel import static_html


def test_the_template_defines_a_whole_chapter(monkeypatch):
    monkeypatch.setenv("BOOK_BUILD", "1")
    space: dict = {}
    notebook = nbformat.read(ROOT / "chapters" / "_template.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            exec(cell.source, space)
    e = space["_template"]
    assert isinstance(e, Estimate)
    e.check_dimensions()
    drawn = [x for x in space.values() if isinstance(x, (Figure, Diagram))]
    assert {x.kind for x in drawn} == {"figure", "diagram"}
    assert e.presets
    assert "data-estimate-spec" in static_html(e, drawn, compact=False)


def test_a_new_notebook_is_found_without_touching_a_test(tmp_path, monkeypatch):
    from widgets import book
    from widgets.book import loader

    chapters = tmp_path / "chapters"
    chapters.mkdir()
    text = (ROOT / "chapters" / "_template.ipynb").read_text("utf-8")
    (chapters / "eleventh.ipynb").write_text(text.replace("_template", "eleventh"), "utf-8")
    monkeypatch.setattr(loader, "resource", lambda name: tmp_path / name)
    loader._index.cache_clear()
    loader._objects.cache_clear()
    try:
        assert book.estimates() == ["eleventh"]
        assert book.load("eleventh")(request_rate=200).carried is True
        assert {f.kind for f in book.figures("eleventh")} == {"figure", "diagram"}
        assert "Peak load" in book.messages("chapters/eleventh")
    finally:
        loader._index.cache_clear()
        loader._objects.cache_clear()
