"""The exhibit of chapter 21: the weights in fewer bits, computed in the page and in Python."""

from __future__ import annotations

import copy
import re

import pytest
import torch

from gpt2_edu import GPT2, GPT2Config, crane, load_tokenizer
from gpt2_edu.quantize import round_to
from gpt2_edu.web import save_for_page
from tests.thorough import thorough
from tests.web.exhibits.conftest import Crane
from tests.web.exhibits.test_own_model import choose

pytestmark = pytest.mark.browser
MARSH = "In the marsh, the crane"


def in_fewer(model: GPT2, bits: int, per: str) -> Crane:
    model = copy.deepcopy(model)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 2:
                rows = weight.reshape(1, -1) if per == "tensor" else weight
                rounded = round_to(rows, bits, 32 if per == "group" else None)
                weight.copy_(rounded.view_as(weight))
    return Crane(model)


@pytest.mark.parametrize(
    "bits, per", [thorough(8, "row"), thorough(4, "tensor"), (3, "group"), (2, "row")]
)
def test_map_and_bars_are_those_of_the_rounded_model_in_python(exhibit, crane, bits, per):
    query = {"bits": str(bits), "per": per}
    shown = exhibit("bits", text=MARSH, head="1.0", query=query)
    rounded = in_fewer(crane.model, bits, per)
    tape = rounded.trace(MARSH)
    weights = tape["transformer.h.1.attn.weights"][0, 0]
    cells = [[float(cell) for cell in row] for row in shown.cells()]
    torch.testing.assert_close(torch.tensor(cells), weights, atol=6e-3, rtol=0)
    shares = rounded.next(tape["logits"], 1024)
    expected = {name: shares[name] for name in shown.bars()}
    assert shown.bars() == pytest.approx(expected, abs=1.5e-3)
    before = crane.trace(MARSH)["transformer.h.1.attn.weights"][0, 0]
    moved = float(re.search(r"the map moves by up to ([\d.]+)", shown.sentence)[1])
    assert moved == pytest.approx((weights - before).abs().max().item(), abs=6e-3)


@pytest.mark.thorough
def test_a_story_is_judged_as_in_python_and_marked_where_it_goes_wrong(exhibit):
    shown = exhibit("bits", text=MARSH, head="1.0")
    seen = set()
    for bits in (16, 3, 2):
        shown.slide("bits of a weight", [2, 3, 4, 5, 6, 8, 16].index(bits))
        for _ in range(3):
            story = shown.element.locator(".wrote q").text_content()
            verdict = shown.element.locator(".wrote").inner_text().split()[-1]
            judged = crane.judge(story)
            assert (verdict == "Right.") == (judged.kind == "story"), story
            assert ("the story is right" in shown.sentence) == (verdict == "Right.")
            if judged.fails_at not in (None, len(story)):
                marked = shown.element.locator(".wrote mark").text_content()
                assert marked == story[judged.fails_at :]
            seen.add((bits, verdict))
            shown.element.get_by_role("button", name="another story").click()
            shown.ready()
    assert {(16, "Right."), (2, "Wrong.")} <= seen


@pytest.mark.thorough
def test_what_was_tried_stays_on_the_ladder_until_the_text_changes(exhibit):
    shown = exhibit("bits", text=MARSH, head="1.0", chips=["By the river, the crane"])
    shown.slide("bits of a weight", 2)
    assert [row[0] for row in shown.cells(".ladder") if row[0] != "·"] and len(shown.table()) == 2
    shown.element.get_by_role("button", name="By the river").click()
    assert list(shown.table()) == ["4"]


def test_another_models_texts_are_not_judged(exhibit, tmp_path):
    small = GPT2Config(vocab_size=1024, block_size=32, n_layer=1, n_head=2, n_embd=6)
    path = tmp_path / "mine.safetensors"
    save_for_page(GPT2(small), load_tokenizer("crane"), path)
    shown = exhibit("bits", text=MARSH, head="1.0")
    choose(shown, path)
    assert shown.status.startswith("mine answers") and "story is" not in shown.sentence
    shown.slide("bits of a weight", 0)
    shown.stands()
