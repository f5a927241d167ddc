"""What a run costs."""

from ...exercise import Mistake

ORDER = 20
KIND = "paper"
LEVEL = 1
RANK = "core"
MINUTES = 5

TASK = r"""
By the rule C = 6ND, how many FLOPs does it take to train a model of 50,000 parameters on 4 million tokens? And on how many tokens could a model of 200,000 parameters be trained for five times that sum?
"""

HINTS = (
    "A forward pass takes 2 FLOPs per parameter and token. The backward pass takes twice as many.",
    "Solve C = 6ND for D.",
    "Four times the parameters for five times the FLOPs leave 5/4 of the tokens.",
)

START = "run_cost = ...  # two numbers: [FLOPs, tokens]"

SOLUTION = """
flops = 6 * 50_000 * 4e6
tokens = 5 * flops / (6 * 200_000)
run_cost = [flops, tokens]
"""

right = [1.2e12, 5e6]

MISTAKES = (
    Mistake(
        "That is the forward pass only. Training goes back as well, which costs twice as much again.",
        ("6 * 50_000 * 4e6", "2 * 50_000 * 4e6"),
        ("6 * 200_000", "2 * 200_000"),
    ),
    Mistake(
        "Each parameter takes part in one multiplication and one addition, and again twice in the backward pass. That is 6, not 1.",
        ("6 * 50_000 * 4e6", "50_000 * 4e6"),
        ("(6 * 200_000)", "200_000"),
    ),
    Mistake(
        "The second budget is five times the first.",
        ("5 * flops", "flops"),
    ),
    Mistake(
        "The six FLOPs are missing in the second run.",
        ("(6 * 200_000)", "200_000"),
    ),
    Mistake(
        "The second model is four times as large, and every token costs four times as much. Divide by its own size.",
        ("6 * 200_000", "6 * 50_000"),
    ),
    Mistake(
        "The backward pass takes twice as many FLOPs as the forward pass, so that there are 6 and not 4.",
        ("6 * 50_000 * 4e6", "4 * 50_000 * 4e6"),
        ("6 * 200_000", "4 * 200_000"),
    ),
    Mistake(
        "There are 6 FLOPs for each parameter and token: 2 forward and 4 backward.",
        ("6 * 50_000 * 4e6", "3 * 50_000 * 4e6"),
        ("6 * 200_000", "3 * 200_000"),
    ),
    Mistake(
        "The two numbers have changed places: the FLOPs come first.",
        ("[flops, tokens]", "[tokens, flops]"),
    ),
    Mistake(
        "The first number is the second budget. What does the first run cost?",
        ("[flops, tokens]", "[5 * flops, tokens]"),
    ),
    Mistake(
        "The tokens are multiplied by 4. For four times the parameters each token costs four times as much.",
        ("5 * flops / (6 * 200_000)", "5 * 4e6 * 4"),
    ),
    Mistake(
        "The quotient is upside down. Five times the budget for a model four times as large leave 5/4 of the tokens.",
        ("5 * flops / (6 * 200_000)", "4e6 * 4 / 5"),
    ),
    Mistake(
        "The tokens are counted in millions. Give their number.",
        ("tokens]", "tokens / 1e6]"),
    ),
)
