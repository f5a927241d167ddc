"""What each part counts for."""

import torch

from ...exercise import Case, Mistake

ORDER = 40
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 6

TASK = r"""
A batch is processed in B parts of one text each. Shorter texts are padded, so their targets end in −100, which are not counted. By what must the loss of each part be multiplied before `backward`, so that the gradients add up to that of the whole batch? From `targets` (B, T) compute the B shares, a tensor (B,).

For the targets [[4, 7, 2], [0, −100, −100]] the shares are 0.75 and 0.25.
"""

HINTS = (
    "The loss of the whole batch is a mean over all targets that count. How many of them are in each part?",
    "`targets != -100` says which count. Sum along the last axis, then divide by the total.",
)

START = '''
def portion_shares(targets):
    """targets (B, T), with -100 where nothing is to be predicted. Returns (B,)."""
    ...
'''

SOLUTION = """
def portion_shares(targets):
    counts = (targets != -100).sum(dim=-1)
    return counts / counts.sum()
"""

MISTAKES = (
    Mistake(
        "That gives each part the same weight, which is right only if all texts have equally many targets. Count them.",
        ("counts / counts.sum()", "torch.full((len(targets),), 1 / len(targets))"),
    ),
    Mistake(
        "That is the number of targets of each part. Divide by the total, so that the shares add up to 1.",
        ("counts / counts.sum", "counts.float"),
    ),
    Mistake(
        "You left out the targets that are 0 as well. 0 is an id like any other; only −100 does not count.",
        ("targets != -100", "targets > 0"),
    ),
    Mistake(
        "You divide by T, the length with the padding, which gives how full each row is. Divide by the number of all targets that count.",
        ("counts / counts.sum()", "(targets != -100).float().mean(dim=-1)"),
    ),
    Mistake(
        "These are the shares of the padding. Count what is *not* −100.",
        ("targets != -100", "targets == -100"),
    ),
    Mistake(
        "You divide by all B · T places, so the padding counts in the total. Divide by the number of targets that count, and the shares add up to 1.",
        ("counts.sum()", "targets.numel()"),
    ),
    Mistake(
        "You count down the columns, over the texts. The shares belong to the texts, so count along each row, `dim=-1`.",
        ("dim=-1", "dim=0"),
    ),
    Mistake(
        "You divide by the mean of the counts, so the shares add up to B. Divide by their sum.",
        ("counts.sum()", "counts.float().mean()"),
    ),
    Mistake(
        "The numbers are right, but in a column, (B, 1). Leave `keepdim` out.",
        ("sum(dim=-1)", "sum(dim=-1, keepdim=True)"),
    ),
)


def right(targets):
    counts = targets.ne(-100).sum(dim=1)
    return counts / targets.ne(-100).sum()


def cases():
    generator = torch.Generator().manual_seed(14)
    targets = torch.randint(9, (3, 7), generator=generator)
    targets[0, 2:] = targets[2, 5:] = -100
    targets[1, 3], targets[1, 6] = 0, -100
    return [
        Case("the example", (torch.tensor([[4, 7, 2], [0, -100, -100]]),)),
        Case("three texts of different length", (targets,)),
    ]
