"""Keys and values of the tokens seen so far, kept so that they are computed once."""

from __future__ import annotations

import weakref

import torch
from torch import Tensor

from .config import GPT2Config


class KVCache:
    """Room for the keys and values of ``max_len`` tokens, in every block: 2 · (N, B, H, S, D).

    All of it is allocated at once and zero. ``model(idx, cache=cache)`` writes the tokens of idx
    behind those that it holds and lets them attend to all. ``length`` tokens are in it; the same
    number stands in ``position`` on the device, where a captured graph finds it. ``padding`` (B,)
    says how many tokens on the left of each text are no text. A cache is for inference: what it
    keeps carries no gradient. On a CPU half-precision keys and values are handed to attention in
    float32: there it is several times as fast, conversion included.

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
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        if not 1 <= max_len <= config.block_size:
            raise ValueError(
                f"max_len must lie in 1 … block_size={config.block_size}, got {max_len}: the model "
                "has no positions beyond its window"
            )
        if padding is not None and padding.shape != (batch_size,):
            raise ValueError(f"padding must have shape ({batch_size},), got {tuple(padding.shape)}")
        shape = (config.n_layer, batch_size, config.n_head, max_len, config.head_size)
        self.k = torch.zeros(shape, device=device, dtype=dtype)
        self.v = torch.zeros(shape, device=device, dtype=dtype)
        on_cpu = self.k.device.type == "cpu"
        self.attend_in = torch.promote_types(dtype, torch.float32) if on_cpu else dtype
        self.position = torch.zeros((), device=device, dtype=torch.int64)
        self.length = 0
        self.span = 0  # S: how many keys, from the first, the running pass looks at
        self.padding = padding
        self._owner: weakref.ref[object] | None = None  # whose keys these are

    @property
    def batch_size(self) -> int:
        return self.k.size(1)

    @property
    def max_len(self) -> int:
        return self.k.size(3)

    def nbytes(self) -> int:
        """Bytes of memory held, full or not."""
        return self.k.nbytes + self.v.nbytes

    def reset(self) -> None:
        """Forget every token. The memory stays allocated."""
        self.length = 0
        self.position.zero_()
        self._owner = None

    def begin(self, owner: object, config: GPT2Config, idx: Tensor) -> None:
        """Refuse a pass that does not fit, before anything is written; then make room for it."""
        B, T = idx.shape
        layout = (config.n_layer, config.n_head, config.head_size)
        held = (self.k.size(0), self.k.size(2), self.k.size(4))
        problem = ""
        if layout != held:
            problem = f"was made for (n_layer, n_head, head_size) = {held}, this model has {layout}"
        elif self.length and (self._owner is None or self._owner() is not owner):
            problem = f"holds {self.length} tokens of another model. Call cache.reset() first"
        elif self.batch_size != B:
            problem = f"was made for a batch of {self.batch_size}, idx has {B}"
        elif self.k.device != idx.device:
            problem = f"is on {self.k.device}, idx on {idx.device}"
        elif self.length + T > self.max_len:
            problem = (
                f"is full: it holds {self.length} of max_len={self.max_len} tokens and {T} more do "
                "not fit. Make a longer one, or reset() it"
            )
        if problem:
            raise ValueError(f"the cache {problem}.")
        self._owner = weakref.ref(owner)
        self.span = self.length + T

    def update(self, layer: int, positions: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Write k, v (B, H, T, D) at these positions; return all keys and values, (B, H, S, D)."""
        keys, values = self.k[layer], self.v[layer]
        keys.index_copy_(2, positions, k.detach().to(keys.dtype))
        values.index_copy_(2, positions, v.detach().to(values.dtype))
        keys, values = keys[:, :, : self.span], values[:, :, : self.span]
        return keys.to(self.attend_in), values.to(self.attend_in)

    def advance(self, T: int) -> None:
        """The pass is complete: its T tokens now count."""
        self.length += T
        self.position += T
