"""The other exhibit of chapter 7: one unit is dragged along GELU, and the pass goes on with it."""

from __future__ import annotations

import re

import pytest

from tests.thorough import thorough

pytestmark = pytest.mark.browser
MARSH, CITY = "In the marsh, the crane", "In the city, the crane"


@pytest.fixture
def units(exhibit):
    def show(**more):
        return exhibit(
            "units", **{"text": MARSH, "block": "1", "unit": 304, "chips": [CITY]} | more
        )

    return show


def unit(shown) -> tuple[int, float, float]:
    """Its number, what goes into GELU and what comes out."""
    found = re.search(r"Unit (\d+): GELU\((−?[\d.]+)\) = (−?[\d.]+),", shown.sentence)
    return (int(found[1]), *(float(found[i].replace("−", "-")) for i in (2, 3)))


def pushed(crane, number: int, by: float, text: str = MARSH, block: int = 1, at: int = -1):
    """Python's tape of a pass in which this much is added to the unit's input."""

    def push(x):
        x = x.clone()
        x[:, at, number] += by
        return x

    return crane.trace(text, {f"transformer.h.{block}.mlp.pre": push})


@pytest.mark.parametrize(
    ("number", "by", "block"), [(304, 10.8, 1), thorough(17, -3, 0), thorough(500, 2.5, 2)]
)
def test_the_pass_goes_on_as_in_python(units, crane, number, by, block):
    shown = units(query={"unit": str(number), "push": str(by), "block": str(block)})
    tape = pushed(crane, number, by, block=block)
    pre, act = (tape[f"transformer.h.{block}.mlp.{part}"][0, -1, number] for part in ("pre", "act"))
    assert unit(shown) == pytest.approx((number, pre.item(), act.item()), abs=6e-3)
    every = crane.next(tape["logits"], 1024)
    assert shown.bars() == pytest.approx({n: every[n] for n in shown.bars()}, abs=1e-3)


def test_the_dot_is_dragged_along_the_curve(units):
    shown = units()
    box = shown.element.locator(".plot").bounding_box()
    left, wide = box["x"] + box["width"] * 44 / 340, box["width"] * 286 / 340
    y = box["y"] + box["height"] / 2
    shown.drag((left + 0.1 * wide, y), (left + 0.75 * wide, y))
    number, pre, act = unit(shown)
    assert (
        number == 304 and pre == pytest.approx(3, abs=0.1) and act == pytest.approx(pre, abs=0.02)
    )
    assert "␣ate goes from 0.528 to 0.5" in shown.sentence
    assert shown.element.locator(".bar.moved").count() > 0


def test_a_click_on_the_field_chooses_a_unit(units, crane):
    shown = units(query={"push": "3"})
    canvas = shown.element.locator("canvas")
    box = canvas.bounding_box()
    column, row = 5, 9
    place = {"x": (column + 0.5) * box["width"] / 32, "y": (row + 0.5) * box["height"] / 16}
    canvas.click(position=place)
    number = row * 32 + column
    tape = crane.trace(MARSH)
    pre, act = (tape[f"transformer.h.1.mlp.{part}"][0, -1, number] for part in ("pre", "act"))
    assert unit(shown) == pytest.approx((number, pre.item(), act.item()), abs=6e-3)
    assert shown.query == f"?unit={number}"  # it is as it was
    painted = "(canvas) => [...canvas.getContext('2d').getImageData(0, 0, 288, 144).data].join()"
    before = canvas.evaluate(painted)
    shown.element.locator(".strip button").first.click()
    shown.ready()
    assert canvas.evaluate(painted) != before


@pytest.mark.thorough
def test_the_field_is_painted_again_in_another_theme(units):
    shown = units()
    colour = "(c) => [...c.getContext('2d').getImageData(4, 4, 1, 1).data].slice(0, 3)"
    light = shown.element.locator("canvas").evaluate(colour)
    shown.page.evaluate("document.documentElement.dataset.theme = 'dark'")
    shown.ready()
    assert shown.element.locator("canvas").evaluate(colour) != light
