"""Compare a model's activations on two texts, by distance and with the logit lens."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn import functional as F

from ..language_model import LanguageModel, eval_mode
from ..tape import trace
from ..tokenizer import Encoding


@dataclass(frozen=True)
class Divergence:
    """Distances between the vectors of two texts, at each stage and position."""

    tokens: tuple[tuple[str, str], ...]  # (left, right) at each of the T positions
    stages: tuple[str, ...]  # "embd", "h.0.resid_mid", "h.0.resid_post" …
    cosine: tuple[tuple[float, ...], ...]  # stages × T: 1 - cos, from 0 (same direction) to 2
    relative: tuple[tuple[float, ...], ...]  # stages × T: distance over the mean norm of the two
    # stages × T, in nats: log-odds of the first follower against the second, left minus right
    # text, by the logit lens. None without followers.
    lens: tuple[tuple[float, ...], ...] | None = None


def divergence(
    model: LanguageModel,
    tokenizer: Encoding,
    left: str,
    right: str,
    followers: tuple[str, str] | None = None,
) -> Divergence:
    """Compare two texts with the same number of tokens, each after an <|endoftext|>, by layer.

    ``followers`` are two possible next words, such as (" ate", " lifted"), of which the first fits
    the left text. Their logits are computed at every stage by applying the final norm and the
    head to it (nostalgebraist 2020, "interpreting GPT: the logit lens"). Only the first token of
    a follower is used. Raises ValueError for texts of different lengths, and for followers that
    are empty or begin with the same token.
    """
    ids, tokens = encode_pair(tokenizer, left, right)
    if followers is not None:
        first, second = first_tokens(tokenizer, followers)
    with eval_mode(model), torch.inference_mode(), trace(model) as t:
        model(torch.tensor(ids, device=model.device))
        stages = [name for name in t if name.endswith(("embd", "resid_mid", "resid_post"))]
        stream = torch.stack([t[name] for name in stages])  # (stages, 2, T, C)
        logits = model.lm_head(model.transformer.ln_f(stream)).float().cpu()
    a, b = stream.double().cpu().unbind(dim=1)  # (stages, T, C) each
    cosine = (1 - F.cosine_similarity(a, b, dim=-1)).clamp(min=0)  # rounding can make it negative
    relative = (a - b).norm(dim=-1) / ((a.norm(dim=-1) + b.norm(dim=-1)) / 2)
    tables = [cosine, relative]  # (stages, T) each
    if followers is not None:
        preferred = logits[..., first] - logits[..., second]  # (stages, 2, T)
        tables.append(preferred[:, 0] - preferred[:, 1])
    return Divergence(
        tokens,
        tuple(name.removeprefix("transformer.") for name in stages),
        *(tuple(map(tuple, table.tolist())) for table in tables),
    )


def encode_pair(
    tokenizer: Encoding, left: str, right: str
) -> tuple[list[list[int]], tuple[tuple[str, str], ...]]:
    """The ids of two texts, each after an <|endoftext|>, and the tokens (left, right) in pairs.

    Raises ValueError if the texts have different numbers of tokens.
    """
    ids = [[tokenizer.eot_token, *tokenizer.encode_ordinary(text)] for text in (left, right)]
    pieces = [[tokenizer.decode([i]) for i in row] for row in ids]
    if len(ids[0]) != len(ids[1]):
        found = [f"{len(row) - 1} ({' | '.join(row[1:])})" for row in pieces]
        raise ValueError(
            f"the two texts must have the same number of tokens, but {left!r} has {found[0]} "
            f"and {right!r} has {found[1]}"
        )
    return ids, tuple(zip(*pieces, strict=True))


def first_tokens(tokenizer: Encoding, followers: tuple[str, str]) -> list[int]:
    """The ids that two possible next words begin with. Raises ValueError if they are equal."""
    first = [tokenizer.encode_ordinary(word)[:1] for word in followers]
    if not all(first) or first[0] == first[1]:
        raise ValueError(f"the two followers must begin with different tokens, got {followers!r}")
    return [token for (token,) in first]
