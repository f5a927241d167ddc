"""Assignments as nbgrader grades them: `make grading`, a quarter of an hour for all.

    python -m tests.grading _build/nox/grading heads     # nbgrader is installed there

Of each chapter four people hand in an assignment. One has everything right, one makes a usual
mistake, one hands it back as it was, and one has put something else in place of the tests.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "site"))

from gpt2_edu.exercises.exercise import Exercise, exercises  # noqa: E402
from gpt2_site.chapters import Chapter  # noqa: E402
from gpt2_site.make_assignment import chosen, write  # noqa: E402


def tasks(chapter: Chapter) -> list[Exercise]:
    return [e for e in exercises().values() if e.chapter == chapter.number and e.checked]


def with_answers(given: nbformat.NotebookNode, **answers: str) -> nbformat.NotebookNode:
    """The assignment with these sources in place of the cells' own."""
    nb = nbformat.from_dict(given)
    for cell in nb.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = answers.get(name, cell.source)
    return nb


def handed_in(chapter: Chapter, given: nbformat.NotebookNode) -> dict[str, Any]:
    """By person: the notebook, and the points that it should get."""
    right = {task.name: task.solution for task in tasks(chapter)}
    wrong = next(task for task in tasks(chapter) if task.mistakes)
    points = sum(task.level for task in tasks(chapter))
    no_tests = {f"test_{task.name}": "assert True" for task in tasks(chapter)}
    return {
        "right": (with_answers(given, **right), points),
        "mistaken": (
            with_answers(given, **right | {wrong.name: wrong.code_of(wrong.mistakes[0])}),
            points - wrong.level,
        ),
        "empty": (given, 0),
        "crafty": (with_answers(given, **no_tests), 0),
    }


def cells(nb: nbformat.NotebookNode) -> list[tuple[str, bool]]:
    """What those who learn get: sources, and which of them can be edited."""
    return [(cell.source.rstrip(), cell.metadata.get("editable", True)) for cell in nb.cells]


def graded(chapter: Chapter, course: Path, place: Path) -> list[str]:
    """Hand in, grade, give back; returns what went wrong."""
    name = chapter.name

    def nbgrader(*command: str) -> str:
        ran = subprocess.run(
            [place / "bin" / "nbgrader", *command],
            cwd=course,
            env=os.environ | {"PATH": f"{place / 'bin'}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
        )
        return "" if ran.returncode == 0 else f"{' '.join(command)}: {ran.stderr[-2000:]}"

    write(chapter, course)
    path = course / "release" / name / f"{name}.ipynb"
    ours = nbformat.read(path, as_version=4)
    problems = [nbgrader("generate_assignment", name, "--force")]
    theirs = nbformat.read(path, as_version=4)
    if cells(ours) != cells(theirs):
        problems.append("nbgrader writes another release")
    people = handed_in(chapter, theirs)
    for person, (nb, _) in people.items():
        folder = course / "submitted" / person / name
        folder.mkdir(parents=True)
        nbformat.write(nb, folder / path.name)
    problems += [nbgrader("autograde", name), nbgrader("generate_feedback", name)]
    problems.append(nbgrader("export"))
    grades = course / "grades.csv"  # missing, if a command has failed
    rows = list(csv.DictReader(grades.read_text("utf-8").splitlines() if grades.is_file() else ()))
    got = {row["student_id"]: float(row["score"]) for row in rows if row["assignment"] == name}
    for person, (_, points) in people.items():
        if got.get(person) != points:
            problems.append(f"{person}: {got.get(person)} points and not {points}")
        if not (course / "feedback" / person / name / f"{name}.html").is_file():
            problems.append(f"{person}: no feedback")
    return [problem for problem in problems if problem]


def main(place: str, name: str = "all") -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for chapter in chosen(name):
            problems = graded(chapter, Path(folder), Path(place).resolve())
            points = sum(task.level for task in tasks(chapter))
            print(f"{chapter.name}: {points} points,", *problems or ["graded"], flush=True)
            failed += bool(problems)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
