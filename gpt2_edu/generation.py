"""Generation: predict, choose, append, repeat.

``stream`` is the loop. What differs between ways to predict is in the predictors above it: each is
called with the texts so far, ids (B, T), and returns the logits (B, V) of the next token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from .cache import KVCache
from .checks import (
    check_choice,
    check_finite,
    check_knobs,
    check_padding,
    check_prompt,
    check_range,
    check_stop,
)
from .language_model import LanguageModel, eval_mode
from .machine.messages import short_repr
from .sampling import penalize, sample_next

Choice = Callable[[Tensor], Tensor]  # logits (B, V) → ids (B,)
Predictor = Callable[[Tensor], Tensor]  # the texts so far (B, T) → logits (B, V)
Model = Any  # a GPT2, or any function from ids (B, T) to logits (B, T, V), or to (logits, loss)

# Without cuDNN, which makes a new plan for each length of the keys: 4 ms a block, at every token.
UNPLANNED = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


# ---- Predictors --------------------------------------------------------------------------------


class Recompute:
    """Predict from the whole text, or as much of it as fits into the model's window."""

    def __init__(self, model: Model, padding: Tensor | None = None) -> None:
        self.model, self.padding, self.window = model, padding, window_of(model)
        self.plain = not has_cache(model)

    def __call__(self, idx: Tensor) -> Tensor:
        forgotten = max(idx.size(1) - self.window, 0) if self.window else 0
        idx, padding = idx[:, forgotten:], self.padding
        with sdpa_kernel(UNPLANNED):
            if self.plain:
                return last_logits(self.model(idx))
            if padding is not None:
                padding = (padding - forgotten).clamp(min=0)
            return last_logits(self.model(idx, padding=padding, last_only=True))


class Cached:
    """Predict from the tokens that the last call has not seen; a cache has the others' keys.

    A text that does not continue the last one is computed from its start, and one that has
    outgrown the cache as ``Recompute`` does: all its tokens move to new positions.
    """

    def __init__(self, model: LanguageModel, cache: KVCache, padding: Tensor | None = None) -> None:
        self.model, self.cache, self.padding = model, cache, padding
        self.recompute = Recompute(model, padding)
        self.seen: Tensor | None = None  # ids (B, T), whose keys are in the cache

    def __call__(self, idx: Tensor) -> Tensor:
        if idx.size(1) > self.cache.max_len:
            return self.recompute(idx)
        seen, self.seen = self.seen, None  # not to be relied on if this pass fails
        if seen is not None and continues(idx, seen):
            new = idx[:, seen.size(1) :]
        else:
            self.cache.reset()
            new = idx
        logits = self.predict(new)
        self.seen = idx
        return logits

    def predict(self, new: Tensor) -> Tensor:
        """Logits (B, V) after new tokens (B, T), which join the cache."""
        with sdpa_kernel(UNPLANNED):
            return self.pass_on(new)

    def pass_on(self, new: Tensor) -> Tensor:
        """The same by whichever kernel of attention torch would choose."""
        output = self.model(new, cache=self.cache, padding=self.padding, last_only=True)
        return last_logits(output)


def continues(idx: Tensor, seen: Tensor) -> bool:
    """Whether idx (B, T) is longer than what was seen and begins with it."""
    T = seen.size(1)
    return len(idx) == len(seen) and idx.size(1) > T and torch.equal(idx[:, :T], seen)


def logits_of(output: Any) -> Tensor:
    """The logits (B, T, V) in a model's output. Raises TypeError for anything else."""
    logits = output[0] if isinstance(output, tuple) else getattr(output, "logits", output)
    if not isinstance(logits, Tensor) or logits.ndim != 3:
        raise TypeError(f"the model must return logits (B, T, V), got {short_repr(output)}")
    return logits


def last_logits(output: Any) -> Tensor:
    """The logits (B, V) of the last position, of a model's output."""
    return logits_of(output)[:, -1]


