"""The exhibit of chapter 12: seven mistakes of loading, made with the chapter's own code."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
import torch

from gpt2_edu import GPT2, generate, load_tokenizer
from gpt2_edu import crane as crane_world
from gpt2_edu.weights import locate

pytestmark = pytest.mark.browser
STORY = crane_world.story(1_000_000)
NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "12_weights.ipynb"
NAMES = {
    "nothing": "nothing loaded",
    "head": "head not tied",
    "square": "square not transposed",
    "positions": "positions dropped",
    "heads": "8 heads for 4",
    "gelu": "exact GELU",
    "epsilon": "other epsilon",
}
CHANCE = ("nothing", "head")  # whose random numbers are the page's own


@pytest.fixture(scope="module")
def chapter() -> SimpleNamespace:
    """The cells of the chapter that make the mistakes and measure the loss."""
    end = load_tokenizer("crane").eot_token
    space: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, "GPT2": GPT2, "end": end}
    space |= {"encoding": load_tokenizer("crane"), "crane": crane_world, "generate": generate}
    space |= {"model": GPT2.from_pretrained("crane")}
    for cell in nbformat.read(NOTEBOOK, 4).cells:
        if re.search(r"^def (square_not_transposed|beginning)\(", cell.source, re.M):
            exec(re.split(r"\nwith torch.no_grad|\nexhibits\.", cell.source)[0], space)
    return SimpleNamespace(**space)


def loss_of(model: GPT2) -> float:
    encoding = load_tokenizer("crane")
    row = [encoding.eot_token, *encoding.encode(STORY), encoding.eot_token]
    with torch.no_grad():
        return model(torch.tensor([row[:-1]]), torch.tensor([row[1:]]))[1].item()


def choose(shown, *wrong: str):
    for key, name in NAMES.items():
        shown.element.get_by_label(name, exact=True).set_checked(key in wrong)
    shown.ready()


def figures(shown) -> tuple[float, str, str]:
    """The loss, the first module that differs, the text that this model writes."""
    shown.ready()
    origin = shown.element.locator(".spread .origin").all()
    first = [one.get_attribute("title") for one in origin]
    loss = float(shown.element.locator(".bar i").inner_text())
    return loss, (first or ["none"])[0], shown.element.locator("q").last.text_content()


@pytest.mark.thorough
def test_each_mistake_has_the_loss_the_text_and_the_place_of_the_chapters(exhibit, chapter):
    shown = exhibit("mistakes", text="", story=STORY)
    choose(shown)
    assert figures(shown)[:2] == (pytest.approx(loss_of(chapter.model), abs=1e-3), "none")
    firsts = {"square": "h.0.attn", "positions": "wpe", "heads": "h.0.attn"}
    firsts |= {"gelu": "h.0.mlp", "epsilon": "h.0.ln_1"}
    makers = {"square": chapter.square_not_transposed, "positions": chapter.positions_dropped}
    makers |= {"heads": chapter.other_number_of_heads, "gelu": chapter.exact_gelu}
    makers |= {"epsilon": chapter.other_epsilon}
    for key, make in makers.items():
        bad = GPT2.from_pretrained("crane")
        make(bad)
        choose(shown, key)
        loss, first, text = figures(shown)
        assert loss == pytest.approx(loss_of(bad), abs=1e-3), key
        assert (first, text.strip()) == (firsts[key], chapter.beginning(bad).strip()), key


@pytest.mark.parametrize("key", CHANCE)
def test_random_starts_are_random_as_gpt2s_and_computed_as_in_python(
    exhibit, key, chapter, tmp_path
):
    shown = exhibit("mistakes", text="", story=STORY, query={"wrong": key})
    encoded = shown.page.evaluate(
        """async (key) => {
          const { broken } = await import("/web/exhibits/broken.mjs");
          const { weights, head } = await broken([key]);
          const text = (bytes) => bytes.reduce((all, b) => all + String.fromCharCode(b), "");
          return btoa(text(new Uint8Array(head ? head.buffer : weights)));
        }""",
        key,
    )
    bytes_ = base64.b64decode(encoded)
    bad = GPT2.from_pretrained("crane")
    if key == "head":
        numbers = torch.frombuffer(bytearray(bytes_), dtype=torch.float32)
        bad.lm_head.weight = torch.nn.Parameter(numbers.view(1024, 128).clone())
        drawn, first = bad.lm_head.weight, "lm_head"
    else:
        (tmp_path / "config.json").write_text((locate("crane") / "config.json").read_text())
        (tmp_path / "model.safetensors").write_bytes(bytes_)
        bad = GPT2.from_pretrained(tmp_path)
        drawn, first = bad.lm_head.weight, "wte"
    assert drawn.std().item() == pytest.approx(bad.config.initializer_range, rel=0.02)
    assert abs(drawn.mean().item()) < 0.002
    loss, place, text = figures(shown)
    assert loss == pytest.approx(loss_of(bad), abs=2e-3) and loss > 6
    assert place == first
    assert text.strip() == chapter.beginning(bad).strip()
