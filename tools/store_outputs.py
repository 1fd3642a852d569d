"""Run chapter notebooks and store what the repository keeps of their outputs.

    python tools/store_outputs.py [chapters/moe_serving.ipynb ...]

A cell that prints an estimate keeps its text, its HTML and its execution count: nbval compares
them. A cell tagged `nbval-ignore-output` (panels, figures) is stored empty, since a saved
widget would carry megabytes of state. The repository's address goes from `_config.yml` into
the cell that Colab needs. Without arguments all chapters are done.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import nbformat
import yaml
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
KEPT = ("text/plain", "text/html")
ADDRESS = re.compile(r'^REPOSITORY, BRANCH = "[^"]*", "[^"]*"', re.MULTILINE)


def address() -> str:
    """The line of code that names the repository for Colab."""
    named = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["repository"]
    return f'REPOSITORY, BRANCH = "{named["url"]}", "{named["branch"]}"'


def store(path: Path) -> None:
    """Execute one notebook in its own folder and write it back."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.source = ADDRESS.sub(address(), cell.source)
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=120, resources=resources, store_widget_state=False).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            _keep_or_empty(cell)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    nbformat.write(notebook, path)


def _keep_or_empty(cell) -> None:
    if "nbval-ignore-output" in cell.metadata.get("tags", []) or not cell.outputs:
        cell.outputs, cell.execution_count = [], None
        return
    for output in cell.outputs:
        if "data" in output:
            output["data"] = {k: v for k, v in output["data"].items() if k in KEPT}


def main(names: list[str]) -> None:
    os.environ.pop("BOOK_BUILD", None)
    chapters = sorted((ROOT / "chapters").glob("*.ipynb"))
    paths = [Path(name).resolve() for name in names] or chapters
    for path in paths:
        store(path)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
