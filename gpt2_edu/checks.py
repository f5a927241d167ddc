"""What users can get wrong, said in words before a kernel says it in its own.

Each function raises TypeError or ValueError with what was given, what is allowed and what to do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .config import GPT2Config, LlamaConfig, check_int
from .machine.messages import join_some, short_repr
from .tape import kind_of
from .weights import not_finite

KVCache = Any  # cache.py imports this module


# ---- One forward pass --------------------------------------------------------------------------


def check_batch(
    config: GPT2Config | LlamaConfig,
    idx: Tensor,
    targets: Tensor | None,
    cache: KVCache | None,
    padding: Tensor | None,
    last_only: bool,
) -> None:
    """The arguments of a forward pass. The range of ids is checked on a CPU only.

    On a GPU that would wait for the device at every step: ``generate`` checks the prompt, and the
    data loader its tokens.
    """
    check_ids("idx", idx)
    check_window(idx.size(1), config.block_size)
    if cache is not None and not hasattr(cache, "begin"):
        raise TypeError(f"cache must be a KVCache or None, got {type(cache).__name__}")
    if targets is not None:
        check_ids("targets", targets)
        if targets.shape != idx.shape:
            raise ValueError(
                f"targets must have idx's shape {tuple(idx.shape)}, got {tuple(targets.shape)}"
            )
        if cache is not None:
            raise ValueError("a cache carries no gradient: give targets or a cache, not both")
        if last_only:
            raise ValueError("last_only leaves no logits for most targets: give one or the other")
    by_value = idx.device.type == "cpu" and not torch.compiler.is_compiling()
    if padding is not None:
        longest = idx.size(1) if cache is None else cache.max_len
        check_padding(padding, idx.size(0), longest if by_value else None)
    if by_value:
        check_range("idx", idx, config.vocab_size)
    if by_value and targets is not None:
        counted = targets[targets != -100]
        if counted.numel() == 0:
            raise ValueError("every target is -100, so there is nothing to take the mean of")
        check_range("targets", counted, config.vocab_size)


def check_ids(name: str, ids: Tensor) -> None:
    """Ids are int64, of shape (B, T), and at least one."""
    if not isinstance(ids, Tensor) or ids.dtype != torch.int64:
        raise TypeError(f"{name} must be a tensor of int64 token ids, got {kind_of(ids)}")
    if ids.ndim != 2:
        raise ValueError(
            f"{name} must have shape (B, T), got {tuple(ids.shape)}. "
            "For one sequence use torch.tensor([ids]), which has shape (1, T)."
        )
    if ids.numel() == 0:
        raise ValueError(f"{name} holds no tokens: start from at least one, such as <|endoftext|>")


def check_window(T: int, window: int) -> None:
    """The tokens fit into the window of the model."""
    if T > window:
        raise ValueError(f"idx has T={T} tokens, but this model sees at most block_size={window}")


def check_range(name: str, ids: Tensor, vocab_size: int) -> None:
    """Ids lie in the vocabulary."""
    if bad := first_outside(ids, vocab_size):
        raise ValueError(
            f"{name} holds the id {bad[0]}, outside the vocabulary 0 … {vocab_size - 1}. "
            "Does the tokenizer belong to this model?"
        )


def check_padding(padding: Tensor, batch_size: int, T: int | None = None) -> None:
    """Padding is int64, one number for each text, and leaves at least one of T tokens."""
    if not isinstance(padding, Tensor):
        raise TypeError(f"padding must be a tensor of int64, got {kind_of(padding)}")
    if padding.shape != (batch_size,) or padding.dtype != torch.int64:
        raise ValueError(
            f"padding must be int64 of shape ({batch_size},), the tokens to skip on the left "
            f"of each text; got {kind_of(padding)}"
        )
    if T is not None and (bad := first_outside(padding, T)):
        raise ValueError(f"padding holds {bad[0]}, but it must lie in 0 … {T - 1}")


def first_outside(numbers: Tensor, stop: int) -> list[int]:
    """The first number that does not lie in 0 … stop - 1, if there is one."""
    found: list[int] = numbers[(numbers < 0) | (numbers >= stop)][:1].tolist()
    return found


# ---- The cache ---------------------------------------------------------------------------------


def check_cache(
    config: GPT2Config | LlamaConfig, batch_size: int, max_len: int, dtype: torch.dtype
) -> None:
    """The sizes and the type of a cache."""
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise TypeError(f"dtype must be a torch.dtype of floats, got {short_repr(dtype)}")
    check_int("batch_size", batch_size, 1)
    check_int("max_len", max_len, 1)
    if max_len > config.block_size:
        raise ValueError(
            f"max_len must lie in 1 … block_size={config.block_size}, got {max_len}: the model "
            "has no positions beyond its window"
        )


def check_pass(cache: KVCache, model: Any, idx: Tensor) -> None:
    """New tokens fit into a cache, which holds tokens of this model."""
    T, problem = idx.size(1), ""
    ours, theirs = (
        (config.n_layer, config.n_kv_head, config.head_size)
        for config in (cache.config, model.config)
    )
    if theirs != ours:
        problem = f"was made for (n_layer, n_kv_head, head_size) = {ours}, this model has {theirs}"
    elif cache.length and (cache.model is None or cache.model() is not model):
        problem = f"holds {cache.length} tokens of another model. Call cache.reset() first"
    elif cache.batch_size != idx.size(0):
        problem = f"was made for a batch of {cache.batch_size}, idx has {idx.size(0)}"
    elif cache.k[0].device != idx.device:
        problem = f"is on {cache.k[0].device}, idx on {idx.device}"
    elif cache.length + T > cache.max_len:
        problem = (
            f"is full: it holds {cache.length} of max_len={cache.max_len} tokens and {T} more do "
            "not fit. Make a longer one, or reset() it"
        )
    if problem:
        raise ValueError(f"the cache {problem}.")


def check_layer(layer: int, layers: int) -> None:
    """The cache has a tensor for the keys of this layer."""
    if layer >= layers:
        raise ValueError(
            f"the cache has {layers} layers, and the model has more blocks: raise n_layer in its "
            "config, or pass use_cache=False"
        )


def check_stored(stored: int, blocks: int) -> None:
    """Every block has stored its keys: without them a later token would see too little."""
    if stored < blocks:
        raise ValueError(
            f"only {stored} of {blocks} blocks stored keys in the cache: a module that was "
            "replaced ignores update_kv. Pass use_cache=False"
        )


# ---- Generation --------------------------------------------------------------------------------


def check_prompt(
    idx: Tensor, max_new_tokens: int, window: int, overflow: str, eos_id: int | None
) -> None:
    """What to continue, and how far. ``window`` is 0 for a model that does not name its own."""
    check_ids("idx", idx)
    check_int("max_new_tokens", max_new_tokens, 0)
    if eos_id is not None:
        check_int("eos_id", eos_id, -(2**63), 2**63 - 1)
    if overflow not in ("raise", "crop"):
        raise ValueError(f'overflow must be "raise" or "crop", got {overflow!r}')
    T, most = idx.size(1), window + 1 - idx.size(1)
    if window and overflow == "raise" and max_new_tokens > most:
        check_window(T, window)
        raise ValueError(
            f"{T} prompt tokens and {short_repr(max_new_tokens)} new ones need a window of "
            f"{short_repr(T + max_new_tokens - 1)}, but this model sees block_size={window}. Ask "
            f'for at most {most} new tokens, or pass overflow="crop" to continue with the '
            "oldest tokens forgotten, at the price of recomputing the whole window for each token."
        )


def check_finite(model: nn.Module, where: Sequence[str] = ("",)) -> None:
    """Raise FloatingPointError, naming them, if weights are not finite.

    Only those are checked whose name contains one of the words in ``where``.
    """
    weights = {
        name: weight.detach()
        for name, weight in model.named_parameters()
        if any(word in name for word in where)
    }
    if bad := not_finite(weights):
        raise FloatingPointError(f"these weights are not finite: {join_some(bad)}")


def check_choice(new: Tensor, batch_size: int) -> Tensor:
    """The ids (B,) that ``choose`` returned, as int64."""
    if not isinstance(new, Tensor) or new.is_floating_point() or new.numel() != batch_size:
        raise TypeError(
            f"choose must return a tensor of {batch_size} token ids, got {kind_of(new)}"
        )
    return new.reshape(-1).long()


def check_logits(logits: Tensor) -> None:
    """Raise FloatingPointError unless each row's largest logit is a finite number."""
    if not isinstance(logits, Tensor) or logits.ndim != 2 or not logits.is_floating_point():
        raise TypeError(f"logits must be floats of shape (B, V), got {kind_of(logits)}")
    if torch.compiler.is_compiling():
        return
    largest = logits.detach().amax(dim=-1)
    if not largest.isfinite().all():
        bad = largest[~largest.isfinite()][0]
        raise FloatingPointError(f"the prediction is not finite: its largest logit is {bad}")


