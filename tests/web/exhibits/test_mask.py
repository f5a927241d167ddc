"""The exhibit of chapter 5: a later word changes, and earlier positions notice or do not."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser
NIGHT = "At night, the crane by the city"
SETTINGS = {"text": NIGHT, "word": "marsh", "at": 8, "watch": 5, "words": ["marsh", "tower"]}
STAGES = ["embd", *(f"transformer.h.{n}.resid_post" for n in range(3)), "logits"]


def table(crane, text: str, other: str, mask: bool) -> list[list[float]]:
    """Largest changes by stage, the last first, and by position."""
    tapes = [crane.trace(one, None if mask else crane.unmasked()) for one in (text, other)]
    pairs = [[tape[path][0] for tape in tapes] for path in STAGES]
    return [(a - b).abs().amax(dim=-1).tolist() for a, b in reversed(pairs)]


def numbers(shown) -> list[list[float]]:
    return [[float(cell) for cell in row] for row in shown.cells()]


def test_behind_the_mask_nothing_before_the_change_moves(exhibit, crane):
    shown = exhibit("mask", **SETTINGS)
    expected = table(crane, NIGHT, NIGHT.replace("city", "marsh"), True)
    assert all(value == 0 for row in expected for value in row[:8])
    assert numbers(shown) == [pytest.approx(row, abs=0.06) for row in expected]
    assert shown.element.locator("td.off").count() == 5 * 8
    assert shown.element.locator("td.lit").count() == 0
    below = shown.element.locator(".strip").first.locator("i").all_inner_texts()
    assert below[:8] == ["0"] * 8 and float(below[8]) == pytest.approx(expected[0][8], abs=0.06)
    assert shown.sentence.startswith(
        "␣marsh in place of ␣city: at the 8 positions before it every number is the same to the "
        "last bit, the change exactly 0. From there on logits change by up to "
    )
    assert shown.element.locator(".moved").count() == 0


def test_without_the_mask_all_positions_see_their_future_and_no_error_tells(exhibit, crane):
    shown = exhibit("mask", **SETTINGS)
    shown.element.get_by_label("causal mask").uncheck()
    other = NIGHT.replace("city", "marsh")
    assert numbers(shown) == [
        pytest.approx(row, abs=0.06) for row in table(crane, NIGHT, other, False)
    ]
    assert shown.element.locator("td.lit").count() == 4 * 8
    logits = crane.trace(other, crane.unmasked())["logits"][:, :6]
    expected = crane.next(logits, 1024)
    bars = shown.bars()
    assert bars == pytest.approx({name: expected[name] for name in bars}, abs=1e-3)
    assert "No error, no warning. After ␣crane, ␣ate goes from <0.001 to 0.50" in shown.sentence
    assert shown.status == ""
    assert shown.query == "?mask=false"


@pytest.mark.thorough
def test_the_word_is_typed_or_picked_and_may_be_several_tokens(exhibit, crane):
    shown = exhibit("mask", **SETTINGS, context={"has_touch": True})
    shown.element.get_by_role("button", name="tower").tap()
    expected = table(crane, NIGHT, NIGHT.replace("city", "tower"), True)
    assert numbers(shown) == [pytest.approx(row, abs=0.06) for row in expected]
    shown.element.get_by_role("textbox", name="in its place").fill("lighthouse")
    assert "the change exactly 0" in shown.sentence
    shown.element.locator(".strip button").nth(4).tap()
    shown.element.get_by_role("textbox", name="in its place").fill("light storm grew dark")
    assert "at the 4 positions before it every number is the same to the last bit" in shown.sentence
    assert shown.query == "?word=light+storm+grew+dark&at=4"
    shown.element.get_by_role("textbox", name="in its place").fill("")
    assert shown.sentence == "Type a word to put in its place."
    assert not shown.element.locator(".bars-box p").inner_text() and not shown.bars()
    shown.element.get_by_role("textbox", name="in its place").fill("the")
    assert shown.sentence == "It is the same word, so nothing changes."


@pytest.mark.thorough
def test_without_words_nothing_is_exchanged(exhibit):
    shown = exhibit("mask", **SETTINGS)
    shown.element.get_by_role("textbox", name="text", exact=True).fill("")
    assert shown.sentence == "There is no word to replace yet. Type a few."
    assert numbers(shown) == [[0]] * 5 and not shown.bars()
    assert "Replace" not in shown.element.inner_text()
