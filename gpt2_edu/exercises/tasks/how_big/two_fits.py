"""Two fits of the same runs."""

from ...exercise import Mistake

ORDER = 80
KIND = "paper"
LEVEL = 2
RANK = "good"
MINUTES = 10
TOLERANCE = 6e-4

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
    Mistake(
        "These are predictions of the second fit. Subtract those of the first.",
        (" - loss(70e9, 1.4e12, *hoffmann)", ""),
        ("1.8172 - 1.69]", "1.8172]"),
    ),
    Mistake(
        "These are predictions of the first fit. Subtract them from those of the second.",
        ("loss(70e9, 1.4e12, *besiroglu) - ", ""),
        ("1.8172 - 1.69]", "1.69]"),
    ),
    Mistake(
        "The second difference has the other sign. How much is the *second* fit above the first?",
        ("1.8172 - 1.69]", "1.69 - 1.8172]"),
    ),
    Mistake(
        "The two numbers have changed places.",
        ("[chinchilla, 1.8172 - 1.69]", "[1.8172 - 1.69, chinchilla]"),
    ),
    Mistake(
        "A trillion is 10¹², and a billion is 10⁹.",
        ("loss(70e9, 1.4e12, *besiroglu)", "loss(70e9, 1.4e15, *besiroglu)"),
        ("loss(70e9, 1.4e12, *hoffmann)", "loss(70e9, 1.4e15, *hoffmann)"),
    ),
    Mistake(
        "70 billion is 70 · 10⁹. Millions are used for N here.",
        ("loss(70e9, 1.4e12, *besiroglu)", "loss(70e6, 1.4e12, *besiroglu)"),
        ("loss(70e9, 1.4e12, *hoffmann)", "loss(70e6, 1.4e12, *hoffmann)"),
    ),
    Mistake(
        "The exponents have changed places: α belongs to N, and β to D.",
        ("A / N**alpha + B / D**beta", "A / N**beta + B / D**alpha"),
    ),
    Mistake(
        "A and B have changed places: A belongs to N, and B to D.",
        ("A / N**alpha + B / D**beta", "B / N**alpha + A / D**beta"),
    ),
    Mistake(
        "The predictions are divided. By how much is one above the other?",
        (
            "loss(70e9, 1.4e12, *besiroglu) - loss(70e9, 1.4e12, *hoffmann)",
            "loss(70e9, 1.4e12, *besiroglu) / loss(70e9, 1.4e12, *hoffmann)",
        ),
        ("1.8172 - 1.69]", "1.8172 / 1.69]"),
    ),
    Mistake(
        "The predictions are added. Subtract the first from the second.",
        ("*besiroglu) - loss", "*besiroglu) + loss"),
        ("1.8172 - 1.69]", "1.8172 + 1.69]"),
    ),
    Mistake(
        "The powers are multiplied. Both are below the fraction bar.",
        ("A / N**alpha + B / D**beta", "A * N**alpha + B * D**beta"),
    ),
    Mistake(
        "At infinity, the floors E are left, and they differ.",
        ("1.8172 - 1.69]", "0]"),
    ),
    Mistake(
        "Only N is infinite here. With D = ∞ the term with B is 0 as well.",
        (
            "1.8172 - 1.69]",
            "loss(math.inf, 1.4e12, *besiroglu) - loss(math.inf, 1.4e12, *hoffmann)]",
        ),
    ),
    Mistake(
        "Only D is infinite here. With N = ∞ the term with A is 0 as well.",
        (
            "1.8172 - 1.69]",
            "loss(70e9, math.inf, *besiroglu) - loss(70e9, math.inf, *hoffmann)]",
        ),
    ),
)
