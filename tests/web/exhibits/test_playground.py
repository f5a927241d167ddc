"""Open the model: one text, all instruments, and what is left out."""

from __future__ import annotations

import pytest
import torch

from gpt2_edu.sampling import next_probabilities

pytestmark = pytest.mark.browser
MARSH, CITY = "In the marsh, the crane", "In the city, the crane"


def cut(*names: str):
    """The edits that do in Python what cutting heads does on the page."""

    def edit(heads: list[int]):
        def without(values):
            values = values.clone()
            values[:, heads] = 0
            return values

        return without

    blocks: dict[str, list[int]] = {}
    for name in names:
        n, h = name.split(".")
        blocks.setdefault(f"transformer.h.{n}.attn.heads", []).append(int(h))
    return {path: edit(heads) for path, heads in blocks.items()}


def press(shown, name: str, group: str = ".many"):
    shown.element.locator(f"{group} button", has_text=name).first.click()
    return shown.ready()


def test_maps_and_bars_are_pythons(exhibit, crane):
    shown = exhibit("playground", text=MARSH, head="1.0", chips=[MARSH, CITY])
    tape = crane.trace(MARSH)
    assert shown.bars() == pytest.approx(crane.next(tape["logits"]), abs=1e-3)
    weights = tape["transformer.h.1.attn.weights"][0, 0]
    numbers = [[float(cell) for cell in row] for row in shown.cells()]
    assert numbers == [pytest.approx(row, abs=6e-3) for row in weights.tolist()]
    assert shown.element.locator(".thumbs button").count() == 12
    assert shown.sentence.startswith("After ␣crane comes ␣ate (0.528), then ␣stood (0.121).")
    look = shown.element.locator(".board > .soft").first.inner_text()
    assert look == f"Head 1.0 looks from ␣crane most at ␣marsh ({weights[-1].max():.2f})."


def test_cut_heads_leave_ghosts_of_the_whole_model(exhibit, crane):
    shown = exhibit("playground", text=MARSH)
    press(shown, "1.0")
    press(shown, "1.2")
    expected = crane.next(crane.trace(MARSH, cut("1.0", "1.2"))["logits"], 1024)
    assert shown.bars() == pytest.approx({n: expected[n] for n in shown.bars()}, abs=1e-3)
    assert (
        shown.sentence == f"Without heads 1.0, 1.2 ␣ate falls from 0.528 to {expected['␣ate']:.3f}."
    )
    assert shown.table()["␣ate"] == [f"{expected['␣ate']:.3f}", "0.528"]
    assert shown.element.locator(".thumbs .cut").all_inner_texts() == ["1.0", "1.2"]
    assert shown.query == "?off=1.0+1.2"


def test_an_mlp_positions_and_the_mask_can_be_left_out(exhibit, crane):
    shown = exhibit("playground", text=MARSH)
    press(shown, "MLP 1")
    edits = {"transformer.h.1.mlp.out": torch.zeros_like}
    expected = crane.next(crane.trace(MARSH, edits)["logits"], 1024)
    assert shown.bars() == pytest.approx({n: expected[n] for n in shown.bars()}, abs=1e-3)
    assert shown.sentence.startswith("Without MLP 1 ␣ate ")
    press(shown, "MLP 1")
    shown.element.get_by_label("positions").click()
    edits = {"pos_emb": torch.zeros_like}
    expected = crane.next(crane.trace(MARSH, edits)["logits"], 1024)
    assert shown.bars() == pytest.approx({n: expected[n] for n in shown.bars()}, abs=1e-3)
    shown.element.get_by_label("causal mask").click()
    expected = crane.next(crane.trace(MARSH, {**edits, **crane.unmasked()})["logits"], 1024)
    assert shown.bars() == pytest.approx({n: expected[n] for n in shown.bars()}, abs=1e-3)
    assert shown.sentence.startswith("Without positions and the mask ␣ate ")
    assert shown.element.locator(".board td.off").count() == 0


def test_the_lens_says_what_each_stage_would(exhibit, crane):
    shown = exhibit("playground", text=MARSH, query={"view": "lens"})
    tape = crane.trace(MARSH)
    model = crane.model
    paths = ["embd"]
    for n in range(3):
        paths += [f"transformer.h.{n}.resid_mid", f"transformer.h.{n}.resid_post"]
    expected = []
    for path in reversed(paths):
        with torch.no_grad():
            best = (model.transformer.ln_f(tape[path]) @ model.transformer.wte.weight.T).argmax(-1)
        expected.append(crane.show(best[0].tolist()))
    assert shown.cells(".lens") == expected
    assert not shown.element.locator(".board").first.is_visible()
    shown.element.locator(".lens td[data-place='0 3']").click()
    assert shown.query == "?view=lens&at=3"
    want = crane.next(tape["logits"][:, :4])
    assert shown.bars() == pytest.approx(want, abs=1e-3)


def test_write_on_writes_and_stops(exhibit, crane):
    def written(shown, n: int) -> str:
        box = shown.element.locator("input[type=text]")
        shown.element.get_by_role("button", name="write on").click()
        shown.page.wait_for_function(
            "([e, n]) => e.value.length > n", arg=[box.element_handle(), n], timeout=30_000
        )
        shown.element.get_by_role("button", name="stop", exact=True).click()
        text = shown.ready().element.locator("input[type=text]").input_value()
        shown.page.wait_for_timeout(400)
        assert box.input_value() == text
        return text

    greedy = written(exhibit("playground", text=MARSH, query={"temperature": "0"}), 50)
    assert greedy.startswith("In the marsh, the crane ate fish, and ")
    first = written(exhibit("playground", text=MARSH, query={"seed": "3"}), 60)
    again = written(exhibit("playground", text=MARSH, query={"seed": "3"}), 60)
    assert first[:60] == again[:60] and first.startswith(MARSH)


