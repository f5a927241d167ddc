"""Print how long each chapter is and how much it shows: `make report`. Nothing here is a test.

Columns: words of the prose without the answers to choose from; minutes to read, as the chapter
says; lines of code, and those of the longest cell; figures and exhibits; words per picture, and the
longest way in words without a picture, table or formula; predictions; linked terms of the glossary;
questions and exercises of the practice page.
"""

from __future__ import annotations

import re
import sys
from typing import Any

import make_practice
import nbformat
from chapters import GUESS, Chapter, chapters

from gpt2_edu.exercises.exercise import exercises

STORY_ENDS = re.compile(r"^## (?:What this chapter added|Questions people ask)$", re.M)
COLUMNS = "words minutes code longest pictures words/pic. way guesses terms questions exercises"


def words(markdown: str) -> int:
    """How many words the reader sees, without signs that stand alone."""
    seen = re.sub(r"<[^>]+>|\]\([^)]*\)", " ", markdown)
    return sum(bool(re.search(r"\w", word)) for word in seen.split())


def is_picture(cell: Any) -> bool:
    """Does the cell show a figure or an exhibit?"""
    kinds = [output.get("data", {}) for output in cell.get("outputs", [])]
    return any("image/png" in k or 'class="g2' in k.get("text/html", "") for k in kinds)


def story(cells: list[Any]) -> list[Any]:
    """A chapter's cells up to its ledger at the end, without the answers to choose from."""
    found = []
    for cell in cells:
        if cell.cell_type == "markdown":
            text = GUESS.sub("", cell.source)
            end = STORY_ENDS.search(text)
            found.append(nbformat.v4.new_markdown_cell(text[: end.start()] if end else text))
            if end:
                break
        else:
            found.append(cell)
    return found


def longest_way(cells: list[Any]) -> int:
    """The most words from one picture, table or formula of the story to the next."""
    ways = [0]
    for cell in cells:
        if cell.cell_type == "code":
            ways += [0] * is_picture(cell)
            continue
        for block in re.split(r"\n\s*\n", cell.source):
            if re.match(r"\s*(\||\$\$|```)", block):
                ways.append(0)
            else:
                ways[-1] += words(block)
    return max(ways)


def row(chapter: Chapter) -> list[int]:
    """The numbers of one chapter, in the order of COLUMNS."""
    cells = nbformat.read(chapter.path, as_version=4).cells
    lines = [len(c.source.splitlines()) for c in cells if c.cell_type == "code"]
    told = story(cells)
    pictures = sum(map(is_picture, told))
    prose = sum(words(cell.source) for cell in told if cell.cell_type == "markdown")
    return [
        words(GUESS.sub("", chapter.markdown)),
        chapter.minutes,
        sum(lines),
        max(lines),
        pictures,
        round(prose / max(pictures, 1)),
        longest_way(told),
        chapter.markdown.count("**Predict before you look.**"),
        len(set(re.findall(r"glossary\.md#([\w-]+)", chapter.markdown))),
        len(make_practice.questions(chapter)),
        sum(e.chapter == chapter.number for e in exercises().values()),
    ]


def table() -> str:
    """A line for each chapter, and one for all."""
    names, rows = COLUMNS.split(), {c.name: row(c) for c in chapters()}
    sums = [sum(column) for column in zip(*rows.values(), strict=True)]
    for name in ("longest", "words/pic.", "way"):  # their sum says nothing
        sums[names.index(name)] = max(r[names.index(name)] for r in rows.values())
    lines = [f"{'chapter':16}" + "".join(f"{name:>11}" for name in names)]
    for name, numbers in [*rows.items(), ("all, or the most", sums)]:
        lines.append(f"{name:16}" + "".join(f"{number:>11,}" for number in numbers))
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
    sys.exit(0)
