"""The frame of every page: light and dark, contents, ribbon, the reader's place, what loads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Page, expect

from gpt2_site.chapters import chapters, find
from tests.site.waiting import until

pytestmark = pytest.mark.browser
HEADS = f"notebooks/{find('heads').name}.html"
SHADE = "getComputedStyle(document.body).backgroundColor"


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{address}/{HEADS}")
    yield page
    context.close()
    assert errors == []


def test_the_theme_is_changed_by_its_button_and_stays(page, address):
    before = page.evaluate(SHADE)
    button = page.get_by_role("button", name=re.compile("^(Dark|Light) page$"))
    assert button.get_attribute("aria-label") == "Dark page"
    button.press("Enter")
    after = page.evaluate(SHADE)
    assert after != before
    assert button.get_attribute("aria-label") == "Light page"
    page.goto(f"{address}/book/glossary.html")
    assert page.evaluate(SHADE) == after


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_without_javascript_the_page_follows_the_system(browser, address, scheme):
    context = browser.new_context(java_script_enabled=False, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{address}/{HEADS}")
    # A script of the test's own may not run either: a picture of one dot tells the colour.
    dot = page.screenshot(clip={"x": 2, "y": 500, "width": 1, "height": 1})
    white = browser.new_page()
    white.set_content("<body style='background: #fff'>")
    blank = white.screenshot(clip={"x": 2, "y": 500, "width": 1, "height": 1})
    assert (dot == blank) == (scheme == "light")
    context.close()


def test_the_contents_open_by_keyboard_lead_on_and_close(page):
    summary = page.locator("details.contents > summary")
    summary.press("Enter")
    link = page.locator("details.contents a", has_text=find("mask").title)
    assert link.first.is_visible()
    page.keyboard.press("Escape")
    assert not link.first.is_visible()
    assert summary.evaluate("(e) => e === document.activeElement")
    summary.click()
    page.locator("h1").click()
    assert not link.first.is_visible()
    summary.click()
    link.first.click()
    page.wait_for_url(f"**/{find('mask').name}.html")


def test_the_contents_close_when_the_focus_leaves_them(page):
    page.locator("details.contents > summary").press("Enter")
    page.locator("details.contents a").last.focus()
    page.keyboard.press("Tab")
    assert page.locator("details.contents").get_attribute("open") is None


def test_typing_in_the_bar_does_not_move_the_page(page):
    page.evaluate("scrollTo(0, 3000)")
    field = page.locator(".find input")
    field.focus()
    page.keyboard.type("softmax", delay=40)
    page.locator("#found a").first.wait_for()
    assert page.evaluate("scrollY") == 3000


def test_what_a_link_leads_to_is_below_the_bars(page):
    page.locator(".here-is a").nth(3).click()
    page.wait_for_timeout(100)
    top = "document.querySelector(':target').getBoundingClientRect().top"
    low = "document.querySelector('.ribbon').getBoundingClientRect().bottom"
    assert 0 <= page.evaluate(f"{top} - {low}") < 40


def test_what_copies_code_is_seen_by_keyboard_and_keeps_the_focus(page):
    button = page.locator("button.copybtn").first
    button.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    page.locator("button.copybtn.success").wait_for()
    assert button.evaluate("(e) => e === document.activeElement")
    expect(button).to_have_css("opacity", "1")


def test_the_ribbon_has_every_chapter_and_marks_this_one(page):
    links = page.get_by_role("navigation", name="Chapters").get_by_role("link")
    assert links.count() == len(chapters())
    here = page.locator(".ribbon [aria-current=page]")
    assert here.inner_text().split(maxsplit=1) == [
        str(find("heads").number),
        find("heads").title,
    ]
    box, width = here.bounding_box(), page.viewport_size["width"]
    assert 0 <= box["x"] and box["x"] + box["width"] <= width
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    box = here.bounding_box()
    assert 0 <= box["x"] and box["x"] + box["width"] <= 390


def test_the_section_that_is_read_is_marked_and_offered_on_the_front_page(page, address):
    section = page.locator("article section section").nth(2)
    title = section.locator("h2").first.evaluate("(h) => h.firstChild.textContent")
    section.evaluate("(s) => s.scrollIntoView()")
    marked = page.locator(".here-is [aria-current]")
    until(
        page,
        "(t) => document.querySelector('.here-is [aria-current]')?.textContent === t",
        arg=title,
    )
    assert marked.count() == 1
    anchor = section.get_attribute("id")
    page.goto(f"{address}/book/index.html")
    offer = page.locator("a.resume")
    assert title in offer.inner_text()
    offer.click()
    page.wait_for_url(f"**/{HEADS}#{anchor}")


@pytest.mark.parametrize("kept", ["{", "null", '{"place": "https://example.org/"}', "[]"])
def test_a_place_that_cannot_be_read_is_not_offered(page, address, kept):
    page.evaluate("(kept) => (localStorage['gpt2-edu place'] = kept)", kept)
    page.goto(f"{address}/book/index.html")
    page.locator("h1").wait_for()
    assert page.locator("a.resume").count() == 0


def test_without_storage_the_frame_works(browser, address):
    context = browser.new_context(color_scheme="light")
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('off'); } });"
    )
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{address}/{HEADS}")
    before = page.evaluate(SHADE)
    page.locator("button.theme").click()
    assert page.evaluate(SHADE) != before
    page.goto(f"{address}/book/index.html")
    context.close()
    assert errors == []


def test_scripts_of_exhibits_come_when_one_is_near_or_linked(browser, address):
    asked: list[str] = []
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    page.goto(f"{address}/{HEADS}", wait_until="networkidle")
    assert "live.js" not in asked
    page.locator(".g2-live").first.scroll_into_view_if_needed()
    until(page, "document.querySelector('.g2-live').dataset.state === 'ready'")
    assert "live.js" in asked
    anchor = page.locator(".g2-live").first.get_attribute("id")
    page.goto("about:blank")
    page.goto(f"{address}/{HEADS}#{anchor}")
    until(page, "document.querySelector('.g2-live').dataset.state === 'ready'")
    until(
        page,
        "(id) => { const { top } = document.getElementById(id).getBoundingClientRect();"
        " return top >= 0 && top < innerHeight; }",
        arg=anchor,
    )
    page.close()


def test_what_is_wide_scrolls_by_keyboard(page):
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(300)
    lost = page.locator("article :is(pre, .scroll)").evaluate_all(
        "all => all.filter((e) => e.checkVisibility()"
        " && e.scrollWidth > e.clientWidth + 1 && e.tabIndex !== 0).length"
    )
    assert lost == 0
    assert page.locator("article pre[tabindex]").count() > 0


def test_a_page_says_what_it_is_about_and_what_comes_next(site: Path):
    told = set()
    for chapter in chapters():
        page = BeautifulSoup(
            (site / f"notebooks/{chapter.name}.html").read_text("utf-8"), "html.parser"
        )
        told.add(page.find("meta", attrs={"name": "description"})["content"])
        follows = page.select_one(".onward .next span")
        assert follows and len(follows.get_text().split()) > 5
    assert len(told) == len(chapters())
    assert all(60 < len(text) <= 160 for text in told)
