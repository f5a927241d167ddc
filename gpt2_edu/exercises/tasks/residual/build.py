"""The block as two sums."""

from typing import Any

from torch import Tensor, nn

from .... import model
from ....config import GPT2Config
from ...crane_run import CRANE, TEXT, crane_run
from ...exercise import Case, Mistake
from ...step import fill, numbered, random_tensor

PARTS = ("Block",)
IMPORTS = ("from gpt2_edu import note", "from torch import nn")

START = """
class Block(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        ...  # attn and mlp

    def forward(self, x):  # (B, T, C) → (B, T, C)
        ...  # if you note resid_mid and resid_post, trace sees them
"""

SOLUTION = """
class Block(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.attn = CausalSelfAttention(n_embd, n_head)
        self.mlp = MLP(n_embd)

    def forward(self, x):  # (B, T, C) → (B, T, C)
        x = note("resid_mid", x + self.attn(x), "B T C")
        return note("resid_post", x + self.mlp(x), "B T C")
"""


MISTAKES = (
    Mistake(
        "There is no residual connection, so each layer's result replaces the stream. Write "
        "`x = x + …` for attention and the same for the MLP.",
        ("x + self.attn(x)", "self.attn(x)"),
        ("x + self.mlp(x)", "self.mlp(x)"),
    ),
    Mistake(
        "The MLP reads the stream as it was before attention. Let attention write first: `x = "
        "x + self.attn(x)`.",
        ('x = note("resid_mid", x', 'mid = note("resid_mid", x'),
        ("x + self.mlp(x)", "mid + self.mlp(x)"),
    ),
    Mistake(
        "Attention is added to the stream, but the MLP's result replaces it. Add that too.",
        ("x + self.mlp(x)", "self.mlp(x)"),
    ),
    Mistake(
        "Attention's result replaces the stream, because the `x` before the plus is missing there.",
        ("x + self.attn(x)", "self.attn(x)"),
    ),
    Mistake(
        "The MLP comes first here. In GPT-2 attention gathers first, and the MLP works on what was "
        "gathered.",
        ("x + self.mlp(x)", "x + self.second(x)"),
        ("x + self.attn(x)", "x + self.mlp(x)"),
        ("self.second(x)", "self.attn(x)"),
    ),
    Mistake(
        "What attention has written is lost, because the MLP's result is added to the old x. Write "
        "the first sum back to x.",
        ('x = note("resid_mid"', 'old = x\n        x = note("resid_mid"'),
        ("x + self.mlp(x)", "old + self.mlp(x)"),
    ),
    Mistake(
        "There is only one plus. Attention's result is added to the stream first, and then the "
        "MLP's.",
        ('x = note("resid_mid", x + self.attn(x)', 'mid = note("resid_mid", self.attn(x)'),
        ("self.mlp(x)", "self.mlp(mid)"),
    ),
    Mistake(
        "Attention runs twice, and the MLP not at all. The second line is the MLP's: "
        "`x + self.mlp(…)`.",
        ("self.mlp(x)", "self.attn(x)"),
    ),
    Mistake(
        "The MLP is not used. After attention has written to the stream, add `self.mlp(…)`.",
        ("x + self.mlp(x)", "x"),
    ),
)


def theirs(n_embd: int, n_head: int) -> nn.ModuleDict:
    config = GPT2Config(n_embd=n_embd, n_head=n_head)
    parts = {"attn": model.CausalSelfAttention(config), "mlp": model.MLP(config)}
    found = nn.ModuleDict(parts)
    numbered(found, seed=n_embd)
    return found


def use(mine: Any, n_head: int, x: Tensor) -> Tensor:
    return fill(mine.Block(x.size(-1), n_head), theirs(x.size(-1), n_head))(x)


def right(n_head: int, x: Tensor) -> Tensor:
    parts = theirs(x.size(-1), n_head)
    x = x + parts["attn"](x)
    return x + parts["mlp"](x)


def cases() -> list[Case]:
    return [
        Case("one token", (1, random_tensor(1, 1, 1, 4))),
        Case("B = 2, T = 5, C = 12, H = 3", (3, random_tensor(2, 2, 5, 12))),
        Case("one text of seven tokens", (2, random_tensor(3, 1, 7, 6))),
    ]


def after(mine: Any) -> str:
    x = crane_run().tape["embd"]
    lengths = [x[0, CRANE].norm()]
    for trained in crane_run().blocks:
        block: Any = mine.Block(x.size(-1), trained.attn.n_head)
        fill(block, nn.ModuleDict({"attn": trained.attn, "mlp": trained.mlp}))
        block.attn = nn.Sequential(trained.ln_1, block.attn)  # its layers read through norms
        block.mlp = nn.Sequential(trained.ln_2, block.mlp)
        x = block(x)
        lengths.append(x[0, CRANE].norm())
    start, *ends = (f"{length:.1f}" for length in lengths)
    return (
        f'Your sums in the trained model, reading "{TEXT}": the stream of "crane" is {start} long '
        f"at first, and {', '.join(ends)} after blocks 0, 1 and 2."
    )
