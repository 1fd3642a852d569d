"""Where the book's own files are, in a checkout and in an installed package.

Nothing here depends on the working directory: a notebook kernel runs in
``chapters/``, the tests at the top, Colab and Binder anywhere.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
STATIC = PACKAGE / "static"
RESOURCES = ("data", "locale", "chapters")


@cache
def resource(name: str) -> Path:
    """Directory of one of the readers' resources: ``data``, ``locale`` or ``chapters``.

    A checkout keeps them beside the package, and editing them there must show at
    once; a wheel carries copies inside the package (``widgets/_data`` and so on).

    Raises ValueError for another name, FileNotFoundError when neither place has it.
    """
    if name not in RESOURCES:
        raise ValueError(f"no resource named {name!r}; there are {', '.join(RESOURCES)}")
    beside, inside = PACKAGE.parent / name, PACKAGE / f"_{name}"
    # Beside an installed package lies site-packages, where a folder called `data`
    # could be anybody's: only a checkout has the project file next to it.
    is_checkout = (PACKAGE.parent / "pyproject.toml").is_file()
    if is_checkout and beside.is_dir():
        return beside
    if inside.is_dir():
        return inside
    raise FileNotFoundError(f"{name!r} is neither at {beside} (a checkout) nor at {inside}")
