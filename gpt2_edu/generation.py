"""Predict, sample, append, repeat.

With a cache, which is the default, a step computes one token and looks back at the kept keys and
values of the others. On a CUDA device the whole step, sampling included, is recorded as a graph
once and replayed, so that the device never waits for Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from inspect import signature
from typing import Any, Literal

import torch
from torch import Tensor

from .cache import KVCache
from .machine.outside import listed, shown
from .model import GPT2, eval_mode, visible_keys
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
) -> Iterator[Tensor]:
    """Yield the ids (B,) of each new token as it is drawn.

    idx (B, T) is the prompt. ``max_new_tokens`` does not count it. After ``eos_id`` a sequence
    yields only ``eos_id``, and when all have ended so does the stream. Prompts of different
    lengths come from ``pad_left`` with their ``padding`` (B,). Text that would outgrow the window
    of block_size tokens is an error, unless ``overflow="crop"`` lets the model forget its oldest
    tokens; the others then move to new positions, so each such step computes all of them anew.
    ``use_cache=False`` does so at every step. ``compile=True`` compiles the step of a CUDA device:
    half a minute at first, faster after that.

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
    draw = partial(
        sample_next, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator
    )
    cache = _make_cache(model, idx, max_new_tokens, padding) if use_cache else None
    step = None
    if cache is not None and idx.device.type == "cuda" and not tracing():
        step = GraphedStep(model, cache, draw, generator, compile)

    new, ended = idx.new_empty(idx.size(0)), idx.new_zeros(idx.size(0), dtype=torch.bool)
    with eval_mode(model):
        for _ in range(max_new_tokens):
            if step is not None and 0 < step.cache.length < step.cache.max_len:
                new = step(new)
            else:
                logits = _last_logits(model, idx, cache, padding)
                try:
                    if idx.device.type != "cpu":  # on a CPU, draw does this
                        check_logits(logits, anywhere=True)
                    new = draw(logits)
                except FloatingPointError as error:
                    raise FloatingPointError(f"{error}. {_not_finite(model)}") from error
            if eos_id is not None:
                new = new.masked_fill(ended, eos_id)
                ended |= new == eos_id
            yield new
            if eos_id is not None and ended.all():
                break
            idx = torch.cat([idx, new.unsqueeze(1)], dim=1)


def generate(model: GPT2, idx: Tensor, max_new_tokens: int, **settings: Any) -> Tensor:
    """Continue each prompt: idx (B, T) → (B, T + n), n ≤ max_new_tokens.

    The settings, and what is raised, are those of ``stream``.
    """
    new = stream(model, idx, max_new_tokens, **settings)
    return torch.cat([idx, *(ids.unsqueeze(1) for ids in new)], dim=1)


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


@torch.inference_mode()
def _last_logits(model: GPT2, idx: Tensor, cache: KVCache | None, padding: Tensor | None) -> Tensor:
    """Logits (B, V) of the token that follows idx, computing what the cache does not hold."""
    if cache is not None and idx.size(1) <= cache.max_len:
        logits, _ = model(idx[:, cache.length :], cache=cache, last_only=True)
    else:
        forgotten = max(idx.size(1) - model.config.block_size, 0)
        if padding is not None:
            padding = (padding - forgotten).clamp(min=0)
        logits, _ = model(idx[:, forgotten:], padding=padding, last_only=True)
    return logits[:, -1]


def _make_cache(
    model: GPT2, idx: Tensor, max_new_tokens: int, padding: Tensor | None
) -> KVCache | None:
    """Room for the prompt (B, T) and what follows it; none where that is of no use."""
    (B, T), window = idx.shape, model.config.block_size
    if max_new_tokens == 0 or T > window:
        return None
    room, device, dtype = min(T + max_new_tokens - 1, window), idx.device, model.dtype
    if device.type == "cuda":  # few different sizes, so that few have to be compiled
        room = bucket(room, window)
    if torch.is_autocast_enabled(device.type):
        dtype = torch.get_autocast_dtype(device.type)
    return KVCache(model.config, B, room, device, dtype, padding)


class GraphedStep:
    """One step of decoding on a CUDA device, recorded as a graph and replayed.

    A graph has fixed shapes, so attention looks at a bucket of keys, 128, 256, 512 … of them,
    and the mask hides those that are not there yet. Each bucket is recorded when first needed.
    """

    def __init__(
        self,
        model: GPT2,
        cache: KVCache,
        draw: Callable[[Tensor], Tensor],
        generator: torch.Generator | None,
        compile: bool,
    ) -> None:
        self.model, self.cache, self.draw, self.generator = model, cache, draw, generator
        self.logits = decode_logits
        if compile:
            self.logits = torch.compile(decode_logits, fullgraph=True, dynamic=False)
        device = cache.k[0].device
        self.ids = torch.zeros(cache.batch_size, dtype=torch.int64, device=device)
        self.position = torch.zeros(1, dtype=torch.int64, device=device)  # where a graph finds it
        self.graphs: dict[int, Any] = {}

    def __call__(self, ids: Tensor) -> Tensor:
        """The ids (B,) that follow these; nothing here waits for the device."""
        with self.cache.step(self.model, ids.unsqueeze(1)) as (position, S):
            S = bucket(S, self.cache.max_len)
            self.position.copy_(position)
            if S not in self.graphs:
                self.graphs[S] = self.record(S)
            self.ids.copy_(ids)
            self.graphs[S].replay()
        return self.ids.clone()

    def step(self, S: int) -> None:
        self.ids.copy_(self.draw(self.logits(self.model, self.cache, self.ids, self.position, S)))

    def record(self, S: int) -> Any:
        generator = self.generator or torch.cuda.default_generators[self.ids.device.index or 0]
        state = generator.get_state()
        side = torch.cuda.Stream(self.ids.device)
        side.wait_stream(torch.cuda.current_stream(self.ids.device))
        with torch.cuda.stream(side):
            for _ in range(2):  # libraries set themselves up, and the compiler compiles
                self.step(S)
        torch.cuda.current_stream(self.ids.device).wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        if self.generator is not None:
            graph.register_generator_state(self.generator)
        with torch.cuda.graph(graph):
            self.step(S)
        generator.set_state(state)  # as if none of this had drawn anything
        return graph


def decode_logits(model: GPT2, cache: KVCache, ids: Tensor, position: Tensor, S: int) -> Tensor:
    """Logits (B, V) of the token after ids (B,), which stands at ``position`` (1,).

    The unit of compilation: tensors and fixed shapes only. Attention looks at the first S keys,
    and the mask hides those that are not there yet.
    """
    visible = visible_keys(position, S, cache.padding)
    x = model.hidden(ids.unsqueeze(1), position, S, cache.padding, cache, visible)
    return model.lm_head(x[:, -1])


def bucket(needed: int, most: int) -> int:
    """The fixed number of keys to look at where ``needed`` are there: 128, 256, 512 … most."""
    return min(max(128, 1 << (needed - 1).bit_length()), most)


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
