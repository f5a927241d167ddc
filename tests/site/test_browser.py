"""The built pages in Chromium: light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from gpt2_site.chapters import find

pytestmark = pytest.mark.browser

WIDTHS = [1280, 390]

# Elements that stand out on the right and are not inside a box that scrolls.
OVERFLOWING = """() => {
  const width = document.documentElement.clientWidth;
  const boxed = (e) => {
    for (let p = e; p && p !== document.body; p = p.parentElement) {
      const style = getComputedStyle(p);
      if (p !== e && style.overflowX !== "visible") return true;
      if (style.position === "fixed") return true;
    }
    return false;
  };
  const out = [...document.querySelectorAll("body *")].filter(
    (e) => e.getBoundingClientRect().right > width + 1 && !boxed(e));
  return { page: document.documentElement.scrollWidth, width,
           elements: out.slice(0, 5).map((e) => `${e.tagName} ${e.className}`.slice(0, 80)) };
}"""

# What keeps readers out who see little, hear the page or use no mouse: all that axe knows.
AXE = Path(__file__).resolve().parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
OPEN = """for (const details of document.querySelectorAll("article details")) {
  details.removeAttribute("name"); // of one name only one would be open
  details.open = true;
}"""
PALE = Path(__file__).with_name("pale.js").read_text(encoding="utf-8")
BARRIERS = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  const where = (v) => v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join("; ");
  return violations.map((v) => `${v.id}: ${where(v)}`);
}"""


@pytest.fixture(params=["light", "dark"], scope="session")
def theme(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def tab(browser: Browser, theme: str) -> Iterator[Page]:
    # Reduced motion: nothing fades in, so colours are what they will be.
    context = browser.new_context(
        color_scheme=theme, reduced_motion="reduce", viewport={"width": 1280, "height": 900}
    )
    yield context.new_page()
    context.close()


@pytest.fixture
def heard(tab: Page, address: str) -> Iterator[list[str]]:
    """What goes wrong while the page is open: requests to others, failures, console errors."""
    heard: list[str] = []

    def on_request(request):
        if not request.url.startswith((address, "data:", "blob:")):
            heard.append(f"request to another host: {request.url}")

    def on_response(response):
        if response.status >= 400:
            heard.append(f"{response.status}: {response.url}")

    def on_console(message):
        if message.type in ("error", "warning"):
            heard.append(f"console {message.type}: {message.text}")

    def on_page_error(error):
        heard.append(f"script error: {error}")

    listeners = {
        "request": on_request,
        "response": on_response,
        "console": on_console,
        "pageerror": on_page_error,
    }
    for event, listener in listeners.items():
        tab.on(event, listener)
    yield heard
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)


def test_page_stands_alone_and_keeps_nobody_out(tab, heard, address, theme, page_name):
    tab.set_viewport_size({"width": WIDTHS[0], "height": 900})
    tab.goto(f"{address}/{page_name}.html", wait_until="load")
    assert tab.evaluate("document.documentElement.dataset.theme") == theme
    tab.evaluate(OPEN)
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 900})
        overflow = tab.evaluate(OVERFLOWING)
        assert overflow["page"] <= overflow["width"], f"at {width} px: {overflow}"
    tab.evaluate(AXE.read_text(encoding="utf-8"))
    assert tab.evaluate(BARRIERS) == []
    assert tab.evaluate(PALE)["pale"] == []
    assert heard == []


def test_pale_words_in_a_picture_are_found(tab, address):
    tab.goto(f"{address}/notebooks/{find('mlp').name}.html")
    tab.evaluate(OPEN)
    found = tab.evaluate(PALE)
    assert found["seen"] > 50 and found["pale"] == []
    tab.evaluate("document.querySelector('article svg text').style.fill = '#777'")
    assert len(tab.evaluate(PALE)["pale"]) == 1


def test_site_root_leads_to_the_front_page(tab, heard, address, page_names):
    tab.goto(f"{address}/", wait_until="load")
    tab.wait_for_url(f"{address}/{page_names[0]}.html")
    assert heard == []


def test_a_question_is_answered_by_keyboard_and_without_javascript(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/notebooks/practice/{find('layernorm').name}.html", wait_until="load")
    guess = page.locator("details.guess").first
    answer = guess.locator("p").first
    assert guess.is_visible() and not answer.is_visible()
    guess.locator("summary").focus()
    page.keyboard.press("Enter")
    assert answer.is_visible() and answer.inner_text().startswith(("Right", "No"))
    solution = page.get_by_text("Solution", exact=True).first
    assert solution.is_visible()
    code = page.locator("details:has(> summary:text-is('Solution')) pre").first
    assert not code.is_visible()
    context.close()
