"""The machinery itself: tracing, refusing, running, printing, showing numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from widgets import serving as f
from widgets.engine.declare import Assume, EstimateError, Gives, Requires, Results, Series
from widgets.engine.estimate import estimate
from widgets.engine.expression import (
    ExpressionError,
    Table,
    argmax,
    assumption,
    ceil,
    constant,
    floor,
    interp,
    maximum,
    minimum,
    run,
    scan,
    sqrt,
    sum_over,
    where,
)
from widgets.engine.units import UnitError, atoms, display_for, format_value, split_value
from widgets.facts.sources import Preset, from_row, given, judgement, rounded


def value(node, **inputs):
    return run([node], inputs)[0]


def small(**assumptions):
    """An estimate of one line over the given assumptions."""

    def declare(body):
        import inspect

        parameters = [
            inspect.Parameter(k, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=v)
            for k, v in assumptions.items()
        ]
        body.__signature__ = inspect.Signature(parameters)
        return estimate(body)

    return declare


def assume(default=2.0, unit="", low=1, high=10, **more):
    return Assume(default, unit, low, high, **{"label": "X", "source": given, **more})


# --- refusing: the message must teach --------------------------------------------------------

x = assumption("x")


@pytest.mark.parametrize(
    ("attempt", "helper"),
    [
        (lambda: 1 if x > 3 else 2, r"where\("),
        (lambda: max(x, 3), r"maximum\("),
        (lambda: min(x, 3), r"minimum\("),
        (lambda: x > 1 and x < 3, "&"),
        (lambda: x // 2, r"floor\(a / b\)"),
        (lambda: 7 // x, r"floor\(a / b\)"),
        (lambda: x % 2, "floor"),
        (lambda: abs(x), "maximum"),
        (lambda: round(x), "floor"),
        (lambda: int(x), "floor"),
        (lambda: float(x), "default"),
        (lambda: math.ceil(x), "ceil"),
        (lambda: math.floor(x), "floor"),
        (lambda: range(x), "sum_over"),
        (lambda: list(x), "sum_over"),
        (lambda: 3 in x, "comparisons"),
        (lambda: {x: 1}, "list"),
        (lambda: x[0], "interp"),
        (lambda: x + "3", "str"),
    ],
)
def test_what_cannot_be_traced_is_refused_and_named(attempt, helper):
    with pytest.raises(ExpressionError, match=helper):
        attempt()


@pytest.mark.parametrize(
    ("declaration", "words"),
    [
        ({"source": None}, "no source"),
        ({"label": ""}, "label"),
        ({"default": 20}, "outside its range 1 to 10"),
        ({"low": 10, "high": 1}, "low 10 is not below high 1"),
        ({"low": 0, "log": True}, "above zero"),
        ({"group": "stuff"}, "workload"),
        ({"source": from_row("hardware.h100_sxm.hbm_bytes")}, "hbm_bytes"),
        ({"source": rounded("hardware.h100_sxm.hbm_bytes")}, "3%"),
    ],
)
def test_a_wrong_assumption_is_refused(declaration, words):
    with pytest.raises(EstimateError, match=words):
        small(a=assume(**declaration))(lambda a: Results(b=Gives(a, "", "B")))


def test_an_undeclared_unit_is_refused_with_the_nearest():
    with pytest.raises(UnitError, match="'token'"):
        small(a=assume(unit="tokn/s"))(lambda a: Results(b=Gives(a, "", "B")))
    with pytest.raises(UnitError, match="not declared"):
        small(a=assume())(lambda a: Results(b=Gives(a, "furlong", "B")))


def test_judgement_needs_a_reason():
    with pytest.raises(EstimateError, match="reason"):
        judgement(" ")


def test_presets_are_checked():
    def with_preset(values, **more):
        return estimate(presets=[Preset("p", "P", values, **more)])

    def body(a=assume()):
        return Results(b=Gives(a, "", "B"))

    with pytest.raises(EstimateError, match="outside 1 to 10"):
        with_preset({"a": 99.0}, measured=False)(body)
    with pytest.raises(EstimateError, match="row"):
        with_preset({"a": 3.0})(body)
    with pytest.raises(EstimateError, match=r"Did you mean 'a'|Known: a"):
        with_preset({"aa": 3.0}, measured=False)(body)


def test_calling_names_assumption_value_range_and_nearest():
    e = small(request_rate=assume(2, "request/s"))(
        lambda request_rate: Results(b=Gives(request_rate * 2, "request/s", "B"))
    )
    with pytest.raises(EstimateError, match="Did you mean 'request_rate'"):
        e(request_rat=3)
    for bad in (11, float("nan"), float("inf"), -1):
        with pytest.raises(EstimateError, match=r"request_rate = .* from 1 to 10 request/s"):
            e(request_rate=bad)
    for bad in ("3", None, True, [3]):
        with pytest.raises(EstimateError, match="not a number"):
            e(request_rate=bad)
    with pytest.raises(AttributeError, match=r"Did you mean 'b'|Known: b"):
        _ = e().bb
    assert e(request_rate=np.array([1.0, 2.0])).b.tolist() == [2.0, 4.0]


def test_a_wrong_unit_is_found():
    e = small(a=assume(2, "byte"), t=assume(2, "s"))(
        lambda a, t: Results(b=Gives(a / t, "byte", "B"))
    )
    with pytest.raises(EstimateError, match="declared in 'byte'"):
        e.check_dimensions()
    e = small(a=assume(2, "byte"), t=assume(2, "s"))(
        lambda a, t: Results(b=Gives(a + t, "byte", "B"))
    )
    with pytest.raises(EstimateError, match="second"):
        e.check_dimensions()


def test_an_hour_is_not_a_second():
    e = small(price=assume(2, "usd/hour"), t=assume(2, "s"))(
        lambda price, t: Results(b=Gives(price * t, "usd", "B"))
    )
    with pytest.raises(EstimateError):
        e.check_dimensions()


# --- running ---------------------------------------------------------------------------------


def test_an_exact_fit_does_not_flip():
    assert ceil(0.1 * 3 / 0.3) == 1.0
    assert floor(0.3 / 0.1) == 3.0
    assert value(x * 3 >= 0.3, x=0.1) and value(x * 3 <= 0.3, x=0.1)
    assert not value(x * 3 > 0.3, x=0.1)
    assert ceil(1.0001) == 2.0 and floor(0.9999) == 0.0


def test_loops():
    assert value(sum_over(x, lambda i: i * i), x=4) == 30
    assert value(sum_over(x, lambda i: sum_over(i, lambda j: j)), x=3) == 1 + 3 + 6
    assert value(argmax(x, lambda k: -(k - 3) * (k - 3)), x=8) == 3
    assert value(argmax(x, lambda k: 0 * k), x=8) == 1, "the smallest on a tie"
    np.testing.assert_allclose(value(sum_over(x, lambda i: i), x=np.array([1.0, 3.0])), [1.0, 6.0])
    np.testing.assert_allclose(value(argmax(x, lambda k: k), x=np.array([2.0, 5.0])), [2.0, 5.0])


def test_scan_keeps_state_and_emits():
    walk = scan(3, {"a": x, "b": 0}, lambda i, s: {"a": s["a"] * 2, "b": s["b"] + s["a"], "i": i})
    assert value(walk["a"], x=1) == 8
    assert value(walk["b"], x=1) == 1 + 2 + 4
    assert value(walk.series("i"), x=1) == [1, 2, 3]
    with pytest.raises(ExpressionError, match="emitted"):
        _ = walk["i"]
    with pytest.raises(ExpressionError, match="gives no value for b"):
        scan(3, {"a": x, "b": 0}, lambda i, s: {"a": s["a"]})


def test_interp_is_flat_outside_and_straight_inside():
    table = Table((0.0, 1.0, 3.0), (0.0, 10.0, 30.0))
    assert [value(interp(x, table), x=v) for v in (-1, 0.5, 2, 9)] == [0, 5, 20, 30]
    assert interp(0.5, table) == 5
    with pytest.raises(ExpressionError, match="ascend"):
        Table((1.0, 0.0), (0.0, 1.0))


def test_helpers_work_on_plain_numbers_and_arrays():
    assert maximum(1, 5, 3) == 5 and minimum(4, 2) == 2 and where(True, 1, 2) == 1
    np.testing.assert_allclose(sqrt(np.array([4.0, 9.0])), [2.0, 3.0])
    assert f.kv_bytes_per_token_gqa(80, 8, 128, 1) == 163_840
    assert f.kv_bytes_per_token_mla(61, 512, 64, 2) == 70_272


def test_named_results_stay_steps():
    def body(a=assume(), b=assume()):
        total = a * b
        return Results(
            total=Gives(total, "", "Total"), half=Gives(total / 2, "", "Half"),
            yes=Gives(total > 3, "", "Yes", verdict=("y", "n")),
        )  # fmt: skip

    e = estimate(body)
    assert e.latex("half") == r"\frac{\text{total}}{2}"
    assert 'data-ref="total"' in e.mathml("half") and 'data-ref="a"' not in e.mathml("half")
    assert 'data-ref="a"' in e.mathml("total")


def test_latex_escapes_labels():
    e = small(a=assume(label="50% of {x} & y_1"))(lambda a: Results(b=Gives(a * 2, "", "B")))
    assert r"50\% of \{x\} \& y\_1" in e.latex("b")


def test_constraints_never_raise():
    def body(a=assume(), b=assume()):
        return Results(Requires(a <= b, "a above b"), c=Gives(a + b, "", "C"))

    e = estimate(body)
    assert e.constraints() == {"c0": True}
    assert e.constraints(a=9) == {"c0": False} and e(a=9).c == 11


def test_series_stay_out_of_the_results():
    def body(a=assume()):
        walk = scan(4, {"s": 0}, lambda i, s: {"s": s["s"] + a})
        return Results(b=Gives(walk["s"], "", "B"), line=Series(walk.series("s"), "", "Line"))

    e = estimate(body)
    assert list(e()) == ["b"] and e.series_values() == {"line": [2, 4, 6, 8]}


def test_sweep_gives_a_frame():
    e = small(a=assume())(lambda a: Results(b=Gives(a * 2, "", "B")))
    frame = e.sweep("a", [1, 2, 3])
    assert frame["b"].tolist() == [2, 4, 6] and frame["a"].tolist() == [1, 2, 3]


def test_constants_have_units():
    e = small(a=assume(2, "usd/hour"))(
        lambda a: Results(b=Gives(a / constant(3600, "s/hour"), "usd/s", "B"))
    )
    e.check_dimensions()


# --- showing numbers -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "options", "number", "shown"),
    [
        ("byte", {}, 22_100_544_000, "22.1 GB"),
        ("byte", {"binary": True}, 8 * 2**30, "8 GiB"),
        ("byte", {}, 999.9999999999, "1 kB"),
        ("byte/s", {}, 3.35e12, "3.35 TB/s"),
        ("byte/token", {"show": "B/token"}, 70272, "70,272 B/token"),
        ("s", {}, 0.0446, "44.6 ms"),
        ("s", {}, 6720, "1.87 h"),
        ("s", {}, 0, "0 s"),
        ("s/token", {}, 0.05, "50 ms"),
        ("usd", {}, 0.7555, "$0.76"),
        ("usd/hour", {"style": "integer"}, 1088, "$1,088"),
        ("", {"show": "%"}, 0.666, "66.6%"),
        ("", {"show": "%", "digits": 2}, 0.666, "67%"),
        ("", {"show": "×"}, 1.2, "1.2×"),
        ("gpu", {"style": "integer"}, 544, "544"),
        ("request/s", {}, 12345.6, "12,346"),
        ("", {}, 0.125, "0.125"),
        ("", {"digits": 2}, 0.125, "0.13"),
        ("", {}, -3, "−3"),
        ("parameter", {}, 70.6e9, "70.6B"),
        ("bit/s", {}, 4e11, "400 Gbit/s"),
        ("flop/s", {}, 1.979e15, "1.979 PFLOP/s"),
    ],
)
def test_numbers_are_shown_as_a_reader_expects(unit, options, number, shown):
    assert format_value(display_for(unit, **options), number) == shown.replace(" ", "\u00a0")


def test_table_cells_carry_the_label_that_sentences_leave_out():
    assert split_value(display_for("gpu"), 3) == ("3", "GPUs")
    assert split_value(display_for("gpu"), 1) == ("1", "GPU")
    assert split_value(display_for("token/s/gpu"), 1850) == ("1,850", "tok/s/GPU")


def test_units_are_parsed():
    assert atoms("token/s/gpu") == (("token",), ("s", "gpu"))
    with pytest.raises(UnitError, match=r"never shown"):
        display_for("byte", show="furlong")
