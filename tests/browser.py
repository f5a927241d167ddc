"""Chromium, for tests that drive it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.chromium import FLAGS, NAMES, program


@contextmanager
def chromium_starter(missing: Callable[[str], Any]) -> Iterator[Callable[..., Any]]:
    """What starts Chromium, with more flags: the one named by CHROMIUM, or the first on PATH."""
    from playwright.sync_api import sync_playwright

    path = program()
    if path is None:
        missing(f"no Chromium: none of {', '.join(NAMES)} is on PATH, and CHROMIUM names none")
    with sync_playwright() as playwright:
        yield lambda *more: playwright.chromium.launch(executable_path=path, args=[*FLAGS, *more])
