"""What is in the repository although it is generated: made again, and compared."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path
from typing import Any

import nbformat
import pytest

from gpt2_edu.exercises.exercise import steps
from gpt2_site import make_practice
from gpt2_site.chapters import chapters, find
from tests.node import node
from tests.web.fixtures import FOLDER, all_fixtures

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
WEB = ROOT / "web"


def test_packed_scripts(missing, tmp_path):
    if not (WEB / "node_modules" / "vite").is_dir():
        missing("run: npm ci in web/")
    subprocess.run([node(), "build.mjs", str(tmp_path)], cwd=WEB, check=True)
    static = ROOT / "gpt2_edu" / "exhibits" / "static"
    assert unequal(static, tmp_path, "*.js") == [], "run: make web"
    assert unequal(WEB / "card", tmp_path, "printed.txt") == [], "run: make web"


def test_kernels(missing, tmp_path):
    if not (WEB / "node_modules" / "wabt").is_dir():
        missing("run: npm ci in web/")
    subprocess.run([node(), "build_kernel.mjs", str(tmp_path)], cwd=WEB, check=True)
    assert unequal(WEB, tmp_path, "kernel.mjs", "whole_kernel.mjs", "*/kernel.mjs") == [], (
        "run: npm run kernel"
    )


def unequal(stored: Path, made: Path, *patterns: str) -> list[str]:
    """The files that differ between two folders, or are in one of them only."""
    old, new = (
        {
            str(path.relative_to(folder)): path.read_bytes()
            for p in patterns
            for path in folder.glob(p)
        }
        for folder in (stored, made)
    )
    return [name for name in old | new if old.get(name) != new.get(name)]


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
def test_practice_notebooks(chapter):
    stored = nbformat.read(chapter.practice, as_version=4)
    wanted = [(c.cell_type, c.source) for c in make_practice.practice(chapter).cells]
    assert [(c.cell_type, c.source) for c in stored.cells] == wanted, "run: make notebooks"


@pytest.mark.parametrize("step", steps().values(), ids=lambda step: step.name)
def test_cells_of_now_write_it(step):
    nb = nbformat.read(find(step.name).path, as_version=4)
    cells = [c.source for c in nb.cells if c.cell_type == "code"]
    assert sum(f'build("{step.name}"' in source for source in cells) == 1
    assert not make_practice.with_step(nb, step), "run: make notebooks"


def test_names_of_the_chapters():
    stored = (ROOT / "gpt2_edu" / "assets" / "chapters.txt").read_text(encoding="utf-8")
    assert stored.split() == [chapter.slug for chapter in chapters()], "write them into the file"


def test_fixtures_for_javascript():
    for name, made in all_fixtures().items():
        stored = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        different = differences(stored, json.loads(json.dumps(made)), name)
        assert different[:5] == [], "run: python -m tests.web.fixtures"


def differences(stored: Any, made: Any, path: str = "") -> list[str]:
    """Where two fixtures differ; numbers that processors round otherwise are the same."""
    if isinstance(stored, dict) and isinstance(made, dict) and list(stored) == list(made):
        return [d for key in stored for d in differences(stored[key], made[key], f"{path}.{key}")]
    if isinstance(stored, list) and isinstance(made, list) and len(stored) == len(made):
        pairs = enumerate(zip(stored, made, strict=True))
        return [d for i, (a, b) in pairs for d in differences(a, b, f"{path}[{i}]")]
    if isinstance(stored, float) and isinstance(made, int | float):
        # Inputs are rounded there too: what lies between two steps may go to either.
        near = 1e-3 if ".int8.passes" in path or ".int4.passes" in path else 2e-5
        return [] if math.isclose(stored, made, rel_tol=1e-4, abs_tol=near) else [path]
    return [] if stored == made else [path]
