"""The first page and "Open the model" in Chromium: they answer, and load nothing before a touch."""

from __future__ import annotations

import re

import pytest

from tests.site.test_browser import barriers, overflowing
from tests.site.waiting import until

pytestmark = pytest.mark.browser
FRONT = "book/index.html"
WAIT = 60_000  # milliseconds, on a busy machine
SHIFTS = """() => {
  window.shifts = 0;
  const add = (list) => list.getEntries().forEach((e) => (window.shifts += e.value));
  new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
}"""


def test_the_place_is_switched_without_javascript(opened):
    page = opened(FRONT, java_script_enabled=False)
    assert page.locator(".next li:visible b").first.inner_text() == "ate"
    assert page.locator("a.inside:visible").get_attribute("href").endswith("marsh%2C+the+crane")
    page.get_by_role("radio", name="city").check()
    assert page.locator(".next li:visible b").first.inner_text() == "lifted"
    assert page.locator("a.inside:visible").get_attribute("href").endswith("city%2C+the+crane")
    page.keyboard.press("ArrowLeft")
    assert page.locator(".next li:visible b").first.inner_text() == "ate"
    assert page.locator(".arc:visible").count() == 1
    assert not page.locator(".write").is_visible()


@pytest.mark.parametrize("opening", ["http", "file"])
def test_write_on_loads_the_model_and_not_before(opened, address, site, opening):
    page = opened("robots.txt")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address if opening == 'http' else site.as_uri()}/{FRONT}")
    page.wait_for_timeout(500)
    heavy = [url for url in asked if re.search(r"gpt2\.js|live\.js|files/", url)]
    assert heavy == []
    page.get_by_role("radio", name="city").check()
    page.get_by_role("button", name="write on").click()
    begin = "In the city, the crane"
    written = page.locator(".written")
    until(page, "document.querySelector('.written mark')?.textContent.length > 20", timeout=WAIT)
    assert written.inner_text().startswith(f"{begin} ")
    assert sum(float(i) for i in page.locator(".next:visible i").all_inner_texts()) <= 1.01
    page.get_by_role("button", name="stop").click()
    text = written.inner_text()
    page.wait_for_timeout(400)
    assert written.inner_text() == text
    assert page.get_by_role("button", name="write on").is_visible()
    page.get_by_role("link", name="look inside").click()
    page.locator("gpt2-playground[data-state='ready']").wait_for(timeout=WAIT)
    assert page.locator("gpt2-playground input[type=text]").input_value() == text


def test_switching_the_place_ends_what_is_written(opened):
    page = opened(FRONT)
    page.get_by_role("button", name="write on").click()
    page.locator(".written mark").wait_for(timeout=WAIT)
    page.get_by_role("radio", name="city").check()
    assert page.locator(".next li:visible b").first.inner_text() == "lifted"
    page.wait_for_timeout(500)
    assert not page.locator(".written").is_visible()
    assert page.locator("a.inside:visible").get_attribute("href").endswith("city%2C+the+crane")


@pytest.mark.parametrize("blocked", ["**/gpt2.js", "**/files/crane.js"])
def test_a_model_that_does_not_come_is_named_and_asked_again(browser, address, blocked):
    page = browser.new_page()
    page.route(blocked, lambda route: route.abort())
    page.goto(f"{address}/{FRONT}")
    page.get_by_role("button", name="write on").click()
    page.get_by_text("The model does not answer").wait_for(timeout=WAIT)
    page.unroute(blocked)
    page.get_by_role("button", name="write on").click()
    page.locator(".written mark").wait_for(timeout=WAIT)
    page.close()


@pytest.mark.parametrize("width, height", [(1280, 800), (390, 844)])
def test_above_the_fold_stands_what_matters(opened, width, height):
    page = opened(FRONT, before=f"({SHIFTS})()", viewport={"width": width, "height": height})
    seen = ["h1", ".pitch", ".living .line", ".next >> visible=true", ".begin a:first-child"]
    if width > 1000:
        seen += [".begin a:last-child", ".write", "a.inside >> visible=true", "figcaption"]
    for selector in seen:
        box = page.locator(f"article {selector}").first.bounding_box()
        assert box and box["y"] + box["height"] <= height and box["x"] >= 0, selector
    page.wait_for_timeout(500)
    assert page.evaluate("shifts") < 0.01


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_open_the_model_is_on_one_screen_and_keeps_nobody_out(opened, scheme):
    page = opened("book/model.html", viewport={"width": 1280, "height": 800}, color_scheme=scheme)
    exhibit = page.locator("gpt2-playground")
    page.locator("gpt2-playground[data-state='ready']").wait_for(timeout=WAIT)
    for part in (".strip", ".board", ".bars", ".sentence", ".many >> nth=0", "text=causal mask"):
        box = exhibit.locator(part).first.bounding_box()
        assert box and box["y"] + box["height"] <= 800, part
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        assert overflowing(page) == [] and barriers(page) == []
