"""Predict, sample, append, repeat.

With a cache, which is the default, a step computes one token and looks back at the kept keys and
values of the others: kernels.py has that step. On a CUDA device decoding.py records it, sampling
included, and replays it, so that the device never waits for Python.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from inspect import signature
from typing import Any, Literal

import torch
from torch import Tensor

from .cache import KVCache
from .decoding import bucket, kept_decoder, unplanned_attention
from .kernels import as_written, decode_logits
from .machine.device import is_out_of_memory
from .machine.outside import listed, shown
from .model import GPT2, eval_mode
from .tape import tracing

GREEDY_BELOW = torch.finfo(torch.float32).tiny  # less may be 0 in float32, and 0 / 0 is NaN


def next_probabilities(
    logits: Tensor,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """What the knobs make of the model's prediction: logits (B, V) → probabilities (B, V).

    They apply in this order. ``temperature`` divides the logits; at 0 the largest logit gets
    everything. ``top_k`` keeps the k largest, and whatever ties with the last of them. ``top_p``
    keeps the fewest tokens whose probabilities sum to at least p (Holtzman et al. 2020). What is
    kept is scaled up so that it sums to 1. Raises ValueError for a negative temperature, top_k
    below 1 or top_p outside (0, 1], and on a CPU FloatingPointError for logits that are not finite;
    a single -∞ is allowed, and never drawn.
    """
    check_knobs(temperature, top_k, top_p)
    check_logits(logits)
    if temperature < GREEDY_BELOW:
        winner = logits.argmax(dim=-1, keepdim=True)
        return torch.zeros_like(logits, dtype=torch.float32).scatter(-1, winner, 1.0)
    logits = logits if logits.dtype == torch.float64 else logits.float()
    # The largest becomes 0 and the others negative, so that no low temperature can overflow.
    logits = (logits - logits.amax(dim=-1, keepdim=True)) / temperature
    if top_k is not None and top_k < logits.size(-1):
        smallest_kept = logits.topk(top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < smallest_kept, -torch.inf)
    probs = logits.softmax(dim=-1)
    if top_p is not None and top_p < 1:
        descending, order = probs.sort(dim=-1, descending=True, stable=True)
        superfluous = descending.cumsum(dim=-1) - descending >= top_p  # reached without it
        superfluous[:, 0] = False  # the likeliest stays, even where p rounds to 0
        kept = descending.masked_fill(superfluous, 0)
        probs = torch.zeros_like(probs).scatter(-1, order, kept / kept.sum(dim=-1, keepdim=True))
    return probs


def sample_next(
    logits: Tensor,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draw the next token id of each sequence: logits (B, V) → ids (B,).

    The knobs are those of ``next_probabilities``. At temperature 0 nothing is drawn: the largest
    logit wins.
    """
    check_knobs(temperature, top_k, top_p)
    if temperature < GREEDY_BELOW:
        check_logits(logits)
        return logits.float().argmax(dim=-1)  # a CPU is slow to compare half-precision numbers
    probs = next_probabilities(logits, temperature=temperature, top_k=top_k, top_p=top_p)
    # Divide by exponential noise, take the largest: a draw by these probabilities, the very one
    # that torch.multinomial makes, but without its wait for the device.
    noise = torch.empty_like(probs).exponential_(1, generator=generator)
    noise.clamp_(min=torch.finfo(noise.dtype).tiny)  # 0 / 0 would beat every number
    return (probs / noise).argmax(dim=-1)


