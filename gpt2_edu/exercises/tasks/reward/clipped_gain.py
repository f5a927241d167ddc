"""What clipping clips."""

import torch

from ...exercise import Case, Mistake

ORDER = 60
KIND = "repair"
LEVEL = 2
RANK = "good"
MINUTES = 10

TASK = r"""
The clipped objective of PPO is, for each token,

$$
\min\!\big(\rho A,\ \mathrm{clip}(\rho, 1 - \epsilon, 1 + \epsilon)\, A\big)
$$

with the ratio ρ of new to old probability and the advantage A. The function below keeps only the second half. It looks harmless, but a token that was worse than average (A below 0) and has become *five times as likely* then has no gradient, so that nothing corrects it. Find the bug and fix it.
"""

HINTS = (
    "Compute both products, and compare them entry by entry.",
    "`torch.minimum(a, b)` takes the smaller one of each pair.",
    "With A = −1 and ρ = 5, the two products are −5 and −1.2. Which is the smaller, and which one depends on ρ?",
)

START = '''
def clipped_gain(ratio, advantage, epsilon):
    """ratio and advantage (n,), epsilon a number. Returns (n,)."""
    raise NotImplementedError(
        "find the bug, fix it, delete this line"
    )
    near = ratio.clamp(1 - epsilon, 1 + epsilon)
    return near * advantage
'''

SOLUTION = """
def clipped_gain(ratio, advantage, epsilon):
    near = ratio.clamp(1 - epsilon, 1 + epsilon)
    return torch.minimum(ratio * advantage, near * advantage)
"""

MISTAKES = (
    Mistake(
        "The bug is still there: only the clipped product is returned. A bad token that has become likely must keep its gradient.",
        ("torch.minimum(ratio * advantage, near * advantage)", "near * advantage"),
    ),
    Mistake(
        "Nothing is clipped. A good token that is already far more likely would be pushed on.",
        ("torch.minimum(ratio * advantage, near * advantage)", "ratio * advantage"),
    ),
    Mistake(
        "The larger product is taken, which clips the cases that must be corrected and lets the others run. Take the smaller one.",
        ("torch.minimum", "torch.maximum"),
    ),
    Mistake(
        "The smaller *ratio* is taken, whatever the sign of the advantage. Multiply first, then compare.",
        (
            "torch.minimum(ratio * advantage, near * advantage)",
            "torch.minimum(ratio, near) * advantage",
        ),
    ),
    Mistake(
        "The product is clipped. It is the ratio that is kept near 1, before it is multiplied.",
        (
            "torch.minimum(ratio * advantage, near * advantage)",
            "torch.minimum(ratio * advantage, (ratio * advantage).clamp(1 - epsilon, 1 + epsilon))",
        ),
    ),
    Mistake(
        "The ratio is clipped around 0. Where nothing has changed, it is 1.",
        ("clamp(1 - epsilon, 1 + epsilon)", "clamp(-epsilon, epsilon)"),
    ),
    Mistake(
        "The ratio is clipped on one side only. A bad token that has become rare enough should not be pushed down further.",
        ("clamp(1 - epsilon, 1 + epsilon)", "clamp(max=1 + epsilon)"),
    ),
    Mistake(
        "The sign is that of a loss. This is the objective, which is to rise.",
        ("return torch", "return -torch"),
    ),
    Mistake(
        "The mean is returned. Each token has its own value.",
        ("near * advantage)", "near * advantage).mean()"),
    ),
    Mistake(
        "The ratio itself is compared with the clipped product. Multiply both by the advantage.",
        ("torch.minimum(ratio * advantage", "torch.minimum(ratio"),
    ),
    Mistake(
        "Good tokens are not clipped, and bad ones are. It is the other way round where the ratio is large.",
        (
            "torch.minimum(ratio * advantage, near * advantage)",
            "torch.where(advantage > 0, ratio * advantage, near * advantage)",
        ),
    ),
    Mistake(
        "Good tokens are always clipped and bad ones never. Which product is smaller also depends on the ratio: compare them.",
        (
            "torch.minimum(ratio * advantage, near * advantage)",
            "torch.where(advantage > 0, near * advantage, ratio * advantage)",
        ),
    ),
    Mistake(
        "The sum is returned. Each token has its own value.",
        ("near * advantage)", "near * advantage).sum()"),
    ),
    Mistake(
        "The ratio is clipped from below only. A good token that has become likely enough must not be pushed on.",
        ("clamp(1 - epsilon, 1 + epsilon)", "clamp(min=1 - epsilon)"),
    ),
    Mistake(
        "The limits are swapped. `clamp` takes the lower one first.",
        ("1 - epsilon, 1 + epsilon", "1 + epsilon, 1 - epsilon"),
    ),
    Mistake(
        "ε is fixed at 0.2. Use the argument.",
        ("1 - epsilon, 1 + epsilon", "0.8, 1.2"),
    ),
    Mistake(
        "The two are averaged. Take the smaller one.",
        (
            "torch.minimum(ratio * advantage, near * advantage)",
            "(ratio * advantage + near * advantage) / 2",
        ),
    ),
    Mistake(
        "The advantage is clipped. The ratio must be: `ratio.clamp(1 - epsilon, 1 + epsilon)`.",
        ("ratio.clamp(1", "advantage.clamp(1"),
        ("near * advantage", "near * ratio"),
    ),
    Mistake(
        "The product is clipped and then multiplied by the advantage again. Clip the ratio.",
        ("ratio.clamp(1", "(ratio * advantage).clamp(1"),
    ),
    Mistake(
        "The signs of the advantages are lost. Multiply by the advantage as it is.",
        (
            "torch.minimum(ratio * advantage, near * advantage)",
            "torch.minimum(ratio, near) * advantage.abs()",
        ),
    ),
)


def right(ratio, advantage, epsilon):
    good = advantage > 0
    limited = torch.where(good, ratio.clamp(max=1 + epsilon), ratio.clamp(min=1 - epsilon))
    return limited * advantage


def cases():
    ratio = torch.tensor([1.0, 1.5, 0.5, 1.5, 0.5, 5.0, 0.9])
    advantage = torch.tensor([0.5, 1.0, 1.0, -1.0, -1.0, -0.4, 2.0])
    return [
        Case("seven tokens, epsilon 0.2", (ratio, advantage, 0.2)),
        Case("the same, epsilon 0.6", (ratio, advantage, 0.6)),
    ]
