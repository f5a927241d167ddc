"""The compiled kernel is the one whose text can be read."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.node import NODE

ROOT = Path(__file__).resolve().parents[2]


def test_the_compiled_kernel_comes_from_its_text(missing):
    if not (ROOT / "web" / "node_modules" / "wabt").is_dir():
        missing("run: make web/node_modules/.ready")
    command = [NODE, "web/build_kernel.mjs", "--print"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    stored = (ROOT / "web" / "kernel.mjs").read_text(encoding="utf-8")
    assert done.stdout == stored, "run: make kernel"
