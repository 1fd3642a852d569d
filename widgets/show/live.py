"""The panel as a live widget (anywidget on ipywidgets), for Jupyter, VS Code and Colab."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import anywidget
import traitlets

from ..engine.declare import Assume, EstimateError
from ..engine.estimate import Estimate
from ..paths import STATIC
from .script import kernel_module
from .spec import spec


class EstimatePanel(anywidget.AnyWidget):
    """Base of the panels; a subclass with the estimate's traits is made for each estimate.

    Assumption traits take numbers in base units inside their range, and raise a TraitError
    that says so otherwise. Result traits are computed here and are read-only in effect.
    """

    _esm = kernel_module()
    _css = STATIC / "panel.css"
    spec = traitlets.Dict().tag(sync=True)

    estimate: Estimate

    def __init__(self, estimate: Estimate, figures: Sequence[Any], compact: bool):
        results = dict(estimate())
        content = {**spec(estimate, figures, compact), "code": estimate.javascript()}
        super().__init__(spec=content, **results)
        self.estimate = estimate
        self._computed_for = estimate.values({})
        self.observe(self._recompute, names=list(estimate.assumptions))
        self.on_msg(self._answer)

    def _recompute(self, _change: Any) -> None:
        values = {name: getattr(self, name) for name in self.estimate.assumptions}
        if values == self._computed_for:  # a preset sets many traits, and each of them calls
            return
        self._computed_for = values
        with self.hold_sync():
            for name, result in self.estimate(**values).items():
                setattr(self, name, result)

    def _answer(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """The front end asks for Plotly when a figure comes into view."""
        if isinstance(content, dict) and content.get("type") == "plotly":
            bundle = (STATIC / "vendor" / "plotly-basic.min.js").read_bytes()
            self.send({"type": "plotly"}, buffers=[bundle])

    def reset(self) -> None:
        """All assumptions back to their defaults."""
        with self.hold_trait_notifications():
            for name, a in self.estimate.assumptions.items():
                setattr(self, name, float(a.default))


class _AssumptionTrait(traitlets.Float):
    """A float inside an assumption's range; the error names assumption, value and range."""

    def __init__(self, estimate: Estimate, a: Assume):
        super().__init__(float(a.default))
        self.tag(sync=True)
        self.checked = lambda value: estimate.values({a.name: value})[a.name]

    def validate(self, obj: Any, value: Any) -> float:
        try:
            return self.checked(value)
        except EstimateError as error:
            raise traitlets.TraitError(str(error)) from None


@cache
def _panel_class(estimate: Estimate) -> type[EstimatePanel]:
    traits: dict[str, Any] = {
        k: _AssumptionTrait(estimate, a) for k, a in estimate.assumptions.items()
    }
    for name, gives in estimate.outputs.items():
        traits[name] = (traitlets.Bool() if gives.boolean else traitlets.Float()).tag(sync=True)
    words = estimate.name.replace(".", "_").split("_")
    return type("".join(w.capitalize() for w in words) + "Panel", (EstimatePanel,), traits)


def make_panel(estimate: Estimate, figures: Sequence[Any], compact: bool) -> EstimatePanel:
    """The widget of an estimate."""
    return _panel_class(estimate)(estimate, figures, compact)
