"""The first page and "Open the model" in Chromium: they answer, and load nothing before a touch."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page

from tests.site.test_browser import AXE, OVERFLOWING
from tests.site.waiting import until

pytestmark = pytest.mark.browser
WAIT = 60_000  # milliseconds, on a busy machine
VIOLATIONS = """async () => {
  const { violations } = await axe.run("main", { resultTypes: ["violations"] });
  return violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html).join(" | ")}`);
}"""
SHIFTS = """() => {
  window.shifts = 0;
  const add = (list) => list.getEntries().forEach((e) => (window.shifts += e.value));
  new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
}"""


@pytest.fixture
def opened(browser: Browser, request) -> Iterator:
    """``opened(**context)``: a page on which nothing may go wrong."""
    heard: list[str] = []
    contexts = []

    def hear(message) -> None:  # from a disk, fonts are asked for as from another origin
        if message.type == "error" and message.page.url.startswith("http"):
            heard.append(message.text)

    def open_page(**context) -> Page:
        contexts.append(browser.new_context(**{"reduced_motion": "reduce"} | context))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("console", hear)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert heard == []


def test_the_place_is_switched_without_javascript(browser, address):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{address}/book/index.html")
    assert page.locator(".next li:visible b").first.inner_text() == "ate"
    assert page.locator("a.inside:visible").get_attribute("href").endswith("marsh%2C+the+crane")
    page.get_by_role("radio", name="city").check()
    assert page.locator(".next li:visible b").first.inner_text() == "lifted"
    assert page.locator("a.inside:visible").get_attribute("href").endswith("city%2C+the+crane")
    page.keyboard.press("ArrowLeft")
    assert page.locator(".next li:visible b").first.inner_text() == "ate"
    assert page.locator(".arc:visible").count() == 1
    assert not page.locator(".write").is_visible()
    page.context.close()


@pytest.mark.parametrize("opening", ["http", "file"])
def test_write_on_loads_the_model_and_not_before(opened, address, site, opening):
    page = opened()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address if opening == 'http' else site.as_uri()}/book/index.html")
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


def test_switching_the_place_ends_what_is_written(opened, address):
    page = opened()
    page.goto(f"{address}/book/index.html")
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
    page.goto(f"{address}/book/index.html")
    page.get_by_role("button", name="write on").click()
    page.get_by_text("The model does not answer").wait_for(timeout=WAIT)
    page.unroute(blocked)
    page.get_by_role("button", name="write on").click()
    page.locator(".written mark").wait_for(timeout=WAIT)
    page.close()


@pytest.mark.parametrize("width, height", [(1280, 800), (390, 844)])
def test_above_the_fold_stands_what_matters(opened, address, width, height):
    page = opened(viewport={"width": width, "height": height})
    page.add_init_script(f"({SHIFTS})()")
    page.goto(f"{address}/book/index.html")
    seen = ["h1", ".pitch", ".living .line", ".next >> visible=true", ".begin a:first-child"]
    if width > 1000:
        seen += [".begin a:last-child", ".write", "a.inside >> visible=true", "figcaption"]
    for selector in seen:
        box = page.locator(f"article {selector}").first.bounding_box()
        assert box and box["y"] + box["height"] <= height and box["x"] >= 0, selector
    page.wait_for_timeout(500)
    assert page.evaluate("shifts") < 0.01


@pytest.mark.parametrize("name", ["index", "model"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_pages_keep_nobody_out(opened, address, name, scheme):
    page = opened(color_scheme=scheme)
    for width, height in ((1280, 800), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto(f"{address}/book/{name}.html")
        if name == "model":
            page.locator("gpt2-playground[data-state='ready']").wait_for(timeout=WAIT)
        overflow = page.evaluate(OVERFLOWING)
        assert overflow["page"] <= overflow["width"], f"at {width} px: {overflow}"
        page.evaluate(AXE.read_text("utf-8"))
        assert page.evaluate(VIOLATIONS) == []


def test_open_the_model_has_all_instruments_on_one_screen(opened, address):
    page = opened(viewport={"width": 1280, "height": 800})
    page.goto(f"{address}/book/model.html")
    exhibit = page.locator("gpt2-playground")
    page.locator("gpt2-playground[data-state='ready']").wait_for(timeout=WAIT)
    for part in (".strip", ".board", ".bars", ".sentence", ".many >> nth=0", "text=causal mask"):
        box = exhibit.locator(part).first.bounding_box()
        assert box and box["y"] + box["height"] <= 800, part


def test_the_first_page_is_light(opened, address, site):
    """Packed, everything that is fetched before a touch is less than 150 kB."""
    page = opened()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}/book/index.html", wait_until="load")
    page.wait_for_timeout(500)
    files = [site / urlsplit(url).path.lstrip("/") for url in asked if url.startswith(address)]
    sizes = {
        file.name: min(len(data), len(gzip.compress(data)))
        for file in files
        for data in [file.read_bytes()]
    }
    assert sum(sizes.values()) <= 150_000, sizes
