"""A row in 4 bits."""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "core"
MINUTES = 5

TASK = r"""
Round the row (0.6, −0.24, 0.03, −0.9) to 4 bits, with one scale for the row. Which four whole numbers are stored?
"""

HINTS = (
    "The largest size in the row becomes the largest whole number. Which is it with 4 bits?",
    "The scale is 0.9 / 7, about 0.1286. Divide each entry by it.",
    "The quotients are 4.67, −1.87, 0.23 and −7. Round each to the nearest whole number.",
)

START = "row_in_four_bits = ...  # four whole numbers: [ , , , ]"

SOLUTION = """
scale = 0.9 / 7  # 4 bits: one for the sign, so 7 is the largest
row_in_four_bits = [round(w / scale) for w in (0.6, -0.24, 0.03, -0.9)]
"""

right = [5, -2, 0, -7]

MISTAKES = (
    Mistake(
        "Those are the numbers for the largest *positive* entry. The scale comes from the largest size, 0.9, whatever its sign.",
        ("0.9 / 7", "0.6 / 7"),
    ),
    Mistake(
        "That has 15 steps on either side. One of the 4 bits is the sign, so the largest whole number is 7.",
        ("0.9 / 7", "0.9 / 15"),
    ),
    Mistake(
        "That is the range up to 8. A symmetric range ends at 7, because 8 does not fit into 4 bits with a sign.",
        ("0.9 / 7", "0.9 / 8"),
    ),
    Mistake(
        "The fractions are cut off. Round to the nearest: 4.67 becomes 5, and −1.87 becomes −2.",
        ("round(w / scale)", "int(w / scale)"),
    ),
    Mistake(
        "These are the rounded weights. The stored whole numbers come before the multiplication with the scale.",
        ("round(w / scale)", "round(w / scale) * scale"),
    ),
    Mistake(
        "That is the row in 8 bits, where the largest whole number is 127.",
        ("0.9 / 7", "0.9 / 127"),
    ),
    Mistake(
        "The signs are lost. They are stored as well.",
        ("round(w / scale)", "abs(round(w / scale))"),
    ),
    Mistake(
        "That is rounded down. −1.87 is nearer to −2, which is right, but 4.67 is nearer to 5 than to 4.",
        ("round(w / scale)", "int(w // scale)"),
    ),
)
