"""Knock a head out by its mean."""

import torch

from ...exercise import Case, Mistake

ORDER = 20
KIND = "repair"
LEVEL = 2
MINUTES = 8

TASK = r"""
`knock_out` replaces the result of one head by its mean over all tokens of all texts. The head then says the same thing at every token, and all other heads stay as they are.

`heads` is (B, H, T, D), as `attn.heads` is on a tape; `head` is a number from 0 to H − 1. The mean is a vector of D numbers. The function returns a new tensor of the shape of `heads`, and leaves `heads` itself unchanged.

An example with B = 1, H = 2, T = 2, D = 2: head 0 says (1, 10) at the first token and (3, 30) at the second. With head 0 knocked out it says (2, 20) at both.

The function below runs, gives the right shape, and is wrong. Find the bug and mend it.
"""

HINTS = (
    "How many numbers should the mean have, and how many has it below?",
    "`heads[:, head]` is (B, T, D). The mean is over texts and tokens; the D numbers of a vector are not mixed with each other.",
    "Two of the three axes are averaged: `mean(dim=(0, 1))`.",
)

START = '''
def knock_out(heads, head):
    """heads (B, H, T, D), head an int. Returns a new (B, H, T, D)."""
    raise NotImplementedError(
        "find the bug, mend it, delete this line"
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
        "The mean is still one single number for all D columns. Average over texts and tokens only, so that a vector of D numbers remains.",
        """
def knock_out(heads, head):
    x = heads.clone()
    x[:, head] = heads[:, head].mean()
    return x
""",
    ),
    Mistake(
        "Each text has its own mean here, so the head still tells the texts apart. Average over the axis of the texts as well.",
        """
def knock_out(heads, head):
    x = heads.clone()
    x[:, head] = heads[:, head].mean(dim=1, keepdim=True)
    return x
""",
    ),
    Mistake(
        "This puts zeros in the head's place. The exercise asks for its mean, which the later layers are more used to.",
        """
def knock_out(heads, head):
    x = heads.clone()
    x[:, head] = 0
    return x
""",
    ),
    Mistake(
        "This replaces all heads at one token. The heads are axis 1, the tokens axis 2.",
        """
def knock_out(heads, head):
    x = heads.clone()
    x[:, :, head] = heads[:, :, head].mean(dim=(0, 1))
    return x
""",
    ),
    Mistake(
        "The numbers are right, but they were written into the caller's tensor: what the head really said is lost. Begin with `heads.clone()`.",
        """
def knock_out(heads, head):
    heads[:, head] = heads[:, head].mean(dim=(0, 1))
    return heads
""",
    ),
    Mistake(
        "The mean is taken over the texts alone, so the head still says something else at each token. Average over the axis of the tokens as well.",
        """
def knock_out(heads, head):
    x = heads.clone()
    x[:, head] = heads[:, head].mean(dim=0)
    return x
""",
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
