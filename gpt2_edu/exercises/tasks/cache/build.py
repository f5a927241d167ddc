"""Logits of the newest token from kept keys and values."""

from typing import Any

import torch
from torch import Tensor

from ...comparing import Labelled
from ...exercise import Case, Mistake, changed
from ...step import fill
from ..gpt2.build import NAMES, theirs
from ..mask.build import SOLUTION as CAUSAL

PARTS = ("next_logits",)
IMPORTS = ("import torch",)

START = '''
@torch.no_grad()
def next_logits(model, idx, kept):
    """Logits (B, V) after the new tokens idx (B, T). kept: {layer: (k, v)}."""
    ...
'''

SOLUTION = '''
@torch.no_grad()
def next_logits(model, idx, kept):
    """Logits (B, V) after the new tokens idx (B, T). kept: {layer: (k, v)}."""
    start = kept[0][0].size(2) if kept else 0
    positions = torch.arange(start, start + idx.size(1), device=idx.device)
    x = model.embeddings.wte(idx) + model.embeddings.wpe(positions)
    for layer, block in enumerate(model.h):
        attn = block.attn
        q, k, v = attn.c_attn(block.ln_1(x)).split(x.size(-1), dim=-1)
        q, k, v = map(attn.split_heads, (q, k, v))
        if layer in kept:
            k, v = (torch.cat(pair, dim=2) for pair in zip(kept[layer], (k, v)))
        kept[layer] = k, v
        heads = attention(q, k, v).transpose(1, 2)  # (B, T, H, D)
        x = x + attn.c_proj(heads.flatten(start_dim=2))
        x = x + block.mlp(block.ln_2(x))
    return model.lm_head(model.ln_f(x[:, -1]))
'''


