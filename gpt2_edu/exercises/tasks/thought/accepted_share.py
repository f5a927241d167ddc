"""How often a draft is accepted."""

import torch

from ...exercise import Case, Mistake

ORDER = 60
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 8

TASK = r"""
`p` (N, V) are the large model's probabilities at N positions, and `q` (N, V) the draft's. A token drawn from q is accepted with the probability min(1, p / q). Write `accepted_share(p, q)`. It returns the expected share of drafted tokens that are accepted, on average over the positions.
"""

HINTS = (
    "Sum over the token that is drafted: its probability q times the probability that it is accepted.",
    "q · min(1, p / q) is min(p, q).",
    "`torch.minimum(p, q)` compares entry by entry. Sum over V, then take the mean over N.",
)

START = '''
def accepted_share(p, q):
    """p and q (N, V), whose rows sum to 1. Returns a number, or a tensor of shape ()."""
    ...
'''

SOLUTION = """
def accepted_share(p, q):
    return torch.minimum(p, q).sum(dim=-1).mean()
"""

MISTAKES = (
    Mistake(
        "That is the chance that two independent draws are the same token. A draft is not compared with a draw of the large model, only with its probability.",
        ("torch.minimum(p, q)", "(p * q)"),
    ),
    Mistake(
        "That says how often both have the same favourite. Drafts are drawn, and rejected only as often as p is below q.",
        ("torch.minimum(p, q).sum(dim=-1)", "(p.argmax(dim=-1) == q.argmax(dim=-1)).float()"),
    ),
    Mistake(
        "The chance of acceptance is not weighted by how often each token is drafted. Multiply by q before you add.",
        ("torch.minimum(p, q)", "(p / q).clamp(max=1)"),
    ),
    Mistake(
        "The chances of acceptance are weighted by p. It is the draft that proposes, so weigh with q.",
        ("torch.minimum(p, q)", "(p * (p / q).clamp(max=1))"),
    ),
    Mistake(
        "The mean is taken over the vocabulary as well. Along V the probabilities are added.",
        (".sum(dim=-1).mean()", ".mean()"),
    ),
    Mistake(
        "The positions are added. Take their mean.",
        (".sum(dim=-1).mean()", ".sum()"),
    ),
    Mistake(
        "That takes the larger of the two, so it is 1 or more. A token is accepted as often as both allow.",
        ("minimum", "maximum"),
    ),
    Mistake(
        "The difference is counted twice. What one distribution has too much, the other has too little, so it is 1 minus *half* the sum of |p − q|.",
        ("torch.minimum(p, q).sum(dim=-1).mean()", "1 - (p - q).abs().sum(dim=-1).mean()"),
    ),
    Mistake(
        "That is the share that is rejected.",
        ("return torch", "return 1 - torch"),
    ),
    Mistake(
        "The ratio is upside down. A draft is accepted with the probability min(1, p / q).",
        ("torch.minimum(p, q)", "(q * (q / p).clamp(max=1))"),
    ),
    Mistake(
        "There is one share for each position. Take their mean.",
        (".mean()", ""),
    ),
    Mistake(
        "The sum is divided by the number of tokens in the vocabulary. Divide by the number of positions.",
        (".sum(dim=-1).mean()", ".sum() / p.size(1)"),
    ),
    Mistake(
        "Only drafts with p above q are counted. Others are accepted with the probability p / q.",
        ("torch.minimum(p, q)", "(q * (p > q))"),
    ),
    Mistake(
        "Where p is above q, the chance is limited to 1: min(1, p / q).",
        ("torch.minimum(p, q)", "(q * p / q)"),
    ),
    Mistake(
        "Along V the probabilities are added. Here the largest is taken.",
        (".sum(dim=-1)", ".amax(dim=-1)"),
    ),
    Mistake(
        "That counts in how many entries p is above q. Weigh each token by its probability.",
        ("torch.minimum(p, q).sum(dim=-1)", "(p > q).float()"),
    ),
    Mistake(
        "This averages min(1, p / q) over all tokens alike. A token is drafted with the probability q: multiply by q, and add up over V.",
        ("torch.minimum(p, q).sum(dim=-1).mean()", "(p / q).clamp(max=1).mean()"),
    ),
    Mistake(
        "A draft with p below q is not always rejected. It is accepted with the probability p / q, which adds p.",
        ("torch.minimum(p, q)", "(q * (p >= q))"),
    ),
    Mistake(
        "p / q is neither limited to 1 nor multiplied by q, the probability that the token is drafted.",
        ("torch.minimum(p, q)", "(p / q)"),
    ),
    Mistake(
        "The probabilities of different tokens exclude each other, so they are added up, not multiplied.",
        (".sum(dim=-1)", ".prod(dim=-1)"),
    ),
    Mistake(
        "This is how far the two are apart. A draft is accepted where they agree: the sum of the smaller probabilities.",
        ("torch.minimum(p, q)", "(p - q).abs()"),
    ),
    Mistake(
        "This counts the tokens of the vocabulary that are always accepted. A token is drafted with the probability q: multiply by it, and add up over V.",
        ("torch.minimum(p, q).sum(dim=-1).mean()", "(p >= q).float().mean()"),
    ),
    Mistake(
        "The likeliest tokens are compared. Compare the two probabilities of each token, and add up the smaller ones.",
        ("torch.minimum(p, q).sum(dim=-1)", "torch.minimum(p.amax(dim=-1), q.amax(dim=-1))"),
    ),
)


def right(p, q):
    return 1 - (p - q).abs().sum(dim=-1).mean() / 2


def cases():
    generator = torch.Generator().manual_seed(27)
    p = torch.randn(4, 7, generator=generator).softmax(dim=-1)
    q = (p.log() + torch.randn(4, 7, generator=generator)).softmax(dim=-1)
    two = torch.tensor([[0.7, 0.3]]), torch.tensor([[0.4, 0.6]])
    return [
        Case("the chapter's two tokens", two),
        Case("four positions, seven tokens", (p, q)),
        Case("a draft that is the model", (p, p.clone())),
    ]
