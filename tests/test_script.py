"""The page's modules: how they are joined, and that they compute what Python computes."""

from __future__ import annotations

import re

import numpy as np
import pytest

from widgets import book, load
from widgets.book import summary, validation_page
from widgets.engine import analysis, units
from widgets.engine.estimate import Estimate
from widgets.engine.units import join, split_value
from widgets.show import machine, script
from widgets.show.spec import spec, strings

ESTIMATES = book.all_estimates()


@pytest.fixture(scope="module")
def modules(browser):
    """A blank page in which the modules' functions are global."""
    page = browser.new_page()
    names = ("dom", "format", "analysis", "store", "typed")
    page.add_script_tag(content=script.joined(names))
    yield page
    page.close()


# --- joining --------------------------------------------------------------------------------


def with_sources(monkeypatch, **texts):
    monkeypatch.setattr(script, "source", lambda name: texts[name])
    return script.joined(tuple(texts))


def test_joined_modules_lose_only_import_and_export(monkeypatch):
    joined = with_sources(
        monkeypatch,
        a="const low = 1;\nexport const f = () => low;\nexport async function g() {}\n",
        b='import { f, g } from "./a.js";\nexport class C {}\nf(); g();\n',
    )
    assert (
        joined
        == "const low = 1;\nconst f = () => low;\nasync function g() {}\n\nclass C {}\nf(); g();\n"
    )


@pytest.mark.parametrize(
    ("texts", "complaint"),
    [
        ({"a": "const f = 1;\n", "b": 'import { f } from "./a.js";\n'}, "imports f from a.js"),
        ({"b": 'import { f } from "./a.js";\n', "a": "export const f = 1;\n"}, "imports f"),
        ({"a": "const x = 1, f = 2;\n", "b": "function f() {}\n"}, "f stands in a.js and in b.js"),
    ],
)
def test_modules_that_cannot_be_joined_are_refused(monkeypatch, texts, complaint):
    with pytest.raises(script.ScriptError, match=complaint):
        with_sources(monkeypatch, **texts)


def test_each_host_gets_its_modules():
    assert "export " not in re.sub(r"//.*", "", script.page_script())
    assert not re.findall(r"^(?:import|export) ", script.page_script(), re.M)
    assert re.findall(r"^(?:import|export) .*", script.kernel_module(), re.M) == [
        "export default { render };"
    ]
    assert "document." not in script.worker_script()


def test_scripts_have_no_eval():
    for name in script.MODULES:
        assert not re.search(r"\beval\(|new Function\b", script.source(name)), name


# --- constants and texts that stand in both languages -----------------------------------------


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        ("page", "LEVER", summary.STEP),
        ("analysis", "STEP", analysis.STEP),
        ("analysis", "POINTS", analysis.POINTS),
        ("analysis", "DRAWS", analysis.DRAWS),
        ("analysis", "SEED", analysis.SEED),
        ("format", "MOST_DECIMALS", units.MOST_DECIMALS),
        ("format", "FINEST", units._FINEST),
        ("format", "TOLERANCE", units.TOLERANCE),
    ],
)
def test_constants_are_those_of_python(module, name, value):
    found = re.search(rf"\b{name} = ([\d.e+-]+)", script.source(module))
    assert found, f"{module}.js has no {name}"
    assert float(found[1]) == value


def test_words_that_the_script_asks_for_are_there_and_no_others():
    code = "".join(script.source(name) for name in script.MODULES)
    asked = set(re.findall(r"\bstrings\??\.(\w+)", code)) | set(
        re.findall(r'"(address_\w+)"', code)
    )
    known = {*strings(), *machine.WORDS, *validation_page.WORDS}
    assert asked <= known, asked - known
    # Some are put together: `source_${kind}`, `group_${group}`, strings[a ? "x" : "y"].
    together = ("source_", "group_", "save_", "picker_")
    unused = {w for w in known - asked if not re.search(rf'"{w}"', code)}
    assert {w for w in unused if not w.startswith(together)} == {"validation_title"}  # Python's


# --- numbers as texts -------------------------------------------------------------------------


def displays():
    """Each way of writing a number that occurs, once."""
    found = {}
    for name in ESTIMATES:
        e: Estimate = load(name)
        for declared in [*e.assumptions.values(), *e.outputs.values()]:
            found[repr(declared.display)] = declared.display
    return list(found.values())


def numbers(rng, display):
    """Random numbers over and beyond a display's ladder; halves, nought, signs, and limits."""
    largest, smallest = display.ladder[0][0], display.ladder[-1][0]
    wide = np.exp(rng.uniform(np.log(smallest * 1e-7), np.log(largest * 1e7), 60))
    few = rng.integers(-3, 1200, 20) * smallest
    halves = (rng.integers(0, 300, 20) + 0.5) * smallest / 10.0 ** rng.integers(0, 4)
    edges = largest * (1 + np.array([0, 1e-12, -1e-12, 1e-6, -1e-6, -4e-3, -6e-3]))
    every = [*wide, *-wide[:10], *few, *halves, *edges, 0.0, 1.0, float("inf"), float("nan")]
    for value in map(float, every):
        near = (
            []
            if rng.random() < 0.5
            else [value * (1 + float(rng.choice([1e-12, 1e-6, -3e-4, 2e-3])))]
        )
        yield value, near


