"""The strip at the head of a chapter: a whole pass in small, with the chapter's part of it lit."""

from __future__ import annotations

import re

import pytest
from bs4 import BeautifulSoup

from gpt2_site import one_pass, strip
from gpt2_site.chapters import chapter_of, chapters, find
from gpt2_site.front_facts import beginning
from tests.thorough import thorough

WAIT = 60_000  # milliseconds, on a busy machine


def test_every_chapter_has_its_part():
    assert list(strip.PLACES) == [chapter.slug for chapter in chapters()]
    for place in strip.PLACES.values():
        assert place.left >= 0 and place.width > 0 and place.left + place.width <= 100.001


def test_it_is_drawn_from_the_models_numbers():
    stored = one_pass.stored(beginning("marsh"))
    drawn = BeautifulSoup(strip.svg(), "html.parser")
    unit = stored["unit"]
    weights = [unit * w for heads in stored["attention"] for head in heads for w in head[-7:-1]]
    strong = sum(w >= strip.CHOSEN for w in weights)
    end = f" {strip._over(6, 7):.0f}"
    widths = [float(p["stroke-width"]) for p in drawn.select("path") if p["d"].endswith(end)]
    assert len(widths) == strong
    assert max(widths) == pytest.approx(4 * max(weights), abs=0.06) and max(weights) <= 1
    lanes = drawn.select(".lane[height='5']")  # of the crane
    sides = [float(re.search(r"side:(\d+)%", lane["style"])[1]) for lane in lanes]
    strengths = [float(re.search(r"strength:(\d+)%", lane["style"])[1]) for lane in lanes]
    for said, side, strength in zip((row[-1] for row in stored["lens"]), sides, strengths):
        _, _, bird, machine, _ = said
        assert strength == pytest.approx(100 * min(1, bird + machine), abs=0.6)
        if bird + machine:
            assert side == pytest.approx(100 * bird / (bird + machine), abs=0.6)
    assert sides[2] < 50 < sides[3]  # block 1 turns the crane
    assert len(drawn.select("circle")) == 2 * 3 * 7


def test_it_stands_above_the_title_of_each_page_of_a_chapter(soup, told):
    page, chapter = soup(f"notebooks/{told.name}"), chapter_of(told)
    (link,) = page.select("article > .strip-of-pass")
    place = strip.PLACES[chapter.slug]
    assert link["href"].startswith("../book/model.html")
    assert link.b.text == place.name
    assert link["aria-label"].startswith(f"You are here: {place.name}. One pass")
    assert link.find_next("h1") is page.h1
    assert not soup(f"notebooks/practice/{chapter.name}").select(".strip-of-pass")


@pytest.mark.browser
def test_it_opens_the_model_at_that_place(opened):
    page = opened(f"notebooks/{find('heads').name}.html")
    page.locator(".strip-of-pass").click()
    page.locator("gpt2-flow[data-state='ready']").wait_for(timeout=WAIT)
    assert page.locator(".flow-crumbs [aria-current]").text_content() == "block 1"


@pytest.mark.browser
@pytest.mark.parametrize(
    ("width", "height", "theme"),
    [
        (1280, 96, "light"),
        thorough(1280, 96, "dark"),
        thorough(390, 64, "light"),
        (390, 64, "dark"),
    ],
)
def test_it_is_low_and_has_the_pages_colours(opened, width, height, theme):
    viewport = {"width": width, "height": 900}
    page = opened("notebooks/07_mlp.html", viewport=viewport, color_scheme=theme)
    found = page.locator(".strip-of-pass")
    assert found.bounding_box()["height"] == height
    image = found.evaluate("link => getComputedStyle(link).backgroundImage")
    assert image.endswith('strip.svg#dark")' if theme == "dark" else 'strip.svg")')
    name, lit = (found.locator(part).bounding_box() for part in ("b", "i"))
    assert name["x"] >= lit["x"] and name["x"] + name["width"] <= width
