"""A lean in nats."""

import math

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "good"
MINUTES = 3

TASK = r"""
After "In the marsh, the crane" a model gives $p(\text{ate}) = 0.6$ and $p(\text{lifted}) = 0.03$. How far does it lean to the bird, in nats? That is the difference of the two logits. Two decimals are enough.

The logits themselves are not given, and you do not need them. For the probabilities 0.5 and 0.5, for example, the lean is 0.
"""

HINTS = (
    "The softmax divides $e^{\\text{logit}}$ by the same sum for both tokens. What remains of the sum in the ratio of the two probabilities?",
    "The ratio of the probabilities is $e^{a} / e^{b} = e^{a - b}$, with $a$ and $b$ for the two logits.",
    "So $a - b$ is the natural logarithm of the ratio, $\\ln(0.6 / 0.03)$.",
)

START = "lean_in_nats = ..."

SOLUTION = """
# the sum in the softmax is the same for both, so it cancels in the ratio
lean_in_nats = math.log(0.6 / 0.03)  # ln 20
"""

TOLERANCE = 5e-3

right = math.log(0.6) - math.log(0.03)

MISTAKES = (
    Mistake(
        "That is the difference of the probabilities. A lean is the difference of the logits, which is the logarithm of the ratio of the probabilities.",
        code="lean_in_nats = 0.6 - 0.03",
    ),
    Mistake(
        "That is the ratio itself. The lean is its natural logarithm.",
        code="lean_in_nats = 0.6 / 0.03",
    ),
    Mistake(
        "That is in bits, with the logarithm to base 2. Nats go with the natural logarithm.",
        code="lean_in_nats = math.log2(0.6 / 0.03)",
    ),
    Mistake(
        "That is the logarithm to base 10. Nats go with the natural logarithm, `math.log`.",
        code="lean_in_nats = math.log10(0.6 / 0.03)",
    ),
    Mistake(
        "The size is right but the sign is wrong. Above 0 means towards *ate*, which is the likelier one here.",
        code="lean_in_nats = math.log(0.03 / 0.6)",
    ),
    Mistake(
        "Those are log-odds, each word against all others. The lean compares the two words with each other, the logarithm of the ratio of their probabilities.",
        code="lean_in_nats = math.log(0.6 / 0.4) - math.log(0.03 / 0.97)",
    ),
)
