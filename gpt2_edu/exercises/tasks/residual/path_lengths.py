"""Short paths and long ones."""

import math

import torch

from ...exercise import Case, Mistake

ORDER = 60
KIND = "stretch"
LEVEL = 3
RANK = "extra"
MINUTES = 20

TASK = r"""
A residual network of L layers, each one number times a slope: $x \leftarrow x + s_i x$. Multiplied out, the slope of the whole is a sum over all $2^L$ paths. The slope of a path is the product of the slopes of the layers that it goes *through*, and it may go through any number of them, from none to L.

(See the chapter's fold *short paths and long ones*.) Sort the paths by that number. `slopes` is (L,). Return (L + 1,): entry k is the sum over all paths that go through exactly k layers.

For the slopes (0.5, 0.1), for example, the path past both has the slope 1, the two paths through one of them have 0.5 + 0.1 = 0.6 together, and the path through both has 0.5 · 0.1 = 0.05. So the result is (1, 0.6, 0.05), and its sum is (1 + 0.5)(1 + 0.1) = 1.65.

When L is large there are too many paths to try them all. Find a way that takes the layers one at a time.
"""

HINTS = (
    "Begin with no layers. There is one path, through nothing, with the slope 1, so the result is (1).",
    "With one more layer each path splits in two. One goes past the layer, and its sum stays where it is. One goes through, and its sum is multiplied by s and moves up one entry.",
    "`F.pad(sums, (0, 1))` appends a zero, and `F.pad(s * sums, (1, 0))` puts one in front. Add the two.",
)

START = '''
def path_lengths(slopes):
    """slopes (L,). Returns (L + 1,): the sums over paths through k layers."""
    ...
'''

SOLUTION = """
def path_lengths(slopes):
    sums = torch.ones(1)  # no layer yet: one path, through nothing
    for s in slopes:
        past = F.pad(sums, (0, 1))  # as many layers as before
        through = F.pad(s * sums, (1, 0))  # one more
        sums = past + through
    return sums
"""

MISTAKES = (
    Mistake(
        "These are the paths through the first k layers only. A path may go through any k of them.",
        code="""
def path_lengths(slopes):
    return torch.cat([torch.ones(1), slopes.cumprod(0)])
""",
    ),
    Mistake(
        "This counts the paths. Each must be weighted by the product of its slopes.",
        code="""
def path_lengths(slopes):
    L = len(slopes)
    return torch.tensor([float(math.comb(L, k)) for k in range(L + 1)])
""",
    ),
    Mistake(
        "This takes the mean slope for every layer. It is right only if all slopes are equal.",
        code="""
def path_lengths(slopes):
    L = len(slopes)
    s = slopes.mean().item() if L else 0.0
    return torch.tensor([math.comb(L, k) * s**k for k in range(L + 1)])
""",
    ),
    Mistake(
        "The order is reversed. Your entry k is the sum over paths that go *past* k layers.",
        ("past = F.pad(sums, (0, 1))", "past = F.pad(sums, (1, 0))"),
        ("F.pad(s * sums, (1, 0))", "F.pad(s * sums, (0, 1))"),
    ),
    Mistake(
        "The path past all layers is missing. Entry 0 belongs to it, and is 1.",
        ("return sums", "return sums[1:]"),
    ),
    Mistake(
        "You update the sums from the bottom up, so that a path goes through the same layer several times. Use the sums from before the layer, or go from the top down.",
        code="""
def path_lengths(slopes):
    sums = F.pad(torch.ones(1), (0, len(slopes)))
    for s in slopes:
        for k in range(1, len(sums)):
            sums[k] += s * sums[k - 1]
    return sums
""",
    ),
    Mistake(
        "These are powers of the sum of all slopes. They also hold products in which a layer occurs twice, and count each path in every order.",
        code="""
def path_lengths(slopes):
    return torch.stack([slopes.sum() ** k for k in range(len(slopes) + 1)])
""",
    ),
    Mistake(
        "Without any layer there is one path, the one through nothing. Begin with 1, as all other paths grow out of it.",
        ("torch.ones(1)", "torch.zeros(1)"),
        ("    return sums", "    sums[0] = 1\n    return sums"),
    ),
    Mistake(
        "You multiply only layers that follow one another. A path may skip any of them.",
        code="""
def path_lengths(slopes):
    L = len(slopes)
    windows = [slopes.unfold(0, k, 1).prod(dim=1).sum() for k in range(1, L + 1)]
    return torch.stack([torch.tensor(1.0), *windows])
""",
    ),
)


def right(slopes):
    # The coefficients of the product of all 1 + s z, from its values on the unit circle.
    L = len(slopes)
    angles = -2 * math.pi * torch.arange(L + 1).double() / (L + 1)
    z = torch.polar(torch.ones_like(angles), angles)
    values = (1 + slopes.double()[:, None] * z).prod(dim=0)
    return torch.fft.ifft(values).real.float()


def cases():
    generator = torch.Generator().manual_seed(8)
    return [
        Case("two layers", (torch.tensor([0.5, 0.1]),)),
        Case("one layer", (torch.tensor([-0.3]),)),
        Case("ten layers of random slopes", (torch.randn(10, generator=generator),)),
        Case("four equal slopes", (torch.full((4,), 0.2),)),
        Case("no layers", (torch.empty(0),)),
        Case("28 layers, with 268 million paths", (torch.rand(28, generator=generator) / 4,)),
    ]
