"""Replace parts of a forward pass, and measure how the prediction changes.

``without`` removes heads and MLPs: it makes the ``edits`` of a ``trace``. ``causal_map`` swaps
vectors between the runs of two texts. Both take any model that notes its tensors under the names
that GPT2 uses, such as the reader's own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..language_model import eval_mode
from ..tape import Tape, trace
from ..tokenizer import Encoding
from .divergence import encode_pair, first_tokens
from .scoring import device_of, model_log_probs

Edits = dict[str, Callable[[Tensor], Tensor]]


def record(model: nn.Module, ids: Sequence[int]) -> Tape:
    """The tape of one pass over a text."""
    with eval_mode(model), torch.inference_mode(), trace(model) as t:
        model(torch.tensor([ids], device=device_of(model)))
    return t


# ---- Remove parts ------------------------------------------------------------------------------


def mean_outputs(model: nn.Module, rows: Sequence[Sequence[int]]) -> dict[str, Tensor]:
    """The mean output of each head and each MLP over all tokens of these texts, by path.

    rows: the ids of each text. ``attn.heads`` of a layer is (H, 1, D), ``mlp.out`` (1, C). Raises
    ValueError for no rows, and what the model raises.
    """
    sums: dict[str, Tensor] = {}
    for row in rows:
        for path, x in record(model, row).items():
            if path.endswith(("attn.heads", "mlp.out")):
                total = x[0].cpu().double().sum(dim=-2, keepdim=True)  # over T
                sums[path] = sums[path] + total if path in sums else total
    if not sums:
        raise ValueError("no mean without texts: give the ids of at least one")
    return {path: (total / sum(map(len, rows))).float() for path, total in sums.items()}


def without(
    model: nn.Module,
    *,
    heads: Iterable[tuple[int, int]] = (),
    mlps: Iterable[int] = (),
    means: Mapping[str, Tensor] | None = None,
) -> Edits:
    """Edits for ``trace`` that remove heads, (layer, head), and the MLPs of these layers.

    A removed part gives every token the same output: zeros, or its mean, if ``means`` are those of
    ``mean_outputs``. Raises ValueError for a part that the model does not have or does not note.
    Source: Michel et al. 2019, "Are Sixteen Heads Really Better than One?".
    """
    if means is None:
        means = {p: torch.zeros_like(x) for p, x in mean_outputs(model, [[0]]).items()}
    attentions = [path for path in means if path.endswith("attn.heads")]
    outputs = [path for path in means if path.endswith("mlp.out")]
    removed = defaultdict(list)
    for layer, head in heads:
        if not (0 <= layer < len(attentions) and 0 <= head < means[attentions[layer]].size(0)):
            sizes = {means[path].size(0) for path in attentions}
            raise ValueError(
                f"this model has layers 0 … {len(attentions) - 1} with heads "
                f"0 … {max(sizes, default=0) - 1}, got {layer}.{head}"
            )
        removed[attentions[layer]].append(head)
    edits = {path: _constant(means[path], own) for path, own in removed.items()}
    for layer in mlps:
        if not 0 <= layer < len(outputs):
            raise ValueError(f"this model has MLPs 0 … {len(outputs) - 1}, got {layer}")
        edits[outputs[layer]] = _constant(means[outputs[layer]])
    return edits


def _constant(vectors: Tensor, own: list[int] | slice = slice(None)) -> Callable[[Tensor], Tensor]:
    """Puts vectors (H, 1, D) in place of some heads of (B, H, T, D), or (1, C) of all (B, T, C)."""

    def edit(x: Tensor) -> Tensor:
        x = x.clone()
        x[:, own] = vectors[own].to(x)
        return x

    return edit


# ---- Swap vectors between two texts ------------------------------------------------------------


@dataclass(frozen=True)
class CausalMap:
    """What ``causal_map`` returns."""

    tokens: tuple[tuple[str, str], ...]  # (left, right) at each of the T positions
    stages: tuple[str, ...]  # paths, in the order of the pass
    # (stages, T): 0 if the swap there changes nothing, 1 if the prediction becomes the right text's
    moved: Tensor
    left: float  # log-odds of the first follower against the second after the left text, in nats
    right: float  # and after the right text


def causal_map(
    model: nn.Module,
    tokenizer: Encoding,
    left: str,
    right: str,
    followers: tuple[str, str],
    stages: Sequence[str] = ("embd", "resid_post"),
) -> CausalMap:
    """Swap one vector at a time: where does the right text's, in the left text's run, matter?

    For each stage and each position, the run of the left text gets the vector that the right text
    has there. The prediction after the last token is measured by the log-odds of two ``followers``,
    such as (" ate", " lifted"), and ``moved`` is how far they go from the left text's to the right
    text's. ``stages`` are names as ``Tape.ending`` takes them, of tensors (B, T, C): the residual
    stream by default, or ("attn.out", "mlp.out") for what each attention and each MLP adds. Both
    texts follow an <|endoftext|> and must have the same number of tokens; only the first token of a
    follower is used. One forward pass of batch size T per stage.

    Raises ValueError for texts of different lengths, followers that are empty or begin with the
    same token, a stage that the model does not note or that is not (B, T, C), and if both texts
    give the followers the same log-odds. Sources: Vig et al. 2020, "Investigating Gender Bias in
    Language Models Using Causal Mediation Analysis"; Geiger et al. 2021, "Causal Abstractions of
    Neural Networks".
    """
    ids, tokens = encode_pair(tokenizer, left, right)
    first, second = first_tokens(tokenizer, followers)
    T = len(tokens)
    rows = torch.tensor(ids[0]).repeat(T, 1)  # row t gets its vector at position t
    at = torch.arange(T)

    def log_odds(ids: Tensor, edits: Edits) -> Tensor:  # (B, T) → (B,)
        with trace(model, edits=edits):
            log_probs = model_log_probs(model)(ids)[:, -1]
        return log_probs[:, first] - log_probs[:, second]

    begin, end = (log_odds(torch.tensor([row]), {}).item() for row in ids)
    if abs(begin - end) < 1e-3:
        raise ValueError(
            f"after both texts the log-odds of {followers!r} are {begin:.3f} nats, so no swap can "
            "move them from one to the other: choose other followers or texts"
        )
    source = record(model, ids[1])
    named = {path for stage in stages for path in source.ending(stage)}
    paths = [path for path in source if path in named]
    moved = torch.zeros(len(paths), T)
    for s, path in enumerate(paths):
        vectors = source[path]
        if vectors.ndim != 3:
            raise ValueError(f"a stage must be (B, T, C), but {path!r} is {tuple(vectors.shape)}")

        def swap(x: Tensor, vectors: Tensor = vectors) -> Tensor:  # (T, T, C)
            x = x.clone()
            x[at, at] = vectors[0]
            return x

        moved[s] = ((begin - log_odds(rows, {path: swap})) / (begin - end)).cpu()
    return CausalMap(tokens, tuple(paths), moved, begin, end)
