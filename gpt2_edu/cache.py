"""Keys and values of the tokens seen so far, stored so that they are computed once."""

from __future__ import annotations

import weakref

import torch
from torch import Tensor, nn

from .checks import check_cache, check_layer, check_pass, check_stored
from .config import GPT2Config, LlamaConfig


class KVCache:
    """The keys and values of up to ``max_len`` tokens: for each layer, k and v of (B, K, S, D).

    ``model(idx, cache=cache)`` appends the tokens of idx to the ``length`` tokens in the cache, and
    they attend to all of them. Everything is allocated at once. A cache is for inference: what it
    stores carries no gradient. One token costs 2 · N · K · D entries, K heads of D numbers: in
    GPT-2 2 · N · C, 36,864 bytes in bfloat16 for the 124M model. Raises ValueError for a size
    below 1 or beyond the model's window.
    """

    def __init__(
        self,
        config: GPT2Config | LlamaConfig,
        batch_size: int,
        max_len: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        max_len = config.block_size if max_len is None else max_len
        check_cache(config, batch_size, max_len, dtype)
        self.config, self.batch_size, self.max_len, self.length = config, batch_size, max_len, 0
        size = (batch_size, config.n_kv_head, max_len, config.head_size)
        with torch.inference_mode(False):  # or it could not be written to outside that mode
            # A tensor per layer: a compiled step copies a tensor whole before it writes to a part.
            self.k, self.v = (
                [torch.zeros(size, device=device, dtype=dtype) for _ in range(config.n_layer)]
                for _ in range(2)
            )
        self.model: weakref.ref[nn.Module] | None = None  # whose keys these are
        self.stored = 0  # blocks that have stored keys in the present pass

    def nbytes(self) -> int:
        """Bytes of memory, whether full or not."""
        return sum(tensor.nbytes for tensor in (*self.k, *self.v))

    def reset(self) -> None:
        """Forget every token. The memory stays allocated."""
        self.length, self.model = 0, None

    def claim(self, model: nn.Module, idx: Tensor) -> None:
        """Raise ValueError if new tokens idx (B, T) of this model do not fit."""
        check_pass(self, model, idx)
        self.model, self.stored = weakref.ref(model), 0

    def begin(self, model: nn.Module, idx: Tensor) -> tuple[Tensor, int]:
        """The positions (T,) of new tokens idx (B, T), and S, the number of keys they may see."""
        self.claim(model, idx)
        stop = self.length + idx.size(1)
        return torch.arange(self.length, stop, device=idx.device), stop

    def needs_mask(self, T: int) -> bool:
        """Whether some of the new tokens must be kept from seeing some of the S keys."""
        return T > 1 and self.length > 0

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Store k and v (B, H, T, D) of the new tokens; return those of all, (B, H, S, D)."""
        self.count(layer)
        start, stop = self.length, self.length + k.size(2)
        self.k[layer][:, :, start:stop] = k.detach()
        self.v[layer][:, :, start:stop] = v.detach()
        return self.k[layer][:, :, :stop], self.v[layer][:, :, :stop]

    def count(self, layer: int) -> None:
        """Note that a layer stores its keys. Raises ValueError beyond the last one."""
        check_layer(layer, len(self.k))
        self.stored += 1

    def end(self, T: int, blocks: int) -> None:
        """Count the new tokens. Raises ValueError if not all blocks have stored their keys."""
        check_stored(self.stored, blocks)
        self.length += T
