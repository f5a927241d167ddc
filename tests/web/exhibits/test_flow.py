"""The picture of the whole: odd texts, other models, haste."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
import torch

from gpt2_edu import GPT2, GPT2Config, Llama, LlamaConfig, trace
from gpt2_edu import crane as world
from gpt2_edu.web import save_for_page
from gpt2_site import one_pass
from tests.thorough import thorough
from tests.web.exhibits.test_own_model import TOKENIZER, choose

pytestmark = pytest.mark.browser
SETTINGS = one_pass.settings()
LONG = " ".join(world.story(seed) for seed in range(8))


TEXT = "In the marsh, the crane"


@pytest.fixture
def picture(exhibit):
    def show(**more):
        return exhibit("flow", **{**SETTINGS, **more})

    return show


@pytest.fixture
def still(still):
    """The picture of a reader who wants no motion."""
    return lambda **more: still("flow", **{**SETTINGS, **more})


def lanes(shown) -> list[str]:
    return shown.ready().element.locator(".token .name").all_text_contents()


@pytest.mark.parametrize(
    ("text", "count", "width"),
    [
        thorough("", 1, 1280),
        thorough("\u05e9\u05dc\u05d5\u05dd crane", None, 390),
        ("a \U0001f600 crane <img src=x onerror=alert(1)> <b><b>", 12, 704),
        *(thorough(LONG, 12, width) for width in (1280, 704, 390)),
    ],
    ids=["nothing", "right to left", "markup", "wide", "middle", "narrow"],
)
def test_any_text_is_drawn(still, text, count, width):
    viewport = {"viewport": {"width": width, "height": 900}}
    shown = still(query={"text": text}, context=viewport) if text else still(context=viewport)
    if not text:
        shown.element.locator("input[type=text]").fill("")
    shown.stands()
    found = lanes(shown)
    assert 0 < len(found) <= (12 if width > 700 else 7)
    if count and width > 700:
        assert len(found) == count
    if not text:
        assert "answers: 742,528 parameters" in shown.element.inner_text()
    if text == LONG:
        assert found[0].startswith("+") and "are left out" in shown.element.inner_text()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\u05e9\u05dc\u05d5\u05dd Zw\u00f6lf \U0001f600 \U0001f469\u200d\U0001f467",
        LONG,
    ],
    ids=["one token", "not in Crane World", "128 tokens"],
)
def test_any_text_is_drawn_at_every_level(still, text):
    shown = still(context={"viewport": {"width": 390, "height": 900}})
    shown.element.evaluate("(element, text) => element.state.set({ text })", text)
    shown.stands()
    if text and text != LONG:
        assert "has never read" in shown.element.inner_text()
    for place in ("1", "1.0", "1.0.0.0", "1.ln_1", "1.0.q", "1.mlp", "1.mlp.c_fc.0.1"):
        shown.element.evaluate("(element, place) => element.state.set({ place })", place)
        shown.stands()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "sizes",
    [
        {"n_layer": 1, "n_head": 1, "n_embd": 1, "block_size": 1},
        {"n_layer": 1, "n_head": 25, "n_embd": 1600, "block_size": 40},
        {"n_layer": 48, "n_head": 5, "n_embd": 20, "block_size": 40},
    ],
    ids=["least", "many heads", "many blocks"],
)
def test_models_of_other_sizes_are_drawn(still, tmp_path, sizes):
    path = tmp_path / "mine.safetensors"
    save_for_page(GPT2(GPT2Config(vocab_size=270, **sizes)), TOKENIZER, path)
    shown = still()
    choose(shown, path)
    assert shown.ready().element.locator(".room").count() == sizes["n_layer"] + 2
    places = (
        "0",
        "0.0",
        "0.0.0.0",
        "0.mlp",
        "0.mlp.0",
        "0.ln_2",
        "0.0.q.0.0",
        "0.0.q.0.0.0",
        "0.mlp.c_proj.0.0.0",
        "0.mlp.c_proj",
        "",
    )
    for place in places:
        shown.element.evaluate("(element, place) => element.state.set({ place })", place)
        shown.stands()


@pytest.mark.thorough
def test_a_llama_is_drawn_with_pythons_numbers(still, tmp_path):
    torch.manual_seed(3)
    sizes = {"n_layer": 2, "n_head": 4, "n_kv_head": 2, "n_embd": 24, "n_inner": 40}
    model = Llama(LlamaConfig(vocab_size=270, block_size=40, head_size=6, **sizes)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(8.0 if parameter.ndim > 1 else 1.0)
    path = tmp_path / "mine.safetensors"
    save_for_page(model, TOKENIZER, path)
    ids = torch.tensor([[TOKENIZER.eot_token, *TOKENIZER.encode_ordinary(TEXT)]])
    with trace(model) as tape, torch.no_grad():
        share, best = model(ids)[0][0, -1].softmax(-1).max(-1)
    shown = still()
    choose(shown, path)
    bar = shown.ready().element.locator(".next").first
    name = TOKENIZER.decode([int(best)])
    assert f" {share:.2f}" in f" {bar.get_attribute('aria-label')}", name
    attention = tape["transformer.h.1.attn.weights"][0, 3, -1]
    look = int(attention.argmax())
    for place, said in {
        "0": "head 0.0",
        "1.3": f"is {attention[look]:.3f}.",
        f"1.3.{ids.size(1) - 1}.{look}": f"the share {attention[look]:.2f}",
        "0.ln_1": "RMSNorm looks at one token at a time",
        "1.mlp": "SiLU makes",
        "1.mlp.3": "times what up_proj gives",
        "0.3.q": "24 numbers go in, 6 come out",
        "0.3.o_proj": "6 numbers go in, 24 come out",
        "0.mlp.gate_proj": "24 numbers go in, 40 come out",
        "0.mlp.up_proj": "24 numbers go in, 40 come out",
        "0.mlp.down_proj.0.5.3": "40 products sum to",
        "wte": "24 numbers go in, 270 come out",
        "": "",
    }.items():
        shown.element.evaluate("(element, place) => element.state.set({ place })", place)
        shown.stands()
        assert said in shown.sentence or place == "0", (place, shown.sentence)


@pytest.mark.parametrize(
    ("token", "name"), [(" ", "␣"), thorough("\n", "⏎"), thorough(" the", "the")]
)
def test_a_guess_that_is_no_word_is_named_too(still, tmp_path, token, name):
    torch.manual_seed(3)
    sizes = {"vocab_size": 270, "block_size": 40, "n_layer": 1, "n_head": 1, "n_embd": 24}
    model = GPT2(GPT2Config(**sizes))
    [best] = TOKENIZER.encode_ordinary(token)
    with torch.no_grad():  # whatever is read, this comes next
        model.transformer.ln_f.weight.zero_()
        model.transformer.ln_f.bias.copy_(1e4 * model.transformer.wte.weight[best])
    path = tmp_path / "mine.safetensors"
    save_for_page(model, TOKENIZER, path)
    shown = still()
    choose(shown, path)
    bar = shown.ready().element.locator(".next").first
    assert bar.locator(".name").text_content() == name
    assert bar.get_attribute("aria-label").startswith(f"{name} 1.00")
    assert shown.element.locator(".share-of").first.inner_text() == f"{name} 1.00"
    assert set(shown.element.locator(".flow-picture .word").all_text_contents()) == {name}


@pytest.mark.thorough
def test_rows_of_a_large_matrix_are_fetched_as_they_are_shown(picture, tmp_path):
    torch.manual_seed(3)
    config = GPT2Config(vocab_size=270, n_layer=1, n_head=2, n_embd=520, block_size=40)
    model, path = GPT2(config).eval(), tmp_path / "mine.safetensors"
    save_for_page(model, TOKENIZER, path)
    ids = [TOKENIZER.eot_token, *TOKENIZER.encode_ordinary(TEXT)]
    with trace(model) as tape, torch.no_grad():
        model(torch.tensor([ids]))
    made = tape["transformer.h.0.mlp.pre"][0, -1]
    shown = picture(context={"reduced_motion": "reduce"})
    choose(shown, path)
    shown.element.evaluate("element => element.state.set({ place: '0.mlp.c_fc' })")
    assert "a sample, 520 × 1,024, evenly spread" in shown.sentence
    assert "520 × 2080, a sample" in (
        shown.element.locator("svg.flow-picture").text_content() or ""
    )
    field = shown.element.get_by_role("slider", name="output")

    def shows(output: int) -> bool:
        figure = shown.element.locator(".figure").last.text_content() or ""
        return float(figure.replace("−", "-")) == pytest.approx(made[output].item(), abs=0.0051)

    largest = int(field.get_attribute("aria-valuenow") or "")
    assert largest == made.abs().argmax() and shows(largest)
    box = field.locator(".touch").bounding_box()
    x, y = box["x"] + box["width"] / 4, box["y"] + 20
    shown.page.mouse.move(x, y)
    other = "is => document.querySelector('.field').getAttribute('aria-valuenow') !== String(is)"
    shown.page.wait_for_function(other, arg=largest)
    assert shows(int(field.get_attribute("aria-valuenow") or ""))
    for _ in range(2):
        shown.page.mouse.click(x, y)
        shown.ready()
    assert shown.sentence.startswith("520 products sum to")
    place = shown.element.evaluate("element => element.state.get('place')")
    assert shows(int(place.split(".")[4]))


@pytest.mark.thorough
def test_of_two_hundred_quick_changes_the_last_one_stands(picture):
    shown = picture()
    shown.element.locator("input[type=text]").evaluate(
        """field => {
          for (let n = 0; n < 200; n++) {
            field.value = n % 2 ? "In the city, the crane" : `In the marsh ${n}`;
            field.dispatchEvent(new Event("input"));
          }
        }"""
    )
    names = shown.ready().element.locator(".next .name").all_text_contents()
    assert names[0] == "lifted" and lanes(shown)[3] == "␣city"
    shown.element.evaluate(
        """({ state }) => {
          for (let n = 0; n < 200; n++) {
            const place = ["", "1", "1.0", "1.ln_1", "1.mlp.c_fc.6.3"][n % 5];
            state.set({ place, off: n % 3 ? [`1.${n % 4}`] : [], at: n % 7 });
          }
          state.set({ place: "2.mlp.c_fc.6.7", off: ["1.0"] });
        }"""
    )
    assert "Output 7 at ␣crane" in shown.sentence
    crumbs = shown.element.locator(".flow-crumbs").inner_text()
    assert crumbs.endswith("c_fc, ␣crane, output 7")


def test_odd_addresses_are_read_as_far_as_they_make_sense(still):
    odd = {"place": "9.9.9.9.9", "at": "99", "station": "1e9", "run": "-3", "off": "1.0 7.7 x"}
    odd["set"] = "1.attn.weights:0.3.6=1 9.mlp.act:6.1=1 x"
    shown = still(query=odd)
    shown.stands()
    assert shown.element.locator(".head.cut").count() == 1
    shown = still(query={"place": "1.mlp.99999", "step": "2.5"})
    shown.stands()
    assert "MLP" in shown.element.locator(".flow-crumbs").inner_text()


@pytest.mark.thorough
def test_nothing_moves_for_a_reader_who_wants_no_motion(picture):
    shown = picture(context={"reduced_motion": "reduce"})
    button = shown.element.get_by_role("button", name="play", exact=True)
    slider = shown.element.get_by_role("slider", name="how far the pass has come")
    for station in ("0", "1", "2"):
        button.click()
        shown.ready()
        assert slider.input_value() == station
    timed = "document.getAnimations().filter((one) => one.timeline === document.timeline).length"
    assert shown.page.evaluate(timed) == 0
    assert shown.element.locator(".flow-pulses *").count() == 0


@pytest.mark.thorough
def test_on_a_phone_play_and_its_whole_caption_are_at_the_edge_of_the_screen(picture):
    shown = picture(context={"viewport": {"width": 390, "height": 844}})
    play = shown.element.get_by_role("button", name="play", exact=True)
    box = play.bounding_box()
    assert box and box["y"] + box["height"] <= 844 and box["width"] >= 44
    play.click()
    caption = shown.element.locator(".flow-result p", has_text="the MLP works on each token alone")
    caption.wait_for()
    fits = "e => e.scrollWidth <= e.clientWidth && e.scrollHeight <= e.clientHeight"
    assert caption.evaluate(fits)
    shown.element.get_by_role("button", name="stop", exact=True).click()
    play.wait_for()
    assert caption.count() == 0 and shown.element.evaluate("e => e.state.get('station')") > 15


@pytest.mark.thorough
def test_the_line_of_code_waits_for_a_click_on_the_first_page_only(still):
    line = still().element.locator(".flow-line")
    assert "p = logits.softmax(dim=-1) probabilities, chapter 11" in line.inner_text()
    shown = still(plays=True)
    line = shown.element.locator(".flow-line")
    high = line.bounding_box()["height"]
    assert line.inner_text() == "choose: every word gets its share. in code"
    shown.tab_to(".flow-line summary")
    shown.press("Enter")
    line.get_by_role("link", name="chapter 11").wait_for()
    assert "p = logits.softmax(dim=-1) probabilities" in line.inner_text()
    assert line.bounding_box()["height"] == high


@pytest.mark.thorough
def test_the_flag_of_a_playing_pass_is_below_the_lanes(picture):
    shown = picture()
    shown.element.get_by_role("button", name="play", exact=True).click()
    veil = shown.element.locator(".flow-veil[data-says='block 0: gather']")
    flag = veil.evaluate("e => parseFloat(getComputedStyle(e, '::before').top)")
    lane = shown.element.locator(".mlp").last.bounding_box()
    below = lane["y"] + lane["height"] - shown.element.locator(".flow-picture").bounding_box()["y"]
    assert flag > below  # where it hides no title


def test_the_picture_is_made_part_by_part_before_it_is_seen(picture):
    shown = picture()
    sizes = shown.element.evaluate("""(old) => new Promise((done) => {
      const one = Object.assign(document.createElement("gpt2-flow"), { className: "g2-live" });
      one.dataset.settings = old.dataset.settings;
      const sizes = [];
      new MutationObserver(() => {
        sizes.push(one.querySelectorAll(".flow-picture *").length);
        if (one.dataset.state === "ready") done(sizes);
      }).observe(one, { attributes: true, childList: true, subtree: true });
      old.replaceWith(one);
    })""")
    steps = [after - before for before, after in pairwise(sizes)]
    assert max(steps) < sizes[-1] / 3, steps  # all at once would hold up a page


@pytest.mark.thorough
def test_beads_run_at_rest_but_not_while_the_reader_works(picture):
    shown = picture()
    running = "[...document.querySelectorAll('.flow-pulses i')].filter((one) => "
    running += "one.getAnimations()[0].playState === 'running').length"
    shown.page.wait_for_function(f"{running} > 10")
    shown.page.mouse.click(2, 2)
    assert shown.page.evaluate(running) == 0
    assert shown.element.locator(".flow-pulses").is_hidden()


@pytest.mark.thorough
def test_weights_fly_from_one_level_to_the_next(picture):
    shown = picture()
    shown.element.hover()
    shown.element.locator(".flow-dart").wait_for()  # what goes deeper is there
    shown.page.evaluate("""() => {
      window.flew = [];
      new MutationObserver((all) => {
        const added = all.flatMap((one) => [...one.addedNodes]);
        const layer = added.find((one) => one.className === "flow-squares");
        if (layer) requestAnimationFrame(() => flew.push(layer.children.length));
      }).observe(document.querySelector(".flow-stage"), { childList: true });
    }""")
    for nth, place in enumerate(("1", ""), 1):
        shown.element.evaluate("(element, place) => element.state.set({ place })", place)
        shown.page.wait_for_function("nth => flew.length === nth", arg=nth)
    into, out = shown.page.evaluate("flew")
    assert into == out > 10
    shown.page.wait_for_function("!document.querySelector('.flow-squares')")


@pytest.mark.thorough
def test_what_is_opened_grows_into_its_level_and_shrinks_to_it_again(picture):
    shown = picture()
    shown.element.hover()
    shown.element.locator(".flow-dart").wait_for()
    shown.page.evaluate("""() => {
      window.grown = [];
      const picture = document.querySelector(".flow-picture");
      new MutationObserver((all) => {
        const added = all.flatMap((one) => [...one.addedNodes]);
        const sheet = added.find((one) => one.matches(".sheet"));
        const frames = sheet?.getAnimations()[0].effect.getKeyframes();
        const box = ({ x, y, width, height }) => [x, y, width, height].map(parseFloat);
        if (frames) grown.push([box(frames[0]), box(frames.at(-1))]);
      }).observe(picture, { childList: true });
    }""")
    for nth, place in enumerate(("1", "1.0", "1", ""), 1):
        shown.element.evaluate("(element, place) => element.state.set({ place })", place)
        shown.ready().page.wait_for_function("nth => grown.length === nth", arg=nth)
    block, head, back, out = shown.page.evaluate("grown")
    size = shown.element.locator(".flow-picture").evaluate("e => [e.clientWidth, e.clientHeight]")
    assert block[1] == head[1] == pytest.approx([0, 0, *size], abs=0.01)
    assert head[0][2] == pytest.approx(head[0][3]) and 50 < head[0][2] < 120  # its map
    assert back == [pytest.approx(box, abs=0.01) for box in reversed(head)]
    assert out == [pytest.approx(box, abs=0.01) for box in reversed(block)]
    shown.page.wait_for_function("!document.querySelector('.flow-picture :is(.sheet, .ghost)')")


@pytest.mark.thorough
def test_from_a_head_to_a_product_of_its_query_and_out_again(still, crane):
    shown = still(query={"place": "1.0"})
    crumbs = shown.element.locator(".flow-crumbs")
    shown.element.get_by_role("button", name="q of ␣crane: open its matrix").click()
    field = shown.ready().element.get_by_role("slider", name="output")
    assert crumbs.inner_text().endswith("q, ␣crane")
    field.focus()
    first = int(field.get_attribute("aria-valuenow") or "")
    shown.press("ArrowRight")
    at = (first + 1) % 32
    q = crane.trace(TEXT)["transformer.h.1.attn.q"][0, 0, 6]
    assert field.get_attribute("aria-valuetext") == f"output {at}: {q[at]:.2f}".replace("-", "−")
    shown.press("Enter")
    assert f"output {at}" in crumbs.inner_text() and "number" in crumbs.inner_text()
    figures = shown.element.locator(".figure").all_text_contents()
    assert figures[-1] == f"{q[at]:.2f}".replace("-", "−")
    assert "q = split_heads(c_attn(normed)[..., :C])" in shown.element.inner_text()
    products = shown.element.get_by_role("slider", name="product")
    number = int(products.get_attribute("aria-valuenow") or "")
    products.press("ArrowRight")
    shown.ready()
    told = products.get_attribute("aria-valuetext") or ""
    assert told.startswith(f"number {(number + 1) % 128}: ") and " times " in told
    shown.element.get_by_role("button", name="the next product").focus()
    ends = []
    for _ in range(4):
        shown.press("Escape")
        ends.append(crumbs.inner_text().split("›")[-1].strip())
        crumbs.locator("button, b").last.evaluate("e => (e.tabIndex = 0, e.focus())")
    assert ends == [f"q, ␣crane, output {at}", "head 1.0", "block 1", "model"]


@pytest.mark.thorough
def test_outputs_fill_one_by_one_when_played(picture):
    shown = picture(query={"place": "1.0.v.6"}, context={"speed": 1})
    blank = shown.element.locator(".blank")
    shown.element.get_by_role("button", name="play", exact=True).click()
    blank.wait_for(state="attached")
    wide = blank.evaluate("e => e.width.baseVal.value")
    shown.page.wait_for_function(
        "wide => document.querySelector('.blank')?.width.baseVal.value < wide", arg=wide
    )
    shown.element.get_by_role("button", name="stop", exact=True).click()
    assert blank.count() == 0


@pytest.mark.thorough
def test_an_output_under_the_pointer_is_shown_until_it_leaves(picture):
    shown = picture(query={"place": "1.0.q.6.17"}, context={"reduced_motion": "reduce"})
    field = shown.element.get_by_role("slider", name="output")
    box = field.locator(".touch").bounding_box()
    assert box and field.get_attribute("aria-valuenow") == "17"
    shown.page.mouse.move(box["x"] + box["width"] * 3.5 / 32, box["y"] + 20)
    assert field.get_attribute("aria-valuenow") == "3"
    shown.page.mouse.move(0, 0)
    assert field.get_attribute("aria-valuenow") == "17"
    for nth in ("0", "1"):
        shown.element.get_by_role("button", name="play", exact=True).click()
        assert field.get_attribute("aria-valuenow") == nth
    shown.page.mouse.click(box["x"] + box["width"] * 5.5 / 32, box["y"] + 20)
    assert "1.0.q.6.5" in shown.query
    shown.page.mouse.click(box["x"] + box["width"] * 5.5 / 32, box["y"] + 20)
    assert "number" in shown.ready().element.locator(".flow-crumbs").inner_text()


@pytest.mark.thorough
@pytest.mark.parametrize("width", [1280, 390])
def test_layernorm_is_spelled_out_for_one_number(still, crane, width):
    viewport = {"viewport": {"width": width, "height": 900}}
    shown = still(query={"place": "1"}, context=viewport)
    dial = shown.element.get_by_role("button", name="LayerNorm ln_2: open it")
    if width < 640:
        dial.click()
    else:
        dial.press("Enter")
    field = shown.ready().element.get_by_role("slider", name="number")
    field.focus()
    shown.press("ArrowRight", "ArrowRight")
    shown.element.get_by_role("button", name="the number before").click()
    shown.ready()
    at = int(field.get_attribute("aria-valuenow") or "")
    tape = crane.trace(TEXT)
    x, y = tape["transformer.h.1.resid_mid"][0, 6], tape["transformer.h.1.ln_2"][0, 6]
    norm = crane.model.transformer.h[1].ln_2
    mean, spread = x.mean(), (x.var(correction=0) + 1e-5).sqrt()
    steps = [x[at], mean, spread, (x[at] - mean) / spread, norm.weight[at], norm.bias[at], y[at]]
    figures = shown.element.locator(".figure").all_text_contents()
    found = [float(figure.replace("−", "-")) for figure in figures]
    assert found == pytest.approx([step.item() for step in steps], abs=0.0051)
    assert f"number {at}: {figures[0]} becomes {figures[6]}" in (
        shown.element.get_by_role("slider", name="number").get_attribute("aria-valuetext") or ""
    )
    assert f"= {figures[6]}." in shown.sentence and "normed = ln_2(x)" in shown.element.inner_text()
    field.press("Escape")
    assert shown.ready().element.locator(".flow-crumbs").inner_text().endswith("block 1")


@pytest.mark.thorough
@pytest.mark.parametrize("width", [1280, 800, 390])
def test_a_block_names_its_parts_and_has_rows_of_one_length(still, width):
    shown = still(query={"place": "1"}, context={"viewport": {"width": width, "height": 900}})
    dials = shown.ready().element.locator(".dial")
    texts = ["".join(dials.nth(n).locator("text").all_text_contents()) for n in (0, 1)]
    assert all(text.startswith("LayerNorm ▸σ ") for text in texts), texts
    heads = shown.element.locator(".map .name", has_text="head")
    tops = heads.evaluate_all(
        "all => all.map((one) => Math.round(one.getBoundingClientRect().top))"
    )
    assert len({tops.count(top) for top in tops}) == 1, tops
    assert shown.element.locator("[data-rove=maps][tabindex='0']").count() == 1
    lengths = shown.element.locator(".length").all_text_contents()
    assert len(lengths) == 4 and lengths[0].startswith("adds a vector of length 30.88,")
    assert lengths[1] == "mostly sideways: 69.98 → 75.04"


@pytest.mark.thorough
def test_a_block_is_played_step_by_step(picture):
    shown = picture(query={"place": "1"}, context={"reduced_motion": "reduce"})
    slider, line, veil = (
        shown.ready().element.locator(part)
        for part in (".flow-controls input", ".flow-line", ".flow-veil")
    )
    names = ("min", "value", "max")
    assert [slider.get_attribute("min"), slider.input_value()] == ["20", "35"] and veil.is_hidden()
    shown.element.get_by_role("button", name="play", exact=True).click()
    assert [slider.evaluate(f"e => e.{name}") for name in names] == ["20", "20", "35"]
    assert "h.1.ln_1" in line.text_content() and veil.is_visible()
    steps = shown.element.locator(".step")
    named = steps.locator("text").all_text_contents()
    assert named == ["copy", "gather", "write", "think", "write"]
    x = "e => new DOMMatrix(e.style.transform).e"
    edges = [".map .frame", ".map .frame", ".plus circle"]
    for nth, (told, last) in enumerate(
        zip(["attn.v", "attn.out", "resid_mid"], edges, strict=True)
    ):
        steps.nth(nth).press("Enter")
        assert f"h.1.{told}" in shown.ready().element.locator(".flow-line").text_content()
        box = shown.element.locator(last).nth(3 * (nth == 1)).evaluate("e => e.getBBox().x")
        assert (veil.evaluate(x) < box) == (nth == 0), told
    steps.last.press("Enter")
    assert shown.ready().element.locator(".flow-veil").is_hidden()


@pytest.mark.thorough
def test_a_block_that_is_played_names_its_steps(picture):
    moves = {"reduced_motion": "no-preference"}
    shown = picture(query={"place": "1"}, context=moves)
    shown.element.evaluate("""e => {
      window.said = [];
      const veil = e.querySelector(".flow-veil");
      new MutationObserver(() => said.push(veil.dataset.says)).observe(veil, { attributes: true });
    }""")
    shown.element.get_by_role("button", name="play", exact=True).click()
    shown.page.wait_for_function("said.length > 2 && said.at(-1) === ''")
    said = shown.page.evaluate("said.filter((one, i) => one && one !== said[i - 1])")
    verbs = ("copy", "gather", "write", "think", "write")
    assert said == [f"block 1: {verb}" for verb in verbs]
    assert "place=1" in shown.query


GAP = """(field) => {
  field.scrollIntoView({ block: "center" });
  const { width, height } = field.getBBox();
  const point = new DOMPoint(field.x.baseVal.value + (16 * width) / 32 - 0.4,
    field.y.baseVal.value + height / 2).matrixTransform(field.getScreenCTM());
  return [point.x, point.y];
}"""


@pytest.mark.thorough
def test_the_gaps_between_units_open_the_mlp_too(picture):
    shown = picture(query={"place": "1"})
    field = shown.ready().element.get_by_role("button", name="MLP of block 1").locator(".touch")
    x, y = field.evaluate(GAP)  # the field is drawn slanted
    shown.page.mouse.click(x, y)
    shown.stands()
    assert shown.query == "?place=1.mlp"


def test_a_unit_shows_which_tokens_it_pushes(still, crane):
    shown = still(query={"place": "1.mlp.26"})
    stream = crane.trace(TEXT)["transformer.h.1.resid_post"][0, 6]
    parts = crane.model.transformer
    column = parts.h[1].mlp.c_proj.weight[:, 26].detach()
    spread = (stream.var(correction=0) + 1e-5).sqrt()
    pushes = (column - column.mean()) / spread * parts.ln_f.weight @ parts.wte.weight.T
    order = pushes.argsort(descending=True).tolist()
    ids = [*order[:3], *reversed(order[-3:])]
    expected = [f"{name} {pushes[i]:+.2f}" for name, i in zip(crane.show(ids), ids, strict=True)]
    slider = shown.element.get_by_role("slider", name="unit", exact=True)
    assert slider.get_attribute("aria-valuemax") == str(len(parts.h[1].mlp.c_proj.weight.T) - 1)
    bars = shown.element.locator(".push")
    told = "e => `${e.previousElementSibling.textContent} ${e.nextElementSibling.textContent}`"
    found = [bars.nth(i).evaluate(told).replace("−", "-") for i in range(6)]
    assert found == expected


def test_a_share_is_set_by_hand_and_all_that_follows_is_computed(still, crane):
    def without(weights):
        weights[0, 0, 6, 3] = 0.1
        return weights

    edits = {"transformer.h.1.attn.weights": without}
    expected = crane.next(crane.trace(TEXT, edits)["logits"])
    shown = still(query={"place": "1.0.6.3"})
    slider = shown.element.get_by_role("slider", name="set what ␣crane takes from ␣marsh")
    assert shown.ready().element.get_by_role("button", name="undo").count() == 0
    slider.evaluate("(e) => { e.value = 0.1; e.dispatchEvent(new Event('input')); }")
    assert "head 1.0 is 0.10 instead of 0.98 (the shares sum to 0.12 now)" in shown.sentence
    assert f"now it has {expected['␣ate']:.2f}" in shown.sentence
    assert "set by hand" in (shown.element.locator(".flow-picture").text_content() or "")
    assert "1.attn.weights%3A0.6.3%3D0.1" in shown.query
    shown.element.evaluate("element => element.state.set({ place: '' })")
    assert shown.ready().element.locator(".by-hand").count() == 1
    assert shown.element.locator(".next .p").first.text_content() == f"{expected['␣ate']:.2f}"
    shown.element.get_by_role("button", name="undo").click()
    assert "By hand" not in shown.sentence
    assert shown.element.locator(".by-hand").count() == 0


@pytest.mark.thorough
def test_a_token_is_exchanged_in_its_lane(still):
    shown = still()
    token = shown.element.locator(".token").nth(3)
    offers = shown.element.locator(".flow-swap button")
    token.click()
    offers.first.wait_for()
    assert "or exchange it" in (token.get_attribute("aria-label") or "")
    shown.page.keyboard.press("Escape")  # back to the token
    offers.first.wait_for(state="hidden")
    shown.page.keyboard.press("Enter")
    offers.first.wait_for()
    assert "instead of ␣marsh" in shown.element.locator(".flow-swap").inner_text()
    assert offers.count() == 6 + 1
    then = shown.element.locator(".flow-swap", has_text="city → lifted 0.51").locator(".machine")
    then.first.wait_for()
    word = offers.first.locator("b").inner_text()
    offers.first.click()
    field = shown.ready().element.locator("input[type=text]").first
    assert field.input_value() == f"In the {word}, the crane"
    assert lanes(shown)[3] == f"␣{word}"
    shown.element.locator(".token").nth(3).click()
    shown.ready().element.locator(".token").nth(3).click()
    shown.element.get_by_label("another word").fill("city")
    shown.element.get_by_label("another word").press("Enter")
    assert lanes(shown)[3] == "␣city" and shown.element.locator(".flow-swap").is_hidden()
    assert "lifted" in shown.sentence


@pytest.mark.thorough
def test_words_are_offered_while_one_types_and_for_an_unknown_one(still, crane):
    shown = still()
    field = shown.element.locator(".flow-field input")
    field.fill("In the")
    field.press_sequentially(" m")
    offers = shown.element.locator("#flow-suggest button")
    offers.filter(has_text="marsh").wait_for()
    shares = crane.next(crane.trace("In the")["logits"])
    whole = ("meadow", "marsh", "market")
    likeliest = sorted(whole, key=lambda word: -shares.get(f"␣{word}", 0))
    assert offers.all_text_contents()[:2] == likeliest[:2]
    assert field.get_attribute("role") == "combobox"
    field.press("ArrowRight")
    assert field.input_value() == f"In the {likeliest[0]}"
    field.fill(f"In the {likeliest[0]}, the cran")
    field.press_sequentially("e")
    offers.filter(has_text="ate").wait_for()
    field.press("ArrowDown")
    assert offers.first.get_attribute("aria-selected") == "true"
    field.press("Enter")
    assert field.input_value() == f"In the {likeliest[0]}, the crane ate"
    field.press("Escape")
    assert offers.count() == 0


@pytest.mark.thorough
def test_in_place_of_an_unknown_word_likely_ones_are_offered(still, crane):
    """Those that the model expects there and that fit what follows, not those spelled alike."""
    shown = still()
    field = shown.element.locator(".flow-field input")
    field.fill("In the mrash, the crane")
    shown.element.get_by_text("instead of “mrash”").wait_for()
    offers = shown.element.locator("#flow-suggest button")
    shares = crane.next(crane.trace("In the")["logits"])
    likeliest = [name[1:] for name in sorted(shares, key=lambda name: -shares[name])[:3]]
    assert offers.all_inner_texts()[:3] == likeliest
    offers.first.click()
    assert field.input_value() == f"In the {likeliest[0]}, the crane"
    field.fill("The machine")  # no story begins so: the end of a sentence stands before it
    shown.element.get_by_text("instead of “machine”").wait_for()
    shares = crane.next(crane.trace(". The")["logits"], 24)
    for word in offers.all_inner_texts():
        begins = [name for name in shares if f"␣{word}".startswith(name)]
        assert begins and shares[begins[0]] >= 0.01, word


@pytest.mark.thorough
@pytest.mark.parametrize("width", [390, 1280])
def test_before_numbers_that_mean_little_it_is_said_so(still, width):
    """In a line above the picture, which hides nothing of it."""
    shown = still(context={"viewport": {"width": width, "height": 800}})
    field = shown.element.locator(".flow-field input")
    field.fill("The capital of France is")
    said = "Crane World has never read “capital” and 1 more."
    who = shown.ready().element.locator(".flow-who")
    who.get_by_text(said).wait_for()
    assert shown.sentence.startswith(said)
    assert shown.element.locator(".flow-result").text_content() == f"play{said}"
    faint = "all => all.every((e) => getComputedStyle(e).opacity <= 0.4)"
    assert shown.element.locator(".next").evaluate_all(faint)
    on_top = """all => all.every((e) => {
      e.scrollIntoView({ block: "center" });
      const at = e.getBoundingClientRect();
      const found = document.elementFromPoint(at.x + at.width / 2, at.y + at.height / 2);
      return e.contains(found);
    })"""
    assert shown.element.locator(".next").evaluate_all(on_top)
    offers = who.locator("button:visible")
    english = "GPT-2 knows English: see its five stored passes"
    assert offers.all_inner_texts() == [english, "use GPT-2 (548 MB)"]
    offers.last.click()
    shown.element.get_by_role("button", name="no", exact=True).click()
    assert shown.page.evaluate("document.activeElement.textContent") == "use GPT-2 (548 MB)"
    offers.first.click()
    chip = shown.page.evaluate("document.activeElement.textContent")
    assert chip == "Data visualization empowers users to"
    shown.press("Enter")
    shown.element.locator(".flow-who", has_text="GPT-2 124M answered this once").wait_for()
    field.fill(TEXT)
    shown.ready()
    assert not shown.element.locator(".next").evaluate_all(faint)
    assert english not in who.inner_text()


@pytest.mark.thorough
def test_two_texts_are_compared_in_one_picture_and_dice_exchange_a_word(still):
    shown = still()
    shown.element.hover()  # what compares comes when somebody is near
    shown.element.get_by_role("group", name="comparison").get_by_role(
        "button", name="In the city, the crane"
    ).click()
    assert "head 1.0 from ␣marsh and head 1.2 from ␣marsh" in shown.sentence
    assert "␣ate (0.53) or ␣lifted (0.51)" in shown.sentence
    assert shown.element.locator(".token .id").nth(3).text_content() == "or ␣city"
    names = shown.element.locator(".next .name").all_text_contents()
    assert names[0] == "ate" and "lifted" in names
    streams = shown.element.locator(".stream")
    assert streams.count() == 2 * 7 * 7
    grey = "bars => bars.every((one) => one.style.getPropertyValue('--strength') === '0%')"
    assert streams.evaluate_all(f"bars => ({grey})(bars.slice(0, 3 * 14))")  # before the marsh
    assert not streams.evaluate_all(grey)
    shown.element.get_by_role("button", name="show all").click()
    assert shown.ready().element.locator(".stream").count() == 7 * 7
    shown.element.get_by_role("button", name="roll the dice").click()
    field = "document.querySelector('.flow-field input').value"
    shown.page.wait_for_function(f"{field} !== {TEXT!r}")
    words, old = shown.page.evaluate(field).split(" "), TEXT.split(" ")
    assert sum(one != other for one, other in zip(words, old, strict=True)) == 1
    assert "has never read" not in shown.ready().element.inner_text()


@pytest.mark.thorough
def test_the_dart_has_knobs(picture, crane):
    shown = picture(query={"temperature": "0.5"})
    shares = crane.next(2 * crane.trace(TEXT)["logits"])
    told = shown.element.locator(".next .p").first.text_content()
    assert told == f"{shares['␣ate']:.2f} / 0.53"
    shown.slide("temperature", 0)
    assert shown.element.locator(".next .p").nth(1).text_content() == "0.00 / 0.12"
    shown.element.get_by_role("button", name="one token").click()
    shown.page.wait_for_function("document.querySelectorAll('.token').length === 8")
    assert lanes(shown)[-1] == "␣ate"


@pytest.mark.thorough
def test_a_bug_of_the_museum_is_met(still, crane):
    expected = crane.next(crane.trace(TEXT, {"pos_emb": torch.zeros_like})["logits"])
    shown = still()
    shown.element.hover()
    shown.element.get_by_text("Sampling, bugs").click()
    shown.element.get_by_label("a bug of chapter 19").select_option("positions forgotten")
    assert shown.sentence.startswith("With the bug “positions forgotten”. ")
    (first, share), *_ = expected.items()
    assert shown.element.locator(".next .p").first.text_content() == f"{share:.2f}"
    assert shown.element.locator(".next .name").first.text_content()[0] == first.strip("␣")[0]
    shown.element.get_by_role("button", name="itself, untouched").click()
    assert shown.ready().element.locator(".stream").count() == 2 * 7 * 7
    shown.element.locator(".snip").first.click()
    assert shown.ready().element.locator(".head.cut").count() == 1
    assert shown.element.get_by_label("a bug of chapter 19").input_value() == ""


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_stage_and_its_canvases_are_dark_in_both_themes(picture, scheme):
    shown = picture(query={"place": "1.0.q.6"}, context={"color_scheme": scheme})
    stage = shown.ready().element.locator(".flow-stage")
    ground, ink = stage.evaluate(
        "e => [e, e.querySelector('text')].map((one, i) =>"
        " getComputedStyle(one)[i ? 'fill' : 'backgroundColor'].match(/[0-9]+/g).map(Number))"
    )
    assert max(ground) < 32 and min(ink) > 127
    query = "e => { e.style.color = 'var(--q)'; return getComputedStyle(e).color; }"
    assert stage.locator(".flow-veil").evaluate(query) == "rgb(102, 171, 221)"


def test_without_a_mask_ribbons_come_from_later_tokens(still):
    shown = still(query={"bug": "no mask", "at": "2"})
    told = shown.element.locator(".ribbon").evaluate_all(
        "all => all.filter((one) => parseFloat(one.style.strokeWidth) > 0)"
        ".map((one) => one.querySelector('title').textContent)"
    )
    assert any("␣the takes" in one and "from ␣crane" in one for one in told)
    shown.element.evaluate("element => element.state.set({ place: '0.0' })")
    assert shown.ready().element.locator(".cellbox.hidden").count() == 0
    shown.element.evaluate("element => element.state.set({ bug: '' })")
    assert shown.ready().element.locator(".cellbox.hidden").count() == 21


@pytest.mark.thorough
def test_a_head_that_is_played_goes_through_its_steps(picture):
    shown = picture(query={"place": "1.0"}, context={"speed": 1})
    flies = "one => document.querySelectorAll(`.${one}`).length"
    assert shown.page.evaluate(flies, "meets") == 0
    shown.element.get_by_role("button", name="play", exact=True).click()
    pressed = "document.querySelector('.step.chosen').textContent.trim()"
    shown.page.wait_for_function(f"{pressed} === 'score'")
    assert shown.page.evaluate(flies, "meets") == shown.page.evaluate(flies, "lands") == 7
    moves = "document.querySelector('.lands').getAnimations().map((one) => one.animationName)"
    assert shown.page.evaluate(moves) == ["flow-land"]
    shown.page.wait_for_function(f"{pressed} === 'mix'", timeout=60_000)
    assert shown.page.evaluate(flies, "partial") == 7
    shown.page.wait_for_selector(".flow-play[data-is=play]")
    assert "mix: the values, each times its share" in shown.sentence


@pytest.mark.thorough
def test_on_a_phone_a_heads_step_is_told_at_the_edge_of_the_screen(still):
    query = {"place": "1.0", "step": "1"}
    shown = still(query=query, context={"viewport": {"width": 390, "height": 844}})
    told = "scale: each score ÷ √32, the root of the head’s width"
    assert shown.sentence.startswith(f"{told}. ")
    assert shown.element.locator(".flow-result > p").inner_text() == told
    shown.element.locator(".flow-crumbs button").last.click()
    assert "ate 0.53" in shown.ready().element.locator(".flow-result > p").inner_text()


@pytest.mark.thorough
def test_a_head_goes_on_step_by_step_without_motion(picture):
    shown = picture(query={"place": "1.0"}, context={"reduced_motion": "reduce"})
    for step in ("score", "scale", "mask", "share", "mix"):
        shown.element.get_by_role("button", name="play", exact=True).click()
        assert shown.sentence.startswith(f"{step}: ")
    assert shown.page.evaluate("document.querySelector('.adds').getAnimations().length") == 0
    assert shown.element.locator(".adds").first.evaluate("e => getComputedStyle(e).opacity") == "0"


@pytest.mark.thorough
def test_the_first_head_that_is_opened_shows_what_it_does(picture):
    shown = picture(query={"place": "1"}, context={"speed": 1})
    shown.element.get_by_role("button", name="head 1.2: open it").click()
    shown.page.wait_for_function(
        "document.querySelector('.step.chosen')?.textContent.trim() === 'score'"
    )
    shown.element.get_by_role("button", name="stop", exact=True).click()
    shown.element.locator(".flow-crumbs button").last.click()
    shown.ready().element.get_by_role("button", name="head 1.0: open it").click()
    assert shown.ready().element.locator(".flow-play").inner_text() == "play"


@pytest.mark.thorough
@pytest.mark.parametrize("width", [1280, 390])
def test_every_matrix_stands_below_the_whole_and_opens(still, crane, width):
    viewport = {"viewport": {"width": width, "height": 900}}
    shown = still(context=viewport)
    assert shown.element.locator(".tile").count() == 3 * 4 + 2
    shown.element.hover()
    images = shown.element.locator(".flow-picture image")
    made = "document.querySelectorAll('.flow-picture image[href]').length === 20"
    shown.page.wait_for_function(made)
    pixel = """async (image) => {
      const one = new Image();
      one.src = image.getAttribute("href");
      await one.decode();
      const canvas = Object.assign(document.createElement("canvas"), { width: 128, height: 128 });
      const context = canvas.getContext("2d");
      context.drawImage(one, 0, 0);
      return [one.width, one.height, context.getImageData(20, 7, 1, 1).data[3]];
    }"""
    weight = crane.model.transformer.h[
        0
    ].mlp.c_fc.weight.detach()  # the picture has each fourth unit
    mean = weight[::4].square().mean().sqrt()
    full = 255 * min(1.0, (weight[80, 7].abs() / (2.5 * mean)).item())
    assert images.nth(4).evaluate(pixel) == [128, 128, pytest.approx(full, abs=1.5)]
    label = "h.1.attn.c_attn, k of head 1.2: 128 × 32 weights: open them"
    part = shown.element.get_by_role("button", name=label)
    part.dispatch_event("click")
    assert shown.ready().element.locator(".flow-crumbs").inner_text().endswith("k, ␣crane")
    assert "the part of this head" in shown.element.inner_text() or width == 390
    shown.element.locator(".flow-crumbs button").first.click()
    shown.rest().element.get_by_role("button", name="wte: 128 × 1,024 weights").press("Enter")
    logits = crane.trace(TEXT)["logits"][0, -1]
    assert f"Output {logits.argmax()}, ␣ate at ␣crane" in shown.sentence
    figure = shown.element.locator(".figure").last.text_content()
    assert figure == f"{logits.max():.2f}"


def test_one_can_zoom_from_the_whole_to_each_weight(still, crane):
    """With Ctrl and the wheel, so that the page still scrolls; and back by a key."""
    shown = still()
    shown.element.hover()
    made = "document.querySelectorAll('.flow-picture image[href]').length === 20"
    shown.page.wait_for_function(made)
    image = shown.element.locator("[data-weights='h.1.mlp.c_fc']")
    turn = """(e, [many, ctrlKey]) => {
      const { x, y, width, height } = e.getBoundingClientRect();
      const [clientX, clientY] = [x + width / 2, y + height / 2];
      const how = { deltaY: -100, ctrlKey, clientX, clientY, bubbles: true, cancelable: true };
      return Array.from({ length: many }, () => !e.dispatchEvent(new WheelEvent("wheel", how)));
    }"""
    whole = shown.element.locator(".flow-picture").get_attribute("viewBox")
    assert not any(image.evaluate(turn, [2, False]))
    assert shown.element.locator(".flow-picture").get_attribute("viewBox") == whole
    assert all(image.evaluate(turn, [14, True]))
    numbers = shown.element.locator(".flow-numbers text")
    numbers.first.wait_for()
    told = shown.element.locator(".flow-zoom span").inner_text()
    name, *ends = re.findall(r"^\S+(?=:)|\d+(?! of)", told.replace("h.1.mlp.c_fc", "c_fc", 1))
    first, last, begin, end = map(int, ends)
    assert name == "c_fc"
    weight = crane.model.transformer.h[1].mlp.c_fc.weight[first : last + 1, begin : end + 1]
    texts = numbers.all_text_contents()
    assert 20 < len(texts) == weight.numel()
    found = [float(text.replace("−", "-")) for text in texts]
    assert found == pytest.approx(weight.flatten().tolist(), abs=0.00501)
    shown.element.get_by_role("button", name="zoom out").press("0")
    box = "document.querySelector('.flow-picture').getAttribute('viewBox')"
    shown.page.wait_for_function(f"{box} === {whole!r}")
    assert numbers.count() == 0 and "place" not in shown.query


@pytest.mark.thorough
def test_the_last_layernorm_is_spelled_out_too(picture, crane):
    shown = picture()
    shown.element.hover()
    shown.element.get_by_role("button", name="ln_f, the last LayerNorm").press("Enter")
    field = shown.ready().element.get_by_role("slider", name="number")
    at = int(field.get_attribute("aria-valuenow") or "")
    tape = crane.trace(TEXT)
    x, y = tape["transformer.h.2.resid_post"][0, 6], tape["ln_f"][0, 6]
    figures = shown.element.locator(".figure").all_text_contents()
    found = [float(figure.replace("−", "-")) for figure in figures]
    assert [found[0], found[1], found[-1]] == pytest.approx(
        [x[at].item(), x.mean().item(), y[at].item()], abs=0.0051
    )
    shown.press("Escape")
    assert shown.ready().element.locator(".flow-crumbs").is_hidden()


@pytest.mark.thorough
def test_a_head_under_the_pointer_lights_its_ribbons(picture):
    shown = picture()
    shown.element.hover()
    part = shown.element.get_by_role("button", name="h.1.attn.c_attn, q of head 1.0")
    part.dispatch_event("pointerover")
    lit = shown.element.locator("[data-lit]").evaluate_all("all => all.map((e) => e.dataset.of)")
    assert len(lit) > 4 and set(lit) == {"1.0"}
    part.focus()
    shown.element.locator(".flow-play").focus()
    assert shown.element.locator("[data-lit]").count() == 0
    shown.element.locator(".flow-play").click()
    part.dispatch_event("pointerover")  # the page goes along under it
    assert shown.element.locator(".plays > .flow-stage").count() == 1
    assert shown.element.locator("[data-lit]").count() == 0


@pytest.mark.parametrize("width", [1280, thorough(390)])
def test_a_head_opens_and_its_scissors_cut_it(still, width):
    shown = still(context={"viewport": {"width": width, "height": 900}})
    shown.element.locator("input[type=text]").fill("Five crows sat on the roof. One of the")
    first = shown.ready().element.locator(".next .name").first
    assert first.text_content() == "crows"
    shown.element.get_by_role("button", name="cut head 2.3").click()
    assert shown.ready().element.locator(".head.cut, .snip.cut").count() == 2
    assert first.text_content() == "pigeons"
    shown.element.get_by_role("button", name="put back head 2.3").click()
    assert shown.ready().element.locator(".cut").count() == 0
    shown.element.get_by_role("button", name="open head 2.3").click()
    crumbs = shown.ready().element.locator(".flow-crumbs")
    assert crumbs.inner_text().endswith("head 2.3")
    shown.element.evaluate("element => element.state.set({ place: '' })")
    ribbon = shown.ready().element.locator(".ribbon[data-of='1.0']").first
    ribbon.dispatch_event("click")
    assert shown.ready().element.locator(".flow-crumbs").inner_text().endswith("head 1.0")


@pytest.mark.thorough
def test_a_cut_is_told_as_before_and_after(still, crane):
    with_all = crane.next(crane.trace(TEXT)["logits"])["␣ate"]
    shown = still(query={"off": "1.0 1.2"})
    bar = shown.element.locator(".next").first
    before, now = (bar.locator(".p").text_content() or "").split(" → ")
    assert before == f"{with_all:.2f}"
    assert bar.get_attribute("aria-label") == f"ate {now}, before the cut {before}: append it"
    wide, mark = (bar.locator(part).bounding_box()["width"] for part in (".slot", ".before"))
    assert mark / wide == pytest.approx(with_all, abs=0.02)
    aloud = shown.element.locator(".aloud li").last.inner_text()
    assert aloud.endswith(f", before the cut {with_all:.3f}.")
    told = f"Without heads 1.0 and 1.2, ␣ate goes from {before} to {now}. "
    assert shown.sentence.startswith(f"{told}Next likeliest is ␣lifted")
    shown.element.evaluate("element => element.state.set({ place: '1' })")
    assert shown.sentence.startswith("Without heads 1.0 and 1.2, ␣ate goes from")
    shown.element.get_by_role("button", name="cut head 1.0", exact=True).click()
    assert shown.sentence.startswith("Without head 1.2, ␣ate ")
    look = crane.trace(TEXT)["transformer.h.1.attn.weights"][0, :, -1]
    assert look[[0, 2]].argmax(-1).tolist() == [3, 3]
    assert f" Head 1.0 looks at ␣marsh too: {look[0, 3]:.2f}. " in shown.sentence
    assert f"ate {before} → " in shown.element.locator(".flow-result").inner_text()
    shown.element.get_by_role("button", name="cut head 1.2", exact=True).click()
    assert "Without" not in shown.sentence
    shown.element.evaluate("element => element.state.set({ place: '', off: ['2.3'] })")
    assert "too: " not in shown.sentence  # it looks at the beginning


@pytest.mark.thorough
def test_a_stored_run_greys_what_it_cannot_do(still):
    shown = still(query={"run": "3"})
    for name in ("one token", "write on"):
        button = shown.element.get_by_role("button", name=name)
        assert button.is_disabled() and "stored" in (button.get_attribute("title") or "")
    assert shown.element.locator(".next[aria-disabled=true]").count() == 6
    assert shown.element.locator(".swap").count() == 0
    shown.element.hover()
    shown.element.get_by_text("No weights are kept with this pass").wait_for()
    assert shown.element.locator(".tile").count() == 12 * 4 + 2  # plates without numbers
    assert shown.element.locator(".flow-picture image").count() == 0
    assert shown.element.locator(".flow-zoom").is_hidden()
    shown.element.locator("p.aloud").evaluate("e => (e.style.display = 'none')")  # says it again
    told = shown.element.inner_text()
    assert told.count("stored here") == 1 and "its stream is not" not in told
    shown.element.evaluate("element => element.state.set({ place: '0' })")
    assert shown.ready().element.locator(".map").count() == 12
    assert (
        shown.element.locator(".flow-picture").locator(".cutter, [aria-disabled=true]").count() == 0
    )
    shown.element.evaluate("element => element.state.set({ place: '0.3', step: 0 })")
    assert shown.sentence.startswith("share: ")
    assert shown.element.locator(".step[aria-disabled=true]").count() == 4
    shown.element.locator(".cellbox").first.click(force=True)
    assert shown.ready().element.locator(".flow-crumbs").inner_text().endswith("head 0.3")


@pytest.mark.thorough
@pytest.mark.parametrize("width", [1280, 390])
def test_of_many_blocks_each_head_has_its_light(still, width):
    how = {"viewport": {"width": width, "height": 800}, "forced_colors": "active"}
    shown = still(query={"run": "3"}, context=how)
    lamps = shown.element.locator(".lamp[role]")
    lamps.first.wait_for()
    assert lamps.count() == 12 * 12
    told = lamps.evaluate_all("all => all.map((e) => [e.ariaLabel, e.style.cssText])")
    shares = [float(re.search(r"[.0-9]+(?= of the attention)", label)[0]) for label, _ in told]
    lit = [float(re.search(r"--lit: ?([.0-9]+)%", style)[1]) for _, style in told]
    assert lit == pytest.approx([100 * share for share in shares], abs=1)
    sink = 1 - sum(shares) / len(shares)  # the mean of what rests on the first token
    note = " ".join(shown.element.locator(".note").all_text_contents())
    assert float(re.match(r"([.0-9]+) of the attention", note)[1]) == pytest.approx(sink, abs=0.01)
    assert "= 124.4 M parameters" in note and "c_fc 768 × 3,072" in note
    assert shown.element.locator(".flow-picture .sink").count() == 12 + 1  # and in its note
    ground = shown.element.locator(".flow-stage").evaluate(
        "e => getComputedStyle(e).backgroundColor"
    )
    assert ground == "rgb(10, 14, 19)"  # whatever colours are forced
    texts = shown.element.locator(".flow-picture text:not(.word)")
    sizes = texts.evaluate_all("all => all.map((e) => parseFloat(getComputedStyle(e).fontSize))")
    assert min(sizes) >= 9.3  # a long token's name
    lamps.first.focus()
    shown.page.keyboard.press("ArrowRight")
    shown.page.keyboard.press("Enter")
    crumbs = shown.element.locator(".flow-crumbs")
    crumbs.get_by_text("head 0.1").wait_for()


@pytest.mark.thorough
@pytest.mark.parametrize("width", [390, 1280])
def test_an_unknown_word_moves_nothing_and_one_of_its_kind_is_offered(picture, width):
    shown = picture(context={"viewport": {"width": width, "height": 844}})
    top = "e => e.querySelector('.flow-picture').getBoundingClientRect().top"
    before = shown.ready().element.evaluate(top)
    field = shown.element.locator(".flow-field input")
    field.fill("By the river, the dog ate")
    who = shown.ready().element.locator(".flow-who")
    assert who.inner_text().startswith("Crane World has never read “dog”.")
    assert shown.element.evaluate(top) == before
    offers = shown.element.locator("#flow-suggest button")
    assert offers.all_inner_texts() == ["crane"]  # a noun, of which one can say that it ate
    offers.first.click()
    assert shown.ready().element.evaluate(top) == before
    assert field.input_value() == "By the river, the crane ate"


@pytest.mark.thorough
@pytest.mark.parametrize("width", [390, 1280])
def test_another_model_answers_and_nothing_moves(picture, width):
    shown = picture(context={"viewport": {"width": width, "height": 844}})
    who, field = (shown.element.locator(part) for part in (".flow-who", ".flow-field"))

    def top() -> float:
        return shown.ready().element.locator(".flow-picture").bounding_box()["y"]

    before = top()
    shown.element.get_by_role("button", name="GPT-2: As the spaceship").click()
    who.get_by_text("GPT-2 124M answered this once.").wait_for()
    assert top() == before
    field.locator("input").fill("As the spaceship was approaching the moon")
    who.get_by_text("Crane World has never read “spaceship” and 1 more.").wait_for()
    assert top() == before
    shown.element.get_by_role("button", name="use all of GPT-2 (548 MB)").wait_for()
    field.locator("input").press("Escape")  # what is offered gives its place back to the examples
    shown.element.get_by_role("button", name="In the city, the crane", exact=True).click()
    assert shown.ready().element.locator(".flow-top .flow-who").inner_text().endswith("use GPT-2")
    assert top() == before


DEEP = ["1", "1.0", "1.mlp", "1.mlp.3", "1.0.q.6", "1.0.6.3.0", "1.ln_1.6"]


@pytest.mark.thorough
@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_the_stage_is_where_it_is_and_as_high_at_every_level(picture, size):
    view = dict(zip(("width", "height"), size, strict=True))
    shown = picture(context={"viewport": view, "reduced_motion": "reduce"})
    shown.element.hover()
    boxes = """(e) => [".flow-top", ".flow-stage", ".flow-picture"].map((name) => {
      const { top, height } = e.querySelector(name).getBoundingClientRect();
      return [top + scrollY, height];
    })"""
    whole = shown.ready().element.evaluate(boxes)
    for place in DEEP:
        shown.set(place=place)
        assert shown.element.evaluate(boxes) == whole, place
        assert shown.element.locator(".flow-crumbs").is_visible()


@pytest.mark.thorough
def test_a_deeper_level_begins_at_its_bar_where_that_is_out_of_sight(picture):
    shown = picture(context={"viewport": {"width": 390, "height": 700}})
    block = shown.element.get_by_role("button", name="block 2: open it")
    block.scroll_into_view_if_needed()
    block.evaluate("e => scrollBy(0, e.getBoundingClientRect().top - 200)")
    block.press("Enter")
    shown.rest()
    assert 0 <= shown.element.locator(".flow-crumbs").bounding_box()["y"] < 100


@pytest.mark.thorough
@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_nothing_moves_from_step_to_step_of_the_tour(picture, size):
    view = dict(zip(("width", "height"), size, strict=True))
    shown = picture(context={"viewport": view, "reduced_motion": "reduce"})
    shown.element.get_by_role("button", name="Take the tour").click()
    card = shown.element.locator(".flow-tour")
    seen = """(e) => {
      const told = document.createRange();
      told.selectNodeContents(e.querySelector(".flow-tour [aria-live]"));
      const lines = new Set(Array.from(told.getClientRects(), ({ top }) => Math.round(top))).size;
      const card = e.querySelector(".flow-tour");
      const box = card.getBoundingClientRect();
      const top = e.querySelector(".flow-stage").getBoundingClientRect().top + scrollY;
      const fits = card.scrollHeight <= card.clientHeight && box.bottom <= innerHeight;
      return [top, box.height, lines < 4, fits];
    }"""
    found = []
    for nth in range(1, 11):
        card.locator(".flow-step", has_text=f"{nth} of 10").wait_for()
        found.append(shown.ready().element.evaluate(seen))
        if nth < 10:
            card.get_by_role("button", name="next").click()
    assert found == [[*found[0][:2], True, True]] * 10


@pytest.mark.thorough
def test_the_tour_lights_what_it_speaks_of(picture):
    shown = picture(context={"reduced_motion": "reduce"})
    shown.element.get_by_role("button", name="Take the tour").click()
    card = shown.element.locator(".flow-tour")
    for nth in range(1, 11):
        card.locator(".flow-step", has_text=f"{nth} of 10").wait_for()
        shown.ready()
        assert shown.element.locator("[data-told]").count() > 0, nth
        if nth == 3:
            guesses = card.get_by_role("group", name="your guess").get_by_role("button")
            assert guesses.all_inner_texts() == ["crane", "ate", "lifted"]
            rows = [one.bounding_box() for one in (guesses.first, card.locator("[name=next]"))]
            assert rows[0]["x"] + 200 < rows[1]["x"]  # apart from what leads on
            guesses.last.press("Enter")
            assert guesses.count() == 0
        if nth == 6:
            assert shown.element.locator(".flow-picture text", has_text="next").count() == 0
            assert shown.element.get_by_role("button", name="the next product").is_visible()
        if nth < 10:
            card.get_by_role("button", name="next").click()
    card.get_by_role("button", name="close").click()
    assert shown.ready().element.locator("[data-told]").count() == 0
