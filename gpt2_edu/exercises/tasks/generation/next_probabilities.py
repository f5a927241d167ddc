"""Temperature and top-k."""

import torch

from gpt2_edu import sampling

from ...exercise import Case, Mistake

ORDER = 20
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 15

TASK = r"""
Write the two knobs as one function, which turns logits (B, V) into probabilities (B, V), of type float32 like the logits. Apply first the temperature, then top-k, then the softmax.

- Temperature 0 means greedy. In each row the largest logit gets probability 1, or the first of several equal ones. Do not divide.
- Otherwise divide the logits by the temperature.
- In each row, keep the `top_k` largest logits and all that tie with the last of them. The others get a probability of exactly 0. `top_k` is between 1 and V.

Logits (2, 0, 0, −1) with temperature 1 and top-k 2 keep three tokens, because two tie for second place: (0.787, 0.1065, 0.1065, 0).
"""

HINTS = (
    "Cut the logits, not the probabilities: a logit of −∞ becomes exactly 0, and the softmax scales the rest for you.",
    "`logits.topk(top_k, dim=-1).values[:, -1:]` is the smallest kept logit of each row, (B, 1). Everything smaller goes.",
    "For temperature 0, use `torch.zeros_like(logits).scatter(-1, winner, 1.0)` with `winner = logits.argmax(dim=-1, keepdim=True)`.",
)

START = '''
def next_probabilities(logits, temperature, top_k):
    """logits (B, V). Returns probabilities (B, V)."""
    ...
'''

SOLUTION = """
def next_probabilities(logits, temperature, top_k):
    if temperature == 0:  # greedy, without a division
        winner = logits.argmax(dim=-1, keepdim=True)
        return torch.zeros_like(logits).scatter(-1, winner, 1.0)
    logits = logits / temperature
    smallest_kept = logits.topk(top_k, dim=-1).values[:, -1:]
    logits = logits.masked_fill(logits < smallest_kept, -torch.inf)
    return logits.softmax(dim=-1)
"""

