"""Write the practice notebooks: of each chapter the questions and the exercises.

    make notebooks    # and executes what changed

Questions come from book/practice/, exercises from gpt2_edu/exercises/tasks/. Nothing else is
needed for a new one. Stored outputs of cells that stay are kept.

In the chapters themselves the cell to write in, which calls ``build``, and the fold below it come
from the file build.py of the chapter's exercises.
"""

from __future__ import annotations

import hashlib
import random
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, Protocol

import nbformat
from markdown_it import MarkdownIt
from nbformat.v4 import new_code_cell, new_markdown_cell

from gpt2_edu.exercises.exercise import Exercise, exercises, steps
from gpt2_site.addresses import bootstrap
from gpt2_site.chapters import Chapter, chapters
from gpt2_site.execute_notebooks import PLACE, ask_for_gpu, store

MARKDOWN = MarkdownIt("commonmark", {"html": False})
LEVELS = {1: "easy", 2: "medium", 3: "hard"}
KINDS = {
    "recall": "from memory",
    "paper": "by hand",
    "write": "write the code",
    "repair": "find the bug",
    "explore": "explore",
    "stretch": "stretch",
}

INTRODUCTION = """\
First {questions}: choose an answer, and it says what is right or wrong with it. Then \
{exercises}. Those with a cell check themselves: write your code, run the cell, read what the \
check says, fix the code and run it again. Nothing is sent anywhere.

Open a hint or a solution only when you have tried. See \
[How to practise](../../book/practice.md) for how the checks work and where your progress is \
kept."""

TOOLS = """\
import math

import torch
from torch import nn
from torch.nn import functional as F

from gpt2_edu.exercises import check, own"""


class Asks(Protocol):
    """What has questions: a chapter or a review."""

    @property
    def questions(self) -> Path: ...


def questions(of: Asks) -> list[dict[str, Any]]:
    """The questions, with the options of each in an order that depends on its text alone."""
    found = tomllib.loads(of.questions.read_text(encoding="utf-8"))["question"]
    for question in (one for one in found if "options" in one):
        seed = hashlib.sha256(question["text"].encode()).digest()
        question["options"] = random.Random(seed).sample(
            question["options"], len(question["options"])
        )
    return found


def exercises_of(chapter: Chapter) -> list[Exercise]:
    return [exercise for exercise in exercises().values() if exercise.chapter == chapter.number]


def fold(title: str, text: str, kind: str = "") -> str:
    """Text that shows when its title is opened."""
    attribute = f' class="{kind}"' if kind else ""
    return f"<details{attribute}><summary>{title}</summary>\n\n{text}\n\n</details>"


def anchor(exercise: Exercise) -> str:
    """The name of the place where an exercise stands, on the site and on Colab."""
    return f"{PLACE}{exercise.name}"


def asked(number: int, question: dict[str, Any]) -> str:
    options = [
        fold(f"{letter}. {plain(option['text'])}", option["says"].strip(), "guess")
        for letter, option in zip("ABCD", question["options"], strict=False)
    ]
    return "\n".join([f"**{number}.** {question['text'].strip()}\n", *options])


def plain(markdown: str) -> str:
    """One line of Markdown as HTML: a fold's title is not read as Markdown."""
    return MARKDOWN.renderInline(markdown.strip())


def task(number: int, exercise: Exercise, worth: str = "") -> str:
    """What is to be done, with the hints."""
    about = [exercise.rank, KINDS[exercise.kind], LEVELS[exercise.level]]
    about.append(f"{exercise.minutes} minutes")
    about += [worth] * bool(worth)
    hints = [fold(f"Hint {i}", hint) for i, hint in enumerate(exercise.hints, 1)]
    head = f"### {number}. {exercise.title}\n\n*{' · '.join(about)}*"
    return f"{head}\n\n{exercise.task}\n\n" + "\n".join(hints)


def exercise_cells(number: int, exercise: Exercise) -> list[nbformat.NotebookNode]:
    """The task with its hints, the cell to write in, and the solution."""
    place = {"id": anchor(exercise)}  # what Colab calls a cell: a link can lead to it
    if exercise.start is None:
        text = f"{task(number, exercise)}\n{fold('Solution', exercise.solution)}"
        return [new_markdown_cell(text, metadata=place)]
    gap = "\n\n\n" if "def " in exercise.start else "\n\n"
    cell = f"{exercise.start}{gap}" + f'passed = check("{exercise.name}", {exercise.name})'
    solution = fold("Solution", f"```python\n{exercise.solution}\n```")
    return [
        new_markdown_cell(task(number, exercise), metadata=place),
        new_code_cell(cell),
        new_markdown_cell(solution),
    ]


def practice(chapter: Chapter) -> nbformat.NotebookNode:
    """A chapter's practice notebook, without outputs."""
    story = nbformat.read(chapter.path, as_version=4)
    asks = questions(chapter)
    tasks = exercises_of(chapter)
    counts = {
        "questions": several(len(asks), "question"),
        "exercises": several(len(tasks), "exercise"),
    }
    cells = [
        new_markdown_cell(f"# Practice: {chapter.title}"),
        new_code_cell(bootstrap(), metadata={"tags": ["remove-cell"]}),
        new_markdown_cell(
            f"For [chapter {chapter.number}](../{chapter.path.name}). "
            + INTRODUCTION.format(**counts)
        ),
        new_markdown_cell("## Questions"),
        *(new_markdown_cell(asked(i, question)) for i, question in enumerate(asks, 1)),
        new_markdown_cell("## Exercises"),
        new_code_cell(TOOLS),
    ]
    for number, exercise in enumerate(tasks, 1):
        cells += exercise_cells(number, exercise)
    nb = nbformat.v4.new_notebook(cells=cells, metadata=story.metadata)
    ask_for_gpu(nb)
    return nb


ANSWER = re.compile(r"(<summary>The book's answer</summary>\n\n```python\n).*?(```)", re.S)


def with_step(nb: nbformat.NotebookNode, step: Exercise) -> bool:
    """Fill the chapter's cell to write in, and the answer below it; whether that changed them."""
    call = f'build("{step.name}", {", ".join(step.parts)})'
    before = [cell.source for cell in nb.cells]
    for number, cell in enumerate(nb.cells):
        if cell.cell_type == "code" and f'build("{step.name}"' in cell.source:
            cell.source = f"{step.start}\n\n\nbuilt = {call}"
            for other in nb.cells[number + 1 :]:
                if ANSWER.search(other.source):
                    other.source = ANSWER.sub(
                        lambda found: f"{found[1]}{step.solution}\n{found[2]}", other.source
                    )
    return [cell.source for cell in nb.cells] != before


def several(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def with_outputs(new: nbformat.NotebookNode, path: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs that its cells had."""
    if path.is_file():
        old = {cell.source: cell for cell in nbformat.read(path, as_version=4).cells}
        for cell in new.cells:
            before = old.get(cell.source)
            if before is not None and before.cell_type == cell.cell_type:
                cell["id"] = before["id"]
                if cell.cell_type == "code":
                    cell.outputs, cell.execution_count = before.outputs, before.execution_count
    return new


def main() -> int:
    for chapter in chapters():
        nb = nbformat.read(chapter.path, as_version=4)
        if chapter.slug in steps() and with_step(nb, steps()[chapter.slug]):
            store(nb, chapter.path)
        store(with_outputs(practice(chapter), chapter.practice), chapter.practice)
    return 0


if __name__ == "__main__":
    sys.exit(main())
