"""The kernels of a decoding step without a GPU: interpreted, and compiled for three of them."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is for Linux alone")


def test_the_kernels_compute_what_the_plain_lines_do():
    folder = Path(__file__).with_name("interpreted")
    done = subprocess.run(
        # Older interpreters of Triton index with arrays, which NumPy has come to dislike.
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
        + ["-W", "ignore:Conversion of an array:DeprecationWarning"],
        env=os.environ | {"TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]


COMPILE = """
import sys, triton
from triton import language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from gpt2_edu import kernels

kernels.tl = tl
numbers = {"C": "i32", "N": "i32", "K": "i32", "room": "i32", "eps": "fp32", "scale_": "fp32"}
integers = ("ids", "position", "padding")
fixed = {
    "_embed": {"BLOCK": 1024},
    "_norm_linear": {"GELU": True, "ROWS": 4, "BLOCK": 1024},
    "_linear_add": {"ROWS": 4, "BLOCK": 1024},
    "_attend": {"H": 12, "D": 64, "BLOCK": 64, "KEYS": 64},
}
for name, constants in fixed.items():
    function = triton.jit(getattr(kernels, name))
    for number in ("bf16", "fp16", "fp32"):
        signature = {}
        for argument in function.arg_names:
            if argument in constants:
                signature[argument] = "constexpr"
            elif name == "_attend" and argument == "scale":
                signature[argument] = "fp32"
            else:
                pointer = "*i64" if argument in integers else f"*{number}"
                signature[argument] = numbers.get(argument, pointer)
        for capability in (75, 80, 90):
            if (number, capability) != ("bf16", 75):
                made = triton.compile(
                    ASTSource(function, signature=signature, constexprs=constants),
                    target=GPUTarget("cuda", capability, 32),
                )
                assert made.asm["cubin"]
                print(name, number, capability)
"""


def test_the_kernels_compile_for_a_t4_an_a100_and_an_h100():
    """Without a GPU: Triton brings NVIDIA's assembler."""
    done = subprocess.run([sys.executable, "-c", COMPILE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 4 * (3 * 3 - 1)
