"""The built pages in Chromium: light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from gpt2_site.chapters import find
from tests.site.test_exhibits import ON_A_PHONE, SHIFTS, come
from tests.site.waiting import OPEN, until, wake

pytestmark = pytest.mark.browser

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
BARRIERS = """async () => {
  const grounds = new Map(); // all that is drawn behind an element
  const ground = (e) => {
    if (!e) return "";
    if (!grounds.has(e)) {
      const { position, backgroundColor, backgroundImage, opacity } = getComputedStyle(e);
      const own = `${backgroundColor} ${backgroundImage} ${opacity}`;
      const laid = ["absolute", "fixed", "sticky"].includes(position); // over whatever there is
      grounds.set(e, `${ground(e.parentElement)}|${laid ? grounds.size : ""}|${own}`
        .replace(/\\|\\|rgba\\(0, 0, 0, 0\\) none 1$/, ""));
    }
    return grounds.get(e);
  };
  const look = (e) => {
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(e);
    return [ground(e), color, fontSize, fontWeight, textShadow].join();
  };
  const told = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  const oneOfEach = () => {
    const all = [...document.body.querySelectorAll("*")];
    const seen = all.filter((e) => told(e) && e.checkVisibility());
    return [...new Map(seen.map((e) => [look(e), e])).values()];
  };
  // Of code, pictures and formulas rules need what has a look, a name or a role, and the words.
  const meant = /^(role|aria-.*|tabindex|id|title|data-looked-at)$/;
  const thin = () => {
    const fits = (e) => e.scrollWidth <= e.clientWidth;
    const sets = [...document.querySelectorAll(".katex-html:not(:has([data-looked-at]))")]
      .filter((e) => fits(e.closest(".katex-display") ?? e));
    const rooms = sets.map((e) => [e.offsetWidth, e.offsetHeight].map((side) => `${side}px`));
    sets.forEach((e, i) => {
      const [width, height] = rooms[i];
      Object.assign(e.style, { display: "inline-block", width, height });
      e.replaceChildren();
    });
    for (const e of document.querySelectorAll(".katex math")) e.replaceChildren(e.textContent);
    const drawn = "svg *:not(title, a, foreignObject, foreignObject *)";
    for (const e of document.querySelectorAll(`pre span, ${drawn}`)) {
      if ([...e.attributes].some(({ name }) => meant.test(name))) continue;
      e.querySelector(":scope > title")?.remove();
      e.replaceWith(...e.childNodes);
    }
    document.body.normalize();
  };
  // On every element these rules take longer than all others together.
  axe.configure({ noHtml: true, rules: [
    { id: "color-contrast", selector: "[data-looked-at]" },
    { id: "avoid-inline-spacing", selector: "[style*=important]" },
  ] });
  for (const e of oneOfEach()) e.dataset.lookedAt = "";
  thin();
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  for (const e of document.querySelectorAll("[data-looked-at]")) delete e.dataset.lookedAt;
  const target = (v) => v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join("; ");
  return violations.map((v) => `${v.id}: ${target(v)}`);
}"""
# frame.js makes code that scrolls focusable in the frame after the window's size has changed.
FOCUSABLE = """() => [...document.querySelectorAll("article :is(pre, .scroll)")].every(
  (e) => !e.checkVisibility() || e.scrollWidth <= e.clientWidth + 1 || e.tabIndex === 0)"""
# Sections below the screen take their faces after it.
SETTLED = """document.fonts.status === "loaded" &&
  !("below" in document.documentElement.dataset)"""
# Each text that begins a line: a comma after a formula or code, a name's number, a piece of code.
PARTED = r"""() => {
  const found = [];
  const rects = (node, from, to) => {
    const range = document.createRange();
    range.setStart(node, from);
    range.setEnd(node, to);
    return [...range.getClientRects()].filter((r) => r.width);
  };
  for (const one of document.querySelectorAll("article :is(.whole, code .pre:not(.long))")) {
    if (!one.checkVisibility() || one.closest("svg")) continue;
    const boxes = [...one.getClientRects()];
    if (boxes.at(-1).top > boxes[0].bottom) found.push(one.textContent);
    const next = one.closest("code")?.nextSibling;
    if (next?.nodeType !== 3 || !/^[.,;:]/.test(next.data) || one.nextSibling) continue;
    const [comma] = rects(next, 0, 1);
    if (comma && comma.top > boxes.at(-1).bottom) found.push(`${one.textContent} ,`);
  }
  return found;
}"""
PALE = Path(__file__).with_name("pale.js").read_text(encoding="utf-8")


def barriers(page: Page) -> list[str]:
    """What axe finds with all folds open.

    The contrast is looked at once for each way in which text and its ground look.
    """
    page.evaluate(OPEN)
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    return page.evaluate(BARRIERS)


def overflowing(page: Page) -> list[str]:
    """What stands out of a page on the right."""
    found = page.evaluate(OVERFLOWING)
    return found["elements"] if found["page"] > found["width"] else []


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    # Reduced motion: nothing fades in, so colours are what they will be.
    page = browser.new_context(color_scheme="light", reduced_motion="reduce").new_page()
    page.add_init_script(SHIFTS)
    page.add_init_script(path=AXE)  # cheaper than to send it to each page
    yield page
    page.context.close()


@pytest.fixture
def heard(tab: Page, address: str) -> Iterator[list[str]]:
    """What goes wrong while the page is open: requests to others, failures, console errors."""
    heard: list[str] = []

    def on_request(request):
        if not request.url.startswith((address, "data:", "blob:")):
            heard.append(f"request to another host: {request.url}")

    listeners = {
        "request": on_request,
        "response": lambda r: r.status >= 400 and heard.append(f"{r.status}: {r.url}"),
        "console": lambda m: (
            m.type in ("error", "warning")
            and "blocked by Playwright"
            not in m.text  # the service worker, of which test_offline.py is
            and heard.append(m.text)
        ),
        "pageerror": lambda error: heard.append(str(error)),
    }
    for event, listener in listeners.items():
        tab.on(event, listener)
    yield heard
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)


def test_page_asks_no_other_host_fits_and_keeps_nobody_out(tab, heard, address, page_name, theme):
    widths = (390, 1280) if page_name in ON_A_PHONE else (1280, 390)
    tab.set_viewport_size({"width": widths[0], "height": 900})
    tab.emulate_media(color_scheme=theme)
    if page_name in ON_A_PHONE:
        come(tab, f"{address}/{page_name}.html")
    else:
        tab.goto(f"{address}/{page_name}.html", wait_until="load")
    assert tab.evaluate("document.documentElement.dataset.theme") == theme
    wake(tab)  # else pictures that wake a moment later are not looked at
    until(tab, SETTLED)
    for width in widths:
        tab.set_viewport_size({"width": width, "height": 900})
        assert overflowing(tab) == []
        assert tab.evaluate(PARTED) == []
        until(tab, FOCUSABLE)
    assert tab.evaluate(PALE)["pale"] == []
    tab.evaluate(OPEN)
    assert heard == []
    # the last: it thins the page out, and exhibits miss what is gone
    assert barriers(tab) == []
    tab.goto("about:blank")


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
