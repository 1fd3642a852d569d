"""Time the demo kernels on this machine's GPU and keep the results in data/recorded/.

    make record-gpu                          all kernels
    python tools/record_gpu.py gather_kv     some of them, in the demos' environment

Executes the notebooks as they are: the correctness cells run first and must pass. Nothing is
written without a GPU. Afterwards `make store-demos` shows the results on the pages.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
DEMOS = ROOT / "chapters" / "demos"
RECORDED = ROOT / "data" / "recorded"
COMMAND = "make record-gpu"


def kernel_slugs() -> list[str]:
    """The notebooks that time a kernel."""
    notebooks = sorted(DEMOS.glob("*.ipynb"))
    return [path.stem for path in notebooks if "time_on_gpu(" in path.read_text("utf-8")]


def record(slug: str) -> Path:
    """Run one notebook on the GPU; the path of its result. The notebook itself stays as it is."""
    result = RECORDED / f"{slug}.json"
    result.unlink(missing_ok=True)
    notebook = nbformat.read(DEMOS / f"{slug}.ipynb", as_version=4)
    resources = {"metadata": {"path": str(DEMOS)}}
    NotebookClient(notebook, timeout=900, kernel_name="python3", resources=resources).execute()
    if not result.exists():
        raise RuntimeError(f"{slug} ran, but recorded nothing")
    return result


def show(path: Path) -> None:
    kept = json.loads(path.read_text("utf-8"))
    print(f"{path.relative_to(ROOT)}  {kept['device']}, driver {kept['driver']}")
    for timing in kept["timings"]:
        print(f"  {timing['case']:<28} {timing['median_s'] * 1e6:>10.1f} µs")


def main(slugs: list[str]) -> int:
    import torch

    if not torch.cuda.is_available():
        print("No GPU that PyTorch can use: nothing recorded.", file=sys.stderr)
        return 1
    os.environ.pop("TRITON_INTERPRET", None)
    os.environ["DEMO_RECORD"] = COMMAND
    for slug in slugs or kernel_slugs():
        show(record(slug))
    print("Now run `make store-demos`, so that the pages show these results.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
