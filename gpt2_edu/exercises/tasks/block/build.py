"""The block."""

from typing import Any

from torch import Tensor

from .... import model
from ....config import GPT2Config
from ...crane_run import TEXT, crane_run
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
        ...  # if you note ln_1, resid_mid, ln_2, resid_post, trace sees them
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
    Mistake(
        "`ln_2` reads what `ln_1` made. It should read the stream that attention has written to, "
        "`self.ln_2(x)`.",
        ("self.ln_2(x)", "self.ln_2(normed)"),
    ),
    Mistake(
        "The MLP reads what `ln_1` made for attention. Normalise the new x for it, `self.ln_2(x)`.",
        ('        normed = note("ln_2", self.ln_2(x), "B T C")\n', ""),
    ),
    Mistake(
        "Both parts read the old x. The MLP should read the stream that attention has written to: "
        "first `x = x + …`, then the second line.",
        (
            'x = note("resid_mid", x + self.attn(normed)',
            'mid = note("resid_mid", x + self.attn(normed)',
        ),
        ("x + self.mlp(normed)", "mid + self.mlp(normed)"),
    ),
    Mistake(
        "What attention has written is lost, because the MLP's result is added to the old x. Write "
        "the first sum back to x.",
        ('normed = note("ln_1"', 'old = x\n        normed = note("ln_1"'),
        ("x + self.mlp(normed)", "old + self.mlp(normed)"),
    ),
    Mistake(
        "The MLP reads the stream itself. It should read it through its norm: "
        "`self.mlp(self.ln_2(x))`.",
        ("self.mlp(normed)", "self.mlp(x)"),
    ),
    Mistake(
        "Attention reads the stream itself. It should read it through its norm: "
        "`self.attn(self.ln_1(x))`.",
        ("self.attn(normed)", "self.attn(x)"),
    ),
    Mistake(
        "In the second line the normalised x is before the plus. There the stream itself belongs: "
        "`x + self.mlp(…)`.",
        ("x + self.mlp(", "normed + self.mlp("),
    ),
    Mistake(
        "In the first line the normalised x is before the plus. There the stream itself belongs: "
        "`x + self.attn(…)`.",
        ("x + self.attn(", "normed + self.attn("),
    ),
    Mistake(
        "`ln_1` and `ln_2` are one module. Each has a γ and a β of its own: call `LayerNorm` twice.",
        ("self.ln_2 = LayerNorm(n_embd)", "self.ln_2 = self.ln_1"),
    ),
    Mistake(
        "There is no residual connection, so each part's result replaces the stream. Write "
        "`x = x + …` for attention and the same for the MLP.",
        ("x + self.attn(normed)", "self.attn(normed)"),
        ("x + self.mlp(normed)", "self.mlp(normed)"),
    ),
    Mistake(
        "Attention is added to the stream, but the MLP's result replaces it. Add that too.",
        ("x + self.mlp(normed)", "self.mlp(normed)"),
    ),
    Mistake(
        "Attention's result replaces the stream, because the `x` before the plus is missing there.",
        ("x + self.attn(normed)", "self.attn(normed)"),
    ),
    Mistake(
        "The MLP comes first here. In GPT-2 attention is first.",
        ("x + self.mlp(normed)", "x + self.second(normed)"),
        ("x + self.attn(normed)", "x + self.mlp(normed)"),
        ("self.second(normed)", "self.attn(normed)"),
        ("self.ln_1(x)", "self.second(x)"),
        ("self.ln_2(x)", "self.ln_1(x)"),
        ("self.second(x)", "self.ln_2(x)"),
    ),
    Mistake(
        "Attention runs twice, and the MLP not at all. The second line is the MLP's: "
        "`x + self.mlp(…)`.",
        ("self.mlp(normed)", "self.attn(normed)"),
    ),
    Mistake(
        "The MLP is not used. After attention has written to the stream, add `self.mlp(…)`.",
        ("x + self.mlp(normed)", "x"),
    ),
    Mistake(
        "The norms are swapped: attention reads through `ln_1`, and the MLP through `ln_2`.",
        ("self.ln_1(x)", "self.second(x)"),
        ("self.ln_2(x)", "self.ln_1(x)"),
        ("self.second(x)", "self.ln_2(x)"),
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


def after(mine: Any) -> str:
    run = crane_run()
    x, said = run.tape["embd"], []
    for trained in run.blocks:
        x = fill(mine.Block(x.size(-1), trained.attn.n_head), trained)(x)
        said.append(run.next_words(x))
    return (
        f'Your block as blocks 0, 1 and 2 of the trained model, reading "{TEXT}": after each it '
        f"would continue with {', '.join(said)}."
    )
