"""What moves, and what does it for the reader; nothing of it changes what is shown in the end."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.web.exhibits.test_every import CITY, MARSH, SETTINGS, among

pytestmark = pytest.mark.browser
STILL = {"reduced_motion": "reduce"}
ACTS = {
    "ask": "?question=Who+rested",
    "bits": "?bits=2",
    "blocks": "?order=0+2+1",
    "cache": "?steps=4&cache=false",
    "cost": "?device=",
    "crane": "?v.fish.x=-0.2&v.fish.y=1.2",
    "cups": "?swaps=AC+BD+AD",
    "downhill": "?numbers=two&steps=100",
    "draft": "?ahead=8&passes=99",
    "heads": "?head=1.2&off=1.2",
    "layernorm": "?norm=false",
    "mask": "?mask=false",
    "mistakes": "",
    "mlp": "?at=2&by=2",
    "museum": "?bug=",
    "order": "?order=5+1+2+3+4&positions=false&mask=false",
    "rotation": "?query=7&key=5&both=true&base=10000",
    "sampling": "",
    "scores": "?d=1024&root=true",
    "snapshots": "?shot=2",
    "tokens": "",
    "unit": "?times=5",
    "units": "?push=10.8",
    "valley": "?rate=0.1",
    "writers": "?off=h.2.mlp.out+embd",
}


@pytest.fixture
def kind_of(exhibit):
    """``kind_of(kind)``: an exhibit with settings of its kind."""
    first = {"text": MARSH, "chips": [CITY]}
    return lambda kind, **more: exhibit(kind, **{**first, **SETTINGS[kind], **more})


def act(shown) -> None:
    shown.element.get_by_role("button", name="Do it for me").click()
    shown.page.wait_for_function("() => !document.querySelector('.hand')")
    shown.ready()


@pytest.mark.thorough
@pytest.mark.parametrize("kind", among({"blocks", "crane", "cups", "heads", "museum"}))
def test_what_the_sentence_asks_for_is_done(kind_of, kind):
    shown = kind_of(kind, first="Look.", context=STILL)
    act(shown)
    assert shown.query.startswith(ACTS[kind])
    assert (shown.query == "") == (ACTS[kind] == "")
    shown.stands()


@pytest.mark.thorough
def test_a_hand_shows_it_and_a_reader_who_takes_over_stops_it(kind_of):
    shown = kind_of("layernorm", first="Turn the volume.", context={"speed": 1})
    shown.element.get_by_role("button", name="Do it for me").click()
    shown.element.locator(".hand").wait_for()
    shown.page.wait_for_function("() => document.querySelector('input[type=range]').value > 0.2")
    shown.page.keyboard.press("Shift")
    shown.element.locator(".hand").wait_for(state="detached")
    assert "norm" not in shown.query and "volume" in shown.query


def test_the_place_in_the_whole_is_linked_on_a_page_of_the_book(kind_of):
    shown = kind_of("heads", first="Look.")
    assert shown.element.get_by_role("link", name="See it in the whole").count() == 0
    shown.page.evaluate("document.documentElement.dataset.content_root = '../'")
    shown.element.evaluate("(e) => e.again()")
    shown.element.get_by_role("button", name="2.1", exact=True).click()
    link = shown.ready().element.get_by_role("link", name="See it in the whole")
    to = urlsplit(link.get_attribute("href"))
    asked = {name: values[0] for name, values in parse_qs(to.query).items()}
    assert to.path.endswith("book/model.html")
    assert asked == {"text": MARSH, "place": "2.1", "at": "-1", "off": "2.1"}


def test_bars_are_teal_for_the_bird_and_ochre_for_the_machine(kind_of):
    shown = kind_of("order", text="In the city, the crane")
    kinds = shown.element.locator(".bar").evaluate_all("bars => bars.map((b) => b.className)")
    assert set(kinds) <= {"bar bird", "bar machine"} and "bar machine" in kinds
    shown.element.locator("input[type=text]").fill("In the city, the bat")
    kinds = shown.ready().element.locator(".bar").evaluate_all("all => all.map((b) => b.className)")
    assert not re.search("bird|machine", " ".join(kinds))


def test_a_gap_opens_where_a_block_is_dragged(kind_of):
    shown = kind_of("blocks")
    blocks = shown.element.locator(".stack button")
    first, second = (blocks.nth(i).bounding_box() for i in (0, 1))
    mouse = shown.page.mouse
    mouse.move(second["x"] + 30, second["y"] + 20)
    mouse.down()
    mouse.move(first["x"] + 20, first["y"] + 20)
    shown.rest()
    held = shown.element.locator(".stack [style*=translate]").bounding_box()
    other = shown.element.get_by_role("button", name="block 0").bounding_box()
    assert held["x"] + held["width"] <= other["x"] + 1
    assert blocks.all_inner_texts()[0].startswith("block 1")
    mouse.up()
    assert shown.query == "?order=1+0+2"


def test_the_numbers_of_faint_cells_are_in_the_row_that_is_pointed_at(kind_of):
    shown = kind_of("heads")
    colour = "cell => getComputedStyle(cell).color"
    cell = shown.element.locator(".board td.faint:not(.off)").last
    assert cell.evaluate(colour) == "rgba(0, 0, 0, 0)"
    cell.hover()
    assert cell.evaluate(colour) != "rgba(0, 0, 0, 0)"
    size = cell.evaluate("cell => parseFloat(getComputedStyle(cell).fontSize)")
    assert size >= 13


def test_a_path_begins_where_one_clicks_and_a_run_is_where_its_curve_is_pressed(kind_of):
    shown = kind_of("valley")
    box = shown.element.locator(".plot").first.bounding_box()
    shown.page.mouse.click(box["x"] + 0.8 * box["width"], box["y"] + 0.3 * box["height"])
    assert re.fullmatch(r"\?steep=0\.\d+&flat=1\.\d+", shown.query)
    before = shown.query
    shown.press("ArrowLeft")
    assert shown.query != before
    shown = kind_of("snapshots")
    box = shown.element.locator(".plot").first.bounding_box()
    shown.page.mouse.click(box["x"] + 0.95 * box["width"], box["y"] + 0.5 * box["height"])
    assert shown.query == "?shot=2"


MOVES = [
    ("tokens", "(e) => e.querySelector('input[type=range]')", "Home"),
    ("writers", "(e) => e.querySelector('button.bar')", "Enter"),
    ("sampling", "(e) => e.querySelectorAll('.side-by-side button')[1]", "Enter"),
    ("layernorm", "(e) => e.querySelector('input[type=range]')", "Home"),
    ("mask", "(e) => e.querySelector('input[type=checkbox]')", "Space"),
    ("valley", "(e) => e.querySelector('input[type=checkbox]')", "Space"),
    ("mistakes", "(e) => e.querySelector('input[type=checkbox]')", "Space"),
]
COUNT = """async () => {
  let most = 0;
  for (const begin = performance.now(); !most && performance.now() - begin < 500; ) {
    most = document.getAnimations().filter((one) => one.timeline === document.timeline).length;
    await new Promise(requestAnimationFrame);
  }
  return most;
}"""


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "part", "key"), MOVES)
def test_a_change_is_seen_to_happen_unless_nothing_is_to_move(kind_of, kind, part, key):
    for motion in ("no-preference", "reduce"):
        shown = kind_of(kind, context={"reduced_motion": motion, "speed": 1}).rest()
        shown.element.evaluate_handle(part).as_element().focus()
        shown.page.wait_for_timeout(300)  # changes in quick succession are not drawn step by step
        shown.page.keyboard.press(key)
        assert (shown.page.evaluate(COUNT) > 0) == (motion == "no-preference")


def test_every_kind_has_an_act():
    assert set(ACTS) == set(SETTINGS)
