"""The others as the baseline."""

import torch

from ...exercise import Case, Mistake

ORDER = 40
KIND = "write"
LEVEL = 1
RANK = "good"
MINUTES = 8

TASK = r"""
For each of P questions a model has drawn a group of G answers. Write `without_own(rewards)`. It returns the advantage of every answer, that is, its reward less the mean reward of **the others** in its group. A baseline that does not contain the answer's own reward leaves the gradient unbiased.

For example, the group (1, 0, 0, 0) has the advantages (1, −1/3, −1/3, −1/3).
"""

HINTS = (
    "The sum of the others is the sum of the group less the own reward.",
    "There are G − 1 others.",
    "`sum(dim=1, keepdim=True)` keeps an axis, so that each row gets its own sum.",
)

START = '''
def without_own(rewards):
    """rewards (P, G). Returns the advantages (P, G)."""
    ...
'''

SOLUTION = """
def without_own(rewards):
    total = rewards.sum(dim=1, keepdim=True)  # (P, 1)
    others = (total - rewards) / (rewards.size(1) - 1)
    return rewards - others
"""

MISTAKES = (
    Mistake(
        "The mean contains the answer's own reward. That makes every advantage smaller, by the factor (G − 1) / G.",
        ("(total - rewards) / (rewards.size(1) - 1)", "total / rewards.size(1)"),
    ),
    Mistake(
        "The sum of the others is divided by G. There are only G − 1 of them.",
        ("(rewards.size(1) - 1)", "rewards.size(1)"),
    ),
    Mistake(
        "The own reward is still in the sum that is divided by G − 1. Subtract it first.",
        ("(total - rewards)", "total"),
    ),
    Mistake(
        "The groups are mixed: the sum runs over the questions. A row is a group, so sum along axis 1.",
        ("sum(dim=1, keepdim=True)", "sum(dim=0, keepdim=True)"),
    ),
    Mistake(
        "There is one sum for all groups. An easy question then makes the answers to a hard one look bad.",
        ("rewards.sum(dim=1, keepdim=True)", "rewards.sum()"),
    ),
    Mistake(
        "This is the baseline. Subtract it from the rewards.",
        ("return rewards - others", "return others"),
    ),
    Mistake(
        "The sign is turned around, so that the worse answers are rewarded.",
        ("rewards - others", "others - rewards"),
    ),
    Mistake(
        "The advantages are divided by the deviation of the group. Only the mean was asked for.",
        ("return rewards - others", "return (rewards - others) / rewards.std(dim=1, keepdim=True)"),
    ),
    Mistake(
        "G is the number of answers in a group, `rewards.size(1)`. The number of questions is used here.",
        ("rewards.size(1)", "rewards.size(0)"),
    ),
    Mistake(
        "The sum is divided by the number of all answers. A group has G.",
        ("rewards.size(1)", "rewards.numel()"),
    ),
    Mistake(
        "The own reward is added twice. Subtract it from the sum.",
        ("total - rewards", "total + rewards"),
    ),
    Mistake(
        "The baseline is subtracted from the sum of the group. Subtract it from each reward.",
        ("return rewards - others", "return total - others"),
    ),
    Mistake(
        "That is a mean for each question. Every answer has its own advantage.",
        ("return rewards - others", "return (rewards - others).mean(dim=1)"),
    ),
    Mistake(
        "The others are always taken for three. There are G − 1.",
        ("(rewards.size(1) - 1)", "3"),
    ),
    Mistake(
        "There are G − 1 others, not G − 2.",
        ("size(1) - 1", "size(1) - 2"),
    ),
    Mistake(
        "The reward is divided by the baseline. Subtract it.",
        ("rewards - others", "rewards / others"),
    ),
    Mistake(
        "The factor is upside down. Without its own reward the mean has G − 1 members, so the distance grows: it is G / (G − 1) times that from the mean of all.",
        code="""
def without_own(rewards):
    G = rewards.size(1)
    return (rewards - rewards.mean(dim=1, keepdim=True)) * (G - 1) / G
""",
    ),
    Mistake(
        "The mean is over all questions. Each group has its own.",
        code="""
def without_own(rewards):
    return rewards - rewards.mean()
""",
    ),
    Mistake(
        "Only the own reward is divided by G − 1. Brackets are missing around the sum of the others.",
        ("(total - rewards) / (rewards.size(1) - 1)", "total + rewards / (rewards.size(1) - 1)"),
    ),
    Mistake(
        "Answers with the same reward are left out, too. Leave out one answer, by its index.",
        code="""
def without_own(rewards):
    found = torch.zeros_like(rewards)
    for i, row in enumerate(rewards.tolist()):
        for j, own in enumerate(row):
            others = [r for r in row if r != own]
            found[i, j] = own - sum(others) / max(len(others), 1)
    return found
""",
    ),
    Mistake(
        "The *sum* of the others is subtracted. Divide it by their number, G − 1.",
        (" / (rewards.size(1) - 1)", ""),
    ),
)


def right(rewards):
    G = rewards.size(1)
    return rewards @ (torch.eye(G) * G - 1) / (G - 1)


def cases():
    generator = torch.Generator().manual_seed(83)
    return [
        Case("the group (1, 0, 0, 0)", (torch.tensor([[1.0, 0, 0, 0]]),)),
        Case("three questions, five answers", (torch.rand(3, 5, generator=generator),)),
        Case("four questions, two answers", (torch.rand(4, 2, generator=generator),)),
    ]
