"""Log-probabilities of tokens under a model, a truncated window, or a bigram baseline."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from ..crane.surprisal import word_tokens
from ..language_model import LanguageModel, eval_mode
from ..tokenizer import Encoding

# ids (B, T) int64 → log-probabilities (B, T, V) in nats of the token after each position. Causal:
# those of a position depend on its own and earlier tokens only.
LogProbs = Callable[[Tensor], Tensor]


def device_of(model: nn.Module) -> torch.device:
    """The device of a model's parameters."""
    return next(model.parameters()).device


def model_log_probs(model: nn.Module) -> LogProbs:
    """What a model predicts, a GPT2, a Llama or any module from ids to logits.

    Called with more tokens than the window, it raises what the model raises, for ours ValueError.
    """

    def log_probs(ids: Tensor) -> Tensor:
        with eval_mode(model), torch.inference_mode():
            output = model(ids.to(device_of(model)))
        logits: Tensor = output[0] if isinstance(output, tuple) else output
        return logits.float().log_softmax(dim=-1)

    return log_probs


def window_log_probs(model: LanguageModel, n: int) -> LogProbs:
    """A model's predictions from only the last n tokens, at positions 0 to n - 1.

    A model trained on blocks from random offsets has seen such inputs. Raises ValueError for n
    outside 1 … block_size.
    """
    if not 1 <= n <= model.config.block_size:
        raise ValueError(
            f"a window must lie in 1 … block_size={model.config.block_size} tokens, got {n}"
        )
    full = model_log_probs(model)

    def log_probs(ids: Tensor) -> Tensor:
        first = full(ids[:, :n])  # no earlier tokens are cut off
        if ids.size(1) <= n:
            return first
        windows = ids.unfold(1, n, 1)[:, 1:]  # (B, T - n, n), ending at n … T - 1
        # Texts with a common prefix share windows; each distinct one is computed once.
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
    """A bigram model: predicts from the last token by counts of adjacent pairs in a corpus.

    ids: (n,) int64, the concatenated texts. ``add`` is added to the count of every pair, so that
    none has probability 0. Raises ValueError for fewer than two ids, or if ``add`` is not above 0.
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


def encode_words(tokenizer: Encoding, words: Sequence[str]) -> tuple[list[int], list[int]]:
    """The ids of a story with <|endoftext|> before and after it, and the index of each word.

    Word i has the ids from ``starts[i]`` to ``starts[i + 1] - 1``; the last of ``starts`` is the
    index of the final <|endoftext|>.
    """
    ids, starts = [tokenizer.eot_token], []
    for before, word in zip([None, *words], [*words, ""], strict=True):
        starts.append(len(ids))
        ids += word_tokens(tokenizer, before, word)
    return ids, starts


def pad_right(rows: Sequence[Sequence[int]]) -> Tensor:
    """Token lists as one batch (B, T). Attention is causal, so padding affects no score."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True)


def score(model: LanguageModel, ids: Sequence[int]) -> Tensor:
    """The log-probability in nats of each token of a text but the first: T ids → (T - 1,).

    Each is given all earlier ones. Raises ValueError for fewer than two ids, or more than fit into
    the model's window and one.
    """
    if not 2 <= len(ids) <= model.config.block_size + 1:
        raise ValueError(
            f"a text to score has 2 … block_size+1={model.config.block_size + 1} tokens, "
            f"got {len(ids)}"
        )
    return score_tokens(model, [ids])[0]


def score_tokens(
    predictor: nn.Module | LogProbs, rows: Sequence[Sequence[int]], batch_size: int = 16
) -> list[Tensor]:
    """The log-probability in nats of each token of each row, given the earlier ones.

    A row of n ids has scores (n - 1,), float32 on the CPU: all tokens but the first.
    """
    log_probs = model_log_probs(predictor) if isinstance(predictor, nn.Module) else predictor
    scores = []
    for i in range(0, len(rows), batch_size):
        batch = rows[i : i + batch_size]
        ids = pad_right(batch)
        table = log_probs(ids[:, :-1])  # (B, T - 1, V)
        of_next = table.gather(-1, ids[:, 1:, None].to(table.device))[..., 0].float().cpu()
        scores += [of_next[b, : len(row) - 1] for b, row in enumerate(batch)]
    return scores
