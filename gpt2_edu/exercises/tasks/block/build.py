"""The block."""

from typing import Any

from torch import Tensor

from .... import model
from ....config import GPT2Config
from ...exercise import Case, Mistake
from ...step import fill, numbered, random_tensor

PARTS = ("Block",)
IMPORTS = ("from gpt2_edu import note", "from torch import nn")

START = """
class Block(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        ...  # ln_1, attn, ln_2 and mlp

    def forward(self, x):  # (B, T, C) → (B, T, C)
        ...  # note ln_1, resid_mid, ln_2 and resid_post
"""

SOLUTION = """
class Block(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.ln_1 = LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head)
        self.ln_2 = LayerNorm(n_embd)
        self.mlp = MLP(n_embd)

    def forward(self, x):  # (B, T, C) → (B, T, C)
        normed = note("ln_1", self.ln_1(x), "B T C")
        x = note("resid_mid", x + self.attn(normed), "B T C")
        normed = note("ln_2", self.ln_2(x), "B T C")
        return note("resid_post", x + self.mlp(normed), "B T C")
"""


MISTAKES = (
    Mistake(
        "This is post-norm, which normalises the sum. GPT-2 normalises only what a part reads: `x + "
        "self.attn(self.ln_1(x))`.",
        ("self.ln_1(x)", "x"),
        ("x + self.attn(normed)", "self.ln_1(x + self.attn(normed))"),
        ("self.ln_2(x)", "x"),
        ("x + self.mlp(normed)", "self.ln_2(x + self.mlp(normed))"),
    ),
    Mistake(
        "You normalise the stream itself. Before the plus, `x` stays as it is, and only what the "
        "part reads is normalised.",
        ("x + self.attn(", "normed + self.attn("),
        ("x + self.mlp(", "normed + self.mlp("),
    ),
    Mistake(
        "You normalise what a part writes. The norm comes before it: `self.attn(self.ln_1(x))`.",
        ("self.ln_1(x)", "x"),
        ("self.attn(normed)", "self.ln_1(self.attn(normed))"),
        ("self.ln_2(x)", "x"),
        ("self.mlp(normed)", "self.ln_2(self.mlp(normed))"),
    ),
    Mistake(
        "Both parts read through `ln_1`. The MLP has a norm of its own, `ln_2`.",
        ("self.ln_2(x)", "self.ln_1(x)"),
    ),
    Mistake(
        "The norms are there but not used. Let each part read through its norm.",
        ("self.ln_1(x)", "x"),
        ("self.ln_2(x)", "x"),
    ),
)


def theirs(n_embd: int, n_head: int) -> model.Block:
    block = model.Block(GPT2Config(n_embd=n_embd, n_head=n_head))
    numbered(block, seed=n_embd)
    return block


def use(mine: Any, n_head: int, x: Tensor) -> Tensor:
    return fill(mine.Block(x.size(-1), n_head), theirs(x.size(-1), n_head))(x)


def right(n_head: int, x: Tensor) -> Tensor:
    return theirs(x.size(-1), n_head)(x)


def cases() -> list[Case]:
    return [
        Case("one token", (1, random_tensor(1, 1, 1, 4))),
        Case("B = 2, T = 5, C = 12, H = 3", (3, random_tensor(2, 2, 5, 12))),
        Case("one text of seven tokens", (2, random_tensor(3, 1, 7, 6))),
    ]
