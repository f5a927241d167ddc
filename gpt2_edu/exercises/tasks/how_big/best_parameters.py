"""The best size for a budget."""

import math

import torch

from ...exercise import Case, Mistake

ORDER = 40
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 12

TASK = r"""
Runs have been fitted by $L = E + A / N^\alpha + B / D^\beta$. Write `best_parameters(A, B, alpha, beta, flops)`, which returns the N with the least loss among all runs that cost C = `flops`, where C = 6ND.

Put D = C / (6N) into the formula and set the derivative with respect to N to 0.
"""

HINTS = (
    "B / D^β becomes B · (6N / C)^β, which grows with N. The other term falls.",
    "The derivative is 0 where α · A / N^α = β · B / D^β.",
    "So N^(α + β) = (αA / βB) · (C / 6)^β.",
)

START = '''
def best_parameters(A, B, alpha, beta, flops):
    """Five numbers. Returns the best N, a number."""
    ...
'''

SOLUTION = """
def best_parameters(A, B, alpha, beta, flops):
    balance = alpha * A / (beta * B)
    return (balance * (flops / 6) ** beta) ** (1 / (alpha + beta))
"""

MISTAKES = (
    Mistake(
        "That is D, the number of tokens. The exponent of C / 6 is β for N, and α for D.",
        ("(balance * (flops / 6) ** beta)", "((flops / 6) ** alpha / balance)"),
    ),
    Mistake(
        "The two terms are made equal. What must be equal is how fast they change, and that has the factors α and β.",
        ("alpha * A / (beta * B)", "A / B"),
    ),
    Mistake(
        "The root of the last step is missing: N has the exponent α + β there.",
        (" ** (1 / (alpha + beta))", ""),
    ),
    Mistake(
        "The balance is upside down. If size matters more (a larger A), the best model is larger.",
        ("alpha * A / (beta * B)", "beta * B / (alpha * A)"),
    ),
    Mistake(
        "N · D is C / 6, not C.",
        ("(flops / 6)", "flops"),
    ),
    Mistake(
        "The exponent of the budget is α here. It is β for N: if data helps quickly (a large β), little of it is enough, and the budget goes into size.",
        ("** beta)", "** alpha)"),
    ),
    Mistake(
        "The budget is divided evenly, N = D. The constants decide how it is divided.",
        (
            "return (balance * (flops / 6) ** beta) ** (1 / (alpha + beta))",
            "return (flops / 6) ** 0.5",
        ),
    ),
)


def right(A, B, alpha, beta, flops):
    """By ternary search over ln N."""

    def loss(log_n):
        n = math.exp(log_n)
        return A / n**alpha + B / (flops / 6 / n) ** beta

    low, high = 0.0, math.log(flops / 6)
    for _ in range(200):
        one, two = (2 * low + high) / 3, (low + 2 * high) / 3
        low, high = (low, two) if loss(one) < loss(two) else (one, high)
    return math.exp((low + high) / 2)


def properties(result, A, B, alpha, beta, flops):
    found = torch.as_tensor(result, dtype=torch.float64).item()
    if found > flops / 6:
        return "So large a model could not be trained on a single token for this sum."
    return None


TOLERANCE = 1e-4


def cases():
    return [
        Case("equal exponents of 0.5", (20.0, 1000.0, 0.5, 0.5, 6e12)),
        Case("a small budget", (20.0, 500.0, 0.4, 0.6, 1e10)),
        Case("data helps quickly", (100.0, 3000.0, 0.3, 0.45, 1e20)),
    ]
