"""What the demo notebooks share: device, checks, roofline, timing, recorded results, presets.

Import it before Triton: without a GPU it switches Triton's interpreter on. The kernels
themselves stand in the notebooks.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECORDED = ROOT / "data" / "recorded"
RECORD = "DEMO_RECORD"
"""Environment variable set by tools/record_gpu.py: write the timings to data/recorded/."""

# --- installing what is missing -------------------------------------------------------------


def require(*packages: str) -> None:
    """Make `packages` and the book's own `widgets` importable.

    In Colab and Binder what is missing is installed at the version that requirements.txt pins;
    what is there stays (Colab brings its own PyTorch). Elsewhere ImportError says what to run.
    """
    missing = [name for name in packages if not _is_there(name.replace("-", "_"))]
    book_missing = not _is_there("widgets")
    if not missing and not book_missing:
        return
    if not _is_hosted():
        absent = [*missing, *(["widgets"] if book_missing else [])]
        raise ImportError(f"Missing: {', '.join(absent)}. Run `make demos-env` in the repository.")
    wanted = [pins()[name] for name in missing]
    if book_missing:
        wanted += ["--editable", str(ROOT)]
        sys.path.insert(0, str(ROOT))  # a running kernel does not see a new editable install
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *wanted], check=True)
    importlib.invalidate_caches()


def pins() -> dict[str, str]:
    """Package name → its line of requirements.txt, such as `triton==3.7.1`."""
    lines = (HERE / "requirements.txt").read_text("utf-8").splitlines()
    return dict(re.findall(r"^(([\w-]+)==\S+)", line)[0][::-1] for line in lines if "==" in line)


def _is_there(module: str) -> bool:
    # Found, not imported: Triton must be imported after device().
    return importlib.util.find_spec(module) is not None


def _is_hosted() -> bool:
    return "google.colab" in sys.modules or "BINDER_LAUNCH_HOST" in os.environ


# --- what the notebook runs on --------------------------------------------------------------

ROWS = (
    # part of the name that CUDA reports → row of data/hardware.csv
    (r"H100 80GB HBM3", "h100_sxm"),
    (r"H800", "h800_sxm"),
    (r"H200", "h200_sxm"),
    (r"H20\b", "h20_sxm"),
    (r"A100-SXM4-80GB", "a100_80g_sxm"),
    (r"L40S", "l40s"),
    (r"GB200", "gb200"),
    (r"B200", "b200_sxm"),
)


@dataclass(frozen=True)
class Device:
    """A GPU, or the CPU with Triton's interpreter.

    capability: of CUDA, (0, 0) on a CPU. row: key in the hardware table, "" where it has none.
    """

    kind: str
    name: str
    capability: tuple[int, int]
    row: str

    @property
    def is_gpu(self) -> bool:
        return self.kind == "cuda"

    @property
    def has_bfloat16(self) -> bool:
        """Ampere and later. A T4 (7.5) has none; the interpreter's `tl.dot` gets it wrong."""
        return self.capability >= (8, 0)

    @property
    def is_hopper(self) -> bool:
        return self.capability[0] == 9


def hardware_row(name: str) -> str:
    """Key of the hardware table for a name that CUDA reports; "" for a GPU without a row."""
    return next((row for pattern, row in ROWS if re.search(pattern, name)), "")


@cache
def device() -> Device:
    """The device that the kernels run on. Sets up the interpreter where there is no GPU."""
    import torch

    if torch.cuda.is_available():
        name = torch.cuda.get_device_name()
        return Device("cuda", name, torch.cuda.get_device_capability(), hardware_row(name))
    if "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1":
        raise RuntimeError("Restart the kernel: Triton was imported before common.device().")
    os.environ["TRITON_INTERPRET"] = "1"
    torch.set_num_threads(1)
    return Device("cpu", cpu_name(), (0, 0), "")


def cpu_name() -> str:
    """The processor as the system names it."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8")
        return re.search(r"model name\s*:\s*(.+)", text)[1]  # type: ignore[index]
    except (OSError, TypeError):
        return platform.processor() or platform.machine()


def dtypes() -> list[Any]:
    """What the kernels are checked in: FP32, FP16, and BF16 where the device has it."""
    import torch

    return [torch.float32, torch.float16, *([torch.bfloat16] if device().has_bfloat16 else [])]


def fast_dtype() -> Any:
    """What the kernels are timed in: BF16, or FP16 on a GPU without it (T4)."""
    import torch

    return torch.bfloat16 if device().has_bfloat16 else torch.float16


def machine(*packages: str) -> dict[str, str]:
    """Device, driver, versions of `packages` and date, as text."""
    facts = {"date": datetime.now(UTC).date().isoformat(), "python": platform.python_version()}
    if "torch" in packages:
        d = device()
        facts["device"] = d.name
        if "triton" in packages:
            facts["runs on"] = "GPU" if d.is_gpu else "CPU, Triton's interpreter"
        if d.is_gpu:
            facts["capability"] = ".".join(map(str, d.capability))
            facts["driver"] = _driver()
            facts["cuda"] = importlib.import_module("torch").version.cuda
    else:
        facts["device"] = cpu_name()
    return {**facts, **{package: version(package) for package in packages}}


def _driver() -> str:
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        found = subprocess.run(query, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.splitlines()[0].strip()


def show_machine(*packages: str) -> None:
    table(("", ""), machine(*packages).items())


# --- printing -------------------------------------------------------------------------------


def table(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Print rows under aligned columns: the first to the left, the others to the right.

    Without any heading the rows are facts, a name and a text: all to the left.
    """
    lines = [[str(cell) for cell in row] for row in (columns, *rows)]
    if not any(lines[0]):
        _facts(lines[1:])
        return
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        print("  ".join(cells).rstrip())


