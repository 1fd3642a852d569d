"""Run the demo notebooks on the CPU and store the outputs that the book publishes.

    python chapters/demos/store.py [slug ...]

Kept is what cells print. Widgets are dropped, since a saved one carries megabytes of state.
The repository's address goes from `_config.yml` into the cell that Colab needs.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from store_outputs import ADDRESS, address  # noqa: E402

CPU = {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}


def store(path: Path) -> None:
    """Execute one notebook in its own folder and write it back."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.source = ADDRESS.sub(address(), cell.source)
    resources = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources=resources, store_widget_state=False
    )
    client.execute()
    for place, cell in enumerate(notebook.cells):
        cell["id"] = f"{path.stem.replace('_', '-')}-{place:02d}"
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if o.output_type == "stream"]
            cell.execution_count = cell.execution_count if cell.outputs else None
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    nbformat.write(notebook, path)


def main(slugs: list[str]) -> None:
    os.environ.update(CPU)
    os.environ.pop("BOOK_BUILD", None)
    paths = [HERE / f"{slug}.ipynb" for slug in slugs] or sorted(HERE.glob("*.ipynb"))
    for path in paths:
        store(path)
        print(path.relative_to(ROOT), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
