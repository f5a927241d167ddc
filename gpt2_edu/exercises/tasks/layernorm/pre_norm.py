"""Put the norm where GPT-2 has it."""

from types import SimpleNamespace

import torch
from torch import nn
from torch.nn import functional as F

from ....model import Block
from ...exercise import Case, Mistake

ORDER = 40
KIND = "repair"
LEVEL = 2
RANK = "core"
MINUTES = 6

TASK = r"""
GPT-2 is pre-norm. The function below should do one step of it, as half a block does: the layer reads the norm of the stream, and its result is added to the stream. The code has the order of another model. Fix it.

`x` is (B, T, C). `norm` and `layer` are functions from (B, T, C) to (B, T, C). The result is (B, T, C).

With one number: x = 4, a "norm" that halves, and a layer that adds 1 to what it reads. The layer reads 2 and gives 3, so the result is 4 + 3 = 7.
"""

HINTS = (
    "How does the chapter's table write attention's step, on the left and on the right?",
    "GPT-2's stream has additions on it and nothing else. What is on the stream here, besides the plus?",
    "x itself goes into the sum, `norm(x)` into the layer.",
)

START = '''
def pre_norm(x, norm, layer):
    """x (B, T, C); norm, layer: functions that keep the shape. (B, T, C)."""
    raise NotImplementedError("find the bug, fix it, delete this line")
    return norm(x + layer(x))
'''

SOLUTION = """
def pre_norm(x, norm, layer):
    return x + layer(norm(x))  # x itself goes into the sum
"""

MISTAKES = (
    Mistake(
        "This is still post-norm, as in the Transformer of 2017, with the norm on the sum.",
        ("x + layer(norm(x))", "norm(x + layer(x))"),
    ),
    Mistake(
        "The normed vector goes into the sum. Add to x itself, so that the stream is left alone.",
        ("x + layer", "norm(x) + layer"),
    ),
    Mistake(
        "The norm comes after the layer here. Put it before, so that the layer reads `norm(x)`.",
        ("layer(norm(x))", "norm(layer(x))"),
    ),
    Mistake(
        "The plus is gone. The layer's result is added to the stream, it does not replace it.",
        ("x + layer(norm(x))", "layer(norm(x))"),
    ),
    Mistake(
        "The wrong one of the two is normed. The layer should read `norm(x)`, and x itself goes "
        "into the sum.",
        ("x + layer(norm(x))", "norm(x) + layer(x)"),
    ),
    Mistake(
        "The layer reads the norm now, but the sum is normed once more. On the stream itself there is no norm in GPT-2: return the sum.",
        ("x + layer(norm(x))", "norm(x + layer(norm(x)))"),
    ),
    Mistake(
        "There is no norm left. The layer should read `norm(x)`.",
        ("layer(norm(x))", "layer(x)"),
    ),
    Mistake(
        "The layer runs twice here. It runs once, and reads the norm of x: `x + layer(norm(x))`.",
        ("layer(norm(x))", "layer(norm(x + layer(x)))"),
    ),
    Mistake(
        "The sum is computed and thrown away, and x is returned as it was. Return the sum.",
        ("x + layer(norm(x))", "x"),
    ),
)


def right(x, norm, layer):
    # The package's block, with these two in its first half and an MLP that writes zeros.
    half = SimpleNamespace(
        ln_1=norm, attn=lambda read, *more: layer(read), ln_2=nn.Identity(), mlp=torch.zeros_like
    )
    return Block.forward(half, x)


def cases():
    generator = torch.Generator().manual_seed(9)
    x = 3 * torch.randn(2, 5, 7, generator=generator) + 1
    w = torch.randn(7, 7, generator=generator)

    def norm(x):
        return F.layer_norm(x, (x.size(-1),))

    def layer(x):
        return torch.tanh(x @ w)

    halves = (lambda x: x / 2, lambda x: x + 1)
    return [
        Case("one number", (torch.full((1, 1, 1), 4.0), *halves)),
        Case("LayerNorm, and a layer that bends", (x, norm, layer)),
        Case("a long stream", (100 * x, norm, layer)),
        Case("one token", (x[:1, :1], norm, layer)),
    ]
