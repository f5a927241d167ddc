"""A top-p that cuts too much."""

import torch

from gpt2_edu import sampling

from ...exercise import Case, Mistake

ORDER = 30
KIND = "repair"
LEVEL = 2
RANK = "good"
MINUTES = 10

TASK = r"""
This top-p should keep the fewest tokens whose probabilities sum to at least `p`, and scale them up to sum to 1. It keeps too few. With probabilities (0.5, 0.3, 0.2) and p = 0.6 it should keep two tokens, (0.625, 0.375, 0), but it keeps only the first. With p = 0.4 it even gives NaN. Fix it.
"""

HINTS = (
    "Which sum decides whether a token stays, the one with this token in it or the one without?",
    "The token that crosses the line must stay. So ask what was reached *before* it.",
    "`before = descending.cumsum(dim=-1) - descending`; a token goes where `before >= p`.",
)

START = '''
def nucleus(probs, p):
    """probs (B, V), p in (0, 1]. Returns probabilities (B, V)."""
    raise NotImplementedError("find the bug, fix it, delete this line")
    descending, order = probs.sort(dim=-1, descending=True)
    reached = descending.cumsum(dim=-1)
    kept = descending.masked_fill(reached >= p, 0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, order, kept)
'''

SOLUTION = """
def nucleus(probs, p):
    descending, order = probs.sort(dim=-1, descending=True)
    # Reached before this token: the one that crosses the line stays.
    before = descending.cumsum(dim=-1) - descending
    kept = descending.masked_fill(before >= p, 0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, order, kept)
"""

MISTAKES = (
    Mistake(
        "The bug is still there: the token that crosses p is dropped, and if the first one crosses it, nothing is left. Ask what was reached before a token.",
        ("before >= p", "before + descending >= p"),
    ),
    Mistake(
        "Always keeping the likeliest token only cures the NaN. The token that crosses p is still dropped, so the kept ones sum to less than p.",
        (
            "    kept = descending.masked_fill(before >= p, 0)",
            """\
    gone = before + descending >= p
    gone[:, 0] = False
    kept = descending.masked_fill(gone, 0)""",
        ),
    ),
    Mistake(
        "The right tokens are kept, but not scaled up. Divide by their sum, so that each row sums to 1 again.",
        ("    kept = kept / kept.sum(dim=-1, keepdim=True)\n", ""),
    ),
    Mistake(
        "The result is in descending order, so tokens have each other's probabilities. `scatter` with `order` puts every probability back in its place.",
        ("torch.zeros_like(probs).scatter(-1, order, kept)", "kept"),
    ),
    Mistake(
        "`gather` reads from the indices in `order`, but the sorted probabilities must be *written* back to them. That is `scatter`.",
        ("torch.zeros_like(probs).scatter(-1, order, kept)", "kept.gather(-1, order)"),
    ),
    Mistake(
        "The comparison is reversed, so this keeps the tail and throws the likely tokens away. A token goes where p was reached before it.",
        ("before >= p", "before + descending < p"),
    ),
    Mistake(
        "One token too many stays where p is reached exactly. The sum should be *at least* p, so a token goes if p was reached before it. Use `>=`, not `>`.",
        ("before >= p", "before > p"),
    ),
    Mistake(
        "`>` instead of `>=` changes only what happens where p is met exactly. The sum still includes the token itself, so the one that crosses p goes. Ask what was reached *before* it.",
        ("before >= p", "before + descending > p"),
    ),
    Mistake(
        "All rows are divided by one sum. Each row has its own, `kept.sum(dim=-1, keepdim=True)`.",
        ("kept.sum(dim=-1, keepdim=True)", "kept.sum()"),
    ),
    Mistake(
        "A softmax gives the dropped tokens a share again, because a probability of 0 is an ordinary number to it. Divide by the sum.",
        ("kept / kept.sum(dim=-1, keepdim=True)", "kept.softmax(dim=-1)"),
    ),
    Mistake(
        "The tokens are sorted from the unlikeliest. The likeliest must come first, `descending=True`.",
        ("descending=True", "descending=False"),
    ),
    Mistake(
        "The probabilities are put back in the order of the first text, and read where they should be written. Use `scatter` with the `order` of each row.",
        ("torch.zeros_like(probs).scatter(-1, order, kept)", "kept[:, order[0]]"),
    ),
    Mistake(
        "The sum runs over the texts of the batch, not over the tokens of a row. Use `cumsum(dim=-1)`.",
        ("cumsum(dim=-1)", "cumsum(dim=0)"),
    ),
    Mistake(
        "You keep one token too many. A token stays if the likelier ones hold less than p together: `cumsum` less its own share.",
        (
            "descending.cumsum(dim=-1) - descending",
            "F.pad(descending.cumsum(dim=-1), (2, 0))[:, :-2]",
        ),
    ),
)


def right(probs, p):
    return sampling.next_probabilities(probs.log(), top_p=p)


def cases():
    generator = torch.Generator().manual_seed(14)
    three = torch.tensor([[0.5, 0.3, 0.2]])
    probs = torch.randn(3, 11, generator=generator).softmax(dim=-1)
    return [
        Case("the example, p = 0.6", (three, 0.6)),
        Case("the likeliest is enough on its own", (three, 0.4)),
        Case("the same in another order", (three[:, [2, 0, 1]], 0.6)),
        Case("p is reached exactly by the first", (torch.tensor([[0.5, 0.25, 0.25]]), 0.5)),
        Case("random numbers", (probs, 0.83)),
        Case("p = 1 keeps all", (probs, 1.0)),
    ]
