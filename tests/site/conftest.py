"""The site that `make book` built, for the tests beside this file."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, BrowserContext, Page

from benchmarks.chromium import served
from gpt2_site.chapters import chapters, pages, parts
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


def often(page: str) -> bool:
    """Whether make test looks at a page: of exercises and reviews, made in one way, at a few."""
    if page.startswith("book/review_"):
        return page.endswith("model")
    return "/practice/" not in page or page.endswith(("tokens", "heads", "cache", "thought"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if {"page_name", "theme"} <= set(metafunc.fixturenames):  # make test looks at half in the dark
        both = [(page, theme) for page in pages_of_the_book() for theme in ("light", "dark")]
        now = [often(page) and number % 4 in (0, 3) for number, (page, _) in enumerate(both)]
        listed = [case if soon else thorough(*case) for case, soon in zip(both, now)]
        metafunc.parametrize("page_name, theme", listed, scope="session")
    elif "page_name" in metafunc.fixturenames:
        listed = [page if often(page) else thorough(page) for page in pages_of_the_book()]
        metafunc.parametrize("page_name", listed, scope="session")
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
    """Navigation ends when a page's scripts have run: they come after its first paint."""

    def and_wait(navigate: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(navigate)
        def arrive(page: Page, *args: Any, **settings: Any) -> Any:
            answer = navigate(page, *args, **settings)
            until(page, ANSWERS)
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
    with served(site) as address:
        yield address


@contextmanager
def opener(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    contexts: dict[str, BrowserContext] = {}
    errors: list[str] = []

    def open_page(path: str, before: str = "", clock: bool = False, **settings: object) -> Page:
        if str(settings) not in contexts:
            contexts[str(settings)] = browser.new_context(**{"reduced_motion": "reduce"} | settings)
        page = contexts[str(settings)].new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        if clock:
            page.clock.install()
        if before:
            page.add_init_script(before)
        page.goto(f"{address}/{path}")
        return page

    yield open_page
    for context in contexts.values():
        context.close()
    assert errors == []


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    """``opened(path)``: a page on which no script may fail. Like settings share a storage.

    With ``clock=True`` its timers and frames, not its animations, obey ``page.clock`` as well.
    """
    with opener(browser, address) as open_page:
        yield open_page


@pytest.fixture(scope="module")
def left_open(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    """The same, for pages on which several tests look and leave nothing."""
    with opener(browser, address) as open_page:
        yield open_page
