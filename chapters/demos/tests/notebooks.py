"""Loads the code of a demo notebook as a module, so that tests call what readers read."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

import nbformat

DEMOS = Path(__file__).resolve().parents[1]
if str(DEMOS) not in sys.path:
    sys.path.insert(0, str(DEMOS))

import common  # noqa: E402

KERNELS = (
    "segmented_lora",
    "paged_attention",
    "grammar_mask",
    "rejection_sampling",
    "gather_kv",
    "expert_dispatch",
)
MEASUREMENTS = ("xgrammar_cpu", "prefix_index_cpu", "safetensors_load_cpu", "serving")
_FOLDER = tempfile.TemporaryDirectory(prefix="demos-")


def read(slug: str) -> nbformat.NotebookNode:
    return nbformat.read(DEMOS / f"{slug}.ipynb", as_version=4)


def code(slug: str) -> str:
    """The cells tagged `kernel`, under the imports that all kernel notebooks share."""
    cells = [c.source for c in read(slug).cells if "kernel" in c.metadata.get("tags", [])]
    head = "import common\nDEVICE = common.device()\n"
    if slug in KERNELS:
        head += "import torch\nimport triton\nimport triton.language as tl\n"
    return "\n\n".join([head, *cells])


@cache
def module(slug: str) -> ModuleType:
    """The kernels and references of a notebook. A real file, because Triton reads its source."""
    common.device()
    path = Path(_FOLDER.name) / f"demo_{slug}.py"
    path.write_text(code(slug), "utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = loaded
    spec.loader.exec_module(loaded)
    return loaded
