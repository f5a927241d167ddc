"""The baseline with the least variance."""

import torch

from ...exercise import Case, Mistake

ORDER = 30
KIND = "stretch"
LEVEL = 3
RANK = "extra"
MINUTES = 15

TASK = r"""
One answer y is drawn with the probabilities p, and gives logit i the gradient $(r_y - b)\, s_y$, where $s_y = [y = i] - p_i$. Its mean does not depend on the baseline b. Its variance does. Write `best_baseline(p, rewards, i)`, which returns the b with the least variance.

Only the mean of the square depends on b:

$$
\sum_y p_y\, s_y^2\, (r_y - b)^2
$$
"""

HINTS = (
    "Set the derivative with respect to b to 0. What kind of mean of the rewards comes out?",
    "It is the mean of the rewards weighted by p · s².",
    "`torch.eye(len(p))[i] - p[i]` holds s for every answer y.",
)

START = '''
def best_baseline(p, rewards, i):
    """p (V,), rewards (V,), i the index of a logit. Returns a scalar tensor."""
    ...
'''

SOLUTION = """
def best_baseline(p, rewards, i):
    slope = torch.eye(len(p))[i] - p[i]  # s for every answer
    weight = p * slope**2
    return (weight * rewards).sum() / weight.sum()
"""

MISTAKES = (
    Mistake(
        "This is the expected reward. It is a good baseline, but an answer counts here by the square of the gradient that it gives, too.",
        ("p * slope**2", "p"),
    ),
    Mistake(
        "The weights lack the probabilities: an answer that is drawn rarely adds little to the variance.",
        ("p * slope**2", "slope**2"),
    ),
    Mistake(
        "The gradient is not squared. A variance is a mean of squares.",
        ("slope**2", "slope.abs()"),
    ),
    Mistake(
        "The weights are not divided by their sum, so this is no mean of the rewards.",
        (" / weight.sum()", ""),
    ),
    Mistake(
        "Each answer is given its own probability in s. The logit is i, so p[i] is subtracted for every y.",
        ("- p[i]", "- p"),
    ),
    Mistake(
        "The rewards are squared as well. Differentiate (r − b)² with respect to b first.",
        ("weight * rewards", "weight * rewards**2"),
    ),
    Mistake(
        "s is 1 − p here for every answer. It is [y = i] − p[i]: only for y = i is there a 1.",
        ("torch.eye(len(p))[i] - p[i]", "1 - p"),
    ),
    Mistake(
        "p[i] is added. s is [y = i] − p[i].",
        ("- p[i]", "+ p[i]"),
    ),
    Mistake(
        "That is the reward of answer i, as if s were 0 for all others. It is [y = i] − p[i].",
        (" - p[i]", ""),
    ),
    Mistake(
        "s is not squared, and its sign makes weights negative. A variance is a mean of squares.",
        ("slope**2", "slope"),
    ),
    Mistake(
        "The quotient is upside down. A weighted mean is the weighted sum divided by the sum of the weights.",
        ("(weight * rewards).sum() / weight.sum()", "weight.sum() / (weight * rewards).sum()"),
    ),
    Mistake(
        "The factor 2 of the derivative is on both sides of the equation. It cancels.",
        ("return (", "return 2 * ("),
    ),
    Mistake(
        "That is the plain mean of the rewards. Weigh them by p · s².",
        ("(weight * rewards).sum() / weight.sum()", "rewards.mean()"),
    ),
    Mistake(
        "The terms are not added up.",
        ("(weight * rewards).sum()", "(weight * rewards)"),
    ),
    Mistake(
        "The sign is turned.",
        ("return (", "return -("),
    ),
    Mistake(
        "The logit is always 0 here. Use the argument `i`.",
        ("[i] - p[i]", "[0] - p[0]"),
    ),
    Mistake(
        "The one-hot vector is inverted: s is [y = i] − p_i, with 1 for answer i and 0 for the others.",
        ("torch.eye(len(p))[i] - p[i]", "1 - torch.eye(len(p))[i] - p[i]"),
    ),
    Mistake(
        "The weights are not divided by their sum. Σ w r / Σ w is a mean, while `(w * rewards).mean()` divides by the number of answers.",
        ("(weight * rewards).sum() / weight.sum()", "(weight * rewards).mean()"),
    ),
)


def right(p, rewards, i):
    b = torch.linspace(-1, 1, 3).double()  # a parabola has its lowest point between three values
    s = torch.nn.functional.one_hot(torch.tensor(i), len(p)).double() - p[i].double()
    low, middle, high = ((p * s**2) @ (rewards.double().unsqueeze(1) - b) ** 2).tolist()
    return torch.tensor((low - high) / (2 * (low - 2 * middle + high)))


def cases():
    generator = torch.Generator().manual_seed(82)
    p = torch.randn(5, generator=generator).softmax(dim=-1)
    rewards = torch.rand(5, generator=generator)
    return [
        Case("the chapter's two answers", (torch.tensor([0.7, 0.3]), torch.tensor([0.0, 1.0]), 1)),
        Case("five answers, logit 2", (p, rewards, 2)),
        Case("five answers, logit 0", (p, rewards, 0)),
    ]
