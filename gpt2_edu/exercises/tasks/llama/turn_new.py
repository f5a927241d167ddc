"""A turn that starts again."""

import torch

from ....config import LlamaConfig
from ....llama import rotate, rotation
from ...exercise import Case, Mistake

ORDER = 90
KIND = "repair"
LEVEL = 2
RANK = "good"
MINUTES = 8

TASK = r"""
This function turns the queries or keys of T new tokens, `x` (B, H, T, D), when `start` tokens are in the cache already. It pairs column i with column i + D/2. The prompt comes out right, but with the first token that is decoded the text goes wrong. Find out why, and fix it.

Take two tokens in the cache and one new one, with D = 2 and base 10,000. Its angle is 2 radians.
"""

HINTS = (
    "Which argument is not used?",
    "The new tokens have the positions start, start + 1, …, start + T − 1.",
    "Use `torch.arange(start, start + x.size(2))`, and leave the rest as it is.",
)

START = '''
def turn_new(x, start, base):
    """x (B, H, T, D). Returns (B, H, T, D)."""
    raise NotImplementedError("find the bug, fix it, delete this line")
    D = x.size(-1)
    angles = base ** (-torch.arange(0, D, 2) / D)  # (D/2,)
    positions = torch.arange(x.size(2))
    turns = positions.unsqueeze(1) * angles  # (T, D/2)
    a, b = x.chunk(2, dim=-1)
    first = a * turns.cos() - b * turns.sin()
    second = a * turns.sin() + b * turns.cos()
    return torch.cat([first, second], dim=-1)
'''

SOLUTION = """
def turn_new(x, start, base):
    D = x.size(-1)
    angles = base ** (-torch.arange(0, D, 2) / D)  # (D/2,)
    positions = torch.arange(start, start + x.size(2))
    turns = positions.unsqueeze(1) * angles  # (T, D/2)
    a, b = x.chunk(2, dim=-1)
    first = a * turns.cos() - b * turns.sin()
    second = a * turns.sin() + b * turns.cos()
    return torch.cat([first, second], dim=-1)
"""

