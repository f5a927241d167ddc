"""Waves out of place."""

import torch

from ...exercise import Case, Mistake

ORDER = 40
KIND = "repair"
LEVEL = 2
RANK = "extra"
MINUTES = 10

TASK = r"""
`sinusoids(T, C)` should give the table of positions of the 2017 paper, (T, C), for an even C. In the row of position $t$, the entries $2i$ and $2i+1$ are

$$
p_{t,2i} = \sin\!\left(\frac{t}{10000^{2i/C}}\right), \qquad
p_{t,2i+1} = \cos\!\left(\frac{t}{10000^{2i/C}}\right)
$$

For C = 4 the row of position 1 is sin 1, cos 1, sin 0.01, cos 0.01, so (0.841, 0.540, 0.010, 1.000) to three decimals.

The function below has one bug. Compare its result with that row, fix the function, and delete the first line of its body.
"""

HINTS = (
    "Print `sinusoids(2, 4)`. The right numbers are there, but in the wrong order.",
    "`cat` puts all sines first and all cosines after them. They should alternate: sine, cosine, sine, cosine.",
    "`torch.stack([…, …], dim=-1)` makes pairs, of shape (T, C/2, 2). `flatten(1)` joins the last two axes.",
)

START = '''
def sinusoids(T, C):
    """T, C int, C even. Returns (T, C)."""
    raise NotImplementedError("find the bug, fix it, delete this line")
    t = torch.arange(T).unsqueeze(1)  # (T, 1)
    angle = t / 10000 ** (torch.arange(0, C, 2) / C)  # (T, C/2)
    return torch.cat([angle.sin(), angle.cos()], dim=-1)
'''

SOLUTION = """
def sinusoids(T, C):
    t = torch.arange(T).unsqueeze(1)  # (T, 1)
    angle = t / 10000 ** (torch.arange(0, C, 2) / C)  # (T, C/2)
    pairs = torch.stack([angle.sin(), angle.cos()], dim=-1)  # (T, C/2, 2)
    return pairs.flatten(1)  # sine and cosine alternate
"""

MISTAKES = (
    Mistake(
        "All sines come first, then all cosines. They should alternate, so stack them as pairs, then flatten.",
        (
            "torch.stack([angle.sin(), angle.cos()], dim=-1)",
            "torch.cat([angle.sin(), angle.cos()], dim=-1)",
        ),
    ),
    Mistake(
        "They alternate now, but the cosine comes first. The even entries are the sines.",
        ("angle.sin(), angle.cos()", "angle.cos(), angle.sin()"),
    ),
    Mistake(
        "Sines and cosines are joined along the wrong axis, so they come in blocks. Stack them along a new last axis: `torch.stack(…, dim=-1)`.",
        ("dim=-1", "dim=0"),
        ("pairs.flatten(1)", "pairs.flatten(1).view(T, C)"),
    ),
    Mistake(
        "The wavelengths were right before. The exponent is 2i/C, and `torch.arange(0, C, 2)` is already 2i.",
        ("0, C, 2", "0, C // 2"),
    ),
    Mistake(
        "You gave the sine and cosine of a pair different wavelengths. Both have the exponent 2i/C.",
        ("torch.arange(0, C, 2)", "torch.arange(C)"),
        ("angle.sin(), angle.cos()", "angle[:, ::2].sin(), angle[:, 1::2].cos()"),
    ),
    Mistake(
        "The pairs are right, but they are still an axis of their own, (T, C/2, 2). Join the last two axes with `flatten(1)`.",
        ("pairs.flatten(1)", "pairs"),
    ),
    Mistake(
        "The wavelengths were right before: `torch.arange(0, C, 2)` is already 2i.",
        ("torch.arange(0, C, 2) / C", "2 * torch.arange(0, C, 2) / C"),
    ),
    Mistake(
        "The wave was right before: t is divided by the power, not multiplied.",
        ("t / 10000", "t * 10000"),
    ),
    Mistake(
        "Positions begin at 0: `torch.arange(T)`.",
        ("torch.arange(T)", "torch.arange(1, T + 1)"),
    ),
)


def right(T, C):
    # A turn by an angle is a complex number: its parts are the cosine and the sine.
    t = torch.arange(T, dtype=torch.float64)
    speed = torch.logspace(0, -4 * (C - 2) / C, C // 2, dtype=torch.float64)
    angle = torch.outer(t, speed)
    turns = torch.view_as_real(torch.polar(torch.ones_like(angle), angle))
    return turns.flip(-1).reshape(T, C).float()


def cases():
    return [
        Case("two positions of four numbers", (2, 4)),
        Case("five positions of twelve numbers", (5, 12)),
        Case("more positions than numbers", (9, 6)),
        Case("a single position", (1, 8)),
        Case("two numbers for each position", (3, 2)),
    ]
