"""Print how long each chapter is and how much it shows: `make report`. Nothing here is a test.

The straight line is what a first reader reads: no fold (answers, "Deeper" sections, questions
people ask), no references. Columns: its words in the first edition and now; words in folds; minutes
to read, as the chapter says; lines of code that the page shows, and all lines, and those of the
longest cell; figures and exhibits, words per picture, and the longest way in words without a
picture, table or formula; predictions; questions and tasks of the practice page; the most terms
that are new to the book in one section, and the section's name.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import make_practice
import nbformat
from chapters import Chapter, chapters

from gpt2_edu.exercises.exercise import exercises

# The straight lines of the first edition, by the same measure.
FIRST_EDITION = {
    "tokens": 1822,
    "embeddings": 1652,
    "crane": 1419,
    "attention": 1375,
    "mask": 1598,
    "heads": 2038,
    "mlp": 2002,
    "residual": 1955,
    "layernorm": 2227,
    "block": 1336,
    "gpt2": 2265,
    "weights": 2140,
    "training": 2560,  # both chapters on training
    "generation": 2689,
    "cache": 1994,
    "inside": 2672,
    "fast": 2701,
    "bugs": 2628,
}
SPLIT = ("training", "training_well")  # were one chapter

HEADING = re.compile(r"^(#{1,3}) (.+)$", re.M)
FOLD = re.compile(r"<details.*?</details>", re.S)
HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
COLUMNS = "first now change folds minutes shown code longest pictures words/pic way guesses"
COLUMNS += " questions tasks new"


def words(markdown: str) -> int:
    """How many words the reader sees, without signs that stand alone."""
    seen = re.sub(r"<[^>]+>|\]\([^)]*\)", " ", markdown)
    return sum(bool(re.search(r"\w", word)) for word in seen.split())


def cells_by_heading(chapter: Chapter) -> Iterator[tuple[str, str, Any]]:
    """Every cell, or piece of one, with the section of level 2 and the heading it stands under."""
    section = heading = ""
    for cell in nbformat.read(chapter.path, as_version=4).cells:
        if cell.cell_type != "markdown":
            yield section, heading, cell
            continue
        for piece in re.split(r"^(?=#{1,3} )", cell.source, flags=re.M):
            if found := HEADING.match(piece):
                heading = found[2]
                section = heading if found[1] == "##" else section
            yield section, heading, nbformat.v4.new_markdown_cell(piece)


def straight_line(chapter: Chapter) -> list[tuple[str, Any]]:
    """The cells of the straight line, with their sections; Markdown without its folds."""
    return [
        (section, _without_folds(cell))
        for section, heading, cell in cells_by_heading(chapter)
        if not heading.startswith("Deeper: ") and heading != "References"
    ]


def _without_folds(cell: Any) -> Any:
    if cell.cell_type != "markdown":
        return cell
    return nbformat.v4.new_markdown_cell(FOLD.sub("", cell.source))


def folded_words(chapter: Chapter) -> int:
    """Words of the answers, questions and "Deeper" sections."""
    count = 0
    for _, heading, cell in cells_by_heading(chapter):
        if cell.cell_type == "markdown" and heading != "References":
            deeper = heading.startswith("Deeper: ")
            count += words(cell.source if deeper else " ".join(FOLD.findall(cell.source)))
    return count


def is_picture(cell: Any) -> bool:
    """Does the cell show a figure or an exhibit?"""
    kinds = [output.get("data", {}) for output in cell.get("outputs", [])]
    return any("image/png" in k or 'class="g2' in k.get("text/html", "") for k in kinds)


def longest_way(cells: list[Any]) -> int:
    """The most words from one picture, table or formula to the next."""
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


def new_terms() -> dict[str, dict[str, set[str]]]:
    """For each chapter and section the glossary's terms that the book links there first."""
    met: set[str] = set()
    found: dict[str, dict[str, set[str]]] = {}
    for chapter in chapters():
        sections = found.setdefault(chapter.slug, {})
        for section, cell in straight_line(chapter):
            if cell.cell_type == "markdown":
                linked = set(re.findall(r"glossary\.md#([\w-]+)", cell.source)) - met
                sections.setdefault(section, set()).update(linked)
                met |= linked
    return found


def row(chapter: Chapter, terms: dict[str, set[str]]) -> dict[str, int]:
    """The numbers of one chapter."""
    told = straight_line(chapter)
    cells = [cell for _, cell in told]
    every = [cell for _, _, cell in cells_by_heading(chapter) if cell.cell_type == "code"]
    code = [cell for cell in cells if cell.cell_type == "code"]
    now = sum(words(cell.source) for cell in cells if cell.cell_type == "markdown")
    pictures = sum(map(is_picture, cells))
    lines = [len(cell.source.splitlines()) for cell in every]
    return {
        "first": FIRST_EDITION.get(chapter.slug, 0),
        "now": now,
        "folds": folded_words(chapter),
        "minutes": chapter.minutes,
        "shown": sum(
            len(cell.source.splitlines())
            for cell in code
            if not HIDDEN & set(cell.metadata.get("tags", []))
        ),
        "code": sum(lines),
        "longest": max(lines),
        "pictures": pictures,
        "words/pic": round(now / max(pictures, 1)),
        "way": longest_way(cells),
        "guesses": chapter.markdown.count("**Predict before you look.**"),
        "new": max(map(len, terms.values())),
        "questions": len(make_practice.questions(chapter)),
        "tasks": sum(e.chapter == chapter.number for e in exercises().values()),
    }


def added(rows: list[dict[str, int]]) -> dict[str, int]:
    """The sums of several chapters, and the most where a sum would say nothing."""
    sums = {name: sum(numbers[name] for numbers in rows) for name in rows[0]}
    for name in ("longest", "words/pic", "way", "new"):
        sums[name] = max(numbers[name] for numbers in rows)
    return sums


def width(column: str) -> int:
    return max(len(column) + 1, 7)


def line(name: str, numbers: dict[str, int]) -> str:
    """A line of the table; the change is empty where there is nothing to compare with."""
    cells = {column: f"{number:,}" for column, number in numbers.items()}
    first, now = numbers["first"], numbers["now"]
    cells["change"] = f"{100 * (now / first - 1):+.0f} %" if first else ""
    if not first:
        cells["first"] = ""
    return f"{name:17}" + "".join(f"{cells[c]:>{width(c)}}" for c in COLUMNS.split())


def table() -> str:
    """A line for each chapter, one for the two that were one, and one for all."""
    terms = new_terms()
    rows = {c: row(c, terms[c.slug]) for c in chapters()}
    lines = [f"{'chapter':17}" + "".join(f"{c:>{width(c)}}" for c in COLUMNS.split()) + "  in"]
    for chapter, numbers in rows.items():
        shown = numbers | ({"first": 0} if chapter.slug in SPLIT else {})
        most = max(terms[chapter.slug], key=lambda section: len(terms[chapter.slug][section]))
        where = (most or "the opening") if numbers["new"] else ""
        lines.append(f"{line(chapter.name, shown)}  {where[:18]}")
    both = [numbers for chapter, numbers in rows.items() if chapter.slug in SPLIT]
    lines += [
        line("both on training", added(both)),
        line("all, or the most", added([*rows.values()])),
    ]
    many = [
        f"  {slug}, {section or 'the opening'}: {', '.join(sorted(found))}"
        for slug, sections in terms.items()
        for section, found in sections.items()
        if len(found) > 3
    ]
    return "\n".join(
        [*lines, "", "Sections with more than three new terms:", *(many or ["  none"])]
    )


if __name__ == "__main__":
    print(table())
    sys.exit(0)
