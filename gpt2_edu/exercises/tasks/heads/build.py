"""Attention with many heads."""

from typing import Any

from torch import Tensor

from .... import model
from ....config import GPT2Config
from ...exercise import Case, Mistake
from ...step import fill, numbered, random_tensor

PARTS = ("CausalSelfAttention",)
DROPS = ("Head",)
IMPORTS = (
    "import torch",
    "from gpt2_edu import note",
    "from torch import nn",
)

START = """
class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.n_head = n_head
        ...  # c_attn and c_proj

    def split_heads(self, x):  # (B, T, C) → (B, H, T, D)
        ...

    def forward(self, x):  # (B, T, C) → (B, T, C)
        ...  # with your attention; note q, k, v, heads, merged and out
"""

SOLUTION = """
class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.n_head = n_head
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)  # q, k and v, side by side
        self.c_proj = nn.Linear(n_embd, n_embd)

    def split_heads(self, x):  # (B, T, C) → (B, H, T, D)
        B, T, C = x.shape
        return x.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)

    def forward(self, x):  # (B, T, C) → (B, T, C)
        q, k, v = self.c_attn(x).split(x.size(-1), dim=-1)
        q = note("q", self.split_heads(q), "B H T D")
        k = note("k", self.split_heads(k), "B H T D")
        v = note("v", self.split_heads(v), "B H T D")
        heads = note("heads", attention(q, k, v), "B H T D")
        merged = heads.transpose(1, 2).flatten(start_dim=2)
        merged = note("merged", merged, "B T C")
        return note("out", self.c_proj(merged), "B T C")
"""


MISTAKES = (
    Mistake(
        "You split the columns but leave the head axis after the tokens. This is (B, T, H, D), and "
        "attention would run over the heads. Add `.transpose(1, 2)`.",
        ("C // self.n_head).transpose(1, 2)", "C // self.n_head)"),
    ),
    Mistake(
        "You ask `view` for the final shape at once, so pieces of one token pose as several "
        "tokens. `view` to (B, T, H, D), then `transpose(1, 2)`.",
        (
            "x.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)",
            "x.view(B, self.n_head, T, C // self.n_head)",
        ),
    ),
    Mistake(
        "`reshape` to the final shape makes pieces of one token pose as several tokens, without "
        "any error. Split C into (H, D) in place, then move H.",
        (
            "x.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)",
            "x.reshape(B, self.n_head, T, C // self.n_head)",
        ),
    ),
    Mistake(
        "You join the heads without moving H back, so one row has entries of different tokens. "
        "First `transpose(1, 2)`, then `flatten(start_dim=2)`.",
        ("heads.transpose(1, 2).flatten(start_dim=2)", "heads.reshape(x.shape)"),
    ),
    Mistake(
        "You divide the scores by √C. The vectors in the dot product have D = C / H entries, so it "
        "must be √D, and your `attention` already does that.",
        ("attention(q, k, v)", "attention(q / self.n_head**0.5, k, v)"),
    ),
    Mistake(
        "The heads are joined, but `c_proj` is not called, so nothing mixes their results.",
        (
            "self.c_proj(merged)",
            "merged",
        ),
    ),
)


def theirs(n_embd: int, n_head: int) -> model.CausalSelfAttention:
    layer = model.CausalSelfAttention(GPT2Config(n_embd=n_embd, n_head=n_head))
    numbered(layer, seed=n_embd)
    return layer


def use(mine: Any, what: str, n_head: int, x: Tensor) -> Tensor:
    layer: Any = fill(mine.CausalSelfAttention(x.size(-1), n_head), theirs(x.size(-1), n_head))
    return layer.split_heads(x) if what == "split_heads" else layer(x)


def right(what: str, n_head: int, x: Tensor) -> Tensor:
    layer = theirs(x.size(-1), n_head)
    return layer.split_heads(x) if what == "split_heads" else layer(x)


def cases() -> list[Case]:
    return [
        Case(
            "split_heads: B = 2, T = 5, C = 12, H = 3",
            ("split_heads", 3, random_tensor(1, 2, 5, 12)),
        ),
        Case("one head: T = 3, C = 4", ("forward", 1, random_tensor(2, 1, 3, 4))),
        Case("B = 2, T = 5, C = 12, H = 3", ("forward", 3, random_tensor(3, 2, 5, 12))),
        Case("as many heads as columns", ("forward", 6, random_tensor(4, 1, 7, 6))),
        Case("a single token", ("forward", 2, random_tensor(5, 3, 1, 10))),
    ]
