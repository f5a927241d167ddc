"""Run a stack and keep the stream."""

from itertools import accumulate

import torch

from ...exercise import Case, Mistake

ORDER = 30
KIND = "write"
LEVEL = 1
RANK = "core"
MINUTES = 8

TASK = r"""
Send a tensor through a stack of layers with residual connections, and keep the stream at every depth.

`x` is (B, T, C). `layers` is a list of functions, each from (B, T, C) to (B, T, C). Return a list of the stream before the first layer and after each one, so it has one more entry than there are layers.

For example, x holds the single number 1, and the layers are $2x$ and $x - 2$. The stream holds 1, then 1 + 2 = 3, then 3 + 1 = 4, so the list holds tensors with 1, 3 and 4.

Do not change the tensor that you are given.
"""

HINTS = (
    "Begin with a list that holds x. A loop over the layers adds one entry each.",
    "The new stream is `x + layer(x)`, the old one plus the edit.",
    "`x += …` writes into the tensor that is in your list already. `x = x + …` makes a new one.",
)

START = '''
def run_stack(x, layers):
    """x (B, T, C); layers: L functions. Returns a list of L + 1 tensors."""
    ...
'''

SOLUTION = """
def run_stack(x, layers):
    stream = [x]
    for layer in layers:
        x = x + layer(x)  # a new tensor: those in the list stay as they are
        stream.append(x)
    return stream
"""

MISTAKES = (
    Mistake(
        "Only the end is returned. Return the list, with the stream at every depth.",
        ("return stream", "return x"),
    ),
    Mistake(
        "The residual connection is missing, so each layer's result replaces the stream. Add it to x.",
        ("x + layer", "layer"),
    ),
    Mistake(
        "All layers read the x of the start. Each must read the stream as the one before left it.",
        ("x = x + layer(x)", "edit = layer(x)"),
        ("stream.append(x)", "stream.append(stream[-1] + edit)"),
    ),
    Mistake(
        "`x += …` writes into the tensor itself, so every entry of the list is the same tensor. "
        "Write `x = x + …`.",
        ("x = x + layer(x)", "x += layer(x)"),
    ),
    Mistake(
        "The start is missing. The list begins with x, before any layer.",
        ("stream = [x]", "stream = []"),
    ),
    Mistake(
        "These are the edits. The list should hold the stream, with each edit added to it.",
        ("x = x + layer(x)", "edit = layer(x)\n        x = x + edit"),
        ("stream.append(x)", "stream.append(edit)"),
    ),
    Mistake(
        "You add each layer's result to the x of the start, not to the stream as it is now.",
        ("x = x + layer(x)", "x = stream[0] + layer(x)"),
    ),
    Mistake(
        "x itself is never updated, so every layer reads the start and is added to it. Write `x = x + layer(x)`, then append x.",
        ("        x = x + layer(x)  # a new tensor: those in the list stay as they are\n", ""),
        ("stream.append(x)", "stream.append(x + layer(x))"),
    ),
    Mistake(
        "The end is missing, because you append x before the layer has added to it. Begin the list with x, and append after each sum.",
        ("stream = [x]", "stream = []"),
        (
            "x = x + layer(x)  # a new tensor: those in the list stay as they are\n        stream.append(x)",
            "stream.append(x)\n        x = x + layer(x)",
        ),
    ),
    Mistake(
        "Every entry of the list is the same tensor, since `x += …` writes into the copy that is in the list already. Write `x = x + …`.",
        ("stream = [x]", "x = x.clone()\n    stream = [x]"),
        ("x = x + layer(x)", "x += layer(x)"),
    ),
)


def right(x, layers):
    return list(accumulate(layers, lambda stream, layer: stream + layer(stream), initial=x))


def cases():
    generator = torch.Generator().manual_seed(8)
    x = torch.randn(2, 5, 3, generator=generator)
    matrices = torch.randn(4, 3, 3, generator=generator)
    curved = [lambda x, w=w: torch.tanh(x @ w) for w in matrices]
    return [
        Case("one number, two layers", (torch.ones(1, 1, 1), [lambda x: 2 * x, lambda x: x - 2])),
        Case("four nonlinear layers", (x, curved)),
        Case("a layer that returns 0", (x, [torch.zeros_like, curved[0]])),
        Case("one token, one layer", (x[:1, :1], curved[:1])),
        Case("no layers at all", (x, [])),
    ]
