"""The exhibits of chapter 4: a score spelled out, and rows of weights that saturate."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import pytest
import torch

pytestmark = pytest.mark.browser
Q = [[0.7, 0.7], [0.9, 0.1], [0.3, 0.9]]
K = [[0.7, 0.7], [0.9, 0.1], [0.9, 0.1]]
WORDS = ["crane", "ate", "fish"]
SMALL = {"q": Q, "k": K, "words": WORDS, "names": ["animal", "machine"], "cell": "1 2"}
BITS = 2**32 - 1


def darts(seed: int) -> Iterator[float]:
    """Numbers from 0 to below 1, as JavaScript draws them."""
    while True:
        seed = (seed + 0x6D2B79F5) & BITS
        t = (seed ^ (seed >> 15)) * (1 | seed) & BITS
        t = ((t + ((t ^ (t >> 7)) * (61 | t) & BITS)) & BITS) ^ t
        yield ((t ^ (t >> 14)) & BITS) / 2**32


def weights(d: int, root: bool, seed: int) -> torch.Tensor:
    """(16, 16), of the same random vectors."""
    dart = darts(seed)
    normal = (
        math.sqrt(-2 * math.log(1 - next(dart))) * math.cos(2 * math.pi * next(dart))
        for _ in range(2 * 16 * 1024)
    )
    vectors = torch.tensor(list(normal), dtype=torch.float64).view(32, 1024)[:, :d]
    scores = vectors[:16] @ vectors[16:].T
    return (scores / math.sqrt(d) if root else scores).softmax(dim=-1)


def test_a_score_is_spelled_out(exhibit):
    shown = exhibit("scores", **SMALL)
    boards = [shown.cells(f".product > :nth-child({i})") for i in (2, 3, 4)]
    k, q, scores = ([[float(cell) for cell in row] for row in board] for board in boards)
    assert q == Q and k == [list(row) for row in zip(*K, strict=True)]
    expected = torch.tensor(Q) @ torch.tensor(K).T
    assert scores == [pytest.approx(row, abs=6e-3) for row in expected.tolist()]
    assert shown.sentence == (
        "ate looks at fish: row ate of Q times column fish of Kᵀ, 0.90 · 0.90 + 0.10 · 0.10 = 0.82."
    )
    shown.element.locator(".product > :last-child td[data-place='2 1']").hover()
    assert (
        "row fish of Q times column ate of Kᵀ, 0.30 · 0.90 + 0.90 · 0.10 = 0.36" in shown.sentence
    )
    lit = shown.element.locator("td.lit")
    assert lit.all_inner_texts() == ["0.90", "0.10", "0.30", "0.90"]
    assert shown.query == "?cell=2+1"


def test_what_is_pointed_at_in_either_table_is_marked_in_the_scores(exhibit):
    shown = exhibit("scores", **SMALL)
    shown.element.locator(".product > :nth-child(3) td[data-place='0 1']").hover()
    assert shown.ready().sentence.startswith("crane looks at fish: row crane of Q")
    shown.element.locator(".product > :nth-child(2) td[data-place='1 1']").hover()
    assert shown.ready().sentence.startswith("crane looks at ate: row crane of Q")
    here = shown.element.locator(".product > :last-child td.here")
    assert here.get_attribute("data-place") == "0 1"
    assert shown.element.locator("td[tabindex='0']").count() == 3  # a stop of Tab in each table


def test_a_column_of_keys_stands_above_its_scores(exhibit):
    shown = exhibit("scores", **SMALL)
    lefts = "all => all.map((th) => th.getBoundingClientRect().left)"
    keys, scores = (
        shown.element.locator(f".product > :nth-child({i}) th[scope=col]").evaluate_all(lefts)
        for i in (2, 4)
    )
    assert keys == pytest.approx(scores, abs=0.5)


def test_cells_by_keyboard_and_touch(exhibit):
    shown = exhibit("scores", **SMALL, context={"has_touch": True})
    shown.element.locator(".product > :last-child td[tabindex='0']").focus()
    shown.page.keyboard.press("ArrowUp")
    assert shown.sentence.startswith("crane looks at fish: ")
    shown.page.keyboard.press("Home")
    assert shown.sentence.startswith("crane looks at crane: ") and "= 0.98." in shown.sentence
    shown.element.locator(".product > :last-child td[data-place='1 1']").tap()
    assert shown.sentence.startswith("ate looks at ate: ")


@pytest.mark.parametrize(("d", "root"), [(1, False), (64, False), (1024, False), (1024, True)])
def test_weights_are_pythons(exhibit, d, root):
    shown = exhibit("scores", seed=1, query={"d": str(d), "root": str(root).lower(), "query": "3"})
    expected = weights(d, root, 1)
    best = expected[3].sort(descending=True)
    bars = shown.bars()
    if not root:
        names = [f"k{i}" for i in best.indices[:5].tolist()]
        assert list(bars) == names
    for name, share in bars.items():
        assert share == pytest.approx(expected[3, int(name[1:])].item(), abs=1e-3)
    largest = expected.max(dim=-1).values.mean().item()
    reaction = (2 * expected * (1 - expected)).mean().item()
    said = re.search(
        r"gets (\S+) of a row on average. .* weights of its row change (\S+) times", shown.sentence
    )
    assert said
    assert [float(number) for number in said.groups()] == pytest.approx(
        [largest, reaction], abs=6e-3
    )


def test_a_longer_vector_saturates_and_the_root_undoes_it(exhibit):
    shown = exhibit("scores", d=4, seed=1)
    slider = shown.element.locator("input[type=range]")
    slider.focus()
    shown.page.keyboard.press("End")
    assert shown.sentence.startswith(
        "With d = 1,024 and no division, scores have a typical size of 3"
    )
    assert "gets 0.99 of a row" in shown.sentence
    shown.page.keyboard.press("ArrowLeft")
    assert shown.sentence.startswith("With d = 512 and")
    shown.element.get_by_label("divide by √d").check()
    assert shown.sentence.startswith("Divided by √512 = 22.6, scores have a typical size of 1.0")
    assert max(shown.bars().values()) < 0.6
    assert shown.query == "?d=512&root=true"
    before = shown.bars()
    shown.element.get_by_role("button", name="draw other").click()
    assert shown.bars() != before and "seed 2." in shown.sentence
    shown.element.locator(".board td[data-place='7 0']").hover()
    assert shown.ready().element.locator(".bars-box p").inner_text().startswith("weights of q7")
    shown.element.get_by_role("button", name="reset").click()
    assert shown.sentence.startswith("With d = 4 and")


@pytest.mark.parametrize(
    "query",
    [
        {"d": "-3", "root": "maybe", "seed": "1e99", "query": "400", "cell": "9 9"},
        {"d": "0.2", "seed": "-1", "query": "<b>", "cell": "1 2 3"},
        {"d": "1e400", "seed": "🐦", "cell": ""},
    ],
)
def test_odd_addresses_are_read_as_far_as_they_make_sense(exhibit, query):
    for settings in (SMALL, {"seed": 1}):
        shown = exhibit("scores", query=query, **settings)
        shown.stands()
        assert shown.sentence
