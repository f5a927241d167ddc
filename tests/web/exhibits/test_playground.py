"""Open the model: one text, all instruments, and what is left out."""

from __future__ import annotations

import pytest
import torch

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


def test_a_chip_turns_the_bird_into_a_machine_and_a_ghost_tells(exhibit, crane):
    shown = exhibit("playground", text=MARSH, chips=[MARSH, CITY])
    before = shown.bars()
    press(shown, CITY, ".chips")
    assert shown.bars() == pytest.approx(
        {name: crane.next(crane.trace(CITY)["logits"], 1024)[name] for name in shown.bars()},
        abs=1e-3,
    )
    assert shown.sentence.startswith(f"With this text ␣ate falls from {before['␣ate']:.3f} to ")
    assert "and ␣lifted rises from" in shown.sentence
    assert shown.query == "?text=In+the+city%2C+the+crane"


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


def test_temperature_changes_the_bars_as_in_python(exhibit, crane):
    shown = exhibit("playground", text=MARSH)
    shown.slide("temperature", 2)
    expected = crane.next(crane.trace(MARSH)["logits"] / 2, 1024)
    assert shown.bars() == pytest.approx({n: expected[n] for n in shown.bars()}, abs=1e-3)
    assert shown.sentence.startswith("At temperature 2.00 ␣ate falls from 0.528 to ")


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


def test_a_token_that_is_due_before_a_typed_text_shows_is_not_written(exhibit):
    """The page is busy; meanwhile the next token's time comes."""
    shown = exhibit("playground", text=MARSH, chips=[CITY])
    shown.element.get_by_role("button", name="write on").click()
    box = shown.element.locator("input[type=text]")
    shown.page.wait_for_function("([e, n]) => e.value.length > n", arg=[box.element_handle(), 40])
    shown.element.evaluate(
        """(element, text) => {
          const box = element.querySelector("input[type=text]");
          box.value = text;
          box.dispatchEvent(new Event("input"));
          const until = performance.now() + 300;
          while (performance.now() < until);
        }""",
        CITY,
    )
    shown.page.wait_for_timeout(500)
    assert box.input_value() == CITY


def test_many_changes_while_it_writes_do_not_hasten_it(exhibit):
    shown = exhibit("playground", text=MARSH)
    shown.element.get_by_role("button", name="write on").click()
    for head in ("0.1", "0.2", "0.3", "2.0", "2.1", "2.2"):
        shown.element.locator(".thumbs button", has_text=head).click()
    before = len(shown.tokens())
    shown.page.wait_for_timeout(1000)
    assert len(shown.tokens()) - before <= 8  # one each 140 milliseconds at most


def test_a_bar_that_is_clicked_is_appended(exhibit):
    shown = exhibit("playground", text=MARSH)
    press(shown, "␣stood", ".bars")
    assert shown.tokens()[-1] == "␣stood"
    assert shown.sentence.startswith("After ␣stood comes ")


@pytest.mark.parametrize(
    "query",
    [
        {"text": "", "off": "9.9 x 1.2", "mlps": "7 -1", "view": "x"},
        {"text": "<img src=x onerror=alert(1)> & שלום 🐦" * 300, "view": "lens", "at": "999"},
        {"text": "a\x00b", "temperature": "NaN", "seed": "-5", "positions": "maybe"},
    ],
)
def test_odd_addresses_are_read_as_far_as_they_make_sense(exhibit, query):
    shown = exhibit("playground", text=MARSH, query=query)
    shown.stands(tokens=64)
    shown.element.get_by_role("button", name="reset").click()
    assert "".join(shown.tokens()[1:]).replace("␣", " ") == MARSH


def test_by_keyboard_and_on_a_phone(exhibit):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
    shown = exhibit("playground", text=MARSH, chips=[CITY], context=phone)
    shown.tab_to(".thumbs button")
    shown.press("ArrowRight", "Enter")
    assert shown.element.locator(".thumbs [aria-pressed=true]").inner_text() == "0.1"
    shown.element.locator(".many button", has_text="1.2").tap()
    assert shown.sentence.startswith("Without head 1.2 ")
    assert shown.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_ten_texts_at_once_show_the_last(exhibit, crane):
    shown = exhibit("playground", text=MARSH)
    shown.page.evaluate(
        """(city) => {
          const input = document.querySelector("gpt2-playground input");
          for (let i = 0; i < 10; i++) {
            input.value = i < 9 ? "In the marsh " + i : city;
            input.dispatchEvent(new Event("input"));
          }
        }""",
        CITY,
    )
    expected = crane.next(crane.trace(CITY)["logits"], 1024)
    assert shown.bars() == pytest.approx({n: expected[n] for n in shown.bars()}, abs=1e-3)
