"""Sphinx extension: practice on the site, without a kernel.

- A question is a card; its answers are folds of which one is open at a time. So is a guess in a
  chapter, and what was guessed is told again above the exhibit that follows.
- An exercise whose answer is a value gets fields to type it in (practice_tasks.py); one whose
  answer is code, where to run it.
- The directive ``progress`` lists all exercises and questions, for "My progress".
- A mixed review (reviews.py) has questions of both kinds, all of them in cards.
- A chapter's "Now write it" says where its cell can be run, and each page of the chapter ends with
  the way to its questions.

What the notebooks hold stays as it is: all of this is put around it when a page is written.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from html import escape, unescape
from pathlib import Path

from docutils import nodes
from myst_parser.mdit_to_docutils.base import default_slugify
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from gpt2_edu.exercises.exercise import Exercise
from gpt2_site.addresses import colab
from gpt2_site.chapters import ROOT, Chapter, Page, chapter_of, chapters, pages
from gpt2_site.execute_notebooks import STEP, WRITE_IT
from gpt2_site.front import raw
from gpt2_site.lab_address import command
from gpt2_site.make_practice import KINDS, anchor, exercises_of, plain, questions, several
from gpt2_site.practice_tasks import answered_in_page, form
from gpt2_site.reviews import Review, reviewed, reviews
from gpt2_site.theme import linkable

PROGRESS = "book/progress"
CARDS = ("progress.js", "cards.js")
SCRIPTS = {
    "practice": (*CARDS, "answers.js", "judge.js", "practice.js"),
    "progress": ("progress.js", "progress-page.js"),
    "cards": CARDS,
}
NUMBERS = "No One Two Three Four Five Six Seven Eight Nine Ten".split()
ASKED = "Questions people ask"  # before a chapter's summary
GUESS = '<details class="guess"'
ANSWERS = (GUESS, '<div class="wanted"', '<details class="solved"')  # follow a question
GUESSES = re.compile(rf"(?:{GUESS}.*?</details>\s*)+", re.S)
PREDICT = "Predict before you look."
RIGHT = re.compile(r"(?:Right|Yes)\b")  # begins what is said to a right answer
UNFILLED = re.compile(r"Not yet: |parts are the book's: my_gpt2.py has none of them yet")
EXHIBIT = re.compile(r'<gpt2-[\w-]+ id="([^"]+)" class="g2-live" data-settings="([^"]*)"')
ON_PAPER = ("paper", "recall")  # the cell only repeats what the fields are for


def practised(page: str) -> Chapter | None:
    """The chapter that a page of the site is the practice of."""
    return next((c for c in chapters() if page == f"notebooks/practice/{c.name}"), None)


class Practice(SphinxPostTransform):
    """Dress the pages of practice, and end the chapters."""

    default_priority = 710  # after the folds
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        page = self.env.docname
        chapter = practised(page)
        if chapter:
            opens = colab(page)
            top = self.document.next_node(nodes.section)
            start = top.index(top.next_node(nodes.section))
            opening = [c for c in top[:start] if not isinstance(c, nodes.paragraph)]
            top.children[:start] = [*opening, raw(here(chapter))]
            for section in list(self.document.findall(nodes.section)):
                if exercise := exercise_of(section, chapter):
                    dress_exercise(section, exercise, chapter, opens)
        ended = next((one for one in pages() if page == f"notebooks/{one.name}"), None)
        if tested := chapter or reviewed(page):
            dress_questions(self.document, asked_in(tested))
        elif ended or page.startswith("book/"):
            source = self.env.doc2path(page)
            text = ended.markdown if ended else Path(source).read_text(encoding="utf-8")
            dress_questions(self.document, guesses(text))
        if ended:
            leave_out_unfilled(self.document)
            sections = list(self.document.findall(nodes.section))
            asked = (s for s in sections if s.next_node(nodes.title).astext() == ASKED)
            place = next(asked, sections[0])
            place += raw(stuck(chapter_of(ended)))
            for section in sections:
                if section.next_node(nodes.title).astext() == "Now write it":
                    asks = f'build("{ended.slug}"'
                    at = next(i for i in cells_of(section) if asks in section[i].astext())
                    opens = f"{colab(page)}#scrollTo={STEP}"
                    types = command(chapter_of(ended), WRITE_IT)
                    section[at : at + 1] = in_notebook(section[at], opens, types)


def cells_of(section: nodes.section) -> list[int]:
    """The places of a section's code cells among its children."""
    return [i for i, c in enumerate(section.children) if c.get("nb_element") == "cell_code"]


