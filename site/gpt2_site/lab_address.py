"""Print where JupyterLab opens a notebook, and in which section of it a cell is.

    make lab NB=06                        # chapter 6
    make lab NB=06 CELL=now-write-it      # its cell to write in
    make lab NB=06 CELL=split_heads       # an exercise in its practice notebook

JupyterLab opens at a notebook, not at a cell: it drops what follows a # in its first address.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from gpt2_site.chapters import Chapter, find
from gpt2_site.execute_notebooks import WRITE_IT
from gpt2_site.make_practice import exercises_of


class Place(NamedTuple):
    """A notebook's path below notebooks/, and a heading in it, or ""."""

    path: str
    heading: str = ""


def command(chapter: Chapter, cell: str) -> str:
    """What a reader types for a cell."""
    return f"make lab NB={chapter.number:02} CELL={cell}"


def place(name: str, cell: str = "") -> Place:
    """Where a chapter is, or a cell of it. Raises ValueError, with all there are, for another."""
    chapter = find(name)
    if not cell:
        return Place(chapter.path.name)
    if cell == WRITE_IT:
        return Place(chapter.path.name, "Now write it")
    exercises = enumerate(exercises_of(chapter), 1)
    headings = {e.name: f"{n}. {e.title}" for n, e in exercises if e.checked}
    if cell not in headings:
        known = ", ".join([WRITE_IT, *headings])
        raise ValueError(f"CELL={cell} is not in chapter {chapter.number}. Cells: {known}")
    return Place(f"practice/{chapter.practice.name}", headings[cell])


def main() -> int:
    try:
        found = place(*sys.argv[1:3])
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if found.heading:
        print(f"Opens {found.path}. The cell is in the section: {found.heading}", file=sys.stderr)
    print(f"/lab/tree/{found.path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
