"""Write a chapter's exercises as an assignment that nbgrader grades.

    make assignment CHAPTER=6         # or by name, CHAPTER=heads, or CHAPTER=all

_build/assignments is then a course of nbgrader: release/ for those who learn, without solutions;
source/ with solutions and hidden tests; a README that says what to do with them. The exercises
are those of the practice pages, less the few that have no check.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
import tomllib
from pathlib import Path
from string import Template
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from gpt2_edu.exercises.exercise import Exercise
from gpt2_site.addresses import bootstrap
from gpt2_site.chapters import ROOT, Chapter, chapters, find
from gpt2_site.execute_notebooks import store, tidy
from gpt2_site.make_practice import TOOLS, exercises_of, several, task

COURSE = ROOT / "_build" / "assignments"
FILES = {"README.md": "assignments.md", "nbgrader_config.py": "nbgrader_config.txt"}
SCHEMA = 3  # of what this nbgrader writes into a cell

INTRODUCTION = """\
{exercises}, {points}. Write into the cell below a task and run it, then the cell with the test: \
it says what is right, and where it goes wrong. Try as often as you like. When it is handed in, \
each function is tested once more, with other inputs.

Each exercise is graded alone: where one builds on another, `own` gives the book's part."""

REGION = re.compile(r"\n### BEGIN (SOLUTION|HIDDEN TESTS)\n.*?\n### END \1$", re.S | re.M)


def chosen(name: str) -> tuple[Chapter, ...]:
    """The chapter with that number or name, or all of them."""
    return chapters() if name == "all" else (find(name),)


def role(name: str, *, points: int | None = None, solution: bool = False) -> dict[str, Any]:
    """What nbgrader must know of a code cell: to write in, or to restore; and what it is worth."""
    about = {"schema_version": SCHEMA, "grade_id": name, "cell_type": "code", "task": False}
    about |= {"solution": solution, "locked": not solution, "grade": points is not None}
    return {"nbgrader": about | ({} if points is None else {"points": points})}


def exercise_cells(number: int, exercise: Exercise) -> list[nbformat.NotebookNode]:
    """The task; the start of an answer with the solution below it; the test."""
    name = exercise.name
    answer = f"{exercise.start}\n### BEGIN SOLUTION\n{exercise.solution}\n### END SOLUTION"
    test = f'assert graded("{name}", {name}), "Not right yet: see above."'
    if exercise.cases is not None:
        again = test.replace(f"{name})", f"{name}, draw={1 + secrets.randbelow(10**6)})")
        test += f"\n### BEGIN HIDDEN TESTS\n{again}\n### END HIDDEN TESTS"
    return [
        new_markdown_cell(task(number, exercise, several(exercise.level, "point"))),
        new_code_cell(answer, metadata=role(name, solution=True)),
        new_code_cell(test, metadata=role(f"test_{name}", points=exercise.level)),
    ]


def source(chapter: Chapter) -> nbformat.NotebookNode:
    """The whole assignment, with solutions and hidden tests. A level is worth a point."""
    tools = TOOLS.replace("import check, own", "import graded, own")
    tasks = [e for e in exercises_of(chapter) if e.checked]
    introduction = INTRODUCTION.format(
        exercises=several(len(tasks), "exercise"),
        points=several(sum(e.level for e in tasks), "point"),
    )
    cells = [
        new_markdown_cell(f"# Assignment {chapter.number}: {chapter.title}\n\n{introduction}"),
        new_code_cell(bootstrap(), metadata=role("bootstrap")),
        new_code_cell(tools, metadata=role("tools")),
    ]
    for number, exercise in enumerate(tasks, 1):
        cells += exercise_cells(number, exercise)
    nb = new_notebook(cells=cells)
    tidy(nb)
    return nb


def release(nb: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The assignment without solutions and hidden tests, as nbgrader would leave it."""
    nb = nbformat.from_dict(nb)
    for cell in nb.cells:
        cell.source = REGION.sub("", cell.source)
        if about := cell.metadata.get("nbgrader"):
            cell.metadata["deletable"] = False
            cell.metadata["editable"] = not about["locked"]
    return nb


def grader() -> str:
    """The nbgrader that this is tried with: "nbgrader==…"."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return str(*project["dependency-groups"]["grading"])


def write(chapter: Chapter, course: Path) -> None:
    """Both versions, and what belongs to the course. What else is there stays as it is."""
    whole = source(chapter)
    for folder, nb in (("source", whole), ("release", release(whole))):
        place = course / folder / chapter.name / chapter.path.name
        place.parent.mkdir(parents=True, exist_ok=True)
        store(nb, place)
    for name, template in FILES.items():
        text = (ROOT / "site" / "templates" / template).read_text(encoding="utf-8")
        (course / name).write_text(Template(text).substitute(grader=grader()), encoding="utf-8")


def main() -> int:
    try:
        found = chosen(os.environ.get("CHAPTER", "all") or "all")
    except ValueError as error:
        print(f"{error}; or all", file=sys.stderr)
        return 2
    for chapter in found:
        write(chapter, COURSE)
        print(f"{COURSE.relative_to(ROOT)}/release/{chapter.name}, and with solutions in source/")
    print(f"How to grade: {COURSE.relative_to(ROOT)}/README.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