def _facts(lines: list[list[str]]) -> None:
    width = max(len(name) for name, _ in lines)
    for name, text in lines:
        print(f"{name:<{width}}  {text}".rstrip())


def amount(value: float, unit: str) -> str:
    """A number in a base unit as the book writes it: 16.8 MB, 5.01 µs."""
    from widgets.engine.units import display_for, format_value

    return format_value(display_for(unit, digits=3), value).replace("\u00a0", " ")


# --- correctness ----------------------------------------------------------------------------

TOLERANCE = {"float32": 2e-5, "float16": 2e-3, "bfloat16": 2e-2}
"""Largest error, as a share of the largest entry of the FP32 reference. For FP16 and BF16 some
two steps of the format at that entry, since intermediate results are rounded too; for FP32 room
for sums in another order."""


class Checks:
    """Compares kernels with their references; `show` prints a row a case, a column a dtype."""

    def __init__(self) -> None:
        self.shapes: dict[str, str] = {}
        self.passed: dict[str, set[str]] = {}

    def close(self, case: str, actual: Any, reference: Any) -> None:
        """`actual` within the tolerance of its dtype; raises AssertionError otherwise."""
        assert_close(actual, reference, case)
        self._add(case, actual, _name(actual.dtype))

    def equal(self, case: str, actual: Any, reference: Any) -> None:
        """`actual` equal to the last bit; raises AssertionError otherwise."""
        assert actual.shape == reference.shape, f"{case}: {actual.shape} != {reference.shape}"
        assert bool((actual.cpu() == reference.cpu()).all()), f"{case}: differs"
        self._add(case, actual, f"{_name(actual.dtype)}, equal")

    def _add(self, case: str, actual: Any, column: str) -> None:
        self.shapes[case] = "×".join(map(str, actual.shape))
        self.passed.setdefault(case, set()).add(column)

    def show(self) -> None:
        columns = list(dict.fromkeys(c for passed in self.passed.values() for c in sorted(passed)))
        heads = [f"{c} ≤ {TOLERANCE[c]:g}" if c in TOLERANCE else c for c in columns]
        rows = [
            (case, self.shapes[case], *("yes" if c in passed else "" for c in columns))
            for case, passed in self.passed.items()
        ]
        table(("case", "output", *heads), rows)


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def assert_close(actual: Any, reference: Any, case: str = "") -> None:
    """Every entry within TOLERANCE of the dtype, relative to the reference's largest entry."""
    assert actual.shape == reference.shape, f"{case}: {actual.shape} != {reference.shape}"
    if not actual.numel():
        return
    limit = TOLERANCE[_name(actual.dtype)]
    reference = reference.float().cpu()
    error = (actual.float().cpu() - reference).abs().max().item()
    scale = reference.abs().max().item() or 1.0
    assert error <= limit * scale, f"{case}: error {error:.3g} of {scale:.3g}, limit {limit:g}"


# --- roofline, timing -----------------------------------------------------------------------

PAGE_ROWS = ("h100_sxm", "h200_sxm")
"""Rows of the hardware table that the pages show the floor for."""


@dataclass(frozen=True)
class Work:
    """What a kernel has to move and to compute: the inputs of the roofline."""

    case: str
    bytes: float
    flops: float = 0.0


@dataclass(frozen=True)
class Timing:
    """One measured case. Times in seconds: the median, and the tenth and ninetieth percentile."""

    case: str
    dtype: str
    bytes: float
    flops: float
    median_s: float
    p10_s: float
    p90_s: float


def floor_s(work: Work | Timing, row_key: str) -> float:
    """Seconds that `work` takes at least on a row of the hardware table, 16-bit arithmetic."""
    from widgets import row
    from widgets.serving import roofline_s

    rates = (row(f"hardware.{row_key}.{c}").value for c in ("hbm_bytes_per_s", "bf16_flops_per_s"))
    bytes_per_s, flops_per_s = rates
    return float(roofline_s(work.bytes, bytes_per_s, work.flops, flops_per_s))