@torch.no_grad()
def stream(
    model: GPT2,
    idx: Tensor,
    max_new_tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_id: int | None = None,
    generator: torch.Generator | None = None,
    use_cache: bool = True,
    overflow: Literal["raise", "crop"] = "raise",
    padding: Tensor | None = None,
    compile: bool = False,
    look_every: int = 1,
) -> Iterator[Tensor]:
    """Yield the ids (B,) of each new token as it is drawn.

    idx (B, T) is the prompt. ``max_new_tokens`` does not count it. After ``eos_id`` a sequence
    yields only ``eos_id``, and when all have ended so does the stream. Prompts of different
    lengths come from ``pad_left`` with their ``padding`` (B,). Text that would outgrow the window
    of block_size tokens is an error, unless ``overflow="crop"`` lets the model forget its oldest
    tokens; the others then move to new positions, so each such step computes all of them anew.
    ``use_cache=False`` does so at every step. ``compile=True`` compiles the step of a CUDA device:
    half a minute at first, faster after that. A model with hooks runs as it is, and calls them for
    each token. To see whether all have ended, the device must be waited for: that happens after
    ``look_every`` tokens.

    The model runs in eval mode and afterwards is in the mode that it was in. Raises ValueError or
    TypeError, at the first token, for what ``sample_next`` and the model refuse, and
    FloatingPointError if the model predicts what is no number; it names the weights that are none.
    """
    check_knobs(temperature, top_k, top_p)
    if eos_id is not None and (not isinstance(eos_id, int) or isinstance(eos_id, bool)):
        raise TypeError(f"eos_id must be an int or None, got {shown(eos_id)}")
    if eos_id is not None and abs(eos_id) >= 2**63:
        raise ValueError(f"eos_id is too large for a token id: {shown(eos_id)}")
    _check_prompt(model, idx, max_new_tokens, overflow, padding)
    draw = partial(sample_next, temperature=temperature, top_k=top_k, top_p=top_p)
    size = _cache_size(model, idx, max_new_tokens) if use_cache else None
    new, texts = idx[:, -1], [idx]
    ended = torch.zeros_like(new, dtype=torch.bool)
    with eval_mode(model), _explained_memory(model, idx, max_new_tokens), ExitStack() as stack:
        cache = decoder = None
        if size is not None and _is_recorded(model, idx):
            decoder = stack.enter_context(kept_decoder(model, size, padding, draw, compile))
            cache = decoder.cache
            generator = generator or torch.cuda.default_generators[idx.get_device()]
        elif size is not None:
            cache = KVCache(model.config, *size, padding)
        for _ in range(max_new_tokens):
            if decoder is not None and 0 < decoder.cache.length < decoder.cache.max_len:
                assert generator is not None
                new = decoder(model, new, generator)
            else:
                try:
                    with unplanned_attention() if idx.is_cuda else nullcontext():
                        logits = _last_logits(model, texts, cache, padding)
                    if not idx.is_cpu:  # on a CPU, draw does this
                        check_logits(logits, anywhere=True)
                    new = draw(logits, generator=generator)
                except FloatingPointError as error:
                    raise FloatingPointError(f"{error}. {_not_finite(model)}") from error
            if eos_id is not None:
                new = new.masked_fill(ended, eos_id)
                ended |= new == eos_id
            texts.append(new.unsqueeze(1))
            yield new
            if eos_id is not None and len(texts) % look_every == 0 and ended.all():
                break


def generate(model: GPT2, idx: Tensor, max_new_tokens: int, **settings: Any) -> Tensor:
    """Continue each prompt: idx (B, T) → (B, T + n), n ≤ max_new_tokens.

    The settings, and what is raised, are those of ``stream``.
    """
    if isinstance(idx, Tensor) and not idx.is_cpu:  # nobody sees a token before the last
        settings.setdefault("look_every", 16)
    new = list(stream(model, idx, max_new_tokens, **settings))
    text = torch.cat([idx, *(ids.unsqueeze(1) for ids in new)], dim=1)
    if new and settings.get("eos_id") is not None:
        ends = torch.stack(new, dim=1) == settings["eos_id"]  # (B, n)
        all_ended = ends.cumsum(dim=1).bool().all(dim=0)  # (n,)
        text = text[:, : text.size(1) - max(int(all_ended.sum()) - 1, 0)]
    return text


generate.__signature__ = signature(stream).replace(return_annotation="Tensor")  # type: ignore[attr-defined]


def _check_prompt(
    model: GPT2, idx: Tensor, max_new_tokens: int, overflow: str, padding: Tensor | None
) -> None:
    window = model.config.block_size
    croppable = overflow == "crop" and isinstance(idx, Tensor) and idx.ndim == 2
    model.config.check_ids(idx[:, -window:] if croppable else idx, padding=padding)
    if not isinstance(max_new_tokens, int) or isinstance(max_new_tokens, bool):
        raise TypeError(f"max_new_tokens must be an int, got {shown(max_new_tokens)}")
    if max_new_tokens < 0:
        raise ValueError(f"max_new_tokens must be 0 or more, got {max_new_tokens}")
    if overflow not in ("raise", "crop"):
        raise ValueError(f'overflow must be "raise" or "crop", got {overflow!r}')
    T = idx.size(1)
    if overflow == "raise" and T + max_new_tokens > window + 1:
        raise ValueError(
            f"{T} prompt tokens and {max_new_tokens} new ones need a window of "
            f"{T + max_new_tokens - 1}, but this model sees block_size={window}. Ask for at most "
            f'{window + 1 - T} new tokens, or pass overflow="crop" to go on with the oldest '
            "tokens forgotten, at the price of recomputing the whole window for each token."
        )


