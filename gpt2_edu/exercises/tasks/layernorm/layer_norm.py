"""LayerNorm, all of it."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake

ORDER = 30
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 12

TASK = r"""
Write LayerNorm as a function. For every token by itself: subtract the mean of its C numbers, divide by the root of their variance plus ε, multiply by γ and add β.

$$y = \gamma\,\frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta$$

`x` is (B, T, C), `gamma` and `beta` are (C,). The result has the shape of `x`.
"""

HINTS = (
    "Mean and variance are over the last axis only, and keep it: `dim=-1, keepdim=True`.",
    "The variance is the mean of the squared differences: divided by C, not by C − 1. In PyTorch: `x.var(dim=-1, keepdim=True, correction=0)`.",
    "ε is added to the variance, inside the root.",
)

START = '''
def layer_norm(x, gamma, beta, eps=1e-5):
    """x (B, T, C); gamma, beta (C,). Returns (B, T, C)."""
    ...
'''

SOLUTION = """
def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True, correction=0)
    return gamma * (x - mean) / torch.sqrt(variance + eps) + beta
"""

MISTAKES = (
    Mistake(
        "This is what you get with the unbiased variance, divided by C − 1. LayerNorm divides by C.",
        ("correction=0", "correction=1"),
    ),
    Mistake(
        "Here ε is outside the root. Add it to the variance, under the root.",
        ("torch.sqrt(variance + eps)", "(torch.sqrt(variance) + eps)"),
    ),
    Mistake(
        "Mean and variance are taken over all tokens here. LayerNorm treats each token by itself.",
        ("x.mean(dim=-1, keepdim=True)", "x.mean()"),
        ("x.var(dim=-1, keepdim=True, correction=0)", "x.var(correction=0)"),
    ),
    Mistake(
        "γ and β are left out: after the norm, multiply by γ and add β.",
        (
            "gamma * (x - mean) / torch.sqrt(variance + eps) + beta",
            "(x - mean) / torch.sqrt(variance + eps)",
        ),
    ),
    Mistake(
        "The argument `eps` is not used: 1e-5 is written into the body. Put `eps` there.",
        ("+ eps", "+ 1e-5"),
    ),
    Mistake(
        "ε is left out. A token of equal numbers has the variance 0, and 0 divided by 0 is nan: add `eps` under the root.",
        (" + eps", ""),
    ),
    Mistake(
        "You divide by the variance. Divide by its root, the standard deviation.",
        ("torch.sqrt(variance + eps)", "(variance + eps)"),
    ),
    Mistake(
        "β is added before the product with γ, so γ multiplies it too. β comes last.",
        (
            "(x - mean) / torch.sqrt(variance + eps) + beta",
            "((x - mean) / torch.sqrt(variance + eps) + beta)",
        ),
    ),
    Mistake(
        "Mean and variance are taken over axis 1, the tokens. LayerNorm takes them over the C numbers of one token: `dim=-1`.",
        ("x.mean(dim=-1,", "x.mean(dim=1,"),
        ("x.var(dim=-1,", "x.var(dim=1,"),
    ),
    Mistake(
        "The mean is not subtracted. (That is RMSNorm, which later models use.) Subtract it before you divide.",
        ("x.var(dim=-1, keepdim=True, correction=0)", "x.square().mean(dim=-1, keepdim=True)"),
        ("(x - mean)", "x"),
    ),
    Mistake(
        "The shapes do not fit where there is more than one token. `mean(dim=-1)` and `var(dim=-1)` drop the axis, so that (B, T) meets (B, T, C). Keep it, with `keepdim=True`.",
        ("x.mean(dim=-1, keepdim=True)", "x.mean(dim=-1)"),
        ("x.var(dim=-1, keepdim=True,", "x.var(dim=-1,"),
    ),
    Mistake(
        "Mean and variance are taken over all tokens of a text. LayerNorm treats each token by itself: `dim=-1`.",
        ("x.mean(dim=-1,", "x.mean(dim=(1, 2),"),
        ("x.var(dim=-1,", "x.var(dim=(1, 2),"),
    ),
    Mistake(
        "The mean is not subtracted from what you divide. Write `(x - mean)` above the root.",
        ("(x - mean)", "x"),
    ),
    Mistake(
        "β is left out. After the product with γ, add it.",
        (" + beta", ""),
    ),
    Mistake(
        "γ is left out. Multiply by γ before you add β.",
        ("gamma * ", ""),
    ),
    Mistake(
        "Two slips: the variance is divided by C − 1 (say `correction=0`), and ε is outside the root.",
        ("correction=0", "correction=1"),
        ("torch.sqrt(variance + eps)", "(torch.sqrt(variance) + eps)"),
    ),
)


def right(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, (x.size(-1),), gamma, beta, eps)


def cases():
    generator = torch.Generator().manual_seed(9)
    ones, zeros = torch.ones(3), torch.zeros(3)
    x = torch.randn(2, 5, 7, generator=generator)
    gamma, beta = torch.randn(2, 7, generator=generator)
    return [
        Case("one token, three numbers", (torch.tensor([[[1.0, 2.0, 6.0]]]), ones, zeros)),
        Case("random numbers", (x, gamma, beta)),
        Case("tiny numbers, for which ε counts", (x * 1e-3, gamma, beta, 1e-5)),
        Case("another ε, 0.5", (x, gamma, beta, 0.5)),
        Case("a token of equal numbers", (torch.full((1, 2, 3), 4.0), ones, ones / 2)),
    ]