MISTAKES = (
    Mistake(
        "The positions start again at 0 in every call. They must continue after the kept tokens, "
        "`start = kept[0][0].size(2)`.",
        ("kept[0][0].size(2) if kept else 0", "0"),
    ),
    Mistake(
        "The new token sees only itself. Put the kept keys and values in front of the new ones, "
        "along axis 2.",
        ("        if layer in kept:", "        if False:"),
    ),
    Mistake(
        "Your `attention` of chapter 5 puts its triangle at the top left, where one new token sees "
        "only the first key (the triangle has the shape of the scores, or is `is_causal`). In "
        "my_gpt2.py, in `attention`, make it `torch.ones(T, S, dtype=torch.bool)"
        ".tril(S - T)`, with `T, S = q.size(-2), k.size(-2)`; then build again.",
        code=changed(CAUSAL, ("torch.ones(T, T,", "torch.ones(T, k.size(-2),")) + SOLUTION,
    ),
    Mistake(
        "You only keep the first call's keys and values. Put all of them, old and new, back into "
        "`kept[layer]` in every call.",
        ("        kept[layer] = k, v\n", "        kept.setdefault(layer, (k, v))\n"),
    ),
    Mistake(
        "You return logits for every new token. Only the last row goes through the head, "
        "`model.ln_f(x[:, -1])`.",
        ("x[:, -1]", "x"),
    ),
    Mistake(
        "In your file the parts have your names, `model.embeddings`, `model.h`, `model.ln_f`. And "
        "`attend` and `merge_heads` are only on the page, so write them out.",
        ("model.embeddings.wte", "model.transformer.wte"),
    ),
    Mistake(
        "The new keys and values are in front of the kept ones. One new token does not notice, but a mask for several would hide the wrong keys. The old ones come first.",
        ("zip(kept[layer], (k, v))", "zip((k, v), kept[layer])"),
    ),
    Mistake(
        "You keep the new keys and values only, so the next call has forgotten the rest. Put the joined ones into `kept[layer]`.",
        ("        kept[layer] = k, v\n", ""),
        ("        if layer in kept:", "        new = k, v\n        if layer in kept:"),
        ("        heads = attention", "        kept[layer] = new\n        heads = attention"),
    ),
    Mistake(
        "`size(1)` counts the heads. The tokens that are kept are along axis 2, `kept[0][0].size(2)`.",
        ("size(2) if kept", "size(1) if kept"),
    ),
    Mistake(
        "Nothing stays in the caller's dictionary, because `kept` is another one here. Write into the given one, `kept[layer] = k, v`.",
        ("    start = ", "    kept = dict(kept)\n    start = "),
    ),
    Mistake(
        "The heads' results are added as they are. They go through `attn.c_proj` first.",
        ("attn.c_proj(heads.flatten(start_dim=2))", "heads.flatten(start_dim=2)"),
    ),
    Mistake(
        "The heads are not side by side for each token. `transpose(1, 2)` makes (B, T, H, D) of them, and `flatten(start_dim=2)` joins the last two axes.",
        (".transpose(1, 2)  # (B, T, H, D)", ""),
    ),
    Mistake(
        "The MLP reads `ln_1`. It has a norm of its own, `block.ln_2(x)`.",
        ("block.ln_2(x)", "block.ln_1(x)"),
    ),
    Mistake(
        "The first norm is missing. `c_attn` reads `block.ln_1(x)`.",
        ("attn.c_attn(block.ln_1(x))", "attn.c_attn(x)"),
    ),
    Mistake(
        "The second norm is missing. The MLP reads `block.ln_2(x)`.",
        ("block.mlp(block.ln_2(x))", "block.mlp(x)"),
    ),
    Mistake(
        "The MLP is missing. Each block ends with `x = x + block.mlp(block.ln_2(x))`.",
        ("        x = x + block.mlp(block.ln_2(x))\n", ""),
    ),
    Mistake(
        "There is no causal mask, so that the tokens of the prompt see those after them. Call your `attention`, which hides them.",
        ("attention(q, k, v)", "((q @ k.mT / q.size(-1) ** 0.5).softmax(dim=-1) @ v)"),
    ),
    Mistake(
        "The keys alone are kept. Keep the values as well: `kept[layer] = k, v`.",
        ("kept[layer] = k, v", "kept[layer] = k"),
    ),
    Mistake(
        "The keys are joined with the kept ones, and the values are not. Put the kept values, `kept[layer][1]`, in front of v.",
        (
            "k, v = (torch.cat(pair, dim=2) for pair in zip(kept[layer], (k, v)))",
            "k = torch.cat([kept[layer][0], k], dim=2)",
        ),
    ),
    Mistake(
        "The kept keys are in front of the values. The kept values are `kept[layer][1]`.",
        ("zip(kept[layer], (k, v))", "zip((kept[layer][0], kept[layer][0]), (k, v))"),
    ),
    Mistake(
        "Queries and keys are swapped. `c_attn` gives q, k, v in this order.",
        ("q, k, v = attn.c_attn", "k, q, v = attn.c_attn"),
    ),
    Mistake(
        "After the first layer `kept` is not empty, but it has nothing of the second yet. Ask for this layer: `if layer in kept`.",
        ("if layer in kept", "if kept"),
    ),
    Mistake(
        "The result has an axis for the one token, (B, 1, V). Take the last row without it, `x[:, -1]`.",
        ("x[:, -1]", "x[:, -1:]"),
    ),
    Mistake(
        "You return the logits of the first new token. The last one predicts the next, `x[:, -1]`.",
        ("x[:, -1]", "x[:, 0]"),
    ),
    Mistake(
        "The positions are one too late. They are counted from 0, so the first new one is the number of kept tokens.",
        ("kept[0][0].size(2) if kept", "kept[0][0].size(2) + 1 if kept"),
    ),
    Mistake(
        "The last norm is missing. `lm_head` reads `model.ln_f(x[:, -1])`.",
        ("model.ln_f(x[:, -1])", "x[:, -1]"),
    ),
    Mistake(
        "The attention's output replaces the stream. It is added to it, `x = x + …`.",
        ("x = x + attn", "x = attn"),
    ),
    Mistake(
        "The positions are missing. Add the rows of `wpe` for them.",
        (" + model.embeddings.wpe(positions)", ""),
    ),
    Mistake(
        "`len(kept)` counts the layers. The tokens that are kept are along axis 2, `kept[0][0].size(2)`.",
        ("kept[0][0].size(2) if kept else 0", "len(kept)"),
    ),
    Mistake(
        "All layers write to one place. Each has its own keys and values, `kept[layer]`.",
        ("kept[layer] = k, v", "kept[0] = k, v"),
    ),
    Mistake(
        "The kept and the new ones are joined along the axis of the heads. In (B, H, T, D) the tokens are axis 2.",
        ("dim=2) for pair", "dim=1) for pair"),
    ),
    Mistake(
        "`flatten` starts one axis too early and joins the tokens as well. Keep B and T: `start_dim=2`.",
        ("start_dim=2", "start_dim=1"),
    ),
    Mistake(
        "All layers read the keys and values of the first. Each has its own, `kept[layer]`.",
        ("if layer in kept", "if 0 in kept"),
        ("zip(kept[layer], (k, v))", "zip(kept[0], (k, v))"),
    ),
    Mistake(
        "The positions begin with `start` and must end T later: `torch.arange(start, start + idx.size(1))`.",
        ("start, start + idx.size(1)", "start, idx.size(1)"),
    ),
    Mistake(
        "The positions begin with the number of kept tokens, `kept[0][0].size(2)`. `idx.size(1)` counts the new ones.",
        ("kept[0][0].size(2) if", "idx.size(1) if"),
    ),
    Mistake(
        "You normalise the stream itself. Only what attention or the MLP reads is normalised, and x stays as it is.",
        (
            "        q, k, v = attn.c_attn(block.ln_1(x))",
            "        x = block.ln_1(x)\n        q, k, v = attn.c_attn(x)",
        ),
    ),
    Mistake(
        "You normalise the stream itself. Only what attention or the MLP reads is normalised, and x stays as it is.",
        (
            "        x = x + block.mlp(block.ln_2(x))",
            "        x = block.ln_2(x)\n        x = x + block.mlp(x)",
        ),
    ),
    Mistake(
        "You join the heads without moving H back, so one row has entries of different tokens. First `transpose(1, 2)`, then `flatten(start_dim=2)`.",
        ("attention(q, k, v).transpose(1, 2)", "attention(q, k, v)"),
        ("heads.flatten(start_dim=2)", "heads.reshape(x.shape)"),
    ),
    Mistake(
        "`split` takes the size of a piece, C, and not the number of pieces, 3. (`chunk(3, dim=-1)` takes the number.)",
        ("split(x.size(-1), dim=-1)", "split(3, dim=-1)"),
    ),
    Mistake(
        "Only the last of the new tokens is read. A prompt has many, and the keys of all of them are kept.",
        ("    x = model", "    idx, positions = idx[:, -1:], positions[-1:]\n    x = model"),
    ),
    Mistake(
        "Only the queries are split into heads. The keys and values are, too, before they are kept.",
        ("q, k, v = map(attn.split_heads, (q, k, v))", "q = attn.split_heads(q)"),
    ),
)

