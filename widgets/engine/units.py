"""Units: which exist, what dimension they have, and how a number in them is shown.

Inside the book everything is in base units (bytes, seconds, tokens, FLOPs, dollars). Only
this module turns them into GB, ms or %, and it says which: decimal prefixes are written
kB, MB, GB, binary ones KiB, MiB, GiB.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Any

from ..language import translate

DIMENSIONS = {
    "byte": "byte",
    "bit": "bit",
    "s": "second",
    "hour": "hour",
    "flop": "flop",
    "usd": "usd",
}
"""Units that carry a dimension. An hour is its own, so that 3600 is never silent."""

LABELS = {
    "request": "req",
    "token": "tok",
    "gpu": "GPU",
    "node": "node",
    "instance": "instance",
    "layer": "layer",
    "parameter": "parameter",
    "adapter": "adapter",
    "block": "block",
    "pair": "pair",
    "prompt": "prompt",
    "sample": "sample",
    "region": "region",
    "unit": "unit",
    "session": "session",
    "sequence": "seq",
    "lookup": "lookup",
    "write": "write",
    "step": "step",
    "turn": "turn",
    "thread": "thread",
    "schema": "schema",
    "copy": "copy",
    "chunk": "chunk",
    "launch": "launch",
    "expert": "expert",
    "user": "user",
    "day": "day",
}
"""Units that only say what is counted; they have no dimension."""

_UNCHANGED = ("req", "tok", "seq")
_IRREGULAR = {"copy": "copies", "launch": "launches"}
PLURALS = {
    label: label if label in _UNCHANGED else _IRREGULAR.get(label, f"{label}s")
    for label in LABELS.values()
}
"""A noun beside a number other than one; abbreviations have no plural."""


class UnitError(ValueError):
    """A unit that the book does not know."""


def atoms(unit: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Numerator and denominator of a unit such as "token/s/gpu"; raises UnitError."""
    parts = unit.split("/") if unit else [""]
    top = tuple(part for part in parts[0].split("*") if part not in ("", "1"))
    below = tuple(parts[1:])
    for atom in top + below:
        if atom not in DIMENSIONS and atom not in LABELS:
            known = [*DIMENSIONS, *LABELS]
            near = difflib.get_close_matches(atom, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise UnitError(
                f"Unit {unit!r}: {atom!r} is not declared.{hint} Known: {', '.join(known)}."
            )
    return top, below


@lru_cache
def registry() -> Any:
    """A pint registry with this book's dimensions only. Stock pint takes a byte for a mere
    number, which would let bytes and tokens be added."""
    import pint

    own = pint.UnitRegistry(None)  # type: ignore[arg-type]  # no default units
    for name in sorted(set(DIMENSIONS.values())):
        own.define(f"{name} = [{name}]")
    return own


def quantity(value: Any, unit: str) -> Any:
    """`value` as a pint quantity; labels such as token or gpu have no dimension."""
    top, below = atoms(unit)
    result = registry().Quantity(value, "")
    for atom in top:
        if atom in DIMENSIONS:
            result = result * registry().Quantity(1, DIMENSIONS[atom])
    for atom in below:
        if atom in DIMENSIONS:
            result = result / registry().Quantity(1, DIMENSIONS[atom])
    return result


def localized(label: str) -> str:
    """A unit label in the page's language, as a whole or part by part: tok/s/node."""
    whole = translate(label)
    return whole if whole != label else "/".join(translate(part) for part in label.split("/"))


# --- showing a number -----------------------------------------------------------------------


@dataclass(frozen=True)
class Display:
    """How a number is written; panel.js follows the same rules.

    ladder: (scale, unit label), largest first. style: "auto" (significant digits), "fixed"
    (decimals) or "integer". bare: sentences leave the label out and supply the noun.
    one: the label beside the number 1, where it differs ("unit", "units").
    """

    ladder: tuple[tuple[float, str], ...]
    digits: int = 3
    style: str = "auto"
    prefix: str = ""
    attach: bool = False
    bare: bool = False
    one: str = ""

    def spec(self) -> dict[str, Any]:
        """As JSON, labels in the page's language."""
        return {
            "ladder": [[scale, localized(label)] for scale, label in self.ladder],
            "digits": self.digits,
            "style": self.style,
            "prefix": self.prefix,
            "attach": self.attach,
            "bare": self.bare,
            "one": localized(self.one),
        }


_BYTES = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_BINARY = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))
_BITS = ((1e12, "Tbit"), (1e9, "Gbit"), (1e6, "Mbit"), (1.0, "bit"))
_SECONDS = ((3600.0, "h"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_FLOPS = (
    (1e18, "EFLOP"), (1e15, "PFLOP"), (1e12, "TFLOP"), (1e9, "GFLOP"), (1e6, "MFLOP"), (1.0, "FLOP"),
)  # fmt: skip
_SHORT = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1.0, ""))


def _per(below: tuple[str, ...]) -> str:
    return "".join("/" + LABELS.get(atom, "h" if atom == "hour" else atom) for atom in below)


def _with_suffix(ladder, suffix: str):
    return tuple((scale, label + suffix) for scale, label in ladder)


