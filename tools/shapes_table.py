"""Write `data/shapes.csv`, what `shape_of` reads from `data/configs.json`:
python tools/shapes_table.py, after a change of a config or of the reader.
"""

from __future__ import annotations

import csv
import io
from dataclasses import fields

from widgets.facts.shapes import Shape, shape_of
from widgets.facts.tables import configs
from widgets.paths import resource

COLUMNS = [field.name for field in fields(Shape)]


def text() -> str:
    """The table as it should stand in the file."""
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    write(["key", "name", *COLUMNS, "source", "grade", "note"])
    for key, model in configs().items():
        shape = shape_of(model["config"])
        numbers = [f"{getattr(shape, name):.12g}" for name in COLUMNS]
        write([key, model["name"], *numbers, "aiconfigurator", "C", ""])
    return out.getvalue()


if __name__ == "__main__":
    (resource("data") / "shapes.csv").write_text(text(), "utf-8")
