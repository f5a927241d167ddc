"""Exhibits of pages opened as files; test_browser.py has looks and barriers of those served."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from gpt2_site.chapters import chapters
from tests.site.waiting import wake

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted(
    path.stem
    for path in (ROOT / "notebooks").glob("*.ipynb")
    if "g2-live" in path.read_text(encoding="utf-8")
)
PAGES = [
    *(f"notebooks/{name}" for name in CHAPTERS),
    "book/card",
    "book/model",
    "book/scale",
    "book/train",
]
@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.heard, page.asked = [], []
    page.on("pageerror", lambda error: page.heard.append(str(error)))
    page.on("console", lambda m: page.heard.append(m.text) if m.type == "error" else None)
    page.on("request", lambda request: page.asked.append(request.url))
    yield page
    assert page.heard == []
    context.close()


def test_every_chapter_has_an_exhibit():
    assert set(CHAPTERS) >= {chapter.name for chapter in chapters()}


@pytest.mark.parametrize("name", PAGES)
def test_an_exhibit_wakes_and_asks_nobody(tab, site, name):
    tab.goto(f"{site.as_uri()}/{name}.html")
    assert wake(tab) > 0
    own = site.as_uri(), "data:", "blob:"
    assert [url for url in tab.asked if not url.startswith(own)] == []


@pytest.mark.parametrize("name", PAGES)
def test_without_javascript_the_notebooks_own_output_stands_there(browser, address, name):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/{name}.html")
    for exhibit in page.locator(".g2-live").all():
        assert exhibit.locator("table, svg, ol").count() > 0
        assert exhibit.locator("button, input").count() == 0
    context.close()
