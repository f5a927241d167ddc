"""The exhibit of chapter 9: the stream turned louder and quieter, with the norms and without."""

from __future__ import annotations

import copy
import math
import re

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.thorough import thorough

pytestmark = pytest.mark.browser
MARSH, CITY = "In the marsh, the crane", "In the city, the crane"
STAGES = {"embedding": "embd"} | {f"block {n}": f"transformer.h.{n}.resid_post" for n in range(3)}
WRITERS = ("embd", *(f"transformer.h.{n}.{part}.out" for n in range(3) for part in ("attn", "mlp")))


@pytest.fixture(scope="module")
def bare(crane):
    """The same model, its norms taken out."""
    without = copy.deepcopy(crane)
    for module in [without.model.transformer, *without.model.transformer.h]:
        for name, child in module.named_children():
            if isinstance(child, nn.LayerNorm):
                setattr(module, name, nn.Identity())
    return without


def louder(volume):
    return {path: lambda x: volume * x for path in WRITERS}


def next_tokens(shown, tape, crane):
    """What Python says of the tokens whose bars are shown."""
    shares = crane.next(tape["logits"], 1024)
    return pytest.approx({name: shares[name] for name in shown.bars()}, abs=1e-3)


def turn(shown, volume):
    shown.slide("volume", math.log10(volume))


def dots(shown, row):
    """Where the dots of a row stand that are seen, in numbers of the line."""
    places = shown.ready().element.locator(f".dots > g >> nth={row}").locator("circle")
    seen = places.evaluate_all(
        "dots => dots.filter((d) => d.style.opacity !== '0')"
        ".map((d) => parseFloat(d.style.translate))"
    )
    return torch.tensor([(x - 180) * 4 / 150 for x in seen])


def deviations(shown):
    """σ of the stream and of what is read, as the sentence says them."""
    two = re.search(
        r"σ is ([\d.]+) in the stream and ([\d.]+) in what the next layer reads", shown.sentence
    )
    return [float(number) for number in two.groups()]


@pytest.mark.parametrize("volume", [thorough(0.01), thorough(1), 100])
def test_dots_and_bars_are_pythons(exhibit, crane, volume):
    shown = exhibit("layernorm", text=MARSH)
    turn(shown, volume)
    tape = crane.trace(MARSH, louder(volume))
    x = tape["embd"][0, -1]
    read = F.layer_norm(x, x.shape)
    seen = x[x.abs() <= 4]
    assert (len(seen) < 128) == (volume == 100)
    assert torch.allclose(dots(shown, 0), seen, atol=2e-3)
    assert torch.allclose(dots(shown, 1), read, atol=2e-3)
    two = [x.std(correction=0).item(), read.std(correction=0).item()]
    assert deviations(shown) == pytest.approx(two, abs=1e-3)
    assert shown.bars() == next_tokens(shown, tape, crane)


@pytest.mark.thorough
def test_with_the_norm_nothing_changes_without_it_all_does(exhibit, crane, bare):
    shown = exhibit("layernorm", text=MARSH)
    before = shown.bars()
    turn(shown, 100)
    assert shown.bars() == pytest.approx(before, abs=1e-3)
    assert "␣ate stays at 0.53." in shown.sentence
    shown.element.get_by_label("LayerNorm").click()
    assert shown.bars() == next_tokens(shown, bare.trace(MARSH, louder(100)), crane)
    assert "␣ate goes from 0.53 to 0.00" in shown.sentence
    title = shown.element.locator(".bars-box p").inner_text()
    assert title == "what comes after ␣crane (dashed: as trained)"
    assert re.search(r"\d+ of 128 entries are beyond ±4", shown.sentence)
    turn(shown, 1)
    assert shown.bars() == next_tokens(shown, bare.trace(MARSH), crane)
    assert shown.query == "?norm=false"
    turn(shown, 0.01)
    assert shown.sentence.endswith("␣ate goes from 0.53 to 0.00; no token has more than 0.001.")
    assert shown.bars().keys() >= {"15"}  # the token of byte 0x15, which has no look


@pytest.mark.thorough
def test_epsilon_outside_the_root_leaves_a_quiet_token_loud(exhibit, crane):
    shown = exhibit("layernorm", text=MARSH)
    turn(shown, 0.01)
    x = crane.trace(MARSH, louder(0.01))["embd"][0, -1]
    std = x.std(correction=0).item()
    inside, outside = std / (std**2 + 1e-5) ** 0.5, std / (std + 1e-5)
    assert deviations(shown)[1] == pytest.approx(inside, abs=1e-3)
    assert shown.sentence.count(f"With ε outside the root it would be {outside:.3f}.") == 1
    shown.element.get_by_role("button", name="σ + ε").click()
    assert deviations(shown)[1] == pytest.approx(outside, abs=1e-3)
    assert dots(shown, 1).std(correction=0).item() == pytest.approx(outside, abs=2e-3)
