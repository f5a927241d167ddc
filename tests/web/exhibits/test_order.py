"""The exhibit of chapter 2: words in another order, with and without positions and mask."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from gpt2_edu import trace

pytestmark = pytest.mark.browser
CITY = "In the city by the river, the crane"
FRONT = [3, 1, 2, 4, 5, 6, 7, 8]  # ␣city before In


def edits(crane, positions: bool, mask: bool) -> dict[str, Any]:
    """What switches the two off in Python."""
    still = {} if positions else {"pos_emb": torch.zeros_like}
    return still if mask else still | crane.unmasked()


def logits(crane, order: list[int] | None, positions: bool = True, mask: bool = True):
    ids = crane.ids(CITY)
    if order:
        ids = [ids[0], *(ids[place] for place in order), ids[-1]]
    with trace(crane.model, edits=edits(crane, positions, mask)) as tape, torch.no_grad():
        crane.model(torch.tensor([ids]))
    return tape["logits"]


def test_bars_and_the_four_changes_are_pythons(exhibit, crane):
    shown = exhibit("order", text=CITY, query={"order": " ".join(map(str, FRONT))})
    assert shown.tokens()[:4] == ["⟨start⟩", "␣city", "In", "␣the"]
    expected = crane.next(logits(crane, FRONT), 1024)
    bars = shown.bars()
    assert bars == pytest.approx({name: expected[name] for name in bars}, abs=1e-3)
    cells = [[float(cell) for cell in row] for row in shown.cells()]
    for row, positions in zip(cells, (True, False), strict=True):
        for cell, mask in zip(row, (True, False), strict=True):
            both = [logits(crane, order, positions, mask)[0, -1] for order in (FRONT, None)]
            change = (both[0].softmax(-1) - both[1].softmax(-1)).abs().max().item()
            assert cell == pytest.approx(change, abs=1e-3)
    assert re.match(r"Positions and the mask tell the order: ␣ate goes from 0.17\d", shown.sentence)


@pytest.mark.thorough
def test_with_both_off_no_bar_moves_whatever_the_order(exhibit, crane):
    shown = exhibit("order", text=CITY)
    assert shown.sentence == "As typed, ␣lifted comes next with 0.25. Move a word."
    for name in ("positions", "causal mask"):
        shown.element.get_by_role("checkbox", name=name).uncheck()
    before = shown.bars()
    expected = crane.next(logits(crane, None, False, False), 1024)
    assert before == pytest.approx({name: expected[name] for name in before}, abs=1e-3)
    orders = [shown.tokens()]
    for _ in range(3):
        shown.element.get_by_role("button", name="shuffle").click()
        orders.append(shown.tokens())
        assert shown.bars() == before
        assert shown.element.locator(".moved").count() == 0
    assert len(set(map(tuple, orders))) > 1
    assert shown.sentence.startswith("Without positions and without the mask no bar moves")
    shown.element.get_by_role("checkbox", name="causal mask").check()
    shown.element.get_by_role("button", name="as typed").click()
    assert "As typed" in shown.sentence
    assert shown.query == "?positions=false"


@pytest.mark.thorough
@pytest.mark.parametrize("touch", [False, True])
def test_words_are_dragged_and_the_last_stays(exhibit, touch):
    shown = exhibit("order", text=CITY, context={"has_touch": touch})
    buttons = shown.element.locator(".strip button")

    def drag(start: int, end: int) -> list[str]:
        shown.rest()
        boxes = [buttons.nth(i).bounding_box() for i in (start, end)]
        places = [(b["x"] + b["width"] / 2, b["y"] + 20) for b in boxes]
        return shown.drag(*places, touch).tokens()

    assert drag(3, 1)[:4] == ["⟨start⟩", "␣city", "In", "␣the"]
    assert shown.query == "?order=3+1+2+4+5+6+7+8"
    back = 1, 4
    if not touch:  # the rest is the same for a finger
        back = 2, 4
        assert drag(9, 2)[-1] == "␣crane" and drag(2, 0)[:2] == ["⟨start⟩", "In"]
        assert drag(1, 9)[-2:] == ["In", "␣crane"] and drag(8, 1)[1] == "In"
        assert drag(2, 3) == drag(5, 5)
        assert shown.element.locator("[style*=translate]").count() == 0
    assert drag(*back)[:4] == ["⟨start⟩", "In", "␣the", "␣city"] and "As typed" in shown.sentence
    assert shown.element.locator(".strip .fixed b").all_inner_texts() == ["⟨start⟩", "␣crane"]
    positions = shown.element.get_by_role("checkbox", name="positions")
    (positions.tap if touch else positions.click)()
    assert shown.query == "?positions=false"
