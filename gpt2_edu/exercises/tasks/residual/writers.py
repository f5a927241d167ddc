"""Who writes along the final direction?"""

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
MINUTES = 15

TASK = r"""
The stream after the last block is a sum: the embeddings plus what each layer wrote. A long contribution need not matter, because it may point elsewhere. So take, for each writer and each token, the dot product of its contribution with the *direction* of the final stream, which is the final stream divided by its own length.

`model` is a GPT-2 of the package with N blocks, `idx` is (B, T). The result is (2N + 1, B, T), in the order in which they write: `embd`, then for each block `attn.out` and `mlp.out`. In the chapter's names these are `embd`, `transformer.h.0.attn.out`, `transformer.h.0.mlp.out` and so on, and the final stream is `transformer.h.{N - 1}.resid_post`.

For example, if the writers of one token contribute (3, 0) and (0, 4), the final stream is (3, 4) with the length 5, its direction is (0.6, 0.8), and the dot products are 1.8 and 3.2. Their sum is 5, the length of the final stream, so each is a writer's part of that length.

When your answer is right, the check uses it to show the parts for the full stop of "A crane ate fish."
"""

HINTS = (
    "Run the model under `trace`, as in the chapter, and collect the writers' names in a list.",
    "`end / end.norm(dim=-1, keepdim=True)` is the direction, (B, T, C). `keepdim` keeps the axis, so that it broadcasts.",
    "For a dot product for each token, multiply entry by entry and take `.sum(dim=-1)`. Then `torch.stack` the writers.",
)

START = '''
from gpt2_edu import trace


def writers(model, idx):
    """model: a GPT2 with N blocks; idx (B, T). Returns (2N + 1, B, T)."""
    ...
'''

SOLUTION = """
from gpt2_edu import trace


def writers(model, idx):
    with trace(model) as t, torch.no_grad():
        model(idx)
    N, names = model.config.n_layer, ["embd"]
    for n in range(N):
        names += [f"transformer.h.{n}.{part}.out" for part in ("attn", "mlp")]
    end = t[f"transformer.h.{N - 1}.resid_post"]  # (B, T, C)
    direction = end / end.norm(dim=-1, keepdim=True)
    return torch.stack([(t[name] * direction).sum(dim=-1) for name in names])
"""

_MISTAKE = """
from gpt2_edu import trace


def writers(model, idx):
    with trace(model) as t, torch.no_grad():
        model(idx)
    N, names = model.config.n_layer, [{first}]
    for n in range(N):
        names += [f"transformer.h.{{n}}.{{part}}.out" for part in ("attn", "mlp")]
    end = t[f"transformer.h.{{N - 1}}.resid_post"]
    {direction}
    parts = [{each} for name in names]
    return torch.stack(parts)
"""
_DIRECTION = "direction = end / end.norm(dim=-1, keepdim=True)"
_DOT = "(t[name] * direction).sum(dim=-1)"

MISTAKES = (
    Mistake(
        "These are the lengths of the contributions. A length does not say where it points: take "
        "the dot product with the direction of the end.",
        ("(t[name] * direction).sum(dim=-1)", "t[name].norm(dim=-1)"),
    ),
    Mistake(
        "The final stream is not divided by its length here, so the results are too large by that factor.",
        ("end / end.norm(dim=-1, keepdim=True)", "end"),
    ),
    Mistake(
        "Here the contributions are scaled to length 1 as well. Only the final stream is, for its "
        "direction, and the contributions keep their length.",
        ("(t[name] * direction).sum(dim=-1)", "F.cosine_similarity(t[name], end, dim=-1)"),
    ),
    Mistake(
        "The embeddings are missing. They are the first writer.",
        ('"embd"', ""),
    ),
    Mistake(
        "The final stream is divided by one length for all tokens. Each token has its own: `dim=-1, "
        "keepdim=True`.",
        ("end.norm(dim=-1, keepdim=True)", "end.norm()"),
    ),
    Mistake(
        "The length has lost its axis, so that (B, T, C) is divided by (B, T). Keep it: `end.norm(dim=-1, keepdim=True)`.",
        ("dim=-1, keepdim=True", "dim=-1"),
    ),
    Mistake(
        "The writers are stacked at the end, (B, T, 2N + 1). They come first: `torch.stack(…)` without `dim`.",
        ("for name in names])", "for name in names], dim=-1)"),
    ),
    Mistake(
        "All attentions come first here, and then all MLPs. Keep the order in which they write: attention and MLP of a block, then the next block.",
        (
            """\
    for n in range(N):
        names += [f"transformer.h.{n}.{part}.out" for part in ("attn", "mlp")]
""",
            """\
    for part in ("attn", "mlp"):
        names += [f"transformer.h.{n}.{part}.out" for n in range(N)]
""",
        ),
    ),
    Mistake(
        "There is no tensor of that name. The model has `model.config.n_layer` blocks, counted from 0, and its names are those of the chapter, with `transformer.h.0` in front.",
        ("N, names = model.config.n_layer,", "N, names = 3,"),
    ),
)

TOLERANCE = 1e-3  # sums of large numbers, on two ways through attention


@torch.no_grad()
def right(model, idx):
    written = []
    hooks = [
        module.register_forward_hook(lambda module, args, out: written.append(out))
        for name, module in model.named_modules()
        if name.endswith((".drop", ".attn", ".mlp"))
    ]
    try:
        model(idx)
    finally:
        for hook in hooks:
            hook.remove()
    contributions = torch.stack(written)
    end = contributions.sum(dim=0)
    return torch.einsum("wbtc,btc->wbt", contributions, end) / torch.linalg.vector_norm(end, dim=-1)


@cache
def small():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(8)
        config = GPT2Config(vocab_size=11, block_size=8, n_layer=2, n_head=3, n_embd=12)
        return GPT2(config).eval()


def cases():
    model, encoding = crane(), load_tokenizer("crane")
    ids = torch.tensor([encoding.encode("A crane ate fish.")])
    generator = torch.Generator().manual_seed(8)
    random = torch.randint(11, (2, 5), generator=generator)
    return [
        Case("a new model with two blocks, one token", (small(), random[:1, :1])),
        Case("the same, two texts of five tokens", (small(), random)),
        Case("the trained model, the running sentence", (model, ids)),
    ]


def after(answer):
    model, encoding = crane(), load_tokenizer("crane")
    parts = answer(model, torch.tensor([encoding.encode("A crane ate fish.")]))[:, 0, -1].tolist()
    layers = [f"h.{n}.{part}.out" for n in range(model.config.n_layer) for part in ("attn", "mlp")]
    lines = [f"  The final stream of the full stop is {sum(parts):.0f} long. The parts in it:"]
    for name, part in zip(["embd", *layers], parts, strict=True):
        lines.append(f"    {name:13}{part:7.1f}")
    return "\n".join(lines)
