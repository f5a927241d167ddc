"""The strip at the head of a chapter: a whole pass in small, with the chapter's part of it lit."""

from __future__ import annotations

import base64
import io
import re

import pytest
from bs4 import BeautifulSoup
from PIL import Image

from gpt2_site import miniature, one_pass, strip
from gpt2_site.chapters import chapter_of, chapters, find
from gpt2_site.front_facts import beginning
from tests.thorough import thorough

WAIT = 60_000  # milliseconds, on a busy machine


def test_every_chapter_has_its_part():
    assert list(strip.PLACES) == [chapter.slug for chapter in chapters()]
    drawn = BeautifulSoup(strip.svg(), "html.parser")
    for slug, place in strip.PLACES.items():
        assert place.left >= 0 and place.width > 0 and place.left + place.width <= 100.001
        assert place.style.endswith(f"strip.svg#{slug})")
        assert drawn.find("g", id=slug) and f"#{slug}:target~" in drawn.style.text
    with pytest.raises(ValueError, match="no such part"):
        miniature.svg({"mlp": "mlp9"})


def test_it_is_drawn_from_the_models_numbers():
    stored = one_pass.stored(beginning("marsh"))
    drawn = BeautifulSoup(strip.svg(), "html.parser")
    unit = stored["unit"]
    weights = [unit * w for heads in stored["attention"] for head in heads for w in head[-7:-1]]
    strong = sum(w >= miniature.CHOSEN for w in weights)
    ribbons = drawn.select("[class*=own] > .ribbons > path:not(.aura)")  # into the crane
    widths = [float(ribbon["stroke-width"]) for ribbon in ribbons]
    assert len(widths) == strong
    assert max(widths) == pytest.approx(miniature.STRONG * max(weights), abs=0.06)
    lanes = drawn.select(".lane-own > .lane")
    sides = [float(re.search(r"side:(\d+)%", lane["style"])[1]) for lane in lanes]
    strengths = [float(re.search(r"strength:(\d+)%", lane["style"])[1]) for lane in lanes]
    for said, side, strength in zip(
        (row[-1] for row in stored["lens"]), sides, strengths, strict=True
    ):
        _, _, bird, machine, _ = said
        assert strength == pytest.approx(100 * min(1, bird + machine), abs=0.6)
        if bird + machine:
            assert side == pytest.approx(100 * bird / (bird + machine), abs=0.6)
    assert sides[2] < 50 < sides[3]  # block 1 turns the crane
    assert sum(ring["d"].count("M") for ring in drawn.select(".plus")) == 2 * 3 * 7
    rows = [alphas(image["href"]) for image in drawn.select(".cells")]
    sizes = [[abs(value) for value in vector] for vector in stored["vectors"]]
    for row, vector in zip(rows, sizes, strict=True):
        assert row == pytest.approx([255 * min(1, 0.2 + 1.6 * size) for size in vector], abs=0.51)
    lit = [len(units) for block in stored["lit"] for units in block]
    plates = drawn.select("[class*=mlp] > image")
    assert [white(plate["href"]) for plate in plates] == lit


def alphas(address: str) -> list[int]:
    """How opaque each pixel of a picture in an address is, of 255."""
    image = Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2])))
    return list(image.convert("RGBA").getchannel("A").tobytes())


def white(address: str) -> int:
    """How many pixels of a picture in an address are seen."""
    return sum(alpha > 0 for alpha in alphas(address))


def test_it_stands_above_the_title_of_each_page_of_a_chapter(soup, told):
    page, chapter = soup(f"notebooks/{told.name}"), chapter_of(told)
    (link,) = page.select("article > .strip-of-pass")
    place = strip.PLACES[chapter.slug]
    assert link["href"].startswith("../book/model.html")
    assert link.b.text == place.name
    assert link["aria-label"].startswith(f"You are here: {place.name}. One pass")
    assert link.find_next("h1") is page.h1
    assert not soup(f"notebooks/practice/{chapter.name}").select(".strip-of-pass")


@pytest.mark.thorough
@pytest.mark.browser
def test_it_opens_the_model_at_that_place(opened):
    page = opened(f"notebooks/{find('heads').name}.html")
    page.locator(".strip-of-pass").click()
    page.locator("gpt2-flow[data-state='ready']").wait_for(timeout=WAIT)
    assert page.locator(".flow-crumbs [aria-current]").text_content() == "block 1"


@pytest.mark.browser
@pytest.mark.parametrize(
    ("width", "wide", "height", "theme"),
    [
        (1280, 880, 117, "light"),  # as wide as the exhibit
        thorough(1280, 880, 117, "dark"),
        thorough(800, 672, 90, "light"),
        thorough(390, 358, 96, "light"),
        (390, 358, 96, "dark"),
    ],
)
@pytest.mark.parametrize("slug", ["mlp", thorough("generation"), thorough("gpt2")])
def test_it_is_low_and_shows_its_part(opened, slug, width, wide, height, theme):
    viewport = {"width": width, "height": 900}
    page = opened(f"notebooks/{find(slug).name}.html", viewport=viewport, color_scheme=theme)
    found = page.locator(".strip-of-pass")
    box = found.bounding_box()
    assert (box["width"], box["height"]) == pytest.approx((wide, height), abs=1)
    image = found.locator("i").evaluate("one => getComputedStyle(one).backgroundImage")
    assert image.endswith(f'/_static/strip.svg#{slug}")'), "one drawing, dark in both themes"
    name, drawn = (found.locator(part).bounding_box() for part in ("b", "i"))
    assert box["x"] - 1 <= name["x"] and name["x"] + name["width"] <= box["x"] + wide + 1
    place = strip.PLACES[slug]
    middle = drawn["x"] + drawn["width"] * (place.left + place.width / 2) / 100
    assert box["x"] < middle < box["x"] + wide
    size = found.locator("b").evaluate("one => parseFloat(getComputedStyle(one).fontSize)")
    assert size >= 13


@pytest.mark.thorough
@pytest.mark.browser
def test_the_exhibit_begins_on_the_first_screen(opened, chapter):
    page = opened(f"notebooks/{chapter.name}.html", viewport={"width": 1280, "height": 800})
    assert page.locator("article .g2-live").first.bounding_box()["y"] <= 660
