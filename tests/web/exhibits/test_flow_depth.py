"""The picture of the whole: depth in one scale, where one is, and products that are added."""

from __future__ import annotations

import re

import pytest
import torch

from gpt2_site import one_pass

pytestmark = pytest.mark.browser
TEXT = "In the marsh, the crane"
SETTINGS = one_pass.settings()
DEEP = "(e) => Number(e.getAttribute('d').match(/l([\\d.]+)/)[1])"
MADE = "document.querySelectorAll('.flow-picture image[href]').length === %d"


@pytest.fixture
def picture(exhibit):
    return lambda **more: exhibit("flow", **{**SETTINGS, **more})


@pytest.fixture
def still_picture(still):
    return lambda **more: still("flow", **{**SETTINGS, **more})


@pytest.mark.thorough
@pytest.mark.parametrize("width", [1280, 390])
def test_an_mlp_is_four_times_as_deep_as_a_vector_and_heads_part_it(still_picture, width):
    shown = still_picture(context={"viewport": {"width": width, "height": 900}})
    vectors = shown.element.locator(".lid").evaluate_all(f"all => all.map({DEEP})")
    mlps = shown.element.locator(".mlp .top").evaluate_all(f"all => all.map({DEEP})")
    assert len(vectors) == 7 * 7 and len(mlps) == 3 * 7
    assert {round(mlp / vector, 3) for mlp in mlps for vector in vectors} == {4.0}
    assert shown.element.locator(".slices").count() == 3 * 7
    ends = ["0", "0.25", "0.25", "0.5", "0.5", "0.75", "0.75", "1"]
    found = shown.element.locator("#flow-heads stop").evaluate_all(
        "all => all.map((e) => e.getAttribute('offset'))"
    )
    assert found == ends


def test_words_do_not_lie_over_an_mlp_on_a_phone(still_picture):
    shown = still_picture(context={"viewport": {"width": 390, "height": 844}})
    met = shown.element.evaluate("""(element) => {
      const [words, mlps] = [".word", ".mlp"].map((name) =>
        [...element.querySelectorAll(name)].map((e) => e.getBoundingClientRect()));
      const meet = (a, b) =>
        a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top < a.bottom - 3;
      return [words.length, mlps.length, words.filter((a) => mlps.some((b) => meet(a, b))).length];
    }""")
    assert met == [7, 3 * 7, 0]


@pytest.mark.thorough
def test_what_works_has_the_light_while_a_pass_plays(picture):
    shown = picture()
    shown.element.evaluate("""(e) => {
      window.lit = [];
      const veil = e.querySelector(".flow-veil");
      new MutationObserver(() => {
        const lit = [...e.querySelectorAll(".on")].map((one) => one.dataset.when);
        window.lit.push([veil.dataset.says, lit.length, [...new Set(lit)]]);
      }).observe(veil, { attributeFilter: ["data-says"] });
    }""")
    shown.element.get_by_role("button", name="play", exact=True).click()
    shown.page.wait_for_function("window.lit.at(-1)?.[0] === '' && window.lit.length > 3")
    lit = {says: (count, of) for says, count, of in shown.page.evaluate("window.lit")}
    assert lit["block 1: gather"] == (2, ["block 1: gather"])  # c_attn and c_proj
    assert lit["block 1: think"] == (2 + 7, ["block 1: think"])
    assert lit[""] == (0, [])


