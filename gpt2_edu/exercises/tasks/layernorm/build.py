"""LayerNorm."""

from typing import Any

import torch
from torch import Tensor, nn

from ...exercise import Case, Mistake
from ...step import fill, numbered, random_tensor

PARTS = ("LayerNorm",)
IMPORTS = (
    "import torch",
    "from torch import nn",
)

START = """
class LayerNorm(nn.Module):
    def __init__(self, n_embd, eps=1e-5):
        super().__init__()
        ...  # eps, weight (γ) and bias (β)

    def forward(self, x):  # (B, T, C) → (B, T, C)
        ...
"""

SOLUTION = """
class LayerNorm(nn.Module):
    def __init__(self, n_embd, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(n_embd))  # γ
        self.bias = nn.Parameter(torch.zeros(n_embd))  # β

    def forward(self, x):  # (B, T, C) → (B, T, C)
        mean = x.mean(dim=-1, keepdim=True)
        variance = (x - mean).square().mean(dim=-1, keepdim=True)
        normed = (x - mean) / torch.sqrt(variance + self.eps)
        return self.weight * normed + self.bias
"""


MISTAKES = (
    Mistake(
        "`var` of PyTorch divides by C − 1 unless you say `correction=0`. LayerNorm divides by C.",
        ("(x - mean).square().mean(", "x.var("),
    ),
    Mistake(
        "ε is outside the root, which shows for quiet tokens only. It belongs inside: "
        "`torch.sqrt(variance + self.eps)`.",
        ("torch.sqrt(variance + self.eps)", "(torch.sqrt(variance) + self.eps)"),
    ),
    Mistake(
        "Two mistakes: `std` divides by C − 1 unless you say `correction=0`, and ε belongs "
        "inside the root.",
        ("(x - mean).square().mean(", "x.var("),
        ("torch.sqrt(variance + self.eps)", "(torch.sqrt(variance) + self.eps)"),
    ),
    Mistake(
        "You take the mean over the tokens, so each depends on the others, and on the future. "
        "To treat each token by itself, use the last axis, `dim=-1`.",
        ("x.mean(dim=-1", "x.mean(dim=1"),
        ("square().mean(dim=-1", "square().mean(dim=1"),
    ),
    Mistake(
        "You divide by the variance. Divide by its root, the standard deviation.",
        ("torch.sqrt(variance + self.eps)", "(variance + self.eps)"),
    ),
)


def theirs(n_embd: int) -> nn.LayerNorm:
    layer = nn.LayerNorm(n_embd)
    numbered(layer, seed=n_embd)
    return layer


def use(mine: Any, what: str, x: Tensor) -> Tensor:
    layer = mine.LayerNorm(x.size(-1))
    return layer(x) if what == "new" else fill(layer, theirs(x.size(-1)))(x)


def right(what: str, x: Tensor) -> Tensor:
    return nn.LayerNorm(x.size(-1))(x) if what == "new" else theirs(x.size(-1))(x)


def cases() -> list[Case]:
    return [
        Case("a new layer, four numbers", ("new", torch.tensor([[[0.3, -0.2, 0.8, 0.5]]]))),
        Case("γ and β given", ("filled", torch.tensor([[[0.3, -0.2, 0.8, 0.5]]]))),
        Case("B = 2, T = 5, C = 12", ("filled", random_tensor(1, 2, 5, 12))),
        Case("a quiet token: ε inside the root", ("filled", 1e-3 * random_tensor(2, 1, 3, 8))),
    ]
