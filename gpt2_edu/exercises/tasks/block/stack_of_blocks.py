"""A stack that PyTorch can see."""

import torch
from torch import nn

from ...exercise import Case, Mistake

ORDER = 50
KIND = "repair"
LEVEL = 2
RANK = "good"
MINUTES = 8

TASK = r"""
The function builds a stack of N blocks, sends `x` through them and counts the parameters that an optimiser would get. It runs without an error, but the count is 0, and even the result is wrong. Two traps of this chapter are in it. Fix both. (One is in the fold *what a plain list hides, and one block twelve times*.)

Every call of `make()` returns a new block with weights of its own. (To be quick, the check makes small linear layers instead of whole blocks.) With `make = lambda: nn.Linear(2, 2)` and N = 3 the count should be 3 · (4 + 2) = 18. The function returns the result, with the shape of `x`, and the count.
"""

HINTS = (
    "Does `[something] * 3` contain three things, or one thing three times?",
    "`model.parameters()` looks into modules, and a Python list is not a module.",
    "`nn.ModuleList(… for _ in range(N))`, with a call of `make` for every block.",
)

START = '''
def stack_of_blocks(make, N, x):
    """make() gives a new block; x (B, T, C). Returns (result, count)."""
    raise NotImplementedError("find the bugs, fix them, delete this line")
    model = nn.Module()
    model.h = [make()] * N
    for block in model.h:
        x = block(x)
    return x, sum(p.numel() for p in model.parameters())
'''

SOLUTION = """
def stack_of_blocks(make, N, x):
    model = nn.Module()
    # a call of make for each block, in a list that the module knows of
    model.h = nn.ModuleList(make() for _ in range(N))
    for block in model.h:
        x = block(x)
    return x, sum(p.numel() for p in model.parameters())
"""

MISTAKES = (
    Mistake(
        "Both bugs are still there. One block is in the list N times, and PyTorch does not look into a list.",
        ("nn.ModuleList(make() for _ in range(N))", "[make()] * N"),
    ),
    Mistake(
        "Now PyTorch sees it, but it is one block N times, which counts once. Call `make` for every block.",
        ("make() for _ in range(N)", "[make()] * N"),
    ),
    Mistake(
        "Now there are N blocks, but they are in a Python list, where PyTorch does not see them. Use `nn.ModuleList`.",
        ("nn.ModuleList(make() for _ in range(N))", "[make() for _ in range(N)]"),
    ),
    Mistake(
        "The count is right, but all N blocks have the same numbers, because `make` is called once. Call it for every block.",
        ("(make() for _ in range(N))", "([make()] * N)"),
        ("x, sum", "x, N * sum"),
    ),
    Mistake(
        "Here each block gets the first x, and only the last one's result is returned. Give each block the result of the one before.",
        ("x = block(x)", "y = block(x)"),
        ("x, sum", "y, sum"),
    ),
    Mistake(
        "`make` is a function that returns a block. Call it for every place in the list: `make()`.",
        ("make() for _ in", "make for _ in"),
    ),
    Mistake(
        "This counts the tensors. Count the numbers in them, with `p.numel()`.",
        ("p.numel() for", "1 for"),
    ),
)


def right(make, N, x):
    stack = nn.Sequential(*(make() for _ in range(N)))
    return stack(x), sum(parameter.numel() for parameter in stack.parameters())


def _maker(C, seed):
    """A function that makes linear layers, each with numbers of its own."""
    generator = torch.Generator().manual_seed(seed)

    def make():
        layer = nn.Linear(C, C)
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
        return layer

    return make


def cases():
    x = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(10))
    return [
        Case("three layers of width 2", (_maker(2, 1), 3, torch.ones(1, 1, 2))),
        Case("four layers of width 3", (_maker(3, 2), 4, x)),
        Case("a single layer", (_maker(3, 3), 1, x)),
    ]
