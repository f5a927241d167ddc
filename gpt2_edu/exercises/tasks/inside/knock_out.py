"""Knock a head out by its mean."""

import torch

from ...exercise import Case, Mistake

ORDER = 20
KIND = "repair"
LEVEL = 2
RANK = "core"
MINUTES = 8

TASK = r"""
`knock_out` replaces the result of one head by its mean over all tokens of all texts. The head then returns the same vector at every token, and all other heads stay as they are.

`heads` is (B, H, T, D), as `attn.heads` is on a tape; `head` is a number from 0 to H − 1. The mean is a vector of D entries. The function returns a new tensor of the same shape as `heads`, and leaves `heads` itself unchanged.

For example, with B = 1, H = 2, T = 2 and D = 2, head 0 returns (1, 10) at the first token and (3, 30) at the second. Knocked out, it returns (2, 20) at both.

The function below runs, gives the right shape, and is wrong. Find the bug and fix it.
"""

HINTS = (
    "How many entries should the mean have, and how many does it have below?",
    "`heads[:, head]` is (B, T, D). The mean is over texts and tokens. The D entries of a vector are not mixed with each other.",
    "Average over two of the three axes, `mean(dim=(0, 1))`.",
)

START = '''
def knock_out(heads, head):
    """heads (B, H, T, D), head an int. Returns a new (B, H, T, D)."""
    raise NotImplementedError(
        "find the bug, fix it, delete this line"
    )
    x = heads.clone()
    x[:, head] = heads[:, head].mean()
    return x
'''

SOLUTION = """
def knock_out(heads, head):
    x = heads.clone()  # the given tensor belongs to the caller
    # (B, T, D) → (D,): one mean vector, not one mean number
    x[:, head] = heads[:, head].mean(dim=(0, 1))
    return x
"""

MISTAKES = (
    Mistake(
        "The mean is still one single number for all D columns. Average over texts and tokens only, so that a vector of D entries remains.",
        ("mean(dim=(0, 1))", "mean()"),
    ),
    Mistake(
        "Each text has its own mean here, so the head still depends on the text. Average over the axis of the texts as well.",
        ("mean(dim=(0, 1))", "mean(dim=1, keepdim=True)"),
    ),
    Mistake(
        "This replaces the head by zeros. The exercise asks for its mean, which is closer to what later layers are used to.",
        ("heads[:, head].mean(dim=(0, 1))", "0"),
    ),
    Mistake(
        "This replaces all heads at one token. The heads are axis 1, the tokens axis 2.",
        ("[:, head] = heads[:, head]", "[:, :, head] = heads[:, :, head]"),
    ),
    Mistake(
        "The numbers are right, but they were written into the caller's tensor, so the head's real output is lost. Begin with `heads.clone()`.",
        ("heads.clone()", "heads"),
    ),
    Mistake(
        "The mean is taken over the texts only, so the head still returns another vector at each token. Average over the axis of the tokens as well.",
        ("dim=(0, 1)", "dim=0"),
    ),
    Mistake(
        "This averages the D entries of each vector, and so mixes numbers that mean different things. Average over texts and tokens, `mean(dim=(0, 1))`.",
        ("mean(dim=(0, 1))", "mean(dim=-1, keepdim=True)"),
    ),
    Mistake(
        "This is the mean over all heads. Take only the head that is replaced, `heads[:, head]`, and average over its texts and tokens.",
        ("heads[:, head].mean(dim=(0, 1))", "heads.mean(dim=(0, 1, 2))"),
    ),
    Mistake(
        "`heads[:, head]` is (B, T, D), so its axis 2 has the D entries, not the tokens. Average over texts and tokens, `mean(dim=(0, 1))`.",
        ("mean(dim=(0, 1))", "mean(dim=(0, 2), keepdim=True)"),
    ),
    Mistake(
        "All heads are replaced. Only `x[:, head]` should change.",
        (
            "x[:, head] = heads[:, head].mean(dim=(0, 1))",
            "x[:] = heads.mean(dim=(0, 2), keepdim=True)",
        ),
    ),
    Mistake(
        "Without the colon `head` is an index of the texts. Axis 0 counts the texts and axis 1 the heads, `x[:, head]`.",
        ("x[:, head] = heads[:, head]", "x[head] = heads[head]"),
    ),
    Mistake(
        "That is the sum over texts and tokens. Take the mean.",
        (".mean(", ".sum("),
    ),
)


def right(heads, head):
    mean = heads[:, head].flatten(end_dim=1).mean(dim=0)
    chosen = torch.arange(heads.size(1)) == head
    return torch.where(chosen.view(1, -1, 1, 1), mean, heads)


def cases():
    generator = torch.Generator().manual_seed(16)
    tiny = torch.tensor([[[[1.0, 10.0], [3.0, 30.0]], [[5.0, 6.0], [7.0, 8.0]]]])
    heads = torch.randn(2, 3, 5, 7, generator=generator)
    return [
        Case("one text, two heads, two tokens", (tiny, 0)),
        Case("two texts, the middle head of three", (heads, 1)),
        Case("the last head", (heads, 2)),
        Case("one token: a head is its own mean", (heads[:1, :, :1], 0)),
    ]
