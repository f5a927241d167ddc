"""Train one here, on the built site: a run is stored, continued, and shown by the other pages."""

from __future__ import annotations

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


def test_a_page_opened_from_a_disk_trains(page, site):
    page.goto((site / "book" / "train.html").as_uri())
    learn = train(page, 60)
    learn.get_by_role("button", name="train again").wait_for(timeout=LONG)
    assert step(learn) == 60


def test_a_run_is_continued_after_a_reload(page, address):
    page.goto(f"{address}/book/train.html")
    learn = train(page, 100_000)
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


def test_the_other_pages_show_the_model_that_was_trained(page, address):
    page.goto(f"{address}/book/train.html")
    learn = train(page, 200)
    learn.get_by_role("button", name="train again").wait_for(timeout=LONG)
    learn.get_by_role("button", name="use this model everywhere").click()
    learn.get_by_text("All exhibits of the book now show my 32 sentences, 200 steps").wait_for()
    learn.get_by_role("link", name="See it in the picture of the whole").click()
    page.get_by_text("my 32 sentences, 200 steps").first.wait_for(timeout=LONG)


def test_the_first_page_leads_to_it_and_print_has_a_run(soup):
    main = soup("book/index").select_one("article")
    assert main.select('a[href="train.html"]')
    rows = soup("book/train").select("gpt2-learn .printed tbody tr")
    assert len(rows) > 9
    losses = [float(row.select_one("td").text) for row in rows]
    assert losses == sorted(losses, reverse=True)


def test_a_phone_has_everything_below_each_other(page, address):
    """With the styles as they are minified."""
    page.goto(f"{address}/book/train.html")
    picture = awake(page).locator(".picture > *")
    curve, writes = (one.bounding_box() for one in picture.all())
    assert curve["x"] == writes["x"] and curve["y"] < writes["y"]