TOLERANCE = 1e-4
SIZES = (13, 7, 2, 3, 12)


@torch.no_grad()
def use(mine: Any, idx: Tensor, prompt: int) -> Any:
    """The logits after the prompt, then after each token that follows it."""
    whole: Any = fill(mine.GPT2(*SIZES), theirs(SIZES), NAMES)
    kept: dict[int, Any] = {}
    found = [mine.next_logits(whole, idx[:, :prompt], kept)]
    found += [mine.next_logits(whole, idx[:, [t]], kept) for t in range(prompt, idx.size(1))]
    lengths = [kept[layer][0].size(2) for layer in sorted(kept)]
    attn, x = whole.h[0].attn, whole.h[0].ln_1(whole.embeddings(idx))
    keys = attn.split_heads(attn.c_attn(x).chunk(3, dim=-1)[1])
    return Labelled(
        {f"the logits of call {i}": logits for i, logits in enumerate(found, 1)}
        | {
            "keys kept in each layer": lengths,
            "the kept keys are those of the text, in its order": 0 in kept
            and torch.allclose(kept[0][0], keys, atol=1e-4),
        }
    )


@torch.no_grad()
def right(idx: Tensor, prompt: int) -> Any:
    logits = theirs(SIZES)(idx)[0][:, prompt - 1 :]
    return Labelled(
        {f"the logits of call {i}": row for i, row in enumerate(logits.unbind(1), 1)}
        | {
            "keys kept in each layer": [idx.size(1)] * SIZES[2],
            "the kept keys are those of the text, in its order": True,
        }
    )


def cases() -> list[Case]:
    idx = torch.tensor([[1, 2, 3, 4, 5, 6], [5, 4, 3, 2, 1, 0]])
    return [
        Case("the prompt alone", (idx[:1, :4], 4)),
        Case("a prompt and one more", (idx[:1, :5], 4)),
        Case("token by token, two texts", (idx, 1)),
    ]
