"""Around every page: its frame, the reader's place, folds, names that light up, what loads."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from gpt2_site.chapters import chapters, find
from tests.site.waiting import until
from tests.thorough import thorough

pytestmark = pytest.mark.browser
HEADS = f"notebooks/{find('heads').name}.html"
WIDE = {"width": 1280, "height": 900}
SHADE = "getComputedStyle(document.body).backgroundColor"


@pytest.fixture
def page(opened) -> Page:
    return opened(HEADS, viewport=WIDE)


@pytest.fixture(scope="module")
def heads(left_open) -> Page:
    return left_open(HEADS, viewport=WIDE)


@pytest.fixture(scope="module")
def attention(left_open) -> Page:
    page = left_open(f"notebooks/{find('attention').name}.html", viewport=WIDE)
    page.locator("article[data-names=marked]").wait_for()
    return page


def test_the_theme_is_changed_by_its_button_and_stays(page, address):
    before = page.evaluate(SHADE)
    button = page.get_by_role("button", name=re.compile("^(Dark|Light) page$"))
    assert button.get_attribute("aria-label") == "Dark page"
    button.press("Enter")
    after = page.evaluate(SHADE)
    assert after != before
    assert button.get_attribute("aria-label") == "Light page"
    page.goto(f"{address}/book/glossary.html")
    assert page.evaluate(SHADE) == after


@pytest.mark.thorough
def test_without_javascript_the_page_follows_the_system(opened):
    page = opened(HEADS, java_script_enabled=False)
    # A script of the test's own may not run either: a picture of one dot tells the colour.
    clip = {"x": 2, "y": 500, "width": 1, "height": 1}
    dots = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        dots.append(page.screenshot(clip=clip))
    page.goto("data:text/html,<body style='background: white'>")
    assert [dot == page.screenshot(clip=clip) for dot in dots] == [True, False]


@pytest.mark.thorough
def test_the_contents_open_by_keyboard_lead_on_and_close(page):
    summary = page.locator("details.contents > summary")
    summary.press("Enter")
    link = page.locator("details.contents a", has_text=find("mask").title)
    assert link.first.is_visible()
    page.keyboard.press("Escape")
    assert not link.first.is_visible()
    assert summary.evaluate("(e) => e === document.activeElement")
    summary.click()
    page.locator("h1").click()
    assert not link.first.is_visible()
    summary.click()
    link.first.click()
    page.wait_for_url(f"**/{find('mask').name}.html")


@pytest.mark.thorough
def test_the_contents_close_when_the_focus_leaves_them(heads):
    heads.locator("details.contents > summary").press("Enter")
    heads.locator("details.contents a").last.focus()
    heads.keyboard.press("Tab")
    assert heads.locator("details.contents").get_attribute("open") is None


@pytest.mark.thorough
def test_typing_in_the_bar_does_not_move_the_page(heads):
    heads.evaluate("scrollTo(0, 3000); globalThis.read = document.elementFromPoint(640, 450)")
    top = heads.evaluate("read.getBoundingClientRect().top")
    field = heads.locator(".find input")
    field.focus()
    heads.keyboard.type("softmax", delay=40)
    heads.locator("#found a").first.wait_for()
    assert heads.evaluate("read.getBoundingClientRect().top") == pytest.approx(top, abs=1)
    heads.keyboard.press("Escape")


def test_what_a_link_leads_to_is_below_the_bars(heads):
    heads.locator(".here-is a").nth(3).click()
    heads.wait_for_timeout(100)
    top = "document.querySelector(':target').getBoundingClientRect().top"
    low = "document.querySelector('.ribbon').getBoundingClientRect().bottom"
    assert 0 <= heads.evaluate(f"{top} - {low}") < 40


def test_what_copies_code_is_seen_by_keyboard_and_keeps_the_focus(heads):
    button = heads.locator("button.copybtn").filter(visible=True).first
    button.focus()
    heads.keyboard.press("Tab")
    heads.keyboard.press("Shift+Tab")
    heads.keyboard.press("Enter")
    heads.locator("button.copybtn.success").wait_for()
    assert button.evaluate("(e) => e === document.activeElement")
    expect(button).to_have_css("opacity", "1")


@pytest.mark.thorough
def test_the_ribbon_has_every_chapter_and_marks_this_one(page):
    links = page.get_by_role("navigation", name="Chapters").get_by_role("link")
    assert links.count() == len(chapters())
    here = page.locator(".ribbon [aria-current=page]")
    assert here.inner_text().split(maxsplit=1) == [
        str(find("heads").number),
        find("heads").title,
    ]
    box, width = here.bounding_box(), page.viewport_size["width"]
    assert 0 <= box["x"] and box["x"] + box["width"] <= width
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    box = here.bounding_box()
    assert 0 <= box["x"] and box["x"] + box["width"] <= 390


@pytest.mark.thorough
def test_the_section_that_is_read_is_marked_and_offered_on_the_front_page(page, address):
    section = page.locator("article section section").nth(2)
    title = section.locator("h2").first.evaluate("(h) => h.firstChild.textContent")
    section.evaluate("(s) => s.scrollIntoView()")
    marked = page.locator(".here-is [aria-current]")
    until(
        page,
        "(t) => document.querySelector('.here-is [aria-current]')?.textContent === t",
        arg=title,
    )
    assert marked.count() == 1
    anchor = section.get_attribute("id")
    page.goto(f"{address}/book/index.html")
    offer = page.locator("a.resume")
    assert title in offer.inner_text()
    offer.click()
    page.wait_for_url(f"**/{HEADS}#{anchor}")


def test_above_the_first_section_none_is_marked(heads):
    marked = heads.locator(".here-is [aria-current]")
    heads.locator("article section section").nth(2).evaluate("(s) => s.scrollIntoView()")
    expect(marked).to_have_count(1)
    heads.evaluate("scrollTo(0, 0)")
    expect(marked).to_have_count(0)


@pytest.mark.thorough
def test_a_neighbour_is_named_in_one_line_with_its_number(opened):
    page = opened(f"notebooks/practice/{find('embeddings').name}.html")
    number = page.locator(".onward .next .section-number")
    assert number.evaluate("(e) => getComputedStyle(e).display") == "inline"
    size = "(e) => getComputedStyle(e).fontSize"
    assert number.evaluate(size) == page.locator(".onward .next").evaluate(size)


@pytest.mark.thorough
def test_a_place_that_cannot_be_read_is_not_offered(opened):
    page = opened("book/index.html")
    for kept in ("{", "null", '{"place": "https://example.org/", "heading": "x"}', "[]"):
        page.evaluate("(kept) => (localStorage['gpt2-edu place'] = kept)", kept)
        page.reload()
        page.locator("h1").wait_for()
        assert page.locator("a.resume").count() == 0


@pytest.mark.thorough
def test_without_storage_the_frame_works(opened):
    off = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('off'); } });"
    page = opened(HEADS, before=off, color_scheme="light")
    before = page.evaluate(SHADE)
    page.locator("button.theme").click()
    assert page.evaluate(SHADE) != before
    opened("book/index.html", before=off, color_scheme="light")


@pytest.mark.thorough
def test_scripts_of_exhibits_come_when_one_is_near_or_linked(opened, address):
    asked: list[str] = []
    page = opened("robots.txt", viewport={"width": 1280, "height": 300})
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    page.goto(f"{address}/{HEADS}", wait_until="networkidle")
    assert "live.js" not in asked
    page.locator(".g2-live").first.scroll_into_view_if_needed()
    until(page, "document.querySelector('.g2-live').dataset.state === 'ready'")
    assert "live.js" in asked
    anchor = page.locator(".g2-live").first.get_attribute("id")
    page.goto("about:blank")
    page.goto(f"{address}/{HEADS}#{anchor}")
    until(page, "document.querySelector('.g2-live').dataset.state === 'ready'")
    until(
        page,
        "(id) => { const { top } = document.getElementById(id).getBoundingClientRect();"
        " return top >= 0 && top < innerHeight; }",
        arg=anchor,
    )


WAITING = """[...document.querySelectorAll("article section")]
  .filter((one) => getComputedStyle(one).contentVisibility === "auto").length"""


@pytest.mark.thorough
@pytest.mark.parametrize(("anchor", "waiting"), [("", True), ("#summary", False)])
def test_sections_out_of_view_wait_for_the_scripts(opened, anchor, waiting):
    """Unless somebody comes for one of them: then the whole page is laid out."""
    before = f"""globalThis.most = null;
      const {{ fonts }} = document, add = fonts.add.bind(fonts);
      fonts.add = (face) => (most ??= {WAITING}, add(face));"""
    page = opened(HEADS + anchor, before=before, viewport=WIDE)
    until(page, f"most !== null && !('scripts' in document.documentElement.dataset) && !{WAITING}")
    assert page.evaluate("most > 3") == waiting


@pytest.mark.parametrize("key", ["Shift", thorough("")])
def test_what_is_near_waits_for_a_sign_of_the_reader_or_three_seconds(opened, key):
    still = "addEventListener('pointermove', (event) => event.stopImmediatePropagation(), true);"
    page = opened(HEADS, before=still, viewport={"width": 1280, "height": 500})
    assert page.locator("script[src$='live.js']").count() == 0
    assert 500 < page.locator(".g2-live").first.bounding_box()["y"] < 750
    if key:
        page.keyboard.press(key)
    until(page, "document.querySelector('script[src$=\"live.js\"]')", timeout=4000)


# ---- Folds, and old addresses


def first_fold(soup, slug: str) -> tuple[str, str]:
    """A chapter's page and the anchor of its first fold."""
    name = f"notebooks/{find(slug).name}"
    return f"{name}.html", soup(name).select_one("details.deeper").parent["id"]


