"""The chapters: order, parts and pages from _toc.yml, titles from the notebooks.

Nothing else lists them by hand, except gpt2_edu/assets/chapters.txt for the package, which has no
_toc.yml. Tables that follow from them are in lists.py.

A chapter may have more pages than its first: notebooks whose names begin with the chapter's, listed
among its sections in _toc.yml, before its practice. What is done for every page of prose is done
for `pages()`; what there is once for a chapter (its number in a list, its practice, its minutes)
for `chapters()`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import yaml
from myst_parser.mdit_to_docutils.base import default_slugify

ROOT = Path(__file__).resolve().parents[2]
DEEPER = "Deeper: "  # begins the heading of a section that the site folds


@dataclass(frozen=True)
class Page:
    """A page of a chapter, which has the chapter's number."""

    number: int
    path: Path

    @property
    def name(self) -> str:
        """The file's name, "05_mask"."""
        return self.path.stem

    @property
    def slug(self) -> str:
        """The name without the number, which another chapter may get: "mask"."""
        return self.name.partition("_")[2]

    @cached_property
    def markdown(self) -> str:
        cells = json.loads(self.path.read_text(encoding="utf-8"))["cells"]
        return "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")

    @property
    def title(self) -> str:
        return plain(re.search(r"^# (.+)$", self.markdown, re.M)[1])

    @property
    def minutes(self) -> int | None:
        """How long reading takes, if the page says so. Chapters do."""
        told = re.search(r"\*\*Time\*\*: (?:about )?(\d+) minutes to read", self.markdown)
        return int(told[1]) if told else None


@dataclass(frozen=True)
class Chapter(Page):
    """A chapter, which is its first page; the others are in ``more``."""

    part: str
    more: tuple[Page, ...] = ()

    @property
    def pages(self) -> tuple[Page, ...]:
        return (self, *self.more)

    @property
    def practice(self) -> Path:
        return self.path.parent / "practice" / self.path.name

    @property
    def questions(self) -> Path:
        return ROOT / "book" / "practice" / f"{self.slug}.toml"

    @property
    def needs(self) -> list[str]:
        """The names of the chapters that this one builds on, as it says."""
        needed = re.search(r"\*\*You need\*\*(.*?)\*\*Time", self.markdown, re.S)[1]
        return re.findall(r"\((\d\d_\w+)\.ipynb\)", needed)


def parts() -> list[dict]:
    return yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"]


@cache
def chapters() -> tuple[Chapter, ...]:
    """All chapters, in the order of the book."""
    listed = [
        (page["file"], part["caption"], [section["file"] for section in page.get("sections", ())])
        for part in parts()
        for page in part["chapters"]
        if page["file"].startswith("notebooks/")
    ]
    return tuple(
        Chapter(
            number,
            ROOT / f"{file}.ipynb",
            part,
            tuple(
                Page(number, ROOT / f"{one}.ipynb")
                for one in below
                if re.fullmatch(r"notebooks/\w+", one)
            ),
        )
        for number, (file, part, below) in enumerate(listed, 1)
    )


def pages() -> tuple[Page, ...]:
    """The pages of all chapters, in the order of the book."""
    return tuple(page for chapter in chapters() for page in chapter.pages)


def chapter_of(page: Page) -> Chapter:
    """The chapter that a page belongs to."""
    return chapters()[page.number - 1]


def find(name: str) -> Chapter:
    """The chapter of that slug, number or file's name. Raises ValueError, with all, for another."""
    for chapter in chapters():
        if name in (chapter.slug, chapter.name, str(chapter.number), f"{chapter.number:02}"):
            return chapter
    known = ", ".join(f"{chapter.number} {chapter.slug}" for chapter in chapters())
    raise ValueError(f"there is no chapter {name!r}. Chapters: {known}")


def plain(heading: str) -> str:
    """A heading's text, without links, emphasis and code marks."""
    return re.sub(r"[`*$]", "", re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", heading)).strip()


def alone(heading: str) -> str:
    """A heading without "Deeper: ", and then with a capital. A tensor's letter stays small."""
    bare = heading.removeprefix(DEEPER)
    folded = bare != heading and re.match(r"a |[a-z]{2}", bare)
    return bare[:1].upper() + bare[1:] if folded else bare


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
