"""Decoding on a CUDA device: a step is recorded as a graph once, kept, and replayed.

Python needs microseconds to start a kernel, and a small kernel runs no longer than that: the device
would wait for Python. A CUDA graph is a recording of a whole step, sampling included, which one
call replays. Recording takes longer than a short text, so a model's last recording stays, with its
cache, for the next text of the same size. A replay runs no Python: models in which something is
hooked are not decoded here (``kernels.as_written``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from .cache import KVCache
from .kernels import decode_logits, fused
from .model import GPT2


class Decoder:
    """A cache, and the recorded steps that fill it: ``decoder(model, ids, …)`` are the next ids.

    A graph has fixed shapes. The kernels of kernels.py read on the device how far the text is, and
    one graph serves every length. Without them attention looks at a bucket of keys, 128, 256, 512 …
    of them, the mask hides those that are not there yet, and each bucket is recorded when it is
    first needed.
    """

    def __init__(self, cache: KVCache, draw: Callable[..., Tensor], compile: bool) -> None:
        device = cache.k[0].device
        self.cache, self.draw, self.compile = cache, draw, compile
        self.ids = torch.zeros(cache.batch_size, dtype=torch.int64, device=device)
        self.position = torch.zeros(1, dtype=torch.int64, device=device)  # where a graph finds it
        # The graphs' own; it draws what the caller's would.
        self.generator = torch.Generator(device)
        self.graphs: dict[int, Any] = {}

    def __call__(self, model: GPT2, ids: Tensor, generator: torch.Generator) -> Tensor:
        """The ids (B,) that follow these; nothing here waits for the device."""
        with self.cache.step(model, ids.unsqueeze(1)) as (position, S):
            S = self.keys(S)
            self.position.copy_(position)
            if S not in self.graphs:
                self.graphs[S] = self.record(model, S)
            self.ids.copy_(ids)
            self.replay(S, generator)
        return self.ids.clone()

    def replay(self, S: int, generator: torch.Generator) -> None:
        """The recorded step; it draws what ``generator`` would, and leaves that behind the draw."""
        if self.generator.initial_seed() != generator.initial_seed():
            self.generator.manual_seed(generator.initial_seed())
        self.generator.set_offset(generator.get_offset())
        self.graphs[S].replay()
        generator.set_offset(self.generator.get_offset())

    def keys(self, S: int) -> int:
        """How many keys a graph looks at that is to see S of them."""
        if fused(self.ids) and not self.compile:
            return self.cache.max_len
        return bucket(S, self.cache.max_len)

    def step(self, model: GPT2, S: int) -> None:
        logits = compiled_logits if self.compile else decode_logits
        drawn = self.draw(
            logits(model, self.cache, self.ids, self.position, S), generator=self.generator
        )
        self.ids.copy_(drawn)

    def record(self, model: GPT2, S: int) -> Any:
        """A graph of one step."""
        with torch.cuda.device(self.ids.device), uncached_casts(), unplanned_attention():
            here, side = torch.cuda.current_stream(), torch.cuda.Stream()
            side.wait_stream(here)
            with torch.cuda.stream(side):
                for _ in range(2):  # libraries set themselves up, and the compiler compiles
                    self.step(model, S)
            here.wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            graph.register_generator_state(self.generator)
            with torch.cuda.graph(graph, stream=side):
                self.step(model, S)
        return graph


def unplanned_attention() -> AbstractContextManager[None]:
    """Without cuDNN's attention: it makes a plan for each new length, for tens of milliseconds."""
    kinds = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
    return sdpa_kernel(kinds)


@contextmanager
def uncached_casts() -> Iterator[None]:
    """Autocast keeps the weights that it has cast: a graph would record where they were."""
    before = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(before)


def compiled_logits(*step: Any) -> Tensor:
    """``decode_logits``, compiled: once for each batch size and bucket."""
    with torch._dynamo.config.patch(recompile_limit=64):
        compiled = torch.compile(decode_logits, fullgraph=True, dynamic=False)
        logits: Tensor = compiled(*step)
        return logits


def bucket(needed: int, most: int) -> int:
    """The fixed number of keys to look at where ``needed`` are there: 128, 256, 512 … most."""
    return min(max(128, 1 << (needed - 1).bit_length()), most)


# ---- Kept between texts --------------------------------------------------------------------------

# Of each model the decoder of its last text, and what it was made for.
_KEPT: WeakKeyDictionary[GPT2, tuple[Any, Decoder]] = WeakKeyDictionary()


@contextmanager
def kept_decoder(
    model: GPT2,
    size: tuple[int, int, torch.device, torch.dtype],
    padding: Tensor | None,
    draw: partial[Tensor],
    compile: bool,
) -> Iterator[Decoder]:
    """The decoder of the last text if it was made for the like, or a new one, with an empty cache.

    ``size`` is what a KVCache takes. While a decoder is in use nobody else finds it. A graph knows
    addresses: it sees weights that change in place, and is given up where they stand elsewhere.
    """
    weights = [weight.data_ptr() for weight in model.parameters()]
    way = compile, fused(model.wte.weight)
    wanted = size, padding is None, draw.keywords, way, weights
    was_for, decoder = _KEPT.pop(model, (None, None))
    if decoder is None or was_for != wanted:
        decoder = None
        _KEPT.clear()  # memory for the new one
        own = None if padding is None else padding.clone()
        decoder = Decoder(KVCache(model.config, *size, own), draw, compile)
    elif padding is not None:
        assert decoder.cache.padding is not None
        decoder.cache.padding.copy_(padding)
    decoder.cache.reset()
    try:
        yield decoder
    except Exception:
        raise  # and it is not kept
    except GeneratorExit:  # nobody wants more of the text
        _KEPT[model] = wanted, decoder
        raise
    _KEPT[model] = wanted, decoder
