"""Pages that were opened open again without a network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext

from benchmarks.chromium import served
from tests.site.conftest import ROOT
from tests.site.waiting import until

WAIT = 60_000  # milliseconds, on a busy machine
FRONT, CHAPTER = "book/index.html", "notebooks/06_heads.html"
ANSWERED = "document.querySelector('.g2-live').dataset.state === 'ready'"
CONTROLLED = "!!navigator.serviceWorker.controller"
STORED = """async (wanted) => {
  const stores = await Promise.all((await caches.keys()).map((name) => caches.open(name)));
  const requests = (await Promise.all(stores.map((store) => store.keys()))).flat();
  const stored = requests.map(({ url }) => url.slice(location.origin.length + 1));
  return wanted ? wanted.every((one) => stored.includes(one)) : stored.sort();
}"""


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Of a reader; other tests see what pages ask the network for."""
    context = browser.new_context(service_workers="allow", reduced_motion="reduce")
    yield context
    context.close()


@pytest.mark.thorough
@pytest.mark.browser
def test_opened_pages_and_their_exhibits_work_without_a_network(context, site):
    page = context.new_page()
    with served(site) as address:
        page.goto(f"{address}/{FRONT}")
        until(page, CONTROLLED, timeout=WAIT)
        until(page, ANSWERED, timeout=WAIT)
        page.goto(f"{address}/{CHAPTER}?text=In+the+marsh%2C+the+crane#gpt2-heads")
        until(page, ANSWERED, timeout=WAIT)
        page.get_by_role("button", name="In the city, the crane").first.click()
        wanted = [
            FRONT,
            CHAPTER,
            *(f"_static/{name}.js" for name in ("flow", "live", "files/crane")),
        ]
        until(page, STORED, arg=wanted, timeout=WAIT)
    context.set_offline(True)  # and the server is gone
    page.reload()
    until(page, ANSWERED, timeout=WAIT)
    page.goto(f"{address}/{FRONT}")
    until(page, ANSWERED, timeout=WAIT)
    page.locator("gpt2-flow input[type=text]").fill("By the river, the crane")
    until(page, "document.querySelector('gpt2-flow .flow-frame').textContent.includes('river')")
    page.goto(f"{address}/notebooks/07_mlp.html")
    assert page.get_by_role("heading").inner_text() == "This page is not stored"
    page.get_by_role("link").click()
    assert page.url == f"{address}/{FRONT}"


PAGE = """<!doctype html><title>{}</title><script>
navigator.serviceWorker.register("/sw.js")</script>"""


def worker(version: str) -> str:
    return f'gpt2Site = "{version}"; importScripts("_static/offline.js");'


@pytest.mark.thorough
@pytest.mark.browser
def test_a_new_version_comes_first_and_replaces_the_old_store(context, tmp_path):
    (tmp_path / "_static").mkdir()
    script = ROOT / "gpt2_edu" / "exhibits" / "static" / "offline.js"
    (tmp_path / "_static" / "offline.js").write_text(script.read_text("utf-8"), "utf-8")
    made = {"/sw.js": worker("1"), "/page.html": PAGE.format("old"), "/model.bin": "weights"}
    page = context.new_page()
    with served(tmp_path, made) as address:
        page.goto(f"{address}/page.html")
        until(page, CONTROLLED)
        page.evaluate("fetch('/model.bin').then((answer) => answer.text())")
        for query in ("?text=a", "?text=b", ""):  # one page, whatever a reader has set
            page.goto(f"{address}/page.html{query}")
        until(page, STORED, arg=["page.html"])
        assert page.evaluate(STORED) == ["page.html"]
        made["/page.html"] = PAGE.format("new")
        page.reload()
        assert page.title() == "new"
        page.evaluate("caches.open('of another book')")
        made["/sw.js"] = worker("2")
        page.reload()
        until(page, "caches.keys().then((names) => names.length === 1)")
        assert page.evaluate("caches.keys()") == ["of another book"]
        page.reload()
        until(page, STORED, arg=["page.html"])
        names = page.evaluate("caches.keys()")
        assert sorted(names) == [f"gpt2-edu {address}/ 2", "of another book"]


@pytest.mark.browser
def test_nothing_is_registered_on_a_page_from_a_disk(context, site):
    page = context.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((site / FRONT).as_uri())
    page.wait_for_timeout(500)
    assert said == []
