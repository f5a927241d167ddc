"""A guesser who knows pairs."""

import torch

from ....analysis.scoring import Bigram
from ...exercise import Case, Mistake

ORDER = 50
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 12

TASK = r"""
How good is a loss? Compare it with that of a baseline that takes no training. The chapter's third guesser only counts: in the text `counted`, a row of ids (n,), how often does each token follow each other one? Then it predicts from the last token only, with probabilities in proportion to these counts.

A pair that was never seen would have the probability 0, and the first such pair would make the loss infinite. So `add` is added to the count of *every* pair before dividing.

Return the mean of $-\ln p$ over the pairs of neighbours in `measured`, another row of ids. V is the size of the vocabulary.

With V = 3 and add = 1, the row 0, 1, 0, 1, 0, 2 has 0 → 1 twice and 0 → 2 once. So after 0 come the probabilities (1/6, 3/6, 2/6), and after 1 come (3/5, 1/5, 1/5). On the row 0, 1, 0 the loss is −(ln 3/6 + ln 3/5) / 2 = 0.602.
"""

HINTS = (
    "Make a table of counts, (V, V), in which the row is the token before and the column is the token after.",
    "The pairs are `counted[:-1]` and `counted[1:]`. A loop over them is fine. Without a loop, `torch.bincount(before * V + after, minlength=V * V)` counts them all.",
    "Add, divide each row by its sum, take the logarithm, and read it at `[measured[:-1], measured[1:]]`.",
)

START = '''
def bigram_loss(counted, measured, V, add):
    """counted, measured: rows of ids. Returns the mean loss, a number."""
    ...
'''

SOLUTION = """
def bigram_loss(counted, measured, V, add):
    pairs = counted[:-1] * V + counted[1:]
    counts = torch.bincount(pairs, minlength=V * V).view(V, V)
    counts = counts + add  # no pair is impossible
    p = counts / counts.sum(dim=-1, keepdim=True)  # row: the token before
    return -p[measured[:-1], measured[1:]].log().mean()
"""

_COUNTS = "    counts = torch.bincount(pairs, minlength=V * V).view(V, V)\n"
_ADD = "    counts = counts + add  # no pair is impossible\n"

MISTAKES = (
    Mistake(
        "Each pair is counted once at most. `counts[before, after] += 1` with whole rows of ids adds 1 to each place once, however often it is named. Use a loop, or `torch.bincount`.",
        (
            _COUNTS,
            "    counts = torch.zeros(V, V)\n    counts[counted[:-1], counted[1:]] += 1\n",
        ),
    ),
    Mistake(
        "The loss is infinite as soon as a pair is new. Add `add` to the count of every pair.",
        (_ADD, ""),
    ),
    Mistake(
        "You add only where the count is 0. Add to every pair, so that a pair seen once stays ahead of one never seen by a whole count.",
        (_ADD, "    counts = counts.float().masked_fill(counts == 0, add)\n"),
    ),
    Mistake(
        "The probabilities of a row do not sum to 1, because you divide by the sum from before `add`. Add first, then divide by the new sum.",
        (_ADD, "    total = counts.sum(dim=-1, keepdim=True)\n" + _ADD),
        ("counts.sum(dim=-1, keepdim=True)  # row", "total  # row"),
    ),
    Mistake(
        "You divide by the sums of the columns. What has to sum to 1 is everything that may follow one token, which is a row.",
        ("sum(dim=-1, keepdim=True)  # row: the token before", "sum(dim=0, keepdim=True)"),
    ),
    Mistake(
        "You divide by the sum of the whole table, which gives the probability of the pair. Given the token before, divide each row by its own sum.",
        ("counts.sum(dim=-1, keepdim=True)  # row", "counts.sum()  # row"),
    ),
    Mistake(
        "You average the probabilities and then take the logarithm. The loss is the mean of the logarithms.",
        (".log().mean()", ".mean().log()"),
    ),
    Mistake(
        "This predicts the token *before* from the one after. The row is `measured[:-1]`, the column `measured[1:]`.",
        ("p[measured[:-1], measured[1:]]", "p[measured[1:], measured[:-1]]"),
    ),
    Mistake(
        "That is the loss on the text that was counted. Measure on the other one.",
        ("p[measured[:-1], measured[1:]]", "p[counted[:-1], counted[1:]]"),
    ),
    Mistake(
        "That is the sum over all pairs. The loss is the mean, so that long and short texts can be compared.",
        (".log().mean()", ".log().sum()"),
    ),
    Mistake(
        "The sign is missing. The logarithm of a probability is negative, and the loss is its opposite.",
        ("return -p", "return p"),
    ),
    Mistake(
        "This guesser knows how frequent each token is, and ignores the token before. Count pairs.",
        (_COUNTS, "    counts = torch.bincount(counted[1:], minlength=V).expand(V, V)\n"),
    ),
)


def right(counted, measured, V, add):
    table = Bigram(counted, V, add).table  # of log-probabilities
    return -table[measured[:-1], measured[1:]].mean().item()


def cases():
    generator = torch.Generator().manual_seed(13)
    counted = torch.randint(7, (60,), generator=generator)
    measured = torch.randint(7, (20,), generator=generator)
    small = torch.tensor([0, 1, 0, 1, 0, 2])
    return [
        Case("the example", (small, torch.tensor([0, 1, 0]), 3, 1.0)),
        Case("a pair that was never seen", (small, torch.tensor([1, 2]), 3, 0.01)),
        Case("V = 7, random ids", (counted, measured, 7, 0.5)),
        Case("one pair to measure", (counted, measured[:2], 7, 0.01)),
    ]


def after(answer):
    from .... import crane, load_tokenizer
    from ....analysis.scoring import score
    from ....training.plain import crane_ids
    from ... import crane_run

    encoding, model = load_tokenizer("crane"), crane_run.crane()
    stories = [encoding.encode(crane.story(seed)) for seed in crane.random_seeds(50, 13)]
    end = encoding.eot_token
    row = torch.tensor([end, *(i for story in stories for i in (*story, end))])
    pairs = float(answer(crane_ids(2000), row, encoding.n_vocab, 0.01))
    whole = torch.cat([score(model, [end, *story, end]) for story in stories])
    return (
        f"On 50 new stories your guesser, counted on 2,000 others, has the loss {pairs:.2f}. "
        f"The model that ships has {-whole.mean():.2f}, and the floor is {crane.entropy(200):.2f}."
    )
