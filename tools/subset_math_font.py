"""Make the book's math font: a subset of STIX Two Math with its MATH table.

Run it only to refresh `widgets/static/fonts/`; the result is committed.
`ziamath` (PyPI) carries the font: `pip install ziamath fonttools brotli`.
"""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

FAMILY = "Book Math"  # renamed, because a subset is a modified version
TARGET = Path(__file__).resolve().parent.parent / "widgets/static/fonts/book-math.woff2"

RANGES = (
    (0x20, 0x7E),  # ASCII
    (0xA0, 0xA0),
    (0x391, 0x3A9),  # Greek, upright
    (0x3B1, 0x3C9),
    (0x1D434, 0x1D467),  # italic Latin: what a one-letter <mi> is drawn with
    (0x1D6FC, 0x1D716),  # italic Greek
    (0x1D400, 0x1D433),  # bold Latin
)
SYMBOLS = (
    "¬°±·×÷ℎℓ′″‖†‡…⋯⋮⋱←↑→↓↔⇐⇒⇔↦∀∂∃∅∆∇∈∉∋∏∑−∓∗∘∙√∛∝∞∠∣∥∧∨∩∪∫∴∼≃≅≈≠≡≤≥≪≫⊂⊃⊆⊇⊕⊗⊥⋅"
    "⌈⌉⌊⌋⟨⟩⎡⎢⎣⎤⎥⎦⎧⎨⎩⎪⎫⎬⎭⎛⎜⎝⎞⎟⎠⏞⏟⏐‾¯ˆ˜ˉ˙¨↛⃗̂̃̄̇̈ℒℕℝℤ𝔼𝟏"
)


def source_font() -> Path:
    """Where the installed ziamath package keeps STIX Two Math."""
    spec = importlib.util.find_spec("ziamath")
    if spec is None or spec.origin is None:
        raise SystemExit("ziamath is not installed: pip install ziamath")
    return Path(spec.origin).parent / "fonts" / "STIXTwoMath-Regular.ttf"


def make_subset(source: Path, target: Path) -> None:
    """Write the woff2 subset of `source` to `target`."""
    font = TTFont(source)
    options = subset.Options()
    options.flavor = "woff2"
    options.hinting = False
    options.glyph_names = False
    options.layout_features = []  # script-size alternates would double the file
    options.drop_tables += ["DSIG"]
    subsetter = subset.Subsetter(options)
    codes = {code for low, high in RANGES for code in range(low, high + 1)}
    subsetter.populate(unicodes=codes | {ord(symbol) for symbol in SYMBOLS})
    subsetter.subset(font)
    for record in font["name"].names:
        if record.nameID in (1, 3, 4, 6, 16):
            record.string = FAMILY.replace(" ", "") if record.nameID == 6 else FAMILY
    target.parent.mkdir(parents=True, exist_ok=True)
    subset.save_font(font, str(target), options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, help="a STIXTwoMath-Regular.ttf")
    parser.add_argument("--target", type=Path, default=TARGET)
    arguments = parser.parse_args()
    make_subset(arguments.source or source_font(), arguments.target)
    print(f"{arguments.target}: {arguments.target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
