"""Two fits of the same runs."""

from ...exercise import Mistake

ORDER = 80
KIND = "paper"
LEVEL = 2
RANK = "good"
MINUTES = 10
TOLERANCE = 2e-3

TASK = r"""
The table has two fits of the runs of Hoffmann et al., the first as printed by themselves.

| | E | A | B | α | β |
| --- | ---: | ---: | ---: | ---: | ---: |
| Hoffmann et al. 2022 | 1.69 | 406.4 | 410.7 | 0.34 | 0.28 |
| Besiroglu et al. 2024 | 1.8172 | 482.01 | 2085.43 | 0.3478 | 0.3658 |

By how much is the second prediction above the first, for N = 70 billion and D = 1.4 trillion (Chinchilla), and for a model of infinite size after infinite training? Work it out with Python, to three decimals.
"""

HINTS = (
    "Write a function with N and D as arguments and the five constants.",
    'With N = D = ∞ only E is left. A float may be infinite: `float("inf") ** -0.34` is 0.',
)

START = "two_fits = ...  # two numbers: [at Chinchilla, at infinity]"

SOLUTION = """
def loss(N, D, E, A, B, alpha, beta):
    return E + A / N**alpha + B / D**beta


hoffmann = (1.69, 406.4, 410.7, 0.34, 0.28)
besiroglu = (1.8172, 482.01, 2085.43, 0.3478, 0.3658)
chinchilla = loss(70e9, 1.4e12, *besiroglu) - loss(70e9, 1.4e12, *hoffmann)
two_fits = [chinchilla, 1.8172 - 1.69]
"""

right = [0.03724, 0.1272]

MISTAKES = (
    Mistake(
        "The first is subtracted from nothing: that is the loss itself. Take the difference of the two.",
        (" - loss(70e9, 1.4e12, *hoffmann)", ""),
    ),
    Mistake(
        "The sign is turned around. How much is the *second* above the first?",
        (
            "loss(70e9, 1.4e12, *besiroglu) - loss(70e9, 1.4e12, *hoffmann)",
            "loss(70e9, 1.4e12, *hoffmann) - loss(70e9, 1.4e12, *besiroglu)",
        ),
        ("1.8172 - 1.69]", "1.69 - 1.8172]"),
    ),
    Mistake(
        "Parameters and tokens have changed places. N comes first, with A and α.",
        ("def loss(N, D,", "def loss(D, N,"),
    ),
    Mistake(
        "The floors are missing in the first difference.",
        ("return E + A", "return A"),
    ),
    Mistake(
        "A trillion is 10¹², and a billion is 10⁹.",
        ("loss(70e9, 1.4e12, *besiroglu)", "loss(70e9, 1.4e9, *besiroglu)"),
        ("loss(70e9, 1.4e12, *hoffmann)", "loss(70e9, 1.4e9, *hoffmann)"),
    ),
)
