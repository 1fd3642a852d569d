"""Estimates: a function of named assumptions that gives named results.

`@estimate` traces the author's function once. The object it returns can be called with
numbers or arrays, swept, printed as JavaScript or as a formula, and checked for units.
"""

from __future__ import annotations

import difflib
import inspect
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..language import translate
from . import analysis, javascript, mathematics
from .declare import Assume, EstimateError, Gives, Preset, Results
from .expression import as_node, assumption, run
from .limits import limits_of
from .units import atoms, join, quantity, registry, split_value

if TYPE_CHECKING:
    import pandas

# --- calling --------------------------------------------------------------------------------


class Result(Mapping[str, Any]):
    """Results of one evaluation, by key or by attribute; prints as a table."""

    def __init__(self, estimate: Estimate, assumptions: dict[str, Any], values: dict[str, Any]):
        self._estimate = estimate
        self._values = values
        self.assumptions = assumptions

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise KeyError(unknown(name, self._values, f"{self._estimate.name} gives no"))
        return self._values[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def table(self) -> list[tuple[str, str, str, str]]:
        """Name, label, number and unit of each result, as text in the page's language."""
        lines = []
        for name, gives in self._estimate.outputs.items():
            value = self._values[name]
            if np.ndim(value):
                number, unit = f"{np.size(value)} values", gives.unit
            else:
                number, unit = self._estimate.parts(name, self.assumptions, self._values)
            lines.append((name, translate(gives.label), number, unit))
        return lines

    def __repr__(self) -> str:
        rows = self.table()
        wide = [max(len(r[k]) for r in rows) for k in range(4)]
        return "\n".join(
            f"{name:<{wide[0]}}  {number:>{wide[2]}} {unit:<{wide[3]}}  {label}".rstrip()
            for name, label, number, unit in rows
        )

    def _repr_html_(self) -> str:
        head = f"<caption>{escape(translate(self._estimate.title))}</caption>"
        body = "".join(
            f"<tr><th scope=row>{escape(label)}</th><td>{escape(number)}</td><td>{escape(unit)}</td></tr>"
            for _, label, number, unit in self.table()
        )
        return f"<table class=estimate-results>{head}<tbody>{body}</tbody></table>"


def unknown(name: str, known: Any, what: str) -> str:
    """What to tell who misspelt a name: the nearest one, or all."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]!r}?" if near else f" Known: {', '.join(known)}."
    return f"{what} {name!r}.{hint}"


TEXTBOOK = ("Textbook", "The textbook values.")


class Estimate:
    """A traced estimate. Call it: `estimate(request_rate=1000)["prefill_gpus"]`."""

    def __init__(
        self,
        function: Callable[..., Results],
        name: str,
        title: str,
        presets: Sequence[Preset] = (),
        defaults: tuple[str, str] = TEXTBOOK,
    ):
        self.function, self.name, self.title = function, name, title
        self.defaults = defaults
        self.assumptions = _declared(function)
        leaves = {key: assumption(key) for key in self.assumptions}
        results = function(**leaves)
        if not isinstance(results, Results):
            raise EstimateError(f"{name} must return Results(…), not {type(results).__name__}.")
        self.outputs = {k: _named(g, k) for k, g in results.gives.items()}
        self.nodes = {k: as_node(g.value) for k, g in results.gives.items()}
        self.series = results.series
        self.requires = {f"c{i}": r for i, r in enumerate(results.requires)}
        self.presets = {p.key: p for p in presets}
        self._check()
        self.limits = limits_of(self)

    # -- declaration --

    def _check(self) -> None:
        both = set(self.assumptions) & set(self.outputs)
        if both:
            raise EstimateError(f"{self.name}: {', '.join(both)} is an assumption and a result.")
        for gives in self.outputs.values():
            atoms(gives.unit)
            if not gives.label:
                raise EstimateError(f"{self.name}: result {gives.name!r} needs a label.")
        for a in self.assumptions.values():
            if a.suggested_by is not None:
                self.known(a.suggested_by, self.outputs, "result")
            if a.follows:
                self.known(a.follows.removeprefix("-"), self.assumptions, "assumption")
        for preset in self.presets.values():
            self._check_preset(preset)

    def _check_preset(self, preset: Preset) -> None:
        for name, value in preset.numbers().items():
            a = self.assumptions.get(name) or self.known(name, self.assumptions, "assumption")
            if not a.low <= value <= a.high:
                raise EstimateError(
                    f"{self.name}, preset {preset.key!r}: {name} = {value:g} is outside {a.low:g} to {a.high:g}."
                )
            if preset.measured and not preset.comes_from_row(name):
                raise EstimateError(
                    f"{self.name}, preset {preset.key!r}: {name} must come from a row of the data tables."
                )

    def known(self, name: str, known: Mapping[str, Any], what: str) -> Any:
        if name not in known:
            raise EstimateError(unknown(name, known, f"{self.name} has no {what}"))
        return known[name]

    # -- evaluation --

    def values(self, given_values: Mapping[str, Any]) -> dict[str, Any]:
        """All assumptions, those given checked. Raises EstimateError that names the
        assumption, the value, the range and the nearest name."""
        for name in given_values:
            self.known(name, self.assumptions, "assumption")
        return {
            name: self._checked(a, given_values[name]) if name in given_values else float(a.default)
            for name, a in self.assumptions.items()
        }

    def _checked(self, a: Assume, value: Any) -> Any:
        unit = f" {a.unit}" if a.unit else ""
        allowed = f"a number from {a.low:g} to {a.high:g}{unit}"
        wrong = f"{self.name}: {a.name} = {value!r} is not a number; it takes {allowed}."
        if isinstance(value, bool) or not (
            isinstance(value, numbers.Real) or hasattr(value, "__array__")
        ):
            raise EstimateError(wrong)
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            raise EstimateError(wrong)
        if not np.all((array >= a.low) & (array <= a.high)):  # also catches NaN
            raise EstimateError(
                f"{self.name}: {a.name} = {value!r} is out of range; it takes {allowed}."
            )
        if a.integer and not np.all(array == np.round(array)):
            raise EstimateError(
                f"{self.name}: {a.name} = {value!r} must be whole; it takes {allowed}."
            )
        return array.astype(float) if array.ndim else float(array)

    def __call__(self, **assumptions: Any) -> Result:
        """Results for the given assumptions (numbers, or arrays of one shape)."""
        inputs = self.values(assumptions)
        raw = run(list(self.nodes.values()), inputs)
        shapes = [np.shape(v) for v in inputs.values() if np.ndim(v)]
        named = zip(self.outputs.items(), raw, strict=True)
        return Result(self, inputs, {k: _typed(g, v, shapes) for (k, g), v in named})

    def constraints(self, **assumptions: Any) -> dict[str, Any]:
        """Which constraints hold: {"c0": True, …}."""
        nodes = [as_node(r.condition) for r in self.requires.values()]
        held = run(nodes, self.values(assumptions))
        return {
            k: bool(v) if not np.ndim(v) else v for k, v in zip(self.requires, held, strict=True)
        }

    def series_values(self, **assumptions: Any) -> dict[str, list[float]]:
        """Values over time of each series, for figures."""
        raw = run([s.value for s in self.series.values()], self.values(assumptions))
        return {k: [float(x) for x in v] for k, v in zip(self.series, raw, strict=True)}

    def overridden(self, values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
        """`values` with `changes` put in: a number replaces, a string "*3" multiplies; the
        outcome is clamped to the assumption's range, as the sliders are."""
        changed = dict(values)
        for name, change in changes.items():
            a = self.known(name, self.assumptions, "assumption")
            if isinstance(change, str):
                change = values[name] * float(change.removeprefix("*"))
            changed[name] = min(max(float(change), a.low), a.high)
        return changed

    def verdicts_held(self, bought: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Verdicts under `inputs` with the decisions (units bought, say) held at `bought`."""
        asked = {k: self.nodes[k] for k, g in self.outputs.items() if g.boolean}
        given_nodes = {id(self.nodes[k]): bought[k] for k in self.decisions}
        return dict(zip(asked, run(list(asked.values()), inputs, given=given_nodes), strict=True))

    @cached_property
    def decisions(self) -> tuple[str, ...]:
        """Names of the results that are bought or set, not merely computed."""
        return tuple(k for k, g in self.outputs.items() if g.decision)

    @cached_property
    def headlines(self) -> tuple[str, ...]:
        return tuple(k for k, g in self.outputs.items() if g.headline)

    def sensitivity(
        self, output: str, *, step: float = analysis.STEP, **assumptions: Any
    ) -> pandas.DataFrame:
        """How far each assumption alone moves `output`: from low to high of its plausible band
        (or ±`step` where it has none), the others as given; what moves it most comes first.

        Columns: assumption, low, high, at_low, at_high, spread (base units).
        """
        return analysis.sensitivity(self, output, step, assumptions)

    def uncertainty(
        self, *, draws: int = analysis.DRAWS, seed: int = analysis.SEED, **assumptions: Any
    ) -> pandas.DataFrame:
        """P10, P50 and P90 of each headline, and the share of draws in which each verdict holds.

        Assumptions with a plausible band are drawn from a triangle with its peak at the value
        given. For headlines everything is sized anew in each draw; for verdicts the decisions
        are held as they are for the values given: bought for these, does it suffice?
        """
        return analysis.uncertainty(self, draws, seed, assumptions)

    def solve(self, *, for_: str, **wanted: Any) -> analysis.Solution:
        """Where in its range the assumption `for_` makes a result so, the others as given.

        Name one result and what it shall be (`meets_tpot=True`, `total_gpus=at_most(400)`, or a
        number to reach); all other names are assumptions. The answer holds every stretch that
        does it, the value nearest to today's, or the nearest miss.
        """
        return analysis.solve(self, for_, wanted)

    def sweep(self, name: str, values: Sequence[float], **assumptions: Any):
        """A DataFrame of all results, one row a value of the assumption `name`."""
        import pandas as pd

        self.known(name, self.assumptions, "assumption")
        swept = np.asarray(list(values), dtype=float)
        result = self(**{**assumptions, name: swept})
        return pd.DataFrame({name: swept, **{key: result[key] for key in result}})

    # -- as text --

    def parts(
        self, name: str, values: Mapping[str, Any], results: Mapping[str, Any]
    ) -> tuple[str, str]:
        """Number and unit label of an assumption or a result, in the page's language.

        Beside a limit that it is compared with, a number rounds away from it.
        """
        declared = self.assumptions.get(name) or self.outputs[name]
        value = values[name] if name in values else results[name]
        if isinstance(declared, Gives):
            if declared.boolean:
                return translate("yes") if value else translate("no"), ""
            if declared.none and value == 0:
                return translate(declared.none), ""
            if declared.words:
                return translate(declared.words[int(value) - 1]), ""
        beside = [
            values.get(x, results.get(x)) if isinstance(x, str) else x
            for x in self.limits.get(name, ())
        ]
        return split_value(declared.display, value, [x for x in beside if x is not None])

    def text(
        self,
        name: str,
        values: Mapping[str, Any],
        results: Mapping[str, Any],
        style: str = "",
    ) -> str:
        """The same as it stands in a sentence.

        style: "number" leaves the unit out, "noun" writes it ("1 unit", "8 units"), "" leaves
        out what sentences supply themselves (a bare count).
        """
        declared = self.assumptions.get(name) or self.outputs[name]
        number, unit = self.parts(name, values, results)
        bare = style == "number" or (declared.display.bare and style != "noun")
        return number if bare else number + join(declared.display, unit)

    # -- other faces --

    @cached_property
    def _names(self) -> dict[int, str]:
        return {
            id(node): name for name, node in self.nodes.items() if node.op not in ("input", "const")
        }

    @property
    def labels(self) -> dict[str, str]:
        """Label of each assumption and result, in the page's language."""
        return {
            k: translate(x.label) for k, x in [*self.assumptions.items(), *self.outputs.items()]
        }

    def javascript(self) -> str:
        """Text of a self-contained ES module; `evaluate(assumptions)` gives the results."""
        functions = {
            "evaluate": self.nodes,
            "constraints": {k: as_node(r.condition) for k, r in self.requires.items()},
            "series": {k: s.value for k, s in self.series.items()},
        }
        held = {id(self.nodes[k]): k for k in self.decisions}
        if held:
            functions["held"] = {k: self.nodes[k] for k, g in self.outputs.items() if g.boolean}
        defaults = {k: a.default for k, a in self.assumptions.items()}
        return javascript.module(functions, defaults, given={"held": held})

    def latex(self, output: str) -> str:
        """The formula of one result as LaTeX, other results by name."""
        self.known(output, self.outputs, "result")
        return mathematics.latex(self.nodes[output], self._names, self.labels)

    def mathml(self, output: str) -> str:
        """The formula of one result as MathML, other results by name."""
        self.known(output, self.outputs, "result")
        return mathematics.mathml(self.nodes[output], self._names, self.labels)

    def check_dimensions(self) -> None:
        """Run the estimate on pint quantities; raises EstimateError if a result's unit is wrong."""
        inputs = {k: quantity(float(a.default), a.unit) for k, a in self.assumptions.items()}
        for name, node in self.nodes.items():
            gives = self.outputs[name]
            try:
                (value,) = run([node], inputs, quantity)
            except Exception as error:
                raise EstimateError(f"{self.name}.{name}: {error}") from error
            got = getattr(value, "dimensionality", registry().Quantity(1, "").dimensionality)
            want = quantity(1.0, gives.unit).dimensionality
            if got != want and not (gives.boolean and np.ndim(value) == 0):
                raise EstimateError(
                    f"{self.name}.{name} is declared in {gives.unit or 'no unit'!r} ({want}) but has {got}."
                )

    def _repr_html_(self) -> str:
        return self()._repr_html_()

    def __repr__(self) -> str:
        return f"<estimate {self.name}: {len(self.assumptions)} assumptions, {len(self.outputs)} results>"


def _declared(function: Callable[..., Results]) -> dict[str, Assume]:
    declared: dict[str, Assume] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if not isinstance(parameter.default, Assume):
            raise EstimateError(f"{function.__name__}: {name} needs a default of Assume(…).")
        declared[name] = _named(parameter.default, name)
        declared[name].check()
    return declared


def _named(declared: Any, name: str) -> Any:
    return replace(declared, name=name)


def _typed(gives: Gives, value: Any, shapes: list[tuple[int, ...]]) -> Any:
    if shapes:
        value = np.broadcast_to(value, shapes[0])
        return value.astype(bool) if gives.boolean else value
    return bool(value) if gives.boolean else float(value)


def estimate(
    function: Callable[..., Results] | None = None,
    *,
    title: str = "",
    page: str = "",
    presets: Sequence[Preset] = (),
    defaults: tuple[str, str] = TEXTBOOK,
) -> Any:
    """Decorator that turns a function of assumptions into an Estimate.

    page: name of the chapter for a small toolbox estimate, which is then called
    "page.function"; a chapter's own estimate leaves it out.
    defaults: what the default values are called among the presets, and the note beside them.
    """

    def decorate(function: Callable[..., Results]) -> Estimate:
        name = f"{page}.{function.__name__}" if page else function.__name__
        words = title or function.__name__.replace("_", " ").capitalize()
        return Estimate(function, name, words, presets, defaults)

    return decorate(function) if function is not None else decorate
