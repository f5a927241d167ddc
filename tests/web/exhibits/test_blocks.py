"""The exhibit of chapter 10: blocks in another order, or fewer of them."""

from __future__ import annotations

import pytest
import torch

from gpt2_edu import GPT2, generate, load_tokenizer
from gpt2_edu import crane as crane_world
from tests.thorough import thorough

pytestmark = pytest.mark.browser
MARSH, CITY = "In the marsh, the crane", "In the city, the crane"
STORIES = [crane_world.story(seed) for seed in range(1_000_000, 1_000_003)]


@pytest.fixture
def blocks(exhibit):
    def show(**more):
        return exhibit("blocks", text=MARSH, stories=STORIES, chips=[CITY], **more)

    return show


def in_order(*order: int) -> GPT2:
    model = GPT2.from_pretrained("crane").eval()
    h = model.transformer.h
    model.transformer.h = torch.nn.ModuleList(h[n] for n in order)
    return model


def loss_of(model: GPT2, stories: list[str] = STORIES) -> float:
    encoding = load_tokenizer("crane")
    total, tokens = 0.0, 0
    for story in stories:
        row = [encoding.eot_token, *encoding.encode(story), encoding.eot_token]
        with torch.no_grad():
            loss = model(torch.tensor([row[:-1]]), torch.tensor([row[1:]]))[1]
        total, tokens = total + loss.item() * (len(row) - 1), tokens + len(row) - 1
    return total / tokens


def tried(shown) -> dict[str, float]:
    """The losses of all orders so far, by the table."""
    return {order: float(loss) for order, (loss,) in shown.table().items()}


def block(shown, name: str):
    return shown.element.locator(".strip button", has_text=name)


def place(shown, name: str) -> tuple[float, float]:
    box = block(shown, name).bounding_box()
    return box["x"] + 20, box["y"] + 20


@pytest.mark.parametrize("order", [thorough((0, 2, 1)), (1, 0, 2), thorough((2, 1, 0))])
def test_loss_bars_and_text_of_an_order_are_pythons(blocks, crane, order):
    shown = blocks(query={"order": " ".join(map(str, order))})
    model = in_order(*order)
    losses = tried(shown)
    assert losses["0 · 1 · 2"] == pytest.approx(loss_of(crane.model), abs=1e-3)
    assert losses[" · ".join(map(str, order))] == pytest.approx(loss_of(model), abs=2e-3)
    ids = torch.tensor([crane.ids(MARSH)])
    with torch.no_grad():
        logits = model(ids)[0]
    bars = {name: p for name, p in shown.bars().items() if name != "loss"}
    every = crane.next(logits, 1024)
    assert bars == pytest.approx({name: every[name] for name in bars}, abs=1e-3)
    out = generate(model, ids, 20, temperature=0, eos_id=1023, use_cache=False)[0, ids.size(1) :]
    written = load_tokenizer("crane").decode([i for i in out.tolist() if i != 1023])
    assert shown.element.locator("q").last.text_content() == written.strip()


def test_blocks_do_not_interchange_by_dragging(blocks):
    shown = blocks()
    shown.drag(place(shown, "block 1"), place(shown, "block 0"))
    assert shown.query == "?order=1+0+2"
    assert "Blind guessing has 6.93" in shown.sentence
    assert shown.bars()["loss"] == pytest.approx(loss_of(in_order(1, 0, 2)), abs=0.01)


def test_a_block_is_left_out_and_put_back(blocks):
    shown = blocks()
    block(shown, "block 1").click()
    assert shown.bars()["loss"] == pytest.approx(loss_of(in_order(0, 2)), abs=0.01)
    assert "left out" in block(shown, "block 1").inner_text()
    for name in ("block 0", "block 2"):
        block(shown, name).click()
    assert shown.sentence.startswith("no block: the loss is 28.6")
    shown.element.get_by_role("button", name="reset").click()
    assert shown.sentence.startswith("In the original order, 0 · 1 · 2")
