"""Compiles every kernel for real GPUs on a machine without one, and prints `ok` for each.

    python compile_for.py

Run without TRITON_INTERPRET, in a process of its own: the interpreter replaces the compiler.
Types and block sizes are those of the timed shapes, where registers and shared memory matter.
"""

from __future__ import annotations

import sys
from types import ModuleType

import notebooks
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

# The notebooks ask for the device; the real one would switch the interpreter on.
notebooks.common.device = lambda: notebooks.common.Device("cuda", "none", (9, 0), "")

TARGETS = {"Turing": 75, "Ampere": 80, "Hopper": 90}
SHARED_BYTES = {"Turing": 65_536, "Ampere": 166_912, "Hopper": 232_448}
"""What a program may use, from CUDA's tables of compute capabilities."""

KERNELS = [
    # notebook, kernel, types of its pointers (H: the 16-bit format), constants
    ("segmented_lora", "bgmv_kernel", "H H H i64", {"BLOCK_N": 32, "BLOCK_K": 256}),
    ("segmented_lora", "sgmv_kernel", "H H H i32", {"BLOCK_M": 16, "BLOCK_N": 64, "BLOCK_K": 128}),
    (
        "paged_attention",
        "gqa_kernel",
        "H H H i32 i32 i32 fp32 fp32 fp32",
        {"D": 128, "BLOCK": 16, "STEP": 32, "GROUP": 4, "ROWS": 16, "SELECTED": False},
    ),
    (
        "paged_attention",
        "mla_kernel",
        "H H i32 i32 i32 fp32 fp32 fp32",
        {"LATENT": 512, "ROPE": 64, "BLOCK": 64, "STEP": 32, "ROWS": 16, "SELECTED": True},
    ),
    ("grammar_mask", "mask_kernel", "fp32 i32 i32", {"TILE": 1024}),
    ("rejection_sampling", "verify_kernel", "fp32 fp32 i64 fp32 fp32 i64", {"TILE": 4096}),
    ("gather_kv", "copy_kernel", "H H i32", {"TILE": 4096, "SCATTER": False}),
    ("gather_kv", "copy_kernel", "H H i32", {"TILE": 4096, "SCATTER": True}),
    ("expert_dispatch", "permute_kernel", "H i64 H", {"TILE": 1024}),
    (
        "expert_dispatch",
        "grouped_kernel",
        "H H H i32 i32",
        {"EXPERTS": 8, "BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64},
    ),
    ("expert_dispatch", "combine_kernel", "H i64 fp32 H", {"TOP_K": 8, "TILE": 1024}),
]


NOT_ON = {("Turing", "mla_kernel")}
"""The latents of MLA do not fit a T4's shared memory; the notebook does not time it there."""


def compile_kernel(module: ModuleType, name: str, pointers: str, constants: dict, target: str):
    """The compiled kernel; scalars are 32-bit integers, `scale` is a float."""
    kernel = getattr(module, name)
    half = "fp16" if target == "Turing" else "bf16"
    types = ["*" + t.replace("H", half) for t in pointers.split()]
    arguments = [a for a in kernel.arg_names if a not in constants]
    scalars = ["fp32" if a == "scale" else "i32" for a in arguments[len(types) :]]
    signature = dict(zip(arguments, types + scalars, strict=True))
    signature |= dict.fromkeys(constants, "constexpr")
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
    return triton.compile(source, target=GPUTarget("cuda", TARGETS[target], 32))


def main(targets: list[str]) -> None:
    for target in targets:
        for notebook, name, pointers, constants in KERNELS:
            if (target, name) in NOT_ON:
                continue
            module = notebooks.module(notebook)
            made = compile_kernel(module, name, pointers, constants, target)
            shared = made.metadata.shared
            fits = shared <= SHARED_BYTES[target]
            print(target, name, "ok" if fits else f"too much shared memory: {shared}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or list(TARGETS))
