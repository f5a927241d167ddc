"""The exhibit of chapter 16: token by token, with kept keys and values and without."""

from __future__ import annotations

import re

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from gpt2_edu import generate, load_tokenizer, trace

pytestmark = pytest.mark.browser
RIVER = "By the river, the crane"


def texts(shown):
    """What was written with a cache, and without."""
    lines = shown.ready().element.locator(".written > p:has(b)").all_inner_texts()
    return [line.split(": …")[1] for line in lines]


def counts(shown):
    """For both ways: tokens now, tokens in all, multiply-adds in millions."""
    ways = shown.ready().element.locator(".areas > div").all()
    cells = [way.locator("p > b").all_inner_texts() for way in ways]
    return [
        [float(cell.removesuffix(" million").replace(",", "")) for cell in row] for row in cells
    ]


def decoded(ids):
    return load_tokenizer("crane").decode(ids).replace("<|endoftext|>", " ⟨end⟩")


def largest_gap(shown):
    return float(re.search(r"(?:more than|up to) ([\d.]+\d)", shown.sentence)[1])


def test_both_ways_write_pythons_text(exhibit, crane):
    shown = exhibit("cache", text=RIVER, query={"steps": "16"})
    ids = torch.tensor([crane.ids(RIVER)])
    expected = generate(crane.model, ids, 16, temperature=0)[0, ids.size(1) :]
    assert texts(shown) == [decoded(expected.tolist())] * 2
    assert "the text is the same" in shown.sentence
    assert 0 < largest_gap(shown) < 1e-4  # computed, not asserted
    assert shown.element.locator(".bar.moved").count() == 0


def test_the_counters_count_what_python_counts(exhibit, crane):
    shown = exhibit("cache", text=RIVER, query={"steps": "3"})
    P = len(crane.ids(RIVER))

    def products(T):
        with torch.no_grad(), trace(crane.model), FlopCounterMode(display=False) as counter:
            crane.model(torch.zeros(1, T, dtype=torch.int64), last_only=True)
        return counter.get_total_flops() / 2e6

    cached, whole = counts(shown)
    assert cached[:2] == [1, P + 2]
    assert whole[:2] == [P + 2, 3 * P + 3]
    assert whole[2] == pytest.approx(sum(products(P + i) for i in range(3)), abs=0.06)
    assert products(P) < cached[2] < products(P) + 2 * products(2)


def test_the_areas_are_as_large_as_the_counts(exhibit, crane):
    shown = exhibit("cache", text=RIVER, query={"steps": "5"})
    areas = shown.element.locator(".area").all()
    for area, count in zip(areas, counts(shown), strict=True):
        paths = area.locator("path").evaluate_all("all => all.map((p) => p.getAttribute('d'))")
        heights = [int(high) for high in re.findall(r"v-(\d+)", "".join(paths))]
        assert (len(heights), sum(heights), heights[-1]) == (5, count[1], count[0])
    P = len(crane.ids(RIVER))
    assert heights == list(range(P, P + 5))


def test_positions_that_start_again_are_pythons_too(exhibit, crane):
    shown = exhibit("cache", text=RIVER, query={"steps": "20"})
    right, _ = texts(shown)
    shown.element.get_by_label("positions start again").check()
    ids = crane.ids(RIVER)
    P = len(ids)

    def restart(x):
        x = x.clone()
        x[P:] = x[0]
        return x

    for _ in range(20):
        with trace(crane.model, edits={"pos_emb": restart}), torch.no_grad():
            ids.append(int(crane.model(torch.tensor([ids]))[0][0, -1].argmax()))
    wrong = decoded(ids[P:])
    assert texts(shown) == [wrong, right] and wrong != right
    assert wrong.endswith(shown.element.locator(".written mark").first.inner_text())
    assert shown.sentence.startswith("No error, but every new token takes position 0: token ")
    assert largest_gap(shown) > 1
