"""Capacity and audience."""

from ...exercise import Mistake

ORDER = 20
KIND = "recall"
LEVEL = 1
RANK = "good"
MINUTES = 4

TASK = """
GPT-2 has block_size = 1024 and C = 768. It reads a batch of B = 2 texts with T = 5 tokens each.

How many entries do `wpe.weight`, `pos_emb` and `embd` have? Give a list of three numbers, in this order. You may let Python multiply.
"""

HINTS = (
    "Write down the three shapes first. Which of them follow the theatre, and which the people who came?",
    "`wpe.weight` is (block_size, C). `pos_emb` has no batch axis. `embd` has one.",
)

START = "capacity = ...  # [wpe.weight, pos_emb, embd]"

SOLUTION = """
# (block_size, C), whoever comes; (T, C), the same for all texts; (B, T, C)
capacity = [1024 * 768, 5 * 768, 2 * 5 * 768]  # 786432, 3840, 7680
"""

right = [786432, 3840, 7680]

MISTAKES = (
    Mistake(
        "`pos_emb` has no batch axis, because position 3 is position 3 in every text. It is (T, C), and the sum broadcasts it.",
        code="capacity = [1024 * 768, 2 * 5 * 768, 2 * 5 * 768]",
    ),
    Mistake(
        "Only the rows of the T positions are fetched. `pos_emb` follows T, not block_size.",
        code="capacity = [1024 * 768, 1024 * 768, 2 * 5 * 768]",
    ),
    Mistake(
        "You padded the texts to block_size. That is not needed, since everything in a pass follows T.",
        code="capacity = [1024 * 768, 1024 * 768, 2 * 1024 * 768]",
    ),
    Mistake(
        "However short the text is, the whole table is there: `wpe.weight` has block_size rows.",
        code="capacity = [5 * 768, 5 * 768, 2 * 5 * 768]",
    ),
    Mistake(
        "`embd` has a row for each token of both texts, so it is (B, T, C).",
        code="capacity = [1024 * 768, 5 * 768, 5 * 768]",
    ),
    Mistake(
        "These are the shapes, and they are right. Multiply the sizes of each.",
        code="capacity = [(1024, 768), (5, 768), (2, 5, 768)]",
    ),
    Mistake(
        "The vocabulary's rows are those of `wte`. `wpe.weight` has a row for each position, block_size of them.",
        code="capacity = [50257 * 768, 5 * 768, 2 * 5 * 768]",
    ),
    Mistake(
        "These are the three numbers, but in another order. `wpe.weight` comes first, then `pos_emb`, then `embd`.",
        code="capacity = [3840, 786432, 7680]",
    ),
    Mistake(
        "These are the three numbers, but in another order. `wpe.weight` comes first, then `pos_emb`, then `embd`.",
        code="capacity = [786432, 7680, 3840]",
    ),
    Mistake(
        "You counted the rows. Each row has C = 768 numbers, and all of them count.",
        code="""capacity = [1024, 5, 2 * 5]""",
    ),
)
