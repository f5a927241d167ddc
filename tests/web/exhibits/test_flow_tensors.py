"""Below the picture of the whole: every tensor of a pass, a logit spelled out, and the engine."""

from __future__ import annotations

import pytest
import torch

from gpt2_edu import GPT2, GPT2Config, load_tokenizer
from gpt2_edu.web import save_for_page
from gpt2_site import one_pass
from tests.web.exhibits.conftest import READY, WAIT

pytestmark = pytest.mark.browser
MARSH, CITY = "In the marsh, the crane", "In the city, the crane"
SLIDER = "how far the pass has come"


# Each painting sets the box of the picture.
PAINTED = """window.painted = 0;
const set = Element.prototype.setAttribute;
Element.prototype.setAttribute = function (name, value) {
  if (name === "viewBox" && this.matches(".flow-picture")) window.painted++;
  set.call(this, name, value);
};"""


def number(text: str) -> float:
    return float(text.replace("−", "-").replace("∞", "inf"))


ROWS = """(element) =>
  [...element.querySelectorAll(".flow-tensor [data-role] tr:has(td[style])")].map((row) =>
    [...row.querySelectorAll("td")].map((one) => one.innerText))"""
# The slider goes to each station; what is shown there.
STATIONS = f"""async (element, [name, wait]) => {{
  const slider = element.querySelector(`input[aria-label="${{name}}"]`);
  const shown = [];
  const options = [...element.querySelectorAll(".flow-tensor option")];
  for (const path of options.map((one) => one.value)) {{
    slider.value = shown.length;
    slider.dispatchEvent(new Event("input"));
    await ({READY})(element, wait);
    const chosen = element.querySelector(".flow-tensor select").value;
    const head = element.querySelector(".flow-tensor-head b").innerText;
    shown.push({{ path, chosen, head, rows: ({ROWS})(element) }});
  }}
  return shown;
}}"""


def rows(shown) -> list[list[float]]:
    """The numbers that are written, row by row."""
    return numbers(shown.ready().element.evaluate(ROWS))


def numbers(written: list[list[str]]) -> list[list[float]]:
    return [[number(text) for text in row] for row in written]


@pytest.fixture
def station(still):
    return still("flow", text=MARSH, tensors="open")


@pytest.mark.thorough
def test_it_is_painted_once_with_all_that_it_needs(exhibit, pages):
    context = {"locale": "en-NZ"}  # a page of its own
    pages.of(context).add_init_script(PAINTED)
    stored = {**one_pass.settings(), "tensors": "folded"}  # the model is not loaded
    for settings, images in (({"text": MARSH, "tensors": "open"}, 20), (stored, 0)):
        shown = exhibit("flow", context=context, **settings)
        assert shown.element.locator(".flow-picture image").count() == images  # of weights
        shown.page.wait_for_timeout(500)  # what else might come
        assert shown.page.evaluate("painted") == 1


@pytest.mark.thorough
def test_every_station_shows_pythons_numbers_of_the_token(still, crane):
    at = 2
    shown = still("flow", text=MARSH, tensors="open", query={"at": str(at)})
    tape = crane.trace(MARSH)
    stations = shown.element.evaluate(STATIONS, [SLIDER, WAIT])
    names = [one["path"] for one in stations]
    assert names[1:-1] == [name for name in tape.names if name != "idx"]
    assert names == [one["chosen"] for one in stations]
    for station, path in zip(stations, names, strict=True):
        written = numbers(station["rows"])
        if path == "idx":
            assert written == [[crane.ids(MARSH)[at]]]
            continue
        found = tape["logits"] if path == "probabilities" else tape[path]
        assert station["head"].endswith(f"({', '.join(map(str, found.shape))})"), path
        found = found.softmax(-1) if path == "probabilities" else found
        expected = found[0, :, at] if found.ndim == 4 else found.flatten(0, -2)[[at]]
        if path in ("logits", "probabilities"):
            expected = expected.sort(descending=True).values
        assert len(written) == len(expected), path
        for row, own in zip(written, expected.tolist(), strict=True):
            likeliest = row[:8] if path in ("logits", "probabilities") else row
            assert likeliest == pytest.approx(own[: len(likeliest)], abs=6e-3), path


def test_a_logit_is_a_dot_product(station, crane):
    tape = crane.trace(MARSH)
    stood = crane.ids(" stood")[1]
    station.element.get_by_role("button", name="␣stood", exact=True).click()
    x, row = tape["ln_f"][0, -1], crane.model.lm_head.weight[stood].detach()
    last = station.ready().element.locator(".flow-tensor .terms td:last-child")
    station.element.locator(".terms caption", has_text="␣stood").wait_for()
    values = [number(text) for text in last.all_inner_texts()]
    assert values[0] == pytest.approx(float(max(x * row, key=abs)), abs=6e-3)
    assert sum(values[:-1]) == pytest.approx(values[-1], abs=0.03)
    assert values[-1] == pytest.approx(tape["logits"][0, -1, stood].item(), abs=6e-3)


