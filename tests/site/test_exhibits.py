"""Exhibits on the built pages: they wake, answer and keep nobody out, from a server and a disk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.site.test_browser import AXE, OVERFLOWING
from tests.site.waiting import wake

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted(
    path.stem
    for path in (ROOT / "notebooks").glob("*.ipynb")
    if "g2-live" in path.read_text(encoding="utf-8")
)
PAGES = [*(f"notebooks/{name}" for name in CHAPTERS), "book/model", "book/scale"]
VIOLATIONS = """async () => {
  for (const details of document.querySelectorAll(".g2-live details")) details.open = true;
  const { violations } = await axe.run({ include: [".g2-live"] }, { resultTypes: ["violations"] });
  return violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html).join(" | ")}`);
}"""


@pytest.fixture(params=["light", "dark"])
def tab(browser: Browser, request) -> Iterator[Page]:
    context = browser.new_context(color_scheme=request.param, reduced_motion="reduce")
    page = context.new_page()
    page.heard = []
    page.on("pageerror", lambda error: page.heard.append(str(error)))
    page.on("console", lambda m: page.heard.append(m.text) if m.type == "error" else None)
    yield page
    assert page.heard == []
    context.close()


def test_every_chapter_has_an_exhibit():
    chapters = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert set(CHAPTERS) == chapters


@pytest.mark.parametrize("name", PAGES)
def test_an_exhibit_fits_both_widths_and_has_no_barriers(tab, address, name):
    tab.set_viewport_size({"width": 1280, "height": 900})
    tab.goto(f"{address}/{name}.html")
    assert wake(tab) > 0
    tab.evaluate(AXE.read_text(encoding="utf-8"))
    for width in (1280, 390):
        tab.set_viewport_size({"width": width, "height": 844})
        tab.wait_for_timeout(300)
        assert tab.evaluate(VIOLATIONS) == []
        overflow = tab.evaluate(OVERFLOWING)
        assert overflow["page"] <= overflow["width"], f"at {width} px: {overflow}"


@pytest.mark.parametrize("name", PAGES)
def test_an_exhibit_answers_from_a_disk_and_asks_nobody(browser, site, name):
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{(site / name).as_uri()}.html")
    wake(page)
    assert [url for url in asked if not re.match("file:|data:|blob:", url)] == []
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_without_javascript_the_notebooks_own_output_stands_there(browser, address, name):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/{name}.html")
    for exhibit in page.locator(".g2-live").all():
        assert exhibit.locator("table, svg, ol").count() > 0
        assert exhibit.locator("button, input").count() == 0
    context.close()