MISTAKES = (
    Mistake(
        "The bug is still there. The positions begin at 0 in every step, so a decoded token counts as the first of the text. Begin at `start`.",
        ("start, start + x.size(2)", "x.size(2)"),
    ),
    Mistake(
        "All new tokens are at position `start` here, which is right for one token only. They are at start, start + 1, …",
        ("torch.arange(start, start + x.size(2))", "torch.tensor([start])"),
    ),
    Mistake(
        "The positions begin one too late. The first new token is at `start`, because positions count from 0.",
        ("start, start + x.size(2)", "start + 1, start + 1 + x.size(2)"),
    ),
    Mistake(
        "`arange` ends at T here, as if nothing had come before. T new tokens end at start + T.",
        ("start + x.size(2)", "x.size(2)"),
    ),
    Mistake(
        "You turn the other way, so the positions count backwards. The signs of the rest were right.",
        ("- b * turns.sin()", "+ b * turns.sin()"),
        ("a * turns.sin() + b", "-a * turns.sin() + b"),
    ),
    Mistake(
        "You pair neighbouring columns now. The pairs were right: column i belongs to column i + D/2.",
        ("x.chunk(2, dim=-1)", "x[..., ::2], x[..., 1::2]"),
        (
            "torch.cat([first, second], dim=-1)",
            "torch.stack([first, second], dim=-1).flatten(-2)",
        ),
    ),
    Mistake(
        "The axis of the heads is taken for that of the tokens. T is axis 2.",
        ("start + x.size(2)", "start + x.size(1)"),
    ),
    Mistake(
        "`start` is added to the angles, not to the positions. A slow pair would then turn as far as a fast one.",
        ("start, start + x.size(2)", "x.size(2)"),
        ("* angles  # (T, D/2)", "* angles + start"),
    ),
    Mistake(
        "Only decoded tokens start later here, but a prompt may come in chunks as well. Use `start` for any number of new tokens.",
        (
            "torch.arange(start, start + x.size(2))",
            "torch.arange(x.size(2)) + (start if x.size(2) == 1 else 0)",
        ),
    ),
    Mistake(
        "The positions are multiples of `start`. They are start, start + 1, …: add it.",
        ("torch.arange(start, start + x.size(2))", "torch.arange(x.size(2)) * start"),
    ),
    Mistake(
        "`start` is subtracted. The new tokens come after those in the cache: add it.",
        ("torch.arange(start, start + x.size(2))", "torch.arange(x.size(2)) - start"),
    ),
    Mistake(
        "These are the positions of the tokens in the cache. The new ones follow them.",
        ("torch.arange(start, start + x.size(2))", "torch.arange(start)"),
    ),
    Mistake(
        "These are the positions of all tokens. Only those from `start` on are new.",
        ("torch.arange(start, start + x.size(2))", "torch.arange(start + x.size(2))"),
    ),
    Mistake(
        "There is one position too many. T new tokens end before start + T.",
        ("start + x.size(2)", "start + x.size(2) + 1"),
    ),
    Mistake(
        "The positions begin one too early. With `start` tokens in the cache, the first new one is at `start`.",
        ("start, start + x.size(2)", "start - 1, start + x.size(2) - 1"),
    ),
    Mistake(
        "The number of columns is taken for that of the tokens. T is axis 2.",
        ("start + x.size(2)", "start + x.size(-1)"),
    ),
    Mistake(
        "The batch is taken for the tokens. T is axis 2.",
        ("start + x.size(2)", "start + x.size(0)"),
    ),
    Mistake(
        "The halves of the result are swapped. `first` comes first, as before.",
        ("[first, second]", "[second, first]"),
    ),
    Mistake(
        "The tokens are numbered backwards. The first is at `start`.",
        ("start + x.size(2))", "start + x.size(2)).flip(0)"),
    ),
    Mistake(
        "sin and cos are swapped in the second column, which was right: `a * sin + b * cos`.",
        ("a * turns.sin() + b * turns.cos()", "a * turns.cos() + b * turns.sin()"),
    ),
    Mistake(
        "Without an axis of their own, positions meet pairs: `positions.unsqueeze(1)`.",
        ("positions.unsqueeze(1)", "positions"),
    ),
    Mistake(
        "One sign was changed that was right: the first column is `a * cos - b * sin`.",
        ("- b * turns.sin()", "+ b * turns.sin()"),
    ),
    Mistake(
        "`start` is added to the frequencies. It belongs to the positions.",
        ("start, start + x.size(2)", "x.size(2)"),
        ("* angles  # (T, D/2)", "* (angles + start)"),
    ),
    Mistake(
        "The exponent lacks its minus. That was right in the given function; only the positions are wrong there.",
        ("(-torch.arange(0, D, 2) / D)", "(torch.arange(0, D, 2) / D)"),
    ),
    Mistake(
        "The new tokens are cut off. `x` has only the new ones, whatever is in the cache.",
        ("torch.cat([first, second], dim=-1)", "torch.cat([first, second], dim=-1)[:, :, start:]"),
    ),
    Mistake(
        "The given function turns column i with column i + D/2, and that is right. Here neighbours are turned.",
        ("x.chunk(2, dim=-1)", "x[..., ::2], x[..., 1::2]"),
    ),
)


def right(x, start, base):
    config = LlamaConfig(head_size=x.size(-1), rope_base=base)
    return rotate(x, *rotation(config, torch.arange(start, start + x.size(2))))


def cases():
    generator = torch.Generator().manual_seed(9)

    def draw(*shape):
        return torch.randn(*shape, generator=generator)

    return [
        Case("the prompt", (draw(2, 3, 5, 4), 0, 10_000.0)),
        Case("the example", (torch.tensor([[[[1.0, 0.0]]]]), 2, 10_000.0)),
        Case("one new token after five", (draw(2, 3, 1, 4), 5, 10_000.0)),
        Case("a chunk of four after seven", (draw(1, 2, 4, 8), 7, 500_000.0)),
    ]
