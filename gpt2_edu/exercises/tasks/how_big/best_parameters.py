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
    Mistake(
        "C is multiplied by 6. From C = 6ND follows N · D = C / 6.",
        ("(flops / 6)", "(6 * flops)"),
    ),
    Mistake(
        "C is divided by 2, as if there were only a forward pass. Training costs 6 FLOPs for each parameter and token.",
        ("(flops / 6)", "(flops / 2)"),
    ),
    Mistake(
        "Only C is divided here, without the constants A and B. They decide how it is divided between size and data.",
        ("balance * ", ""),
    ),
    Mistake(
        "N^(α + β) is known, so take the root: the exponent is 1 / (α + β).",
        ("(1 / (alpha + beta))", "(alpha + beta)"),
    ),
    Mistake(
        "`1 / alpha + beta` is (1/α) + β. Parentheses are missing: 1 / (α + β).",
        ("(1 / (alpha + beta))", "(1 / alpha + beta)"),
    ),
    Mistake(
        "`x / beta * B` multiplies by B. Parentheses are missing: `/ (beta * B)`.",
        ("(beta * B)", "beta * B"),
    ),
    Mistake(
        "The root is taken of the constants only. It belongs to the budget as well.",
        (
            "(balance * (flops / 6) ** beta) ** (1 / (alpha + beta))",
            "balance ** (1 / (alpha + beta)) * (flops / 6) ** beta",
        ),
    ),
    Mistake(
        "The root is taken of the budget only. It belongs to the constants as well.",
        (
            "(balance * (flops / 6) ** beta) ** (1 / (alpha + beta))",
            "balance * (flops / 6) ** (beta / (alpha + beta))",
        ),
    ),
    Mistake(
        "The exponents are multiplied. N^α · N^β is N^(α + β).",
        ("alpha + beta", "alpha * beta"),
    ),
    Mistake(
        "The exponents are subtracted. N^α · N^β is N^(α + β).",
        ("alpha + beta", "beta - alpha"),
    ),
    Mistake(
        "The exponents are subtracted. N^α · N^β is N^(α + β).",
        ("alpha + beta", "alpha - beta"),
    ),
    Mistake(
        "N has the exponent α + β after the derivatives are set equal: their two powers of N, −α − 1 and β − 1, differ by that.",
        ("alpha + beta", "alpha + beta + 2"),
    ),
    Mistake(
        "The factors α and β have changed places. α comes down from the exponent of the term with A.",
        ("alpha * A / (beta * B)", "beta * A / (alpha * B)"),
    ),
    Mistake(
        "A and B have changed places. The larger A is, the larger is the best model.",
        ("alpha * A / (beta * B)", "alpha * B / (beta * A)"),
    ),
    Mistake(
        "That is the loss of the best model, above E. Its N is asked for.",
        (
            "return (balance * (flops / 6) ** beta) ** (1 / (alpha + beta))",
            "N = (balance * (flops / 6) ** beta) ** (1 / (alpha + beta))\n"
            "    return A / N**alpha + B / (flops / 6 / N) ** beta",
        ),
    ),
    Mistake(
        "N and D are returned. N was asked for.",
        (
            "return (balance * (flops / 6) ** beta) ** (1 / (alpha + beta))",
            "N = (balance * (flops / 6) ** beta) ** (1 / (alpha + beta))\n"
            "    return N, flops / 6 / N",
        ),
    ),
    Mistake(
        "That is the rule of 20 tokens for each parameter, which holds for the constants of one study. Use those that are given.",
        (
            "return (balance * (flops / 6) ** beta) ** (1 / (alpha + beta))",
            "return (flops / 120) ** 0.5",
        ),
    ),
    Mistake(
        "The 6 is not raised to the power of β. N · D is C / 6, all of it.",
        ("(flops / 6) ** beta", "flops**beta / 6"),
    ),
    Mistake(
        "That is the logarithm of N. Take its exponential.",
        (
            "return (balance * (flops / 6) ** beta) ** (1 / (alpha + beta))",
            "return (math.log(balance) + beta * math.log(flops / 6)) / (alpha + beta)",
        ),
    ),
    Mistake(
        "Only powers of 10 are tried. The formula gives the best N itself.",
        code="""
def best_parameters(A, B, alpha, beta, flops):
    tried = [10.0**k for k in range(30) if 10.0**k <= flops / 6]
    return min(tried, key=lambda n: A / n**alpha + B / (flops / 6 / n) ** beta)
""",
    ),
    Mistake(
        "The factor β is missing. It comes down from the exponent of the term with B.",
        ("alpha * A / (beta * B)", "alpha * A / B"),
    ),
    Mistake(
        "The factor α is missing. It comes down from the exponent of the term with A.",
        ("alpha * A / (beta * B)", "A / (beta * B)"),
    ),
    Mistake(
        "The root has a minus. N^(α + β) is given, so N is its root with the exponent 1 / (α + β).",
        ("(1 / (alpha + beta))", "(-1 / (alpha + beta))"),
    ),
    Mistake(
        "The exponent of the budget is −β. A larger budget makes the best model larger.",
        ("** beta)", "** -beta)"),
    ),
    Mistake(
        "The budget is multiplied by β. It is raised to the power of β.",
        ("** beta)", "* beta)"),
    ),
    Mistake(
        "That is 6 times D. N is asked for.",
        (
            "return (balance * (flops / 6) ** beta) ** (1 / (alpha + beta))",
            "return flops / (balance * (flops / 6) ** beta) ** (1 / (alpha + beta))",
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
    if found < 1:
        return "A model has at least one parameter."
    falls, rises = alpha * A / found**alpha, beta * B / (flops / 6 / found) ** beta
    side = "large" if rises > falls else "small"
    return (
        f"This N is too {side}: α · A / N^α is {falls:.3g} there, and β · B / D^β is {rises:.3g}. "
        "At the best N they are equal."
    )


TOLERANCE = 1e-4


def cases():
    return [
        Case("equal exponents of 0.5", (20.0, 1000.0, 0.5, 0.5, 6e12)),
        Case("a small budget", (20.0, 500.0, 0.4, 0.5, 1e10)),
        Case("data helps quickly", (100.0, 3000.0, 0.3, 0.45, 1e20)),
    ]
