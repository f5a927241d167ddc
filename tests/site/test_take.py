"""What readers take along: a figure saved as SVG stands alone; its licence; a link to it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from playwright.sync_api import Locator, Page

from tests.site.waiting import until

pytestmark = pytest.mark.browser
SVG = "{http://www.w3.org/2000/svg}"
TAKE = "article .g2[id]:not(.g2-live *) g2-take"
# What is to be read of a figure: not its controls, nor what is only for screen readers.
READ = """take => {
  const figure = take.closest(".g2-live, .g2");
  const all = document.createTreeWalker(figure, NodeFilter.SHOW_TEXT);
  const words = [];
  while (all.nextNode()) {
    const { parentElement: at, data } = all.currentNode;
    const range = document.createRange();
    range.selectNodeContents(all.currentNode);
    const hidden = at.closest(
      "g2-take, title, label, .unseen, .foot, .first, .chips, .choice, .switchboard, .status, " +
        ".aloud, .console, .flow-top, .flow-controls, .flow-line, .flow-forks, .flow-tour, " +
        ".flow-learned, .scale-controls",
    );
    const control = at.closest("button") && !at.closest(".strip, .bars, .thumbs, table");
    if (hidden || control || !range.getClientRects().length) continue;
    words.push(...data.split(/\\s+/).filter(Boolean));
  }
  return words;
}"""


@pytest.fixture
def page(opened) -> Page:
    return opened("notebooks/06_heads.html", color_scheme="dark")


def saved(page: Page, take: Locator, folder) -> ET.Element:
    take.scroll_into_view_if_needed()
    with page.expect_download() as download:
        take.get_by_text("SVG", exact=True).click()
    assert download.value.suggested_filename.endswith(".svg")
    download.value.save_as(folder / "figure.svg")
    return ET.parse(folder / "figure.svg").getroot()


def words(root: ET.Element) -> list[str]:
    """What a drawing shows, without what only names it."""
    for parent in root.iter():
        for title in [child for child in parent if child.tag in (f"{SVG}title", f"{SVG}desc")]:
            parent.remove(title)
    return " ".join(root.itertext()).split()


def alone(root: ET.Element, width: float) -> None:
    """No style, script, class or address of anything elsewhere; nothing wider than it says."""
    assert root.tag == f"{SVG}svg" and float(root.get("width")) >= width > 0
    names = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert not names & {"style", "script", "foreignObject", "a", "link"}
    ids = {element.get("id") for element in root.iter()}
    for element in root.iter():
        for name, value in element.attrib.items():
            assert not re.match(r"on|class|style|data-", name), (element.tag, name)
            if value.startswith("data:image/png;base64,"):
                continue
            assert not re.search(r"var\(|light-dark|color-mix|oklab|NaN|undefined", value), value
            if name.endswith("href"):
                assert value.startswith(("data:", "#")), value
            for target in re.findall(r"url\(['\"]?#([^)'\"]+)", value):
                assert target in ids


@pytest.mark.thorough
@pytest.mark.parametrize("step", [3, 1])
def test_a_saved_figure_stands_alone_and_shows_the_same_text(page, tmp_path, step):
    page.evaluate("document.querySelectorAll('article details').forEach((d) => (d.open = true))")
    takes = page.locator(TAKE)
    assert takes.count() >= 8
    for take in takes.all()[::step]:
        root = saved(page, take, tmp_path)
        box = take.locator("xpath=ancestor::*[contains(@class, 'g2 ')]").last.bounding_box()
        alone(root, 0.9 * min(box["width"], 400))
        assert "creativecommons.org/licenses/by/4.0" in root.find(f"{SVG}desc").text
        name, shown = root.find(f"{SVG}title").text, words(root)
        assert sorted(set(take.evaluate(READ)) - set(shown)) == [], name
        assert "CC BY 4.0" in " ".join(shown) and len(name) > 8
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.thorough
@pytest.mark.parametrize("path", ["notebooks/06_heads", "book/model", "book/scale"])
def test_a_saved_exhibit_shows_what_it_shows_now(opened, tmp_path, path):
    page = opened(f"{path}.html", color_scheme="light")
    exhibit = page.locator(".g2-live").first
    exhibit.scroll_into_view_if_needed()
    until(page, "document.querySelector('.g2-live').dataset.state === 'ready'")
    if path == "book/model":  # its weights come when somebody is near
        exhibit.hover()
        until(page, "document.querySelectorAll('.flow-picture image:not(.faint)').length === 20")
    root = saved(page, exhibit.locator("g2-take"), tmp_path)
    alone(root, exhibit.bounding_box()["width"])
    shown = words(root)
    for word in exhibit.locator(".sentence").inner_text().split():
        assert word in shown
    missing = set(exhibit.locator("g2-take").evaluate(READ)) - set(shown)
    assert missing == set()
    if path.endswith("06_heads"):
        arcs_end_at_their_tokens_though_what_stands_above_them_is_left_out(root)


def arcs_end_at_their_tokens_though_what_stands_above_them_is_left_out(root: ET.Element) -> None:
    drawing = next(one for one in root.iter(f"{SVG}svg") if one.find(f"{SVG}path") is not None)
    low = re.match(r"M[\d.]+ ([\d.]+)C", drawing.find(f"{SVG}path").get("d"))
    token = next(one for one in root.iter(f"{SVG}text") if one.text == "⟨start⟩")
    assert 0 < float(token.get("y")) - float(drawing.get("y")) - float(low[1]) < 30


@pytest.mark.thorough
def test_a_dark_page_gives_the_file_of_a_light_one(opened, tmp_path):
    files = []
    for scheme in ("light", "dark"):
        page = opened("notebooks/04_attention.html", color_scheme=scheme)
        root = saved(page, page.locator(TAKE).nth(2), tmp_path)
        files.append(ET.tostring(root))
    assert files[0] == files[1] and b"#ffffff" in files[0]


@pytest.mark.thorough
def test_licence_and_link_are_copied_and_arrows_lead_to_them(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    take = page.locator(TAKE).nth(1)
    first, *others = take.get_by_role("button").all()
    assert [other.get_attribute("tabindex") for other in others] == ["-1", "-1"]
    first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    said = take.get_by_role("status")
    until(page, "(e) => e.textContent", arg=said.element_handle())
    copied = page.evaluate("navigator.clipboard.readText()")
    assert said.inner_text() == f"Copied: {copied}"
    assert re.fullmatch(
        "“.+” by The gpt2-edu authors, from “GPT-2 from the first token”, "
        r"https://gpt2-edu\.github\.io/gpt2-edu/notebooks/06_heads\.html#figure-[\w-]+, "
        r"CC BY 4\.0, https://creativecommons\.org/licenses/by/4\.0/",
        copied,
    )
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    until(page, "(e) => e.textContent.includes('127.0.0.1')", arg=said.element_handle())
    link = page.evaluate("navigator.clipboard.readText()")
    assert page.locator(f"[id='{link.partition('#')[2]}']").count() == 1


def test_figures_are_named_after_their_captions(soup, chapter):
    figures = soup(f"notebooks/{chapter.name}").select("article .g2:not(.g2-live .g2)")
    names = [figure["id"] for figure in figures]
    assert len(names) == len(set(names)) >= 1
    assert all(re.fullmatch(r"figure(-[a-z0-9]+)*", name) for name in names)
