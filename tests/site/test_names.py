"""What lights up together on a page, and what a glossary's term tells on the spot."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
CHAPTER = "notebooks/04_attention.html"


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{address}/{CHAPTER}")
    page.locator("article[data-names=marked]").wait_for()
    yield page
    page.close()
    assert errors == []


def lit(page: Page) -> set[str]:
    """Where something is lit: in a ledger, in code, in prose."""
    return set(
        page.locator(".lit-name").evaluate_all(
            """all => all.map((one) => one.closest(".g2-ledger") ? "ledger"
                 : one.closest(".highlight") ? "code" : one.closest("p, li") ? "prose" : "other")"""
        )
    )


@pytest.mark.parametrize("place", [".g2-ledger tr:nth-child(2) th", "p code", ".highlight"])
def test_a_name_lights_up_wherever_it_stands(page, place):
    at = page.locator(f":is({place}) [data-name], :is({place})[data-name]").first
    at.hover()
    assert lit(page) >= {"ledger", "code"}
    names = page.locator(".lit-name").evaluate_all("all => all.map((one) => one.dataset.name)")
    assert set(names) == {at.get_attribute("data-name")}
    page.locator("article h1").hover()
    assert lit(page) == set()


def test_a_shapes_letter_too(page):
    page.locator(".g2-ledger td >> css=[data-name=T]").first.hover()
    assert lit(page) >= {"ledger", "code"}


def test_by_keyboard_from_the_ledger(page):
    page.locator(".g2-ledger tbody th").nth(1).focus()
    assert lit(page) >= {"ledger", "code"}
    page.locator("article p a").first.focus()
    assert lit(page) == set()


def test_code_that_is_copied_is_unchanged(page):
    """Words were wrapped, none was changed."""
    plain = page.context.browser.new_context(java_script_enabled=False).new_page()
    plain.goto(page.url)
    texts = [p.locator(".highlight pre").all_text_contents() for p in (page, plain)]
    assert texts[0] == texts[1]
    plain.context.close()


def test_a_terms_meaning_shows_on_hover_and_focus_and_goes_with_escape(page):
    link = page.locator("article a[data-meaning]").first
    meaning = link.get_attribute("data-meaning")
    box = page.locator("#meaning")
    link.hover()
    box.wait_for()
    assert box.inner_text() == meaning
    box.hover()  # the pointer may rest on it
    page.wait_for_timeout(400)
    assert box.is_visible()
    page.keyboard.press("Escape")
    assert box.is_hidden()
    page.keyboard.press("Tab")
    link.focus()
    box.wait_for()
    assert link.get_attribute("aria-describedby") == "meaning"
    left, right = box.evaluate("(b) => [b.getBoundingClientRect().left, innerWidth]")
    assert 0 <= left <= right
