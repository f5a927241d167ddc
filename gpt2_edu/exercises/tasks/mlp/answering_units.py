"""How many units are active?"""

from functools import cache

import torch

from ....config import GPT2Config
from ....model import GPT2
from ....tokenizer import load_tokenizer
from ...crane_run import crane
from ...exercise import Case, Mistake

ORDER = 50
KIND = "explore"
LEVEL = 2
RANK = "good"
MINUTES = 12

TASK = r"""
A unit is active at a token if its value before the nonlinearity, in `mlp.pre`, is above zero. For each token of a batch, count how many units of block `n` are active.

`model` is a GPT-2 of the package in evaluation mode, `idx` is (B, T), and `n` counts the blocks from 0. The result is (B, T), with whole numbers (`int64`). Run the model under `trace`, as in the chapter's fold *a trained MLP at work*. For block 0 the tensor is called `transformer.h.0.mlp.pre`.

When your answer is right, the check uses it to show how many units of each block are active at the tokens of "A crane ate fish."
"""

HINTS = (
    "`with trace(model) as t, torch.no_grad(): model(idx)` runs the model and fills `t`.",
    'The tensor is `t[f"transformer.h.{n}.mlp.pre"]`, of shape (B, T, F). Compared with 0 it gives a tensor (B, T, F) of True and False.',
    "`.sum(dim=-1)` counts the entries that are True along the last axis, which is F.",
)

START = '''
from gpt2_edu import trace


def answering_units(model, idx, n):
    """model: a GPT2; idx (B, T); n: the block. Returns (B, T), int64."""
    ...
'''

SOLUTION = """
from gpt2_edu import trace


def answering_units(model, idx, n):
    with trace(model) as t, torch.no_grad():
        model(idx)
    pre = t[f"transformer.h.{n}.mlp.pre"]  # (B, T, F)
    return (pre > 0).sum(dim=-1)
"""

MISTAKES = (
    Mistake(
        "Every unit is counted here, because after GELU a silent unit is not 0 but a little below. "
        "Count those above zero.",
        ("pre > 0", 't[f"transformer.h.{n}.mlp.act"] != 0'),
    ),
    Mistake(
        "This counts along T, at how many tokens each unit is active. The units are the last axis.",
        ("dim=-1", "dim=1"),
    ),
    Mistake(
        "This is the share of the units. To count them, use `sum` instead of `mean`.",
        ("sum", "float().mean"),
    ),
    Mistake(
        "This looks into block 0, whatever n is. Put n into the tensor's name.",
        ("pre > 0", 't["transformer.h.0.mlp.pre"] > 0'),
    ),
    Mistake(
        "These are the C entries that the MLP adds. The units' values are in `mlp.pre`.",
        ("pre > 0", 't[f"transformer.h.{n}.mlp.out"] > 0'),
    ),
    Mistake(
        "There is no tensor of this name on the tape. Call the model inside the `with` block, before you read from `t`, and put an f in front of the name's quotes, so that `{n}` becomes a number.",
        ('f"transformer', '"transformer'),
    ),
    Mistake(
        "The numbers are right, but they are floats. The sum of True and False is a whole number: `(pre > 0).sum(dim=-1)`.",
        (".sum(", ".float().sum("),
    ),
    Mistake(
        "This is one number for all tokens. Count along the last axis only: `sum(dim=-1)`.",
        (".sum(dim=-1)", ".sum()"),
    ),
    Mistake(
        "You add up the values of the units. Count them: compare with 0 first, then `sum`.",
        ("(pre > 0).sum(dim=-1)", "pre.clamp(min=0).sum(dim=-1).long()"),
    ),
    Mistake(
        "You count the silent units. A unit is active if its value is above zero, `pre > 0`.",
        ("pre > 0", "pre < 0"),
    ),
    Mistake(
        "This counts along B. The units are the last axis.",
        ("dim=-1", "dim=0"),
    ),
    Mistake(
        "You add up the values of the units. Count them: compare with 0 first, then `sum`.",
        ("(pre > 0).sum", "pre.sum"),
    ),
    Mistake(
        "The numbers are right, but in a list. Return the tensor.",
        (".sum(dim=-1)", ".sum(dim=-1).tolist()"),
    ),
    Mistake(
        "Blocks are counted from 0, so block n is `h.{n}`.",
        ("{n}", "{n - 1}"),
    ),
)


@torch.no_grad()
def right(model, idx, n):
    seen = []
    layer = model.transformer.h[n].mlp.c_fc
    hook = layer.register_forward_hook(lambda module, args, pre: seen.append(pre))
    try:
        model(idx)
    finally:
        hook.remove()
    return torch.count_nonzero(seen[0].relu(), dim=-1)


@cache
def small():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        config = GPT2Config(vocab_size=11, block_size=8, n_layer=2, n_head=3, n_embd=12)
        return GPT2(config).eval()


def cases():
    model, encoding = crane(), load_tokenizer("crane")
    ids = torch.tensor([encoding.encode("A crane ate fish.")])
    generator = torch.Generator().manual_seed(7)
    random = torch.randint(11, (2, 5), generator=generator)
    return [
        Case("the running sentence, block 0", (model, ids, 0)),
        Case("the running sentence, block 2", (model, ids, 2)),
        Case("a new model, two texts of five tokens", (small(), random, 1)),
        Case("one token", (small(), random[:1, :1], 0)),
    ]


def after(answer):
    model, encoding = crane(), load_tokenizer("crane")
    ids = encoding.encode("A crane ate fish.")
    counts = [answer(model, torch.tensor([ids]), n)[0].tolist() for n in range(3)]
    units = 4 * model.config.n_embd
    lines = [f"  Active units, of {units}, in blocks 0, 1 and 2:"]
    for place, i in enumerate(ids):
        numbers = "".join(f"{count[place]:6}" for count in counts)
        lines.append(f"    {encoding.decode([i]):8}{numbers}")
    return "\n".join(lines)
