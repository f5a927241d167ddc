"""The last exhibit of chapter 7: where a unit fires, what it says, and what a louder one does."""

from __future__ import annotations

import json
import re

import pytest
import torch

from gpt2_edu import load_tokenizer
from gpt2_edu.web import ASSETS
from tests.thorough import thorough

pytestmark = pytest.mark.browser
EXAMPLES = [
    {"unit": "1.356", "text": "A crane", "name": "a bird"},
    {"unit": "0.56", "text": "In the city, the crane", "name": "nothing to name"},
]


@pytest.fixture
def unit(exhibit):
    def show(**more):
        return exhibit("unit", **{"examples": EXAMPLES} | more)

    return show


def louder(path: str, number: int, times: float):
    def scale(x):
        x = x.clone()
        x[..., number] *= times
        return x

    return {path: scale}


def words(shown) -> tuple[list[str], list[str]]:
    return tuple(
        shown.ready().element.locator(f".pushes p:nth-of-type({nth}) code").all_inner_texts()
        for nth in (1, 2)
    )


@pytest.mark.parametrize(("block", "number"), [(1, 356), thorough(0, 17), thorough(2, 511)])
def test_a_column_raises_and_lowers_the_words_that_python_says(unit, crane, block, number):
    shown = unit(query={"within": str(block), "which": str(number)})
    model = crane.model
    column = model.transformer.h[block].mlp.c_proj.weight[:, number]
    with torch.no_grad():
        normed = model.transformer.ln_f.weight * (column - column.mean())
        order = (model.lm_head.weight @ normed).argsort(descending=True)
    up, down = order[:5].tolist(), order.flip(0)[:5].tolist()
    assert words(shown) == (crane.show(up), crane.show(down))


@pytest.mark.parametrize("times", [thorough(0), 5])
def test_next_word_and_story_are_those_of_python(unit, crane, times):
    shown = unit(query={"times": str(times)})
    edits = louder("transformer.h.1.mlp.act", 356, times)
    tape = crane.trace("A crane", edits)
    every = crane.next(tape["logits"], 1024)
    assert shown.bars() == pytest.approx({n: every[n] for n in shown.bars()}, abs=1e-3)
    text = "A crane"
    for _ in range(12):
        best = crane.trace(text, edits)["logits"][0, -1].argmax().item()
        text += load_tokenizer("crane").decode([best])
    assert text in shown.element.locator(".written").inner_text()


@pytest.mark.thorough
def test_a_louder_bird_turns_a_machine_into_one(unit):
    shown = unit()
    assert "At ␣crane unit 1.356 answers 2.89." in shown.sentence
    assert "lifted steel" in shown.element.locator(".written").inner_text()
    shown.slide("its answers, times", 5)
    written = shown.element.locator(".written").inner_text()
    assert "A crane ate fish" in written and "Before: lifted steel" in written
    assert shown.element.locator(".bar.moved").count() > 0


@pytest.mark.thorough
def test_it_shows_the_stored_places_and_reads_one_of_them(unit):
    shown = unit()
    blocks = json.loads((ASSETS / "crane" / "units.json").read_text(encoding="utf-8"))["blocks"]
    decode = load_tokenizer("crane").decode
    rows = shown.element.locator(".firings li")
    assert rows.count() == 5
    for i, (answer, ids) in enumerate(blocks[1][356]):
        text = rows.nth(i).inner_text()
        assert decode(ids[3:-1]) in text and text.rstrip().endswith(f"{answer:.1f}")
        assert rows.nth(i).locator("b").inner_text().strip() == "crane"
    rows.first.locator("button").click()
    answers = float(re.search(r"answers (−?[\d.]+)\.", shown.sentence)[1].replace("−", "-"))
    assert answers > 5  # less than in its story, of which only the end is read


@pytest.mark.thorough
def test_a_silent_unit_and_an_example_are_said_to_be_so(unit):
    shown = unit(query={"within": "1", "which": "247"})
    assert "It fires nowhere in 2,000 stories." in shown.element.inner_text()
    shown.element.get_by_role("button", name="0.56").click()
    assert "unit 0.56 answers" in shown.sentence
    assert shown.tokens()[-1] == "␣crane"
    shown.stands()
