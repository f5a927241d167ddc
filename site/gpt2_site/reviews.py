"""Mixed reviews: after a part, ten questions that each take two of the chapters or more.

book/review_attention.md is a page, listed in _toc.yml below the last chapter that it is about;
book/review/attention.toml has its questions. Those with options are like the ones of the practice
pages. One with ``right`` wants a value: ``right`` and the ``value`` of each mistake are Python,
and ``why`` is told with the answer.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gpt2_edu.exercises.exercise import Exercise, Mistake
from gpt2_site.chapters import ROOT, Chapter, chapters, find, parts
from gpt2_site.make_practice import asked, fold, questions
from gpt2_site.practice_tasks import form

PREFIX = "book/review_"


@dataclass(frozen=True)
class Review:
    """A page of questions. ``after`` is the chapter that it follows."""

    slug: str
    after: Chapter

    @property
    def page(self) -> str:
        return f"{PREFIX}{self.slug}"

    @property
    def questions(self) -> Path:
        return ROOT / "book" / "review" / f"{self.slug}.toml"

    @property
    def title(self) -> str:
        text = (ROOT / f"{self.page}.md").read_text(encoding="utf-8")
        return re.search(r"^# (.+)$", text, re.M)[1]


@cache
def reviews() -> tuple[Review, ...]:
    """All reviews, in the order of the book."""
    by_page = {f"notebooks/{chapter.name}": chapter for chapter in chapters()}
    return tuple(
        Review(below["file"].removeprefix(PREFIX), by_page[page["file"]])
        for part in parts()
        for page in part["chapters"]
        for below in page.get("sections", ())
        if below["file"].startswith(PREFIX)
    )


def reviewed(page: str) -> Review | None:
    """The review that a page of the site is."""
    return next((review for review in reviews() if review.page == page), None)


def value(expression: str) -> Any:
    return eval(expression, {"math": math})


def as_exercise(number: int, question: dict[str, Any]) -> Exercise:
    """A question that wants a value, as an exercise by hand is checked."""
    name = f"question_{number}"
    return Exercise(
        name=name,
        title=f"Question {number}",
        chapter=0,
        kind="paper",
        start=f"{name} = ...",
        right=value(question["right"]),
        mistakes=tuple(
            Mistake(wrong["says"], code=f"{name} = {wrong['value']}")
            for wrong in question["mistakes"]
        ),
        after=lambda _: question["why"],
    )


def text_of(slug: str) -> str:
    """The questions of a review, as Markdown."""
    (review,) = (one for one in reviews() if one.slug == slug)
    return "\n\n".join(
        asked(number, about(question)) if "options" in question else wanted(number, question)
        for number, question in enumerate(questions(review), 1)
    )


def about(question: dict[str, Any]) -> dict[str, Any]:
    """The question with links to its chapters."""
    told = [find(slug) for slug in question["chapters"]]
    *first, last = (f"[{c.number}](../notebooks/{c.path.name})" for c in told)
    return question | {
        "text": f"{question['text'].strip()} *(Chapters {', '.join(first)} and {last}.)*"
    }


def wanted(number: int, question: dict[str, Any]) -> str:
    """A question with a field for the answer."""
    field = f'<div class="wanted">\n{form(as_exercise(number, question))}\n</div>'
    solution = fold("Solution", question["why"], "solved")
    return f"**{number}.** {about(question)['text']}\n\n{field}\n\n{solution}"
