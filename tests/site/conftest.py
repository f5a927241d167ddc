"""The site that `make book` built, for the tests beside this file."""

from __future__ import annotations

import gc
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, wraps
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Page

from benchmarks.chromium import served
from gpt2_site.chapters import chapters, pages, parts
from tests.conftest import kept
from tests.site.waiting import until
from tests.thorough import thorough

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / os.environ.get("SITE", "_build/html")

# Without JavaScript a page has no theme of its own and never runs its scripts.
ANSWERS = "(({ theme, scripts }) => !theme || !scripts)(document.documentElement.dataset)"


def pages_of_the_book() -> list[str]:
    """The pages in the order of _toc.yml, as "notebooks/03_crane"."""
    listed = [page for part in parts() for page in part["chapters"]]
    files = [file["file"] for page in listed for file in [page, *page.get("sections", [])]]
    return ["book/index", *files]


def in_both_themes() -> list[tuple[str, str]]:
    return [(page, theme) for page in pages_of_the_book() for theme in ("light", "dark")]


# What make test looks at: one page of each kind.
LOOKED_AT = {
    ("book/index", "light"),
    ("notebooks/practice/01_tokens", "dark"),
    ("notebooks/05_mask", "dark"),
    ("book/review_model", "dark"),
    ("book/model", "dark"),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if {"page_name", "theme"} <= set(metafunc.fixturenames):
        listed = [case if case in LOOKED_AT else thorough(*case) for case in in_both_themes()]
        metafunc.parametrize("page_name, theme", listed, scope="session")
    if "chapter" in metafunc.fixturenames:
        metafunc.parametrize("chapter", chapters(), ids=lambda chapter: chapter.name)
    if "told" in metafunc.fixturenames:  # a page of a chapter
        metafunc.parametrize("told", pages(), ids=lambda page: page.name)


@pytest.fixture(scope="session")
def page_names() -> list[str]:
    return pages_of_the_book()


@pytest.fixture(scope="session")
def site(missing) -> Path:
    if not (SITE / "index.html").is_file():
        missing("there is no site in _build/html: run `make book` first")
    return SITE


@cache
def parsed(path: Path) -> BeautifulSoup:
    page = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    gc.freeze()  # it stays: no later collection looks through its thousands of objects
    return page


@pytest.fixture(scope="session")
def soup(site: Path) -> Callable[[str], BeautifulSoup]:
    """``soup("notebooks/03_crane")``: a page, read as a file."""
    return lambda name: parsed(site / f"{name}.html")


@pytest.fixture(scope="session", autouse=True)
def pages_that_answer() -> Iterator[None]:
    """Navigation ends when the scripts have run, after the first paint; then the mouse moves."""

    def and_wait(navigate: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(navigate)
        def arrive(page: Page, *args: Any, **settings: Any) -> Any:
            answer = navigate(page, *args, **settings)
            until(page, ANSWERS)
            page.mouse.move(1, 1)
            return answer

        return arrive

    with pytest.MonkeyPatch.context() as patch:
        for name in ("goto", "reload", "go_back", "go_forward", "wait_for_url"):
            patch.setattr(Page, name, and_wait(getattr(Page, name)))
        yield


@pytest.fixture(scope="session", autouse=True)
def pages_without_a_store() -> Iterator[None]:
    """The service worker would answer before what a test puts in the network's place."""

    def blocking(make: Callable[..., Any]) -> Callable[..., Any]:
        return wraps(make)(lambda *args, **more: make(*args, **{"service_workers": "block"} | more))

    with pytest.MonkeyPatch.context() as patch:
        for name in ("new_context", "new_page"):
            patch.setattr(Browser, name, blocking(getattr(Browser, name)))
        yield


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    with served(site, kept=("/_static/",)) as address:
        yield address


# What a page can be given anew, and what it has otherwise.
VIEW: dict[str, Any] = {
    "viewport": {"width": 1280, "height": 720},
    "color_scheme": "light",
    "reduced_motion": "reduce",
}
STORED = "cookies,local_storage,indexeddb,cache_storage,file_systems,service_workers"


@dataclass
class Pages:
    """Pages that wait for the next test, each in a context that has the site's files by now.

    To open a page in a new context costs three times as much.
    """

    browser: Browser
    address: str
    waiting: dict[str, list[Page]] = field(default_factory=lambda: defaultdict(list))

    @contextmanager
    def taken(self) -> Iterator[Callable[..., Page]]:
        used: dict[str, list[Page]] = {}  # by what their context has
        errors: list[str] = []
        with ExitStack() as after:

            def heard(error: object) -> None:
                errors.append(str(error))

            def open_page(
                path: str, before: str = "", clock: bool = False, **settings: Any
            ) -> Page:
                view = {name: settings.pop(name, usual) for name, usual in VIEW.items()}
                kind = json.dumps([clock, settings], sort_keys=True)
                if kind in used:
                    page = used[kind][0].context.new_page()
                elif self.waiting[kind]:
                    page = self.waiting[kind].pop()
                else:
                    page = self.browser.new_context(**settings).new_page()
                    if clock:
                        page.clock.install()
                used.setdefault(kind, []).append(page)
                page.on("pageerror", heard)
                after.callback(page.remove_listener, "pageerror", heard)
                page.set_viewport_size(view.pop("viewport"))
                page.emulate_media(media="null", **view)
                if before:
                    after.enter_context(page.add_init_script(before))
                page.goto(f"{self.address}/{path}")
                return page

            yield open_page
        for kind, (page, *_) in used.items():
            self.put_back(kind, page)
        assert errors == []

    def put_back(self, kind: str, page: Page) -> None:
        """Keep a page and the files that its context has, and nothing that a test left."""
        context = page.context
        for other in context.pages:
            if other != page:
                other.close()
        if page.is_closed() or not page.url.startswith(self.address) or json.loads(kind)[0]:
            context.close()  # a clock keeps all that it has done for the next page
            return
        page.unroute_all()
        context.clear_permissions()
        page.mouse.move(0, 0)
        page.goto(f"{self.address}/robots.txt")  # all scripts end
        page.evaluate("sessionStorage.clear()")
        session = context.new_cdp_session(page)
        stored = {"origin": self.address, "storageTypes": STORED}
        session.send("Storage.clearDataForOrigin", stored)
        session.detach()
        self.waiting[kind].append(page)


@pytest.fixture(scope="module")
def kept_pages(browser: Browser, address: str) -> Pages:
    if "pages" not in kept:
        kept["pages"] = Pages(browser, address)
    return kept["pages"]


@pytest.fixture
def opened(kept_pages: Pages) -> Iterator[Callable[..., Page]]:
    """``opened(path)``: a page on which no script may fail. Like settings share a storage.

    With ``clock=True`` its timers and frames, not its animations, obey ``page.clock`` as well.
    """
    with kept_pages.taken() as open_page:
        yield open_page


@pytest.fixture(scope="module")
def left_open(kept_pages: Pages) -> Iterator[Callable[..., Page]]:
    """The same, for pages on which several tests look and leave nothing."""
    with kept_pages.taken() as open_page:
        yield open_page
