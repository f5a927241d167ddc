"""Log-probabilities: what a model, or a simpler predictor, expects as the next token."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tiktoken
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ..crane.surprisal import word_tokens
from ..model import GPT2, eval_mode

# ids (B, T) int64 → log-probabilities (B, T, V) in nats of the token that follows each position.
# A position may look at the tokens before it and its own, at no later one.
LogProbs = Callable[[Tensor], Tensor]


def model_log_probs(model: GPT2) -> LogProbs:
    """What a model predicts. Raises ValueError, when called, for more tokens than its window."""

    def log_probs(ids: Tensor) -> Tensor:
        with eval_mode(model), torch.inference_mode():
            return model(ids.to(model.device))[0].float().log_softmax(dim=-1)

    return log_probs


def window_log_probs(model: GPT2, n: int) -> LogProbs:
    """What the same model predicts if it sees only the last n tokens.

    They then stand at positions 0 to n - 1. A model that was trained on blocks cut anywhere out
    of its corpus knows such beginnings. Raises ValueError for n outside 1 … block_size.
    """
    if not 1 <= n <= model.config.block_size:
        raise ValueError(
            f"a window must lie in 1 … block_size={model.config.block_size} tokens, got {n}"
        )
    full = model_log_probs(model)

    def log_probs(ids: Tensor) -> Tensor:
        first = full(ids[:, :n])  # these see everything before them
        if ids.size(1) <= n:
            return first
        windows = ids.unfold(1, n, 1)[:, 1:]  # (B, T - n, n), ending at n … T - 1
        # Texts that begin alike share their windows: each is computed once.
        distinct, which = windows.flatten(0, 1).unique(dim=0, return_inverse=True)
        with eval_mode(model), torch.inference_mode():
            last = [
                model(w.to(model.device), last_only=True)[0][:, 0] for w in distinct.split(1024)
            ]
            later = torch.cat(last).float().log_softmax(dim=-1)
        rest = later[which.to(later.device)].view(*windows.shape[:2], -1)
        return torch.cat([first, rest], dim=1)

    return log_probs


class Bigram:
    """Predicts from the last token alone, by counting which pairs follow each other in a corpus.

    ids: (n,) int64, the texts one after the other. ``add`` is added to the count of every pair, so
    that none is impossible. Raises ValueError for fewer than two ids, or an ``add`` not above 0.
    """

    def __init__(self, ids: Tensor, vocab_size: int, add: float = 0.01) -> None:
        if ids.ndim != 1 or ids.numel() < 2:
            raise ValueError(f"a bigram is counted on ids of shape (n,), got {tuple(ids.shape)}")
        if not add > 0:
            raise ValueError(f"add must be above 0, got {add}")
        pairs = ids[:-1] * vocab_size + ids[1:]
        counts = torch.bincount(pairs, minlength=vocab_size**2).view(vocab_size, vocab_size) + add
        self.table = (counts / counts.sum(dim=-1, keepdim=True)).log()  # (V, V)

    def __call__(self, ids: Tensor) -> Tensor:
        return self.table[ids]


def encode_words(tokenizer: tiktoken.Encoding, words: Sequence[str]) -> tuple[list[int], list[int]]:
    """The ids of a story with <|endoftext|> before and after it, and where each word begins.

    Word i has the ids from ``starts[i]`` to ``starts[i + 1] - 1``; the last of ``starts`` is the
    place of the closing <|endoftext|>.
    """
    ids, starts = [tokenizer.eot_token], []
    for before, word in zip([None, *words], [*words, ""], strict=True):
        starts.append(len(ids))
        ids += word_tokens(tokenizer, before, word)
    return ids, starts


def pad_right(rows: Sequence[Sequence[int]]) -> Tensor:
    """Token lists as one batch (B, T). Attention is causal, so the padding changes no score."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True)


def score_tokens(
    predictor: GPT2 | LogProbs, rows: Sequence[Sequence[int]], batch_size: int = 16
) -> list[Tensor]:
    """The log-probability in nats of each token of each row, given those before it.

    A row of n ids has n - 1 such scores, for all but its first token. (n - 1,) float32 on the CPU.
    """
    log_probs = model_log_probs(predictor) if isinstance(predictor, GPT2) else predictor
    scores = []
    for i in range(0, len(rows), batch_size):
        batch = rows[i : i + batch_size]
        ids = pad_right(batch)
        table = log_probs(ids[:, :-1])  # (B, T - 1, V)
        of_next = table.gather(-1, ids[:, 1:, None].to(table.device))[..., 0].float().cpu()
        scores += [of_next[b, : len(row) - 1] for b, row in enumerate(batch)]
    return scores