MISTAKES = (
    Mistake(
        "The logits are multiplied by the temperature here. Divide them, because a temperature below 1 must make the likeliest token likelier.",
        ("logits /", "logits *"),
    ),
    Mistake(
        "This divides by the temperature 0 and gets NaN. Give that case a branch of its own, in which the largest logit gets everything.",
        (
            """\
    if temperature == 0:  # greedy, without a division
        winner = logits.argmax(dim=-1, keepdim=True)
        return torch.zeros_like(logits).scatter(-1, winner, 1.0)
""",
            "",
        ),
    ),
    Mistake(
        "Exactly k positions are kept here, so one of two equal logits is dropped by accident. Compare with the smallest kept *value* instead.",
        code="""
def next_probabilities(logits, temperature, top_k):
    if temperature == 0:
        winner = logits.argmax(dim=-1, keepdim=True)
        return torch.zeros_like(logits).scatter(-1, winner, 1.0)
    best = (logits / temperature).topk(top_k, dim=-1)
    cut = torch.full_like(logits, -torch.inf)
    return cut.scatter(-1, best.indices, best.values).softmax(dim=-1)
""",
    ),
    Mistake(
        "The kept tokens are not scaled up, so the rows sum to less than 1. Cut the logits before the softmax, or divide by the sum.",
        ("logits = logits / temperature", "probs = (logits / temperature).softmax(dim=-1)"),
        ("logits.topk", "probs.topk"),
        (
            """\
    logits = logits.masked_fill(logits < smallest_kept, -torch.inf)
    return logits.softmax(dim=-1)""",
            "    return probs.masked_fill(probs < smallest_kept, 0.0)",
        ),
    ),
    Mistake(
        "The cut logits are set to 0, which is an ordinary logit and keeps its share. Set them to −∞.",
        ("-torch.inf", "0.0"),
    ),
    Mistake(
        "At temperature 0, equal winners share the probability here. Greedy takes the first of them, as `argmax` does.",
        (
            "winner = logits.argmax(dim=-1, keepdim=True)",
            "won = (logits == logits.amax(dim=-1, keepdim=True)).float()",
        ),
        (
            "torch.zeros_like(logits).scatter(-1, winner, 1.0)",
            "won / won.sum(dim=-1, keepdim=True)",
        ),
    ),
    Mistake(
        "The temperature has no effect here, because probabilities divided by it are rescaled to sum to 1. Divide the logits, before the softmax.",
        ("    logits = logits / temperature\n", ""),
    ),
    Mistake(
        "All rows share one limit here. Each row of the batch has its own k largest, so use `dim=-1` and keep the axis.",
        ("values[:, -1:]", "values.min()"),
    ),
    Mistake(
        "`F.one_hot` gives whole numbers. The probabilities must be float32, so add `.float()`.",
        (
            "torch.zeros_like(logits).scatter(-1, winner, 1.0)",
            "F.one_hot(winner[:, 0], logits.size(-1))",
        ),
    ),
    Mistake(
        "With `<=` the last of the kept logits goes as well, and with top-k 1 nothing is left. Cut only what is smaller, with `<`.",
        ("logits < smallest_kept", "logits <= smallest_kept"),
    ),
    Mistake(
        "The softmax runs over the batch. Each row must sum to 1, so it is `softmax(dim=-1)`.",
        ("softmax(dim=-1)", "softmax(dim=0)"),
    ),
    Mistake(
        "The limit is the largest logit, so only one token is left. Take the last of the k largest, `values[:, -1:]`.",
        ("values[:, -1:]", "values[:, :1]"),
    ),
    Mistake(
        "Without the colon, `[:, -1]`, the limits are (B,) and are compared with the columns. Keep the axis, `[:, -1:]`, which is (B, 1).",
        ("values[:, -1:]", "values[:, -1]"),
    ),
    Mistake(
        "At temperature 0 the index of the winner is returned. It should be a row of probabilities, 1 at this index and 0 elsewhere.",
        ("torch.zeros_like(logits).scatter(-1, winner, 1.0)", "winner"),
    ),
    Mistake(
        "At temperature 0 the indices of the winners are returned. Each row should be probabilities, 1 at its index and 0 elsewhere.",
        ("torch.zeros_like(logits).scatter(-1, winner, 1.0)", "winner[:, 0]"),
    ),
    Mistake(
        "At temperature 0, each of several equal winners gets 1. Greedy takes the first of them, as `argmax` does.",
        ("winner = logits.argmax(dim=-1, keepdim=True)", "best = logits.amax(-1, keepdim=True)"),
        ("torch.zeros_like(logits).scatter(-1, winner, 1.0)", "(logits == best).float()"),
    ),
    Mistake(
        "These are the cut logits. Take the softmax of them.",
        ("return logits.softmax(dim=-1)", "return logits"),
    ),
    Mistake(
        "At temperature 0 you look for one winner in the whole batch. Each row has its own, `argmax(dim=-1, keepdim=True)`.",
        ("argmax(dim=-1, keepdim=True)", "argmax().view(1, 1)"),
    ),
)


def right(logits, temperature, top_k):
    return sampling.next_probabilities(logits, temperature=temperature, top_k=top_k)


def cases():
    generator = torch.Generator().manual_seed(14)
    logits = 3 * torch.randn(3, 11, generator=generator)
    tied = torch.tensor([[2.0, 0.0, 0.0, -1.0]])
    return [
        Case("the example: two tie for second place", (tied, 1.0, 2)),
        Case("no cut, temperature 0.5", (tied, 0.5, 4)),
        Case("random numbers, temperature 1.7, top-k 4", (logits, 1.7, 4)),
        Case("top-k 1", (logits, 0.8, 1)),
        Case("temperature 0", (logits, 0, 11)),
        Case("temperature 0, two equal", (torch.tensor([[1.0, 3.0, 3.0]]), 0, 3)),
        Case("a temperature near 0", (logits, 0.01, 5)),
    ]
