"""The loss of a model that has learned nothing."""

from ...exercise import Mistake

ORDER = 40
KIND = "paper"
LEVEL = 2
RANK = "good"
MINUTES = 6
TOLERANCE = 1e-3

TASK = r"""
You build a model with a vocabulary of V = 1000 and a width of C = 100. All its tables start with a standard deviation of 0.05, and so does the tied head. What loss do you expect before the first training step? Do not stop at the loss of blind guessing, but add what the spread of the logits costs (see the chapter's fold *the bit above ln V*). Give two decimals, or let Python compute the number.
"""

HINTS = (
    "A logit is a sum of C products. `ln_f` outputs numbers of size 1, and the row of the table has entries of size 0.05.",
    "The logits therefore have the standard deviation $\\sigma = 0.05 \\sqrt{100} = 0.5$.",
    "The loss is $\\ln V + \\sigma^2 / 2$.",
)

START = "first_loss = ..."

SOLUTION = """
spread = 0.05 * math.sqrt(100)  # of the logits: 0.5
first_loss = math.log(1000) + spread**2 / 2  # 6.91 + 0.125 = 7.03
"""

right = 7.032755278982137

MISTAKES = (
    Mistake(
        "That is the loss of blind guessing, ln V, or hardly more. The logits have the standard deviation σ = 0.05 · √C, which costs σ²/2 more.",
        code="first_loss = math.log(1000)",
    ),
    Mistake(
        "The spread costs σ²/2, not σ.",
        code="first_loss = math.log(1000) + 0.5",
    ),
    Mistake(
        "The spread costs σ²/2. You left out the square or the half. (As σ is 0.5, both give the same number.)",
        code="first_loss = math.log(1000) + 0.5**2",
    ),
    Mistake(
        "The spread grows with the root of C: 0.05 · √100, not 0.05 · 100.",
        code="first_loss = math.log(1000) + (0.05 * 100) ** 2 / 2",
    ),
    Mistake(
        "The spread makes the loss larger, not smaller, because a model that prefers tokens at random is worse than blind guessing.",
        code="first_loss = math.log(1000) - 0.5**2 / 2",
    ),
    Mistake(
        "This uses the logarithm to base 10. The loss is in natural logarithms: `math.log`.",
        code="first_loss = math.log10(1000) + 0.5**2 / 2",
    ),
    Mistake(
        "This uses the logarithm to base 2. The loss is in natural logarithms: `math.log`.",
        code="first_loss = math.log2(1000) + 0.5**2 / 2",
    ),
    Mistake(
        "This takes GPT-2's 0.02 as the standard deviation of the table. Here it is 0.05.",
        code="first_loss = math.log(1000) + (0.02 * math.sqrt(100)) ** 2 / 2",
    ),
    Mistake(
        "The spread grows with the root of C, not of V: each logit is a sum of C products.",
        code="first_loss = math.log(1000) + (0.05 * math.sqrt(1000)) ** 2 / 2",
    ),
    Mistake(
        "That is only what the spread costs, σ²/2. The loss of blind guessing, ln V, is missing.",
        code="first_loss = 0.5**2 / 2",
    ),
)
