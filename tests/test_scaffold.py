"""A new chapter and a new exercise: what is refused, what is written, what moves."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import scaffold
import yaml
from chapters import chapters
from scaffold import Refused

ROOT = Path(__file__).resolve().parents[1]
SLUGS = [chapter.slug for chapter in chapters()]

# Runs a copy of the scripts, without what executes notebooks.
DRIVER = """
import sys, scaffold
run = scaffold.run
scaffold.run = lambda script, *args: script == "chapters.py" and run(script)
sys.exit(scaffold.main())
"""


@pytest.mark.parametrize(
    "asked, words",
    [
        ({"name": ""}, "NAME is missing"),
        ({"name": "Fewer bits"}, "small letters, digits and _"),
        ({"name": "class"}, "no word that Python keeps"),
        ({"name": SLUGS[4]}, f"there is a chapter '{SLUGS[4]}' already: number 5"),
        ({"name": "a", "title": "one | two"}, "plain words"),
        ({"name": "a", "title": chapters()[0].title}, "another chapter is called so"),
        ({"name": "a", "after": f"{SLUGS[0]}s"}, f"Did you mean '{SLUGS[0]}'"),
        ({"name": "a", "part": "Part 9"}, "no such part. There are: Part 1"),
        ({"name": "a", "part": "Part 1", "after": "1"}, "PART or AFTER, not both"),
    ],
)
def test_a_chapter_that_cannot_be_is_refused_before_anything_is_written(monkeypatch, asked, words):
    monkeypatch.setattr(scaffold, "renumber", lambda later: pytest.fail("it went on"))
    with pytest.raises(Refused, match=re.escape(words)):
        scaffold.new_chapter(**asked)


@pytest.mark.parametrize(
    "name, chapter, words",
    [
        ("", "6", "NAME is missing"),
        ("my-thing", "6", "small letters"),
        ("layer_norm", "6", "taken, by another exercise"),
        ("torch", "6", "what its code imports"),
        ("mine", "", "CHAPTER is missing"),
        ("mine", "99", f"There are 1 to {len(SLUGS)}: {SLUGS[0]}"),
    ],
)
def test_an_exercise_that_cannot_be_is_refused_too(monkeypatch, name, chapter, words):
    monkeypatch.setattr(scaffold, "write_exercise", lambda *_: pytest.fail("it went on"))
    with pytest.raises(Refused, match=re.escape(words)):
        scaffold.new_exercise(name, chapter)


@pytest.fixture
def house(tmp_path) -> Path:
    """A copy of what the scripts write to."""
    for folder in ("book", "notebooks", "gpt2_edu/exercises/tasks"):
        unused = shutil.ignore_patterns("node_modules", "_static", "__pycache__", "*.png")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=unused)
    (tmp_path / "gpt2_edu" / "assets").mkdir()
    for name in ("_toc.yml", "_config.yml", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "book" / "driver.py").write_text(DRIVER, encoding="utf-8")
    return tmp_path


def begin(house: Path, kind: str, **asked: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TITLE": "", "PART": "", "AFTER": ""}
    command = [sys.executable, house / "book" / "driver.py", kind]
    done = subprocess.run(command, env=environment | asked, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_chapter_in_the_middle_moves_the_later_ones(house):
    last = chapters()[-1]
    moved = f"{last.number + 1:02}_{last.slug}"
    begin(house, "chapter", NAME="made_by_a_test", AFTER=chapters()[-2].name)

    toc = yaml.safe_load((house / "_toc.yml").read_text(encoding="utf-8"))
    files = [page["file"] for part in toc["parts"] for page in part["chapters"]]
    listed = [file for file in files if file.startswith("notebooks/")]
    assert listed[-2:] == [f"notebooks/{last.number:02}_made_by_a_test", f"notebooks/{moved}"]
    new = nbformat.read(house / f"{listed[-2]}.ipynb", as_version=4)
    assert new.cells[0].source == "# Made by a test" and "exhibits.setup" in new.cells[1].source
    assert (house / "book" / "practice" / "made_by_a_test.toml").is_file()

    tasks = house / "gpt2_edu" / "exercises" / "tasks"
    assert [file.stem for file in (tasks / f"ch{last.number:02}").glob("*.py")] == [
        "first_made_by_a_test"
    ]
    assert {file.name for file in (tasks / f"ch{last.number + 1:02}").glob("*.py")} == {
        file.name for file in last.exercises.glob("*.py")
    }
    pages = [*house.glob("book/*.md"), *house.glob("notebooks/*.ipynb")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    assert not re.search(rf"\b{last.name}\b", text), "a link leads to the old name"
    numbers = re.findall(rf"\[(?:[Cc]hapter )?(\d+)[^\]]*\]\([^)]*{moved}\.ipynb", text)
    assert set(numbers) == {str(last.number + 1)}
    names = (house / "gpt2_edu" / "assets" / "chapters.txt").read_text(encoding="utf-8").split()
    assert names == [*SLUGS[:-1], "made_by_a_test", SLUGS[-1]]
    leads = dict(
        line.split() for line in (house / "book" / "moved.txt").read_text("utf-8").splitlines()[1:]
    )
    for folder in ("notebooks", "notebooks/practice"):
        assert leads[f"{folder}/{last.name}"] == f"{folder}/{moved}"
        assert f"{folder}/{last.name}" not in leads.values(), "an old address leads to an old one"


@pytest.mark.slow
def test_an_exercise_comes_last_in_its_chapter(house):
    begin(house, "exercise", NAME="made_by_a_test", CHAPTER=SLUGS[0])
    folder = house / "gpt2_edu" / "exercises" / "tasks" / "ch01"
    orders = {
        file.stem: float(re.search(r"^ORDER = (\S+)", file.read_text(), re.M)[1])
        for file in folder.glob("*.py")
    }
    assert max(orders, key=orders.__getitem__) == "made_by_a_test"
