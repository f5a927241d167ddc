"""The exhibit of chapter 1: bytes fuse into tokens, in GPT-2's list and in Crane World's."""

from __future__ import annotations

import pytest

from gpt2_edu import load_tokenizer
from gpt2_edu.tokenizer import make_encoding
from tests.thorough import thorough

pytestmark = pytest.mark.browser
SENTENCE = "The cranes tokenized unbelievably"
ODD = "Naïve 鶴 🐟,  I'm\u00a0here: שלום x=1;"
NAMES = ("gpt2", "crane")
SLIDER = "input[type=range]"


def ids_on(shown, which: int) -> list[int]:
    numbers = shown.ready().element.locator(".halves .strip").nth(which).locator("i")
    return [int(number) for number in numbers.all_inner_texts()]


def cut(name: str, text: str, merges: int) -> list[int]:
    """Python's ids with only the first merges of the list."""
    encoding = load_tokenizer(name)
    if merges >= encoding.n_vocab - 257:
        return encoding.encode_ordinary(text)
    tokens = [encoding.decode_single_token_bytes(i) for i in range(256 + merges)]
    return make_encoding("few", {token: i for i, token in enumerate(tokens)}).encode_ordinary(text)


@pytest.mark.parametrize("text", [thorough(SENTENCE), ODD])
def test_ids_are_tiktokens_whatever_the_merges(exhibit, text):
    shown = exhibit("tokens", text=SENTENCE, query={"text": text, "merges": "0"})
    for merges in (0, 1, 300, 767, 5000, 50_000):
        set_ = "async (n) => (await import('/web/exhibits/state.mjs')).state.set({ merges: n })"
        shown.page.evaluate(set_, merges)
        for which, name in enumerate(NAMES):
            assert ids_on(shown, which) == cut(name, text, merges)


@pytest.mark.thorough
def test_pieces_fuse_while_the_slider_moves(exhibit):
    shown = exhibit("tokens", text=SENTENCE)
    assert "".join(shown.tokens()) == 2 * SENTENCE.replace(" ", "␣")
    assert shown.sentence == (
        "33 bytes are 6 tokens for GPT-2, 19 for Crane World. "
        "Of 4 words GPT-2 keeps 2 whole, Crane World 0."
    )
    slider = shown.element.locator(SLIDER)
    slider.focus()
    shown.page.keyboard.press("Home")
    assert [len(ids_on(shown, which)) for which in (0, 1)] == [33, 33]
    assert shown.sentence.startswith("With 0 merges, 33 bytes are 33 tokens for GPT-2, 33 for ")
    for _ in range(3):
        shown.page.keyboard.press("ArrowRight")
    assert ids_on(shown, 0) == cut("gpt2", SENTENCE, 3)
    assert ids_on(shown, 1) == cut("crane", SENTENCE, 3)
    assert shown.query == "?merges=3"
    shown.element.get_by_role("button", name="reset").click()
    assert ids_on(shown, 1) == cut("crane", SENTENCE, 767)


def test_a_token_tells_how_it_was_made(exhibit):
    shown = exhibit("tokens", text=" crane", context={"has_touch": True})
    first = shown.element.locator(".halves .strip").first.locator("button")
    first.tap()
    steps = shown.ready().element.locator(".steps")
    assert steps.inner_text() == (
        "␣crane, made by merge 40,920: ␣ | c | r | a | n | e → ␣c | r | a | n | e → "
        "␣c | r | an | e → ␣cr | an | e → ␣cr | ane → ␣crane"
    )
    assert first.get_attribute("aria-pressed") == "true"
    assert shown.query == "?token=gpt2+0"
    first.tap()
    assert "Choose a token" in steps.inner_text()