def window_of(model: Model) -> int:
    """The most tokens that a model can see, or 0 if it does not say so."""
    return getattr(getattr(model, "config", model), "block_size", 0)


def has_cache(model: Model) -> bool:
    """Whether it is a LanguageModel, compiled or not, whose forward pass takes a cache."""
    inner: Any = getattr(model, "_orig_mod", model)  # torch.compile(model) wraps the module
    if not hasattr(inner, "make_cache"):
        return False
    parameters = signature(inner.forward).parameters
    return "cache" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


# ---- The loop ----------------------------------------------------------------------------------


@torch.no_grad()
def stream(
    model: Model,
    idx: Tensor,
    max_new_tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    repetition_penalty: float = 1.0,
    eos_id: int | None = None,
    stop: Sequence[Sequence[int]] = (),
    generator: torch.Generator | None = None,
    use_cache: bool = True,
    overflow: Literal["raise", "crop"] = "raise",
    padding: Tensor | None = None,
    choose: Choice | None = None,
    predict: Predictor | None = None,
) -> Iterator[Tensor]:
    """Yield the ids (B,) of each new token as it is chosen. Continues the prompts idx (B, T).

    ``model`` is a GPT2, or any function from ids to logits. ``choose`` turns logits (B, V) into ids
    (B,); without it ``sample_next`` does, with temperature, top_k, top_p, min_p and generator.
    ``repetition_penalty`` comes before either: see ``penalize``. After ``eos_id``, or after one of
    the lists of ids in ``stop``, a text yields only ``eos_id``, and the stream ends when all texts
    have ended; only new tokens count. Text beyond the window of block_size tokens is an error,
    unless ``overflow="crop"`` lets the model forget its oldest tokens. ``padding`` (B,) comes from
    ``pad_left``, with prompts of different lengths. ``use_cache=False`` computes the whole text for
    every token, as is done for a model without a cache. ``predict`` takes the place of both: see
    ``fast.Compiled``.

    While it predicts, the model is in eval mode. Raises ValueError or TypeError, at the first
    token, for what ``sample_next`` and the model refuse, and FloatingPointError, naming them, for
    weights that are not finite.
    """
    window = window_of(model)
    check_prompt(idx, max_new_tokens, window, overflow, eos_id)
    check_model(model, idx, padding)
    knobs = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p}
    choose_next = make_choice(model, choose, repetition_penalty, knobs, generator)
    predict = make_predictor(model, predict, idx, max_new_tokens, use_cache, padding)
    check_stop(stop, eos_id)
    endings = [] if eos_id is None else [idx.new_tensor(ids) for ids in (*stop, [eos_id])]
    idx = fill_padding(idx, getattr(predict, "padding", None))
    T = idx.size(1)
    keep = window and window + T  # as many tokens can matter to the model
    ended = torch.zeros(len(idx), dtype=torch.bool, device=idx.device)
    for _ in range(max_new_tokens):
        with eval_mode(model):
            logits = predict(idx[:, -keep:])  # (B, V)
        new = choose_next(logits, idx)  # (B,)
        if eos_id is not None:
            new = new.masked_fill(ended, eos_id)
        idx = torch.cat([idx, new.unsqueeze(1)], dim=1)
        ended |= ends_with(idx[:, T:], endings)
        yield new
        if endings and ended.all():
            break


def generate(
    model: Model,
    idx: Tensor,
    max_new_tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    repetition_penalty: float = 1.0,
    eos_id: int | None = None,
    stop: Sequence[Sequence[int]] = (),
    generator: torch.Generator | None = None,
    use_cache: bool = True,
    overflow: Literal["raise", "crop"] = "raise",
    padding: Tensor | None = None,
    choose: Choice | None = None,
    predict: Predictor | None = None,
) -> Tensor:
    """Continue each prompt: idx (B, T) → (B, T + n), n ≤ max_new_tokens. See ``stream``."""
    for new in stream(**locals()):  # with all of the above
        idx = torch.cat([idx, new.unsqueeze(1)], dim=1)
    return idx


