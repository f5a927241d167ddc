"""Models to scale: areas are the numbers of the package's models, and one camera shows them."""

from __future__ import annotations

import re

import pytest

from gpt2_edu import GPT2, GPT2Config, flops
from gpt2_site import scale

pytestmark = pytest.mark.browser
LAST = len(scale.MODELS) - 1
AREAS = """model => [...model.querySelectorAll("rect")].map((rect) => {
  const { width, height } = rect.getBBox();
  return [rect.querySelector("title").textContent, width * height];
})"""


@pytest.fixture
def shown(exhibit):
    def show(**more):
        return exhibit("scale", context={"reduced_motion": "reduce"}, **scale.settings(), **more)

    return show


def test_every_matrix_has_the_area_of_its_numbers(shown):
    shown = shown()
    for nth, (name, config) in enumerate(scale.MODELS.items()):
        areas = shown.element.locator(".model").nth(nth).evaluate(AREAS)
        assert len(areas) == 5 * config.n_layer + 3
        assert sum(area for _, area in areas) == pytest.approx(flops.num_parameters(config), 1e-4)
        for told, area in areas:
            shape = re.search(r"([\d,]+) (?:× ([\d,]+)|numbers)$", told)
            sides = [int(side.replace(",", "")) for side in shape.groups() if side]
            assert area == pytest.approx(sides[0] * (sides[1:] or [1])[0], 1e-3), told
            assert told.startswith(name)


def test_the_shapes_are_those_of_the_crane_itself(shown):
    told = {
        f"{s[0]:,} × {s[1]:,}"
        for s in (p.shape for p in GPT2(GPT2Config.preset("crane")).parameters())
        if len(s) == 2
    }
    titles = shown().element.locator(".model >> nth=0").locator("title").all_text_contents()
    drawn = [title.rpartition(": ")[2].split(", ", 1)[1] for title in titles]
    assert {shape for shape in drawn if "×" in shape} == told


@pytest.mark.thorough
def test_a_square_pixel_is_what_the_line_says(shown):
    """On the screen, at both ends."""
    for zoom in (0, LAST):
        one = shown(zoom=zoom)
        box = one.element.locator(".model >> nth=0").bounding_box()
        pixels = box["width"] * box["height"]
        line = one.element.locator(".scale-line").inner_text()
        here, covered = re.search(r"is ([\d,.]+) .*covers ([\d.]+)( thousand)?", line).group(1, 2)
        thousand = 1000 if "thousand" in line else 1
        numbers = flops.num_parameters(scale.MODELS["the crane"])
        assert pixels == pytest.approx(float(covered) * thousand, rel=0.02)
        if zoom:
            assert numbers / pixels == pytest.approx(float(here.replace(",", "")), rel=0.05)


def test_slider_buttons_and_keys_go_from_model_to_model(shown):
    one = shown()
    slider = one.element.get_by_role("slider")
    one.element.get_by_role("button", name="GPT-2 XL").click()
    assert one.sentence.startswith("GPT-2 XL: 1,557,611,200 numbers in 48 blocks")
    assert slider.input_value() == "2"
    one.press("-")
    assert "football" in one.sentence and slider.input_value() == str(LAST)
    one.press("+", "+", "+")
    assert one.sentence.startswith("The crane: 742,528") and slider.input_value() == "0"
    one.slide("zoom", 1.5)
    assert one.query == "?zoom=1.5"
    table = one.table()
    assert table["GPT-3"][2] == "174,604,259,328" and len(table) == len(scale.MODELS)


@pytest.mark.thorough
def test_play_moves_without_a_jump_and_ends_at_the_largest(exhibit):
    one = exhibit("scale", context={"clock": True}, **scale.settings())
    one.element.get_by_role("button", name="play").click()
    values = [float(one.element.get_by_role("slider").input_value())]
    while one.element.get_by_role("button", name="stop").count():
        one.page.clock.run_for(200)
        values.append(float(one.element.get_by_role("slider").input_value()))
    assert values == sorted(values) and len(set(values)) > 5
    assert "football" in one.sentence
