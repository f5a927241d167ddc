"""The chapters: order and parts from _toc.yml, titles from the notebooks.

Nothing else lists them by hand. `make lists` writes what follows from them: the sections of
book/contents.md, a table in book/instructors.md, and the names that the package reads. The first
page asks here, too (site/gpt2_site/front.py).
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import yaml
from myst_parser.mdit_to_docutils.base import default_slugify

ROOT = Path(__file__).resolve().parents[2]
GUESS = re.compile(r'<details class="guess">.*?</details>', re.S)  # an answer to choose


@dataclass(frozen=True)
class Chapter:
    number: int
    path: Path
    part: str

    @property
    def name(self) -> str:
        """The file's name, "05_mask"."""
        return self.path.stem

    @property
    def slug(self) -> str:
        """The name without the number, which another chapter may get: "mask"."""
        return self.name.partition("_")[2]

    @property
    def practice(self) -> Path:
        return self.path.parent / "practice" / self.path.name

    @property
    def questions(self) -> Path:
        return self.path.parents[1] / "book" / "practice" / f"{self.slug}.toml"

    @property
    def exercises(self) -> Path:
        return self.path.parents[1] / "gpt2_edu/exercises/tasks" / f"ch{self.number:02}"

    @cached_property
    def markdown(self) -> str:
        cells = json.loads(self.path.read_text(encoding="utf-8"))["cells"]
        return "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")

    @property
    def title(self) -> str:
        return plain(re.search(r"^# (.+)$", self.markdown, re.M)[1])

    @property
    def minutes(self) -> int:
        """How long reading takes, as the chapter says."""
        return int(re.search(r"\*\*Time\*\*: (\d+) minutes to read", self.markdown)[1])

    @property
    def needs(self) -> list[str]:
        """The names of the chapters that this one builds on, as it says."""
        needed = re.search(r"\*\*You need\*\*(.*?)\*\*Time", self.markdown, re.S)[1]
        return re.findall(r"\((\d\d_\w+)\.ipynb\)", needed)


def parts(root: Path = ROOT) -> list[dict]:
    return yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))["parts"]


@cache
def chapters(root: Path = ROOT) -> tuple[Chapter, ...]:
    """All chapters, in the order of the book."""
    files = [(page["file"], part["caption"]) for part in parts(root) for page in part["chapters"]]
    found = [(root / f"{file}.ipynb", part) for file, part in files if file.startswith("notebooks")]
    return tuple(Chapter(number, *chapter) for number, chapter in enumerate(found, 1))


def find(slug: str) -> Chapter:
    """The chapter of that slug. Raises ValueError, with all slugs, if there is none."""
    for chapter in chapters():
        if chapter.slug == slug:
            return chapter
    raise ValueError(f"no chapter {slug!r}. Known: {', '.join(c.slug for c in chapters())}")


def plain(heading: str) -> str:
    """A heading's text, without links, emphasis and code marks."""
    return re.sub(r"[`*$]", "", re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", heading)).strip()


def headings(markdown: str) -> dict[str, str]:
    """The anchors that a page's headings get on the site, with the headings' text."""
    found: dict[str, str] = {}
    without_code = re.sub(r"^```.*?^```", "", markdown, flags=re.S | re.M)
    for heading in map(plain, re.findall(r"^#{1,3} (.+)$", without_code, re.M)):
        anchor = default_slugify(heading)
        if anchor in found:
            raise ValueError(f"two headings are called {heading!r}")
        found[anchor] = heading
    return found


# ---- What follows from the chapters


def contents(page: str) -> str:
    """contents.md: a section for each chapter, and in it at least one row for each heading."""
    head, *sections = re.split(r"^(?=## Chapter )", page, flags=re.M)
    table = "\n\n| what | where |\n| --- | --- |\n"
    found = [head.rstrip()]
    for chapter in chapters():
        link = f"](../notebooks/{chapter.name}.ipynb#"
        old = "".join(section.partition(table)[2] for section in sections if link in section)
        rows = "\n".join(_rows(chapter, link, old.strip().splitlines()))
        found.append(f"## Chapter {chapter.number}. {chapter.title}{table}{rows}")
    return "\n\n".join(found) + "\n"


DEEPER = "Deeper: "  # a section that the site folds
FRAME = ("Now write it", "The real thing", "What this chapter added", "Questions people ask")


def _rows(chapter: Chapter, link: str, old: list[str]) -> list[str]:
    """The old rows, less those made from a heading that is gone, and a row for each new heading."""
    present = headings(chapter.markdown)
    made = re.compile(rf"\| (.+) \| \[chapter \d+, (?:{DEEPER})?\1{re.escape(link)}(.+)\) \|", re.I)
    kept = [row for row in old if not (match := made.fullmatch(row)) or match[2] in present]
    return kept + [
        f"| {_label(heading)} | [chapter {chapter.number}, {heading}{link}{anchor}) |"
        for anchor, heading in present.items()
        if heading not in (chapter.title, "Summary", "References", *FRAME)
        and not any(f"{link}{anchor})" in row for row in kept)
    ]


def _label(heading: str) -> str:
    """What stands there, as a row begins: without the fold's prefix, and with a capital."""
    label = heading.removeprefix(DEEPER)
    return label[:1].upper() + label[1:] if label != heading else heading


def instructors(page: str) -> str:
    """instructors.md: the table of what each chapter asks for and where its slides are, and the
    minutes of the plans: twice a chapter's in class, and what the exercises state at home."""
    number = {chapter.name: chapter.number for chapter in chapters()}
    rows = [
        f"| [{c.number} {c.title}](../notebooks/{c.path.name}) | {c.minutes} | "
        f"{', '.join(str(number[name]) for name in c.needs) or '–'} | "
        f'<a href="../slides/{c.name}.html" aria-label="slides of chapter {c.number}">slides</a> |'
        for c in chapters()
    ]
    page = _with_rows(page, "| chapter | minutes | builds on | figures |", rows)
    return re.sub(r"^\| (?:\d\d?|\d, \w+) \| \[.*: \d+ min \|.*$", _plan_row, page, flags=re.M)


def _plan_row(row: re.Match[str]) -> str:
    from gpt2_edu.exercises.exercise import exercises

    told = [find(name.split("_", 1)[1]) for name in re.findall(r"/(\w+)\.ipynb", row[0])]
    numbers = [chapter.number for chapter in told]
    home = sum(e.minutes for e in exercises().values() if e.checked and e.chapter in numbers)
    work = f"assignment{'s' * (len(told) > 1)} {' and '.join(map(str, numbers))}, {home} min."
    new = re.sub(r": \d+ min \|", f": {2 * sum(c.minutes for c in told)} min |", row[0])
    return re.sub(r"assignments? [\d and]+, \d+ min\.", work, new)


def _with_rows(page: str, head: str, rows: list[str]) -> str:
    table = re.compile(rf"({re.escape(head)}\n.*\n)(?:\|.*\n)*")
    return table.sub(lambda match: match[1] + "".join(f"{row}\n" for row in rows), page)


def slugs(_: str) -> str:
    """The names in order, for the package: it has no _toc.yml."""
    return "".join(f"{chapter.slug}\n" for chapter in chapters())


LISTS = {
    ROOT / "book" / "contents.md": contents,
    ROOT / "book" / "instructors.md": instructors,
    ROOT / "gpt2_edu" / "assets" / "chapters.txt": slugs,
}


def main() -> int:
    for path, written in LISTS.items():
        old = path.read_text(encoding="utf-8") if path.is_file() else ""
        path.write_text(written(old), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
