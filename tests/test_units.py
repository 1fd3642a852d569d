"""Every ladder of units, against what its prefixes mean."""

from __future__ import annotations

import pytest

from widgets.engine.units import DIMENSIONS, LABELS, display_for, format_value, labels

DECIMAL = {"k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50}
TIMES = {"h": 3600, "s": 1, "ms": 1e-3, "µs": 1e-6}
COUNTS = {"T": 1e12, "B": 1e9, "M": 1e6, "": 1}
STEMS = ("bit", "FLOP", "B")


def meant(label: str, unit: str) -> float:
    """Base units in one `label`, from its prefix alone."""
    word = label.split("/")[0]
    if unit == "s":
        return TIMES[word]
    if unit == "parameter":
        return COUNTS[word]
    stem = next(stem for stem in STEMS if word.endswith(stem))
    prefix = word.removesuffix(stem)
    return 10.0 ** DECIMAL[prefix] if prefix in DECIMAL else 2.0 ** BINARY.get(prefix, 0)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(
    "unit", ["byte", "byte/s", "byte/token", "bit", "bit/s", "s", "flop", "flop/s", "parameter"]
)
def test_a_step_of_a_ladder_is_what_its_prefix_means(unit, binary):
    ladder = display_for(unit, binary=binary).ladder
    assert [scale for scale, _ in ladder] == sorted({scale for scale, _ in ladder}, reverse=True)
    for scale, label in ladder:
        assert scale == meant(label, unit), label
        assert format_value(display_for(unit, show=label, binary=binary), 3 * scale).startswith("3")


def test_peaks_are_in_teraflops_and_shares_in_hundredths():
    assert display_for("flop/s/gpu").ladder == ((1e12, "TFLOP/s"),)
    assert display_for("", show="%").ladder == ((0.01, "%"),)
    assert display_for("", show="×").ladder == ((1.0, "×"),)


@pytest.mark.parametrize("atom", [*LABELS, "hour", "usd"])
def test_what_is_counted_is_written_one_to_one(atom):
    if atom != "parameter":
        assert [scale for scale, _ in display_for(atom).ladder] == [1.0]


def test_no_label_is_missing_here():
    """A new ladder comes with its definition."""
    stems = {word.split("/")[0] for word in labels()}
    known = {prefix + stem for prefix in ("", *DECIMAL, *BINARY) for stem in STEMS}
    assert stems <= known | set(TIMES) | set(COUNTS)
    assert set(DIMENSIONS) == {"byte", "bit", "s", "hour", "flop", "usd"}
