"""What users can get wrong, said in words before a kernel says it in its own.

Each function raises TypeError or ValueError with what was given, what is allowed and what to do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from .config import GPT2Config
from .machine.messages import join_some, short_repr
from .weights import not_finite


class Cache(Protocol):
    """What is asked of a KVCache here."""

    config: GPT2Config
    batch_size: int
    max_len: int
    length: int
    k: list[Tensor]
    model: Any


# ---- One forward pass --------------------------------------------------------------------------


def check_batch(
    config: GPT2Config,
    idx: Tensor,
    targets: Tensor | None,
    cache: Cache | None,
    padding: Tensor | None,
    last_only: bool,
) -> None:
    """The arguments of a forward pass. The range of ids is checked on a CPU only.

    On a GPU that would wait for the device at every step: ``generate`` checks the prompt, and the
    data loader its tokens.
    """
    check_ids("idx", idx)
    if (T := idx.size(1)) > config.block_size:
        raise ValueError(
            f"idx has T={T} tokens, but this model sees at most block_size={config.block_size}"
        )
    if cache is not None:
        if not hasattr(cache, "begin"):
            raise TypeError(f"cache must be a KVCache or None, got {type(cache).__name__}")
        if targets is not None:
            raise ValueError("a cache carries no gradient: give targets or a cache, not both")
    if targets is not None:
        check_ids("targets", targets)
        if targets.shape != idx.shape:
            raise ValueError(
                f"targets must have idx's shape {tuple(idx.shape)}, got {tuple(targets.shape)}"
            )
        if last_only:
            raise ValueError("last_only leaves no logits for most targets: give one or the other")
    by_value = idx.device.type == "cpu" and not torch.compiler.is_compiling()
    if padding is not None:
        longest = T if cache is None else cache.max_len
        check_padding(padding, idx.size(0), longest if by_value else None)
    if not by_value:
        return
    check_range("idx", idx, config.vocab_size)
    if targets is not None:
        counted = targets[targets != -100]
        if counted.numel() == 0:
            raise ValueError("every target is -100, so there is nothing to take the mean of")
        check_range("targets", counted, config.vocab_size)


def check_ids(name: str, ids: Tensor) -> None:
    """Ids are int64, of shape (B, T), and at least one."""
    if not isinstance(ids, Tensor) or ids.dtype != torch.int64:
        got = ids.dtype if isinstance(ids, Tensor) else type(ids).__name__
        raise TypeError(f"{name} must be a tensor of int64 token ids, got {got}")
    if ids.ndim != 2:
        raise ValueError(
            f"{name} must have shape (B, T), got {tuple(ids.shape)}. "
            "For one sequence use torch.tensor([ids]), which has shape (1, T)."
        )
    if ids.numel() == 0:
        raise ValueError(f"{name} holds no tokens: start from at least one, such as <|endoftext|>")


def check_range(name: str, ids: Tensor, vocab_size: int) -> None:
    """Ids lie in the vocabulary."""
    if ids.min() < 0 or ids.max() >= vocab_size:
        bad = int(ids[(ids < 0) | (ids >= vocab_size)][0])
        raise ValueError(
            f"{name} holds the id {bad}, outside the vocabulary 0 … {vocab_size - 1}. "
            "Does the tokenizer belong to this model?"
        )


def check_padding(padding: Tensor, batch_size: int, T: int | None = None) -> None:
    """Padding is int64, one number for each text, and leaves at least one of T tokens."""
    if not isinstance(padding, Tensor):
        raise TypeError(f"padding must be a tensor of int64, got {type(padding).__name__}")
    if padding.shape != (batch_size,) or padding.dtype != torch.int64:
        raise ValueError(
            f"padding must be int64 of shape ({batch_size},), the tokens to skip on the left "
            f"of each text; got {padding.dtype} of shape {tuple(padding.shape)}"
        )
    if T is not None and (padding.min() < 0 or padding.max() >= T):
        bad = int(padding[(padding < 0) | (padding >= T)][0])
        raise ValueError(f"padding holds {bad}, but it must lie in 0 … {T - 1}")


# ---- The cache ---------------------------------------------------------------------------------


def check_cache(config: GPT2Config, batch_size: int, max_len: int, dtype: torch.dtype) -> None:
    """The sizes and the type of a cache."""
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise TypeError(f"dtype must be a torch.dtype of floats, got {short_repr(dtype)}")
    for name, number in (("batch_size", batch_size), ("max_len", max_len)):
        check_int(name, number)
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}")
    if not 1 <= max_len <= config.block_size:
        raise ValueError(
            f"max_len must lie in 1 … block_size={config.block_size}, got {max_len}: the model "
            "has no positions beyond its window"
        )


def check_pass(cache: Cache, model: nn.Module, idx: Tensor) -> None:
    """New tokens fit into a cache, which holds tokens of this model."""
    T, (ours, theirs) = idx.size(1), (_layout(cache.config), _layout(model.config))
    problem = ""
    if theirs != ours:
        problem = f"was made for (n_layer, n_head, head_size) = {ours}, this model has {theirs}"
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


def _layout(config: object) -> tuple[int, int, int]:
    assert isinstance(config, GPT2Config)
    return config.n_layer, config.n_head, config.head_size


# ---- Generation --------------------------------------------------------------------------------


def check_prompt(
    idx: Tensor, max_new_tokens: int, window: int, overflow: str, eos_id: int | None
) -> None:
    """What to continue, and how far. ``window`` is 0 for a model that does not name its own."""
    check_ids("idx", idx)
    check_int("max_new_tokens", max_new_tokens)
    if max_new_tokens < 0:
        raise ValueError(f"max_new_tokens must be 0 or more, got {short_repr(max_new_tokens)}")
    if eos_id is not None:
        check_int("eos_id", eos_id)
        if abs(eos_id) >= 2**63:
            raise ValueError(f"eos_id is too large for a token id: {short_repr(eos_id)}")
    if overflow not in ("raise", "crop"):
        raise ValueError(f'overflow must be "raise" or "crop", got {overflow!r}')
    T = idx.size(1)
    if window and overflow == "raise" and T + max_new_tokens > window + 1:
        if T > window:
            raise ValueError(
                f"idx has T={T} tokens, but this model sees at most block_size={window}"
            )
        raise ValueError(
            f"{T} prompt tokens and {short_repr(max_new_tokens)} new ones need a window of "
            f"{short_repr(T + max_new_tokens - 1)}, but this model sees block_size={window}. "
            f"Ask for at "
            f'most {window + 1 - T} new tokens, or pass overflow="crop" to continue with the '
            "oldest tokens forgotten, at the price of recomputing the whole window for each token."
        )


def check_finite(model: nn.Module, where: Sequence[str] = ("",)) -> None:
    """Raise FloatingPointError, naming them, if weights are not finite.

    Only those are checked whose name contains one of the words in ``where``.
    """
    bad = not_finite(
        {
            name: weight.detach()
            for name, weight in model.named_parameters()
            if any(word in name for word in where)
        }
    )
    if bad:
        raise FloatingPointError(f"these weights are not finite: {join_some(bad)}")


def check_choice(new: Tensor, batch_size: int) -> Tensor:
    """The ids (B,) that ``choose`` returned, as int64."""
    if not isinstance(new, Tensor) or new.is_floating_point() or new.numel() != batch_size:
        got = f"{new.dtype} of shape {tuple(new.shape)}" if isinstance(new, Tensor) else type(new)
        raise TypeError(f"choose must return a tensor of {batch_size} token ids, got {got}")
    return new.reshape(-1).long()


def check_logits(logits: Tensor) -> None:
    """Raise FloatingPointError unless each row's largest logit is a finite number."""
    if not isinstance(logits, Tensor) or logits.ndim != 2 or not logits.is_floating_point():
        got = type(logits).__name__
        if isinstance(logits, Tensor):
            got = f"{logits.dtype} of shape {tuple(logits.shape)}"
        raise TypeError(f"logits must be a tensor of floats of shape (B, V), got {got}")
    if torch.compiler.is_compiling():
        return
    largest = logits.detach().amax(dim=-1)
    if not largest.isfinite().all():
        raise FloatingPointError(
            "the model's prediction is not finite: its largest logit is "
            f"{largest[~largest.isfinite()][0]}"
        )


