"""An exhibit alone on a page, driven in Chromium, and Python's numbers for the same input."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page
from torch import Tensor

import gpt2_edu
from benchmarks.chromium import served
from gpt2_edu import GPT2, load_tokenizer, trace
from gpt2_edu.generation import next_probabilities
from gpt2_edu.web import files_script
from tests.browser import chromium_starter

PACKAGE = Path(gpt2_edu.__file__).parent
WAIT = 30_000  # milliseconds, for what takes long only on a busy machine
PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>An exhibit</title>
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="/exhibits/static/exhibits.css">
<link rel="stylesheet" href="/exhibits/static/live.css">
</head>
<body><main class="bd-article"><h1>An exhibit</h1>
<gpt2-{kind} class="g2-live" data-settings="{settings}"><p>printed</p></gpt2-{kind}>
</main>
<script type="module" src="/web/exhibits/all.mjs"></script></body></html>
"""


# The change is told after the present task; then the exhibit answers.
READY = """async (element, wait) => {
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  await pause(0);
  for (const begin = performance.now(); performance.now() - begin < wait; await pause(5)) {
    if (["ready", "stale", "failed"].includes(element.dataset.state)) return;
  }
  throw new Error(`it is still ${element.dataset.state}`);
}"""


@dataclass
class Shown:
    """An exhibit on its page."""

    page: Page
    element: Locator

    def ready(self) -> Shown:
        """Wait until it shows what the state asks for."""
        self.element.evaluate(READY, WAIT)
        return self

    @property
    def state(self) -> str:
        return self.element.get_attribute("data-state") or ""

    @property
    def sentence(self) -> str:
        return self.ready().element.locator(".sentence").inner_text()

    @property
    def status(self) -> str:
        return self.ready().element.locator(".status").inner_text()

    @property
    def query(self) -> str:
        """What the address holds, once it is written."""
        self.ready().page.evaluate(
            "async () => (await import('/web/exhibits/state.mjs')).state.write()"
        )
        return self.page.evaluate("location.search")

    def bars(self) -> dict[str, float]:
        self.ready()
        bars = self.element.locator(".bar")
        shown = bars.evaluate_all(
            "bars => bars.filter((b) => b.style.visibility !== 'hidden')"
            ".map((b) => [b.querySelector('b').textContent, b.querySelector('i').textContent])"
        )
        return {name: float(share.lstrip("<")) for name, share in shown}

    def tokens(self) -> list[str]:
        return self.ready().element.locator(".strip b").all_inner_texts()

    def cells(self, where: str = ".board") -> list[list[str]]:
        """The texts of a table's cells, without its labels."""
        rows = self.ready().element.locator(f"{where} tr")
        rows.nth(1).wait_for()
        cells = "row => [...row.querySelectorAll('td')].map((cell) => cell.innerText)"
        return rows.evaluate_all(f"rows => rows.map({cells})")[1:]


@dataclass
class Pages:
    """A page for each kind of browser, which one exhibit after the other is shown on.

    A page in a new context would load all modules again, and cost three times as long.
    """

    browser: Browser
    address: str
    made: dict[str, str]  # what the server has beside the package's files
    known: dict[str, Page] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def of(self, context: dict[str, Any]) -> Page:
        """The page in a browser with these settings of Playwright."""
        kind = json.dumps(context, sort_keys=True)
        if kind not in self.known:
            context = {"viewport": {"width": 1000, "height": 900}, **context}
            page = self.known[kind] = self.browser.new_context(**context).new_page()
            page.on("pageerror", lambda error: self.errors.append(str(error)))
            page.on("request", lambda request: self.asked.append(request.url))
        return self.known[kind]

    def show(self, page: Page, html: str, query: dict[str, str]) -> None:
        self.made["/live.html"] = html
        page.mouse.move(0, 0)
        page.goto(f"{self.address}/live.html" + (f"?{urlencode(query)}" if query else ""))

    def clear(self) -> None:
        """Forget what happened, and what the pages have stored."""
        self.errors.clear()
        self.asked.clear()
        for page in self.known.values():
            page.unroute_all()
            session = page.context.new_cdp_session(page)
            stored = {"origin": self.address, "storageTypes": "all"}
            session.send("Storage.clearDataForOrigin", stored)
            session.detach()


@pytest.fixture(scope="package")
def pages(missing: Callable[[str], Any]) -> Iterator[Pages]:
    made = {f"/files/{name}.js": files_script(name) for name in ("crane", "gpt2")}
    with chromium_starter(missing) as launch, served(PACKAGE, made) as address:
        yield Pages(launch(), address, made)


@pytest.fixture
def exhibit(pages: Pages) -> Iterator[Callable[..., Shown]]:
    """``exhibit(kind, **settings)`` shows one, awake and ready, in place of the one before.

    ``query`` goes into the address as a dictionary; ``context`` has Playwright's settings of a
    browser: viewport, has_touch, reduced_motion. Nothing may go wrong on the page, and nothing may
    be asked of others.
    """

    def show(
        kind: str,
        *,
        query: dict[str, str] | None = None,
        context: dict[str, Any] | None = None,
        **settings: Any,
    ) -> Shown:
        page = pages.of(context or {})
        html = PAGE.format(kind=kind, settings=escape(json.dumps(settings)))
        pages.show(page, html, query or {})
        page.wait_for_selector(f"gpt2-{kind}[data-state]", timeout=WAIT)
        return Shown(page, page.locator(f"gpt2-{kind}")).ready()

    yield show
    own = (pages.address, "data:", "blob:")
    found = pages.errors[:], [url for url in pages.asked if not url.startswith(own)]
    pages.clear()
    assert found == ([], [])


@dataclass
class Crane:
    """The model that comes with the page, in Python."""

    model: GPT2

    def ids(self, text: str) -> list[int]:
        encoding = load_tokenizer("crane")
        return [encoding.eot_token, *encoding.encode_ordinary(text)]

    def show(self, ids: list[int]) -> list[str]:
        encoding = load_tokenizer("crane")
        names = [encoding.decode([i]).replace(" ", "␣").replace("\n", "⏎") for i in ids]
        return ["⟨end⟩" if name == "<|endoftext|>" else name for name in names]

    def trace(self, text: str, edits: dict[str, Any] | None = None) -> Any:
        """The tape of one pass."""
        with trace(self.model, edits=edits or {}) as tape, torch.no_grad():
            self.model(torch.tensor([self.ids(text)]))
        return tape

    def next(self, logits: Tensor, n: int = 6) -> dict[str, float]:
        """The likeliest tokens after the last one, from logits (1, T, V), rounded as pages do."""
        shares, order = next_probabilities(logits[:, -1])[0].sort(descending=True)
        names = self.show(order[:n].tolist())
        return dict(zip(names, [round(s, 3) for s in shares[:n].tolist()], strict=True))


@pytest.fixture(scope="session")
def crane() -> Crane:
    return Crane(GPT2.from_pretrained("crane").eval())
