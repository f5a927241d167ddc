"""The exhibit of the shell game: the cups as a reader moves them, the answers as in Python."""

from __future__ import annotations

from functools import cache

import pytest

from gpt2_edu import GPT2
from gpt2_edu.exhibits.cups import NAMES, Shuffled
from gpt2_edu.thought import cups
from gpt2_edu.web import ASSETS
from tests.thorough import thorough

pytestmark = pytest.mark.browser
FILE = "**/files/cups.js"
P = [0.9, 0.1, 0.0, 0.0, 0.0]
SETTINGS = {  # the numbers are made up
    "words": list(cups.WORDS),
    "longest": 8,
    "game": {"start": "C", "swaps": ["AC", "BD"]},
    "found": {
        "now": {"steps": [{"word": "B", "p": P}], "said": "B", "tokens": 2},
        "steps": {"steps": [{"word": "A", "p": P}] * 2, "said": "A", "tokens": 3},
    },
}
STILL = {"reduced_motion": "reduce"}


@cache
def model() -> GPT2:
    return GPT2.from_pretrained(ASSETS / "cups").eval()


def played(game: cups.Game) -> Shuffled:
    """What Python finds."""
    return Shuffled(model(), game)


@pytest.fixture
def shown_cups(exhibit):
    """``shown_cups()``: the exhibit as the chapter has it."""
    settings = played(cups.game(0, 6)).settings
    return lambda **more: exhibit("cups", **settings, **more)


def cup(shown, name: str):
    return shown.element.locator(".cups button").nth("ABCDE".index(name))


def press(shown, name: str):
    shown.element.get_by_role("button", name=name).click()
    return shown.ready()


def rows(shown, way: str) -> list[tuple[str, str, str, list[float]]]:
    """Of each token of an answer: the swap, what the model says, where the ball is, the bars."""
    read = """rows => rows.map((row) => {
      const all = (selector, of) => [...row.querySelectorAll(selector)].map(of);
      const text = (selector) => all(selector, (one) => one.innerText).join("");
      const bars = all("i", (bar) => Number(bar.style.getPropertyValue("--p")));
      return [text("b"), text(".said"), text(".truth"), bars];
    })"""
    found = shown.ready().element.locator(f".cup-rows.{way} li").evaluate_all(read)
    return [tuple(row) for row in found]


def agree(shown, game: cups.Game) -> None:
    """What is shown is what Python's model answers."""
    found = played(game).found
    for way in NAMES:
        steps, shown_rows = found[way]["steps"], rows(shown, way)
        assert [said for _, said, _, _ in shown_rows][: len(steps)] == [
            step["word"] if step["word"] in cups.CUPS else "" for step in steps
        ]
        for row, step in zip(shown_rows, steps, strict=False):
            assert row[3] == pytest.approx(step["p"], abs=2e-3)
    assert [truth for _, _, truth, _ in rows(shown, "steps")] == game.steps.split()
    assert rows(shown, "now")[0][2] == game.answer


def test_nothing_is_loaded_before_a_reader_asks(shown_cups, pages):
    shown = shown_cups()
    agree(shown, cups.game(0, 6))
    assert not [url for url in pages.asked if "/files/" in url]
    press(shown, "a random swap")
    assert {said for _, said, _, _ in rows(shown, "now")} == {""}
    assert not [url for url in pages.asked if "/files/" in url]
    press(shown, "where is it now?")
    assert [url.rpartition("/")[2] for url in pages.asked if "/files/" in url] == ["cups.js"]


@pytest.mark.parametrize(
    ("seed", "swaps"), [thorough(1, 1), (2, 5), thorough(3, 8), thorough(4, 10)]
)
def test_answers_are_those_of_python(shown_cups, seed, swaps):
    game = cups.game(seed, swaps)
    start, *made = game.text.split()
    query = {"start": start, "swaps": " ".join(made), "now": "true", "steps": "true"}
    shown = shown_cups(query=query)
    assert shown.tokens() == game.text.split()
    agree(shown, game)
    right = {way: one["said"] == game.answer for way, one in played(game).found.items()}
    for way, mark in right.items():
        verdict = shown.element.locator(f".cup-rows.{way} + .verdict").inner_text()
        assert verdict.startswith("✓ Right" if mark else "✗ Wrong"), verdict
    assert ("No game in training" in shown.sentence) == (swaps > cups.MOST)


