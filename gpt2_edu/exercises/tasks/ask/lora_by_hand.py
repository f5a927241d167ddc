"""A LoRA of rank 1 by hand."""

from ...exercise import Mistake

ORDER = 20
KIND = "paper"
LEVEL = 1
RANK = "good"
MINUTES = 6

TASK = r"""
A linear map has no bias, and its weight is

$$
W = \begin{pmatrix} 1 & 0 \\ 0 & 2 \end{pmatrix}, \qquad A = \begin{pmatrix} 1 & -1 \end{pmatrix}, \qquad B = \begin{pmatrix} 2 \\ 1 \end{pmatrix}
$$

are a LoRA around it, with rank 1 and α = 3. What does the map with its LoRA make of x = (5, 1)? Give the two numbers.
"""

HINTS = (
    "The output is Wx + (α/r) · B(Ax). Begin with Ax, a single number.",
    "Ax is 5 − 1 = 4, and B times 4 is (8, 4).",
    "α/r is 3.",
)

START = "lora_by_hand = ...  # two numbers: [ , ]"

SOLUTION = """
inner = 1 * 5 - 1 * 1  # A x
scale = 3 / 1  # alpha / rank
lora_by_hand = [1 * 5 + scale * 2 * inner, 2 * 1 + scale * 1 * inner]
"""

right = [29, 14]

MISTAKES = (
    Mistake(
        "α/r is missing. What the LoRA adds is multiplied by it, here by 3.",
        ("3 / 1", "1"),
    ),
    Mistake(
        "That is what the LoRA adds. Wx, which is (5, 2), is still there.",
        ("1 * 5 + scale", "scale"),
        ("2 * 1 + scale", "scale"),
    ),
    Mistake(
        "That is Wx without the LoRA, as it is before training, while B is still 0.",
        ("1 * 5 + scale * 2 * inner, 2 * 1 + scale * 1 * inner", "5, 2"),
    ),
    Mistake(
        "That divides by α. The scale is α/r, and r is 1.",
        ("3 / 1", "1 / 3"),
    ),
    Mistake(
        "Ax is taken as a sum here. The second entry of A is −1.",
        ("1 * 5 - 1 * 1", "1 * 5 + 1 * 1"),
    ),
    Mistake(
        "The whole output is scaled. Only what the LoRA adds is multiplied by α/r.",
        ("1 * 5 + scale * 2 * inner, 2 * 1 + scale * 1 * inner", "scale * 13, scale * 6"),
    ),
    Mistake(
        "The LoRA reads Wx here. It reads the same x as W does.",
        ("inner = 1 * 5 - 1 * 1", "inner = 1 * 5 - 1 * 2"),
    ),
    Mistake(
        "A and B have changed roles. A reads x, and B writes the output.",
        ("inner = 1 * 5 - 1 * 1", "inner = 2 * 5 + 1 * 1"),
        ("scale * 2 * inner", "scale * 1 * inner"),
        ("2 * 1 + scale * 1 * inner", "2 * 1 + scale * -1 * inner"),
    ),
    Mistake(
        "That is BAx, without the scale and without Wx.",
        ("1 * 5 + scale * 2 * inner, 2 * 1 + scale * 1 * inner", "2 * inner, 1 * inner"),
    ),
    Mistake(
        "The two numbers have changed places.",
        (
            "[1 * 5 + scale * 2 * inner, 2 * 1 + scale * 1 * inner]",
            "[2 * 1 + scale * 1 * inner, 1 * 5 + scale * 2 * inner]",
        ),
    ),
    Mistake(
        "W is taken for the identity. Its second entry on the diagonal is 2.",
        ("2 * 1 + scale", "1 * 1 + scale"),
    ),
    Mistake(
        "W's entries have changed places: Wx is (1 · 5, 2 · 1).",
        ("1 * 5 + scale", "2 * 5 + scale"),
        ("2 * 1 + scale", "1 * 1 + scale"),
    ),
    Mistake(
        "The sign of what the LoRA adds is turned. Ax is 1 · 5 − 1 · 1.",
        ("inner = 1 * 5 - 1 * 1", "inner = 1 * 1 - 1 * 5"),
    ),
    Mistake(
        "A and x are multiplied entry by entry. Ax is their sum, one number.",
        ("scale * 2 * inner", "scale * 2 * 5"),
        ("scale * 1 * inner", "scale * 1 * -1"),
    ),
    Mistake(
        "The second entry of A is left out. Ax is 1 · 5 − 1 · 1.",
        ("inner = 1 * 5 - 1 * 1", "inner = 1 * 5"),
    ),
    Mistake(
        "B's entries have changed places. The first is 2.",
        ("scale * 2 * inner", "scale * 1 * inner"),
        ("2 * 1 + scale * 1 * inner", "2 * 1 + scale * 2 * inner"),
    ),
    Mistake(
        "B is left out, as if its entries were 1.",
        ("scale * 2 * inner", "scale * inner"),
    ),
    Mistake(
        "The scale is applied twice.",
        ("3 / 1", "9"),
    ),
    Mistake(
        "The rank is 1, because A has one row. α is divided by 2 here.",
        ("3 / 1", "3 / 2"),
    ),
)
