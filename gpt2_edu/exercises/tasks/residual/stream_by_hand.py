"""A stream of one number."""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "core"
MINUTES = 4

TASK = r"""
A stream holds a single number, which starts at 1. Three layers with residual connections follow each other:

$$f_1(x) = 2x \qquad f_2(x) = x - 2 \qquad f_3(x) = -\tfrac{x}{2}$$

What is in the stream at the end?
"""

HINTS = (
    "Each layer reads what is in the stream now, and adds its result to it.",
    "After the first layer the stream holds 1 + 2 · 1 = 3.",
)

START = "stream_by_hand = ..."

SOLUTION = """
# 1 + 2 = 3, then 3 + (3 - 2) = 4, then 4 + (-2) = 2
stream_by_hand = 2
"""

right = 2

MISTAKES = (
    Mistake(
        "Here each layer replaces what was there. With residual connections it adds: x + f(x).",
        code="stream_by_hand = 0",
    ),
    Mistake(
        "You let every layer read the 1 of the start. Each reads the stream as it is at that point.",
        code="stream_by_hand = 1.5",
    ),
    Mistake(
        "That is the sum of the three edits. The start is in the stream as well.",
        code="stream_by_hand = 1",
    ),
    Mistake(
        "That is the stream before the third layer, which still has to add its edit.",
        code="stream_by_hand = 4",
    ),
    Mistake(
        "That is only the last edit. It is added to what was there.",
        code="stream_by_hand = -2",
    ),
    Mistake(
        "The minus of f₃ is lost. It reads 4 and gives −2.",
        code="stream_by_hand = 6",
    ),
)
