"""How many bytes is it now?"""

from ...exercise import Mistake

ORDER = 20
KIND = "paper"
LEVEL = 1
RANK = "good"
MINUTES = 5

TASK = r"""
GPT-2's `c_fc` has a weight of 3072 × 768 entries. It is stored in 4 bits, with one 16-bit scale for each group of 64 entries. How many bytes does the weight take, scales included?
"""

HINTS = (
    "How many bits does one entry take, with its share of a scale?",
    "A group of 64 entries takes 64 · 4 bits and 16 more: 4.25 bits an entry.",
    "Multiply by 3072 · 768, and divide by 8 bits a byte.",
)

START = "matrix_bytes = ..."

SOLUTION = """
entries = 3072 * 768
scales = entries // 64  # one for each group
matrix_bytes = entries * 4 // 8 + scales * 2
"""

right = 1253376

MISTAKES = (
    Mistake(
        "The scales are missing. Each group of 64 entries has one, of 2 bytes.",
        (" + scales * 2", ""),
    ),
    Mistake(
        "That is in bits. Eight of them are a byte.",
        ("entries * 4 // 8 + scales * 2", "entries * 4 + scales * 16"),
    ),
    Mistake(
        "That is one scale for each row. A row of 768 entries has 12 groups of 64.",
        ("entries // 64", "3072"),
    ),
    Mistake(
        "That is 8 bits an entry. With 4 bits, two entries share a byte.",
        ("entries * 4 // 8", "entries"),
    ),
    Mistake(
        "A 16-bit scale has 2 bytes, not 16.",
        ("scales * 2", "scales * 16"),
    ),
    Mistake(
        "A 16-bit scale has 2 bytes; 4 bytes would be a float32.",
        ("scales * 2", "scales * 4"),
    ),
    Mistake(
        "That is the weight in float32, before anything is rounded.",
        ("entries * 4 // 8 + scales * 2", "entries * 4"),
    ),
    Mistake(
        "A scale is counted as one byte. It has 16 bits, which are two.",
        ("scales * 2", "scales"),
    ),
)
