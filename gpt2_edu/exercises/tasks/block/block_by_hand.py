"""One token through a block, by hand."""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "good"
MINUTES = 6

TASK = r"""
A stream of width C = 2 with a single token, $x = (1, 3)$, goes through one block of GPT-2. To make this easy by hand, let its parts be these:

- LayerNorm without ε, with γ = 1 and β = 0. It turns two different numbers into −1 (the smaller) and 1 (the larger), so LN(1, 3) = (−1, 1).
- `attn` swaps the two numbers and multiplies them by 3: $(a, b) \to (3b, 3a)$.
- `mlp` multiplies both by −2: $(a, b) \to (-2a, -2b)$.

What leaves the block? Write the two numbers as a list.
"""

HINTS = (
    "There are two lines, $x \\leftarrow x + \\mathrm{attn}(\\mathrm{LN}(x))$ and then $x \\leftarrow x + \\mathrm{mlp}(\\mathrm{LN}(x))$. The second begins with the x from the first.",
    "In the first line, attn(−1, 1) = (3, −3). What is the stream after the addition?",
    "After the first line the stream is (4, 0), and its LayerNorm is (1, −1).",
)

START = "block_by_hand = ..."

SOLUTION = """
# x + attn(LN(x)) = (1, 3) + attn(-1, 1) = (1, 3) + (3, -3) = (4, 0)
# x + mlp(LN(x))  = (4, 0) + mlp(1, -1)  = (4, 0) + (-2, 2) = (2, 2)
block_by_hand = [2, 2]
"""

right = [2, 2]

MISTAKES = (
    Mistake(
        "This comes out if both parts read the same x, or if the minus of −2 is lost. The second line reads the result of the first, (4, 0).",
        code="block_by_hand = [6, -2]",
    ),
    Mistake(
        "This is only what the MLP adds. The stream goes past the part and is kept.",
        code="block_by_hand = [-2, 2]",
    ),
    Mistake(
        "Here the stream itself is normalised, before or after the addition. GPT-2 normalises only what a part reads.",
        code="block_by_hand = [-1, 1]",
    ),
    Mistake(
        "Here the parts read the stream as it is. Each of them has a LayerNorm before it.",
        code="block_by_hand = [-10, -6]",
    ),
    Mistake(
        "The MLP's result is added to the x from before attention. Add it to the stream after attention, (4, 0).",
        code="block_by_hand = [-1, 5]",
    ),
    Mistake(
        "This is the stream between the two lines. The MLP is still to come.",
        code="block_by_hand = [4, 0]",
    ),
    Mistake(
        "Here the MLP reads the stream as it is. It reads the LayerNorm of (4, 0), which is (1, −1).",
        code="block_by_hand = [-4, 0]",
    ),
    Mistake(
        "Here attention reads the stream as it is. It reads the LayerNorm of (1, 3), which is (−1, 1).",
        code="block_by_hand = [8, 8]",
    ),
    Mistake(
        "Here attention multiplies by 3 but does not swap. It turns (−1, 1) into (3, −3).",
        code="block_by_hand = [0, 4]",
    ),
)