@pytest.mark.thorough
def test_a_link_to_a_fold_opens_it(opened, address, soup):
    name, anchor = first_fold(soup, "mask")
    page = opened(name)
    fold = page.locator(f"section#{anchor} > details.deeper")
    assert fold.get_attribute("open") is None
    page.locator(f"a[href='#{anchor}']").first.evaluate("(link) => link.click()")
    until(page, f"document.querySelector('#{anchor} > details').open")
    page.goto("about:blank")
    page.goto(f"{address}/{name}#{anchor}")
    until(page, f"document.querySelector('#{anchor} > details').open")
    assert 0 <= fold.bounding_box()["y"] < 900


@pytest.mark.thorough
def test_on_paper_folds_are_open_but_for_code_and_map_and_then_closed_again(opened, soup):
    page = opened(first_fold(soup, "mask")[0])
    told = "article details:not([open], .hide, .wrong)"
    assert (
        page.evaluate(f"(globalThis.folds = [...document.querySelectorAll('{told}')]).length") > 0
    )
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("folds.every((fold) => fold.open)")
    assert page.locator("article details.hide[open]").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not page.evaluate("folds.some((fold) => fold.open)")


def test_an_old_address_keeps_the_place_on_the_page(opened, address, soup):
    new = f"notebooks/{find('cache').name}"
    anchor = soup(new).select_one("article section section")["id"]
    page = opened(f"notebooks/15_cache.html#{anchor}")
    page.wait_for_url(f"{address}/{new}.html#{anchor}")
    assert urlsplit(page.url).fragment == anchor


