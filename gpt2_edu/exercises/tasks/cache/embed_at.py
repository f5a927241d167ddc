"""Tokens in the wrong place."""

import torch

from gpt2_edu import GPT2, GPT2Config, trace

from ...exercise import Case, Mistake

ORDER = 40
KIND = "repair"
LEVEL = 2
RANK = "good"
MINUTES = 10

TASK = r"""
With a cache, the first step of the model has to know the positions of the new tokens. This function embeds T new tokens, `idx` (B, T), when `start` columns are in the cache already. `padding` (B,) counts, for each text, the columns on the left that are filling. A text's own positions begin after them. The filling itself gets position 0, which does not matter, because no token attends to it.

The prompt comes out right. The text goes wrong as soon as the first new token is decoded. Find out why, and fix it. The rest of the function, `clamp` included, is right.

Take a batch of two texts with `padding` = (0, 2) and `start` = 5, and one new token each. It is at position 5 in the first text and at position 3 in the second.
"""

HINTS = (
    "Which argument is not used?",
    "The columns of the new tokens are start, start + 1, …, start + T − 1.",
    "Use `torch.arange(start, start + idx.size(1))`, and leave the rest as it is.",
)

START = '''
def embed_at(idx, wte, wpe, start, padding):
    """idx (B, T); wte (V, C); wpe (block_size, C). Returns (B, T, C)."""
    raise NotImplementedError("find the bug, fix it, delete this line")
    columns = torch.arange(idx.size(1))
    positions = (columns - padding.unsqueeze(1)).clamp(min=0)  # (B, T)
    return wte[idx] + wpe[positions]
'''

SOLUTION = """
def embed_at(idx, wte, wpe, start, padding):
    columns = torch.arange(start, start + idx.size(1))
    positions = (columns - padding.unsqueeze(1)).clamp(min=0)  # (B, T)
    return wte[idx] + wpe[positions]
"""

MISTAKES = (
    Mistake(
        "The bug is still there. The columns begin at 0 in every step, so a decoded token counts as the first of the text. Begin at `start`.",
        ("start, start + idx", "idx"),
    ),
    Mistake(
        "A short text gets positions that are too high. First add `start` to the columns, then subtract the padding, and cut at 0 last.",
        ("start, start + idx", "idx"),
        ("[positions]", "[positions + start]"),
    ),
    Mistake(
        "The padding counts in the positions now. A short text must begin at position 0 after its filling, so subtract `padding`.",
        ("[positions]", "[columns]"),
    ),
    Mistake(
        "The end of `arange` is T here, as if nothing had come before. T new tokens end at start + T.",
        ("start + idx", "idx"),
    ),
    Mistake(
        "Without `clamp` the filling has negative positions, and PyTorch counts those from the end of wpe. Keep it.",
        (".clamp(min=0)", ""),
    ),
    Mistake(
        "The padding is added, but filling on the left moves a text to later columns. Subtract it to get back to the text's own positions.",
        ("[positions]", "[columns + padding.unsqueeze(1)]"),
    ),
    Mistake(
        "All T new tokens are in the column `start` here, which is right for one token only. They are in the columns start, start + 1, …, so use `arange`.",
        ("torch.arange(start, start + idx.size(1))", "torch.tensor([start])"),
    ),
    Mistake(
        "The columns begin one too late. `start` columns are in the cache already, 0 to start − 1, so the first new one is `start`.",
        (
            "torch.arange(start, start + idx.size(1))",
            "torch.arange(start, start + idx.size(1)) + 1",
        ),
    ),
    Mistake(
        "The padding is subtracted in the prompt only. A decoded token of a short text must count from the text's own beginning as well.",
        ("[positions]", "[columns if start else positions]"),
    ),
    Mistake(
        "`padding` is (B,), and the columns are (T,). `padding.unsqueeze(1)` makes (B, 1) of it, so that the difference is (B, T).",
        ("padding.unsqueeze(1)", "padding"),
    ),
    Mistake(
        "The tokens' own vectors are missing. Add the rows of `wte` and of `wpe`.",
        ("wte[idx] + ", ""),
    ),
    Mistake(
        "Your columns end at `start`, as if it counted the new tokens as well. `start` columns are in the cache already, so the new ones are start, start + 1, …",
        ("torch.arange(start, start + idx.size(1))", "torch.arange(start - idx.size(1), start)"),
    ),
)


@torch.no_grad()
def right(idx, wte, wpe, start, padding):
    (V, C), window = wte.shape, wpe.size(0)
    config = GPT2Config(vocab_size=V, block_size=window, n_layer=1, n_head=1, n_embd=C)
    model = GPT2(config).eval()
    model.get_parameter("transformer.wte.weight").copy_(wte)
    model.get_parameter("transformer.wpe.weight").copy_(wpe)
    cache = model.make_cache(idx.size(0))
    if start:
        before = torch.zeros(idx.size(0), start, dtype=torch.int64)
        model(before, cache=cache, padding=padding)
    with trace(model) as seen:
        model(idx, cache=cache, padding=padding)
    return seen["embd"]


def cases():
    generator = torch.Generator().manual_seed(15)
    wte = torch.randn(11, 5, generator=generator)
    wpe = torch.randn(13, 5, generator=generator)
    idx = torch.randint(11, (3, 7), generator=generator)
    none, some = torch.tensor([0, 0, 0]), torch.tensor([0, 2, 4])
    ones = torch.ones(11, 1), torch.arange(13.0).unsqueeze(1)
    return [
        Case("the prompt", (idx, wte, wpe, 0, none)),
        Case("the example", (idx[:2, :1], *ones, 5, some[:2])),
        Case("the prompt, with filling", (idx, wte, wpe, 0, some)),
        Case("a chunk of three after five", (idx[:, :3], wte, wpe, 5, some)),
        Case("one text, one token", (idx[:1, :1], wte, wpe, 6, none[:1])),
    ]
