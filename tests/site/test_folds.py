"""What is folded away on the built pages, and old addresses: both are found by links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import pytest
import yaml
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Page

from gpt2_site.chapters import chapters, find
from tests.site.waiting import until

ROOT = Path(__file__).resolve().parents[2]
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
MOVED = {
    old: str(PurePosixPath(old).parent / new).removesuffix(".html")
    for old, new in CONFIG["sphinx"]["config"]["redirects"].items()
}


@pytest.fixture(params=chapters(), ids=lambda chapter: chapter.name)
def chapter(request: pytest.FixtureRequest, site: Path) -> tuple[str, BeautifulSoup]:
    """A chapter's Markdown and its page."""
    file = site / "notebooks" / f"{request.param.name}.html"
    return request.param.markdown, BeautifulSoup(file.read_text("utf-8"), "html.parser")


def test_every_deeper_section_is_a_closed_fold_with_its_heading_as_summary(chapter):
    markdown, page = chapter
    folds = page.select("article details.deeper")
    assert len(folds) == len(re.findall(r"^### Deeper: ", markdown, re.M)) > 0
    for fold in folds:
        assert "open" not in fold.attrs
        section = fold.parent
        assert section.name == "section" and section["id"].startswith("deeper-")
        heading = fold.summary.find("h3").get_text()
        assert heading and "Deeper" not in heading
        assert not fold.summary.find("a"), "a link in a summary can hardly be clicked"
        assert len(fold.get_text()) > len(heading) + 60, f"{heading}: nothing in it"


def test_the_story_does_not_end_in_a_fold(chapter):
    """What follows a fold stands under a heading of its own, and sections are not nested in it."""
    _, page = chapter
    for fold in page.select("article details.deeper"):
        assert fold.find("h2") is None
        assert not [tag for tag in fold.next_siblings if getattr(tag, "name", None)]


def test_no_pixel_picture_stands_in_a_chapter(chapter):
    _, page = chapter
    assert [tag["src"][:60] for tag in page.select("article .cell_output img")] == []
    for figure in page.select("article figure.g2-plot"):
        assert len(figure.svg["aria-label"].split()) >= 5
        assert len(figure.figcaption.get_text().split()) >= 3
        assert "#000000" not in str(figure.svg) and "#ffffff" not in str(figure.svg)


def test_every_old_address_leads_to_a_page(site):
    assert MOVED
    for old, new in MOVED.items():
        page = BeautifulSoup((site / f"{old}.html").read_text("utf-8"), "html.parser")
        goal = (site / old).parent / page.find("link", rel="canonical")["href"]
        assert goal.resolve() == (site / f"{new}.html").resolve()
        assert goal.is_file()
        assert page.find("a")["href"] in str(page.find("noscript"))


# In a browser


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


def first_fold(site: Path, slug: str) -> tuple[str, str]:
    """A chapter's page and the anchor of its first fold."""
    name = f"notebooks/{find(slug).name}.html"
    html = BeautifulSoup((site / name).read_text("utf-8"), "html.parser")
    return name, html.select_one("details.deeper").parent["id"]


@pytest.mark.browser
def test_a_link_to_a_fold_opens_it(page, address, site):
    name, anchor = first_fold(site, "mask")
    page.goto(f"{address}/{name}")
    fold = page.locator(f"section#{anchor} > details.deeper")
    assert fold.get_attribute("open") is None
    page.locator(f"a[href='#{anchor}']").first.evaluate("(link) => link.click()")
    until(page, f"document.querySelector('#{anchor} > details').open")
    page.goto("about:blank")
    page.goto(f"{address}/{name}#{anchor}")
    until(page, f"document.querySelector('#{anchor} > details').open")
    box = fold.bounding_box()
    assert 0 <= box["y"] < 900


@pytest.mark.browser
def test_on_paper_folds_are_open_but_for_code_and_map_and_afterwards_closed_again(
    page, address, site
):
    name, _ = first_fold(site, "mask")
    page.goto(f"{address}/{name}")
    told = "article details:not([open], .hide, .g2-way)"
    count = f"document.querySelectorAll('{told}').length"
    before = page.evaluate(count)
    assert before > 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(count) == 0
    assert page.locator("article details.hide[open], article .g2-way[open]").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(count) == before


@pytest.mark.browser
def test_an_old_address_keeps_the_place_on_the_page(page, address, site):
    old, new = "notebooks/15_cache", MOVED["notebooks/15_cache"]
    html = BeautifulSoup((site / f"{new}.html").read_text("utf-8"), "html.parser")
    anchor = html.select_one("article section section")["id"]
    page.goto(f"{address}/{old}.html#{anchor}")
    page.wait_for_url(f"{address}/{new}.html#{anchor}")
    assert urlsplit(page.url).fragment == anchor


@pytest.mark.browser
def test_a_head_opens_by_keyboard_and_the_other_closes(browser, address, site):
    for chapter in chapters():
        file = f"notebooks/{chapter.name}.html"
        if "g2-head" in (site / file).read_text("utf-8"):
            break
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/{file}")
    heads = page.locator(".g2-heads").first.locator("details")
    closed = heads.locator("xpath=self::*[not(@open)]").first
    closed.locator("summary").focus()
    page.keyboard.press("Enter")
    opened = page.locator(".g2-heads").first.locator("details[open]")
    assert opened.count() == 1
    assert opened.locator("table").is_visible()
    context.close()