@pytest.mark.thorough
def test_a_head_opens_by_keyboard_and_the_other_closes(opened, soup):
    slug = next(c.name for c in chapters() if soup(f"notebooks/{c.name}").select(".g2-heads"))
    page = opened(f"notebooks/{slug}.html", java_script_enabled=False)
    heads = page.locator(".g2-heads").first.locator("details")
    heads.locator("xpath=self::*[not(@open)]").first.locator("summary").focus()
    page.keyboard.press("Enter")
    shown = page.locator(".g2-heads").first.locator("details[open]")
    assert shown.count() == 1
    assert shown.locator("table").is_visible()


# ---- Names that light up together, and terms


def lit(page: Page) -> set[str]:
    """Where something is lit: in a ledger, in code, in prose."""
    where = """all => all.map((one) => one.closest(".g2-ledger") ? "ledger"
      : one.closest(".highlight") ? "code" : one.closest("p, li") ? "prose" : "other")"""
    return set(page.locator(".lit-name").evaluate_all(where))


@pytest.mark.thorough
@pytest.mark.parametrize("place", [".g2-ledger tr:nth-child(2) th", "p code", ".highlight"])
def test_a_name_lights_up_wherever_it_is(attention, place):
    named = attention.locator(f":is({place}) [data-name], :is({place})[data-name]")
    at = named.filter(visible=True).first
    at.hover()
    assert lit(attention) >= {"ledger", "code"}
    names = attention.locator(".lit-name").evaluate_all("all => all.map((o) => o.dataset.name)")
    assert set(names) == {at.get_attribute("data-name")}
    attention.locator("article h1").hover()
    assert lit(attention) == set()


@pytest.mark.thorough
def test_a_letter_of_a_shape_lights_up_and_the_ledger_works_by_keyboard(attention):
    attention.locator(".g2-ledger td >> css=[data-name=T]").first.hover()
    assert lit(attention) >= {"ledger", "code"}
    attention.locator(".g2-ledger tbody th").nth(1).focus()
    assert lit(attention) >= {"ledger", "code"}
    attention.locator("article h1").hover()
    attention.locator("article p a").first.focus()
    assert lit(attention) == set()


def test_code_that_is_copied_is_unchanged(attention, soup):
    """Words were wrapped, none was changed."""
    texts = attention.locator(".highlight pre").all_text_contents()
    written = soup(f"notebooks/{find('attention').name}").select(".highlight pre")
    assert texts == [code.get_text() for code in written]


def test_a_terms_meaning_shows_on_hover_and_focus_and_goes_with_escape(attention):
    link = attention.locator("article a[data-meaning]").first
    box = attention.locator("#meaning")
    link.hover()
    box.wait_for()
    assert box.inner_text() == link.get_attribute("data-meaning")
    box.hover()  # the pointer may rest on it
    attention.wait_for_timeout(400)
    assert box.is_visible()
    attention.keyboard.press("Escape")
    assert box.is_hidden()
    attention.keyboard.press("Tab")
    link.focus()
    box.wait_for()
    assert link.get_attribute("aria-describedby") == "meaning"
    left, right = box.evaluate("(b) => [b.getBoundingClientRect().left, innerWidth]")
    assert 0 <= left <= right
