"""Attention that does not look ahead."""

from typing import Any

from torch import Tensor
from torch.nn import functional as F

from ....tape import trace
from ...crane_run import CRANE, MARSH, TEXT, crane_run
from ...exercise import Case, Mistake, fitting
from ...step import random_tensor
from ..attention.build import MIXTURE
from . import causal_attention
from .causal_attention import properties as properties

PARTS = ("attention",)
IMPORTS = (
    "import math",
    "import torch",
    "from gpt2_edu import note",
)

START = '''
def attention(q, k, v):
    """Causal attention: each (..., T, D) → (..., T, D)."""
    ...  # scores, masked_scores and weights, "... T T"
'''

SOLUTION = '''
def attention(q, k, v):
    """Causal attention: each (..., T, D) → (..., T, D)."""
    T, D = q.shape[-2:]
    scores = q @ k.transpose(-2, -1) / math.sqrt(D)  # row = query, column = key
    scores = note("scores", scores, "... T T")
    visible = torch.ones(T, T, dtype=torch.bool, device=q.device).tril()
    masked_scores = scores.masked_fill(~visible, -torch.inf)
    masked_scores = note("masked_scores", masked_scores, "... T T")
    weights = note("weights", masked_scores.softmax(dim=-1), "... T T")
    return weights @ v
'''


MISTAKES = (
    *fitting(causal_attention.MISTAKES, SOLUTION),
    Mistake(
        "You set weights to 0 after the softmax, when the future has already been counted, so the "
        "rows no longer sum to 1. Mask the scores, before it.",
        (
            "scores.masked_fill(~visible, -torch.inf)",
            "scores.softmax(dim=-1).masked_fill(~visible, 0)",
        ),
        ("masked_scores.softmax(dim=-1)", "masked_scores"),
    ),
    Mistake(
        "The division by √D is gone.",
        (" / math.sqrt(D)", ""),
    ),
    Mistake(
        "`B, T, D = q.shape` needs exactly one axis in front, and there may be none or two. Take the last two: `q.shape[-2:]`.",
        ("T, D = q.shape[-2:]", "B, T, D = q.shape"),
    ),
    Mistake(
        "`B, H, T, D = q.shape` needs exactly two axes in front, and there may be fewer. Take the last two: `q.shape[-2:]`.",
        ("T, D = q.shape[-2:]", "B, H, T, D = q.shape"),
    ),
    Mistake(
        "`q.size(1)` is T only if one axis is in front. Count from the end: T is `q.size(-2)`.",
        ("T, D = q.shape[-2:]", "T, D = q.size(1), q.size(-1)"),
    ),
    Mistake(
        "`q.size(0)` is T only if no axis is in front. Count from the end: T is `q.size(-2)`.",
        ("T, D = q.shape[-2:]", "T, D = q.size(0), q.size(-1)"),
    ),
    Mistake(
        "You divide by D. Divide by its root, `math.sqrt(D)`.",
        ("math.sqrt(D)", "D"),
    ),
    Mistake(
        'The axes of a note must fit whatever is in front of T: write "... T T", with the dots.',
        ('note("scores", scores, "... T T")', 'note("scores", scores, "T T")'),
    ),
    Mistake(
        "The triangle says for each pair of tokens whether one sees the other. It is (T, T), not (D, D).",
        ("torch.ones(T, T", "torch.ones(D, D"),
        ('note("masked_scores", masked_scores, "... T T")', "masked_scores"),
        (
            'note("weights", masked_scores.softmax(dim=-1), "... T T")',
            "masked_scores.softmax(dim=-1)",
        ),
    ),
    Mistake(
        "The division comes after the softmax, so the weights no longer sum to 1. Divide the scores.",
        (" / math.sqrt(D)", ""),
        ("return weights", "return weights / math.sqrt(D)"),
    ),
    Mistake(
        "Nothing is masked here, and the division by √D is gone.",
        (" / math.sqrt(D)", ""),
        ("masked_scores.softmax(dim=-1)", "scores.softmax(dim=-1)"),
    ),
    Mistake(
        "You write +∞, which gets all of the weight, or makes it nan. Hidden is −∞, `-torch.inf`.",
        ("-torch.inf", "torch.inf"),
    ),
    Mistake(
        "k must be transposed, so that each query meets each key: `q @ k.transpose(-2, -1)`.",
        ("k.transpose(-2, -1)", "k"),
    ),
    *MIXTURE,
    Mistake(
        "The triangle has a row for each query and a column for each key: `torch.ones(T, T)`.",
        ("torch.ones(T, T,", "torch.ones(T,"),
    ),
)


def use(mine: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    with trace():  # as `note` checks its axes only there
        return mine.attention(q, k, v)


def right(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def cases() -> list[Case]:
    def qkv(*shape: int) -> tuple[Tensor, Tensor, Tensor]:
        return random_tensor(1, *shape), random_tensor(2, *shape), random_tensor(3, *shape)

    q, k, v = qkv(4, 3)
    return [
        Case("one text, T = 3, D = 2", qkv(3, 2)),
        Case("B = 2, T = 5, D = 12", qkv(2, 5, 12)),
        Case("with an axis for heads: B = 2, H = 3, T = 5, D = 4", qkv(2, 3, 5, 4)),
        Case("very low scores", (200 * q.abs(), -200 * k.abs(), v)),
        Case("a single token", qkv(1, 1, 4)),
    ]


def after(mine: Any) -> str:
    run = crane_run()
    weights = mine.attention(run.noted(1, "attn.q"), run.noted(1, "attn.k"), run.one_hot())[0, 0]
    return (
        f'Your attention in block 1 of the trained model, head 0, reading "{TEXT}": "crane" takes '
        f'{weights[CRANE, MARSH]:.2f} from "marsh", and "marsh" {weights[MARSH, CRANE]:.2f} from '
        '"crane", which comes later.'
    )
