"""Every estimate of the book: the contract, its faces, its units, its declarations.

A new chapter is found by itself; nothing here names one, except that the contract's file
names the eleven.
"""

from __future__ import annotations

import ast
import json
import re

import numpy as np
import pytest
from conftest import CONTRACT, ROOT, every_estimate, random_assumptions

from widgets import book, estimates, load
from widgets.engine.declare import EstimateError
from widgets.show.bindings import fill, placeholders, resolve
from widgets.show.spec import spec
from widgets.show.stops import stops

VECTORS = 1000
NAMES = every_estimate()
CASES = [(name, k) for name in estimates() if name in CONTRACT for k in range(3)]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_contract_values(name, case):
    wanted = CONTRACT[name]["cases"][case]
    result = load(name)(**wanted["assumptions"])
    for output, value in wanted["outputs"].items():
        if isinstance(value, (bool, int)):
            assert result[output] == value, output
        else:
            assert result[output] == pytest.approx(value, rel=1e-9), output


@pytest.mark.parametrize("name", sorted(set(estimates()) & set(CONTRACT)))
def test_contract_assumptions_are_kept(name):
    have = load(name).assumptions
    for key, wanted in CONTRACT[name]["assumptions"].items():
        a = have[key]
        assert (float(a), a.unit, a.scale) == (
            wanted["default"],
            wanted["unit"],
            wanted["scale"],
        ), key
        assert a.low <= wanted["low"] and a.high >= wanted["high"], key


@pytest.mark.parametrize("name", NAMES)
def test_results_are_finite_over_the_whole_ranges(name):
    e = load(name)
    result = e(**random_assumptions(e, VECTORS))
    for key, gives in e.outputs.items():
        assert np.all(np.isfinite(result[key].astype(float))), key
        if not gives.signed:
            assert np.all(result[key].astype(float) >= 0), key


@pytest.mark.parametrize("name", NAMES)
def test_every_slider_moves_a_result(name):
    e = load(name)
    base = random_assumptions(e, 400, seed=3)
    for key, a in e.assumptions.items():
        low, high = (
            e(**{**base, key: np.full(400, a.low)}),
            e(**{**base, key: np.full(400, a.high)}),
        )
        assert any(np.any(low[k] != high[k]) for k in e.outputs), f"{key} moves nothing"


@pytest.mark.parametrize("name", NAMES)
def test_units(name):
    load(name).check_dimensions()


@pytest.fixture(scope="module")
def script(browser):
    page = browser.new_page()
    yield page
    page.close()


_EVALUATE = """async ([code, inputs]) => {
  const m = await import(URL.createObjectURL(new Blob([code], {type: "text/javascript"})));
  return inputs.map(a => [m.evaluate(a), m.constraints(a)]);
}"""
_SERIES = """async ([code, a]) => {
  const m = await import(URL.createObjectURL(new Blob([code], {type: "text/javascript"})));
  return m.series(a);
}"""


@pytest.mark.parametrize("name", NAMES)
def test_python_numpy_and_javascript_agree(name, script):
    e = load(name)
    drawn = random_assumptions(e, VECTORS, seed=11)
    inputs = [{k: float(v[i]) for k, v in drawn.items()} for i in range(VECTORS)]
    arrays, held = e(**drawn), e.constraints(**drawn)
    got = script.evaluate(_EVALUATE, [e.javascript(), inputs])
    for key in e.outputs:
        column = np.array([g[0][key] for g in got], dtype=float)
        np.testing.assert_allclose(
            column, arrays[key].astype(float), rtol=1e-9, atol=1e-300, err_msg=key
        )
    for key, values in held.items():
        assert [g[1][key] for g in got] == np.broadcast_to(values, VECTORS).tolist(), key
    for i in range(0, VECTORS, 1 if not e.series else 20):
        single = e(**inputs[i])
        for key in e.outputs:
            assert float(single[key]) == pytest.approx(float(arrays[key][i]), rel=1e-9), key


@pytest.mark.parametrize("name", [n for n in NAMES if load(n).series])
def test_series_agree(name, script):
    e = load(name)
    got = script.evaluate(_SERIES, [e.javascript(), {}])
    for key, values in e.series_values().items():
        np.testing.assert_allclose(got[key], values, rtol=1e-9, err_msg=key)


