"""The exhibit of chapter 20: a query and a key are turned as the package's Llama turns them."""

from __future__ import annotations

import math

import pytest
import torch

from gpt2_edu.config import LlamaConfig
from gpt2_edu.llama import frequencies, rotate, rotation
from tests.thorough import thorough

pytestmark = pytest.mark.browser
SETTINGS = {"q": [0.9, 0.1], "k": [0.7, 0.7], "at": [3, 1], "size": 8, "base": 16, "pair": 1}


def config(base: float) -> LlamaConfig:
    return LlamaConfig(head_size=SETTINGS["size"], rope_base=base)


def scores(query: int, key: int, base: float = 16) -> list[float]:
    """The score of each pair, all of which hold the same two vectors."""
    both = torch.tensor([SETTINGS["q"], SETTINGS["k"]])  # (2, 2)
    columns = both.repeat_interleave(SETTINGS["size"] // 2, dim=1)  # all first, then all second
    q, k = rotate(columns, *rotation(config(base), torch.tensor([query, key])))
    return (q * k).view(2, -1).sum(dim=0).tolist()


def numbers(shown) -> dict[str, list[float]]:
    rows = shown.table().items()
    return {
        name: [float(cell.replace("−", "-").replace(",", "")) for cell in cells if cell]
        for name, cells in rows
    }


@pytest.mark.parametrize(
    "query, key, base", [(3, 1, 16), thorough(7, 5, 16), thorough(5, 1, 16), (1, 30, 10_000)]
)
def test_scores_are_those_of_the_package(exhibit, query, key, base):
    shown = exhibit("rotation", query={"query": query, "key": key, "base": base}, **SETTINGS)
    found = numbers(shown)
    expected = scores(query, key, base)
    for i, angle in enumerate(frequencies(config(base)).tolist()):
        assert found[f"pair {i}"][0] == pytest.approx(angle, abs=1e-3)
        assert found[f"pair {i}"][1] == pytest.approx(2 * math.pi / angle, rel=0.01)
        assert found[f"pair {i}"][2] == pytest.approx(expected[i], abs=1e-3)
    assert found["mean"] == pytest.approx([sum(expected) / 4], abs=1e-3)
    assert f"the score is {expected[1]:.4f}".replace("-", "−") in shown.sentence
    assert ("mask hides it" in shown.sentence) == (key > query)


@pytest.mark.thorough
def test_the_score_stays_when_both_move_and_changes_when_one_does(exhibit):
    shown = exhibit("rotation", **SETTINGS)
    shown.element.get_by_label("move both together").check()
    shown.slide("position of the query", 7)
    assert shown.query == "?query=7&key=5&both=true"
    assert shown.sentence.endswith("as before. The score stays at 0.8494.")
    shown.slide("position of the key", 31)  # the query would be beyond the last position
    assert shown.query == "?query=32&key=30&both=true"
    shown.element.get_by_label("move both together").uncheck()
    shown.slide("position of the query", 5)
    shown.slide("position of the key", 1)
    assert "4 positions apart: the score goes from" in shown.sentence
    assert shown.sentence.endswith("to 0.2179.")


@pytest.mark.parametrize("touch", [thorough(False), True])
def test_a_tip_goes_to_the_position_at_which_its_arrow_points_there(exhibit, touch):
    context = {"viewport": {"width": 390, "height": 844}, "has_touch": True} if touch else {}
    shown = exhibit("rotation", context=context, **SETTINGS)
    plane = shown.element.locator(".arrows")
    plane.scroll_into_view_if_needed()
    box = plane.bounding_box()

    def place(position: float) -> tuple[float, float]:
        """Where on the screen the key's tip is: 1.25 units from the middle are half a side."""
        angle = math.atan2(0.7, 0.7) + 0.5 * position
        x, y = (math.hypot(0.7, 0.7) * way(angle) for way in (math.cos, math.sin))
        half = box["width"] / 2
        return box["x"] + half * (1 + x / 1.25), box["y"] + half * (1 - y / 1.25)

    shown.drag(place(1), place(4.2), touch=touch)
    assert shown.query == "?key=4"
