"""Nothing moves when a page has arrived: what wakes and what is added has its room before."""

from __future__ import annotations

import pytest

from tests.site.test_exhibits import PAGES
from tests.site.waiting import wake

pytestmark = pytest.mark.browser
MOST = 0.05  # of layout shift, half of what search engines call good
SHIFTS = """() => {
  window.shifts = 0;
  const add = (list) => list.getEntries().forEach((e) => (window.shifts += e.value));
  new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
}"""
HEIGHTS = """async () => {
  await document.fonts.ready;
  const all = [...document.querySelectorAll("article :is(.g2-live, .g2[id]:not(.g2-live *))")];
  return all.map((e) => [e.id, Math.round(e.getBoundingClientRect().height)]);
}"""


SCANT = """() => [...document.querySelectorAll(".g2-live")]
  .map((e) => [e.id, e.getBoundingClientRect().height, parseFloat(getComputedStyle(e).minHeight)])
  .filter(([, high, room]) => high > room + 1)"""


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", [*PAGES, "book/index"])
def test_nothing_grows_and_the_text_stays(browser, address, name, width):
    """Each exhibit comes into view asleep, as for a reader who is faster than the network."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, reduced_motion="reduce", color_scheme="light"
    )
    page = context.new_page()
    page.add_init_script(f"({SHIFTS})()")
    before: list[list] = []

    def scripts(route):  # they are asked for after the first paint
        before.extend(page.evaluate(HEIGHTS))
        route.continue_()

    page.route("**/_static/scripts-*", scripts)
    page.goto(f"{address}/{name}.html")
    assert wake(page, folds=False) > 0
    after, shifts = page.evaluate(HEIGHTS), page.evaluate("shifts")
    page.set_viewport_size({"width": min(width, 820), "height": 900})
    page.wait_for_timeout(100)
    scant = page.evaluate(SCANT)
    context.close()
    pairs = zip(before, after, strict=True)
    assert [(was, now) for was, now in pairs if now[1] > was[1] + 1] == []
    assert scant == [], "the height it has, and the room that the styles keep for it"
    assert shifts < MOST


def test_results_of_a_search_move_nothing(opened):
    page = opened("search.html?q=mask", before=f"({SHIFTS})()")
    page.locator("#search-results > li").first.wait_for()
    page.wait_for_timeout(100)  # for the frame that shows them
    assert page.evaluate("shifts") < MOST