def leave_out_unfilled(within: nodes.Element) -> None:
    """Without what a cell prints that nobody has filled in: a page's reader cannot."""
    for cell in within.findall(nodes.container):
        if cell.get("nb_element") == "cell_code_output":
            cell.children = [c for c in cell.children if not UNFILLED.search(c.astext())]


def in_notebook(cell: nodes.Node, opens: str, types: str, more: str = "") -> list[nodes.Node]:
    """A cell to write in, marked as one that no page runs, and below it where it can be run."""
    typed = nodes.literal_block(types, types, language="bash")
    return [
        raw('<div class="in-notebook"><p class="mark">To be written in the notebook</p>'),
        cell,
        raw(
            f'<div class="elsewhere"><p><a href="{escape(opens)}">Open in Colab at this cell</a>, '
            "or on your machine, in the book’s folder:</p>"
        ),
        typed,
        raw(f"{more}</div></div>"),
    ]


def here(chapter: Chapter) -> str:
    """How this page works, in place of what the notebook says of itself."""
    exercises = exercises_of(chapter)
    values = sum(answered_in_page(exercise) for exercise in exercises)
    fields = {0: "They need", 1: "One has a field for your answer; the others need"}.get(
        values, f"{in_words(values)} have fields for your answer; the others need"
    )
    return (
        f'<p class="here">For <a href="../{chapter.name}.html">chapter {chapter.number}</a>: '
        f"{in_words(len(asked_in(chapter))).lower()} questions that answer at once, and "
        f"{in_words(len(exercises)).lower()} exercises. {fields} Python, or paper and a pencil. "
        "Try before you open a hint or a solution. What you solved, not what you typed, stays "
        'in this browser, listed in <a href="../../book/progress.html">My progress</a>; '
        '<a href="../../book/practice.html">How to practise</a> tells more.'
        "<noscript> The fields, and keeping what you did, need JavaScript.</noscript></p>"
    )


def in_words(count: int) -> str:
    return NUMBERS[count] if count < len(NUMBERS) else str(count)


# ---- Questions


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
def asked_in(of: Chapter | Review) -> tuple[Question, ...]:
    return tuple(Question(question_id(q["text"]), q["text"].strip()) for q in questions(of))


def guesses(markdown: str) -> tuple[Question, ...]:
    """What a page lets its reader guess: the last line in bold before each list of answers."""
    before = GUESSES.split(markdown)[:-1]
    asked = [re.findall(r"^\*\*.*", text, re.M)[-1] for text in before]
    texts = [re.sub(r"^\*\*|\*\*$", "", text.removeprefix(f"**{PREDICT}** ")) for text in asked]
    texts = [re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text).replace("$", "") for text in texts]
    return tuple(Question(question_id(text), text) for text in texts)


@cache
def guessed_in(page: Page) -> tuple[Question, ...]:
    return guesses(page.markdown)


def dress_questions(document: nodes.document, asked: tuple[Question, ...]) -> None:
    """A card around each question. Raises ValueError if the page has others than its source."""
    sections = list(document.findall(nodes.section))
    places = [(section, *place) for section in sections for place in lists_in(section)]
    if len(places) != len(asked):
        raise ValueError(f"{len(places)} questions on the page, {len(asked)} in its source")
    cards = [
        (section, start, end, card(section.children[start:end], question, number, len(asked)))
        for number, ((section, start, end), question) in enumerate(
            zip(places, asked, strict=True), 1
        )
    ]
    for section, start, end, made in reversed(cards):
        section[start:end] = made


def lists_in(section: nodes.section) -> list[tuple[int, int]]:
    """Where a question begins among a section's children, and where its last answer ends."""
    found: list[tuple[int, int]] = []
    children = section.children
    start = i = 0
    while i < len(children):
        if not answers(children[i]):
            start = i if begins(children[i]) else start
            i += 1
            continue
        depth = 0
        while depth or (i < len(children) and answers(children[i])):
            depth += markup(children[i]).count("<details") - markup(children[i]).count("</details>")
            i += 1
        found.append((start, i))
    return found


def markup(child: nodes.Node) -> str:
    return child.astext() if isinstance(child, nodes.raw) else ""


