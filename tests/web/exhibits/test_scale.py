"""Models to scale: the page is told of the package's models, and one camera shows them.

web/test/scale.test.mjs has what is drawn: areas before and after the camera, and labels.
"""

from __future__ import annotations

import re
from math import prod

import pytest

from gpt2_edu import GPT2, GPT2Config, flops
from gpt2_site import scale

pytestmark = pytest.mark.browser
LAST = len(scale.MODELS) - 1
STOPS = (-1, *range(LAST + 1))
PLATES = """async (_, models) => {
  const { placed } = await import("/web/scale/world.mjs");
  return placed(models).map(({ model, floors }) =>
    floors.flat().map(({ w, d, numbers, name, shape }) => [w * d, numbers, name, shape]),
  );
}"""
BOXES = """(element) => [...element.querySelectorAll(".scale-names span:not(.gone)")].map((one) => {
  const { left, right, top, bottom } = one.getBoundingClientRect();
  const size = Math.min(...[...one.children].map((e) => parseFloat(getComputedStyle(e).fontSize)));
  return [one.textContent, left, right, top, bottom, size, one.scrollWidth <= one.clientWidth];
})"""
# Of a strip through the middle of the canvas: how many points are drawn, and have a colour.
DRAWN = """(element) => {
  const canvas = element.querySelector("canvas");
  const { data } = canvas.getContext("2d").getImageData(0, canvas.height / 2, canvas.width, 1);
  const points = Array.from({ length: canvas.width }, (_, i) => data.slice(4 * i, 4 * i + 4));
  const drawn = points.filter(([, , , a]) => a);
  return [drawn.length, drawn.filter(([r, , b]) => Math.abs(r - b) > 24).length];
}"""
POLYGONS = """(element) =>
  element.querySelector("canvas").drawing().querySelectorAll("polygon").length"""
STAGE = """(stage) => {
  const { left, top, right, bottom } = stage.getBoundingClientRect();
  return [left, top, right, bottom];
}"""


@pytest.fixture
def shown(exhibit):
    def show(context=None, **more):
        context = {"reduced_motion": "reduce"} | (context or {})
        return exhibit("scale", context=context, **scale.settings() | more)

    return show


def test_every_matrix_has_the_area_of_its_numbers(shown):
    shown = shown()
    models = scale.settings()["models"]
    buildings = shown.element.evaluate(PLATES, models)
    for (_, config), plates in zip(scale.MODELS.items(), buildings, strict=True):
        assert len(plates) == 5 * config.n_layer + 3
        assert sum(area for area, *_ in plates) == pytest.approx(flops.num_parameters(config))
        for area, numbers, name, told in plates:
            sides = [int(side.replace(",", "")) for side in re.findall(r"[\d,]+", told)]
            assert area == pytest.approx(prod(sides)) and numbers == prod(sides), name


def test_the_shapes_and_values_are_those_of_the_crane_itself(shown):
    crane = GPT2.from_pretrained("crane")
    told = {
        f"{s[0]:,} × {s[1]:,}"
        for s in (p.shape for p in GPT2(GPT2Config.preset("crane")).parameters())
        if len(s) == 2
    }
    one = shown(zoom=-1)
    models = scale.settings()["models"]
    plates = one.element.evaluate(PLATES, models)[0]
    assert {shape for *_, shape in plates if "×" in shape} == told
    label = one.element.locator(".scale-names .name:not(.gone)").inner_text()
    block, row, column, value = re.search(
        r"h\.(\d) attn\.c_attn\[(\d+), (\d+)\] = (\S+)", label
    ).groups()
    weight = crane.transformer.h[int(block)].attn.c_attn.weight[int(row), int(column)].item()
    assert float(value.replace("−", "-")) == pytest.approx(weight, abs=6e-5)
    assert one.sentence.startswith("One of the 742,528 numbers of the crane")


