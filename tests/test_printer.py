"""The printer: what it prints runs alike in both languages, what it cannot print it refuses."""

# The sample functions are wrong on purpose.
# ruff: noqa: B007, C416, F821, F841, RET503, RET504

from __future__ import annotations

import inspect
import json
import math
import re
from math import floor

import numpy as np
import pytest

from widgets.engine.printer import Record, Refused, given, javascript

BOTTOM = 0.25
WORDS = ("ripe", "green")
ANYTHING = object()


class Unripe(ValueError):
    """What the sample functions raise."""


# --- the numeric subset ---------------------------------------------------------------------


def remainders(a, b, out):
    for i in range(len(a)):
        out[4 * i] = a[i] % b[i]
        out[4 * i + 1] = a[i] // b[i]
        out[4 * i + 2] = int(a[i]) + floor(b[i]) - -a[i] / (b[i] - 3 * a[i] * 2)
        out[4 * i + 3] = min(a[i], b[i]) - (max(a[i], b[i]) - abs(b[i]))
    return 0


def countdown(n):
    total = BOTTOM
    for i in range(n, 0, -2):
        if i == 3:
            continue
        total += i
        if total > 40:
            break
    while 0 < total <= 20:
        total = total * 1.5
    return total - (2 - (3 - n))


# --- the typed subset -----------------------------------------------------------------------


@given("function has(fruit, name) { return Object.hasOwn(fruit, name); }")
def has(fruit: Record, name: str) -> bool:
    return name in fruit


@given("function weight_in(fruit, name) { return fruit[name]; }")
def weight_in(fruit: Record, name: str) -> float:
    return float(fruit[name])


def ripe(fruit: Record) -> bool:
    return has(fruit, "ripe") and not has(fruit, "sour")


def weigh(fruit: Record, word: str) -> dict[str, float]:
    """Weighs */ and sorts."""
    found: list[str] = []
    for name in ["ripe", "sour", "green"]:
        if has(fruit, name):
            found.append(name)
    counts = {"parts": 0, "all": len(found)}
    for name in found:
        counts["parts"] += weight_in(fruit, name) if name != "sour" else -1
    if word not in WORDS:
        near = "ripe" if ripe(fruit) else 'gr"een'
        raise Unripe(f"{word} is not known; {near} is near")
    first = found[0]
    counts["all"] = counts["all"] / counts["parts"] % 7
    counts["same"] = 1 if first == word and word in found else 0
    return counts


# --- what is refused: each function with a piece of its message -------------------------------


def by_number(x):
    """a condition is a comparison"""
    if x:
        return 1
    return 0


def by_power(x):
    """Pow is not in the subset"""
    return x**2


def by_loop_variable(n):
    """i is a loop variable: it ends with its loop"""
    for i in range(n):
        n -= 1
    return i


def by_stored_loop_variable(n):
    """only its loop may set it"""
    for i in range(n):
        i = 2
    return n


def by_target(a, n):
    """a call inside a target"""
    a[by_loop_variable(n)] = n
    return 0


def by_truth(a, b):
    """a comparison is not a number"""
    return (a < b) + 1


def by_tuple(a, b):
    """a list holds"""
    return a, b


def by_slice(a):
    """an index is one number"""
    return a[-1]


def by_attribute(a):
    """the attribute log is not in the subset"""
    return math.log(a)


def by_name(a):
    """somewhere is not a local name"""
    return a + somewhere


def by_object(a):
    """ANYTHING is not a local name or a constant"""
    return a + ANYTHING


def by_default(a, b=1):
    """defaults and starred arguments"""
    return a + b


def by_keyword(a):
    """arguments are given by place"""
    return countdown(n=a)


def by_count(a):
    """takes 1 arguments here, not 2"""
    return countdown(a, a)


def by_reserved(default):
    """the name default is taken"""
    return default


def by_infinity(a):
    """a double holds"""
    return a + 1e999


def by_comprehension(a):
    """ListComp is not in the subset"""
    return [x for x in a]


