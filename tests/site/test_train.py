"""Train one here, on the built site: a run is stored, continued, and shown by the other pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.browser
LONG = 60_000  # milliseconds: other programs run beside


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 390, "height": 844}, reduced_motion="reduce")
    page = context.new_page()
    heard: list[str] = []
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("console", lambda told: heard.append(told.text) if told.type == "error" else None)
    yield page
    assert heard == []
    context.close()


def awake(page: Page) -> Locator:
    learn = page.locator("gpt2-learn")
    learn.scroll_into_view_if_needed()
    page.wait_for_selector("gpt2-learn[data-state=ready]", timeout=LONG)
    return learn


def train(page: Page, steps: int) -> Locator:
    """Chapter 6's sentences, for a while."""
    learn = awake(page)
    learn.get_by_role("button", name="32 sentences").click()
    learn.get_by_text("more settings").click()
    learn.get_by_label("steps").fill(str(steps))
    learn.get_by_role("button", name="train", exact=True).click()
    learn.get_by_text("What it writes after").wait_for(timeout=LONG)
    return learn


def step(learn: Locator) -> int:
    return int(learn.locator(".readings b").first.inner_text().split(" ")[0].replace(",", ""))


@pytest.mark.thorough
def test_a_page_opened_from_a_disk_trains(page, site):
    page.goto((site / "book" / "train.html").as_uri())
    learn = train(page, 60)
    learn.get_by_role("button", name="train again").wait_for(timeout=LONG)
    assert step(learn) == 60
    learn.get_by_role("button", name="use this model everywhere").click()
    learn.get_by_text("This page now shows my 32 sentences, 60 steps.").wait_for(timeout=LONG)
    assert "/book/train.html" in page.url


@pytest.mark.thorough
def test_a_run_is_continued_after_a_reload(page, address):
    page.goto(f"{address}/book/train.html")
    learn = train(page, 100_000)
    on_a_phone_everything_is_below_each_other(learn)
    learn.get_by_role("button", name="pause").click()
    learn.get_by_role("button", name="go on").wait_for()
    page.wait_for_timeout(300)
    before = step(learn)
    page.reload()
    kept = awake(page).locator(".kept")
    kept.get_by_text(f"my 32 sentences, step {before:,}").wait_for(timeout=LONG)
    kept.get_by_role("button", name="go on").click()
    learn.get_by_role("button", name="pause").wait_for(timeout=LONG)
    learn.get_by_role("button", name="pause").click()
    learn.get_by_role("button", name="go on").wait_for()
    assert step(learn) >= before > 0


@pytest.mark.thorough
def test_a_run_that_was_stopped_is_left_to_another_tab(page, address):
    page.goto(f"{address}/book/train.html")
    learn = train(page, 100_000)
    learn.get_by_role("button", name="pause").click()  # which stores it
    learn.get_by_role("button", name="go on").click()
    learn.get_by_role("button", name="pause").wait_for()
    other = page.context.new_page()
    other.goto(f"{address}/book/train.html")
    there = awake(other)
    there.locator(".kept").get_by_text("A run is kept here").wait_for(timeout=LONG)
    there.get_by_role("button", name="go on").click()
    there.get_by_role("alert").get_by_text("going on in another tab").wait_for(timeout=LONG)
    assert there.locator(".kept").is_visible()
    page.bring_to_front()
    learn.get_by_role("button", name="stop").click()
    learn.get_by_role("button", name="train again").wait_for(timeout=LONG)
    learn.get_by_role("button", name="write", exact=True).click()
    learn.locator(".written").get_by_text(re.compile(r"\w")).wait_for(timeout=LONG)
    with page.expect_download():
        learn.get_by_role("button", name="save as a file").click()
    other.bring_to_front()
    there.get_by_role("button", name="go on").click()
    there.get_by_role("button", name="pause").wait_for(timeout=LONG)
    assert there.get_by_role("alert").count() == 0


@pytest.mark.thorough
def test_a_finished_run_is_opened_and_trained_further(page, address):
    page.goto(f"{address}/book/train.html")
    learn = train(page, 200)
    learn.get_by_text("All 200 steps are done.").wait_for(timeout=LONG)
    page.reload()
    learn = awake(page)
    learn.get_by_text("A finished run is kept here: my 32 sentences, step 200").wait_for()
    learn.get_by_role("button", name="open it").click()
    learn.get_by_role("button", name="write", exact=True).wait_for(timeout=LONG)
    learn.get_by_role("button", name="train 100 steps more").click()
    learn.get_by_text("All 300 steps are done.").wait_for(timeout=LONG)
    assert step(learn) == 300


@pytest.mark.thorough
def test_one_press_shows_the_model_that_was_trained_on_the_other_pages(page, address):
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{address}/book/train.html")
    the_title_begins_where_the_exhibit_does(page)
    page.set_viewport_size({"width": 390, "height": 844})
    learn = train(page, 200)
    learn.get_by_role("button", name="train again").wait_for(timeout=LONG)
    learn.get_by_text("It opens the page “Open the model” with your model.").wait_for()
    learn.get_by_role("button", name="use this model everywhere").click()
    page.wait_for_url("**/book/model.html?text=*", timeout=LONG)
    page.get_by_text("my 32 sentences, 200 steps answers.").first.wait_for(timeout=LONG)
    page.get_by_role("button", name="back to the book’s model").wait_for()
    page.go_back()
    learn = awake(page)
    learn.get_by_role("button", name=re.compile("open it|train again")).first.wait_for(timeout=LONG)


@pytest.mark.thorough
def test_a_page_without_storage_keeps_the_model_and_says_so(page, address):
    page.add_init_script("indexedDB.open = () => { throw new DOMException('denied') }")
    page.goto(f"{address}/book/train.html")
    learn = train(page, 60)
    learn.get_by_role("button", name="train again").wait_for(timeout=LONG)
    assert learn.get_by_text("It opens the page").count() == 0
    learn.get_by_role("button", name="use this model everywhere").click()
    learn.get_by_text("This page now shows my 32 sentences, 60 steps.").wait_for(timeout=LONG)
    assert "/book/train.html" in page.url
    assert learn.get_by_role("link", name="See it on the page").count() == 0
    learn.get_by_role("button", name="write", exact=True).click()
    learn.locator(".written").get_by_text(re.compile(r"\w")).wait_for(timeout=LONG)


def test_the_first_page_leads_to_it_and_print_has_a_run(soup):
    main = soup("book/index").select_one("article")
    assert main.select('a[href="train.html"]')
    rows = soup("book/train").select("gpt2-learn .printed tbody tr")
    assert len(rows) > 9
    losses = [float(row.select_one("td").text) for row in rows]
    assert losses == sorted(losses, reverse=True)


def the_title_begins_where_the_exhibit_does(page: Page) -> None:
    edges = [awake(page).locator("> .choices"), page.locator("h1"), page.locator(".pitch")]
    boxes = [one.bounding_box() for one in edges]
    assert len({box["x"] for box in boxes}) == 1
    assert boxes[1]["y"] < boxes[2]["y"] < boxes[0]["y"]


def on_a_phone_everything_is_below_each_other(learn: Locator) -> None:
    """With the styles as they are minified."""
    learn.locator(".inside").wait_for()
    boxes = [one.bounding_box() for one in learn.locator(".picture > *, .inside > *").all()]
    assert {box["x"] for box in boxes} == {boxes[0]["x"]}
    assert all(box["width"] > 340 for box in boxes)
    assert [box["y"] for box in boxes] == sorted(box["y"] for box in boxes)
