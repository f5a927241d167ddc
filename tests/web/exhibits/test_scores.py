"""The exhibits of chapter 4: a score spelled out, and rows of weights that saturate."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import pytest
import torch

from tests.thorough import thorough

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


@pytest.mark.parametrize(
    ("d", "root"), [thorough(1, False), (64, False), thorough(1024, False), (1024, True)]
)
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
