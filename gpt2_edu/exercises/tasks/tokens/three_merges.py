"""Three merges by hand."""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "core"
MINUTES = 6

TASK = """
Learn the first three merges of this text, with pencil and paper:

`tin tin tin int`

Cut the text into pieces as GPT-2 does, write each piece as single bytes, count the pairs of neighbours, merge the most frequent pair everywhere, and count again. Give the three new tokens as strings, in the order in which they are learned. Where a token contains a space, type a space, since the ␣ of this book only stands for it.

For the text `no no` the first two merges are `["no", " no"]`.
"""

HINTS = (
    "The space belongs to the word that follows. So the pieces are `tin`, `␣tin`, `␣tin`, `␣int`, and no pair reaches from one piece into the next.",
    "The first winner is `i` followed by `n`, which occurs in all four pieces. Write the pieces again with `in` as one token before you count for the second time.",
)

START = 'three_merges = ...  # for example ["ab", " ab", "c"]'

SOLUTION = """
# tin | ␣tin | ␣tin | ␣int:   i+n 4 times, t+i 3, ␣+t 2, ␣+i 1, n+t 1
# t in | ␣ t in | ␣ t in | ␣ in t:   t+in 3 times, ␣+t 2, ␣+in 1, in+t 1
# tin | ␣ tin | ␣ tin | ␣ in t:   ␣+tin 2 times, the others once
three_merges = ["in", "tin", " tin"]
"""

right = ["in", "tin", " tin"]

MISTAKES = (
    Mistake(
        "These are the three most frequent pairs of the first count. Count again after every merge, because `ti` has lost its `i` to `in`.",
        code='three_merges = ["in", "ti", " t"]',
    ),
    Mistake(
        "You merged across a word boundary. GPT-2 cuts the text into pieces first, and no pair reaches from one piece into the next.",
        code='three_merges = ["in", "tin", "tin "]',
    ),
    Mistake(
        "You threw the spaces away. A space belongs to the word that follows, so three of the four pieces begin with one.",
        code='three_merges = ["in", "tin", "int"]',
    ),
    Mistake(
        "The tokens are right, except that the third begins with a space. It is ␣ followed by `tin`.",
        code='three_merges = ["in", "tin", "tin"]',
    ),
    Mistake(
        "You began with the pair at the beginning of the text. Take the most frequent pair, `i` followed by `n`, which occurs four times.",
        code='three_merges = ["ti", "tin", " tin"]',
    ),
    Mistake(
        "The three are right, but ␣ only stands for the space in this book. Type a space.",
        code='three_merges = ["in", "tin", "␣tin"]',
    ),
    Mistake(
        'These are bytes. Give the three tokens as strings, such as "in".',
        code='three_merges = [b"in", b"tin", b" tin"]',
    ),
    Mistake(
        "The first two are right. The third is the most frequent pair that is left: ␣ followed by `tin`, which occurs twice.",
        code='three_merges = ["in", "tin", " t"]',
    ),
    Mistake(
        "The first two are right. The third is the most frequent pair that is left: ␣ followed by `tin`, which occurs twice.",
        code='three_merges = ["in", "tin", " in"]',
    ),
    Mistake(
        "These are whole pieces of the text. A merge joins two tokens, and the first tokens are single characters: begin with the most frequent pair, `i` followed by `n`.",
        code='three_merges = ["tin", " tin", " int"]',
    ),
)
