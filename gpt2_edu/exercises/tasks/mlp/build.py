"""The MLP."""

from typing import Any

import torch
from torch import Tensor

from .... import model
from ....config import GPT2Config
from ....tape import trace
from ...crane_run import TEXT, crane_run
from ...exercise import Case, Mistake
from ...step import fill, numbered, random_tensor

PARTS = ("MLP",)
IMPORTS = (
    "from gpt2_edu import note",
    "from torch import nn",
    "from torch.nn import functional as F",
)

START = """
class MLP(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        ...  # c_fc and c_proj

    def forward(self, x):  # (B, T, C) → (B, T, C)
        ...  # note pre, act and out
"""

SOLUTION = """
class MLP(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.c_fc = nn.Linear(n_embd, 4 * n_embd)
        self.c_proj = nn.Linear(4 * n_embd, n_embd)

    def forward(self, x):  # (B, T, C) → (B, T, C)
        pre = note("pre", self.c_fc(x), "B T F")
        act = note("act", F.gelu(pre, approximate="tanh"), "B T F")
        return note("out", self.c_proj(act), "B T C")
"""


MISTAKES = (
    Mistake(
        "This is the exact GELU. GPT-2 was trained with the other form: `F.gelu(…, "
        "approximate='tanh')`.",
        (', approximate="tanh"', ""),
    ),
    Mistake(
        "There is no nonlinearity between the two layers, so they do the work of one. Put GELU "
        "between them.",
        ('F.gelu(pre, approximate="tanh")', "pre"),
    ),
    Mistake(
        "You use ReLU. GPT-2 has GELU, in the tanh form.",
        ('F.gelu(pre, approximate="tanh")', "F.relu(pre)"),
    ),
    Mistake(
        "You apply GELU to the result as well. Nothing follows `c_proj`, because what the MLP adds "
        "may be negative.",
        ("self.c_proj(act)", 'F.gelu(self.c_proj(act), approximate="tanh")'),
    ),
    Mistake(
        "The MLP widens by four: `c_fc` is `nn.Linear(n_embd, 4 * n_embd)`, and `c_proj` is `nn.Linear(4 * n_embd, n_embd)`.",
        ("nn.Linear(n_embd, 4 * n_embd)", "nn.Linear(n_embd, n_embd)"),
        ("nn.Linear(4 * n_embd, n_embd)", "nn.Linear(n_embd, n_embd)"),
    ),
    Mistake(
        "`c_proj` goes the way back, from four times the width to n_embd: `nn.Linear(4 * n_embd, n_embd)`.",
        (
            "self.c_proj = nn.Linear(4 * n_embd, n_embd)",
            "self.c_proj = nn.Linear(n_embd, 4 * n_embd)",
        ),
    ),
    Mistake(
        "Make two layers in `__init__`, each with its bias: `self.c_fc = nn.Linear(n_embd, 4 * n_embd)` and `self.c_proj = nn.Linear(4 * n_embd, n_embd)`.",
        ("nn.Linear(n_embd, 4 * n_embd)", "nn.Linear(n_embd, 4 * n_embd, bias=False)"),
    ),
    Mistake(
        "You add x to the result. That is the residual connection, which comes around the MLP, in the next chapter.",
        ("self.c_proj(act)", "x + self.c_proj(act)"),
    ),
    Mistake(
        '`nn.GELU(…)` makes a layer and does not call it. Write `F.gelu(…, approximate="tanh")`.',
        ('F.gelu(pre, approximate="tanh")', "nn.GELU(pre)"),
        ('note("act", ', ""),
        (
            """\
, "B T F")
        return""",
            """\

        return""",
        ),
    ),
    Mistake(
        "GELU comes after `c_proj` here. It belongs between the two layers.",
        ('F.gelu(pre, approximate="tanh")', "pre"),
        ("self.c_proj(act)", 'F.gelu(self.c_proj(act), approximate="tanh")'),
    ),
    Mistake(
        "GELU comes before `c_fc` here. It belongs between the two layers.",
        ("self.c_fc(x)", 'self.c_fc(F.gelu(x, approximate="tanh"))'),
        ('F.gelu(pre, approximate="tanh")', "pre"),
    ),
    Mistake(
        "You use SiLU. GPT-2 has GELU, in the tanh form.",
        ('F.gelu(pre, approximate="tanh")', "F.silu(pre)"),
    ),
    Mistake(
        'You use tanh itself. GPT-2 has GELU, in the tanh form: `F.gelu(…, approximate="tanh")`.',
        ('F.gelu(pre, approximate="tanh")', "pre.tanh()"),
    ),
    Mistake(
        "You use the sigmoid. GPT-2 has GELU, in the tanh form.",
        ('F.gelu(pre, approximate="tanh")', "pre.sigmoid()"),
    ),
    Mistake(
        "`c_proj` is missing. It brings the 4C entries back to C.",
        ("self.c_proj(act)", "act"),
        ('"B T C")', '"B T F")'),
    ),
    Mistake(
        'This is x · σ(1.702 x), a coarser approximation. Write `F.gelu(…, approximate="tanh")`.',
        ('F.gelu(pre, approximate="tanh")', "pre * (1.702 * pre).sigmoid()"),
    ),
    Mistake(
        '`nn.GELU(…)` makes a layer and does not call it. Write `F.gelu(…, approximate="tanh")`.',
        ("F.gelu(pre,", "nn.GELU(pre,"),
    ),
    Mistake(
        "Nothing follows `c_proj`, because what the MLP adds may be negative. The function between the layers is GELU, not ReLU.",
        ('F.gelu(pre, approximate="tanh")', "F.relu(pre)"),
        ("self.c_proj(act)", "F.relu(self.c_proj(act))"),
    ),
)

TOLERANCE = 1e-6  # the exact GELU differs by more


def theirs(n_embd: int) -> model.MLP:
    layer = model.MLP(GPT2Config(n_embd=n_embd, n_head=1))
    numbered(layer, seed=n_embd)
    return layer


def use(mine: Any, x: Tensor) -> Tensor:
    layer = fill(mine.MLP(x.size(-1)), theirs(x.size(-1)))
    with trace():  # as `note` checks its axes only there
        return layer(x)


def right(x: Tensor) -> Tensor:
    return theirs(x.size(-1))(x)


def cases() -> list[Case]:
    return [
        Case("one token of two numbers", (torch.tensor([[[0.5, -0.5]]]),)),
        Case("B = 2, T = 5, C = 12", (random_tensor(1, 2, 5, 12),)),
        Case("large numbers", (20 * random_tensor(2, 1, 3, 4),)),
    ]


def after(mine: Any) -> str:
    run = crane_run()
    trained, x = run.blocks[0].mlp, run.noted(0, "resid_mid")
    layer = fill(mine.MLP(x.size(-1)), trained)
    return (
        f'Your MLP in block 0 of the trained model, reading "{TEXT}": before it the model would '
        f"continue with {run.next_words(x)}, after it with "
        f"{run.next_words(x + layer(run.noted(0, 'ln_2')))}."
    )