def by_with(a):
    """With is not in the subset"""
    with a:
        return 1


def by_effect(a):
    """a statement without effect"""
    a + 1
    return a


def by_two_targets(a):
    """one target for each assignment"""
    b = c = a
    return b + c


def by_step(a, b):
    """the step of a range"""
    for _i in range(0, a, b):
        return 1
    return 0


def by_else(a):
    """while ... else"""
    while a > 1:
        a -= 1
    else:
        a = 7
    return a


def by_way(a):
    """b may not be set yet here"""
    if a > 1:
        b = 2
    return b


def by_loop_way(a):
    """b may not be set yet here"""
    while a > 1:
        b = 2
        a -= 1
    return b


def by_middle(a, b):
    """the middle of a chained comparison"""
    return 1 if 0 < countdown(a) < b else 0


def by_part_annotation(a: float, b) -> float:
    """b has no annotation"""
    return a + b


def by_strange_annotation(a: complex) -> float:
    """the annotation of a is not a type of the subset"""
    return 1.0


def by_text_as_number(a: str) -> float:
    """a is a text where a number is wanted"""
    return a


def by_text_condition(a: str) -> float:
    """and this is a text"""
    return 1 if a else 0


def by_text_order(a: str, b: str) -> bool:
    """a text and a text cannot be compared"""
    return a < b


def by_mixed_equality(a: str, b: float) -> bool:
    """a text and a number cannot be compared"""
    return a == b


def by_text_length(a: str) -> float:
    """len() takes a list or an array, not a text"""
    return len(a)


def by_changing_type(a: str) -> float:
    """b is a number and cannot become a text"""
    b = 1.0
    b = a
    return b


def by_empty_list(a: str) -> list[str]:
    """an empty list says its type"""
    found = []
    return found


def by_mixed_list(a: str) -> list[str]:
    """all of one type"""
    return [a, 1]


def by_append(a: list[str]) -> list[str]:
    """where a text is wanted"""
    a.append(1)
    return a


def by_append_to_constant(a: str) -> str:
    """to a list with a local name"""
    WORDS.append(a)
    return a


def by_record(a: Record) -> float:
    """only given functions look inside"""
    return a["b"]


def by_record_store(a: Record) -> float:
    """a is a record"""
    a["b"] = 1
    return 1.0


def by_key(a: str) -> dict[str, float]:
    """the keys of a dict are texts that stand there"""
    return {a: 1}


def by_prototype(a: float) -> dict[str, float]:
    """cannot stand here"""
    return {"__proto__": a}


def by_dict_value(a: str) -> dict[str, float]:
    """a is a text where a number is wanted"""
    return {"a": a}


def by_format(a: str) -> str:
    """an f-string takes plain names"""
    return f"{a:>5}"


def by_number_in_text(a: float) -> str:
    """a is a number where a text is wanted"""
    return f"{a}"


def by_builtin_error(a: str) -> float:
    """raise takes an exception of the module"""
    raise ANYTHING(a)


def by_open_end(a: float) -> float:
    """may end without a return"""
    if a > 1:
        return 1.0


def by_none(a: str) -> str:
    """None is not a number"""
    b = None
    return b or a


def by_branches(a: bool) -> str:
    """where a text is wanted"""
    return "b" if a else 1


REFUSED = [f for n, f in list(globals().items()) if n.startswith("by_") and inspect.isfunction(f)]


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused_with_place_and_reason(function):
    lines, first = inspect.getsourcelines(function)
    with pytest.raises(Refused, match=re.escape(function.__doc__)) as caught:
        javascript(function)
    place = re.search(r"test_printer\.py:(\d+): ", str(caught.value))
    assert place and first <= int(place[1]) < first + len(lines)


def test_the_line_of_a_refusal_is_the_line_of_its_cause():
    first = inspect.getsourcelines(by_number)[1]
    with pytest.raises(Refused, match=rf"test_printer\.py:{first + 2}: "):
        javascript(by_number)


