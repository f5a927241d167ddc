"""A tie that holds in training."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake

ORDER = 60
KIND = "repair"
LEVEL = 3
RANK = "extra"
MINUTES = 12

TASK = r"""
In the smallest language model there is, a token is looked up in `wte`, and `lm_head` scores the next token with the vector found there. The two tables should be tied. The function builds the model from one table, moves it to float64, takes one training step and returns both tables.

They come back different, because its author checked only that the two were equal *before* the step. The chapter's fold *tied, copied, shared* shows one way to tie and two that fail. Fix the tie, so that both names refer to one tensor and both roles train it. Its gradient is then the sum of the gradients that two separate tables would receive.

`table` is (V, C), `idx` and `targets` are (B, T). The function returns two tensors (V, C) in float64.
"""

HINTS = (
    "Equal numbers are not the same tensor. Which line makes a second one?",
    "Put the same object in both places before the model computes its logits.",
)

START = '''
def tied_step(table, idx, targets):
    """table (V, C); idx, targets (B, T). Returns wte and lm_head."""
    raise NotImplementedError("find the bug, fix it, delete this line")
    V, C = table.shape
    wte, lm_head = nn.Embedding(V, C), nn.Linear(C, V, bias=False)
    wte.weight = nn.Parameter(table.clone())
    lm_head.weight = nn.Parameter(table.clone())
    model = nn.Sequential(wte, lm_head).double()
    logits = model(idx)  # (B, T) → (B, T, V)
    F.cross_entropy(logits.flatten(0, 1), targets.flatten()).backward()
    torch.optim.SGD(model.parameters(), lr=0.5).step()
    return wte.weight, lm_head.weight
'''

SOLUTION = """
def tied_step(table, idx, targets):
    V, C = table.shape
    wte, lm_head = nn.Embedding(V, C), nn.Linear(C, V, bias=False)
    wte.weight = nn.Parameter(table.clone())
    lm_head.weight = wte.weight  # the same object: `is`, not only equal
    model = nn.Sequential(wte, lm_head).double()
    logits = model(idx)  # (B, T) → (B, T, V)
    F.cross_entropy(logits.flatten(0, 1), targets.flatten()).backward()
    torch.optim.SGD(model.parameters(), lr=0.5).step()
    return wte.weight, lm_head.weight
"""

MISTAKES = (
    Mistake(
        "These are still two tensors, and they drift apart in the first step. A copy has its own memory at once, one made with `.data` after the move to float64. Put the same object in both places: `lm_head.weight = wte.weight`.",
        ("= wte.weight", "= nn.Parameter(table.clone())"),
    ),
    Mistake(
        "You return one table, but in the step only the look-up trained it. The head's gradient went to another tensor, which was thrown away. Tie the two before the step.",
        ("= wte.weight  #", "= nn.Parameter(table.clone())  #"),
        (
            "    return wte.weight, lm_head.weight",
            "    lm_head.weight = wte.weight\n    return wte.weight, lm_head.weight",
        ),
    ),
    Mistake(
        "You return one table, but in the step only the head trained it. The look-up's gradient went to another tensor, which was thrown away. Tie the two before the step.",
        ("= wte.weight  #", "= nn.Parameter(table.clone())  #"),
        (
            "    return wte.weight, lm_head.weight",
            "    wte.weight = lm_head.weight\n    return wte.weight, lm_head.weight",
        ),
    ),
    Mistake(
        "Nothing needs to be transposed here. An embedding keeps (V, C), and a linear layer from C to V keeps (out, in), which is (V, C) too.",
        ("= wte.weight", "= nn.Parameter(wte.weight.T)"),
    ),
    Mistake(
        "The head got a copy that does not learn. One table has two roles, and both train it.",
        ("= wte.weight", "= nn.Parameter(table.clone(), requires_grad=False)"),
    ),
    Mistake(
        "A module's weight must be an `nn.Parameter`, which `.clone()` and `.data` are not. And no copy is tied: put the same object in both places, `lm_head.weight = wte.weight`.",
        ("= wte.weight", "= wte.weight.clone()"),
    ),
    Mistake(
        "You tied the modules, so that the head is a second look-up. They keep their two roles and share the table: `lm_head.weight = wte.weight`.",
        ("lm_head.weight = wte.weight", "lm_head = wte"),
    ),
)


def right(table, idx, targets):
    both = table.double().requires_grad_()
    logits = F.embedding(idx, both) @ both.T
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    (gradient,) = torch.autograd.grad(loss, both)
    after = (both - 0.5 * gradient).detach()
    return after, after


def cases():
    generator = torch.Generator().manual_seed(11)
    plane = torch.tensor([[0.8, 0.2], [0.2, 0.8], [0.1, 0.1]])
    table = torch.randn(7, 4, generator=generator)
    ids = torch.randint(7, (3, 6), generator=generator)
    return [
        Case("fish, and then the full stop", (plane, torch.tensor([[0]]), torch.tensor([[2]]))),
        Case("three texts, random numbers", (table, ids[:, :-1], ids[:, 1:])),
        Case("a token that follows itself", (table, ids[:1, :1], ids[:1, :1])),
    ]
