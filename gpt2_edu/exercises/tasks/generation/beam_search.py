"""The likeliest text, nearly."""

import torch

from ...exercise import Case, Mistake

ORDER = 45
KIND = "write"
LEVEL = 3
RANK = "extra"
MINUTES = 20

TASK = r"""
Greedy decoding takes the likeliest token each time, and can miss the likeliest *text*, because a good beginning may lead to bad continuations. Beam search keeps several texts at once. At each step it extends every text that it has by every token of the vocabulary, and keeps the `width` texts whose probabilities are largest (all of them if there are fewer). The probability of a text is the product of those of its new tokens, so compare sums of $\ln p$.

`logits_of` is a model: a function that takes ids (B, T) and returns logits (B, T, V). `idx` is one prompt, (1, T). Append `n` tokens, and return the likeliest text that was found, with its prompt, (1, T + n).

Suppose that 0 is followed by 1 with probability 0.6 and by 2 with 0.4, that 1 is followed by 0 with 0.4, and 2 by 1 with 0.9. From [[0]], greedy decoding writes 0, 1, 0, of probability 0.6 · 0.4 = 0.24. With width 2, beam search finds 0, 2, 1, of probability 0.4 · 0.9 = 0.36.
"""

HINTS = (
    "Keep the texts in one tensor (beam, T) and the sum of $\\ln p$ of each in another. Begin with one text, the prompt, and the sum 0.",
    "With `log_p` of shape (beam, V), `scores[:, None] + log_p` has the sums of all extensions. Flatten it and take `topk(min(width, …))` over all of them together.",
    "In the flattened table, place i belongs to the text `i // V` and the token `i % V`. `topk` returns the largest first.",
)

START = '''
def beam_search(logits_of, idx, n, width):
    """logits_of: (B, T) -> (B, T, V); idx (1, T). Returns (1, T + n)."""
    ...
'''

SOLUTION = """
def beam_search(logits_of, idx, n, width):
    scores = torch.zeros(1)  # the sum of ln p of each text in the beam
    for _ in range(n):
        log_p = logits_of(idx)[:, -1].log_softmax(dim=-1)  # (beam, V)
        V = log_p.size(-1)
        total = (scores[:, None] + log_p).flatten()
        scores, places = total.topk(min(width, len(total)))
        idx = torch.cat([idx[places // V], places[:, None] % V], dim=1)
    return idx[:1]  # topk returns the largest first
"""

_TOPK = "        scores, places = total.topk(min(width, len(total)))\n"

MISTAKES = (
    Mistake(
        "This finds what greedy decoding finds. Either you keep one text only, or all texts of your beam are the same, because it began with copies of the prompt. Begin with one text, and keep the `width` best extensions of all texts together.",
        code="""
def beam_search(logits_of, idx, n, width):
    scores = torch.zeros(width)
    idx = idx.expand(width, -1)
    for _ in range(n):
        log_p = logits_of(idx)[:, -1].log_softmax(dim=-1)
        best, new = log_p.max(dim=-1)
        scores = scores + best
        idx = torch.cat([idx, new[:, None]], dim=1)
    return idx[:1]
""",
    ),
    Mistake(
        "You add logits. They are not comparable between texts, because each row has its own constant. Add log-probabilities, `log_softmax(dim=-1)`.",
        (".log_softmax(dim=-1)", ""),
    ),
    Mistake(
        "The texts are compared by their newest token only. Add the sum of the earlier ones, `scores[:, None] + log_p`.",
        ("(scores[:, None] + log_p)", "log_p"),
    ),
    Mistake(
        "The new tokens are appended to the wrong texts. Place i of the flattened table is an extension of the text `i // V`, so take `idx[places // V]` first.",
        ("idx[places // V]", "idx[:1].expand(len(places), -1) if len(idx) == 1 else idx"),
        ("min(width, len(total))", "min(width, len(total)) if len(idx) == 1 else len(idx)"),
    ),
    Mistake(
        "After the first step each text takes its own best token, so no weak text is ever dropped for a second extension of a strong one. Compare the extensions of all texts together.",
        (
            _TOPK,
            """        if len(idx) == 1:
            scores, places = total.topk(min(width, V))
        else:
            scores, new = total.view(-1, V).max(dim=-1)
            places = torch.arange(len(idx)) * V + new
            order = scores.argsort(descending=True)
            scores, places = scores[order], places[order]
""",
        ),
    ),
    Mistake(
        "The model sees only the newest token of each text. Give it all of `idx`.",
        ("logits_of(idx)", "logits_of(idx[:, -1:])"),
    ),
    Mistake(
        "You return the whole beam. Return the likeliest text only, as (1, T + n).",
        ("return idx[:1]", "return idx"),
    ),
    Mistake(
        "The text is right, but the prompt is missing in front of it.",
        ("    scores = torch.zeros(1)", "    T = idx.size(1)\n    scores = torch.zeros(1)"),
        ("return idx[:1]", "return idx[:1, T:]"),
    ),
    Mistake(
        "There may be fewer extensions than `width`: the first step has only V of them. Then keep all, with `topk(min(width, …))`.",
        ("total.topk(min(width, len(total)))", "total.topk(width)"),
    ),
    Mistake(
        "This returns the least likely text of the beam. `topk` returns the largest first, so the best is the first.",
        ("return idx[:1]", "return idx[-1:]"),
    ),
)


def right(logits_of, idx, n, width):
    beam = [(0.0, idx)]
    for _ in range(n):
        longer = []
        for score, text in beam:
            log_p = logits_of(text)[0, -1].log_softmax(dim=-1)
            for token, more in enumerate(log_p.tolist()):
                longer.append((score + more, torch.cat([text, torch.tensor([[token]])], dim=1)))
        beam = sorted(longer, key=lambda one: one[0], reverse=True)[:width]
    return beam[0][1]


def cases():
    numbers = torch.Generator().manual_seed(15)
    follows = torch.tensor([[0.0, 0.6, 0.4], [0.4, 0.35, 0.25], [0.04, 0.9, 0.06]]).log()
    table = 2 * torch.randn(11, 11, generator=numbers)
    prompt = torch.randint(11, (1, 3), generator=numbers)

    def by_the_last(idx):
        return follows[idx]

    def by_all(idx):
        """Logits that depend on every token up to here."""
        return table[idx].cumsum(dim=1) % 3 + idx.cumsum(dim=1).unsqueeze(-1)

    zero = torch.tensor([[0]])
    return [
        Case("the example, width 2", (by_the_last, zero, 2, 2)),
        Case("width 1 is greedy", (by_the_last, zero, 2, 1)),
        Case("logits that depend on all tokens, width 4", (by_all, prompt, 7, 4)),
        Case("the same, width 3", (by_all, prompt, 5, 3)),
        Case("wider than the vocabulary", (by_the_last, zero, 3, 5)),
        Case("no new token", (by_all, prompt, 0, 3)),
    ]