def test_typing_while_it_writes_ends_the_writing(exhibit):
    shown = exhibit("playground", text=MARSH, chips=[CITY])
    shown.element.get_by_role("button", name="write on").click()
    box = shown.element.locator("input[type=text]")
    shown.page.wait_for_function("([e, n]) => e.value.length > n", arg=[box.element_handle(), 40])
    shown.element.evaluate(
        """(element, text) => {
          element.querySelector(".bars button, .bars [role=button]").click(); // appends a token
          const box = element.querySelector("input[type=text]");
          box.value = text; // before that token shows
          box.dispatchEvent(new Event("input"));
        }""",
        CITY,
    )
    write = shown.element.get_by_role("button", name="write on")
    write.wait_for()
    shown.page.wait_for_timeout(500)
    assert write.is_visible()
    assert box.input_value() == CITY


def test_every_tensor_of_the_ledger_can_be_read(exhibit, crane):
    shown = exhibit("playground", text=MARSH, query={"view": "tensor", "part": "1"})
    tape = crane.trace(MARSH)
    names = shown.element.locator(".tensors select")
    assert names.input_value() == "transformer.h.1.attn.weights"
    found = names.locator("option").evaluate_all("all => all.map((one) => one.value)")
    assert found == [name for name in tape.names if name != "idx"]
    for path in found:
        names.select_option(path)
        values = tape[path][0, 1] if tape[path].ndim == 4 else tape[path].flatten(0, -2)
        facts = shown.ready().element.locator(".tensors > .soft").inner_text()
        assert f"({', '.join(map(str, tape[path].shape))}), from " in facts
        shown.element.locator(".tensors td[data-place='6 5']").hover()
        number = shown.element.locator(".tensors .board output").inner_text().split(": ")[1]
        assert float(number.replace("−", "-")) == pytest.approx(values[6, 5].item(), abs=2e-4), path
    shown.slide("from column", 1000)
    assert shown.element.locator(".tensors .board th").first.inner_text() == crane.show([1000])[0]
    names.select_option("transformer.h.2.attn.masked_scores")
    assert shown.ready().element.locator(".tensors td.off").count() == 21
    shown.element.get_by_label("causal mask").uncheck()
    assert shown.ready().element.locator(".tensors td.off").count() == 0


def test_a_part_of_the_small_picture_is_clicked(exhibit):
    query = {"view": "tensor", "tensor": "transformer.h.0.mlp.act"}
    shown = exhibit("playground", text=MARSH, query=query)
    canvas = shown.element.locator(".overview canvas")
    width = canvas.bounding_box()["width"]
    canvas.click(position={"x": width / 2, "y": 5})
    assert abs(int(shown.query.split("column=")[1]) - 244) <= 1


@pytest.mark.parametrize(
    ("value", "name", "far"),
    [
        ("plain", "plain JavaScript", 1e-3),
        ("wasm-half", "WebAssembly, float16 weights", 5e-3),
        ("wasm-int8", "WebAssembly, int8 weights", 0.05),
    ],
)
def test_every_arithmetic_gives_the_same_bars(exhibit, value, name, far):
    shown = exhibit("playground", text=MARSH, query={"view": "machine"})
    before, panel = shown.bars(), shown.element.locator(".machine")
    panel.locator("select").select_option(value)
    panel.get_by_text(f"runs in {name}; it was ready after ").wait_for()
    assert shown.bars() == pytest.approx(before, abs=far)
    panel.get_by_role("button", name="how fast?").click()
    panel.locator("[role=status]", has_text="40 tokens in ").wait_for()


def test_an_arithmetic_that_is_missing_leaves_the_one_before(exhibit):
    shown = exhibit("playground", text=MARSH, query={"view": "machine"})
    before, panel = shown.bars(), shown.element.locator(".machine")
    shown.element.evaluate(
        "(e) => { e.model.engine.load = async () => { throw new Error('no device'); }; }"
    )
    panel.locator("select").select_option("webgpu")
    shown.element.locator(".status", has_text="no device").wait_for()
    assert panel.locator("select").input_value() == "auto"
    assert shown.bars() == before


def test_parts_and_knobs_of_the_draw(exhibit, crane):
    query = {"k": "3", "temperature": "2"}
    shown = exhibit("playground", text=MARSH, query=query)
    logits = crane.trace(MARSH)["logits"][:, -1]
    expected = next_probabilities(logits, temperature=2, top_k=3)[0].topk(3).values
    assert list(shown.bars().values())[:3] == pytest.approx(expected.tolist(), abs=1e-3)
    assert shown.sentence.startswith("At temperature 2.00, with top-k 3 ␣ate ")
    shown.element.get_by_role("button", name="reset").click()
    shown.slide("top-p", 0.6)
    assert list(shown.bars().values())[2:] == pytest.approx([0] * 4)
    for name, said in (("√D", "the division by √D"), ("LayerNorm", "LayerNorm")):
        shown.element.get_by_role("button", name="reset").click()
        shown.ready().element.get_by_label(name, exact=True).uncheck()
        assert shown.sentence.startswith(f"Without {said} ␣ate ")