def pad_left(prompts: Sequence[Sequence[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    """Token lists of different lengths as one batch: ids (B, T) and padding (B,).

    Shorter prompts are filled with ``pad_id`` on the left, so that every text ends, and goes on,
    at the same column. ``padding`` counts the filled places: the model hides them and starts a
    text's positions behind them, so any id of the vocabulary will do. Raises ValueError for no
    prompt, or one without tokens.
    """
    ids = [i for prompt in prompts for i in prompt]
    if not all(isinstance(i, int) for i in [pad_id, *ids]):
        raise TypeError("prompts are lists of token ids, and pad_id is one: whole numbers")
    if max(map(abs, [pad_id, *ids])) >= 2**63:
        raise ValueError("prompts hold a number that is too large for a token id")
    if len(prompts) == 0 or not all(len(prompt) for prompt in prompts):
        raise ValueError("every prompt needs at least one token, such as <|endoftext|>")
    longest = max(map(len, prompts))
    padding = torch.tensor([longest - len(prompt) for prompt in prompts])
    return torch.tensor([[pad_id] * (longest - len(p)) + list(p) for p in prompts]), padding


def _is_recorded(model: GPT2, idx: Tensor) -> bool:
    """Whether steps are recorded: on a CUDA device, and if there is no Python to run in them."""
    return idx.is_cuda and as_written(model) and not tracing()


def _last_logits(
    model: GPT2, texts: list[Tensor], cache: KVCache | None, padding: Tensor | None
) -> Tensor:
    """Logits (B, V) of what follows texts, (B, …) each, computing what the cache does not hold."""
    T = sum(text.size(1) for text in texts)
    if cache is not None and T <= cache.max_len:
        new = texts[-1]
        if cache.length and as_written(model) and not tracing():
            with cache.step(model, new) as (position, _):
                return decode_logits(model, cache, new[:, 0], position)
        logits, _ = model(new, cache=cache, last_only=True)
    else:
        idx = torch.cat(texts, dim=1)
        forgotten = max(T - model.config.block_size, 0)
        if padding is not None:
            padding = (padding - forgotten).clamp(min=0)
        logits, _ = model(idx[:, forgotten:], padding=padding, last_only=True)
    return logits[:, -1]


def _cache_size(
    model: GPT2, idx: Tensor, max_new_tokens: int
) -> tuple[int, int, torch.device, torch.dtype] | None:
    """Room for the prompt (B, T) and what follows it, as a KVCache takes it; None if of no use."""
    (B, T), window = idx.shape, model.config.block_size
    if max_new_tokens == 0 or T > window:
        return None
    room, device, dtype = min(T + max_new_tokens - 1, window), idx.device, model.dtype
    if device.type == "cuda":  # few different sizes: a graph is kept for the next text of its size
        room = bucket(room, window)
    if torch.is_autocast_enabled(device.type):
        dtype = torch.get_autocast_dtype(device.type)
    return B, room, device, dtype


@contextmanager
def _explained_memory(model: GPT2, idx: Tensor, new: int) -> Iterator[None]:
    """Turn an out-of-memory error inside the block into a ValueError with advice."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        (B, T), window = idx.shape, model.config.block_size
        numbers = 2 * model.config.n_layer * model.config.n_embd * B * min(T + new, window)
        raise ValueError(
            f"the {idx.device.type} is out of memory with {B:,} texts of up to "
            f"{min(T + new, window):,} tokens, whose keys and values alone are "
            f"{numbers * model.dtype.itemsize / 2**30:,.2f} GiB. Give fewer texts at a time, or "
            "ask for fewer new tokens"
        ) from error


def check_logits(logits: Tensor, *, anywhere: bool = False) -> None:
    """Raise FloatingPointError unless each row's largest logit is a finite number.

    Only on a CPU, or ``anywhere``: another device would have to be waited for.
    """
    if not isinstance(logits, Tensor) or logits.ndim != 2 or not logits.is_floating_point():
        raise TypeError(f"logits must be a tensor of floats of shape (B, V), got {_kind(logits)}")
    if not (anywhere or logits.device.type == "cpu") or torch.compiler.is_compiling():
        return
    largest = logits.detach().amax(dim=-1).tolist()
    if bad := [number for number in largest if not math.isfinite(number)]:
        raise FloatingPointError(
            f"the model's prediction is not finite: its largest logit is {bad[0]}"
        )


def _kind(value: object) -> str:
    if not isinstance(value, Tensor):
        return type(value).__name__
    return f"{value.dtype} of shape {tuple(value.shape)}"


def _not_finite(model: GPT2) -> str:
    """Where numbers are none in a model's weights."""
    state = model.state_dict().items()
    names = [name for name, weight in state if not weight.isfinite().all()]
    if not names:
        return "Its weights are finite: they are too large"
    return f"These weights are not finite: {listed(names)}"


def check_knobs(temperature: float, top_k: int | None, top_p: float | None) -> None:
    """Refuse sampling settings that mean nothing."""
    for name, value in (("temperature", temperature), ("top_k", top_k), ("top_p", top_p)):
        kinds = (int,) if name == "top_k" else (int, float)
        if not isinstance(value, kinds) and not (value is None and name != "temperature"):
            raise TypeError(f"{name} must be {kinds[-1].__name__}, got {shown(value)}")
    if not 0 <= temperature < float("inf"):
        raise ValueError(f"temperature must be 0 (greedy) or above, got {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k keeps at least 1 token, got {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p is a probability mass in (0, 1], got {top_p}")
