"""Waiting for a page: Playwright's own way evaluates text there, which the policy forbids."""

from __future__ import annotations

import time
from typing import Any

from playwright.sync_api import Error

OPEN = """() => {
  for (const details of document.querySelectorAll("article details")) {
    details.removeAttribute("name"); // of one name only one would be open
    details.open = true;
  }
}"""


def until(
    page: Any, expression: str, arg: Any = None, timeout: float = 30_000, hurry: int = 0
) -> None:
    """Wait until a JavaScript expression, or function of ``arg``, is true; milliseconds.

    ``hurry``: by so much a page that was opened with a clock goes on before each look.
    """
    end = time.monotonic() + timeout / 1000
    while not _holds(page, expression, arg):
        assert time.monotonic() < end, f"not within {timeout:.0f} ms: {expression}"
        if hurry:
            page.clock.run_for(hurry)
        page.wait_for_timeout(5 if hurry else 20)


def _holds(page: Any, expression: str, arg: Any) -> bool:
    try:
        return bool(page.evaluate(expression, arg))
    except Error as error:
        if "context was destroyed" in str(error):  # the page goes elsewhere
            return False
        raise


def wake(page: Any, timeout: float = 60_000, folds: bool = True) -> int:
    """Open all folds, if asked, and bring all exhibits of a page to life; how many there are."""
    if folds:
        page.evaluate(OPEN)
    exhibits = page.locator(".g2-live")
    for i in range(exhibits.count()):
        exhibits.nth(i).scroll_into_view_if_needed()
        element = exhibits.nth(i).element_handle()
        until(page, "(e) => e.dataset.state === 'ready'", arg=element, timeout=timeout)
    return exhibits.count()
