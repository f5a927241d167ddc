"""Logits of the newest token from kept keys and values."""

from typing import Any

import torch
from torch import Tensor

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
        "The heads are not moved back before they are joined. `transpose(1, 2)` makes (B, T, H, D) of them, then `flatten(start_dim=2)`.",
        (".transpose(1, 2)  # (B, T, H, D)", ""),
    ),
    Mistake(
        "The MLP reads `ln_1`. It has a norm of its own, `block.ln_2(x)`.",
        ("block.ln_2(x)", "block.ln_1(x)"),
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
    return {
        "logits": torch.stack(found),
        "keys kept in each layer": lengths,
        "kept in the order of the text": 0 in kept and torch.allclose(kept[0][0], keys, atol=1e-4),
    }


@torch.no_grad()
def right(idx: Tensor, prompt: int) -> Any:
    logits = theirs(SIZES)(idx)[0][:, prompt - 1 :]
    return {
        "logits": logits.transpose(0, 1).contiguous(),
        "keys kept in each layer": [idx.size(1)] * SIZES[2],
        "kept in the order of the text": True,
    }


def cases() -> list[Case]:
    idx = torch.tensor([[1, 2, 3, 4, 5, 6], [5, 4, 3, 2, 1, 0]])
    return [
        Case("the prompt alone", (idx[:1, :4], 4)),
        Case("a prompt and one more", (idx[:1, :5], 4)),
        Case("token by token, two texts", (idx, 1)),
    ]
