"""GPT-2 in an exhibit: fetched when the reader has agreed, stored once, and there on later pages.

What the network would send is the crane model here, under GPT-2's name and address.
"""

from __future__ import annotations

import hashlib

import pytest
from playwright.sync_api import Page

from gpt2_edu.web import ASSETS

pytestmark = pytest.mark.browser
TEXT = "In the city, the crane"
WAIT = 30_000  # milliseconds
FILES = {name: ASSETS / "crane" / name for name in ("config.json", "model.safetensors")}
RESOLVE = "**/openai-community/gpt2/resolve/**"

PUBLISH = """async ({ sha256, bytes }) => {
  const { PUBLISHED } = await import("/web/hub.mjs");
  Object.assign(PUBLISHED.gpt2, { endpoint: location.origin, sha256, bytes });
}"""
STORED = """async () => {
  const { list } = await import("/web/storage.mjs");
  const { inStore } = await import("/web/exhibits/own.mjs");
  return [await list(), await inStore("readonly", (store) => store.get("own"))];
}"""


def publish(page: Page) -> None:
    """Let the page take this site for the hub."""
    digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in FILES.items()}
    size = FILES["model.safetensors"].stat().st_size
    page.evaluate(PUBLISH, {"sha256": digests, "bytes": size})


def click(shown, *, agree: bool) -> str:
    """Click on "use GPT-2", and answer the question beside it; returns it."""
    shown.element.get_by_role("button", name="use GPT-2").click()
    question = shown.element.get_by_role("group", name="GPT-2", exact=True)
    loaded = shown.element.locator(".status", has_text="GPT-2 answers now")
    question.or_(loaded).first.wait_for(timeout=WAIT)
    if not question.count():
        return ""
    asked = question.locator("span").inner_text()
    answer = question.get_by_role("button", name="fetch it" if agree else "no")
    assert question.get_by_role("button", name="fetch it").evaluate(
        "button => button === document.activeElement"
    )
    answer.click()
    return asked


def test_it_is_fetched_only_if_the_reader_agrees(exhibit):
    shown = exhibit("heads", text=TEXT)
    before = shown.bars()
    question = click(shown, agree=False)
    assert question.startswith("GPT-2 (124M) by OpenAI: 548 MB from https://huggingface.co/")
    assert question.endswith("Fetch it?")
    assert shown.element.get_by_role("group", name="GPT-2", exact=True).count() == 0
    assert shown.bars() == before  # and the fixture sees that nothing was asked of others
    assert shown.page.evaluate(STORED) == [[], None]


def test_it_is_stored_once_and_answers_until_the_reader_deletes_it(exhibit):
    shown = exhibit("heads", text=TEXT)
    before = shown.bars()
    publish(shown.page)
    shown.page.context.route(
        RESOLVE, lambda route: route.fulfill(path=FILES[route.request.url.rsplit("/", 1)[-1]])
    )
    click(shown, agree=True)
    shown.element.locator(".status", has_text="GPT-2 answers now").wait_for(timeout=WAIT)
    assert shown.bars() == before
    [[stored], kept] = shown.page.evaluate(STORED)
    assert (stored["name"], stored["complete"]) == ("gpt2", True)
    assert kept == {"stored": True}  # half a gigabyte does not lie there twice

    shown.page.context.unroute(RESOLVE)
    shown.page.reload()
    shown.page.wait_for_selector("gpt2-heads[data-state=ready]", timeout=WAIT)
    book = shown.element.get_by_role("button", name="the book's model")
    assert book.is_visible()
    assert shown.bars() == before
    assert click(shown, agree=False) == ""  # it is there already

    shown = exhibit("flow", text=TEXT, tensors="folded")
    shown.element.locator("summary", has_text="Model and arithmetic").click()
    shown.element.locator(".engine", has_text="GPT-2 runs in ").wait_for()
    shown.element.get_by_role("button", name="delete gpt2").click()
    shown.element.locator(".stored li").wait_for(state="detached")
    assert shown.page.evaluate(STORED)[0] == []
    shown = exhibit("heads", text=TEXT)
    assert not shown.element.get_by_role("button", name="the book's model").is_visible()
    assert shown.bars() == before


def test_fetching_can_be_stopped_and_says_what_went_wrong(exhibit):
    shown = exhibit("heads", text=TEXT)
    before = shown.bars()
    publish(shown.page)
    shown.page.context.route(RESOLVE, lambda route: None)  # it never answers
    click(shown, agree=True)
    question = shown.element.get_by_role("group", name="GPT-2", exact=True)
    assert "is asked" in question.inner_text() and question.locator("progress").is_visible()
    shown.element.get_by_role("button", name="stop fetching").click()
    shown.element.locator(".status", has_text="cancel").wait_for(timeout=WAIT)
    assert question.count() == 0
    shown.page.context.unroute(RESOLVE)
    click(shown, agree=True)  # the server of the tests knows no such file
    shown.element.locator(".status", has_text="404").wait_for(timeout=WAIT)
    assert shown.bars() == before
