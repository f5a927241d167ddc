"""The Makefile: what it lists, and what it says of an old Python."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_help_lists_every_target():
    done = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True)
    phony = re.search(r"^\.PHONY: ((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text("utf-8"), re.M)
    targets = set(phony[1].replace("\\\n", " ").split()) - {"help"}
    listed = [line[2:].split("  ")[0] for line in done.stdout.splitlines() if line[:2] == "  "]
    assert set(" ".join(listed).split()) == targets
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_an_old_python_is_refused_before_anything_is_installed(tmp_path):
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    old = tmp_path / "python3.10"
    code = "import sys; sys.version_info = (3, 10); exec(sys.argv.pop(1))"
    old.write_text(f"#!/bin/sh\nshift\nexec python3 -c '{code}' \"$@\"\n")
    old.chmod(0o755)
    make = ["make", f"PYTHON={old}", "lab"]
    done = subprocess.run(make, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0 and "needs Python 3.11 or newer" in done.stderr
    assert not (tmp_path / ".venv").exists()