def test_numbers_read_as_python_writes_them(modules, language):
    rng = np.random.default_rng(5)
    asked, wanted = [], []
    for display in displays():
        for value, near in numbers(rng, display):
            number, unit = split_value(display, value, near)
            asked.append([display.spec(), repr(value), near])
            wanted.append([number, join(display, unit) if number != "–" else ""])
    got = modules.evaluate(
        """all => all.map(([display, value, near]) => {
          const number = {inf: Infinity, nan: NaN}[value] ?? Number(value);
          const parts = formatParts(display, number, near);
          return [parts.number, parts.unit];
        })""",
        asked,
    )
    wrong = [(a[1:], w, g) for a, w, g in zip(asked, wanted, got, strict=True) if w != g]
    assert not wrong, (len(wrong), len(asked), wrong[:5])


# --- typed texts ------------------------------------------------------------------------------


def read_typed(modules, asked):
    """{value} or {why} of each (assumption's spec, text)."""
    return modules.evaluate(
        """([all, strings]) => all.map(([one, text]) =>
          readTyped(text, one, strings, (value) => valueText(one, value)))""",
        [asked, strings()],
    )


@pytest.mark.parametrize("name", ESTIMATES)
def test_what_the_panel_writes_can_be_typed(name, modules, language):
    """At every stop, both the box's text and the number with its unit are read as that stop."""
    asked, wanted = [], []
    for one in spec(load(name))["assumptions"]:
        display, whole = one["display"], one["scale"] == "integer"
        half = display["ladder"][0][0] / 2 / 10 ** display["digits"]
        rounded = half if display["style"] == "fixed" else 0.5 if whole else 0
        boxes = modules.evaluate("one => one.stops.map(v => boxText(one, v))", one)
        texts = modules.evaluate("one => one.stops.map(v => valueText(one, v))", one)
        for stop, box, text in zip(one["stops"], boxes, texts, strict=True):
            asked += [[one, box], [one, text], [one, f"{box} {one['box']['unit']}"]]
            box_slack = 1e-5 * stop
            wanted += [(stop, box_slack), (stop, 0.05 * stop + rounded), (stop, box_slack)]
    wrong = []
    for (one, text), (stop, slack), got in zip(
        asked, wanted, read_typed(modules, asked), strict=True
    ):
        if "value" not in got:
            if stop not in (one["low"], one["high"]):  # rounded, an end may lie beyond itself
                wrong.append((one["name"], text, stop, got))
        elif abs(got["value"] - stop) > slack + 1e-12:
            wrong.append((one["name"], text, stop, got))
    assert not wrong, (len(wrong), len(asked), wrong[:6])


TYPED = [  # assumption of moe_serving or another, text, value in base units or None: refused
    ("moe_serving.request_rate", "5k", 5000),
    ("moe_serving.request_rate", "1,000", 1000),
    ("moe_serving.request_rate", "1e3", 1000),
    ("moe_serving.request_rate", " １０００ ", 1000),
    ("moe_serving.request_rate", "0.5万", 5000),
    ("moe_serving.request_rate", "1000 req/s", 1000),
    ("moe_serving.request_rate", "5k req/s", 5000),
    ("moe_serving.request_rate", "1,5", None),
    ("moe_serving.request_rate", "abc", None),
    ("moe_serving.request_rate", "1 000", 1000),
    ("moe_serving.request_rate", "-5", None),
    ("moe_serving.request_rate", "1e9", None),
    ("moe_serving.request_rate", "30 ms", None),
    ("moe_serving.request_rate", "$3", None),
    ("moe_serving.prefix_hit_rate", "70", 0.7),
    ("moe_serving.prefix_hit_rate", "50%", 0.5),
    ("moe_serving.prefix_hit_rate", "12.5", 0.125),
    ("moe_serving.prefix_hit_rate", "５０％", 0.5),
    ("moe_serving.decode_unit_gpus", "2.5", None),
]


@pytest.mark.parametrize(("where", "text", "value"), TYPED)
def test_typed_texts(where, text, value, modules):
    estimate, _, name = where.rpartition(".")
    one = next(a for a in spec(load(estimate))["assumptions"] if a["name"] == name)
    (got,) = read_typed(modules, [[one, text]])
    if value is None:
        assert got.get("why") and "value" not in got
        assert not re.search(r"\{\w+\}", got["why"]), "placeholders are filled"
    else:
        assert got == {"value": value}


def test_names_that_no_script_may_take_for_its_own(modules):
    """Plain JavaScript names are no assumptions: nothing is looked up on a prototype."""
    one = spec(load("moe_serving"))["assumptions"][0]
    for text in ("5 constructor", "5 toString", "5 __proto__", "5 valueOf"):
        (got,) = read_typed(modules, [[one, text]])
        assert "why" in got, (text, got)
