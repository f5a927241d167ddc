"""What a large model does with the tokens of a small one."""

from typing import Any

import torch
from torch import Tensor

from ...exercise import Case, Mistake

PARTS = ("verify",)

START = '''
def verify(p, q, drafted, darts):  # (n + 1, V), (n, V), (n,), (n,)
    """How many drafts stay, and what the token after them is drawn from."""
    ...  # the first draft that is rejected: what does the next token come from?
    ...  # if all stay
'''

SOLUTION = '''
def verify(p, q, drafted, darts):  # (n + 1, V), (n, V), (n,), (n,)
    """How many drafts stay, and what the token after them is drawn from."""
    for i, token in enumerate(drafted.tolist()):
        if darts[i] * q[i, token] >= p[i, token]:  # rejected
            rest = (p[i] - q[i]).clamp(min=0)
            return i, rest / rest.sum()
    return len(drafted), p[-1]
'''

MISTAKES = (
    Mistake(
        "After a rejection the next token is drawn from p itself. The tokens that the draft "
        "proposes often would then come too often: they get p once more on top of what was "
        "accepted. Draw from max(p − q, 0), divided by its sum.",
        ("(p[i] - q[i]).clamp(min=0)", "p[i]"),
    ),
    Mistake(
        "The difference is turned around. What the draft proposes too rarely has to be added, and "
        "that is where p is above q.",
        ("(p[i] - q[i])", "(q[i] - p[i])"),
    ),
    Mistake(
        "The absolute difference also adds to tokens that the draft proposes too often. Where p is "
        "below q, nothing is missing.",
        ("(p[i] - q[i]).clamp(min=0)", "(p[i] - q[i]).abs()"),
    ),
    Mistake(
        "What is left after a rejection does not add up to 1. Divide it by its sum.",
        ("rest / rest.sum()", "rest"),
    ),
    Mistake(
        "Only the rejected token is taken out of p. Every token that q gives too much must get "
        "less: max(p − q, 0).",
        (
            "(p[i] - q[i]).clamp(min=0)",
            "p[i].masked_fill(torch.arange(p.size(1)) == token, 0)",
        ),
    ),
    Mistake(
        "A draft is rejected whenever p is below q. It must stay with the probability p / q, or "
        "the tokens that the draft likes too much would never be written.",
        ("darts[i] * q[i, token] >= p[i, token]", "q[i, token] > p[i, token]"),
    ),
    Mistake(
        "Accepted and rejected are exchanged: a dart below p / q accepts.",
        (">= p[i, token]", "< p[i, token]"),
    ),
    Mistake(
        "The ratio is upside down. A draft stays with the probability p / q.",
        ("darts[i] * q[i, token] >= p[i, token]", "darts[i] * p[i, token] >= q[i, token]"),
    ),
    Mistake(
        "The dart is compared with p. A draft was proposed with the probability q, so that q · "
        "(p / q) = p is right, and q · p is too little.",
        ("darts[i] * q[i, token] >= p[i, token]", "darts[i] >= p[i, token]"),
    ),
    Mistake(
        "If all drafts stay, the large model adds a token of its own. It comes from p's last row, "
        "which follows the last draft.",
        ("p[-1]", "p[-2]"),
    ),
    Mistake(
        "The drafts after a rejected one are tried as well. They continue a text that does not "
        "exist: stop at the first rejection.",
        code="""
def verify(p, q, drafted, darts):
    kept, after = 0, p[-1]
    for i, token in enumerate(drafted.tolist()):
        if darts[i] * q[i, token] < p[i, token]:
            kept += 1
        else:
            rest = (p[i] - q[i]).clamp(min=0)
            after = rest / rest.sum()
    return kept, after
""",
    ),
    Mistake(
        "After a rejection the token stands in place of the draft, so it comes from p's row i, not the next.",
        ("(p[i] - q[i]).clamp(min=0)", "p[i + 1]"),
    ),
    Mistake(
        "A softmax gives every token something. Divide by the sum.",
        ("rest / rest.sum()", "rest.softmax(dim=-1)"),
    ),
    Mistake(
        "All rows of p are returned. The next token comes from the last one.",
        ("len(drafted), p[-1]", "len(drafted), p"),
    ),
    Mistake(
        "The dart is compared with q. A draft stays with the probability p / q.",
        ("darts[i] * q[i, token] >= p[i, token]", "darts[i] >= q[i, token]"),
    ),
    Mistake(
        "You return after the first draft, also if it is accepted. Go on to the next one.",
        code="""
def verify(p, q, drafted, darts):
    for i, token in enumerate(drafted.tolist()):
        if darts[i] * q[i, token] < p[i, token]:
            return i, p[i]
        rest = (p[i] - q[i]).clamp(min=0)
        return i, rest / rest.sum()
    return len(drafted), p[-1]
""",
    ),
    Mistake(
        "All rows of p are used for one position. Subtract row i of q from row i of p.",
        ("(p[i] - q[i])", "(p - q[i])"),
    ),
    Mistake(
        "A dart is compared the wrong way round: 1 − dart is as random as dart, but the draft stays where dart < p / q.",
        ("darts[i] * q", "(1 - darts[i]) * q"),
    ),
    Mistake(
        "After a rejection the probabilities are returned, from which the token is drawn, not the likeliest token.",
        ("rest / rest.sum()", "rest.argmax()"),
    ),
)


def use(mine: Any, *given: Tensor) -> Any:
    found = mine.verify(*given)
    if not isinstance(found, tuple) or len(found) != 2:
        return found
    kept, rest = found
    return [int(kept) if isinstance(kept, (int, Tensor)) else kept, rest]


def right(p: Tensor, q: Tensor, drafted: Tensor, darts: Tensor) -> list[Any]:
    rows = torch.arange(len(drafted))
    stays = darts < p[rows, drafted] / q[rows, drafted]
    kept = int(stays.long().cumprod(0).sum())
    if kept == len(drafted):
        return [kept, p[kept]]
    missing = torch.relu(p[kept] - q[kept])
    return [kept, missing / missing.sum()]


def cases() -> list[Case]:
    p = torch.tensor([[0.7, 0.3], [0.2, 0.8]])
    q = torch.tensor([[0.4, 0.6]])
    generator = torch.Generator().manual_seed(25)
    large = torch.randn(5, 7, generator=generator).softmax(dim=-1)
    small = (large[:4].log() + torch.randn(4, 7, generator=generator)).softmax(dim=-1)
    likely = (large[:4] / small).argmax(dim=-1)  # accepted whatever the dart
    unlikely = (large[:4] / small).argmin(dim=-1)
    mixed = torch.stack([likely[0], likely[1], unlikely[2], likely[3]])
    last = torch.stack([likely[0], likely[1], likely[2], unlikely[3]])
    rising = torch.tensor([0.0, 0.1, 0.2, 0.99])  # each draft has a dart of its own
    one = torch.tensor([1])
    return [
        Case("the chapter's two tokens, token 1, dart 0.4", (p, q, one, torch.tensor([0.4]))),
        Case("the same, dart 0.6", (p, q, one, torch.tensor([0.6]))),
        Case("four drafts that stay", (large, small, likely, torch.full((4,), 0.9))),
        Case("the third of four is rejected", (large, small, mixed, torch.full((4,), 0.95))),
        Case("three drafts that stay, then one that does not", (large, small, last, rising)),
        Case("unlikely drafts, low darts", (large, small, unlikely, torch.full((4,), 0.01))),
    ]