@pytest.mark.thorough
def test_a_block_is_drawn_to_scale_with_pythons_numbers(still_picture, crane):
    shown = still_picture(query={"place": "1"})
    shown.element.hover()
    plates = shown.ready().element.locator(".brick .tile")
    sizes = plates.evaluate_all(
        "all => all.map((e) => [e.width.baseVal.value, e.height.baseVal.value])"
    )
    side = sizes[0][1]
    assert [[round(n / side, 3) for n in size] for size in sizes] == [
        [3, 1],
        [1, 1],
        [4, 1],
        [4, 1],
    ]
    vectors = shown.element.locator(".vectors rect").evaluate_all(
        "all => all.map((e) => [e.width.baseVal.value, e.height.baseVal.value])"
    )
    flat = [sorted(round(128 * n / side) for n in size) for size in vectors]
    assert flat == [[7, 128]] * 7 + [[7, 512], [7, 128]]
    shown.page.wait_for_function(MADE % (9 + 6))  # q, k and v apart
    pixels = """async (image) => {
      const one = new Image();
      one.src = image.getAttribute("href");
      await one.decode();
      const { width, height } = one;
      const canvas = Object.assign(document.createElement("canvas"), { width, height });
      const context = canvas.getContext("2d");
      context.drawImage(one, 0, 0);
      const { data } = context.getImageData(0, 0, width, height);
      return [width, height, [...data].filter((_, i) => i % 4 === 3)];
    }"""
    trace = crane.trace(TEXT)
    of = "transformer.h.1."
    expected = {
        1: trace[f"{of}attn.q"][0].transpose(0, 1).flatten(1),
        7: trace[f"{of}mlp.act"][0],
        8: trace[f"{of}mlp.out"][0].T,
    }
    for nth, tensor in expected.items():
        image = shown.element.locator(".vectors image").nth(nth)
        width, high, alphas = image.evaluate(pixels)
        assert (high, width) == tensor.shape, nth
        full = 2.5 * tensor.square().mean().sqrt()
        shade = 255 * (tensor.abs() / full).clamp(max=1).flatten()
        assert torch.tensor(alphas).sub(shade).abs().max() < 1.5, nth
    label = "h.1.attn.c_attn, v of head 1.2: 128 × 32 weights: open them"
    shown.element.get_by_role("button", name=label).dispatch_event("click")
    assert shown.ready().element.locator(".flow-crumbs").inner_text().endswith("v, ␣crane")
    shown.element.locator(".flow-crumbs button").first.click()
    shown.page.wait_for_function(MADE % 20)
    shown.element.locator(".sharp").wait_for()  # no image in few pixels stays on them


PRODUCT = {"place": "1.0.6.3.16"}


def products(crane) -> torch.Tensor:
    tape = crane.trace(TEXT)
    q, k = (tape[f"transformer.h.1.attn.{name}"][0, 0] for name in "qk")
    return q[6] * k[3]


def number(text: str) -> float:
    return float(text.replace("−", "-"))


@pytest.mark.thorough
def test_products_are_added_one_after_another(picture, crane):
    shown = picture(query=PRODUCT, context={"speed": 1})
    sums = products(crane).cumsum(0)
    summed = shown.element.locator(".summed")
    assert number(summed.text_content()) == pytest.approx(sums[-1].item(), abs=0.00501)
    shown.element.evaluate("""(e) => {
      window.sums = [];
      const read = () => {
        const [a, b] = e.querySelector(".product").querySelectorAll("tspan");
        const state = [e.querySelectorAll(".later").length, a.textContent, b.textContent];
        sums.push([...state, e.querySelector(".summed").textContent]);
      };
      const all = { subtree: true, childList: true, characterData: true };
      new MutationObserver(read).observe(e.querySelector(".flow-picture"), all);
    }""")
    play = shown.element.get_by_role("button", name="play", exact=True)
    began = shown.page.evaluate("performance.now()")
    play.click()
    shown.page.wait_for_function(
        "window.sums.length > 3 && document.querySelector('.flow-play').dataset.is === 'play'"
    )
    assert shown.page.evaluate("performance.now()") - began < 20_000  # 4 s where nothing else runs
    seen = {31 - later: sums for later, *sums in shown.page.evaluate("window.sums") if later}
    assert len(seen) > 3
    tape = crane.trace(TEXT)
    q, k = (tape[f"transformer.h.1.attn.{name}"][0, 0] for name in "qk")
    for nth, (first, second, told) in seen.items():
        assert number(first) == pytest.approx(q[6, nth].item(), abs=0.00501)
        assert number(second) == pytest.approx(k[3, nth].item(), abs=0.00501)
        assert number(told) == pytest.approx(sums[nth].item(), abs=0.00501)
    assert number(summed.text_content()) == pytest.approx(sums[-1].item(), abs=0.00501)
    assert shown.element.locator(".later").count() == 0 and "place=1.0.6.3.16" in shown.query


def test_who_wants_nothing_to_move_sees_the_sum_and_steps_through_it(picture, crane):
    shown = picture(query=PRODUCT, context={"reduced_motion": "reduce"})
    sums = products(crane).cumsum(0)
    summed = shown.element.locator(".summed")
    assert number(summed.text_content()) == pytest.approx(sums[-1].item(), abs=0.00501)
    play = shown.element.get_by_role("button", name="play", exact=True)
    for nth in range(3):
        play.press("Enter")
        assert number(summed.text_content()) == pytest.approx(sums[nth].item(), abs=0.00501)
    shown.element.get_by_role("button", name="the next product").press("Enter")
    shown.ready()
    assert number(summed.text_content()) == pytest.approx(sums[-1].item(), abs=0.00501)


