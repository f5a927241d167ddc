"""A first exercise on Training well."""

import torch

from ...exercise import Case, Mistake

ORDER = 10
KIND = "write"
LEVEL = 1
MINUTES = 5

TASK = r"""
From `x` (B, T) make (B,): the mean of the squares of each row. The row (1, 3) gives 5.
"""

HINTS = ("`x**2` squares each number.", "`mean(dim=-1)` averages over the last axis.")

START = '''
def first_training_well(x):
    """x (B, T). Returns (B,)."""
    ...
'''

SOLUTION = """
def first_training_well(x):
    return (x**2).mean(dim=-1)
"""

MISTAKES = (
    Mistake(
        "You average first and square then. The squares come first.",
        """
def first_training_well(x):
    return x.mean(dim=-1) ** 2
""",
    ),
    Mistake(
        "That is the sum of the squares. Divide by T.",
        """
def first_training_well(x):
    return (x**2).sum(dim=-1)
""",
    ),
    Mistake(
        "You average over the batch, the first axis. The last one is `dim=-1`.",
        """
def first_training_well(x):
    return (x**2).mean(dim=0)
""",
    ),
)


def right(x):
    return x.square().mean(dim=-1)


def cases():
    x = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))
    return [
        Case("one row of two numbers", (torch.tensor([[1.0, 3.0]]),)),
        Case("B = 2, T = 3", (x,)),
    ]