@pytest.mark.thorough
@pytest.mark.parametrize("width", [1280, 390])
def test_names_can_be_read_and_none_lies_over_another(shown, width):
    one = shown({"viewport": {"width": width, "height": 844}})
    for zoom in STOPS:
        one.set(zoom=zoom)
        one.rest()
        boxes = one.element.evaluate(BOXES)
        assert boxes
        left, top, right, bottom = one.element.locator(".scale-stage").evaluate(STAGE)
        for i, (text, x, u, y, v, size, fits) in enumerate(boxes):
            assert size >= 12 and fits, text
            assert left <= x and u <= right and top <= y and v <= bottom, text
            for other, ox, ou, oy, ov, *_ in boxes[i + 1 :]:
                assert u <= ox or ou <= x or v <= oy or ov <= y, (zoom, text, other)


@pytest.mark.thorough
def test_slider_buttons_and_keys_go_from_model_to_model(shown):
    one = shown()
    slider = one.element.get_by_role("slider")
    assert slider.input_value() == str(LAST)
    one.element.get_by_role("button", name="GPT-2 XL").click()
    assert one.sentence.startswith("GPT-2 XL: 1,557,611,200 numbers in 48 blocks")
    assert slider.input_value() == "2"
    one.press("-")
    assert "football" in one.sentence and slider.input_value() == str(LAST)
    one.press("+", "+", "+")
    assert one.sentence.startswith("The crane: 742,528") and slider.input_value() == "0"
    one.press("+")
    assert slider.input_value() == "-1"
    one.slide("zoom", 1.5)
    assert one.query == "?zoom=1.5"
    one.element.get_by_role("button", name="further away").click()
    assert slider.input_value() == "2"
    table = one.table()
    assert table["GPT-3"][2] == "174,604,259,328" and len(table) == len(scale.MODELS)


@pytest.mark.thorough
def test_the_picture_turns_and_names_what_is_pointed_at(shown):
    one = shown(zoom=1)
    stage = one.element.locator(".scale-stage")
    before = one.element.locator("canvas").screenshot()
    box = stage.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    one.drag((x, y), (x + 100, y + 10))
    assert one.query == "?turn=30&tilt=2"
    assert one.element.locator("canvas").screenshot() != before
    stage.focus()
    one.press("ArrowLeft", "ArrowUp")
    assert one.query == "?turn=20&tilt=-3"
    told = one.element.locator(".scale-told")
    one.press("Enter")
    assert told.inner_text() == (
        "GPT-2 124M: h.11 attn.c_attn, 2,304 × 768, 1.77 million parameters"
    )
    one.press("Enter", "Enter")
    assert "h.11 mlp.c_fc, 3,072 × 768, 2.36 million" in told.inner_text()
    one.press("Escape")
    assert told.inner_text() == ""
    one.page.mouse.move(x, y)
    one.page.wait_for_function("document.querySelector('.scale-told').textContent !== ''")
    assert told.inner_text().startswith("GPT-2 124M: ")
    one.page.mouse.wheel(0, 300)  # the stage has the focus: else the page scrolls
    one.page.wait_for_function("document.querySelector('gpt2-scale input').value > 1.05")
    one.element.get_by_role("button", name="reset").click()
    assert one.query == ""


@pytest.mark.thorough
def test_it_is_there_in_other_colours_and_can_be_taken_along(shown):
    one = shown(zoom=2)
    drawn, coloured = one.element.evaluate(DRAWN)
    assert drawn > 900 and coloured > 100
    assert 500 < one.element.evaluate(POLYGONS) < 2500
    for other in ({"forced_colors": "active"}, {"forced_colors": "none", "media": "print"}):
        one.page.emulate_media(**other)
        one.page.wait_for_timeout(100)
        drawn, coloured = one.element.evaluate(DRAWN)
        assert 100 < drawn < 900 and coloured == 0, "faces with outlines, and no ground"
    one.page.emulate_media(media="screen")


@pytest.mark.thorough
def test_play_moves_without_a_jump_and_ends_at_the_largest(exhibit):
    one = exhibit("scale", context={"clock": True}, **scale.settings())
    one.element.get_by_role("button", name="play").click()
    one.page.clock.run_for(20)
    values = [float(one.element.get_by_role("slider").input_value())]
    assert values[0] < -0.5
    while one.element.get_by_role("button", name="stop").count():
        one.page.clock.run_for(200)
        values.append(float(one.element.get_by_role("slider").input_value()))
    assert values == sorted(values) and len(set(values)) > 5
    assert "football" in one.sentence
