"""Where the exercises and questions of the book stand on the site, and what they are called."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cache
from html import unescape

from gpt2_edu.exercises.exercise import Exercise, exercises
from gpt2_site.chapters import Chapter, chapters
from gpt2_site.make_practice import questions
from gpt2_site.theme import linkable

EXHIBIT = re.compile(r'<gpt2-[\w-]+ id="([^"]+)" class="g2-live" data-settings="([^"]*)"')


@dataclass(frozen=True)
class Question:
    """A question of a practice page. Its id follows from its text, so that it keeps its answer."""

    id: str
    text: str

    @property
    def anchor(self) -> str:
        return f"question-{self.id}"


def question_id(text: str) -> str:
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:10]


@cache
def asked_in(chapter: Chapter) -> tuple[Question, ...]:
    return tuple(Question(question_id(q["text"]), q["text"].strip()) for q in questions(chapter))


def given_in(chapter: Chapter) -> list[Exercise]:
    return [exercise for exercise in exercises().values() if exercise.chapter == chapter.number]


def practised(page: str) -> Chapter | None:
    """The chapter that a page of the site is the practice of."""
    return next((c for c in chapters() if page == f"notebooks/practice/{c.name}"), None)


@cache
def exhibits(chapter: Chapter) -> tuple[tuple[str, str], ...]:
    """The anchors of a chapter's exhibits, and what each says first."""
    cells = json.loads(chapter.path.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    shown = "\n".join("".join(o.get("data", {}).get("text/html", "")) for o in outputs)
    return tuple(
        (name, json.loads(unescape(settings)).get("first", ""))
        for name, settings in EXHIBIT.findall(linkable(shown))
    )
