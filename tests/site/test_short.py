"""The short road through a chapter's pages: what it leaves out, its minutes, and the switch."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from playwright.sync_api import Page, expect

from gpt2_site.chapters import DEEPER, chapters, find, headings, pages
from gpt2_site.short import LEFT_OUT, minutes

HEADS, MASK = (f"notebooks/{find(slug).name}.html" for slug in ("heads", "mask"))
LONG = "article section.long:not(section.long section.long)"
KEEP = "localStorage['gpt2-edu length'] = 'short';"


def test_its_minutes_follow_from_the_words_that_remain():
    words = "word " * 30
    kept = f"# A\n\n{words}\n\n## B\n\n{words}\n\n### Deeper: C\n\n{words * 9}"
    told = f"{kept}\n\n## The real thing\n\n{words}\n\n### Deeper: D\n\n{words}"
    page = SimpleNamespace(minutes=20, markdown=f"{told}\n\n## References\n\n{words}")
    assert minutes(page) == 10  # 60 of 120 words outside the folds
    page.minutes = None
    assert minutes(page) is None
    timed = [page for page in pages() if page.minutes]
    assert set(chapters()) <= set(timed)
    for page in timed:
        assert page.minutes / 2 < minutes(page) < page.minutes


def test_it_leaves_out_folds_and_what_the_story_does_without(soup, told):
    page = soup(f"notebooks/{told.name}")
    found = list(headings(told.markdown).values())
    out = [heading for heading in found if heading in LEFT_OUT or heading.startswith(DEEPER)]
    long = page.select("article section.long")
    folds = [section for section in long if section.select_one(":scope > details.deeper")]
    others = [section for section in long if section not in folds]
    named = [section.h2.find(string=True).strip() for section in others]
    assert sorted(named) == sorted(heading for heading in out if heading in LEFT_OUT)
    assert len(folds) == len(out) - len(named) == len(page.select("details.deeper"))
    entries = page.select(".here-is li.long > a")
    assert [entry["href"] for entry in entries] == [f"#{section['id']}" for section in long]
    roads = {"short": minutes(told), "full": told.minutes}
    for length, takes in roads.items():
        here = [span.text for span in page.select(f"article p .when-{length}")]
        assert here == ([str(takes)] if takes else [])
    said = [" ".join(label.text.split()) for label in page.select(".length label")]
    assert said == [f"{road} {takes} min" if takes else road for road, takes in roads.items()]


@pytest.mark.parametrize("name", ["book/index", "book/start", "notebooks/practice/06_heads"])
def test_other_pages_do_without_the_switch(soup, name):
    page = soup(name)
    assert not page.select(".length")
    assert not page.select("link[href*='short.css']")


@pytest.mark.thorough
@pytest.mark.browser
def test_the_switch_works_by_keyboard_and_holds_for_all_chapters(opened, address):
    page = opened(HEADS)
    short, full = (page.get_by_role("radio", name=name) for name in ("short", "full"))
    expect(full).to_be_checked()
    assert all(section.is_visible() for section in page.locator(LONG).all())
    full.focus()
    page.keyboard.press("ArrowLeft")
    expect(short).to_be_checked()
    assert left_out(page)
    page.goto(f"{address}/{MASK}")
    expect(page.get_by_role("radio", name="short")).to_be_checked()
    assert left_out(page)
    page.locator(".length label", has_text="full").click()
    page.reload()
    expect(page.get_by_role("radio", name="full")).to_be_checked()
    assert not left_out(page)


def left_out(page: Page) -> bool:
    """Whether folds, sections and their entries are away, and the minutes are the short road's."""
    away = f"{LONG}, .here-is li.long, article details.hide, article .when-full"
    here = page.locator(away).filter(visible=True).count()
    assert here == 0 or here > 10
    assert page.locator("article .when-short").is_visible() == (here == 0)
    assert page.locator("#now-write-it").is_visible()
    return here == 0


@pytest.mark.thorough
@pytest.mark.browser
def test_nothing_moves_when_a_page_is_opened(opened, address):
    """The choice holds before the page's scripts, as does a link to what would be left out."""
    page = opened("robots.txt", before=KEEP)
    page.route("**/scripts-*.js*", lambda route: route.abort())
    for anchor in ("", "the-real-thing", "questions-people-ask"):
        page.goto(f"{address}/robots.txt")
        page.goto(f"{address}/{HEADS}#{anchor}")
        assert left_out(page) == (not anchor)


@pytest.mark.browser
@pytest.mark.thorough
def test_a_link_to_what_is_left_out_shows_all_of_that_chapter(opened, address):
    page = opened(f"{MASK}#the-real-thing", before=KEEP)
    full = page.get_by_role("radio", name="full")
    expect(full).to_be_checked()
    assert not left_out(page)
    page.locator(".length label", has_text="short").click()
    assert left_out(page)
    page.locator("article a[href='#references']").first.evaluate("link => link.click()")
    expect(full).to_be_checked()
    top = page.locator("#references").bounding_box()["y"]
    assert 0 <= top < page.viewport_size["height"]
    page.goto(f"{address}/{HEADS}")
    expect(page.get_by_role("radio", name="short")).to_be_checked()


@pytest.mark.thorough
@pytest.mark.browser
def test_it_works_from_a_disk_and_without_storage(browser, site):
    off = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('off'); } });"
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_init_script(off)
    page.goto((site / HEADS).as_uri())
    page.locator(".length label", has_text="short").click()
    assert left_out(page)
    assert errors == []
    page.close()
