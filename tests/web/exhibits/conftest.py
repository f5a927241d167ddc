"""An exhibit alone on a page, driven in Chromium, and Python's numbers for the same input."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import torch
from playwright.sync_api import Browser, CDPSession, Locator, Page
from torch import Tensor

from benchmarks.chromium import served, starter
from gpt2_edu import GPT2, load_tokenizer, trace
from gpt2_edu.sampling import next_probabilities
from gpt2_edu.web import files_script
from gpt2_site import theme
from gpt2_site.extra_files import FILES
from tests.node import node

ROOT = Path(__file__).resolve().parents[3]
WAIT = 30_000  # milliseconds, for what takes long only on a busy machine
PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>An exhibit</title>
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="/gpt2_edu/exhibits/static/all.css">
</head>
<body><article><h1>An exhibit</h1>
<gpt2-{kind} class="g2-live" data-settings="{settings}"><p>printed</p></gpt2-{kind}>
</article>
<script type="module" src="/web/{folder}/all.mjs"></script></body></html>
"""


STYLES = ("exhibits", "base", "live", *theme.OWN)
MODULES = ROOT / "web" / "node_modules"
# Modules that keep their address: what a page loads, what workers run, what the tests import.
BUNDLED = (
    *(f"{folder}/all" for folder in ("exhibits", *theme.OWN)),
    *("exhibits/broken", "exhibits/own", "exhibits/page_model", "exhibits/state"),
    *(
        "exhibits/published",
        "hub",
        "learn/start",
        "page",
        "runs/worker",
        "runs/workers",
        "scale/world",
        "storage",
        "worker",
    ),
)


