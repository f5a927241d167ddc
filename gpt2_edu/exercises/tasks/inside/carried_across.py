"""Carry a vector across."""

import torch

from ...exercise import Case, Mistake

ORDER = 60
KIND = "stretch"
LEVEL = 3
RANK = "extra"
MINUTES = 15

TASK = r"""
Write activation patching. The model reads the text `into`, but at one stage and one position it gets the vector that the text `source` has there. Then the pass continues.

`model` is a `GPT2`; `into` and `source` are ids, (1, T), of the same length; `stage` is the name of a tensor (B, T, C) on the tape, such as `"embd"` or `"transformer.h.0.resid_post"`, and `position` counts from 0. Return the logits at the last position, (V,).

Two results are known without any computing. If the texts differ at one position only, a swap of `"embd"` there gives the logits of `source`. After the last block, a swap at any position but the last changes nothing.
"""

HINTS = (
    "You need two passes, one over `source` to record its vector, and one over `into` with an edit.",
    '`trace(model, edits={stage: swap})` calls `swap(x)` with the tensor of that stage and continues with the result. `t["logits"]` is (B, T, V).',
    "In `swap`, clone `x`, set `x[:, position]` to the recorded `t[stage][:, position]`, and return it. The answer is `logits[0, -1]` of the second pass.",
)

START = '''
from gpt2_edu import trace


def carried_across(model, into, source, stage, position):
    """into, source (1, T); stage a name on the tape. Returns logits (V,)."""
    ...
'''

SOLUTION = """
from gpt2_edu import trace


@torch.no_grad()
def carried_across(model, into, source, stage, position):
    with trace(model) as t:
        model(source)
    vector = t[stage][:, position]  # kept before the next pass begins

    def swap(x):
        x = x.clone()
        x[:, position] = vector
        return x

    with trace(model, edits={stage: swap}):
        logits, _ = model(into)
    return logits[0, -1]
"""

TOLERANCE = 1e-4

MISTAKES = (
    Mistake(
        "These are the logits of `source`, as if all positions of the stage were swapped. Swap one position only, and return the logits of the second pass.",
        ("edits={stage: swap}", "edits={stage: t[stage]}"),
    ),
    Mistake(
        "It is the other way round. This carries a vector of `into` to `source`. Record `source`, and edit the pass over `into`.",
        ("model(source)", "model(into)"),
        ("logits, _ = model(into)", "logits, _ = model(source)"),
    ),
    Mistake(
        "The vector is added to the one that is there. It should replace it.",
        ("= vector", "+= vector"),
    ),
    Mistake(
        "These are the logits at the position of the swap. Return those at the last position, where the prediction is read.",
        ("logits[0, -1]", "logits[0, position]"),
    ),
    Mistake(
        "The second pass runs without the edit, so nothing was carried. Give `edits={stage: swap}` to its `trace`.",
        ("trace(model, edits={stage: swap})", "trace(model)"),
    ),
    Mistake(
        "`swap` returns nothing. The pass continues with what it returns, so end it with `return x`.",
        ("        return x\n", ""),
    ),
    Mistake(
        "Without the colon the position is used as an index of the texts. Axis 0 counts the texts and axis 1 the positions, `x[:, position]`.",
        ("t[stage][:, position]", "t[stage][position]"),
        ("x[:, position]", "x[position]"),
    ),
    Mistake(
        "Everything up to the position is swapped. Swap one position only, `x[:, position]`.",
        ("t[stage][:, position]", "t[stage][:, : position + 1]"),
        ("x[:, position]", "x[:, : position + 1]"),
    ),
    Mistake(
        "The result has the axis of the text, (1, V). Return `logits[0, -1]`, which is (V,).",
        ("logits[0, -1]", "logits[:, -1]"),
    ),
    Mistake(
        "The model returns a pair, the logits and a loss that is None here. Take the logits, `logits, _ = model(into)`.",
        ("logits, _ = model(into)", "logits = model(into)"),
    ),
    Mistake(
        "All positions are returned. The answer is the last one's logits, `logits[0, -1]`, which is (V,).",
        ("logits[0, -1]", "logits"),
    ),
)


@torch.no_grad()
def right(model, into, source, stage, position):
    # Without a tape: by PyTorch's own hooks, on what a block receives or returns.
    block = model.get_submodule("transformer.h.0" if stage == "embd" else stage[:15])
    kept = []

    def swap(x):
        x = x.clone()
        x[:, position] = kept[0][:, position]
        return x

    def hook(act):
        if stage == "embd":
            return block.register_forward_pre_hook(lambda _, args: act(args[0], args[1:]))
        return block.register_forward_hook(lambda _, args, out: act(out))

    handle = hook(lambda x, *rest: kept.append(x))
    model(source)
    handle.remove()
    handle = hook(lambda x, *rest: (swap(x), *rest[0]) if rest else swap(x))
    logits, _ = model(into)
    handle.remove()
    return logits[0, -1]


def cases():
    from gpt2_edu import GPT2, GPT2Config

    config = GPT2Config(
        vocab_size=11, block_size=8, n_layer=2, n_head=3, n_embd=12, initializer_range=0.3
    )
    with torch.random.fork_rng(devices=[]):  # the reader's random numbers stay as they are
        torch.default_generator.manual_seed(16)
        model = GPT2(config).eval()
    marsh, city = torch.tensor([[0, 3, 5, 7, 2]]), torch.tensor([[0, 3, 8, 7, 2]])
    other = torch.tensor([[4, 1, 9, 6, 10]])
    last = "transformer.h.1.resid_post"
    return [
        Case("the only token that differs, at the embeddings", (model, marsh, city, "embd", 2)),
        Case("after the last block, not at the last position", (model, marsh, city, last, 2)),
        Case("after the last block, at the last position", (model, marsh, city, last, 4)),
        Case(
            "halfway, in two texts that differ everywhere",
            (model, marsh, other, "transformer.h.0.resid_post", 1),
        ),
        Case("a text of one token", (model, marsh[:, 1:2], city[:, 2:3], "embd", 0)),
    ]
