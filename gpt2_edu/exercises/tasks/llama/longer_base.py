"""A base for a longer window."""

from ...exercise import Case, Mistake

ORDER = 100
KIND = "stretch"
LEVEL = 3
RANK = "extra"
MINUTES = 12

TASK = r"""
A model was trained with a base b, and its window is to become `factor` times as long. Dividing all positions by the factor slows every pair of columns down, and even neighbours come closer than the model has ever seen. A larger base slows the slow pairs down and leaves pair 0 as it is.

Which base b′ slows the *slowest* pair, i = D/2 − 1, by exactly the factor, so that

$$(b')^{-(D-2)/D} = \frac{b^{-(D-2)/D}}{\text{factor}} \quad ?$$

Return b′. With D = 4, base 100 and factor 3 it is 900.
"""

HINTS = (
    "Solve for b′. What has to be done to both sides to remove an exponent e?",
    "Raise both sides to the power of 1/e, with e = −(D − 2)/D.",
    "b′ = b · factor^(D/(D − 2)).",
)

START = '''
def longer_base(D, base, factor):
    """Returns a number."""
    ...
'''

SOLUTION = """
def longer_base(D, base, factor):
    return base * factor ** (D / (D - 2))
"""

MISTAKES = (
    Mistake(
        "You multiply the base by the factor. The slowest pair has the exponent (D − 2)/D, so that is a little too little.",
        ("factor ** (D / (D - 2))", "factor"),
    ),
    Mistake(
        "The exponent is upside down: D/(D − 2).",
        ("D / (D - 2)", "(D - 2) / D"),
    ),
    Mistake(
        "Parentheses are missing. `**` comes before `/`, so this is (factor to the power of D) / (D − 2).",
        ("(D / (D - 2))", "D / (D - 2)"),
    ),
    Mistake(
        "The base becomes smaller here, so the pairs turn faster. Multiply, so that they turn more slowly.",
        ("base * factor", "base / factor"),
    ),
    Mistake(
        "The base is raised as well. Only the factor is.",
        ("base * factor ** (D / (D - 2))", "(base * factor) ** (D / (D - 2))"),
    ),
    Mistake(
        "That is the angle of the slowest pair after the change. The base is asked for.",
        ("base * factor ** (D / (D - 2))", "base ** (-(D - 2) / D) / factor"),
    ),
    Mistake(
        "You take pair 1. The slowest pair is the last, i = D/2 − 1.",
        ("D / (D - 2)", "D / 2"),
    ),
    Mistake(
        "Parentheses are missing. `/` comes before `-`, so the exponent is D / D, minus 2.",
        ("(D / (D - 2))", "(D / D - 2)"),
    ),
    Mistake(
        "`//` drops the fraction of the exponent. D/(D − 2) is a whole number only for D = 4.",
        ("D / (D - 2)", "D // (D - 2)"),
    ),
    Mistake(
        "The base is raised to a power and the factor is not. Raise the factor.",
        ("base * factor ** (D / (D - 2))", "base ** (D / (D - 2)) * factor"),
    ),
    Mistake(
        "The base is raised to the power of the factor. Multiply it by a power of the factor.",
        ("base * factor ** (D / (D - 2))", "base**factor"),
    ),
    Mistake(
        "The slowest pair is i = D/2 − 1, so 2i is D − 2, not D − 1.",
        ("(D - 2)", "(D - 1)"),
    ),
    Mistake(
        "The exponent has to be removed: raise both sides to the power of 1/e, that is −D/(D − 2).",
        ("base * factor ** (D / (D - 2))", "base ** ((D - 2) / D) * factor"),
    ),
    Mistake(
        "The sign of the last exponent is missing. Take the power of −D/(D − 2), because e is negative.",
        ("base * factor ** (D / (D - 2))", "(base ** (-(D - 2) / D) / factor) ** (D / (D - 2))"),
    ),
    Mistake(
        "D/(D − 2) is the exponent of the factor here, not a factor of its own.",
        ("factor ** (D / (D - 2))", "factor * (D / (D - 2))"),
    ),
    Mistake(
        "The square is right for D = 4 only. The exponent is D/(D − 2).",
        ("(D / (D - 2))", "2"),
    ),
    Mistake(
        "`factor` must not be inside the bracket that is raised to −(D − 2)/D once more. The inverse of an exponent e is 1/e.",
        ("base * factor ** (D / (D - 2))", "(base ** (-(D - 2) / D) / factor) ** (-(D - 2) / D)"),
    ),
    Mistake(
        "The exponent is D / (D − 2), which is a little above 1, not (D + 2) / D.",
        ("(D / (D - 2))", "((D + 2) / D)"),
    ),
    Mistake(
        "The exponent is upside down, and the 2 alone is left of it. Solve for b′: the exponent of the factor is D / (D − 2).",
        ("(D / (D - 2))", "(2 / D)"),
    ),
    Mistake(
        "Brackets are missing in the exponent: −(D − 2) / D.",
        code="""
def longer_base(D, base, factor):
    e = -D - 2 / D
    return (base**e / factor) ** (1 / e)
""",
    ),
    Mistake(
        "The exponent is D / (D − 2), not (D − 2) / 2.",
        ("(D / (D - 2))", "(D / 2 - 1)"),
    ),
)


def right(D, base, factor):
    """From the slowest angle, by logarithms."""
    from math import exp, log

    slowest = log(base) * (D - 2) / D + log(factor)  # minus its logarithm
    return exp(slowest * D / (D - 2))


def cases():
    sizes = {
        "D = 4, base 100, three times": (4, 100.0, 3.0),
        "D = 8": (8, 16.0, 2.0),
        "D = 64, base 10,000, four times": (64, 10_000.0, 4.0),
        "unchanged": (16, 10_000.0, 1.0),
    }
    return [Case(label, args) for label, args in sizes.items()]