def modules() -> dict[str, str]:
    """The modules of web/ in few files by their paths: one by one, a page asks for a hundred."""
    bundle = Path(__file__).parents[1] / "bundle.mjs"
    done = subprocess.run(
        [node(), bundle, *BUNDLED], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# What a page can be given anew. A tenth of the frames are painted where animations run faster.
VIEW: dict[str, Any] = {
    "viewport": {"width": 1000, "height": 900},
    "reduced_motion": "no-preference",
    "color_scheme": "light",
    "speed": 10,
}
STORED = "cookies,local_storage,indexeddb,cache_storage,file_systems,service_workers"
Point = tuple[float, float]

# The change is told after the present task; then the exhibit answers.
READY = """async (element, wait) => {
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  await pause(0);
  for (const begin = performance.now(); performance.now() - begin < wait; await pause(5)) {
    if (["ready", "stale", "failed"].includes(element.dataset.state)) return;
  }
  throw new Error(`it is still ${element.dataset.state}`);
}"""


# Once a page has its modules.
AWAKE = """async ([name, wait]) => {
  for (const begin = performance.now(); performance.now() - begin < wait; ) {
    const { state } = document.querySelector(name).dataset;
    if (["ready", "stale", "failed"].includes(state)) return state;
    await new Promise((done) => setTimeout(done, 5));
  }
  return "not awake";
}"""


# With its table shown.
STANDS = """async (element, wait) => {
  const fold = element.querySelector("details.as-table");
  if (!fold.open) fold.querySelector("summary").click();
  const begin = performance.now();
  while (!fold.querySelector("caption")?.checkVisibility()) {
    if (performance.now() - begin > wait) throw new Error("there is no table");
    await new Promise((done) => setTimeout(done, 5));
  }
  return [
    element.dataset.state,
    element.querySelectorAll("img, b b").length,
    element.innerText,
    document.documentElement.scrollWidth <= innerWidth,
  ];
}"""


REST = """(element) => Promise.all(
  element.getAnimations({ subtree: true })
    // others follow the reader's scrolling, or never end
    .filter((one) => one.timeline === document.timeline)
    .filter((one) => one.effect.getComputedTiming().endTime < Infinity)
    .map((one) => one.finished.catch(() => {}))
).then(() => {})"""


@dataclass
class Shown:
    """An exhibit on its page."""

    page: Page
    element: Locator

    def ready(self) -> Shown:
        """Wait until it shows what the state asks for."""
        self.element.evaluate(READY, WAIT)
        return self

    def rest(self) -> Shown:
        """Wait until nothing moves."""
        self.ready().element.evaluate(REST)
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
        return self.ready().page.evaluate(
            "async () => {"
            " (await import('/web/exhibits/state.mjs')).state.write(); return location.search; }"
        )

    def set(self, **values: Any) -> Shown:
        """Set parts of the state, as an address may ask for them."""
        self.element.evaluate(
            "async (_, values) => (await import('/web/exhibits/state.mjs')).state.set(values)",
            values,
        )
        return self.ready()

    def slide(self, name: str, value: float) -> Shown:
        """Move a slider to a number."""
        self.element.get_by_role("slider", name=name).evaluate(
            "(e, value) => { e.value = value; e.dispatchEvent(new Event('input')); }", value
        )
        return self.ready()

    def drag(self, start: Point, end: Point, touch: bool = False) -> Shown:
        """From one place of the screen to another, by mouse or with a finger."""
        (x, y), (to_x, to_y) = start, end
        way = [(x + share * (to_x - x), y + share * (to_y - y)) for share in (0.2, 0.5, 1)]
        if touch:
            client = self.page.context.new_cdp_session(self.page)

            def finger(event: str, *places: Point) -> None:
                points = [{"x": x, "y": y} for x, y in places]
                client.send("Input.dispatchTouchEvent", {"type": event, "touchPoints": points})

            finger("touchStart", start)
            for place in way:
                finger("touchMove", place)
            self.page.wait_for_timeout(100)  # at rest: a fling would swallow the next tap
            finger("touchEnd")
        else:
            mouse = self.page.mouse
            mouse.move(*start)
            mouse.down()
            for place in way:
                mouse.move(*place)
            mouse.up()
        return self.ready()

    def tab_to(self, selector: str) -> None:
        """The Tab key until the focus is on such an element."""
        for _ in range(40):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("where => document.activeElement.matches(where)", selector):
                return
        raise AssertionError(f"the Tab key does not lead to {selector}")

    def press(self, *keys: str) -> Shown:
        """Some keys, one after the other; the exhibit has answered each."""
        for key in keys:
            self.page.keyboard.press(key)
            self.ready()
        return self

    def stands(self, tokens: int | None = None) -> None:
        """Whatever was asked of it: it answers, text stays text, and there are few tokens."""
        state, stray, text, fits = self.ready().element.evaluate(STANDS, WAIT)
        assert (state, stray) == ("ready", 0)
        assert not re.search("NaN|undefined|Infinity", text)
        assert fits
        if tokens is not None:
            assert 0 < len(self.tokens()) <= tokens

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

    def table(self) -> dict[str, list[str]]:
        """What "show as table" shows: the cells of each row by its name."""
        fold = self.ready().element.locator("details.as-table")
        if fold.get_attribute("open") is None:
            fold.locator("summary").click()
        fold.locator("caption").wait_for()
        cells = "row => [...row.children].map((cell) => cell.innerText)"
        rows = fold.locator("tr:has(th[scope=row])").evaluate_all(f"rows => rows.map({cells})")
        return {name: cells for name, *cells in rows}


@dataclass
class Pages:
    """A page for each kind of browser, which one exhibit after the other is shown on.

    A page in a new context would load all modules again, and cost three times as long.
    """

    browser: Browser
    address: str
    made: dict[str, str]  # what the server has beside the package's files
    known: dict[str, Page] = field(default_factory=dict)
    timelines: dict[Page, CDPSession] = field(default_factory=dict)
    views: dict[Page, dict[str, Any]] = field(default_factory=dict)  # what they have of VIEW
    used: set[Page] = field(default_factory=set)  # by the present test
    errors: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def of(self, context: dict[str, Any]) -> Page:
        """The page in a browser with these settings of Playwright."""
        fixed = {name: value for name, value in context.items() if name not in VIEW}
        kind = json.dumps(fixed, sort_keys=True)
        if kind not in self.known:
            clock = fixed.pop("clock", False)
            page = self.known[kind] = self.browser.new_context(**fixed).new_page()
            if clock:
                page.clock.install()
            page.on("pageerror", lambda error: self.errors.append(str(error)))
            page.on("request", lambda request: self.asked.append(request.url))
            self.timelines[page] = page.context.new_cdp_session(page)
            self.timelines[page].send("Animation.enable")
        page = self.known[kind]
        self.used.add(page)
        view = {name: context.get(name, usual) for name, usual in VIEW.items()}
        if view != self.views.get(page):
            motion, scheme = view["reduced_motion"], view["color_scheme"]
            page.set_viewport_size(view["viewport"])
            page.emulate_media(reduced_motion=motion, color_scheme=scheme)
            self.timelines[page].send("Animation.setPlaybackRate", {"playbackRate": view["speed"]})
            self.views[page] = view
        return page

    def put(self, kind: str, settings: dict[str, Any], query: dict[str, str] | None = None) -> str:
        """The address of a page with this exhibit alone."""
        self.made["/live.html"] = PAGE.format(
            kind=kind,
            folder=kind if kind in theme.OWN else "exhibits",
            settings=escape(json.dumps(settings)),
        )
        return f"{self.address}/live.html" + (f"?{urlencode(query)}" if query else "")

    def stray(self) -> list[str]:
        """What was asked of others, and modules beside the bundle, which has them already."""
        own = (self.address, "data:", "blob:")
        paths = {url: url.removeprefix(self.address) for url in self.asked}
        beside = [url for url in paths if paths[url].startswith("/web/")]
        return [
            *(url for url in paths if not url.startswith(own)),
            *(url for url in beside if paths[url] not in self.made),
        ]

    def clear(self) -> None:
        """Forget what happened, and what the pages have stored, but not the modules."""
        self.errors.clear()
        self.asked.clear()
        while self.used:
            page = self.used.pop()
            page.unroute_all()
            session = page.context.new_cdp_session(page)
            stored = {"origin": self.address, "storageTypes": STORED}
            session.send("Storage.clearDataForOrigin", stored)
            session.detach()


@pytest.fixture(scope="package")
def pages(missing: Callable[[str], Any]) -> Iterator[Pages]:
    made = modules() | {f"/files/{name}.js": files_script(name) for name in FILES}
    static = ROOT / "gpt2_edu" / "exhibits" / "static"
    styles = [(static / f"{name}.css").read_text(encoding="utf-8") for name in STYLES]
    made["/gpt2_edu/exhibits/static/all.css"] = "\n".join(styles)
    kept = ("/web/", "/files/", "/gpt2_edu/")
    with starter(missing) as launch, served(ROOT, made, kept) as address:
        yield Pages(launch(), address, made)


@pytest.fixture
def exhibit(pages: Pages) -> Iterator[Callable[..., Shown]]:
    """``exhibit(kind, **settings)`` shows one, awake and ready, in place of the one before.

    ``query`` goes into the address as a dictionary; ``context`` has Playwright's settings of a
    browser: viewport, has_touch, reduced_motion; with ``"clock": True`` timers and frames obey
    ``page.clock``, and with ``"speed": 1`` animations take their time. Nothing may go wrong on the
    page, and nothing may be asked of others.
    """

    def show(
        kind: str,
        *,
        query: dict[str, str] | None = None,
        context: dict[str, Any] | None = None,
        **settings: Any,
    ) -> Shown:
        page = pages.of(context or {})
        page.mouse.move(0, 0)
        page.goto(pages.put(kind, settings, query))
        shown = Shown(page, page.locator(f"gpt2-{kind}"))
        state = page.evaluate(AWAKE, [f"gpt2-{kind}", WAIT])
        assert state == "ready", shown.element.inner_text()
        return shown

    yield show
    found = pages.errors[:], pages.stray()
    pages.clear()
    assert found == ([], [])


@pytest.fixture
def still(exhibit: Callable[..., Shown]) -> Callable[..., Shown]:
    """The same for a reader who wants no motion: nothing is painted in between."""

    def show(kind: str, *, context: dict[str, Any] | None = None, **more: Any) -> Shown:
        return exhibit(kind, context={"reduced_motion": "reduce"} | (context or {}), **more)

    return show


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

    def unmasked(self) -> dict[str, Any]:
        """Edits that put the scores as they were before the mask in the masked ones' place."""
        edits: dict[str, Any] = {}
        for n in range(self.model.config.n_layer):
            path = f"transformer.h.{n}.attn."
            kept: list[Any] = []
            edits[f"{path}scores"] = lambda scores, kept=kept: kept.append(scores.clone()) or scores
            edits[f"{path}masked_scores"] = lambda _, kept=kept: kept.pop()
        return edits

    def next(self, logits: Tensor, n: int = 6) -> dict[str, float]:
        """The likeliest tokens after the last one, from logits (1, T, V), rounded as pages do."""
        shares, order = next_probabilities(logits[:, -1])[0].sort(descending=True)
        names = self.show(order[:n].tolist())
        return dict(zip(names, [round(s, 3) for s in shares[:n].tolist()], strict=True))


@pytest.fixture(scope="session")
def crane() -> Crane:
    return Crane(GPT2.from_pretrained("crane").eval())
