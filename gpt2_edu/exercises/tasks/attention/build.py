"""Attention of all words at once, and a head."""

from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from ....tape import trace
from ...crane_run import CRANE, MARSH, TEXT, crane_run
from ...exercise import Case, Mistake, fitting
from ...step import fill, numbered, random_tensor
from . import attention, project

PARTS = ("attention", "Head")
IMPORTS = (
    "import math",
    "import torch",
    "from gpt2_edu import note",
    "from torch import nn",
)

START = '''
def attention(q, k, v):
    """What every word gathers: each (..., T, D) → (..., T, D)."""
    ...  # its tables, if you note them: scores and weights, "... T T"


class Head(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        ...  # c_attn makes q, k and v, side by side

    def forward(self, x):  # (B, T, C) → (B, T, C)
        ...
'''

SOLUTION = '''
def attention(q, k, v):
    """What every word gathers: each (..., T, D) → (..., T, D)."""
    D = q.size(-1)
    scores = q @ k.transpose(-2, -1) / math.sqrt(D)  # row = query, column = key
    scores = note("scores", scores, "... T T")
    weights = scores.softmax(dim=-1)  # each row sums to 1
    weights = note("weights", weights, "... T T")
    return weights @ v


class Head(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)  # q, k and v, side by side

    def forward(self, x):  # (B, T, C) → (B, T, C)
        q, k, v = self.c_attn(x).split(x.size(-1), dim=-1)
        return attention(q, k, v)
'''


MIXTURE = (  # with and without a mask
)

MISTAKES = (
    Mistake(
        "The division is missing: the scores are q · k / √D.",
        (" / math.sqrt(D)", ""),
    ),
    Mistake(
        "You divide by D. The typical size of a score grows like the root of D: use `math.sqrt`.",
        ("math.sqrt(D)", "D"),
    ),
    Mistake(
        "Your columns sum to 1. The shares of one query are a row, so take the softmax with `dim=-1`.",
        ("softmax(dim=-1)", "softmax(dim=-2)"),
    ),
    Mistake(
        "The division comes after the softmax, so the shares no longer sum to 1. Divide the scores.",
        (" / math.sqrt(D)", ""),
        ("scores.softmax(dim=-1)", "scores.softmax(dim=-1) / math.sqrt(D)"),
    ),
    Mistake(
        "`dim=0` is the rows of a table, or the texts of a batch. The shares of one query are along the last axis: `dim=-1`.",
        ("softmax(dim=-1)", "softmax(dim=0)"),
    ),
    Mistake(
        "`dim=1` is the last axis only if there is no batch. Count from the end: `softmax(dim=-1)`.",
        ("softmax(dim=-1)", "softmax(dim=1)"),
    ),
    Mistake(
        'The axes of a note must fit whatever is in front of T: write "... T T", with the dots.',
        ('note("scores", scores, "... T T")', 'note("scores", scores, "T T")'),
    ),
    Mistake(
        "These are not three pieces of the last axis. Cut it with `split(x.size(-1), dim=-1)`, or with `chunk(3, dim=-1)`.",
        ("split(x.size(-1), dim=-1)", "chunk(3)"),
    ),
    Mistake(
        "You take every third entry of `c_attn` for each of the three. But they are side by side: the first C entries are q, the next C are k.",
        (
            "self.c_attn(x).split(x.size(-1), dim=-1)",
            "self.c_attn(x).unflatten(-1, (-1, 3)).unbind(-1)",
        ),
    ),
    Mistake(
        "`Head` needs one layer, with its bias, that is made in `__init__` and called `c_attn`: `self.c_attn = nn.Linear(n_embd, 3 * n_embd)`.",
        ("nn.Linear(n_embd, 3 * n_embd)", "nn.Linear(n_embd, 3 * n_embd, bias=False)"),
    ),
    Mistake(
        "On paper this is right. But e to the power of a large score is infinite, and infinity divided by infinity is nan. `softmax(dim=-1)` avoids that.",
        ("scores.softmax(dim=-1)", "scores.exp() / scores.exp().sum(dim=-1, keepdim=True)"),
    ),
    Mistake(
        "`attention` is right, but `Head` does not cut the 3C entries of `c_attn` into q, k and v.",
        ("q, k, v = self.c_attn(x).split(x.size(-1), dim=-1)", "q = k = v = self.c_attn(x)"),
    ),
    Mistake(
        "`attention` is right, but `Head` divides its result once more by a root. The scores are divided already.",
        ("return attention(q, k, v)", "return attention(q, k, v) / math.sqrt(x.size(-1))"),
    ),
    Mistake(
        "`attention` is right, but `Head` adds x to its result. That is the residual connection, of a later chapter.",
        ("return attention(q, k, v)", "return x + attention(q, k, v)"),
    ),
    *fitting(attention.MISTAKES, SOLUTION),
    *fitting(project.MISTAKES, SOLUTION),
    Mistake(
        "`Head` returns the scores. It returns what `attention(q, k, v)` makes of the three.",
        ("return attention(q, k, v)", "return q @ k.transpose(-2, -1)"),
    ),
    *MIXTURE,
)


def use(mine: Any, what: str, *given: Tensor) -> Tensor:
    with trace():  # as `note` checks its axes only there
        if what == "attention":
            return mine.attention(*given)
        (x,) = given
        return fill(mine.Head(x.size(-1)), layer(x.size(-1)))(x)


def right(what: str, *given: Tensor) -> Tensor:
    if what == "attention":
        q, k, v = given
        return F.scaled_dot_product_attention(q, k, v)
    (x,) = given
    q, k, v = layer(x.size(-1))["c_attn"](x).chunk(3, dim=-1)
    return F.scaled_dot_product_attention(q, k, v)


def layer(n_embd: int) -> nn.ModuleDict:
    found = nn.ModuleDict({"c_attn": nn.Linear(n_embd, 3 * n_embd)})
    numbered(found, seed=n_embd)
    return found


def cases() -> list[Case]:
    def qkv(*shape: int) -> tuple[Tensor, Tensor, Tensor]:
        return random_tensor(1, *shape), random_tensor(2, *shape), random_tensor(3, *shape)

    return [
        Case("attention: one text, T = 3, D = 2", ("attention", *qkv(3, 2))),
        Case("attention: B = 2, T = 5, D = 12", ("attention", *qkv(2, 5, 12))),
        Case("attention: large scores, T = 3, D = 64", ("attention", *(8 * x for x in qkv(3, 64)))),
        Case("Head: B = 2, T = 5, C = 12", ("Head", random_tensor(4, 2, 5, 12))),
        Case("Head: a single token", ("Head", random_tensor(5, 1, 1, 7))),
    ]


def after(mine: Any) -> str:
    run = crane_run()
    weights = mine.attention(run.noted(1, "attn.q"), run.noted(1, "attn.k"), run.one_hot())
    shares = ", ".join(f"{share:.2f}" for share in weights[0, :, CRANE, MARSH].tolist())
    return (
        f'Your attention in block 1 of the trained model, reading "{TEXT}": "crane" takes '
        f'{shares} from "marsh" in heads 0 to 3.'
    )
