"""The reader's own model in every exhibit: chosen, kept for the next page, and given up."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.bpe import train_bpe
from gpt2_edu.sampling import next_probabilities
from gpt2_edu.tokenizer import make_encoding
from gpt2_edu.web import save_for_page
from gpt2_site import one_pass

pytestmark = pytest.mark.browser
TEXT = "In the marsh, the crane"
WAIT = 30_000  # milliseconds
TOKENIZER = make_encoding(
    "own", train_bpe(["the crane in the marsh and the crane in the city"], 270)
)


@pytest.fixture(scope="module")
def mine(tmp_path_factory) -> tuple[GPT2, Path]:
    """A model with sizes and a tokenizer that the book has nowhere."""
    torch.manual_seed(3)
    sizes = {"vocab_size": 270, "block_size": 40, "n_layer": 2, "n_head": 3, "n_embd": 21}
    model = GPT2(GPT2Config(**sizes)).eval()
    path = tmp_path_factory.mktemp("own") / "mine.safetensors"
    save_for_page(model, TOKENIZER, path)
    return model, path


def expected(model: GPT2) -> list[float]:
    ids = [TOKENIZER.eot_token, *TOKENIZER.encode_ordinary(TEXT)]
    with torch.no_grad():
        logits = model(torch.tensor([ids]))[0][:, -1]
    return next_probabilities(logits)[0].topk(6).values.tolist()


def choose(shown, path: Path) -> None:
    shown.element.locator("input[type=file]").set_input_files(path)
    shown.element.locator(".status", has_text="answers now").wait_for(timeout=WAIT)


@pytest.mark.thorough
def test_it_answers_with_its_own_tokenizer_and_sizes_until_the_reader_goes_back(
    exhibit, mine, crane
):
    model, path = mine
    shown = exhibit("heads", text=TEXT)
    choose(shown, path)
    assert list(shown.bars().values()) == pytest.approx(expected(model), abs=1e-3)
    assert shown.element.locator(".thumbs button").count() == 6
    assert "".join(shown.tokens()[1:]).replace("␣", " ") == TEXT
    shown.page.reload()
    shown.page.wait_for_selector("gpt2-heads[data-state=ready]", timeout=WAIT)
    assert list(shown.bars().values()) == pytest.approx(expected(model), abs=1e-3)
    shown.element.get_by_role("button", name="the book's model").click()
    shown.element.locator(".thumbs button").nth(11).wait_for(timeout=WAIT)
    assert shown.bars() == pytest.approx(crane.next(crane.trace(TEXT)["logits"]), abs=1e-3)
    shown.page.reload()
    shown.page.wait_for_selector("gpt2-heads[data-state=ready]", timeout=WAIT)
    assert shown.element.locator(".thumbs button").count() == 12


@pytest.mark.thorough
@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_the_first_page_shows_it_at_once_on_every_visit(exhibit, mine, motion):
    """The page holds passes of the book's model, and plays one; neither is for this reader."""
    model, path = mine
    context = {"reduced_motion": motion}
    choose(exhibit("heads", text=TEXT, context=context), path)
    for _ in range(2):
        shown = exhibit("flow", **one_pass.settings(), plays=True, context=context)
        assert shown.element.locator(".flow-who").inner_text().startswith("mine answers.")
        shares = shown.element.locator(".next .p").all_text_contents()
        assert shares == ["< 0.01" if p < 0.005 else f"{p:.2f}" for p in expected(model)]
        assert shown.page.evaluate("sessionStorage['gpt2-edu played']") is None
        assert shown.page.locator(".plays > .flow-stage").count() == 0
        assert shown.status == ""  # it says above who answers


@pytest.mark.thorough
def test_an_exhibit_says_which_model_answers_if_it_is_not_the_books(exhibit, mine):
    shown = exhibit("mlp", text=TEXT)
    assert shown.status == ""
    choose(shown, mine[1])
    for kind in ("layernorm", "mlp"):
        shown = exhibit(kind, text=TEXT)
        assert shown.status == "mine answers."
    shown.element.get_by_role("button", name="the book's model").click()
    shown.page.wait_for_function("!document.querySelector('.status').textContent")


def test_a_file_that_is_no_model_and_a_tokenizer_that_does_not_fit_are_refused(
    exhibit, mine, crane, tmp_path
):
    shown = exhibit("heads", text=TEXT)
    whole = mine[1].read_bytes()
    at = whole.index(b"gpt2-edu.merges") + 18
    for nth, (content, said) in enumerate(
        [
            (b"no model", "lacks its config.json"),
            (whole[:at] + b"A" * 40 + whole[at + 40 :], "does not fit its 270 tokens"),
            (b"\xff" * 20, "lacks its config.json"),
        ]
    ):
        path = tmp_path / f"{nth}.safetensors"
        path.write_bytes(content)
        shown.element.locator("input[type=file]").set_input_files(path)
        shown.element.locator(".status", has_text=said).wait_for(timeout=WAIT)
    assert shown.bars() == pytest.approx(crane.next(crane.trace(TEXT)["logits"]), abs=1e-3)
