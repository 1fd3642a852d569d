"""Every figure: its curves lie on its paper, its points where they are evaluated, and its axes
bear the unit in which its numbers are written."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from conftest import every_estimate

from widgets import book, load
from widgets.engine.units import PLURALS, display_for
from widgets.show.bindings import resolve
from widgets.show.marks import Bars, Heat, Here, Limit, Line, TimeLine

FIGURES = [
    pytest.param(figure, id=f"{name}-{figure.id}")
    for name in every_estimate()
    for figure in book.figures(name)
    if figure.kind == "figure"
]
MOST = 0.7
"""So much of each curve lies inside the axes; a steep one may leave them at its end."""
SLACK = 1e-5
"""Points are written with six digits."""


_DRAWN: dict[int, list] = {}


def drawn(figure) -> list:
    """(mark, trace with its numbers at the defaults) of a figure; drawn once, days take long."""
    if id(figure) not in _DRAWN:
        e = figure.estimate
        traces = [(mark, trace) for mark in figure.marks for trace in mark.traces(figure)]
        _DRAWN[id(figure)] = [(m, resolve(e, t, e.values({}))) for m, t in traces]
    return _DRAWN[id(figure)]


def inside(axis, values) -> np.ndarray:
    """Which of the values lie between the ends of an axis."""
    values = np.asarray(values, dtype=float)
    ends = sorted(end for end in (axis.low, axis.high) if end is not None)  # an axis may hang
    low, high = ends if len(ends) == 2 else (-np.inf, np.inf)
    slack = SLACK * np.maximum(1, np.abs(values))
    return (values >= low - slack) & (values <= high + slack)


@pytest.mark.parametrize("figure", FIGURES)
def test_points_bars_and_limits_lie_on_the_paper_at_the_defaults(figure):
    for mark, trace in drawn(figure):
        if isinstance(mark, (Line, TimeLine, Heat)):
            continue
        for axis, key in ((figure.x, "x"), (figure.y, "y")):
            at = [v for v in trace[key] if not isinstance(v, str)]
            assert inside(axis, at).all(), f"{type(mark).__name__}: {key} = {at}"


@pytest.mark.parametrize("figure", FIGURES)
def test_most_of_each_curve_lies_on_the_paper(figure):
    for mark, trace in drawn(figure):
        if isinstance(mark, (Line, TimeLine)):
            seen = inside(figure.x, trace["x"]) & inside(figure.y, trace["y"])
            name = mark.y if isinstance(mark, Line) else mark.of
            assert seen.mean() >= MOST, f"{name}: {seen.mean():.0%} is on the paper"


@pytest.mark.parametrize("figure", FIGURES)
def test_a_curve_fills_a_fair_part_of_its_paper(figure):
    """An axis ten times too long makes every curve a flat line."""
    if figure.y.low is None or figure.y.high is None:
        return
    ends = np.array([figure.y.low, figure.y.high], dtype=float)
    curves = [t["y"] for m, t in drawn(figure) if isinstance(m, (Line, TimeLine))]
    if not curves:
        return
    seen = np.concatenate([np.asarray(y, dtype=float) for y in curves])
    seen = seen[inside(figure.y, seen)]
    if figure.y.log:
        ends, seen = np.log10(ends), np.log10(seen[seen > 0])
    assert (seen.max() - seen.min()) / (ends[1] - ends[0]) > 0.2


@pytest.mark.parametrize("figure", FIGURES)
def test_curves_stand_where_they_are_evaluated(figure):
    for mark in figure.marks:
        if not isinstance(mark, Line):
            continue
        for trace in mark.traces(figure):
            at = np.array(trace["y"]["at"])
            np.testing.assert_allclose(np.array(trace["x"]) * figure.x.scale, at, rtol=SLACK)
            a = figure.estimate.assumptions[figure.x.of]
            assert a.low * (1 - SLACK) <= at.min() and at.max() <= a.high * (1 + SLACK)


@pytest.mark.parametrize("figure", FIGURES)
def test_the_current_point_is_the_estimate(figure):
    e = figure.estimate
    known = {**e.values({}), **e()}
    for mark, trace in drawn(figure):
        if isinstance(mark, Here):
            x = known[mark.x or figure.x.of] / figure.x.scale
            assert trace["x"][0] == pytest.approx(x)
            assert trace["y"][0] == pytest.approx(known[mark.y] / figure.y.scale)


# --- units of axes --------------------------------------------------------------------------


def shown_on(figure):
    """(axis, name) of the results, series and assumptions that an axis writes."""
    x, y = figure.x, figure.y
    yield from ((axis, axis.of) for axis in (x, y) if axis.of)
    for mark in figure.marks:
        match mark:
            case Line() | TimeLine():
                yield y, mark.y if isinstance(mark, Line) else mark.of
            case Here():
                yield y, mark.y
                yield x, mark.x or x.of
            case Limit() if isinstance(mark.at, str):
                yield (y if mark.axis == "y" else x), mark.at
            case Bars():
                names = [mark.of] if isinstance(mark.of, str) else mark.of
                yield from ((y, name) for name in names if name)


LARGE = {1e3: "thousand", 1e6: "million", 1e9: "billion"}


def units_of(declared, scale: float) -> set[str]:
    """What an axis may write for a quantity of which one unit is `scale`: the label of its
    ladder, or nothing where that only repeats what is counted."""
    unit, show = declared.unit, getattr(declared, "show", "")
    if not unit:
        kept = {"%": {0.01: {"%"}}, "×": {1: {"×"}}}.get(show)
        return (kept or {0.01: {"%"}, 1: {"×", ""}}).get(scale, set())
    ladders = [display_for(unit, binary=binary).ladder for binary in (False, True)]
    labels = {label for s, label in itertools.chain(*ladders) if s == scale}
    label = display_for(unit).ladder[-1][1]
    if scale == 1 and (label in PLURALS.values() or "/" in label):
        labels |= {"", label.split("/")[0]}
    named: dict[str, dict[float, str]] = {"s": {60: "min"}, "usd": {1: "$"}}
    labels |= {named[unit][scale]} if scale in named.get(unit, {}) else set()
    return labels | ({f"{LARGE[scale]} {unit}s"} if scale in LARGE else set())


@pytest.mark.parametrize("figure", FIGURES)
def test_an_axis_bears_the_unit_of_what_it_shows(figure):
    e = figure.estimate
    known = {**e.assumptions, **e.outputs, **e.series}
    for axis, name in shown_on(figure):
        may = units_of(known[name], axis.scale)
        assert axis.unit in may, (
            f"{name} is in {known[name].unit!r}; in units of {axis.scale:g} an axis may write "
            f"{sorted(may)}, not {axis.unit!r}"
        )
        assert axis.percent <= (axis.scale == 0.01)


@pytest.mark.parametrize("figure", FIGURES)
def test_drawn_axes_have_the_range_and_the_words_declared(figure):
    layout = figure.layout()
    for key, axis in (("xaxis", figure.x), ("yaxis", figure.y)):
        title = layout[key]["title"]["text"]
        assert title == axis.label + (f" ({axis.unit})" if axis.unit else "")
        if axis.low is not None and axis.high is not None:
            ends = layout[key]["range"]
            back = [10**v for v in ends] if axis.log else ends
            assert back == pytest.approx([axis.low, axis.high])


def test_the_notebooks_figure_is_the_same():
    figure = next(f for f in book.figures("moe_serving") if f.kind == "figure")
    plotly, e = figure.plotly(request_rate=1000), load("moe_serving")
    x, y = plotly.data[0].x, plotly.data[0].y
    truth = e(request_rate=np.array(x) * figure.x.scale)[figure.marks[0].y] / figure.y.scale
    np.testing.assert_allclose(y, truth, rtol=1e-4)
