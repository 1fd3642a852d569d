"""Estimators, figures and panels of the book on LLM inference system design.

>>> from widgets import load, estimates
>>> load("moe_serving")(request_rate=1000).total_gpus  # doctest: +SKIP
"""

from .book import estimates, load
from .diagram import Arrow, Box, Diagram
from .estimate import (
    Assume,
    Estimate,
    EstimateError,
    Gives,
    Preset,
    Requires,
    Results,
    Series,
    estimate,
    from_row,
    given,
    judgement,
    rounded,
)
from .expression import (
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
from .figures import (
    Axis,
    Bars,
    Curve,
    Figure,
    Heat,
    Here,
    Limit,
    Line,
    Measured,
    TimeLine,
    sweep,
)
from .panel import panel
from .tables import frame, row

__all__ = [
    "Arrow", "Assume", "Axis", "Bars", "Box", "Curve", "Diagram", "Estimate", "EstimateError",
    "Figure", "Gives", "Heat", "Here", "Limit", "Line", "Measured", "Preset", "Requires",
    "Results", "Series", "Table", "TimeLine", "argmax", "ceil", "constant", "estimate",
    "estimates", "exp", "floor", "frame", "from_row", "given", "interp", "judgement", "load",
    "log", "maximum", "minimum", "panel", "rounded", "row", "scan", "sqrt", "sum_over", "sweep",
    "where",
]  # fmt: skip
