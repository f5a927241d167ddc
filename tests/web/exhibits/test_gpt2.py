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
    assert question.get_by_role("button").count() == 2  # this site has no GPT-2
    answer = question.get_by_role("button", name="fetch it" if agree else "no")
    assert question.get_by_role("button", name="fetch it").evaluate(
        "button => button === document.activeElement"
    )
    answer.click()
    return asked


def fetch(shown) -> None:
    """GPT-2 comes from this site."""
    publish(shown.page)
    shown.page.context.route(
        RESOLVE, lambda route: route.fulfill(path=FILES[route.request.url.rsplit("/", 1)[-1]])
    )
    click(shown, agree=True)
    shown.element.locator(".status", has_text="GPT-2 answers now").wait_for(timeout=WAIT)


@pytest.mark.thorough
def test_it_is_fetched_if_the_reader_agrees_and_stored_until_it_is_deleted(exhibit, pages):
    shown = exhibit("heads", text=TEXT)
    before = shown.bars()
    question = click(shown, agree=False)
    assert question.startswith("GPT-2 (124M) by OpenAI: 548 MB from https://huggingface.co/")
    assert question.endswith("Fetch it?") and "chapter 21" not in question
    assert shown.element.get_by_role("group", name="GPT-2", exact=True).count() == 0
    assert shown.bars() == before and pages.stray() == []  # nothing was asked of others
    assert shown.page.evaluate(STORED) == [[], None]

    fetch(shown)
    assert shown.bars() == before
    [[stored], kept] = shown.page.evaluate(STORED)
    assert (stored["name"], stored["complete"]) == ("gpt2", True)
    assert kept == {"stored": "gpt2", "backend": "auto"}  # half a gigabyte does not lie there twice

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


@pytest.mark.thorough
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


READ = """async () => {
  const [{ startEngine }, { list, open }, { model }] = await Promise.all(
    ["page", "storage", "exhibits/page_model"].map((name) => import(`/web/${name}.mjs`)));
  const files = { ...(await open("gpt2")), backend: "wasm-int4", stored: "gpt2" };
  const loaded = await startEngine().load("again", files);
  const [{ rounded }] = await list();
  return [loaded.rounded, rounded["wasm-int4"] / files.weights.size, model.backend];
}"""
SPOIL = """async (start) => {
  const root = await (await navigator.storage.getDirectory()).getDirectoryHandle("gpt2-edu");
  const folder = await root.getDirectoryHandle("gpt2");
  const file = await folder.getFileHandle("wasm-int4.safetensors");
  const writable = await file.createWritable({ keepExistingData: true });
  await (start === null ? writable.truncate(5000) : writable.write(new Uint8Array(start)));
  await writable.close();
}"""


def on_its_page(exhibit, kind: str):
    """The panel that chooses the arithmetic, with GPT-2."""
    shown = exhibit("flow", text=TEXT, tensors="folded")
    shown.element.locator("summary", has_text="Model and arithmetic").click()
    shown.element.locator(".engine", has_text=f"GPT-2 runs in WebAssembly{kind}; ").wait_for()
    return shown


@pytest.mark.thorough
def test_rounded_weights_are_stored_so_and_a_later_visit_reads_these(exhibit):
    fetch(exhibit("heads", text=TEXT))
    shown = on_its_page(exhibit, "")
    panel = shown.element.locator(".engine")
    panel.locator("select").select_option("wasm-int4")
    panel.get_by_text("GPT-2 runs in WebAssembly, int4 weights; ").wait_for()
    assert "Its weights take 0.5 MB of memory. Each weight is one of 15 " in panel.inner_text()
    panel.get_by_text("gpt2: 1.5 MB and 0.5 MB as int4 in this browser").wait_for()

    shown = exhibit("heads", text=TEXT)
    chosen = shown.bars()
    rounded, share, backend = shown.page.evaluate(READ)
    assert (rounded, backend) == (True, "wasm-int4") and share < 0.4
    for spoiled in ([0] * 8, [9] * 8, None):  # not finished; other bytes; cut off
        shown.page.evaluate(SPOIL, spoiled)
        assert shown.page.evaluate(READ)[0] is False
        assert shown.page.evaluate(READ)[0] is True, "it was stored again"
        shown.page.evaluate(SPOIL, spoiled)
        shown = exhibit("heads", text=TEXT)
        assert shown.bars() == chosen

    shown = on_its_page(exhibit, ", int4 weights")
    shown.element.locator(".engine select").select_option("wasm")
    shown.element.locator(".engine", has_text="GPT-2 runs in WebAssembly; ").wait_for()
    shown.element.get_by_role("button", name="delete gpt2").click()
    shown.element.locator(".stored li").wait_for(state="detached")


@pytest.mark.thorough
def test_what_earlier_versions_stored_still_answers(exhibit):
    shown = exhibit("heads", text=TEXT)
    fetch(shown)
    shown.page.evaluate(
        """async () => {
          const { inStore } = await import("/web/exhibits/own.mjs");
          await inStore("readwrite", (store) => store.put({ stored: true }, "own"));
        }"""
    )
    shown = exhibit("heads", text=TEXT)
    assert shown.page.evaluate(READ)[2] == "auto"
    assert shown.element.get_by_role("button", name="the book's model").is_visible()
