"""The Makefile: what it lists, and when it makes its environment anew."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def make(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", *arguments], cwd=folder, capture_output=True, text=True)


def test_every_target_is_listed_on_a_line_of_sixty_columns():
    listed = make().stdout.splitlines()
    assert max(map(len, listed)) <= 60
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    assert {line.split()[0] for line in listed if line.startswith("  ")} == targets - {"help"}


@pytest.fixture
def copy(tmp_path) -> Path:
    """A copy whose environment is ready, in a path with a space and an umlaut."""
    folder = tmp_path / "ein Ördner"
    (folder / ".venv" / "bin").mkdir(parents=True)
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    for name, script in (("python", f'exec "{sys.executable}" "$@"'), ("pip", "")):
        (folder / ".venv" / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / ".venv" / "bin" / name).chmod(0o755)
    (folder / ".venv" / ".ready").write_text(f"{folder / '.venv'}\n")
    return folder


def installs(folder: Path, *options: str) -> bool:
    return "--requirement requirements.txt" in make("-n", "lab", *options, folder=folder).stdout


def test_an_environment_that_is_ready_stays(copy):
    assert not installs(copy)


def test_one_that_was_moved_or_whose_python_is_gone_or_that_is_half_installed_is_made(copy):
    python = copy / ".venv" / "bin" / "python"
    gone = python.rename(python.with_name("gone"))
    assert installs(copy)
    gone.rename(python)
    assert installs(copy, "NEEDED=torch no_such_package")
    moved = copy.rename(copy.parent / "elsewhere")
    assert installs(moved)
    moved.rename(copy)
    assert not installs(copy)
    (copy / ".venv" / ".ready").unlink()
    assert installs(copy)


def test_a_python_that_is_too_old_or_not_there_is_a_sentence(copy, tmp_path):
    shutil.rmtree(copy / ".venv")
    old = tmp_path / "python3.10"
    old.write_text('#!/bin/sh\ntest "$1" = --version && echo "Python 3.10.1"\n')
    old.chmod(0o755)
    for python, what in ((str(old), "Python 3.10.1"), ("nowhere/python", "not here")):
        done = make(f"PYTHON={python}", "book", folder=copy)
        assert done.returncode != 0
        assert f"needs Python 3.11 or newer, and '{python}' is {what}." in done.stderr
        assert not (copy / ".venv").exists()
