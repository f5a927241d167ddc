"""A loop that goes too far."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake

ORDER = 40
KIND = "repair"
LEVEL = 2
RANK = "good"
MINUTES = 8

TASK = r"""
The smallest language model is a table (V, V): row i holds the logits of what follows token i. This function trains it by plain steps downhill, on one batch of inputs and targets, both (B, T), and returns the new table. It runs, and for a single step it is right. With more steps it goes too far, because one line is missing.

Fix it. For V = 2, a table of zeros, the input 0 with the target 1, and lr = 1, the first row after two steps is (−0.769, 0.769), and not (−1.269, 1.269).
"""

HINTS = (
    "What does `backward` do with a gradient that is already there?",
    "It adds to it, so the second step follows the sum of two gradients.",
    "Set `table.grad = None` before each `backward`; that is what `zero_grad` does for all parameters.",
)

START = '''
def fit_table(table, inputs, targets, steps, lr):
    """table (V, V), inputs and targets (B, T). Returns the table after some steps."""
    raise NotImplementedError("find the bug, fix it, delete this line")
    table = table.clone().requires_grad_()
    for _ in range(steps):
        logits = table[inputs]  # (B, T, V)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        loss.backward()
        with torch.no_grad():
            table -= lr * table.grad
    return table.detach()
'''

SOLUTION = """
def fit_table(table, inputs, targets, steps, lr):
    table = table.clone().requires_grad_()
    for _ in range(steps):
        logits = table[inputs]  # (B, T, V)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        table.grad = None  # backward adds to what is there
        loss.backward()
        with torch.no_grad():
            table -= lr * table.grad
    return table.detach()
"""

MISTAKES = (
    Mistake(
        "The bug is still there. From the second step on, the gradients of earlier steps are added in. Clear them before each `backward`.",
        ("        table.grad = None  # backward adds to what is there\n", ""),
    ),
    Mistake(
        "Nothing is learned, because the gradient is cleared between `backward` and the step that needs it. Clear it before `backward`.",
        ("        table.grad = None  # backward adds to what is there\n", ""),
        ("loss.backward()\n", "loss.backward()\n        table.grad.zero_()\n"),
    ),
    Mistake(
        "The gradient is cleared, but now the step goes uphill. The loss rises along the gradient, so subtract it.",
        ("table -= lr", "table += lr"),
    ),
    Mistake(
        "You divide the learning rate by the number of the step. Leave the rate as it is and clear the gradient of the earlier steps.",
        ("        table.grad = None  # backward adds to what is there\n", ""),
        ("for _ in", "for step in"),
        ("lr * table.grad", "lr / (step + 1) * table.grad"),
    ),
    Mistake(
        "Only one step is taken, because the `return` is inside the loop.",
        ("    return table.detach()", "        return table.detach()"),
    ),
    Mistake(
        "A tensor has no `zero_grad`, and before the first `backward` its gradient is None, which has no `zero_`. Write `table.grad = None`.",
        ("table.grad = None", "table.grad.zero_()"),
    ),
    Mistake(
        "`table = …` makes a new tensor, which gets no gradient in the next step. Change the table in place, `table -= …`.",
        ("table -= lr * table.grad", "table = table - lr * table.grad"),
    ),
    Mistake(
        "You set the table itself to zero, so that what it has learned is lost. Clear its gradient: `table.grad = None`.",
        ("        table.grad = None  # backward adds to what is there\n", ""),
        ("table -= lr * table.grad", "table -= lr * table.grad\n            table.zero_()"),
    ),
    Mistake(
        "You divide the learning rate by the number of steps. Leave the rate as it is, and clear the gradient before each `backward`.",
        ("        table.grad = None  # backward adds to what is there\n", ""),
        ("lr * table.grad", "lr / steps * table.grad"),
    ),
    Mistake(
        "AdamW makes steps of another size. Each step here is plain: the learning rate times the gradient.",
        code="""
def fit_table(table, inputs, targets, steps, lr):
    table = nn.Parameter(table.clone())
    optimizer = torch.optim.AdamW([table], lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(table[inputs].flatten(0, 1), targets.flatten()).backward()
        optimizer.step()
    return table.detach()
""",
    ),
)


def right(table, inputs, targets, steps, lr):
    table = table.clone().requires_grad_()
    optimizer = torch.optim.SGD([table], lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(table[inputs].flatten(0, 1), targets.flatten()).backward()
        optimizer.step()
    return table.detach()


def cases():
    generator = torch.Generator().manual_seed(13)
    table = torch.randn(7, 7, generator=generator)
    ids = torch.randint(7, (2, 6), generator=generator)
    one, zero = torch.tensor([[1]]), torch.tensor([[0]])
    return [
        Case("one step", (torch.zeros(2, 2), zero, one, 1, 1.0)),
        Case("two steps", (torch.zeros(2, 2), zero, one, 2, 1.0)),
        Case("V = 7, five steps", (table, ids[:, :-1], ids[:, 1:], 5, 0.5)),
    ]
