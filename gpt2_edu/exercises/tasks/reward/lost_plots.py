"""What lost plots cost."""

from ...exercise import Mistake

ORDER = 90
KIND = "paper"
LEVEL = 2
RANK = "good"
MINUTES = 8
TOLERANCE = 2e-3

TASK = r"""
The grammar gives each of the five plots 1/5. A model that was rewarded writes them with the shares 0.4, 0.4, 0.1, 0.05 and 0.05, and is exact in everything else. How many nats does it lose *per story*? That is KL(truth ‖ model), how much its loss on true stories is above the floor. Three decimals are enough.
"""

HINTS = (
    "For each plot, the true share times the logarithm of (true share / model's share). Add up the five.",
    "The ratios are 0.5, 0.5, 2, 4 and 4, and each true share is 0.2.",
    "ln 0.5 = −0.693, ln 2 = 0.693, ln 4 = 1.386.",
)

START = "lost_plots = ...  # a number"

SOLUTION = """
shares = (0.4, 0.4, 0.1, 0.05, 0.05)
lost_plots = sum(0.2 * math.log(0.2 / q) for q in shares)
"""

right = 0.41589

MISTAKES = (
    Mistake(
        "That is KL(model ‖ truth), the mean over what the *model* writes. Loss on true stories is a mean over true stories, so each plot counts 0.2.",
        ("0.2 * math.log(0.2 / q)", "q * math.log(q / 0.2)"),
    ),
    Mistake(
        "That is the whole cross-entropy of the plots. The floor, ln 5, must be subtracted.",
        ("math.log(0.2 / q)", "-math.log(q)"),
    ),
    Mistake(
        "The ratio is upside down, so the result is negative. A KL is never below 0.",
        ("0.2 / q", "q / 0.2"),
    ),
    Mistake(
        "Those are bits. Nats have the natural logarithm.",
        ("math.log(", "math.log2("),
    ),
    Mistake(
        "The logarithms are added without their weights. Each plot is a fifth of the true stories.",
        ("0.2 * math", "math"),
    ),
    Mistake(
        "That is how far the shares themselves have moved. A loss is counted in logarithms.",
        ("0.2 * math.log(0.2 / q)", "abs(0.2 - q)"),
    ),
)
