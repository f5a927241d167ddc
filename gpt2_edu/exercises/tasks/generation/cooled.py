"""Cool a distribution."""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "good"
MINUTES = 5
TOLERANCE = 5e-3

TASK = r"""
Three tokens have the probabilities 0.6, 0.3 and 0.1. What is the probability of the first one at temperature $\tau = 0.5$? Give it to two decimals or more.
"""

HINTS = (
    "Use the chapter's second form, in which every probability is raised to the power $1/\\tau$, and then all are scaled so that they sum to 1.",
    "The power is 2. The squares are 0.36, 0.09 and 0.01; what do they sum to?",
)

START = "cooled = ..."

SOLUTION = "cooled = 0.36 / (0.36 + 0.09 + 0.01)  # 0.7826"

right = 0.36 / 0.46

MISTAKES = (
    Mistake(
        "That is only the square. The three squares no longer sum to 1, so divide by their sum.",
        code="cooled = 0.6**2",
    ),
    Mistake(
        "That is temperature 2, which takes roots and makes the shares more equal. Below 1 the likeliest token gains, because the power is 1/τ, here 2.",
        code="cooled = 0.6**0.5 / (0.6**0.5 + 0.3**0.5 + 0.1**0.5)",
    ),
    Mistake(
        "Here the probabilities were divided by τ as if they were logits. Divide their logarithms, or raise them to the power 1/τ.",
        code="cooled = torch.tensor([1.2, 0.6, 0.2]).softmax(dim=0)[0].item()",
    ),
    Mistake(
        "Here each probability was divided by τ and all were rescaled, which changes nothing. Divide the logits.",
        code="cooled = 0.6",
    ),
    Mistake(
        "That is in percent. Give it as a number between 0 and 1.",
        code="cooled = 100 * 0.36 / 0.46",
    ),
)