def _ladder(unit: str, binary: bool) -> tuple[tuple[tuple[float, str], ...], dict[str, Any]]:
    top, below = atoms(unit)
    first = top[0] if top else ""
    if first == "byte":
        kept = tuple(atom for atom in below if atom in ("s", "hour", "token"))
        suffix = "".join(f"/{atom}" for atom in kept)  # spelt out: B/token, GB/s
        return _with_suffix(_BINARY if binary else _BYTES, suffix), {}
    if first == "bit":
        return _with_suffix(_BITS, _per(tuple(a for a in below if a == "s"))), {}
    if first == "s":
        return _SECONDS, {}
    if unit == "flop/s/gpu":
        return ((1e12, "TFLOP/s"),), {"digits": 4}  # peaks are compared in this unit
    if first == "flop":
        return _with_suffix(_FLOPS, _per(tuple(a for a in below if a == "s"))), {"digits": 4}
    if first == "usd":
        kept = tuple(atom for atom in below if atom in DIMENSIONS)
        money = {"prefix": "$", "style": "fixed", "digits": 2, "attach": True, "bare": True}
        return ((1.0, _per(kept)),), money
    if first == "parameter":
        return _SHORT, {"attach": True}
    if not first and below:
        return ((1.0, _per(below)),), {"attach": True}  # a bare rate: 100/s
    noun = LABELS.get(first, "")
    if below or not noun:
        return ((1.0, noun + _per(below)),), {"bare": True}
    return ((1.0, PLURALS[noun]),), {"bare": True, "one": noun}


def display_for(
    unit: str,
    *,
    show: str = "",
    digits: int | None = None,
    style: str | None = None,
    binary: bool = False,
) -> Display:
    """The usual way to write a number in `unit`.

    show: "%" or "×" for a number without unit, or one label of the unit's ladder ("ms") to
    keep to that one.
    """
    if show == "%":
        chosen: dict[str, Any] = {"ladder": ((0.01, "%"),), "attach": True}
    elif show == "×":
        chosen = {"ladder": ((1.0, "×"),), "attach": True}
    else:
        ladder, options = _ladder(unit, binary)
        if show:
            matching = tuple(step for step in ladder if step[1] == show)
            if not matching:
                labels = ", ".join(label for _, label in ladder)
                raise UnitError(f"Unit {unit!r} is never shown in {show!r}; it has {labels}.")
            ladder = matching
        chosen = {"ladder": ladder, **options}
    if digits is not None:
        chosen["digits"] = digits
    if style is not None:
        chosen["style"] = style
    return Display(**chosen)


def labels() -> list[str]:
    """Every unit label that the displays made so far can write (for translation)."""
    fixed = [*_BYTES, *_BINARY, *_BITS, *_SECONDS, *_FLOPS, *_SHORT]
    return sorted({label for _, label in fixed if label})


MOST_DECIMALS = 6
"""What is smaller than this shows reads as nought, not as a row of zeros."""


def _round(n: float, display: Display) -> Decimal:
    exact = Decimal(n)
    if display.style == "integer":
        decimals = 0
    elif display.style == "fixed":
        decimals = display.digits
    else:
        before = exact.adjusted() + 1 if exact else 1
        decimals = min(max(display.digits - before, 0), MOST_DECIMALS)
    return exact.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP)


def split_value(display: Display, value: Any, limits: Sequence[float] = ()) -> tuple[str, str]:
    """The number and its unit label, as they stand in a table.

    limits: numbers that it is compared with; it gets as many digits as set it apart from them.
    Booleans and numbers that are not finite are the caller's affair.
    """
    v = float(value)
    if not math.isfinite(v):
        return "–", ""
    reach = abs(v) * (1 + 1e-9) or 1.0  # nought is nought of the plain unit: 0 s, not 0 µs
    scale, label = next((s for s in display.ladder if reach >= s[0]), display.ladder[-1])
    others = [float(x) / scale for x in limits if abs(float(x) - v) > TOLERANCE * abs(v)]
    number = _apart(v / scale, others, display)
    one = display.one if number == "1" else ""
    return number, localized(one or label)


TOLERANCE = 1e-9
"""What is closer than this counts as equal, as comparisons in an estimate do."""
_FINEST = 6
"""More digits than these, to tell a number from its limit, nobody reads."""


def _apart(n: float, others: Sequence[float], display: Display) -> str:
    """`n` as text, with more digits until it reads unlike each of `others`."""
    text = _written(n, display)
    for _ in range(_FINEST):
        if all(_written(x, display) != text for x in others):
            break
        display = _finer(display)
        text = _written(n, display)
    return text


def _finer(display: Display) -> Display:
    if display.style == "integer":
        return replace(display, style="fixed", digits=1)
    return replace(display, digits=display.digits + 1)


def _written(n: float, display: Display) -> str:
    rounded = _round(n, display)
    text = f"{abs(rounded):,f}"
    if display.style == "auto" and "." in text:
        text = text.rstrip("0").rstrip(".")
    sign = "−" if rounded < 0 else ""
    return f"{sign}{display.prefix}{text}"


def join(display: Display, label: str) -> str:
    """A unit label as it follows its number: attached, or after a space that does not break."""
    return label if display.attach or not label else f"\u00a0{label}"


def format_value(display: Display, value: Any) -> str:
    """The number with its unit, as it stands in a sentence."""
    if isinstance(value, bool):
        return translate("yes") if value else translate("no")
    number, label = split_value(display, value)
    return number if display.bare else number + join(display, label)
