"""The first page and "Open the model" in Chromium: they answer, and load nothing before a touch."""

from __future__ import annotations

import re

import pytest

from tests.site.waiting import until

pytestmark = pytest.mark.browser
FRONT = "book/index.html"
WAIT = 60_000  # milliseconds, on a busy machine
READY = "gpt2-flow[data-state='ready']"
FIRST = "gpt2-flow .next .name >> nth=0"
SHIFTS = """() => {
  window.shifts = 0;
  const add = (list) => list.getEntries().forEach((e) => (window.shifts += e.value));
  new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
}"""


def test_without_javascript_there_are_tables(opened):
    page = opened(FRONT, java_script_enabled=False)
    assert "ate" in page.locator("gpt2-flow table").first.inner_text()


@pytest.mark.parametrize("opening", ["http", "file"])
def test_the_first_frames_need_no_weights(opened, address, site, opening):
    page = opened("robots.txt")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address if opening == 'http' else site.as_uri()}/{FRONT}")
    page.locator(READY).wait_for(timeout=WAIT)
    assert page.locator(FIRST).text_content() == "ate"
    assert [url for url in asked if re.search(r"live\.js|files/", url)] == []
    field = page.locator("gpt2-flow input[type=text]")
    field.fill("By the river, the crane")
    until(page, "document.querySelectorAll('gpt2-flow .token').length === 8", timeout=WAIT)
    assert any("files/crane.js" in url for url in asked)
    page.get_by_role("button", name="write on", exact=True).click()
    until(page, "document.querySelector('gpt2-flow input').value.length > 40", timeout=WAIT)
    page.get_by_role("button", name="stop", exact=True).click()
    page.wait_for_timeout(800)
    text = field.input_value()
    page.wait_for_timeout(800)
    assert field.input_value() == text and text.startswith("By the river, the crane ")
    page.get_by_role("button", name="In the city, the crane").click()
    until(page, "document.querySelector('gpt2-flow .next .name').textContent === 'lifted'")


def test_gpt2s_own_runs_open_without_a_download(opened):
    page = opened(FRONT)
    page.locator(READY).wait_for(timeout=WAIT)
    page.get_by_role("button", name="Artificial Intelligence is transforming the").click()
    until(page, "document.querySelectorAll('gpt2-flow .room').length === 14", timeout=WAIT)
    shown = page.locator("gpt2-flow .next").first.text_content()
    assert "way" in shown and "0.25" in shown
    assert "stored" in page.locator("gpt2-flow .sentence").text_content()


def test_ribbons_are_cut_and_put_back(opened):
    page = opened(FRONT)
    page.locator(READY).wait_for(timeout=WAIT)
    share = "document.querySelector('gpt2-flow .next .p').textContent"
    for head in ("1.0", "1.2"):
        page.get_by_role("button", name=f"cut head {head}").click()
    until(page, f"{share} === '0.32'", timeout=WAIT)
    until(page, "location.search.includes('off=1.0')")
    page.get_by_role("button", name="reset").click()
    until(page, f"{share} === '0.53'", timeout=WAIT)


def test_a_pass_plays_to_its_end_and_can_be_scrubbed(opened):
    page = opened(FRONT, reduced_motion="no-preference")
    page.locator(READY).wait_for(timeout=WAIT)
    page.get_by_role("button", name="play", exact=True).click()
    until(page, "!document.querySelector('.flow-veil').hidden")
    until(page, "document.querySelector('.flow-veil').hidden", timeout=WAIT)
    page.get_by_role("slider", name="how far the pass has come").fill("10")
    page.locator(".flow-line").filter(has_text="attn.weights").wait_for(timeout=WAIT)
    assert page.locator(".flow-veil").is_visible()


def test_one_can_go_from_the_whole_to_one_product_and_back(opened):
    page = opened(FRONT)
    page.locator(READY).wait_for(timeout=WAIT)
    seen = ["block 1: open it", "head 1.0: open it", "␣crane looks at ␣marsh: 0.98"]
    for name in seen:
        page.get_by_role("button", name=name).press("Enter")
        page.locator(READY).wait_for(timeout=WAIT)
    until(page, "document.querySelector('.flow-picture .product') !== null", timeout=WAIT)
    assert page.locator(".flow-picture .product").text_content() == "1.86 × 2.68 = 4.98"
    figures = page.locator(".flow-picture .figure").all_text_contents()
    assert (figures[0], figures[1], figures[3]) == ("25.03", "4.43", "0.976")
    trail = page.locator(".flow-crumbs").inner_text()
    assert trail.split(" › ") == ["model", "block 1", "head 1.0", "score ␣crane → ␣marsh"]
    until(page, "location.search.includes('place=1.0.6.3')")
    for _ in seen:
        page.locator("gpt2-flow .flow-crumbs button").last.press("Escape")
    until(page, "document.querySelectorAll('gpt2-flow .token').length === 7")


def test_the_tour_leads_through_and_gives_back_what_was_there(opened):
    page = opened(f"{FRONT}?text=In+the+city%2C+the+crane")
    page.locator(READY).wait_for(timeout=WAIT)
    page.get_by_role("button", name="Show me: two minutes").click()
    card = page.get_by_role("region", name="tour")
    titles = []
    for n in range(1, 11):
        page.get_by_text(f"{n} of 10", exact=True).wait_for()
        titles.append(card.get_by_role("heading").inner_text())
        if n == 3:
            card.get_by_role("button", name="lifted").click()
            card.get_by_text("Right: ␣lifted (0.44)").wait_for()
        if n == 9:
            card.get_by_role("button", name="cut 1.2").click()
            card.get_by_text("falls to 0.32").wait_for(timeout=WAIT)
        page.keyboard.press("ArrowRight")
    assert titles[0] == "Seven pieces" and len(set(titles)) == 10
    field = page.locator("gpt2-flow input[type=text]")
    assert field.evaluate("field => field === document.activeElement")
    page.get_by_role("button", name="Show me: two minutes").click()
    page.keyboard.press("Escape")
    until(page, "document.querySelector('gpt2-flow .flow-tour').hidden")


@pytest.mark.parametrize("blocked", ["**/files/crane.js"])
def test_a_model_that_does_not_come_is_named_and_asked_again(browser, address, blocked):
    page = browser.new_page()
    page.route(blocked, lambda route: route.abort())
    page.goto(f"{address}/{FRONT}")
    page.locator(READY).wait_for(timeout=WAIT)
    field = page.locator("gpt2-flow input[type=text]")
    field.fill("By the river")
    page.get_by_text("did not come").wait_for(timeout=WAIT)
    page.unroute(blocked)
    field.fill("By the river, the")
    until(page, "document.querySelectorAll('gpt2-flow .token').length === 7", timeout=WAIT)
    page.close()


@pytest.mark.parametrize("width, height", [(1280, 900), (390, 844)])
def test_the_picture_stands_above_the_fold_and_moves_nothing(opened, width, height):
    page = opened(FRONT, before=f"({SHIFTS})()", viewport={"width": width, "height": height})
    page.locator(READY).wait_for(timeout=WAIT)
    wide = ["h1", ".pitch", "gpt2-flow input[type=text]", ".flow-picture", ".flow-play"]
    for selector in wide if width > 1000 else wide[:3]:
        box = page.locator(f"article {selector}").first.bounding_box()
        assert box and box["y"] + box["height"] <= height and box["x"] >= 0, selector
    page.wait_for_timeout(500)
    assert page.evaluate("shifts") < 0.05