@pytest.mark.parametrize("name", NAMES)
def test_javascript_is_self_contained(name):
    code = load(name).javascript()
    assert not re.search(r"\b(import|document|window)\b", code)  # growth_window_s is a name


@pytest.mark.parametrize("name", NAMES)
def test_every_assumption_has_a_source_and_words(name):
    for key, a in load(name).assumptions.items():
        assert a.source is not None, key
        assert a.source.kind == "given" or a.source.text or a.source.row, key
        assert a.label and a.label[0] == a.label[0].upper(), f"{key}: {a.label!r}"


@pytest.mark.parametrize("name", NAMES)
def test_stops_are_ascending_and_hold_the_default(name):
    for key, a in load(name).assumptions.items():
        at = stops(a)
        assert at == sorted(set(at)) and float(a.default) in at, key
        assert (at[0], at[-1]) == (a.low, a.high), key
        assert 5 <= len(at) <= 260, f"{key}: {len(at)} stops"


@pytest.mark.parametrize("name", estimates())
def test_presets_and_verdict_texts_can_be_filled(name):
    e = load(name)
    assert any(p.measured for p in e.presets.values()), "no measured preset"
    known = {**e.assumptions, **e.outputs}
    texts = [t for g in e.outputs.values() for t in (g.verdict or ())]
    texts += [r.otherwise for r in e.requires.values()] + [p.note for p in e.presets.values()]
    for text in texts:
        assert placeholders(text) <= set(known), text
    for p in e.presets.values():
        assert fill(e, p.note, p.numbers())


@pytest.mark.parametrize("name", estimates())
def test_between_one_and_three_headlines(name):
    assert 1 <= sum(g.headline for g in load(name).outputs.values()) <= 3


@pytest.mark.parametrize("name", estimates())
def test_figures_survive_the_ranges(name):
    e, drawn = load(name), book.figures(name)
    kinds = [f.kind for f in drawn]
    assert kinds.count("figure") >= 2 and kinds.count("diagram") >= 1, kinds
    vectors = random_assumptions(e, 4, seed=5)
    for figure in drawn:
        content = figure.spec()
        for i in range(4):
            values = {k: float(v[i]) for k, v in vectors.items()}
            filled = resolve(e, content["wide"]["data"], values)
            assert "NaN" not in json.dumps(filled) and "Infinity" not in json.dumps(filled), (
                figure.id
            )
            assert fill(e, figure.alt, values)


@pytest.mark.parametrize("name", estimates())
def test_spec_is_plain_json(name):
    text = json.dumps(spec(load(name), book.figures(name)), allow_nan=False)
    assert len(text) < 250_000


def test_load_names_the_nearest():
    with pytest.raises(EstimateError, match="moe_serving"):
        load("moe_servin")


FLOORS = ("", "engine", "facts", "serving", "simulate", "show", "book")
"""Folders of `widgets/`, the ground first; "" is what lies beside them."""


def imports():
    """(importing module, imported module) of `widgets/`, as paths without their ending."""
    top = ROOT / "widgets"
    for path in sorted(top.rglob("*.py")):
        here = path.relative_to(top).with_suffix("").parts
        tree = ast.parse(path.read_text("utf-8"))
        for_types = {
            id(item)
            for block in ast.walk(tree)
            if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
            for item in ast.walk(block)
        }  # never run
        for item in ast.walk(tree):
            if not isinstance(item, ast.ImportFrom) or not item.level or id(item) in for_types:
                continue
            base = here[: len(here) - item.level]
            named = (*base, *(item.module or "").split(".")) if item.module else base
            for alias in item.names:
                deeper = (*named, alias.name)
                is_module = (top.joinpath(*deeper).with_suffix(".py")).exists()
                yield here, deeper if is_module else named


def test_folders_import_one_way():
    for here, there in imports():
        if here == ("__init__",):
            continue
        floors = [FLOORS.index(m[0] if len(m) > 1 or m[0] in FLOORS else "") for m in (here, there)]
        assert floors[1] <= floors[0], f"{'/'.join(here)} imports {'/'.join(there)}"


def test_modules_import_in_no_circle():
    above = {}
    for here, there in imports():
        if here[-1] != "__init__":
            above.setdefault(here, set()).add(there)

    def visit(module, path):
        assert module not in path, " → ".join("/".join(m) for m in (*path, module))
        for deeper in above.get(module, ()):
            visit(deeper, (*path, module))

    for module in list(above):
        visit(module, ())