def show_floor(works: Iterable[Work], also: Mapping[str, Callable[[Work], str]] | None = None):
    """Print bytes, FLOPs and the roofline's floor of each case. `also`: further columns."""
    more = also or {}
    rows = [
        (
            w.case,
            amount(w.bytes, "byte"),
            amount(w.flops, "flop"),
            *(amount(floor_s(w, key), "s") for key in PAGE_ROWS),
            *(column(w) for column in more.values()),
        )
        for w in works
    ]
    names = [f"floor, {key.split('_')[0].upper()}" for key in PAGE_ROWS]
    table(("case", "bytes", "FLOPs", *names, *more), rows)


def time_on_gpu(
    demo: str, cases: Callable[[], Iterable[tuple[Work, Callable[[], Any]]]], dtype: Any = None
) -> None:
    """Time each case on a GPU and print it beside its floor; on a CPU say that it is not timed.

    `cases` yields (work, function without arguments). Its tensors exist only on a GPU, in
    `dtype` (fast_dtype() unless given).
    The cache is flushed between runs. With DEMO_RECORD set the result goes to data/recorded/.
    """
    if not device().is_gpu:
        print("not timed: no GPU")
        return
    name = _name(dtype or fast_dtype())
    timings = [_timing(work, name, run) for work, run in cases()]
    show_timings(timings, device().row)
    if os.environ.get(RECORD):
        write_recorded(demo, timings)


def _timing(work: Work, dtype: str, run: Callable[[], Any]) -> Timing:
    from triton.testing import do_bench

    middle, low, high = (
        ms / 1000 for ms in do_bench(run, warmup=50, rep=200, quantiles=[0.5, 0.1, 0.9])
    )
    return Timing(work.case, dtype, work.bytes, work.flops, middle, low, high)


def show_timings(timings: Iterable[Timing], row_key: str) -> None:
    """Print achieved rates, and the share of the roofline where the GPU has a row of data."""
    rows = []
    for t in timings:
        cells = [t.case, t.dtype, amount(t.median_s, "s"), amount(t.bytes / t.median_s, "byte/s")]
        cells.append(amount(t.flops / t.median_s, "flop/s"))
        if row_key:
            floor = floor_s(t, row_key)
            cells += [amount(floor, "s"), f"{floor / t.median_s:.0%}"]
        else:
            cells += ["–", "–"]
        rows.append(cells)
    table(("case", "dtype", "median", "bytes", "FLOPs", "floor", "of roofline"), rows)


# --- recorded results -----------------------------------------------------------------------


def write_recorded(demo: str, timings: Iterable[Timing]) -> Path:
    """Keep the timings with device, driver, versions, date and command."""
    RECORDED.mkdir(parents=True, exist_ok=True)
    path = RECORDED / f"{demo}.json"
    about = {"demo": demo, "row": device().row, "command": os.environ[RECORD]}
    about |= machine("torch", "triton")
    kept = {**about, "timings": [asdict(t) for t in timings]}
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path


def show_recorded(demo: str) -> None:
    """Print the recorded GPU run of a demo, or say that there is none yet."""
    path = RECORDED / f"{demo}.json"
    if not path.exists():
        print("not yet recorded on a GPU")
        return
    kept = json.loads(path.read_text("utf-8"))
    names = ("device", "driver", "cuda", "torch", "triton", "date", "command")
    table(("", ""), [(name, kept[name]) for name in names])
    print()
    show_timings([Timing(**t) for t in kept["timings"]], kept["row"])


# --- measured presets -----------------------------------------------------------------------


def beside(name: str, measured: Mapping[str, float]) -> None:
    """Print measured figures beside the assumptions of the estimate `name`."""
    assumptions = load_estimate(name).assumptions
    rows = []
    for key, value in measured.items():
        a = assumptions[key]
        ratio = value / float(a.default)
        cells = (amount(value, a.unit), amount(float(a.default), a.unit), f"{ratio:.3g}×")
        rows.append((a.label, *cells))
    table(("assumption", "measured here", "in the chapter", "ratio"), rows)


def within_range(name: str, measured: Mapping[str, float]) -> dict[str, float]:
    """`measured`, each moved into the range of its slider where it lies outside."""
    assumptions = load_estimate(name).assumptions
    return {
        key: min(max(value, float(assumptions[key].low)), float(assumptions[key].high))
        for key, value in measured.items()
    }


def measured_panel(name: str, measured: Mapping[str, float]) -> Any:
    """The panel of an estimate under a button that sets what was measured on this machine."""
    import ipywidgets

    from widgets import panel

    shown = panel(load_estimate(name))
    button = ipywidgets.Button(description="Measured on this machine")

    def use(_button: Any) -> None:
        for key, value in within_range(name, measured).items():
            setattr(shown, key, value)

    button.on_click(use)
    return ipywidgets.VBox([button, shown])


def load_estimate(name: str) -> Any:
    from widgets import load

    return load(name)


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that at least `share` of `values` do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-round(share * len(ordered) * 1e6) // 1_000_000) - 1)]
