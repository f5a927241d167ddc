"""How wide is a head?"""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "good"
MINUTES = 3

TASK = "GPT-2 XL is C = 1600 wide and has H = 25 heads in each of its 48 blocks. How many entries does one head's query of one token have?"

HINTS = ("The heads share the C columns between them.",)

START = "head_size = ..."

SOLUTION = "head_size = 1600 // 25  # D = C / H = 64"

right = 64

MISTAKES = (
    Mistake("That is the width of the whole model. The heads share it.", code="head_size = 1600"),
    Mistake(
        "Divided by the number of blocks? The heads of one block share C.",
        code="head_size = 1600 / 48",
    ),
    Mistake("That is H, the number of heads.", code="head_size = 25"),
    Mistake(
        "192 is 3C / H, the columns of a head's query, key and value together. The query alone is a third of that.",
        code="head_size = 192",
    ),
    Mistake(
        "Multiplied by the number of blocks? Each block has heads of its own, and they share C.",
        code="head_size = 64 * 48",
    ),
    Mistake(
        "Divided by the heads of all blocks? The heads of one block share C.",
        code="head_size = 1600 / (25 * 48)",
    ),
    Mistake(
        "That is the number of heads of all blocks. The heads of one block share C.",
        code="head_size = 25 * 48",
    ),
    Mistake(
        "Divided by the number of blocks? The heads of one block share C.",
        code="head_size = 1600 // 48",
    ),
    Mistake(
        "The heads share the columns: divide, not multiply.",
        code="head_size = 1600 * 25",
    ),
)
