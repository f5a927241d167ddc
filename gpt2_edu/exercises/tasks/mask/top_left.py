"""Two queries, four keys, one flag."""

from ...exercise import Mistake

ORDER = 30
KIND = "explore"
LEVEL = 1
RANK = "extra"
MINUTES = 6

TASK = r"""
What does `is_causal=True` do when there are more keys than queries? Let all scores be equal, so that each query gives the same weight to every key that it may see. The values 10, 20, 30 and 40 of the keys 0 to 3 then show which keys these were. `q` (2, 3), `k` (4, 3) and `v` (4, 1) are in the cell.

Call `F.scaled_dot_product_attention` with them and the flag, and give its two results as a list of two numbers. Before you run it, guess. If the two queries are the *last* two tokens of the text, which keys should they see, and what should the results be?
"""

HINTS = (
    "A result of 25 is the mean of all four values, one of 15 the mean of the first two.",
    "`F.scaled_dot_product_attention(q, k, v, is_causal=True).flatten().tolist()`",
)

START = """
q, k = torch.zeros(2, 3), torch.zeros(4, 3)
v = torch.tensor([[10.0], [20.0], [30.0], [40.0]])
top_left = ...
"""

SOLUTION = """
q, k = torch.zeros(2, 3), torch.zeros(4, 3)
v = torch.tensor([[10.0], [20.0], [30.0], [40.0]])
out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
# query 0 sees key 0, query 1 sees the keys 0 and 1: the triangle is lined
# up at the top left. The last two tokens should have given [20.0, 25.0].
top_left = out.flatten().tolist()  # [10.0, 15.0]
"""

right = [10.0, 15.0]

MISTAKES = (
    Mistake(
        "That is what the last two tokens of a text should get, but not what the flag does. It aligns the triangle at the top left. Run the call.",
        code="top_left = [20.0, 25.0]",
    ),
    Mistake(
        "That is the result without the flag, where both queries see all four keys.",
        code="top_left = [25.0, 25.0]",
    ),
    Mistake(
        "A query sees its own key and all before it, so the second result is the mean of two values.",
        code="top_left = [10.0, 20.0]",
    ),
    Mistake(
        "The results are the means of the visible values, not their sums, because the weights of a row sum to 1.",
        code="top_left = [10.0, 30.0]",
    ),
    Mistake(
        "The two are in the wrong order. Query 0 comes first.",
        code="top_left = [15.0, 10.0]",
    ),
    Mistake(
        "These are the values of the last two keys. A query mixes all values that it sees: run the call.",
        code="top_left = [30.0, 40.0]",
    ),
)
