"""An exhibit alone on a page, driven in Chromium, and Python's numbers for the same input."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import torch
from playwright.sync_api import Browser, BrowserContext, Locator, Page
from torch import Tensor

import gpt2_edu
from benchmarks.chromium import served
from gpt2_edu import GPT2, load_tokenizer, trace
from gpt2_edu.generation import next_probabilities
from gpt2_edu.web import files_script

PACKAGE = Path(gpt2_edu.__file__).parent
WAIT = 30_000  # milliseconds, for what takes long only on a busy machine
ADDRESS = re.compile(r".*/live\.html(\?.*)?$")
PAGE = """<!doctype html>
<html lang="en" data-theme="{theme}">
<head><meta charset="utf-8"><title>An exhibit</title>
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="/exhibits/static/exhibits.css">
<link rel="stylesheet" href="/exhibits/static/live.css">
<style>html[data-theme="dark"] {{ background: #14181d; color: #e8ecf0; }}</style>
</head>
<body><main class="bd-article"><h1>An exhibit</h1>
<gpt2-{kind} class="g2-live" data-settings="{settings}"><p>printed</p></gpt2-{kind}>
</main>
<script type="module" src="/web/exhibits/all.mjs"></script></body></html>
"""


@dataclass
class Shown:
    """An exhibit on its page."""

    page: Page
    element: Locator

    def ready(self) -> Shown:
        """Wait until it shows what the state asks for."""
        self.page.evaluate("() => new Promise((done) => setTimeout(done))")  # the change is told
        self.page.wait_for_function(
            "(element) => ['ready', 'stale', 'failed'].includes(element.dataset.state)",
            arg=self.element.element_handle(),
            timeout=WAIT,
        )
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
        """What the address holds, after the pause with which it is written."""
        self.page.evaluate("() => new Promise((done) => setTimeout(done, 400))")
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
        self.ready().element.locator(f"{where} tr").nth(1).wait_for()
        rows = self.element.locator(f"{where} tr").all()[1:]
        return [row.locator("td").all_inner_texts() for row in rows]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    made = {f"/files/{name}.js": files_script(name) for name in ("crane", "gpt2")}
    with served(PACKAGE, made) as address:
        yield address


@pytest.fixture
def exhibit(browser: Browser, address: str) -> Iterator[Callable[..., Shown]]:
    """``exhibit(kind, **settings)`` shows one, awake and ready.

    ``query`` goes into the address as a dictionary; ``context`` has Playwright's settings of a
    browser: viewport, has_touch, reduced_motion, java_script_enabled. Nothing may go wrong on the
    page, and nothing may be asked of others.
    """
    contexts: list[BrowserContext] = []
    errors: list[str] = []
    asked: list[str] = []

    def show(
        kind: str,
        *,
        query: dict[str, str] | None = None,
        theme: str = "light",
        context: dict[str, Any] | None = None,
        **settings: Any,
    ) -> Shown:
        new = browser.new_context(**{"viewport": {"width": 1000, "height": 900}, **(context or {})})
        contexts.append(new)
        page = new.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        html = PAGE.format(kind=kind, theme=theme, settings=escape(json.dumps(settings)))
        page.route(ADDRESS, lambda route: route.fulfill(body=html, content_type="text/html"))
        page.goto(f"{address}/live.html" + (f"?{urlencode(query)}" if query else ""))
        shown = Shown(page, page.locator(f"gpt2-{kind}"))
        if new and (context or {}).get("java_script_enabled", True):
            page.wait_for_selector(f"gpt2-{kind}[data-state]", timeout=WAIT)
            shown.ready()
        return shown

    yield show
    for one in contexts:
        one.close()
    assert errors == []
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []


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