def test_a_given_function_names_itself():
    with pytest.raises(Refused, match="defines another function"):
        given("function other(a) { return a; }")(by_power)


def test_two_functions_of_one_name_are_refused():
    def countdown(n):
        return n

    with pytest.raises(Refused, match="two functions have the name countdown"):
        javascript(countdown, globals()["countdown"])


def test_what_is_called_is_printed_once_and_constants_too():
    text = javascript(weigh, ripe)
    assert text.count("function ripe(") == text.count("function has(") == 1
    assert 'const WORDS = Object.freeze(["ripe", "green"]);' in text
    assert "* / and sorts" in text
    assert "const BOTTOM = 0.25;" in javascript(countdown)


# --- both languages ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(browser):
    """run(text, script) → what the script returns after the printed text, through JSON."""
    page = browser.new_page()
    yield lambda text, script: page.evaluate(
        "source => new Function(source)()", f'"use strict";{text}\n{script}'
    )
    page.close()


def awkward():
    """Pairs on which remainders, quotients and minima of two languages part."""
    rng = np.random.default_rng(1)
    special = [0.0, -0.0, 1.0, -1.0, 5.0, -5.0, 0.1, -0.3, 1e300, -1e-300, 3.0, -3.0, 2.0**52, 7.5]
    pairs = [(x, y) for x in special for y in special if y]
    a = np.concatenate([rng.normal(0, 100, 500), [x for x, _ in pairs]])
    b = np.concatenate([rng.normal(0, 10, 500), [y for _, y in pairs]])
    return a.tolist(), b.tolist()


def test_numbers_are_equal_bit_for_bit(run):
    a, b = awkward()
    python = np.zeros(4 * len(a))
    remainders(a, b, python)
    script = f"""
      const n = {len(a)}, out = new Float64Array(4 * n), read = (t) => Float64Array.from(JSON.parse(t));
      remainders(read({json.dumps(json.dumps(a))}), read({json.dumps(json.dumps(b))}), out);
      return [...new BigUint64Array(out.buffer)].map(String);"""
    bits = run(javascript(remainders), script)
    assert bits == [str(bit) for bit in python.view(np.uint64)]


def test_loops_are_equal(run):
    numbers = [0, 1, 2, 3, 5, 8, 13, 40]
    script = f"return {numbers}.map(countdown);"
    assert run(javascript(countdown), script) == [countdown(n) for n in numbers]


FRUIT = [
    ({"ripe": 3, "green": 0.5}, "ripe"),
    ({"ripe": 3, "green": 0.5}, "green"),
    ({"ripe": 3}, 'wo"rd\\ \u2028 ü'),
    ({"sour": 3, "green": 1e9}, "blue"),
    ({"ripe": 2, "sour": 2, "green": 2}, "ripe"),
]


def test_texts_lists_and_refusals_are_equal(run):
    def outcome(fruit, word):
        try:
            return weigh(fruit, word)
        except Unripe as why:
            return ["Unripe", str(why)]

    script = f"""
      return JSON.parse({json.dumps(json.dumps(FRUIT))}).map(([fruit, word]) => {{
        try {{ return weigh(fruit, word); }} catch (why) {{ return [why.name, why.message]; }}
      }});"""
    found = run(javascript(weigh), script)
    assert found == [outcome(fruit, word) for fruit, word in FRUIT]
    assert sum(isinstance(one, list) for one in found) == 2


@pytest.mark.parametrize(
    "fruit", [{}, {"sour": 1, "ripe": 1}], ids=["no first element", "a divisor of zero"]
)
def test_what_stops_python_stops_the_printed_text(run, fruit):
    with pytest.raises((IndexError, ZeroDivisionError)):
        weigh(fruit, "ripe")
    script = (
        f"try {{ return weigh({json.dumps(fruit)}, 'ripe'); }} catch (why) {{ return why.name; }}"
    )
    assert run(javascript(weigh), script) == "RangeError"
