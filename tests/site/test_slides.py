"""The slides in a browser, opened from a disk: keys, what fits, notes, and print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from gpt2_site.chapters import find

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """A projector's window."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda asked: asked.url[:4] == "http" and errors.append(asked.url))
    yield page
    page.close()
    assert errors == []


def opened(page: Page, site: Path, name: str) -> Page:
    page.goto((site / "slides" / f"{name}.html").as_uri())
    return page


def test_keys_and_buttons_lead_from_slide_to_slide(page, site):
    opened(page, site, find("heads").name)
    for key, number in (("ArrowRight", 2), (" ", 3), ("ArrowLeft", 2), ("PageDown", 3)):
        page.keyboard.press(key)
        expect(page.locator(f"#s{number}")).to_be_in_viewport(ratio=0.99)
        assert page.url.endswith(f"#s{number}")
    page.get_by_role("button", name="Slide before").click()
    expect(page.locator("#s2")).to_be_in_viewport(ratio=0.99)
    page.keyboard.press("End")
    expect(page.locator("section").last).to_be_in_viewport(ratio=0.99)
    page.keyboard.press("Home")
    expect(page.locator("#s1")).to_be_in_viewport(ratio=0.99)


def test_notes_show_when_they_are_asked_for(page, site):
    opened(page, site, find("mask").name)
    notes = page.locator("#s3 .notes")
    expect(notes).to_be_hidden()
    page.keyboard.press("n")
    expect(notes).to_be_visible()
    page.get_by_role("button", name=re.compile("Notes")).click()
    expect(notes).to_be_hidden()


LARGE = """() => [...document.querySelectorAll("section")].filter((slide) => {
  const [stage, face] = [slide.querySelector(".stage"), slide.querySelector(".face")];
  const cut = (box) =>
    box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1;
  return cut(stage) || cut(face) || stage.clientHeight < 240;
}).map((slide) => slide.id)"""


@pytest.mark.thorough
def test_every_figure_fits_on_its_slide(page, site, chapter):
    assert opened(page, site, chapter.name).evaluate(LARGE) == []


@pytest.mark.thorough
@pytest.mark.parametrize("speaker", [False, True])
def test_a_printed_slide_is_a_page(page, site, speaker):
    opened(page, site, find("inside").name)
    if speaker:
        page.keyboard.press("n")
    pages = re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))
    assert len(pages) == page.locator("section").count()


def test_slides_weigh_little(site):
    assert sum(path.stat().st_size for path in (site / "slides").iterdir()) < 4_000_000