def answers(child: nodes.Node) -> bool:
    """Whether an answer to choose, a field, or a solution begins here."""
    return any(one in markup(child) for one in ANSWERS)


def begins(child: nodes.Node) -> bool:
    """Whether a question may begin here: with its number or another word in bold."""
    if not isinstance(child, nodes.paragraph):
        return False
    return isinstance(next((c for c in child.children if c.astext()), None), nodes.strong)


def card(
    children: list[nodes.Node], question: Question, number: int, count: int
) -> list[nodes.Node]:
    """A question with its answers. Its number, or that it is a guess, becomes its head."""
    first, *rest = children
    begins = first.next_node(nodes.strong)
    head, name = "", "Question"
    if re.fullmatch(r"\d+\.", begins.astext()):
        head = f"{number} of {count}"
        name = f"Question {head}"
    elif begins.astext() == PREDICT:
        head = name = PREDICT.rstrip(".")
    if head:
        said = first.children
        del said[: said.index(begins) + 1]
        if isinstance(said[0], nodes.Text):
            said[0] = nodes.Text(said[0].lstrip())
    opening = (
        f'<div class="question" role="group" id="{question.anchor}" data-question="{question.id}" '
        f'aria-label="{name}">\n<p class="count">{head}</p>'
    )
    return [raw(opening), first, *options(rest, question), raw("</div>\n")]


def options(children: list[nodes.Node], question: Question) -> list[nodes.Node]:
    """The answers, one open at a time; each knows whether it is the right one."""
    for child, following in zip(children, [*children[1:], None], strict=True):
        if isinstance(child, nodes.raw) and GUESS in child.astext():
            right = following is not None and RIGHT.match(following.astext()) is not None
            opened = f'<details class="guess {"right" if right else "wrong"}" name="{question.id}"'
            child.children = []
            child += nodes.Text(child.rawsource.replace(GUESS, opened))
    return children


# ---- Exercises


def exercise_of(section: nodes.section, chapter: Chapter) -> Exercise | None:
    """The exercise that a section is about: "2. A row under the mask"."""
    heading = section.next_node(nodes.title).astext()
    number, _, _ = heading.partition(". ")
    given = exercises_of(chapter)
    if not number.isdigit() or not 0 < int(number) <= len(given):
        return None
    return given[int(number) - 1]


def dress_exercise(
    section: nodes.section, exercise: Exercise, chapter: Chapter, opens: str
) -> None:
    """Fields below the task, and what leads to the notebook at the cell."""
    section["ids"].append(anchor(exercise))
    cells = cells_of(section)
    if not cells:
        return
    at = cells[0]
    cell = section.children[at]
    leave_out_unfilled(cell)
    explores = exercise.kind == "explore" and any(map(exhibits, chapter.pages))
    around = in_notebook(
        cell,
        f"{opens}#scrollTo={anchor(exercise)}",
        command(chapter, exercise.name),
        f"<p>{shown_in(chapter)}</p>" * explores,
    )
    if answered_in_page(exercise) and exercise.kind in ON_PAPER:
        fold = raw('<details class="in-python"><summary>In Python</summary>')
        around = [fold, *around, raw("</details>")]
    section.children[at : at + 1] = around
    if answered_in_page(exercise):
        hints = (
            i
            for i, child in enumerate(section.children)
            if isinstance(child, nodes.raw) and "<summary>Hint" in child.astext()
        )
        section.children.insert(next(hints, at), raw(form(exercise)))


def shown_in(chapter: Chapter) -> str:
    """The chapter's exhibits, to try things out on."""
    links = [
        f'<a href="../{page.name}.html#{name}">{escape(first)}</a>'
        for page in chapter.pages
        for name, first in exhibits(page)
    ]
    what = "exhibits" if len(links) > 1 else "exhibit"
    return f"To look at it by hand, the chapter has the {what}: {' '.join(links)}"


