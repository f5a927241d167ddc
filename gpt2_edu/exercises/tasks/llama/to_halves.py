"""From neighbours to halves."""

import torch

from ...exercise import Case, Mistake

ORDER = 40
KIND = "write"
LEVEL = 3
RANK = "good"
MINUTES = 12

TASK = r"""
In Meta's files, pair i of a head is made of its neighbouring columns 2i and 2i + 1. Code that pairs column i with column i + D/2 needs the same columns in another order, first those with an even number and then those with an odd number, in each head by itself. The order is that of the *rows* of `q_proj` and `k_proj`.

`weight` is (H · D, C), head after head. Return it with its rows in the new order. `n_head` is H for `q_proj`, and the number of key heads for `k_proj`.

For one head with D = 4, the rows 0, 1, 2, 3 become 0, 2, 1, 3.
"""

HINTS = (
    "Split the rows into three axes: the head, the pair, and which of the two it is.",
    "`weight.view(n_head, D // 2, 2, -1)` has these axes, followed by C. Two of them have to be swapped.",
    "`transpose(1, 2)` puts “which of the two” before the pair. Then `reshape` to the old shape.",
)

START = '''
def to_halves(weight, n_head):
    """weight (H · D, C). Returns (H · D, C)."""
    ...
'''

SOLUTION = """
def to_halves(weight, n_head):
    D = weight.size(0) // n_head
    pairs = weight.view(n_head, D // 2, 2, -1)  # head, pair, which of the two, C
    return pairs.transpose(1, 2).reshape(weight.shape)
"""

MISTAKES = (
    Mistake(
        "The heads get mixed up. Even rows come first within each head, not in the whole matrix.",
        ("weight.view(n_head, D // 2, 2, -1)", "weight.view(1, n_head * D // 2, 2, -1)"),
    ),
    Mistake(
        "That is the way back, from halves to neighbours. Split D into (D/2, 2): the neighbours are side by side in the file.",
        ("D // 2, 2, -1", "2, D // 2, -1"),
    ),
    Mistake(
        "Nothing has moved. Without `transpose`, `reshape` undoes what `view` did.",
        ("pairs.transpose(1, 2)", "pairs"),
    ),
    Mistake(
        "You reorder the columns of the weight, which read the token's vector. The columns of q are *rows* of its weight.",
        (
            "pairs = weight.view(n_head, D // 2, 2, -1)  # head, pair, which of the two, C\n"
            "    return pairs.transpose(1, 2).reshape(weight.shape)",
            "pairs = weight.view(weight.size(0), -1, 2)\n"
            "    return pairs.transpose(1, 2).reshape(weight.shape)",
        ),
    ),
    Mistake(
        "The odd rows come first here. Pair i turns (even, odd), so the even rows are the first half.",
        ("pairs.transpose(1, 2)", "pairs.flip(2).transpose(1, 2)"),
    ),
    Mistake(
        "You swap the heads with the pairs. The heads stay where they are, so swap axes 1 and 2.",
        ("transpose(1, 2)", "transpose(0, 1)"),
    ),
    Mistake(
        "`view` refuses after a transpose, because the rows are no longer in order in memory. Write `reshape`.",
        ("reshape(weight.shape)", "view(weight.shape)"),
    ),
    Mistake(
        "The result keeps its four axes. Bring it back to (H · D, C) with `reshape(weight.shape)`.",
        (".reshape(weight.shape)", ""),
    ),
    Mistake(
        "D is the number of rows divided by the number of heads, and not `n_head` itself.",
        ("D = weight.size(0) // n_head", "D = n_head"),
        ("weight.view(n_head,", "weight.view(-1,"),
    ),
    Mistake(
        "`transpose(2, 3)` swaps “which of the two” with the columns C. Swap it with the pairs, axes 1 and 2.",
        ("transpose(1, 2)", "transpose(2, 3)"),
    ),
    Mistake(
        "The rows are split into D groups of H. They are head after head, so H comes first.",
        (
            "weight.view(n_head, D // 2, 2, -1)  # head, pair, which of the two, C\n    return pairs.transpose(1, 2).reshape(weight.shape)",
            "weight.view(D, n_head, -1)\n    return torch.cat([pairs[::2], pairs[1::2]]).reshape(weight.shape)",
        ),
    ),
    Mistake(
        "Even and odd *heads* are separated here. Within each head, take the even and the odd rows.",
        (
            "weight.view(n_head, D // 2, 2, -1)  # head, pair, which of the two, C\n    return pairs.transpose(1, 2).reshape(weight.shape)",
            "weight.view(n_head, D, -1)\n    return torch.cat([pairs[::2], pairs[1::2]]).reshape(weight.shape)",
        ),
    ),
    Mistake(
        "The result keeps an axis for the heads. Bring it back to (H · D, C).",
        ("reshape(weight.shape)", "reshape(n_head, D, -1)"),
    ),
    Mistake(
        "Only the rows of one head are returned. Every head has its own D rows.",
        ("pairs.transpose(1, 2).reshape(weight.shape)", "pairs[0].transpose(0, 1).reshape(D, -1)"),
    ),
    Mistake(
        "The rows of the first head are repeated for all heads. Each head has its own.",
        ("pairs.transpose(1, 2)", "pairs[:1].expand_as(pairs).transpose(1, 2)"),
    ),
    Mistake(
        "D is the number of *rows* divided by the number of heads: `weight.size(0)`.",
        ("weight.size(0)", "weight.size(1)"),
    ),
    Mistake(
        "There are D/2 pairs in a head, not D.",
        ("n_head, D // 2, 2", "n_head, D, 2"),
    ),
    Mistake(
        "Head h begins at row h · D. Here it begins at row h, so the heads overlap.",
        code="""
def to_halves(weight, n_head):
    D = weight.size(0) // n_head
    out = []
    for h in range(n_head):
        head = weight[h : h + D]
        out += [head[0::2], head[1::2]]
    return torch.cat(out)
""",
    ),
    Mistake(
        "The second row of a pair belongs D/2 rows further down, not one: `h * D + D // 2 + i`.",
        code="""
def to_halves(weight, n_head):
    D = weight.size(0) // n_head
    out = torch.zeros_like(weight)
    for h in range(n_head):
        for i in range(D // 2):
            out[h * D + i] = weight[h * D + 2 * i]
            out[h * D + i + 1] = weight[h * D + 2 * i + 1]
    return out
""",
    ),
    Mistake(
        "`split(n)` makes pieces of n rows, so `n_head` is not what it takes. A head has D rows: `weight.split(D)`, or `weight.chunk(n_head)`.",
        code="""
def to_halves(weight, n_head):
    heads = [torch.cat([head[::2], head[1::2]]) for head in weight.split(n_head)]
    return torch.cat(heads)
""",
    ),
)


def right(weight, n_head):
    """By a list of rows."""
    D = weight.size(0) // n_head
    rows = [
        head * D + 2 * pair + which
        for head in range(n_head)
        for which in (0, 1)
        for pair in range(D // 2)
    ]
    return weight[rows]


def cases():
    generator = torch.Generator().manual_seed(20)

    def draw(rows, columns):
        return torch.randn(rows, columns, generator=generator)

    return [
        Case("one head, D = 4", (torch.arange(4.0).unsqueeze(1), 1)),
        Case("three heads, D = 6", (draw(18, 10), 3)),
        Case("two heads, D = 8", (draw(16, 12), 2)),
        Case("five heads, D = 4", (draw(20, 6), 5)),
    ]
