"""How large is the cache?"""

from ...exercise import Mistake

ORDER = 20
KIND = "paper"
LEVEL = 1
RANK = "good"
MINUTES = 5

TASK = r"""
A model has N = 6 blocks, width C = 384 and H = 12 heads. It writes eight texts of 256 tokens each side by side, and keeps keys and values in bfloat16. How many bytes does the cache hold?
"""

HINTS = (
    "Begin with one token of one text. What does each block keep of it, and how many entries is that?",
    "One token costs 2 · N · C entries of two bytes each. The texts share no keys.",
)

START = "cache_bytes = ..."

SOLUTION = """
numbers = 2 * 6 * 384  # of one token: a key and a value in each block
cache_bytes = numbers * 2 * 256 * 8  # 18,874,368; H = 12 plays no part
"""

right = 18_874_368

MISTAKES = (
    Mistake(
        "Half of it is missing. Each token leaves a key *and* a value in every block, and each of their entries has two bytes.",
        code="cache_bytes = 6 * 384 * 2 * 256 * 8",
    ),
    Mistake(
        "The heads are counted twice, because C is already H heads times D. One key of one token has C entries in each block.",
        code="cache_bytes = 2 * 6 * 384 * 12 * 2 * 256 * 8",
    ),
    Mistake(
        "That is for one head with D = 32 entries. A key of one token has D entries for each head, C in all.",
        code="cache_bytes = 2 * 6 * 32 * 2 * 256 * 8",
    ),
    Mistake(
        "That is with four bytes per entry, as in float32. bfloat16 has two.",
        code="cache_bytes = 2 * 6 * 384 * 4 * 256 * 8",
    ),
    Mistake(
        "That is the cache of one text. Each of the eight has keys and values of its own.",
        code="cache_bytes = 2 * 6 * 384 * 2 * 256",
    ),
    Mistake(
        "That is for one block. Every block computes keys and values of its own, and all six are kept.",
        code="cache_bytes = 2 * 384 * 2 * 256 * 8",
    ),
    Mistake(
        "That is for one token of one text. Multiply by 256 tokens and by eight texts.",
        code="cache_bytes = 2 * 6 * 384 * 2",
    ),
    Mistake(
        "That is for one token of each text. Multiply by the 256 tokens.",
        code="cache_bytes = 2 * 6 * 384 * 2 * 8",
    ),
    Mistake(
        "Those are bits. bfloat16 has two bytes per entry.",
        code="cache_bytes = 8 * 2 * 6 * 384 * 2 * 256 * 8",
    ),
)
