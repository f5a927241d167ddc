"""Keys and values of the tokens seen so far, kept so that they are computed once."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from .config import GPT2Config
from .machine.device import available_memory, checked_device, has_amx
from .machine.outside import shown


class KVCache:
    """The keys and values of up to ``max_len`` tokens: for each layer, k and v of (B, H, S, D).

    ``model(idx, cache=cache)`` writes the tokens of idx behind the ``length`` tokens that are in
    the cache and lets them attend to all. ``padding`` (B,) counts the padding tokens on the left of
    each text. Everything is allocated at once. A cache is for inference: what it holds
    carries no gradient. On a CPU without AMX, half-precision keys and values are given to attention
    in float32: there it is several times as fast, conversion included.

    One token costs 2 · N · C numbers: 36,864 bytes in bfloat16 for the 124M model. Raises
    ValueError for a size below 1 or beyond the model's window.
    """

    def __init__(
        self,
        config: GPT2Config,
        batch_size: int,
        max_len: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float32,
        padding: Tensor | None = None,
    ) -> None:
        max_len = config.block_size if max_len is None else max_len
        if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
            raise TypeError(f"dtype must be a torch.dtype of floats, got {shown(dtype)}")
        for name, number in (("batch_size", batch_size), ("max_len", max_len)):
            if not isinstance(number, int) or isinstance(number, bool):
                raise TypeError(f"{name} must be an int, got {shown(number)}")
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        if not 1 <= max_len <= config.block_size:
            raise ValueError(
                f"max_len must lie in 1 … block_size={config.block_size}, got {max_len}: the model "
                "has no positions beyond its window"
            )
        if padding is not None:
            if not isinstance(padding, Tensor) or padding.dtype != torch.int64:
                got = padding.dtype if isinstance(padding, Tensor) else type(padding).__name__
                raise TypeError(f"padding must be a tensor of int64, got {got}")
            if (shape := tuple(padding.shape)) != (batch_size,):
                raise ValueError(f"padding must have shape ({batch_size},), got {shape}")
            if padding.min() < 0 or padding.max() >= max_len:
                raise ValueError(f"padding must lie in 0 … {max_len - 1}, got {padding.tolist()}")
        device = torch.empty(0).device if device is None else checked_device(device)
        needed = 2 * config.n_layer * batch_size * max_len * config.n_embd * dtype.itemsize
        free = available_memory(device)
        if free is not None and needed > free:
            raise ValueError(
                f"a cache for {batch_size:,} texts of {max_len:,} tokens needs "
                f"{needed / 2**30:,.1f} GiB, and the {device.type} has {free / 2**30:,.1f} free"
            )
        self.config, self.padding = config, padding
        self.batch_size, self.max_len, self.length = batch_size, max_len, 0
        size = (batch_size, config.n_head, max_len, config.head_size)
        # One tensor per layer: a compiled step copies a tensor whole before it writes to a part.
        self.k, self.v = (
            [torch.zeros(size, device=device, dtype=dtype) for _ in range(config.n_layer)]
            for _ in range(2)
        )
        self._attend_in = dtype
        if self.k[0].device.type == "cpu" and not (dtype == torch.bfloat16 and has_amx()):
            self._attend_in = torch.promote_types(dtype, torch.float32)
        self._model: weakref.ref[nn.Module] | None = None  # whose keys these are

    def nbytes(self) -> int:
        """Bytes of memory held, full or not."""
        return sum(tensor.nbytes for tensor in (*self.k, *self.v))

    def reset(self) -> None:
        """Forget every token. The memory stays allocated."""
        self.length, self._model = 0, None

    @contextmanager
    def step(self, model: nn.Module, idx: Tensor) -> Iterator[tuple[Tensor, int]]:
        """One forward pass of idx (B, T): yields its positions (T,) and S, how many keys it sees.

        The tokens count when the block ends without an error. Raises ValueError, before anything
        is written, for a pass that does not fit.
        """
        self._check(model, idx)
        stop = self.length + idx.size(1)
        yield torch.arange(self.length, stop, device=idx.device), stop
        self.length, self._model = stop, weakref.ref(model)

    def update(
        self, positions: Tensor, S: int, layer: int, k: Tensor, v: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Write k and v (B, H, T, D) at positions (T,); return the first S, (B, H, S, D) each."""
        keys, values = self.k[layer], self.v[layer]
        keys.index_copy_(2, positions, k.detach().to(keys.dtype))
        values.index_copy_(2, positions, v.detach().to(values.dtype))
        return keys[:, :, :S].to(self._attend_in), values[:, :, :S].to(self._attend_in)

    def _check(self, model: nn.Module, idx: Tensor) -> None:
        (B, T), (ours, theirs) = idx.shape, (_layout(self.config), _layout(model.config))
        problem = ""
        if theirs != ours:
            problem = f"was made for (n_layer, n_head, head_size) = {ours}, this model has {theirs}"
        elif self.length and (self._model is None or self._model() is not model):
            problem = f"holds {self.length} tokens of another model. Call cache.reset() first"
        elif self.batch_size != B:
            problem = f"was made for a batch of {self.batch_size}, idx has {B}"
        elif self.k[0].device != idx.device:
            problem = f"is on {self.k[0].device}, idx on {idx.device}"
        elif self.length + T > self.max_len:
            problem = (
                f"is full: it holds {self.length} of max_len={self.max_len} tokens and {T} more do "
                "not fit. Make a longer one, or reset() it"
            )
        if problem:
            raise ValueError(f"the cache {problem}.")


def _layout(config: object) -> tuple[int, int, int]:
    assert isinstance(config, GPT2Config)
    return config.n_layer, config.n_head, config.head_size
