"""From probabilities to perplexity."""

from ...exercise import Mistake

ORDER = 20
KIND = "paper"
LEVEL = 1
RANK = "good"
MINUTES = 5
TOLERANCE = 5e-3

TASK = r"""
A model reads a text of four tokens. It gave the three that had to be predicted the probabilities $\frac12$, $\frac14$ and $\frac18$. What is the perplexity? You need no computer if you add up the logarithms as the logarithm of a product.
"""

HINTS = (
    "The loss is the mean of $-\\ln p$ over the three tokens.",
    "$\\ln 2 + \\ln 4 + \\ln 8 = \\ln 64$, and a third of that is $\\ln \\sqrt[3]{64}$.",
    "Perplexity is $e^{\\text{loss}}$, so *e* and ln cancel, and the cube root of 64 remains.",
)

START = "perplexity = ..."

SOLUTION = """
# The loss is (ln 2 + ln 4 + ln 8) / 3 = ln 64 / 3 = ln 4.
perplexity = 4.0
"""

right = 4.0

MISTAKES = (
    Mistake(
        "That is the loss, the mean of −ln p. Perplexity is *e* to the power of it.",
        code="perplexity = math.log(4)",
    ),
    Mistake(
        "That is the mean of 1/p. First take the mean of the logarithms, then go back with *e*.",
        code="perplexity = (2 + 4 + 8) / 3",
    ),
    Mistake(
        "That is one over the mean probability. The mean is taken of −ln p, where small probabilities weigh more.",
        code="perplexity = 3 / (1 / 2 + 1 / 4 + 1 / 8)",
    ),
    Mistake(
        "That comes from the sum of the three losses. The loss is their mean: divide by 3 before you take *e* to the power of it.",
        code="perplexity = 64",
    ),
    Mistake(
        "That is the loss in bits, with the logarithm to base 2. From bits, perplexity is 2 to the power of it.",
        code="perplexity = 2",
    ),
    Mistake(
        "You took the mean over four tokens. The first one was not predicted, so there are three losses.",
        code="perplexity = 64 ** (1 / 4)",
    ),
    Mistake(
        "That is *e* to the power of *minus* the loss. Leave out the minus; the answer is one over your number.",
        code="perplexity = 1 / 4",
    ),
    Mistake(
        "That is the sum of the three losses. Divide it by 3, then take *e* to the power of it.",
        code="perplexity = math.log(64)",
    ),
    Mistake(
        "That is the mean probability. Take the mean of −ln p, and then *e* to the power of it.",
        code="perplexity = (1 / 2 + 1 / 4 + 1 / 8) / 3",
    ),
    Mistake(
        "That is *e* to the power of the mean probability. The mean is taken of −ln p.",
        code="perplexity = math.exp((1 / 2 + 1 / 4 + 1 / 8) / 3)",
    ),
)