@pytest.mark.thorough
def test_a_tensor_is_copied_for_python(station, crane):
    station.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    station.slide(SLIDER, 9)
    station.element.get_by_role("button", name="copy for Python").click()
    station.element.locator(".status", has_text="in the clipboard").wait_for()
    code = station.page.evaluate("navigator.clipboard.readText()")
    found: dict[str, torch.Tensor] = {}
    exec(code, {"torch": torch}, found)
    expected = crane.trace(MARSH)["transformer.h.0.attn.masked_scores"]
    torch.testing.assert_close(found["h_0_attn_masked_scores"], expected, atol=1e-4, rtol=1e-4)


@pytest.mark.thorough
def test_other_columns_are_shown_by_click_and_key(station, crane):
    station.element.locator(".flow-tensor select").select_option("transformer.h.1.mlp.act")
    field = station.ready().element.locator(".flow-tensor svg")
    field.click(position={"x": field.bounding_box()["width"] / 2, "y": 4})
    station.ready()
    assert station.element.locator(".flow-tensor th[scope=col]").first.inner_text() == "f252"
    act = crane.trace(MARSH)["transformer.h.1.mlp.act"][0, -1]
    assert rows(station)[0] == pytest.approx(act[252:260].tolist(), abs=6e-3)
    station.slide("from column", 504)
    assert rows(station)[0] == pytest.approx(act[504:].tolist(), abs=6e-3)


@pytest.mark.thorough
def test_without_stored_passes_it_waits_for_the_model_and_knows_the_senses(station):
    assert station.element.locator(".next.bird").count() == 5
    assert station.element.get_by_role("button", name="Show me").count() == 0


def folded(still):
    shown = still("flow", text=MARSH, tensors="folded")
    for fold in ("Every tensor of the pass", "Model and arithmetic"):
        shown.element.locator("summary", has_text=fold).click()
        shown.ready()
    return shown


@pytest.mark.thorough
def test_folds_stay_open_when_another_model_comes(still, tmp_path):
    shown = folded(still)
    shown.element.locator("summary", has_text="Every tensor of the pass").click()
    config = GPT2Config(vocab_size=1024, n_layer=1, n_head=1, n_embd=8, block_size=40)
    save_for_page(GPT2(config), load_tokenizer("crane"), tmp_path / "mine.safetensors")
    shown.element.locator("input[type=file][multiple]").set_input_files(
        tmp_path / "mine.safetensors"
    )
    shown.element.locator(".engine", has_text="mine runs in ").wait_for()
    opened = "folds => folds.map((one) => one.open)"
    folds = shown.element.locator("details:has(.flow-tensor), details:has(.engine)")
    assert folds.evaluate_all(opened) == [False, True]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("value", "name", "far"),
    [
        ("plain", "plain JavaScript", 0.006),
        ("wasm-half", "WebAssembly, float16 weights", 0.006),
        ("wasm-int8", "WebAssembly, int8 weights", 0.05),
        ("wasm-int4", "WebAssembly, int4 weights", 0.1),
    ],
)
def test_every_arithmetic_gives_the_same_probabilities(still, value, name, far):
    shown = folded(still)
    before, panel = rows(shown), shown.element.locator(".engine")
    panel.locator("select").select_option(value)
    panel.get_by_text(f"runs in {name}; it was ready after ").wait_for()
    assert rows(shown)[0][:5] == pytest.approx(before[0][:5], abs=far)
    panel.get_by_role("button", name="how fast?").click()
    panel.locator("[role=status]", has_text="40 tokens in ").wait_for()


@pytest.mark.thorough
def test_an_arithmetic_that_is_missing_leaves_the_one_before(still):
    shown = folded(still)
    before, panel = rows(shown), shown.element.locator(".engine")
    shown.element.evaluate(
        "(e) => { e.model.engine.load = async () => { throw new Error('no device'); }; }"
    )
    panel.locator("select").select_option("webgpu")
    shown.element.locator(".status", has_text="no device").wait_for()
    assert panel.locator("select").input_value() == "auto"
    assert rows(shown) == before


@pytest.mark.thorough
@pytest.mark.parametrize("width", [1280, 704, 390])
def test_nothing_of_it_is_cut_off(still, width):
    viewport = {"viewport": {"width": width, "height": 900}}
    shown = still("flow", text=MARSH, tensors="open", context=viewport)
    shown.stands()
    right = shown.element.evaluate("element => element.getBoundingClientRect().right")
    for cell in shown.element.locator(".terms td:last-child").all():
        box = cell.bounding_box()
        assert box["x"] + box["width"] <= right + 1
