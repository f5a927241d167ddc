"""The loop that writes."""

import torch

from gpt2_edu import sample_next

from ...exercise import Case, Mistake

ORDER = 40
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 12

TASK = r"""
Predict, draw, append, repeat. `logits_of` is a model: a function that takes ids (B, T) and returns logits (B, T, V). Append `n` new tokens to each prompt in `idx`, and return prompt and new tokens together, (B, T + n).

Draw each token at temperature 1, with `torch.multinomial(probs, 1, generator=generator)`, in one call per step for all texts of the batch. Then the same generator draws the same tokens for everyone who solves this.

If 0 is always followed by 1, 1 by 2 and 2 by 0, then the prompt [[0, 1]] with n = 3 becomes [[0, 1, 2, 0, 1]].
"""

HINTS = (
    "Each step shows the model the whole text so far, and uses the last row of its logits, (B, V).",
    "`torch.multinomial` wants probabilities, so the softmax comes before it. It returns (B, 1), which is the shape that `torch.cat(…, dim=1)` needs.",
)

START = '''
def continue_text(logits_of, idx, n, generator):
    """logits_of: (B, T) -> (B, T, V); idx (B, T). Returns (B, T + n)."""
    ...
'''

SOLUTION = """
def continue_text(logits_of, idx, n, generator):
    for _ in range(n):
        probs = logits_of(idx)[:, -1].softmax(dim=-1)  # (B, V)
        new = torch.multinomial(probs, 1, generator=generator)  # (B, 1)
        idx = torch.cat([idx, new], dim=1)
    return idx
"""

MISTAKES = (
    Mistake(
        "Only the newest token is shown to the model, so it forgets the text. Without a cache, give it all of `idx` at each step.",
        ("logits_of(idx)", "logits_of(idx[:, -1:])"),
    ),
    Mistake(
        "You return the new tokens without the prompt. Append the new tokens to `idx` and return all of it.",
        ("    for _ in range(n):", "    T = idx.size(1)\n    for _ in range(n):"),
        ("return idx", "return idx[:, T:]"),
    ),
    Mistake(
        "This takes the likeliest token each time, which is greedy decoding. Draw with `torch.multinomial`.",
        ("torch.multinomial(probs, 1, generator=generator)", "probs.argmax(dim=-1, keepdim=True)"),
    ),
    Mistake(
        "`torch.multinomial` gets logits here, and complains if they are negative. Take the softmax first.",
        (".softmax(dim=-1)", ""),
    ),
    Mistake(
        "This uses the logits of the first position, which predict the second token. The next token is predicted at the last one, `[:, -1]`.",
        ("[:, -1]", "[:, 0]"),
    ),
    Mistake(
        "Here n counts the prompt too, as `max_length` does. It should be the number of *new* tokens.",
        ("for _ in range(n)", "while idx.size(1) < n"),
    ),
    Mistake(
        "All new tokens are drawn from one prediction, so none of them depends on the others. Ask the model again after each token.",
        (
            """\
    for _ in range(n):
        probs = logits_of(idx)[:, -1].softmax(dim=-1)  # (B, V)
""",
            """\
    probs = logits_of(idx)[:, -1].softmax(dim=-1)
    for _ in range(n):
""",
        ),
    ),
    Mistake(
        "`generator` is not passed on, so the draws come from PyTorch's global generator. Write `torch.multinomial(probs, 1, generator=generator)`.",
        (", generator=generator", ""),
    ),
    Mistake(
        "After the first step, only the newest token is shown to the model, so it forgets the text. Without a cache, give it all of `idx` at each step.",
        ("    for _ in range(n):", "    new = idx\n    for _ in range(n):"),
        ("logits_of(idx)", "logits_of(new)"),
    ),
    Mistake(
        "The softmax runs over the batch. A row is a text, and its probabilities over the vocabulary must sum to 1, `softmax(dim=-1)`.",
        ("dim=-1", "dim=0"),
    ),
    Mistake(
        "`torch.cat` returns a new tensor, and it is lost here. Assign it, `idx = torch.cat([idx, new], dim=1)`.",
        ("idx = torch.cat([idx, new], dim=1)", "torch.cat([idx, new], dim=1)"),
    ),
    Mistake(
        "One token too many is appended. The loop runs n times, `range(n)`.",
        ("range(n)", "range(n + 1)"),
    ),
    Mistake(
        "The `return` is inside the loop, so only one token is appended. Move it out, below the loop.",
        ("dim=1)\n    return", "dim=1)\n        return"),
    ),
    Mistake(
        "Axis 0 counts the texts. Append along the tokens, `dim=1`.",
        ("dim=1)", "dim=0)"),
    ),
    Mistake(
        "The new token has lost its axis. `torch.multinomial` returns (B, 1), which fits behind (B, T) as it is.",
        ("generator=generator)", "generator=generator).squeeze()"),
    ),
    Mistake(
        "The new token is in front of the text. It belongs at the end, `torch.cat([idx, new], dim=1)`.",
        ("[idx, new]", "[new, idx]"),
    ),
    Mistake(
        "You finish one text before you begin the next, so the draws come in another order. Draw the next token of all texts in one call, and then go on.",
        code="""
def continue_text(logits_of, idx, n, generator):
    texts = []
    for text in idx.split(1):
        for _ in range(n):
            probs = logits_of(text)[:, -1].softmax(dim=-1)
            new = torch.multinomial(probs, 1, generator=generator)
            text = torch.cat([text, new], dim=1)
        texts.append(text)
    return torch.cat(texts)
""",
    ),
)


def right(logits_of, idx, n, generator):
    for _ in range(n):
        new = sample_next(logits_of(idx)[:, -1], generator=generator)
        idx = torch.cat([idx, new.unsqueeze(1)], dim=1)
    return idx


def cases():
    numbers = torch.Generator().manual_seed(14)
    table = torch.randn(11, 11, generator=numbers)
    idx = torch.randint(11, (3, 4), generator=numbers)
    ring = torch.full((3, 3), -torch.inf)
    ring[[0, 1, 2], [1, 2, 0]] = 0.0

    def next_in_the_ring(idx):
        return ring[idx]

    def from_all_tokens(idx):
        """Logits that depend on every token up to here."""
        return table[idx].cumsum(dim=1)

    def dice():
        return torch.Generator().manual_seed(42)

    return [
        Case("0, 1, 2 in a ring", (next_in_the_ring, torch.tensor([[0, 1]]), 3, dice())),
        Case("random logits that depend on all tokens", (from_all_tokens, idx, 9, dice())),
        Case("a prompt of one token", (from_all_tokens, idx[:1, :1], 6, dice())),
        Case("one new token", (from_all_tokens, idx, 1, dice())),
        Case("no new token", (from_all_tokens, idx, 0, dice())),
    ]
