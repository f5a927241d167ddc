"""The log-probability of a whole story."""

import torch

from ...exercise import Case, Mistake

ORDER = 50
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 15

TASK = r"""
A batch of stories was drawn. Each row of `ids` (B, T + 1) begins with the id `end`, which starts every story, and the model's `logits` (B, T, V) at position t are for the token at t + 1. A story is finished by the next `end`. What comes after it in the row is filling, and counts for nothing.

Write `story_log_probs(logits, ids, end)`, which returns for each story the sum of ln p over its tokens. The `end` that finishes it belongs to it, because the model has drawn that as well. A story that has no second `end` counts as a whole.
"""

HINTS = (
    "The targets are `ids[:, 1:]`. `log_softmax` and then `gather(-1, targets.unsqueeze(-1))` give ln p of each.",
    "`(targets == end).cumsum(dim=1)` counts the ends up to and including each token.",
    "A token counts if no end comes *before* it: the count less whether it is an end itself must be 0.",
)

START = '''
def story_log_probs(logits, ids, end):
    """logits (B, T, V), ids (B, T + 1), end an id. Returns (B,)."""
    ...
'''

SOLUTION = """
def story_log_probs(logits, ids, end):
    targets = ids[:, 1:]
    log_p = logits.log_softmax(dim=-1).gather(-1, targets.unsqueeze(-1))[..., 0]
    is_end = (targets == end).int()
    before = is_end.cumsum(dim=1) - is_end  # ends before each token
    return (log_p * (before == 0)).sum(dim=1)
"""

MISTAKES = (
    Mistake(
        "The `end` that finishes a story is left out. The model draws it like any other token, and where to stop is a choice that should be rewarded, too.",
        (" - is_end  # ends before each token", ""),
    ),
    Mistake(
        "The filling after the end is counted. Only tokens before which no end has come belong to the story.",
        ("(log_p * (before == 0))", "log_p"),
    ),
    Mistake(
        "Each token is scored with the logits that have already seen it. The targets are the ids from the second on.",
        ("targets = ids[:, 1:]", "targets = ids[:, :-1]"),
    ),
    Mistake(
        "This is a mean over the row. The probability of a story is a product, so its logarithm is a sum.",
        (".sum(dim=1)", ".mean(dim=1)"),
    ),
    Mistake(
        "This is a mean over the tokens of the story, which makes long stories as likely as short ones. Take the sum.",
        (
            "return (log_p * (before == 0)).sum(dim=1)",
            "return (log_p * (before == 0)).sum(dim=1) / (before == 0).sum(dim=1)",
        ),
    ),
    Mistake(
        "These are sums of probabilities. Probabilities are multiplied, so take their logarithms first.",
        ("log_softmax", "softmax"),
    ),
    Mistake(
        "The logits are not normalised. Only `log_softmax` turns them into ln p.",
        (".log_softmax(dim=-1)", ""),
    ),
    Mistake(
        "The softmax runs over the positions. The vocabulary is the last axis.",
        ("log_softmax(dim=-1)", "log_softmax(dim=1)"),
    ),
    Mistake(
        "The sign is that of a loss. A log-probability is below 0.",
        ("return (log_p", "return -(log_p"),
    ),
    Mistake(
        "All tokens after the first of the batch are added together. Each story has its own sum: `sum(dim=1)`.",
        (".sum(dim=1)", ".sum()"),
    ),
    Mistake(
        "The `end` at the beginning is counted as the one that finishes the story, so that nothing remains. Look for ends among the targets.",
        ("(targets == end).int()", "(ids[:, :-1] == end).int()"),
        (" - is_end  # ends before each token", ""),
    ),
    Mistake(
        "The `end` at the beginning is taken for the one that finishes the story, so only its first token counts. Look for ends among the targets.",
        ("(targets == end).int()", "(ids[:, :-1] == end).int()"),
    ),
    Mistake(
        "One token too many is counted after the end. A token counts if no end comes before it.",
        ("before == 0", "before <= 1"),
    ),
    Mistake(
        "The filling is counted, and the story is not.",
        ("before == 0", "before > 0"),
    ),
    Mistake(
        "The sum runs over the stories. Each story has its own: `dim=1`.",
        (".sum(dim=1)", ".sum(dim=0)"),
    ),
    Mistake(
        "These are the log-probabilities of tokens. Add them up for each story: `sum(dim=1)`.",
        (".sum(dim=1)", ""),
    ),
    Mistake(
        "Every end is left out, and the filling between ends is counted.",
        ("before == 0", "targets != end"),
    ),
    Mistake(
        "Only the ends are counted.",
        ("(before == 0)", "is_end"),
    ),
    Mistake(
        "Ends are counted from story to story. Count along a row: `cumsum(dim=1)`.",
        ("cumsum(dim=1)", "cumsum(dim=0)"),
    ),
    Mistake(
        "That is the probability. Its logarithm is asked for.",
        (
            "return (log_p * (before == 0)).sum(dim=1)",
            "return (log_p * (before == 0)).sum(dim=1).exp()",
        ),
    ),
    Mistake(
        "That is the likeliest token at each position. Take the one that was drawn.",
        (".gather(-1, targets.unsqueeze(-1))[..., 0]", ".amax(dim=-1)"),
    ),
    Mistake(
        "The end is fixed at 0. Use the argument `end`.",
        ("targets == end", "targets == 0"),
    ),
    Mistake(
        "What comes after the end counts until another `end`. Only the first ends the story: count the ends *before* each token, which must be 0.",
        ("is_end.cumsum(dim=1) - is_end  #", "is_end.cumsum(dim=1) - 1  #"),
        ("before == 0", "before <= 0"),
    ),
    Mistake(
        "The mask is inverted: only what comes after the end counts. A token counts if the number of ends before it is 0.",
        ("(before == 0)", "before"),
    ),
)


def right(logits, ids, end):
    found = []
    for rows, story in zip(logits, ids.tolist(), strict=True):
        total = 0.0
        for t, token in enumerate(story[1:]):
            total = total + rows[t].log_softmax(dim=-1)[token]
            if token == end:
                break
        found.append(total)
    return torch.stack(found)


def cases():
    generator = torch.Generator().manual_seed(84)
    ids = torch.tensor([[0, 3, 1, 4, 0, 0, 0], [0, 2, 0, 0, 5, 1, 0], [0, 1, 2, 3, 4, 5, 1]])
    return [
        Case(
            "one story of two tokens",
            (torch.randn(1, 3, 7, generator=generator), torch.tensor([[0, 4, 0, 2]]), 0),
        ),
        Case(
            "three stories, one of them without an end",
            (torch.randn(3, 6, 7, generator=generator), ids, 0),
        ),
        Case(
            "the same, where 6 is the end",
            (torch.randn(3, 6, 7, generator=generator), (ids - 1) % 7, 6),
        ),
    ]