@pytest.mark.thorough
def test_cups_are_swapped_by_clicks_by_keys_and_by_dragging(exhibit):
    for context in (STILL, {**STILL, "has_touch": True, "viewport": {"width": 390, "height": 844}}):
        shown = exhibit("cups", context=context, **SETTINGS)
        cup(shown, "D").click()
        assert cup(shown, "D").get_attribute("aria-pressed") == "true"
        cup(shown, "B").click()
        assert shown.ready().tokens() == ["C", "AC", "BD", "BD"]
        cup(shown, "A").focus()
        shown.press("Enter", "ArrowRight", "ArrowRight", "Enter")
        assert shown.tokens()[-1] == "AC"
        cup(shown, "E").scroll_into_view_if_needed()
        a, e = (cup(shown, name).bounding_box() for name in "EA")
        middles = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in (a, e)]
        shown.drag(*middles)
        assert shown.tokens() == ["C", "AC", "BD", "BD", "AC", "AE"]
        press(shown, "take back")
        assert shown.tokens()[-1] == "AC"
        cup(shown, "E").click()
        cup(shown, "E").click()  # put down again
        assert len(shown.tokens()) == 5


@pytest.mark.thorough
def test_the_ball_is_seen_when_asked(exhibit):
    shown = exhibit("cups", context=STILL, **SETTINGS)
    seen = shown.element.locator(".cups .ball")
    assert seen.count() == 0
    shown.element.get_by_label("show the ball").check()
    assert seen.get_attribute("aria-label") == "cup A, the ball is under it"
    cup(shown, "A").click()
    cup(shown, "E").click()
    assert shown.ready() and seen.get_attribute("aria-label").startswith("cup E")
    press(shown, "take back")
    press(shown, "take back")
    press(shown, "take back")
    assert seen.get_attribute("aria-label").startswith("cup C")
    assert shown.element.get_by_role("button", name="where is it now?").is_disabled()
    shown.element.get_by_role("button", name="D", exact=True).click()
    assert shown.ready() and seen.get_attribute("aria-label").startswith("cup D")


def test_a_wrong_place_is_marked(exhibit):
    shown = exhibit("cups", **SETTINGS)
    wrong = shown.element.locator(".cup-rows li.wrong")
    assert wrong.count() == 1 and "✗ 0.100" in wrong.inner_text()
    assert wrong.get_attribute("aria-label") == "it says B, which is wrong"
    assert shown.element.locator(".cup-rows li.right").count() == 2
    assert shown.sentence == (
        "After 2 swaps the ball is under A. At once the model says B, wrong. With its steps "
        "written down it says A, right, in 3 tokens."
    )


@pytest.mark.thorough
def test_shuffling_makes_swaps_until_the_reader_goes_on(shown_cups):
    shown = shown_cups(context=STILL)
    press(shown, "shuffle")
    shown.page.wait_for_function(
        "() => document.querySelectorAll('gpt2-cups .strip b').length == 9"
    )
    shown = shown_cups()
    press(shown, "shuffle")
    shown.page.wait_for_function(
        "() => document.querySelectorAll('gpt2-cups .strip b').length == 2"
    )
    press(shown, "take back")
    shown.page.wait_for_timeout(900)
    assert len(shown.tokens()) == 1


@pytest.mark.thorough
def test_many_games_are_tried_in_the_page(shown_cups):
    shown = shown_cups()
    for swaps in (6, 5):
        press(shown, f"try 50 games with {swaps} swaps")
        shown.element.locator(".counts th[scope=row]", has_text=str(swaps)).wait_for()
        assert shown.element.get_by_role("button", name="try 50 games").is_enabled()
        press(shown, "take back")
    table = [row.split() for row in shown.element.locator(".counts tr").all_inner_texts()[1:]]
    assert [row[0] for row in table] == ["5", "6"]
    for swaps, now, *_, in_steps, _, _, tokens in table:
        assert int(in_steps) > int(now) and int(tokens) == int(swaps) + 1


@pytest.mark.thorough
def test_a_model_that_does_not_come_is_reported_and_asked_for_again(shown_cups):
    shown = shown_cups()
    shown.page.route(FILE, lambda route: route.abort())
    press(shown, "a random swap")
    press(shown, "where is it now?")
    assert "files/cups.js did not come" in shown.ready().status and shown.state == "stale"
    shown.page.unroute(FILE)
    press(shown, "where is it now?")
    assert (shown.ready().state, shown.status) == ("ready", "")
