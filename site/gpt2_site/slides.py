"""The figures of each page as slides; extra_files.py writes them into the site.

One HTML file for a page of a chapter, which holds all that it needs: a slide for each figure that
the notebook stores, under the title of the section where it stands. What a figure shows is its
caption; the notes are what the page says before and after it. templates/slides.html is the frame,
with keys, scale and print.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from string import Template
from typing import Any

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from sphinxcontrib.katex import render_latex

from gpt2_site import katex, strip
from gpt2_site.chapters import ROOT, Page, alone, plain
from gpt2_site.practice import PREDICT
from gpt2_site.theme import sha256

TEMPLATES = ROOT / "site" / "templates"
BOOK = "GPT-2 from the first token · CC BY 4.0"
STYLE = ROOT / "gpt2_edu" / "exhibits" / "static" / "exhibits.css"

FIGURE = re.compile(r'<figure class="g2 .*</figure>|<div class="g2 .*</div>', re.S)
CAPTION = re.compile(r"<strong>(.*?)</strong> *|<caption>(.*?)</caption>", re.S)
LIVE = re.compile(r'<gpt2-[\w-]+ class="g2-live" data-settings="([^"]*)">')
ALT = re.compile(r'<svg class="g2-drawing" role="img" aria-label="([^"]*)"')
HEADING = re.compile(r"^#{1,3} (.+)\n*", re.M)
SENTENCE = re.compile(r".*?[.?:](?=\s|$)", re.S)
# A deck loads nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src"
SCRIPT = re.compile(r"<script>(.*?)</script>", re.S)
FOLD = re.compile(r"<details.*?</details>", re.S)

Cells = list[dict[str, Any]]


@dataclass
class Slide:
    """A figure with the title of its section, what to see in it, and what to say; all as HTML."""

    title: str
    takeaway: str
    figure: str
    notes: str


def slides(of: Page) -> list[Slide]:
    """A page's figures in order. The first is a whole pass, below the page's question.

    A figure that opens the page is shown where it is explained, not twice.
    """
    cells = json.loads(of.path.read_text(encoding="utf-8"))["cells"]
    title, found = "", {("", ""): opening(of, cells)}
    for number, cell in enumerate(cells):
        if headings := HEADING.findall(text(cell)):
            title = alone(plain(headings[-1]))
        for stored in figures(cell):
            where = (cells[:number], cells[number + 1 :])
            slide = made(title, stored, where)
            found.pop((slide.takeaway, slide.figure), None)
            found[slide.takeaway, slide.figure] = slide
    return list(found.values())


def opening(of: Page, cells: Cells) -> Slide:
    """The chapter's title with its question and its promise; what it needs is for the notes."""
    first, second = islice(filter(None, map(paragraphs, cells)), 2)
    told = [part for part in first if not part.startswith(f"**{PREDICT}")]
    question, promise, *needs = told if len(told) > 1 else [*told, *second]
    notes = "".join(map(shown, needs or second))
    own = of.slug if of.slug in strip.PLACES else of.slug.rpartition("_")[0]
    title = plain(HEADING.search(text(cells[0]))[1])
    return Slide(title, shown(f"{question}\n\n{promise}"), strip.svg(own), notes)


def made(title: str, stored: str, where: tuple[Cells, Cells]) -> Slide:
    """The slide of a figure as it is stored, with the cells before and after it."""
    leads, follows = before(where[0]), after(where[1])
    figure = FIGURE.search(stored)[0]
    if caption := CAPTION.search(figure):
        takeaway = f"<p>{caption[1] or caption[2]}</p>"
        figure = (figure[: caption.start()] + figure[caption.end() :]).replace(
            "<figcaption></figcaption>", ""
        )
    else:
        takeaway = shown(SENTENCE.match(follows or leads)[0])
    notes = "".join(shown(words) for words in (leads, *about(stored), follows) if words)
    return Slide(title, takeaway, figure, notes)


def figures(cell: dict[str, Any]) -> Iterator[str]:
    """The exhibits among a cell's stored outputs."""
    for output in cell.get("outputs", []):
        stored = "".join(output.get("data", {}).get("text/html", ""))
        if FIGURE.search(stored):
            yield stored


def about(stored: str) -> Iterator[str]:
    """What a figure says of itself: in words, and how to use it where it answers."""
    if alt := ALT.search(stored):
        yield f"*In words:* {html.unescape(alt[1])}"
    if settings := LIVE.search(stored):
        first = json.loads(html.unescape(settings[1]))["first"]
        yield f"*In the chapter this figure answers:* {first}"


# ---- What the chapter says


def text(cell: dict[str, Any]) -> str:
    """A cell's Markdown; nothing of a cell of code."""
    return "".join(cell["source"]) if cell["cell_type"] == "markdown" else ""


def paragraphs(cell: dict[str, Any]) -> list[str]:
    """A cell's paragraphs: without headings, folds, links, tables. A formula belongs to one."""
    plainer = HEADING.sub("", FOLD.sub("", text(cell)))
    plainer = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", plainer)
    parts = re.split(r"\n\n(?!\n*\$\$|- |\d\. )", plainer)
    return [part.strip() for part in parts if part.strip() and not part.startswith("|")]


def before(cells: Cells) -> str:
    """The paragraph that leads to a figure."""
    return next((told[-1] for told in map(paragraphs, reversed(cells)) if told), "")


def after(cells: Cells) -> str:
    """The paragraph that follows a figure, unless another figure or section comes first."""
    for cell in cells:
        if any(figures(cell)) or HEADING.match(text(cell)):
            return ""
        if told := paragraphs(cell):
            return told[0]
    return ""


def formula(latex: str, how: dict[str, Any]) -> str:
    """Mathematics as browsers set it themselves, without a stylesheet or a font."""
    katex.prepare()
    return render_latex(latex, {"displayMode": how["display_mode"], "output": "mathml"})


def shown(markdown: str) -> str:
    return READER.render(markdown)


READER = MarkdownIt()
READER.use(dollarmath_plugin, renderer=formula, double_inline=True)


# ---- The file


def deck(of: Page) -> str:
    """All slides of a page of a chapter, as one file."""
    found = slides(of)
    foot = html.escape(f"Chapter {of.number}. {of.title}")
    shown_one_by_one = (
        page(slide, number, f"{foot} · {number} / {len(found)} · {BOOK}")
        for number, slide in enumerate(found, 1)
    )
    frame = (TEMPLATES / "slides.html").read_text(encoding="utf-8")
    script = sha256(SCRIPT.search(frame)[1])
    return Template(frame).substitute(
        policy=f"{POLICY} 'sha256-{script}'",
        title=html.escape(of.title),
        style=STYLE.read_text(encoding="utf-8"),
        slides="\n".join(shown_one_by_one),
    )


def page(slide: Slide, number: int, foot: str) -> str:
    """A slide, and its notes below it."""
    level = 1 if number == 1 else 2
    return f"""<section id="s{number}" aria-labelledby="t{number}">
<div class="face"><h{level} id="t{number}">{html.escape(slide.title)}</h{level}>
<div class="takeaway">{slide.takeaway}</div>
<div class="stage">{slide.figure}</div>
<p class="place">{foot}</p></div>
<aside class="notes" aria-label="Notes">{slide.notes}</aside>
</section>"""
