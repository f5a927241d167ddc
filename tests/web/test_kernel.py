"""The compiled kernel is the one whose text can be read."""

from __future__ import annotations

import subprocess
from pathlib import Path

import gpt2_edu
from tests.node import NODE

ROOT = Path(__file__).resolve().parents[2]


def test_the_compiled_kernel_comes_from_its_text(missing):
    if not (ROOT / "book" / "node_modules" / "wabt").is_dir():
        missing("run: make book/node_modules/.ready")
    command = [NODE, "book/make_kernel.mjs", "--print"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    stored = (Path(gpt2_edu.__file__).parent / "web" / "kernel.mjs").read_text(encoding="utf-8")
    assert done.stdout == stored, "run: make kernel"
