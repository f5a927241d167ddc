"""What a lead in logits means."""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "core"
MINUTES = 4
TOLERANCE = 5e-3

TASK = r"""
After "A crane ate" a model gives "fish" the logit 2.5 and "steel" the logit 1.0. There are 50,255 other tokens, whose logits you do not know. How many times as probable as "steel" is "fish"? Give two decimals, or let Python compute the number.
"""

HINTS = (
    "The difference of two logits is the logarithm of the ratio of their probabilities. The other tokens cancel.",
    "The softmax turns the two into $e^{2.5}$ and $e^{1.0}$ and divides both by the same sum.",
    "$e^{2.5} / e^{1.0} = e^{2.5 - 1.0}$. In Python: `math.exp(…)`.",
)

START = "logit_lead = ..."

SOLUTION = "logit_lead = math.exp(2.5 - 1.0)  # 4.48; the sum over all tokens cancels"

right = 4.48168907033806

MISTAKES = (
    Mistake(
        "That is the ratio of the logits, which means nothing, because it changes when you add 100 to both. Take their difference, and then e to that power.",
        code="logit_lead = 2.5 / 1.0",
    ),
    Mistake(
        "That is the lead itself, the logarithm of the answer. Take e to that power.",
        code="logit_lead = 2.5 - 1.0",
    ),
    Mistake(
        "That is e to the power 2.5, the lead over a token with the logit 0. Steel has the logit 1.0.",
        code="logit_lead = math.exp(2.5)",
    ),
    Mistake(
        "That is the reverse, how many times as probable as fish is steel.",
        code="logit_lead = math.exp(1.0 - 2.5)",
    ),
    Mistake(
        "That would be the probability of fish if there were only these two tokens. The question asks for a ratio.",
        code="logit_lead = math.exp(2.5) / (math.exp(2.5) + math.exp(1.0))",
    ),
    Mistake(
        "Logits are natural logarithms, so the base is e, not 2 and not 10.",
        code="logit_lead = 2**1.5",
    ),
    Mistake(
        "Logits are natural logarithms, so the base is e, not 10.",
        code="logit_lead = 10**1.5",
    ),
    Mistake(
        "That is the difference of the two powers of e. How many times as probable is a ratio, so divide them.",
        code="logit_lead = math.exp(2.5) - math.exp(1.0)",
    ),
)
