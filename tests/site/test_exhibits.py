"""Exhibits wake and move nothing: what wakes and what is added has its room before."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, Route

from gpt2_site.chapters import chapters
from tests.site.waiting import wake
from tests.thorough import thorough

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

# In make test the first is opened as a file; test_browser.py has some come on a phone.
WALKED = [
    (name, width) if (name, width) == (PAGES[0], 390) else thorough(name, width)
    for name in [*PAGES, "book/index"]
    for width in (390, 1280)
]
ON_A_PHONE = {*PAGES[::3], "book/index"}

MOST = 0.05  # of layout shift, half of what search engines call good
SHIFTS = """{
  window.shifts = 0;
  const add = (list) => list.getEntries().forEach((e) => (window.shifts += e.value));
  new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
}"""
HEIGHTS = """async () => {
  const came = () => Array.from(document.fonts).some((face) => face.family.includes("Edu Mono"));
  while (!came()) await new Promise(requestAnimationFrame);
  const all = [...document.querySelectorAll("article :is(.g2-live, .g2[id]:not(.g2-live *))")];
  return all.map((e) => [e.id, Math.round(e.getBoundingClientRect().height)]);
}"""


SCANT = """() => [...document.querySelectorAll(".g2-live")]
  .map((e) => [e.id, e.getBoundingClientRect().height, parseFloat(getComputedStyle(e).minHeight)])
  .filter(([, high, room]) => high > room + 1)"""


def test_every_chapter_has_an_exhibit():
    assert set(CHAPTERS) >= {chapter.name for chapter in chapters()}


@pytest.mark.parametrize("name", PAGES)
def test_without_javascript_the_notebooks_own_output_stands_there(soup, name):
    exhibits = soup(name).select(".g2-live")
    assert exhibits
    for exhibit in exhibits:
        assert exhibit.select("table, svg, ol")
        assert not exhibit.select("button, input")


def come(page: Page, address: str) -> None:
    """Open a page that has SHIFTS: its exhibits come asleep, before its scripts, and wake."""
    before: list[list] = []

    def scripts(route: Route) -> None:  # they are asked for after the first paint
        before.extend(page.evaluate(HEIGHTS))
        route.continue_()

    page.route("**/_static/scripts-*", scripts)
    page.goto(address)
    assert wake(page, folds=False) > 0
    page.unroute_all()
    after, shifts = page.evaluate(HEIGHTS), page.evaluate("shifts")
    pairs = zip(before, after, strict=True)
    assert [(was, now) for was, now in pairs if now[1] > was[1] + 1] == []
    assert shifts < MOST
    size = page.viewport_size
    page.set_viewport_size({"width": min(size["width"], 820), "height": 900})
    page.wait_for_timeout(100)
    assert page.evaluate(SCANT) == [], "the height it has, and the room that the styles keep for it"


@pytest.mark.browser
@pytest.mark.parametrize("name, width", WALKED)
def test_it_wakes_asks_nobody_and_moves_nothing(browser, site, name, width):
    context = browser.new_context(
        viewport={"width": width, "height": 900}, reduced_motion="reduce", color_scheme="light"
    )
    page = context.new_page()
    page.add_init_script(SHIFTS)
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("console", lambda m: heard.append(m.text) if m.type == "error" else None)
    page.on("request", lambda request: heard.append(request.url) if foreign(request.url) else None)
    heard: list[str] = []
    own = site.as_uri(), "data:", "blob:"

    def foreign(url: str) -> bool:
        return not url.startswith(own)

    come(page, f"{site.as_uri()}/{name}.html")
    context.close()
    assert heard == []


@pytest.mark.thorough
@pytest.mark.browser
def test_results_of_a_search_move_nothing(opened):
    page = opened("search.html?q=mask", before=SHIFTS)
    page.locator("#search-results > li").first.wait_for()
    page.wait_for_timeout(100)  # for the frame that shows them
    assert page.evaluate("shifts") < MOST