def check_stop(stop: Sequence[Sequence[int]], eos_id: int | None) -> None:
    """Stop sequences are lists of ids, none of them empty, and need an eos_id."""
    for ids in stop:
        if not isinstance(ids, Sequence) or not all(isinstance(i, int) for i in ids):
            raise TypeError(f"stop takes lists of token ids, got {short_repr(stop)}")
        if not ids:
            raise ValueError("a stop sequence needs at least one token")
    if stop and eos_id is None:
        raise ValueError("stop needs eos_id: a text that has ended is filled with it")


def check_knobs(
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    min_p: float | None,
    repetition_penalty: float = 1.0,
) -> None:
    """Sampling settings that mean something."""
    for name, value in (
        ("temperature", temperature),
        ("top_k", top_k),
        ("top_p", top_p),
        ("min_p", min_p),
        ("repetition_penalty", repetition_penalty),
    ):
        kinds = (int,) if name == "top_k" else (int, float)
        optional = name in ("top_k", "top_p", "min_p")
        fits = isinstance(value, kinds) and not isinstance(value, bool)
        if not fits and not (value is None and optional):
            raise TypeError(f"{name} must be {kinds[-1].__name__}, got {short_repr(value)}")
    if not 0 <= temperature < math.inf:
        raise ValueError(f"temperature must be 0 (greedy) or above, got {short_repr(temperature)}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k keeps at least 1 token, got {short_repr(top_k)}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p is a probability mass in (0, 1], got {short_repr(top_p)}")
    if min_p is not None and not 0 <= min_p <= 1:
        raise ValueError(f"min_p is a share of the largest in [0, 1], got {short_repr(min_p)}")
    if not 0 < repetition_penalty < math.inf:
        raise ValueError(
            f"repetition_penalty divides: it must be above 0, got {short_repr(repetition_penalty)}"
        )


def check_int(name: str, value: object) -> None:
    """An int, and not a bool."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int, got {short_repr(value)}")
