"""LayerNorm."""

from typing import Any

import torch
from torch import Tensor, nn

from ...crane_run import TEXT, crane_run
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
    Mistake(
        "`mean` and `var` drop the axis, so that (B, T) meets (B, T, C). Keep it, with "
        "`keepdim=True`.",
        ("x.mean(dim=-1, keepdim=True)", "x.mean(dim=-1)"),
        ("square().mean(dim=-1, keepdim=True)", "square().mean(dim=-1)"),
    ),
    Mistake(
        "γ and β start the other way round: γ, the `weight`, with 1, and β, the `bias`, with 0.",
        ("torch.ones", "torch.new"),
        ("torch.zeros", "torch.ones"),
        ("torch.new", "torch.zeros"),
    ),
    Mistake(
        "γ starts with 0, so a new layer returns 0 whatever it reads. Begin with "
        "`torch.ones(n_embd)`.",
        ("torch.ones", "torch.zeros"),
    ),
    Mistake(
        "γ starts at random. It begins with `torch.ones(n_embd)`, so that a new layer only "
        "normalises.",
        ("torch.ones", "torch.randn"),
    ),
    Mistake(
        "γ and β start at random. They begin with 1 and 0, so that a new layer only normalises.",
        ("torch.ones", "torch.randn"),
        ("torch.zeros", "torch.randn"),
    ),
    Mistake(
        "γ and β are there, but `forward` does not use them: `self.weight * normed + self.bias`.",
        ("self.weight * normed + self.bias", "normed"),
    ),
    Mistake(
        "β is not used. After the product with γ, add `self.bias`.",
        ("self.weight * normed + self.bias", "self.weight * normed"),
    ),
    Mistake(
        "γ is not used. Multiply by `self.weight` before you add β.",
        ("self.weight * normed + self.bias", "normed + self.bias"),
    ),
    Mistake(
        "The mean is not subtracted from what you divide. Write `(x - mean)` above the root, too.",
        ("normed = (x - mean)", "normed = x"),
    ),
    Mistake(
        "Without brackets only the mean is divided, since `/` comes before the minus. Write "
        "`(x - mean) / …`.",
        ("normed = (x - mean)", "normed = x - mean"),
    ),
    Mistake(
        "`math.sqrt` takes one number, and every token has a variance of its own. Write "
        "`torch.sqrt(…)`.",
        ("torch.sqrt(variance", "math.sqrt(variance"),
    ),
    Mistake(
        "The square is missing: the differences from the mean add up to 0. The variance is the "
        "mean of their squares, `(x - mean).square()`.",
        (".square()", ""),
    ),
    Mistake(
        "The variance is the mean of squared differences. Subtract the mean before you square: "
        "`(x - mean).square()`.",
        ("(x - mean).square()", "x.square()"),
    ),
    Mistake(
        "The mean is not subtracted at all. (That is RMSNorm, which later models use.) Subtract it "
        "before you square and before you divide.",
        ("(x - mean).square()", "x.square()"),
        ("normed = (x - mean)", "normed = x"),
    ),
    Mistake(
        "Mean and variance are taken over all tokens. LayerNorm treats each token by itself: "
        "`dim=-1, keepdim=True`.",
        ("x.mean(dim=-1, keepdim=True)", "x.mean()"),
        ("square().mean(dim=-1, keepdim=True)", "square().mean()"),
    ),
    Mistake(
        "Mean and variance are taken over all tokens of a text. LayerNorm treats each token by "
        "itself: `dim=-1`.",
        ("x.mean(dim=-1,", "x.mean(dim=(1, 2),"),
        ("square().mean(dim=-1,", "square().mean(dim=(1, 2),"),
    ),
    Mistake(
        "Mean and variance are taken over the texts of the batch. LayerNorm treats each token by "
        "itself: `dim=-1`.",
        ("x.mean(dim=-1,", "x.mean(dim=0,"),
        ("square().mean(dim=-1,", "square().mean(dim=0,"),
    ),
    Mistake(
        "ε is left out, which shows for quiet tokens: add `self.eps` to the variance.",
        (" + self.eps", ""),
    ),
    Mistake(
        "The argument `eps` is not used. Keep it, `self.eps = eps`, and add `self.eps` under the "
        "root.",
        ("self.eps = eps", "self.eps = 1e-5"),
    ),
)


def theirs(n_embd: int) -> nn.LayerNorm:
    layer = nn.LayerNorm(n_embd)
    numbered(layer, seed=n_embd)
    return layer


def use(mine: Any, what: str, x: Tensor) -> Tensor:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        eps = [0.5] if what == "another" else []
        layer = mine.LayerNorm(x.size(-1), *eps)
    return layer(x) if what != "filled" else fill(layer, theirs(x.size(-1)))(x)


def right(what: str, x: Tensor) -> Tensor:
    if what == "another":
        return nn.LayerNorm(x.size(-1), eps=0.5)(x)
    return nn.LayerNorm(x.size(-1))(x) if what == "new" else theirs(x.size(-1))(x)


def cases() -> list[Case]:
    return [
        Case("a new layer, four numbers", ("new", torch.tensor([[[0.3, -0.2, 0.8, 0.5]]]))),
        Case("γ and β given", ("filled", torch.tensor([[[0.3, -0.2, 0.8, 0.5]]]))),
        Case("B = 2, T = 5, C = 12", ("filled", random_tensor(1, 2, 5, 12))),
        Case("another ε, 0.5", ("another", random_tensor(1, 2, 5, 12))),
        Case("a quiet token: ε inside the root", ("filled", 1e-3 * random_tensor(2, 1, 3, 8))),
    ]


def after(mine: Any) -> str:
    x = crane_run().noted(1, "resid_post")
    before, normed = (y[0].norm(dim=-1) for y in (x, mine.LayerNorm(x.size(-1))(x)))
    lengths = ", ".join(dict.fromkeys(f"{length:.1f}" for length in normed))
    return (
        f'Your LayerNorm, γ = 1, after block 1 of the trained model, reading "{TEXT}": the '
        f"vectors are {before.min():.1f} to {before.max():.1f} long before it, and {lengths} after."
    )
