"""What has it forgotten?"""

import torch

from ...exercise import Case, Mistake

ORDER = 60
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 8

TASK = r"""
A model has been tuned to answer, and its loss on plain stories has risen. `before` and `after` (n,) are the losses of all tokens of those stories before and after tuning, and `is_end` (n,), booleans, marks the `<|endoftext|>` tokens among them.

The mean over all n tokens has risen by some amount. Write `split_forgetting(before, after, is_end)`, which returns the part of it that comes from the end tokens, and the part that comes from all others, so that the two parts **add up** to the rise.
"""

HINTS = (
    "The rise is the mean of `after - before`. A mean is a sum divided by n.",
    "Split the sum, and divide both parts by n.",
    "`rise[is_end].sum() / len(rise)` is the first of the two.",
)

START = '''
def split_forgetting(before, after, is_end):
    """Tensors (n,). Returns two numbers: from the end tokens, from all others."""
    ...
'''

SOLUTION = """
def split_forgetting(before, after, is_end):
    rise = after - before
    from_end = rise[is_end].sum() / len(rise)
    return from_end, rise[~is_end].sum() / len(rise)
"""

MISTAKES = (
    Mistake(
        "Each part is the mean over its own tokens, so they do not add up to the rise. Divide both sums by n.",
        ("rise[is_end].sum() / len(rise)", "rise[is_end].mean()"),
        ("rise[~is_end].sum() / len(rise)", "rise[~is_end].mean()"),
    ),
    Mistake(
        "The end tokens' part is their own mean. Divide their sum by n, the number of all tokens.",
        ("rise[is_end].sum() / len(rise)", "rise[is_end].mean()"),
    ),
    Mistake(
        "The others' part is their own mean. Divide their sum by n, the number of all tokens.",
        ("rise[~is_end].sum() / len(rise)", "rise[~is_end].mean()"),
    ),
    Mistake(
        "The sign is turned. A loss that rises is something forgotten: `after - before`.",
        ("after - before", "before - after"),
    ),
    Mistake(
        "The two parts are exchanged. The end tokens come first.",
        ("rise[is_end]", "rise[~is_end]"),
        ("from_end, rise[~is_end]", "from_end, rise[is_end]"),
    ),
    Mistake(
        "These are sums. Divide them by the number of tokens.",
        ("rise[is_end].sum() / len(rise)", "rise[is_end].sum()"),
        ("rise[~is_end].sum() / len(rise)", "rise[~is_end].sum()"),
    ),
    Mistake(
        "These are losses after tuning. What was forgotten is the difference to before.",
        ("after - before", "after"),
    ),
    Mistake(
        "Tokens whose loss fell are left out. They belong to the mean as well.",
        ("after - before", "(after - before).clamp(min=0)"),
    ),
    Mistake(
        "The second value is the whole rise. Take the tokens that are not ends: `~is_end`.",
        ("rise[~is_end].sum()", "rise.sum()"),
    ),
    Mistake(
        "These are shares of the rise. The parts themselves are asked for, in nats.",
        ("rise[is_end].sum() / len(rise)", "rise[is_end].sum() / rise.sum()"),
        ("rise[~is_end].sum() / len(rise)", "rise[~is_end].sum() / rise.sum()"),
    ),
    Mistake(
        "That is the whole rise. Return its two parts.",
        ("return from_end, rise[~is_end].sum() / len(rise)", "return rise.mean()"),
    ),
    Mistake(
        "Both sums are divided by the number of end tokens. Divide by n, the number of all tokens.",
        ("rise[is_end].sum() / len(rise)", "rise[is_end].sum() / is_end.sum()"),
        ("rise[~is_end].sum() / len(rise)", "rise[~is_end].sum() / is_end.sum()"),
    ),
    Mistake(
        "Both sums are divided by the number of tokens that are not ends. Divide by n, the number of all tokens.",
        ("rise[is_end].sum() / len(rise)", "rise[is_end].sum() / (~is_end).sum()"),
        ("rise[~is_end].sum() / len(rise)", "rise[~is_end].sum() / (~is_end).sum()"),
    ),
    Mistake(
        "The differences are made positive. A loss that fell lowers the mean.",
        ("after - before", "(after - before).abs()"),
    ),
    Mistake(
        "These are still rises of single tokens. Add them up, and divide by n.",
        ("rise[is_end].sum() / len(rise)", "rise * is_end"),
        ("rise[~is_end].sum() / len(rise)", "rise * ~is_end"),
    ),
    Mistake(
        "These are the rises of the tokens, picked out. Add them up, and divide by n.",
        ("rise[is_end].sum() / len(rise)", "rise[is_end]"),
        ("rise[~is_end].sum() / len(rise)", "rise[~is_end]"),
    ),
    Mistake(
        "The losses are divided. A rise is a difference: `after - before`.",
        ("after - before", "after / before"),
    ),
    Mistake(
        "The rise is divided by the loss before. It is asked for in nats, not as a share.",
        ("after - before", "(after - before) / before"),
    ),
    Mistake(
        "The first part is the mean of the end tokens, and the second is what it leaves of the rise. They add up, but the first is too large: divide its sum by n.",
        ("rise[is_end].sum() / len(rise)", "rise[is_end].mean()"),
        ("rise[~is_end].sum() / len(rise)", "rise.mean() - from_end"),
    ),
    Mistake(
        "The first part is subtracted from the sum of all. Subtract it from the mean.",
        ("rise[~is_end].sum() / len(rise)", "rise.sum() - from_end"),
    ),
    Mistake(
        "The rise is split by how many tokens there are of each kind, as if all of them had forgotten equally. Add up the rises of each kind.",
        ("rise[is_end].sum() / len(rise)", "is_end.float().mean() * rise.mean()"),
        ("rise[~is_end].sum() / len(rise)", "(~is_end).float().mean() * rise.mean()"),
    ),
    Mistake(
        "Each part is multiplied by the share of its tokens as well. A sum that is divided by n is weighted already.",
        (
            "rise[is_end].sum() / len(rise)",
            "rise[is_end].sum() / len(rise) * is_end.float().mean()",
        ),
        (
            "rise[~is_end].sum() / len(rise)",
            "rise[~is_end].sum() / len(rise) * (~is_end).float().mean()",
        ),
    ),
    Mistake(
        "These are differences of perplexities. Subtract the losses themselves.",
        ("after - before", "after.exp() - before.exp()"),
    ),
    Mistake(
        "As whole numbers, 0 and 1 are indices, so only the first two tokens are picked. Index with the booleans.",
        ("rise[is_end].sum()", "rise[is_end.long()].sum()"),
        ("rise[~is_end].sum() / len(rise)", "rise.mean() - from_end"),
    ),
    Mistake(
        "As whole numbers, 0 and 1 are indices, so only the first two tokens are picked. Index with the booleans.",
        ("rise[is_end].sum()", "rise[is_end.long()].sum()"),
        ("rise[~is_end].sum()", "rise[(~is_end).long()].sum()"),
    ),
    Mistake(
        "The losses that were given are changed, as `-=` does. Make a new tensor: `after - before`.",
        ("rise = after - before", "rise = after.sub_(before)"),
    ),
    Mistake(
        "The differences are squared. A part is the sum of the differences, divided by n.",
        ("after - before", "(after - before) ** 2"),
    ),
    Mistake(
        "The first part is added to the whole rise. Subtract it, and the others' part is left.",
        ("rise[~is_end].sum() / len(rise)", "rise.mean() + from_end"),
    ),
)


def right(before, after, is_end):
    whole, weight = (after - before).mean(), is_end.float()
    from_end = ((after - before) * weight).mean()
    return from_end, whole - from_end


def properties(result, before, after, is_end):
    both, rise = sum(float(part) for part in result), (after - before).mean().item()
    if abs(both - rise) < 1e-5:
        return "The two parts add up to the rise, but they are not what each kind of token brings."
    return f"The two parts add up to {both:.4g}, and the mean has risen by {rise:.4g}."


def cases():
    generator = torch.Generator().manual_seed(22)
    tiny = torch.tensor([0.5, 0.5, 0.5, 0.25])
    before, more = torch.rand(2, 60, generator=generator)
    ends = torch.zeros(60, dtype=torch.bool)
    ends[19::20] = True
    moved = before + 0.2 * (more - 0.4)
    return [
        Case(
            "four tokens, of which the last forgets",
            (tiny, tiny + torch.tensor([0, 0, 0, 8.0]), torch.tensor([False, False, False, True])),
        ),
        Case("three stories of 20 tokens", (before, moved + 6 * ends, ends)),
        Case("only the other tokens forget", (before, moved + 0.1 * ~ends, ends)),
        Case("the loss has fallen", (moved, before * 0.9, ends)),
    ]
