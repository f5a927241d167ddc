"""Where a rein leads."""

import torch

from ...exercise import Case, Mistake

ORDER = 70
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 10

TASK = r"""
A model starts from the probabilities p. It is to get a high expected reward and to stay near its start, so it maximises

$$
\sum_y q_y\, r_y - \beta\, \mathrm{KL}(q \,\|\, p).
$$

The best q is known: it is proportional to $p_y\, e^{r_y / \beta}$. Write `reined(p, rewards, beta)`, which returns it. It should work for a small β, too, where $e^{r/\beta}$ is too large for a float32.
"""

HINTS = (
    "Divide by the sum, so that the result adds up to 1.",
    "A softmax does both, the exponential and the division. What must its logits be?",
    "The logarithm of p · exp(r / β) is ln p + r / β. `softmax` subtracts the largest logit first, so nothing overflows.",
)

START = '''
def reined(p, rewards, beta):
    """p and rewards (V,), beta a number above 0. Returns (V,), which sums to 1."""
    ...
'''

SOLUTION = """
def reined(p, rewards, beta):
    return (p.log() + rewards / beta).softmax(dim=-1)
"""

MISTAKES = (
    Mistake(
        "The start is forgotten. Without p the result would be the same for any model, and it has to stay near this one.",
        ("p.log() + rewards / beta", "rewards / beta"),
    ),
    Mistake(
        "The rewards are multiplied by β. A strong rein, a large β, makes them count less.",
        ("rewards / beta", "rewards * beta"),
    ),
    Mistake(
        "ln p is divided by β as well. Only the rewards are: the larger β, the more p counts beside them.",
        ("p.log() + rewards / beta", "(p.log() + rewards) / beta"),
    ),
    Mistake(
        "The result does not add up to 1.",
        (
            "(p.log() + rewards / beta).softmax(dim=-1)",
            "(p.log() + rewards / beta).exp()",
        ),
    ),
    Mistake(
        "For a small β the exponential is infinite, and infinite / infinite is NaN. Add ln p and r / β, and let `softmax` do the rest.",
        code="""
def reined(p, rewards, beta):
    q = p * (rewards / beta).exp()
    return q / q.sum()
""",
    ),
    Mistake(
        "The rewards are added to p itself, not to its logarithm.",
        ("p.log()", "p"),
    ),
    Mistake(
        "The sign of the rewards is turned around, so that bad answers become likely.",
        ("p.log() + rewards", "p.log() - rewards"),
    ),
    Mistake(
        "β is left out. It says how much reward a nat of distance must bring.",
        ("rewards / beta", "rewards"),
    ),
    Mistake(
        "ln p and the rewards are multiplied. Add them, because p and the exponential are multiplied.",
        ("p.log() + ", "p.log() * "),
    ),
    Mistake(
        "The exponential of the rewards is taken twice. `softmax` takes it.",
        ("rewards / beta", "(rewards / beta).exp()"),
    ),
    Mistake(
        "The logarithm has base 2. `softmax` uses e.",
        ("p.log()", "p.log2()"),
    ),
    Mistake(
        "p and the exponential are added. Multiply them.",
        (
            "(p.log() + rewards / beta).softmax(dim=-1)",
            "(p + (rewards / beta).exp()) / (p + (rewards / beta).exp()).sum()",
        ),
    ),
    Mistake(
        "The logits of the softmax are p · r / β. The logarithm of p · exp(r / β) is ln p + r / β.",
        ("p.log() + rewards / beta", "p * rewards / beta"),
    ),
    Mistake(
        "The roles are swapped: the best q is p · e^(r / β), so ln p is not scaled, and r is divided by β.",
        ("p.log() + rewards / beta", "rewards - beta * p.log()"),
    ),
    Mistake(
        "The product of p and a softmax does not sum to 1. Divide by the sum.",
        ("(p.log() + rewards / beta).softmax(dim=-1)", "p * (rewards / beta).softmax(dim=-1)"),
    ),
    Mistake(
        "β divides ln p and not the rewards. The best q is p · e^(r / β): `p.log() + rewards / beta`.",
        ("p.log() + rewards / beta", "p.log() / beta + rewards"),
    ),
)


def right(p, rewards, beta):
    shifted = (rewards - rewards.max()).double() / beta  # the largest exponential is 1
    q = p.double() * shifted.exp()
    return (q / q.sum()).float()


def cases():
    generator = torch.Generator().manual_seed(85)
    p = torch.randn(6, generator=generator).softmax(dim=-1)
    rewards = torch.rand(6, generator=generator)
    two, marks = torch.tensor([0.7, 0.3]), torch.tensor([0.0, 1.0])
    return [
        Case("the chapter's two answers, beta 0.5", (two, marks, 0.5)),
        Case("six answers, beta 2", (p, rewards, 2.0)),
        Case("a right answer that is rare, beta 0.01", (torch.tensor([0.9, 0.1]), marks, 0.01)),
    ]
