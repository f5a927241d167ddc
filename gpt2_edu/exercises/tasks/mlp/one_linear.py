"""Two linear layers are one."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake

ORDER = 30
KIND = "repair"
LEVEL = 2
RANK = "extra"
MINUTES = 10

TASK = r"""
Without a nonlinearity between them, two linear layers do the work of one. The function below takes the matrices and biases of both and should return the single matrix and bias that do the same. All matrices are stored as (out, in), as in `nn.Linear`. One line is wrong. Find it and fix it.

`w1` is (F, C), `b1` is (F,), `w2` is (O, F), `b2` is (O,). The result is a pair of a matrix (O, C) and a bias (O,).

For example, with

$$W_1 = \begin{pmatrix} 1 & 2 \\ 0 & 1 \end{pmatrix},\quad b_1 = (1, -1),\quad W_2 = \begin{pmatrix} 1 & 0 \\ 1 & 1 \end{pmatrix},\quad b_2 = (0, 3)$$

the token (0, 0) becomes (1, −1) in the first layer and (1, 3) in the second. So the single bias is (1, 3).
"""

HINTS = (
    "What do both layers return for a token of zeros? There the matrix W does not matter, only the bias.",
    "The first bias goes through the second layer, like everything that leaves the first.",
    "$W_2(W_1 x + b_1) + b_2 = W_2 W_1\\, x + (W_2\\, b_1 + b_2)$.",
)

START = '''
def one_linear(w1, b1, w2, b2):
    """w1 (F, C), b1 (F,), w2 (O, F), b2 (O,). Returns (O, C) and (O,)."""
    raise NotImplementedError("find the bug, fix it, delete this line")
    w = w2 @ w1
    b = b1 + b2
    return w, b
'''

SOLUTION = """
def one_linear(w1, b1, w2, b2):
    w = w2 @ w1
    b = w2 @ b1 + b2  # the first bias passes through the second layer
    return w, b
"""

MISTAKES = (
    Mistake(
        "The bug is still there. b1 is added as it is, but it passes through the second layer first.",
        ("w2 @ b1", "b1"),
    ),
    Mistake(
        "Now the second bias is lost. Add b2 at the end.",
        ("b1 + b2", "b1"),
    ),
    Mistake(
        "The order was right before. The first layer is on the right, beside x, so it is w2 @ w1.",
        ("w, b", "w1 @ w2, b"),
    ),
    Mistake(
        "The numbers are right but the layout is not. This matrix is (in, out), and `nn.Linear` "
        "stores (out, in).",
        ("w2 @ w1", "w1.T @ w2.T"),
    ),
    Mistake(
        "It is the first bias that is multiplied by the second matrix, not the second bias.",
        ("w, b", "w, b1 + w2 @ b2"),
    ),
    Mistake(
        "Now the first bias is lost. It passes through the second layer: `w2 @ b1 + b2`.",
        ("w2 @ b1 + b2", "b2"),
    ),
    Mistake(
        "The matrix comes first, and the vector on its right: `w2 @ b1`. A row of w2 belongs to an output.",
        ("w2 @ b1", "b1 @ w2"),
    ),
    Mistake(
        "Only b1 passes through the second layer. b2 is added behind it: `w2 @ b1 + b2`.",
        ("w2 @ b1 + b2", "w2 @ (b1 + b2)"),
    ),
    Mistake(
        "The matrices were in the right order before, `w2 @ w1`. It is the other line that is wrong.",
        ("w2 @ w1", "w1 @ w2"),
        ("w2 @ b1", "b1"),
    ),
    Mistake(
        "`*` multiplies entry by entry, and nothing is added up. A matrix times a vector is `w2 @ b1`.",
        ("w2 @ b1", "w2 * b1"),
    ),
    Mistake(
        "b1 passes through the second layer alone, `w2 @ b1`. The product of both matrices is for x.",
        ("w2 @ b1", "w @ b1"),
    ),
    Mistake(
        "It is the second matrix that b1 passes through, not the first: `w2 @ b1`.",
        ("w2 @ b1", "w1 @ b1"),
    ),
    Mistake(
        "w2 is stored as (out, in) already, so it is not transposed here: `w2 @ b1`.",
        ("w2 @ b1", "w2.T @ b1"),
    ),
    Mistake(
        "Both are right, but in the wrong order. The matrix comes first.",
        ("return w, b", "return b, w"),
    ),
    Mistake(
        "The first bias is added after the first matrix, so only the second one acts on it: `w2 @ b1`.",
        ("w2 @ b1", "b1 @ w1"),
    ),
)


def right(w1, b1, w2, b2):
    # What the two layers do with a token of zeros is the bias; the rest, by each axis, the matrix.
    def both(x):
        return F.linear(F.linear(x, w1, b1), w2, b2)

    C = w1.size(1)
    b = both(torch.zeros(C))
    return (both(torch.eye(C)) - b).T, b


def cases():
    generator = torch.Generator().manual_seed(7)

    def draw(*shape):
        return torch.randn(*shape, generator=generator)

    hand = (
        torch.tensor([[1.0, 2.0], [0.0, 1.0]]),
        torch.tensor([1.0, -1.0]),
        torch.tensor([[1.0, 0.0], [1.0, 1.0]]),
        torch.tensor([0.0, 3.0]),
    )
    return [
        Case("the example by hand", hand),
        Case("C = 3, F = 7, O = 5", (draw(7, 3), draw(7), draw(5, 7), draw(5))),
        Case("wide, then down to one number", (draw(8, 2), draw(8), draw(1, 8), draw(1))),
        Case("no biases", (draw(7, 3), torch.zeros(7), draw(5, 7), torch.zeros(5))),
    ]
