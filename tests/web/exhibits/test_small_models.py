"""A reader's model may be much smaller than the book's: every exhibit answers with it."""

from __future__ import annotations

import pytest

from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.web import save_for_page
from tests.web.exhibits.test_own_model import TOKENIZER, choose
from tests.web.exhibits.test_rough_use import SETTINGS

pytestmark = pytest.mark.browser
TEXT = "In the marsh, the crane"
# What the chapters begin with does not exist in a small model.
CHAPTERS = SETTINGS | {
    "heads": {"text": TEXT, "head": "1.0"},
    "layernorm": {"text": TEXT, "stage": "transformer.h.1.ln_1"},
    "mlp": {"text": TEXT, "at": 3, "block": "1", "unit": 493},
    "playground": {"text": TEXT, "head": "1.0"},
}
KINDS = [
    *("blocks", "cache", "heads", "inside", "layernorm", "mask", "mistakes", "mlp", "museum"),
    *("order", "playground", "sampling", "stations", "writers"),
]


ONE_BLOCK = {"n_layer": 1, "n_head": 3, "n_embd": 9, "block_size": 40}
LEAST = {"n_layer": 1, "n_head": 1, "n_embd": 1, "block_size": 1}


@pytest.mark.parametrize("sizes", [ONE_BLOCK, LEAST], ids=["one block", "least"])
def test_every_exhibit_answers(exhibit, tmp_path, sizes):
    path = tmp_path / "mine.safetensors"
    save_for_page(GPT2(GPT2Config(vocab_size=270, **sizes)), TOKENIZER, path)
    choose(exhibit("heads", **CHAPTERS["heads"]), path)
    for kind in KINDS:
        shown = exhibit(kind, **CHAPTERS.get(kind, {"text": TEXT}))
        shown.stands()
        assert shown.status == "", kind


def test_a_browsers_own_error_is_not_shown(exhibit):
    shown = exhibit("heads", text=TEXT)
    shown.element.evaluate("(e) => { e.parts.show = () => undefined.length; e.update(); }")
    assert shown.status.startswith("something went wrong. Press “reset”")
    assert shown.state == "stale"
    shown.element.evaluate("(e) => { e.parts.show = () => {}; }")
    shown.element.get_by_role("button", name="reset").click()
    assert (shown.ready().status, shown.state) == ("", "ready")


def test_the_books_model_is_offered_where_an_exhibit_fails(exhibit, crane):
    shown = exhibit("heads", text=TEXT)
    shown.element.evaluate("(e) => { e.model.loaded.own = true; e.fail(new TypeError('engine')); }")
    assert (
        "What is printed here does not answer: something went wrong" in shown.element.inner_text()
    )
    shown.element.get_by_role("button", name="the book's model").click()
    shown.element.locator(".bar").first.wait_for()
    assert shown.bars() == pytest.approx(crane.next(crane.trace(TEXT)["logits"]), abs=1e-3)
