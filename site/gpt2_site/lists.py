"""Sphinx extension: tables that follow from the chapters and from stored measurements.

A page of `NAMES` is a Jinja template. What it may name is listed there.
"""

from __future__ import annotations

import html
import re
import tomllib
from functools import partial
from typing import Any

from jinja2 import Environment, StrictUndefined
from myst_parser.mdit_to_docutils.base import default_slugify
from sphinx.application import Sphinx

from gpt2_edu.exercises.exercise import exercises
from gpt2_site import gpu_figures, in_page_figures
from gpt2_site.chapters import ROOT, Chapter, Page, alone, chapters, find, headings
from gpt2_site.make_practice import exercises_of
from gpt2_site.reviews import reviews, text_of

QUESTIONS = "questions-people-ask"
UNLISTED = ("Summary", "References", "Now write it", "The real thing", "What this chapter added")


def contents() -> str:
    """A table for each chapter: what book/contents.toml lists, and every other heading.

    Raises ValueError if a heading or a question is listed that no page of the chapter has.
    """
    listed = tomllib.loads((ROOT / "book" / "contents.toml").read_text(encoding="utf-8"))
    tables = [_table(chapter, listed.pop(chapter.slug, {})) for chapter in chapters()]
    if listed:
        raise ValueError(f"contents.toml names chapters that are not there: {', '.join(listed)}")
    return "\n\n".join(tables)


def _table(chapter: Chapter, listed: dict[str, str | list[str]]) -> str:
    rows = {label: [at] if isinstance(at, str) else at for label, at in listed.items()}
    named = {place for places in rows.values() for place in places}
    order: dict[str, int] = {}
    for page in chapter.pages:
        present = headings(page.markdown)
        order = {anchor: len(order) for anchor in present} | order
        for anchor, heading in list(present.items())[1:]:  # less the title
            if anchor not in {*named, QUESTIONS} and heading not in UNLISTED:
                rows[alone(heading)] = [anchor]
    lines = [
        f"## Chapter {chapter.number}. {chapter.title}\n\n| what | where |\n| --- | --- |",
        *(
            f"| {label} | {', '.join(_link(chapter, place) for place in places)} |"
            for label, places in sorted(
                rows.items(), key=lambda row: order.get(row[1][0], order.get(QUESTIONS, 0))
            )
        ),
    ]
    return "\n".join(lines)


def _link(chapter: Chapter, place: str) -> str:
    """To the first page of the chapter that has the heading, or asks the question."""
    for page in chapter.pages:
        present = headings(page.markdown)
        if place in present:
            return _to(page, present, place)
        if place.startswith("? ") and place.removeprefix("? ") in _asked(page):
            return f'{_to(page, present, QUESTIONS)}: "{place.removeprefix("? ")}"'
    raise ValueError(f"contents.toml: {chapter.name} has no {place!r}")


def _to(page: Page, present: dict[str, str], anchor: str) -> str:
    return f"[chapter {page.number}, {present[anchor]}](../notebooks/{page.path.name}#{anchor})"


def _asked(page: Page) -> set[str]:
    return {
        html.unescape(re.sub(r"<[^>]+>", "", summary))
        for summary in re.findall(r"<summary>(.*?)</summary>", page.markdown, re.S)
    }


def chapter_rows() -> str:
    """A row for each chapter: minutes, the chapters that it needs, its slides."""
    number = {chapter.name: chapter.number for chapter in chapters()}
    return "\n".join(
        f"| [{c.number} {c.title}](../notebooks/{c.path.name}) | {c.minutes} | "
        f"{', '.join(str(number[name]) for name in c.needs) or '–'} | "
        f'<a href="../slides/{c.name}.html" aria-label="slides of chapter {c.number}">slides</a> |'
        for c in chapters()
    )


def in_class(*slugs: str) -> str:
    """Links to chapters, and their minutes in class: a quarter more than reading takes."""
    told = [find(slug) for slug in slugs]
    links = ", ".join(f"[{c.number}](../notebooks/{c.path.name})" for c in told)
    return f"{links}: {round(1.25 * sum(c.minutes for c in told))} min"


def at_home(*slugs: str) -> str:
    """The assignments of chapters, and the minutes that their exercises state."""
    numbers = [find(slug).number for slug in slugs]
    minutes = sum(e.minutes for e in exercises().values() if e.checked and e.chapter in numbers)
    plural = "s" if len(numbers) > 1 else ""
    return f"assignment{plural} {' and '.join(map(str, numbers))}, {minutes} min"


def exercise(name: str) -> str:
    """A link to an exercise, with its chapter and its minutes."""
    one = exercises()[name]
    chapter = chapters()[one.chapter - 1]
    number = exercises_of(chapter).index(one) + 1
    anchor = default_slugify(f"{number}. {one.title}")
    place = f"../notebooks/practice/{chapter.path.name}#{anchor}"
    return f"[{one.title}]({place}) (chapter {chapter.number}, {one.minutes} minutes)"


NAMES: dict[str, dict[str, Any]] = {
    **{review.page: {"questions": partial(text_of, review.slug)} for review in reviews()},
    "book/contents": {"contents": contents},
    "book/instructors": {"chapter_rows": chapter_rows, "in_class": in_class, "at_home": at_home},
    "book/gpu": vars(gpu_figures),
    "book/practice": {"exercise": exercise},
    "book/model": vars(in_page_figures),
    "book/train": vars(in_page_figures),
}


def filled(page: str, text: str) -> str:
    """The text of a page, such as "book/gpu", with its tables."""
    if page not in NAMES:
        return text
    return Environment(undefined=StrictUndefined).from_string(text).render(NAMES[page])


def fill(app: Sphinx, page: str, source: list[str]) -> None:
    source[0] = filled(page, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", fill)
    return {"parallel_read_safe": True}
