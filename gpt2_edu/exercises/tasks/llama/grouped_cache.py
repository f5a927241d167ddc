"""A cache with fewer heads."""

from ...exercise import Mistake

ORDER = 70
KIND = "paper"
LEVEL = 1
RANK = "good"
MINUTES = 5

TASK = r"""
A model has N = 24 blocks with H = 12 query heads, K = 3 heads of keys and values, and D = 64. It keeps the keys and values of one text of 1,000 tokens in bfloat16. How many bytes is that?
"""

HINTS = (
    "Which heads leave something in the cache, those that ask or those that are asked?",
    "One token leaves, in each block, K keys and K values of D entries each.",
    "2 · N · K · D entries a token, two bytes each.",
)

START = "grouped_cache = ..."

SOLUTION = """
token = 2 * 24 * 3 * 64 * 2  # a key and a value in each block, two bytes each: 18,432
grouped_cache = 1000 * token  # 18,432,000; the number of query heads plays no part
"""

right = 18_432_000

MISTAKES = (
    Mistake(
        "That is the cache if each of the 12 query heads had keys and values of its own. They share those of 3 heads.",
        code="grouped_cache = 1000 * 2 * 24 * 12 * 64 * 2",
    ),
    Mistake(
        "That is with four bytes per entry, as in float32. bfloat16 has two.",
        code="grouped_cache = 1000 * 2 * 24 * 3 * 64 * 4",
    ),
    Mistake(
        "Half of it is missing. Each token leaves a key *and* a value, and each of their entries has two bytes.",
        code="grouped_cache = 1000 * 24 * 3 * 64 * 2",
    ),
    Mistake(
        "That is for one token. Multiply by 1,000.",
        code="grouped_cache = 2 * 24 * 3 * 64 * 2",
    ),
    Mistake(
        "That is for one head of keys and values. Each block has three.",
        code="grouped_cache = 1000 * 2 * 24 * 64 * 2",
    ),
    Mistake(
        "That is for one block. All 24 keep keys and values of their own.",
        code="grouped_cache = 1000 * 2 * 3 * 64 * 2",
    ),
    Mistake(
        "You count H / K = 4 heads. That is how many query heads share one key head. The cache holds K = 3 heads.",
        code="grouped_cache = 1000 * 2 * 24 * 4 * 64 * 2",
    ),
    Mistake(
        "Those are bits. bfloat16 has two bytes per entry.",
        code="grouped_cache = 1000 * 2 * 24 * 3 * 64 * 16",
    ),
    Mistake(
        "You leave out D. A key of one head has 64 entries.",
        code="grouped_cache = 1000 * 2 * 24 * 3 * 2",
    ),
)
