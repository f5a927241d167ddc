"""An MLP by hand."""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "good"
MINUTES = 6

TASK = r"""
A small MLP has C = 2 and three units, and its nonlinearity is ReLU. The token is $(2, -1)$.

| unit | row of `c_fc` | bias | column of `c_proj` |
| --- | --- | --- | --- |
| 0 | (1, 1) | 0 | (1, 2) |
| 1 | (−1, 1) | 1 | (4, 3) |
| 2 | (1, −1) | −1 | (−1, 1) |

The bias of `c_proj` is $(-2, 0)$. Which two numbers does it return? Answer with a list, such as `[0, 0]`.
"""

HINTS = (
    "First compute the three dot products, each plus its bias. They are 1, −2 and another number.",
    "ReLU keeps what is positive and replaces the rest by 0. Unit 1 is silent, so its column adds nothing.",
    "Add the columns of units 0 and 2, each times its activation, and then the bias of `c_proj`.",
)

START = "mlp_by_hand = ..."

SOLUTION = """
# before ReLU: 1, -2, 2; after it: 1, 0, 2
# 1 · (1, 2) + 0 · (4, 3) + 2 · (-1, 1) + (-2, 0)
mlp_by_hand = [-3, 4]
"""

right = [-3, 4]

MISTAKES = (
    Mistake(
        "ReLU is left out. Unit 1 is at −2 and must be silent.",
        code="mlp_by_hand = [-11, -2]",
    ),
    Mistake(
        "The bias of `c_proj` is left out. Add (−2, 0) at the end.",
        code="mlp_by_hand = [-1, 4]",
    ),
    Mistake(
        "The biases of the units are left out. Add them before ReLU.",
        code="mlp_by_hand = [-4, 5]",
    ),
    Mistake(
        "You applied ReLU to the result as well. It comes between the two layers, and nothing "
        "follows `c_proj`.",
        code="mlp_by_hand = [0, 4]",
    ),
    Mistake(
        "ReLU does not drop the sign, it drops the number, so it turns −2 into 0 and not into 2.",
        code="mlp_by_hand = [5, 10]",
    ),
    Mistake(
        "These are the three activations. Multiply each by its unit's column of `c_proj`, add the columns, and then the bias.",
        code="mlp_by_hand = [1, 0, 2]",
    ),
    Mistake(
        "You added the columns as they are. Each counts as often as its unit's activation says: 1, 0 and 2.",
        code="mlp_by_hand = [-2, 3]",
    ),
    Mistake(
        "You added the columns as they are. Each counts as often as its unit's activation says: 1, 0 and 2.",
        code="mlp_by_hand = [2, 6]",
    ),
    Mistake(
        "These are the three numbers before ReLU. Replace what is negative by 0, then multiply each by its unit's column of `c_proj`.",
        code="mlp_by_hand = [1, -2, 2]",
    ),
)
