"""The angle of each pair of columns."""

from ....config import LlamaConfig
from ....llama import frequencies
from ...exercise import Case, Mistake

ORDER = 20
KIND = "write"
LEVEL = 1
RANK = "core"
MINUTES = 6

TASK = r"""
A head with D columns has D/2 pairs, numbered from 0. A step of one token turns pair i by

$$\theta_i = \mathrm{base}^{-2i/D}$$

radians. Return the D/2 angles as a tensor, pair 0 first. `D` is even, and `base` is a number.

By hand: with D = 4 and base 100 there are two pairs, with the angles 1 and $100^{-2/4}$ = 0.1.
"""

HINTS = (
    "`torch.arange(0, D, 2)` counts 0, 2, 4 …, and stops before D. That is 2i for every pair.",
    "`base ** x` works for a tensor x as well.",
    "`base ** (-torch.arange(0, D, 2) / D)`",
)

START = '''
def pair_angles(D, base):
    """Returns (D/2,)."""
    ...
'''

SOLUTION = """
def pair_angles(D, base):
    return base ** (-torch.arange(0, D, 2) / D)
"""

MISTAKES = (
    Mistake(
        "The minus sign is missing, so later pairs turn faster and faster. Pair 0 is the fastest.",
        ("-torch", "torch"),
    ),
    Mistake(
        "There are D angles here. Two columns make a pair, so there are D/2.",
        ("0, D, 2", "0, D"),
    ),
    Mistake(
        "The exponent is only half as large. It is 2i/D, so count 0, 2, 4 …",
        ("0, D, 2", "0, D // 2"),
    ),
    Mistake(
        "Pairs are numbered from 0, and pair 0 turns by 1 radian, whatever the base.",
        ("0, D, 2", "2, D + 2, 2"),
    ),
    Mistake(
        "The last angle is 1/base here. The exponents are 2i/D, so the last is (D − 2)/D.",
        ("torch.arange(0, D, 2) / D", "torch.linspace(0, 1, D // 2)"),
    ),
    Mistake(
        "The exponent is not divided by D, so all pairs but the first hardly turn at all.",
        (" / D", ""),
    ),
    Mistake(
        "You divide by D/2. With 2i in the numerator it is D.",
        (" / D", " / (D // 2)"),
    ),
    Mistake(
        "The slowest pair comes first here. Pair 0 turns by 1 radian.",
        ("D, 2) / D)", "D, 2) / D).flip(0)"),
    ),
    Mistake(
        "These angles fall in equal steps. Each is the one before times the same factor: base to the power of −2i/D.",
        ("base ** (-torch.arange(0, D, 2) / D)", "1 - torch.arange(0, D, 2) / D"),
    ),
    Mistake(
        "That is the number of tokens of one whole turn, 2π/θ. The angle itself is asked for.",
        ("base ** (-", "2 * math.pi / base ** (-"),
    ),
    Mistake(
        "`//` drops the fraction of the exponent, so it is a whole number. Divide with `/`.",
        (" / D", " // D"),
    ),
    Mistake(
        "Parentheses are missing. `**` comes before `*` and `/`, so only −2 is the exponent: `base ** (…)`.",
        ("base ** (-torch.arange(0, D, 2) / D)", "base ** -2 * torch.arange(D // 2) / D"),
    ),
    Mistake(
        "`base` is not used. `exp` has the base e.",
        ("base ** (-torch.arange(0, D, 2) / D)", "torch.exp(-torch.arange(0, D, 2) / D)"),
    ),
    Mistake(
        "The base is fixed at 10,000. Use the argument `base`.",
        ("base **", "10_000.0 **"),
    ),
    Mistake(
        "Base and exponent are swapped. The base is raised to the power of −2i/D.",
        ("base ** (-torch.arange(0, D, 2) / D)", "(-torch.arange(0, D, 2) / D) ** base"),
    ),
    Mistake(
        "The base is multiplied, not raised to a power: `**`.",
        ("base **", "base *"),
    ),
    Mistake(
        "These are angles of a token at position i. A step of one token is asked for, without positions.",
        ("/ D)", "/ D) * torch.arange(D // 2)"),
    ),
    Mistake(
        "The formula gives radians already. Leave out the conversion from degrees.",
        ("base **", "math.pi / 180 * base **"),
    ),
    Mistake(
        "Each angle is there twice. Two columns make a pair, with one angle.",
        ("/ D)", "/ D).repeat(2)"),
    ),
    Mistake(
        "You divide by D − 1. The exponent is 2i/D.",
        (" / D", " / (D - 1)"),
    ),
    Mistake(
        "The minus belongs into the exponent: base^(-2i/D) is a positive number below 1.",
        ("base ** (-torch.arange(0, D, 2) / D)", "-(base ** (torch.arange(0, D, 2) / D))"),
    ),
)


def right(D, base):
    return frequencies(LlamaConfig(head_size=D, rope_base=base))


def cases():
    sizes = {"D = 4, base 100": (4, 100.0), "one pair": (2, 10_000.0), "D = 10": (10, 16.0)}
    sizes["D = 64, base 10,000"] = (64, 10_000.0)
    sizes["Llama 3"] = (128, 500_000.0)
    return [Case(label, args) for label, args in sizes.items()]