def ends_with(new: Tensor, endings: Sequence[Tensor]) -> Tensor:
    """Whether each row of new tokens (B, n) ends with one of these sequences: (B,)."""
    found = torch.zeros(len(new), dtype=torch.bool, device=new.device)
    for ids in endings:
        if len(ids) <= new.size(1):
            found |= (new[:, -len(ids) :] == ids).all(dim=1)
    return found


# ---- Before the loop ---------------------------------------------------------------------------


def check_model(model: Model, idx: Tensor, padding: Tensor | None) -> None:
    """The prompt and its padding fit the model, whose attention has finite weights.

    Attention on a CPU turns a NaN in a query into zeros. A NaN elsewhere shows in the logits.
    """
    if isinstance(model, nn.Module):
        check_finite(model, where=(".attn.", ".ln_1."))
    if has_cache(model):
        check_range("idx", idx, model.config.vocab_size)
    if padding is not None:
        check_padding(padding, len(idx), idx.size(1))
        if not has_cache(model):
            raise ValueError("this model takes no padding: give it prompts of equal length")


def make_choice(
    model: Model,
    choose: Choice | None,
    repetition_penalty: float,
    knobs: dict[str, Any],
    generator: torch.Generator | None,
) -> Callable[[Tensor, Tensor], Tensor]:
    """From logits (B, V) and the texts so far (B, T) to ids (B,).

    By ``choose``, or by ``sample_next`` with these settings, after the repetition penalty.
    """
    check_knobs(repetition_penalty=repetition_penalty, **knobs)
    if choose and (generator or list(knobs.values()) != [1.0, None, None, None]):
        raise ValueError("choose replaces temperature, top_k, top_p, min_p and generator")

    def checked(logits: Tensor, idx: Tensor) -> Tensor:
        try:
            if repetition_penalty != 1:
                logits = penalize(logits, idx, repetition_penalty)
            if choose is None:
                return sample_next(logits, generator=generator, **knobs)
            return check_choice(choose(logits), len(logits))
        except FloatingPointError:
            if isinstance(model, nn.Module):
                check_finite(model)  # which names the weights
            raise

    return checked


def make_predictor(
    model: Model,
    predict: Predictor | None,
    idx: Tensor,
    max_new_tokens: int,
    use_cache: bool,
    padding: Tensor | None,
) -> Predictor:
    """``predict``, or ``Cached`` if the model has a cache and the prompt leaves room in its window.

    Otherwise ``Recompute``.
    """
    window = window_of(model)
    if predict is not None:
        if not use_cache or padding is not None:
            raise ValueError("predict replaces use_cache and padding: give it alone")
        if isinstance(predict, Cached):
            if predict.model is not model:
                raise ValueError("predict was made for another model")
            predict.seen = None  # the model may have changed since
            predict.cache.reset()
            predict.cache.claim(model, idx[:, :1])  # refuses a batch of another size
        return predict
    if use_cache and has_cache(model) and max_new_tokens and idx.size(1) <= window:
        cache = model.make_cache(len(idx), min(idx.size(1) + max_new_tokens - 1, window))
        return Cached(model, cache, padding)
    return Recompute(model, padding)


def fill_padding(idx: Tensor, padding: Tensor | None) -> Tensor:
    """Prompts (B, T) with the last token of each in place of its padding: no token is added."""
    if padding is None:
        return idx
    columns = torch.arange(idx.size(1), device=idx.device)
    return torch.where(columns < padding.to(idx.device).unsqueeze(1), idx[:, -1:], idx)


def pad_left(prompts: Sequence[Sequence[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    """Token lists of different lengths as one batch: ids (B, T) and padding (B,).

    Shorter prompts are filled with ``pad_id`` on the left, so that every text ends, and continues,
    at the same column. ``padding`` counts the padding tokens: the model hides them and starts a
    text's positions after them, so any id of the vocabulary will do.
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