@pytest.mark.thorough
@pytest.mark.parametrize("place", ["1", "1.0.6.3.16", "2.mlp.5"])
def test_the_whole_stands_beside_a_deeper_level_and_leads_back(still_picture, place):
    shown = still_picture()
    shown.element.hover()
    inset = shown.element.get_by_role("button", name="the whole picture")
    assert inset.count() == 0  # hidden
    shown.set(place=place)
    inset.wait_for()
    part = shown.element.locator(".flow-inset").evaluate("""(e) => {
      const { x, width } = e.querySelector(".here").getBoundingClientRect();
      const rooms = [...e.querySelectorAll(".place")].map((one) => one.getBoundingClientRect());
      return rooms.map(({ left, right }) => left < x + width / 2 && x + width / 2 < right);
    }""")
    assert [i for i, inside in enumerate(part) if inside] == [int(place[0]) + 1]
    covers = shown.element.evaluate("""(e) => {
      const box = e.querySelector(".flow-inset").getBoundingClientRect();
      return box.bottom > e.querySelector(".flow-stage").getBoundingClientRect().top;
    }""")
    assert not covers  # no label is under it
    inset.press("Enter")
    assert "place" not in shown.query and inset.count() == 0
    assert shown.element.locator(".token").count() == 7


@pytest.mark.thorough
def test_the_whole_is_in_the_corner_of_what_is_zoomed(still_picture):
    shown = still_picture()
    shown.element.hover()
    inset = shown.element.get_by_role("button", name="the whole picture")
    shown.element.get_by_role("button", name="zoom in").click()
    inset.wait_for()
    box = "document.querySelector('.flow-picture').getAttribute('viewBox')"
    here = "['x', 'width'].map((n) => document.querySelector('.here').getAttribute(n)).map(Number)"
    wide = shown.element.locator(".flow-picture").evaluate("e => e.clientWidth") / 2.2
    shown.page.wait_for_function(f"Math.abs({box}.split(' ')[2] - {wide}) < 1")
    x, _, width, _ = map(float, shown.page.evaluate(box).split(" "))
    assert shown.page.evaluate(here) == pytest.approx([max(4, x), width])
    inset.click()
    shown.page.wait_for_function(f"{box}.startsWith('0 0 ')")
    assert inset.count() == 0


@pytest.mark.thorough
def test_a_phone_has_the_way_back_in_words_and_beside_them_the_whole(still_picture):
    shown = still_picture(
        query={"place": "1.0"}, context={"viewport": {"width": 390, "height": 844}}
    )
    words, inset = [
        shown.element.locator(name).bounding_box() for name in (".flow-crumbs", ".flow-inset")
    ]
    assert words["x"] + words["width"] <= inset["x"]
    assert words["y"] < inset["y"] and inset["height"] < words["height"]
    assert re.match(
        r"model\W+block 1\W+head 1.0", shown.element.locator(".flow-crumbs").inner_text()
    )


@pytest.mark.thorough
@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_an_opened_block_is_played_where_it_is_seen(picture, size):
    """Below a block that is higher than the window the button stays, and Space plays."""
    view = dict(zip(("width", "height"), size, strict=True))
    shown = picture(context={"viewport": view, "speed": 1})
    shown.element.get_by_role("button", name="block 1: open it").press("Enter")
    shown.rest()
    play = shown.element.get_by_role("button", name="play", exact=True)
    box = play.bounding_box()
    frame = shown.element.locator(".flow-frame").bounding_box()
    assert frame["y"] < box["y"] and box["y"] + box["height"] <= view["height"]
    assert play.evaluate("e => e === document.activeElement")
    shown.page.keyboard.press("Space")
    stop = shown.element.get_by_role("button", name="stop", exact=True)
    stop.wait_for()
    assert shown.element.locator(".flow-crumbs").inner_text().endswith("block 1")
    shown.page.keyboard.press("Escape")
    shown.ready()
    told = "document.activeElement.getAttribute('aria-label')"
    assert shown.page.evaluate(told) == "block 1: open it"


@pytest.mark.thorough
def test_a_head_is_told_in_two_lines_on_a_phone(picture):
    context = {"viewport": {"width": 390, "height": 844}, "reduced_motion": "reduce"}
    shown = picture(query={"place": "1.0"}, context=context)
    says = shown.element.locator(".flow-result > p")
    for step in range(5):
        shown.element.evaluate("(element, step) => element.state.set({ step })", step)
        shown.ready()
        assert says.evaluate("p => p.scrollHeight <= p.clientHeight"), says.inner_text()
