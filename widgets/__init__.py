"""Estimators, figures and panels of the book on LLM inference system design.

>>> from widgets import load, estimates
>>> load("moe_serving")(request_rate=1000).total_gpus  # doctest: +SKIP
"""

from .book.loader import estimates, load
from .engine.analysis import at_least, at_most
from .engine.declare import Assume, EstimateError, Gives, Requires, Results, Series
from .engine.estimate import Estimate, estimate
from .engine.expression import (
    Table,
    argmax,
    ceil,
    constant,
    exp,
    floor,
    interp,
    log,
    maximum,
    minimum,
    scan,
    sqrt,
    sum_over,
    where,
)
from .facts.choices import engine, hardware, model, published_format, with_units
from .facts.sources import Preset, from_row, given, judgement, rounded, spread
from .facts.tables import frame, row
from .show.bindings import sweep
from .show.diagram import Arrow, Box, Diagram
from .show.figures import Figure
from .show.machine import run_on_gpus
from .show.marks import Axis, Bars, Curve, Heat, Here, Limit, Line, Measured, TimeLine
from .show.panel import panel

__all__ = [
    "Arrow", "Assume", "Axis", "Bars", "Box", "Curve", "Diagram", "Estimate", "EstimateError",
    "Figure", "Gives", "Heat", "Here", "Limit", "Line", "Measured", "Preset", "Requires",
    "Results", "Series", "Table", "TimeLine", "argmax", "at_least", "at_most", "ceil",
    "constant", "engine", "estimate", "estimates", "exp", "floor", "frame", "from_row", "given",
    "hardware", "interp", "judgement", "load", "log", "maximum", "minimum", "model", "panel",
    "published_format", "rounded", "row", "run_on_gpus", "scan", "spread", "sqrt", "sum_over", "sweep", "where", "with_units",
]  # fmt: skip
