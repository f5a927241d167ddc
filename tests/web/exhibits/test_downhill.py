"""The exhibit of chapter 2: a model of one or two numbers, trained as PyTorch would."""

from __future__ import annotations

import math

import pytest
import torch

from tests.thorough import thorough

pytestmark = pytest.mark.browser
PLACE = torch.tensor([1.0] * 4 + [-1.0] * 4, dtype=torch.float64)
ATE = torch.tensor([1, 1, 1, 0, 1, 0, 0, 0], dtype=torch.float64)
SETTINGS = {
    "start": [2, -1],
    "rate": 2,
    "places": ["in the marsh", "in the city"],
    "counts": [{"place": 1, "ate": 3, "lifted": 1}, {"place": -1, "ate": 1, "lifted": 3}],
}


def descent(start: list[float], steps: int, rate: float, *, both: bool) -> list[list[float]]:
    """First number, second number, loss, after each step."""
    numbers = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    may_change = torch.tensor([1.0, float(both)])
    found = []
    for _ in range(steps + 1):
        scores = numbers[0] + numbers[1] * PLACE
        loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, ATE)
        found.append([*numbers.tolist(), loss.item()])
        (slope,) = torch.autograd.grad(loss, numbers)
        with torch.no_grad():
            numbers -= rate * slope * may_change
    return found


@pytest.mark.parametrize("both", [thorough(False), True])
def test_paths_are_those_of_autograd(exhibit, both):
    query = {"numbers": "two" if both else "one", "steps": "30", "rate": "3", "a": "-1.5"}
    expected = descent([-1.5, -1 if both else 0], 30, 3, both=both)
    rows = exhibit("downhill", query=query, **SETTINGS).table()
    assert list(rows) == ["0", "10", "20", "30"]
    for step, cells in rows.items():
        found = [float(cell.replace("−", "-")) for cell in cells]
        assert found == pytest.approx(expected[int(step)], abs=6e-4)


def test_one_number_cannot_tell_the_places_apart_and_two_can(exhibit):
    shown = exhibit("downhill", query={"steps": "100"}, **SETTINGS)
    assert f"the loss is {math.log(2):.3f}, as low as one number gets" in shown.sentence
    assert shown.bars() == {"in the marsh": 0.5, "in the city": 0.5}
    shown.element.get_by_role("button", name="two").click()
    assert shown.bars() == {"in the marsh": 0.75, "in the city": 0.25}
    assert "the loss is 0.562, as low as it gets" in shown.sentence


def test_the_sum_in_the_sentence_holds(exhibit):
    shown = exhibit("downhill", **SETTINGS)
    assert shown.sentence.endswith("leads to 2.00 − 2 · 0.381 = 1.24.")
    shown.slide("learning rate", math.log10(20))
    shown.slide("steps", 1)
    assert shown.sentence.endswith("went too far, and the loss rose: the rate is too high.")


def test_the_start_moves_by_keys_and_by_pointer(exhibit):
    shown = exhibit("downhill", query={"numbers": "two", "steps": "5"}, **SETTINGS)
    shown.tab_to("svg[role=application]")
    shown.press("ArrowLeft", "ArrowUp")
    assert shown.query == "?numbers=two&a=1.9&b=-0.9"
    box = shown.element.locator("svg[role=application]").bounding_box()
    shown.page.mouse.click(box["x"] + box["width"] / 3, box["y"] + box["height"] / 3)
    assert "a=1.9" not in shown.ready().query and "steps" not in shown.query
