"""The slides, read as files: every figure of a chapter is there, and each slide stands alone."""

from __future__ import annotations

import re

import nbformat
import pytest
from bs4 import BeautifulSoup

from gpt2_site.chapters import alone, headings
from gpt2_site.slides import FIGURE


@pytest.fixture
def deck(soup, told) -> BeautifulSoup:
    return soup(f"slides/{told.name}")


def test_every_figure_that_a_chapter_stores_is_on_one_slide(deck, told):
    stored = [
        "".join(output["data"].get("text/html", ""))
        for cell in nbformat.read(told.path, as_version=4).cells
        for output in cell.get("outputs", [])
        if "data" in output
    ]
    figures = {FIGURE.search(html)[0] for html in stored if FIGURE.search(html)}
    assert len(deck.select("section .stage > .g2")) == len(figures) > 1


def test_a_slide_has_a_title_a_takeaway_notes_and_a_foot(deck, told):
    sections = {alone(title) for title in headings(told.markdown).values()}
    for number, slide in enumerate(deck.select("section"), 1):
        title = slide.select_one("h1, h2").get_text()
        assert title == told.title if number == 1 else title in sections
        for part in (".takeaway", ".notes"):
            assert slide.select_one(part).get_text().strip()
        foot = slide.select_one(".place").get_text()
        assert f"Chapter {told.number}. {told.title}" in foot and "CC BY 4.0" in foot


def test_a_slide_asks_no_file_of_anyone(deck):
    """A deck is one file: it can be carried on a stick, and shown without a network."""
    assert [link["href"] for link in deck.select("link")] == ["data:,"]
    assert not deck.select("script[src], img[src], iframe, a[href], [id^=g2-] use[href^=http]")
    style = deck.select_one("style").get_text()
    assert "@import" not in style and "url(" not in style


def test_formulas_are_set_and_no_markup_is_left(deck):
    for words in deck.select(".notes, .takeaway"):
        texts = words.find_all(string=True)
        said = "".join(t for t in texts if not t.find_parent(["annotation", "code"]))
        assert not re.search(r"\$|\]\(|\*\*|\\[a-z]+|<details", said)
