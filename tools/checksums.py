"""Write `data/checksums.txt`, a sha256 a table: python tools/checksums.py, after a change of a
table. Its diff shows which tables were meant; a test fails for one that changed in silence."""

from __future__ import annotations

import hashlib
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "data"
LIST = DATA / "checksums.txt"


def checksums() -> str:
    """A line a table, as `sha256sum --check` reads it."""
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(DATA.glob("*.csv"))
    )


if __name__ == "__main__":
    LIST.write_text(checksums(), "utf-8")
