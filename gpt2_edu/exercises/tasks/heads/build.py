"""Attention with many heads."""

from typing import Any

from torch import Tensor

from .... import model
from ....config import GPT2Config
from ....tape import trace
from ...crane_run import TEXT, crane_run
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
    Mistake(
        "After the transpose the entries are no longer in order, and `view` refuses. Write `.flatten(start_dim=2)`, which copies them if it has to.",
        ("flatten(start_dim=2)", "view(x.shape)"),
    ),
    Mistake(
        "`flatten` starts one axis too early and joins the tokens as well. Keep B and T: `start_dim=2`.",
        ("start_dim=2", "start_dim=1"),
        ('merged = note("merged", merged, "B T C")\n        ', ""),
        ('note("out", self.c_proj(merged), "B T C")', "self.c_proj(merged)"),
    ),
    Mistake(
        "This is one wide head, because `forward` does not call `split_heads`. Each head has its own columns and its own softmax.",
        (
            """\
q = note("q", self.split_heads(q), "B H T D")
        k = note("k", self.split_heads(k), "B H T D")
        v = note("v", self.split_heads(v), "B H T D")
        heads = note("heads", attention(q, k, v), "B H T D")
        merged = heads.transpose(1, 2).flatten(start_dim=2)
""",
            "merged = attention(q, k, v)\n",
        ),
    ),
    Mistake(
        "v is not split into heads. All three are, each with `self.split_heads(…)`.",
        ('note("v", self.split_heads(v), "B H T D")', "v"),
        ('note("heads", attention(q, k, v), "B H T D")', "attention(q, k, v)"),
        ('merged = note("merged", merged, "B T C")\n        ', ""),
        ('note("out", self.c_proj(merged), "B T C")', "self.c_proj(merged)"),
    ),
    Mistake(
        "`split_heads` and the way back both go straight to the final shape, so pieces of one token pose as several tokens. Split C into (H, D), then `transpose(1, 2)`. On the way back transpose first.",
        (
            "x.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)",
            "x.reshape(B, self.n_head, T, C // self.n_head)",
        ),
        ("heads.transpose(1, 2).flatten(start_dim=2)", "heads.reshape(x.shape)"),
    ),
    Mistake(
        "You split all 3C entries into heads first, so a head gets columns of others. First separate q, k and v, C columns each, then split each into heads.",
        (
            """\
q, k, v = self.c_attn(x).split(x.size(-1), dim=-1)
        """,
            """\
q, k, v = self.split_heads(self.c_attn(x)).chunk(3, dim=-1)
        """,
        ),
        ("self.split_heads(q)", "q"),
        ("self.split_heads(k)", "k"),
        ("self.split_heads(v)", "v"),
    ),
    Mistake(
        "The number of heads and their size are swapped. Write `view(B, T, self.n_head, C // self.n_head)`.",
        ("self.n_head, C // self.n_head", "C // self.n_head, self.n_head"),
    ),
    Mistake(
        "C is split into (D, H) here, so head 0 takes every H-th column. Each head's columns are side by side: split into (H, D).",
        (
            "self.n_head, C // self.n_head).transpose(1, 2)",
            "C // self.n_head, self.n_head).permute(0, 3, 1, 2)",
        ),
    ),
    Mistake(
        "You swap H and D, so the tokens still come first. T and H are the axes 1 and 2: `transpose(1, 2)`.",
        ("C // self.n_head).transpose(1, 2)", "C // self.n_head).transpose(2, 3)"),
    ),
    Mistake(
        "Make two layers in `__init__`, each with its bias: `self.c_attn = nn.Linear(n_embd, 3 * n_embd)` and `self.c_proj = nn.Linear(n_embd, n_embd)`.",
        (
            "self.c_proj = nn.Linear(n_embd, n_embd)",
            "self.c_proj = nn.Linear(n_embd, n_embd, bias=False)",
        ),
    ),
    Mistake(
        "`c_attn` makes q, k and v at once, so it goes from n_embd to 3 * n_embd.",
        ("nn.Linear(n_embd, 3 * n_embd)", "nn.Linear(n_embd, n_embd)"),
    ),
    Mistake(
        "You take q for k and k for q. The first C entries of `c_attn` are q, the next are k, the last are v.",
        ("q, k, v = self.c_attn", "k, q, v = self.c_attn"),
    ),
    Mistake(
        "You take q for v and v for q. The first C entries of `c_attn` are q, the next are k, the last are v.",
        ("q, k, v = self.c_attn", "v, k, q = self.c_attn"),
    ),
    Mistake(
        "You take k for v and v for k. The first C entries of `c_attn` are q, the next are k, the last are v.",
        ("q, k, v = self.c_attn", "q, v, k = self.c_attn"),
    ),
    Mistake(
        "`split` takes the size of a piece, C, and not the number of pieces, 3. (`chunk(3, dim=-1)` takes the number.)",
        ("split(x.size(-1), dim=-1)", "split(3, dim=-1)"),
    ),
    Mistake(
        "You add x to the result. That is the residual connection, which comes around this layer, in the next chapter.",
        ("self.c_proj(merged)", "x + self.c_proj(merged)"),
    ),
    Mistake(
        "These heads see the future. Call your `attention` of the last chapter, which masks it.",
        ("attention(q, k, v)", "(q @ k.transpose(-2, -1) / q.size(-1) ** 0.5).softmax(dim=-1) @ v"),
    ),
    Mistake(
        "You join T and D, so each row is a whole head. First `transpose(1, 2)`, so that H and D are neighbours.",
        ("heads.transpose(1, 2).flatten", "heads.flatten"),
        (
            """\
merged = note("merged", merged, "B T C")
        """,
            "",
        ),
    ),
    Mistake(
        "The heads are not joined. First `transpose(1, 2)`, then `flatten(start_dim=2)`.",
        ("heads.transpose(1, 2).flatten(start_dim=2)", "heads"),
        (
            """\
merged = note("merged", merged, "B T C")
        """,
            "",
        ),
        ('note("out", self.c_proj(merged), "B T C")', "self.c_proj(merged)"),
    ),
    Mistake(
        "You add up the heads, or take their mean. The merge only puts their columns side by side, and `c_proj` mixes them.",
        ("heads.transpose(1, 2).flatten(start_dim=2)", "heads.sum(dim=1)"),
    ),
    Mistake(
        "The values are made of the keys. v comes from v: `self.split_heads(v)`.",
        ('v = note("v", self.split_heads(v), "B H T D")\n        ', ""),
        (
            'k = note("k"',
            'v = note("v", self.split_heads(k), "B H T D")\n        k = note("k"',
        ),
    ),
    Mistake(
        "`c_proj` reads the joined heads, which are as wide as the stream: `nn.Linear(n_embd, n_embd)`.",
        ("self.c_proj = nn.Linear(n_embd, n_embd)", "self.c_proj = nn.Linear(3 * n_embd, n_embd)"),
    ),
    Mistake(
        "A head has D = C / H columns of the C. Write `C // self.n_head`.",
        ("C // self.n_head", "C"),
    ),
    Mistake(
        "`c_proj` comes last, after the heads have been joined.",
        (
            'heads.transpose(1, 2).flatten(start_dim=2)\n        merged = note("merged", merged, "B T C")\n        return note("out", self.c_proj(merged), "B T C")',
            "self.c_proj(heads)\n        return merged.transpose(1, 2).flatten(start_dim=2)",
        ),
    ),
)


def theirs(n_embd: int, n_head: int) -> model.CausalSelfAttention:
    layer = model.CausalSelfAttention(GPT2Config(n_embd=n_embd, n_head=n_head))
    numbered(layer, seed=n_embd)
    return layer


def use(mine: Any, what: str, n_head: int, x: Tensor) -> Tensor:
    layer: Any = fill(mine.CausalSelfAttention(x.size(-1), n_head), theirs(x.size(-1), n_head))
    with trace():  # as `note` checks its axes only there
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


def after(mine: Any) -> str:
    run = crane_run()
    trained, x = run.blocks[1].attn, run.noted(0, "resid_post")
    layer = fill(mine.CausalSelfAttention(x.size(-1), trained.n_head), trained)
    return (
        f'Your heads in block 1 of the trained model, reading "{TEXT}": before them it would '
        f"continue with {run.next_words(x)}, after them with "
        f"{run.next_words(x + layer(run.noted(1, 'ln_1')))}."
    )