@cache
def exhibits(page: Page) -> tuple[tuple[str, str], ...]:
    """The anchors of a page's exhibits, and what each says first."""
    cells = json.loads(page.path.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    shown = "\n".join("".join(o.get("data", {}).get("text/html", "")) for o in outputs)
    return tuple(
        (name, json.loads(unescape(settings)).get("first", ""))
        for name, settings in EXHIBIT.findall(linkable(shown))
    )


# ---- The end of a chapter


def stuck(chapter: Chapter) -> str:
    """Where to go if the chapter did not help."""
    asked = f"{in_words(len(asked_in(chapter)))} questions find where"
    others = [
        f'<a href="../book/questions.html#{default_slugify(topic)}">{escape(topic.lower())}</a>'
        for topic in topics(chapter)
    ]
    too = f" Others were, too: {', '.join(others)}." if others else ""
    return (
        f'<p class="stuck"><strong>Stuck?</strong> <a href="practice/{chapter.name}.html'
        f'#questions">{asked}</a>.{too}</p>'
    )


@cache
def stumbles() -> dict[str, str]:
    """The sections of book/questions.md, by their heading."""
    page = (ROOT / "book" / "questions.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", page, flags=re.M)[1:]
    return {head.partition("\n")[0].strip(): head for head in sections if "| question |" in head}


def topics(chapter: Chapter) -> list[str]:
    """The sections that have most of a chapter's questions, at most two."""
    names = [page.path.name for page in chapter.pages]
    count = Counter(
        {
            head: sum(any(name in row for name in names) for row in text.splitlines())
            for head, text in stumbles().items()
        }
    )
    return [head for head, number in count.most_common(2) if number]


# ---- My progress


class Progress(SphinxDirective):
    """All exercises and questions, as links: progress-page.js marks what is done."""

    def run(self) -> list[nodes.Node]:
        here = posixpath.dirname(self.env.docname)
        return [
            raw(stage)
            for c in chapters()
            for stage in (
                listed(c, posixpath.relpath(f"notebooks/practice/{c.name}.html", here)),
                *(
                    listed_review(review, posixpath.relpath(f"{review.page}.html", here))
                    for review in reviews()
                    if review.after is c
                ),
            )
        ]


def listed(chapter: Chapter, page: str) -> str:
    checked = [exercise for exercise in exercises_of(chapter) if exercise.checked]
    exercises = "".join(
        f'<li data-exercise="{e.name}"><a href="{page}#{anchor(e)}">{escape(e.title)}</a> '
        f"<small>{KINDS[e.kind]}</small></li>"
        for e in checked
    )
    guessed = [question for one in chapter.pages for question in guessed_in(one)]
    asked = several(len(asked_in(chapter)) + len(guessed), "question")
    sum_ = f"{several(len(checked), 'exercise')}, {asked}"
    folds = [
        (several(len(asked_in(chapter)), "question"), page, asked_in(chapter)),
        *(
            (
                f"{several(len(guessed_in(one)), 'question')} in the chapter"
                + f", {one.title}" * (one is not chapter),
                page.replace(f"practice/{chapter.name}", one.name),
                guessed_in(one),
            )
            for one in chapter.pages
            if guessed_in(one) or one is chapter
        ),
    ]
    return (
        f'<section class="stage"><h3><a href="{page}">{chapter.number}. {escape(chapter.title)}'
        f'</a> <small class="sum">{sum_}</small></h3><ul class="tasks">{exercises}</ul>'
        f"{''.join(listed_questions(*fold) for fold in folds)}</section>"
    )


def listed_review(review: Review, page: str) -> str:
    asked = asked_in(review)
    return (
        f'<section class="stage"><h3><a href="{page}">{escape(review.title)}</a> '
        f'<small class="sum">{several(len(asked), "question")}</small></h3>'
        f"{listed_questions(several(len(asked), 'question'), page, asked)}</section>"
    )


def listed_questions(title: str, page: str, asked: tuple[Question, ...]) -> str:
    items = "".join(
        f'<li data-question="{q.id}"><a href="{page}#{q.anchor}">{text}</a></li>'
        for q in asked
        for text in [plain(q.text.replace("$", ""))]  # no mathematics in a list of links
    )
    return f"<details><summary>{title}</summary><ol>{items}</ol></details>"


def load(app: Sphinx, page: str, template: str, context: dict, *_: object) -> None:
    """Scripts and styles, on the pages that need them."""
    asks = 'class="question"' in context.get("body", "")
    tests = practised(page) or reviewed(page)
    kind = "practice" if tests else "progress" if page == PROGRESS else "cards" * asks
    if kind in ("practice", "progress"):
        app.add_css_file("practice.css", priority=900)
    for script in SCRIPTS.get(kind, ()):
        app.add_js_file(script, priority=900, loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("progress", Progress)
    app.add_post_transform(Practice)
    app.connect("html-page-context", load, priority=400)  # before the theme makes its choice
    return {"parallel_read_safe": True, "parallel_write_safe": True}
