"""Which rows learn, and how much."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake
from ...refusing import refusing

ORDER = 60
KIND = "stretch"
LEVEL = 3
RANK = "extra"
MINUTES = 15

TASK = """
A look-up copies row `i` of the table to every position that has the id `i`. So the gradient of the row is the **sum** of the gradients at all those positions, and zero if there is none.

Write `embedding_gradient(idx, grad, V)`. `idx` (B, T) holds the ids, `grad` (B, T, C) is the gradient of the result of the look-up, and `V` is the number of rows. Return the gradient of the table, (V, C), without calling `backward`.

With `idx = [[2, 0, 2]]`, `grad = [[[1, 1], [5, 0], [10, 3]]]` and `V = 4` the result is `[[5, 0], [0, 0], [11, 4], [0, 0]]`, because id 2 occurs twice and its row gets (1, 1) + (10, 3).
"""

HINTS = (
    "Flatten first. `idx.flatten()` is (B·T,), and `grad.flatten(0, 1)` is (B·T, C). What remains is a sum over positions for each id.",
    "Think of the look-up as a product. With one-hot rows `(B·T, V)`, entry (position, i) says whether the position belongs to row i.",
    "Transposed, the one-hot rows collect what belongs together: (V, B·T) @ (B·T, C). The entries must be floats.",
)

START = '''
def embedding_gradient(idx, grad, V):
    """idx (B, T) of ids below V; grad (B, T, C). Returns (V, C)."""
    ...
'''

SOLUTION = """
def embedding_gradient(idx, grad, V):
    one_hot = F.one_hot(idx.flatten(), V).to(grad.dtype)  # (B·T, V)
    # each row of the table collects what came from its own places
    return one_hot.T @ grad.flatten(0, 1)  # (V, B·T) @ (B·T, C)
"""

MISTAKES = (
    Mistake(
        "A token that occurs twice gets only its last gradient. Assigning by index overwrites, but the gradients must be added up.",
        code="""
def embedding_gradient(idx, grad, V):
    table = torch.zeros(V, grad.size(-1))
    for i, row in zip(idx.flatten().tolist(), grad.flatten(0, 1)):
        table[i] = row
    return table
""",
    ),
    Mistake(
        "You took the mean over the positions of a token. Gradients of several uses add up.",
        (
            "one_hot.T @ grad.flatten(0, 1)",
            "one_hot.T @ grad.flatten(0, 1) / one_hot.sum(0).clamp(min=1).unsqueeze(1)",
        ),
    ),
    Mistake(
        "Only the first text is used here. Rows learn from all texts of the batch.",
        ("idx.flatten()", "idx[0]"),
        ("grad.flatten(0, 1)", "grad[0]"),
    ),
    Mistake(
        "You return a table of gradients for each text. They all belong to one table, so sum over the batch too.",
        ("idx.flatten()", "idx"),
        ("T @ grad.flatten(0, 1)", "transpose(1, 2) @ grad"),
    ),
    Mistake(
        "The rows are in the order in which the ids came. Row i of the result belongs to id i.",
        code="""
def embedding_gradient(idx, grad, V):
    table = torch.zeros(V, grad.size(-1))
    order = list(dict.fromkeys(idx.flatten().tolist()))
    for i, row in zip(idx.flatten().tolist(), grad.flatten(0, 1)):
        table[order.index(i)] += row
    return table
""",
    ),
    Mistake(
        "The one-hot rows are whole numbers, and `@` needs two tensors of one type. Turn them into floats: `.to(grad.dtype)`.",
        (".to(grad.dtype)", ""),
    ),
    Mistake(
        "You took the mean over the texts. Gradients of several uses add up.",
        ("@ grad.flatten(0, 1)", "@ grad.flatten(0, 1) / len(idx)"),
    ),
    Mistake(
        "You let `backward` do it. Write the sum over the positions of each id yourself.",
        code="""def embedding_gradient(idx, grad, V):
    table = torch.zeros(V, grad.size(-1), requires_grad=True)
    F.embedding(idx, table).backward(grad)
    return table.grad
""",
    ),
    Mistake(
        "The one-hot rows must be transposed, so that each id collects its positions: (V, B·T) @ (B·T, C).",
        ("one_hot.T @", "one_hot @"),
    ),
    Mistake(
        "You divided by the number of positions. Gradients of several uses add up.",
        ("@ grad.flatten(0, 1)", "@ grad.flatten(0, 1) / idx.numel()"),
    ),
    Mistake(
        "The table has V rows, whatever ids occur: `F.one_hot(…, V)`.",
        ("idx.flatten(), V)", "idx.flatten())"),
    ),
)


def right(idx, grad, V):
    table = torch.zeros(V, grad.size(-1), requires_grad=True)
    idx, grad = (given.as_subclass(torch.Tensor) for given in (idx, grad))
    (result,) = torch.autograd.grad(F.embedding(idx, table), table, grad)
    return result


def cases():
    generator = torch.Generator().manual_seed(6)
    tiny = torch.tensor([[[1.0, 1.0], [5.0, 0.0], [10.0, 3.0]]])
    idx = torch.randint(7, (3, 5), generator=generator)
    grad = torch.randn(3, 5, 2, generator=generator)
    alone = torch.randn(1, 1, 3, generator=generator)
    same = torch.randn(2, 4, 3, generator=generator)
    return [
        Case("one text, an id that occurs twice", (torch.tensor([[2, 0, 2]]), tiny, 4)),
        Case("three texts, random ids", (idx, grad, 7)),
        Case("a single token", (torch.tensor([[5]]), alone, 6)),
        Case("the same token everywhere", (torch.full((2, 4), 1), same, 3)),
        Case("without `backward`", (*refusing("backward", torch.tensor([[2, 0, 2]]), tiny), 4)),
    ]