def check_stop(stop: Sequence[Sequence[int]], eos_id: int | None) -> None:
    """Stop sequences are lists of ids, none of them empty, and need an eos_id."""
    for ids in stop:
        if not isinstance(ids, Sequence) or not all(isinstance(i, int) for i in ids):
            raise TypeError(f"stop takes lists of token ids, got {short_repr(stop)}")
        if not ids:
            raise ValueError("a stop sequence needs at least one token")
    if stop and eos_id is None:
        raise ValueError("stop needs eos_id: a text that has ended is filled with it")


_KNOBS: dict[str, tuple[Callable[[float], bool], str]] = {  # what is allowed, and in words
    "temperature": (lambda t: 0 <= t < math.inf, "must be 0 (greedy) or above"),
    "top_k": (lambda k: k >= 1, "keeps at least 1 token"),
    "top_p": (lambda p: 0 < p <= 1, "is a probability mass in (0, 1]"),
    "min_p": (lambda p: 0 <= p <= 1, "is a share of the largest in [0, 1]"),
    "repetition_penalty": (lambda r: 0 < r < math.inf, "divides: it must be above 0"),
}


def check_knobs(**settings: float | None) -> None:
    """Sampling settings that mean something."""
    for name, value in settings.items():
        if value is None and name in ("top_k", "top_p", "min_p"):
            continue
        kind = int if name == "top_k" else float
        if not isinstance(value, int | kind) or isinstance(value, bool):
            raise TypeError(f"{name} must be {kind.__name__}, got {short_repr(value)}")
        allowed, words = _KNOBS[name]
        if not allowed(value):
            raise ValueError(f"{name} {words}, got {short_repr(value)}")
