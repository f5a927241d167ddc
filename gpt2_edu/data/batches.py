"""Batches of windows from token shards: shuffled for training, always the same for validation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..machine.messages import changes


class Examples(Protocol):
    """One split of what is trained on: ``TokenShards``, or the conversations of ``tuning``."""

    folder: Any
    split: str
    fingerprint: str

    def __len__(self) -> int:
        """The number of tokens."""

    def document_starts(self) -> NDArray[np.int64]:
        """The positions where documents begin."""

    def windows(self, starts: list[int], block_size: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of block_size tokens from each start, int64 (B, T)."""


class BatchLoader:
    """Endless batches of training windows, in an order that a checkpoint can resume.

    An epoch cuts the tokens into windows of block_size + 1 that overlap by one token, so that
    every token in them is predicted once. Each epoch draws a new offset for the first window, so a
    token is seen in different contexts; less than one block at either end is left out. Offset and
    order depend on (seed, epoch) alone.

    One batch of all ranks together takes the next world_size · batch_size windows, and rank r has
    rows r · batch_size … (r + 1) · batch_size of them. So a run saved on two ranks continues with
    the same windows on one or four. An epoch's last batch is filled up from the next epoch.

    With ``align``, an epoch has one window for each document, from its beginning. It suits
    documents that are shorter than a window.

    Raises ValueError if the split is shorter than one window.
    """

    def __init__(
        self,
        shards: Examples,
        batch_size: int,
        block_size: int,
        *,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
        device: torch.device | str = "cpu",
        align: bool = False,
    ) -> None:
        _check_length(shards, block_size)
        self.shards, self.batch_size, self.block_size = shards, batch_size, block_size
        self.seed, self.rank, self.world_size = seed, rank, world_size
        self.device = torch.device(device)
        self._document_starts = _aligned_starts(shards, block_size) if align else None
        self._start_epoch(0)

    def next_batch(self) -> tuple[Tensor, Tensor]:
        """Inputs and the tokens after them, both int64 (batch_size, block_size) on the device."""
        starts = self._next_starts(self.batch_size * self.world_size)
        own = starts[self.rank * self.batch_size : (self.rank + 1) * self.batch_size]
        return _windows(self.shards, own, self.block_size, self.device)

    def state_dict(self) -> dict[str, int | str]:
        """The position of the loader: the same on every rank, and JSON can hold it."""
        return {"epoch": self.epoch, "position": self.position} | self._identity()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where state_dict was taken. Batch size and number of ranks may differ.

        Raises ValueError if the state comes from other data, another block_size or another seed:
        the same position would then mean other windows.
        """
        identity = self._identity()
        if changed := changes({name: state.get(name) for name in identity}, identity):
            raise ValueError(
                f"the saved position belongs to another order of windows: {'; '.join(changed)}. "
                "Resume with the data and settings that the run began with, or start a new run."
            )
        self._start_epoch(state["epoch"])
        self.position = state["position"]

    def _identity(self) -> dict[str, int | str]:
        """What the order of the windows depends on."""
        return {
            "seed": self.seed,
            "block_size": self.block_size,
            "align": self._document_starts is not None,
            "fingerprint": self.shards.fingerprint,
        }

    def _start_epoch(self, epoch: int) -> None:
        """Draw the offset of the epoch's first window and the order of its windows."""
        # NumPy keeps RandomState's stream unchanged between versions (NEP 19), but not that of
        # Generator: after an update a resumed run would repeat windows without notice.
        random = np.random.RandomState([self.seed, epoch % 2**32])
        tokens = len(self.shards)
        self.epoch, self.position = epoch, 0
        starts = self._document_starts
        if starts is None:
            offset: int = random.randint(min(self.block_size, tokens - self.block_size))
            windows = (tokens - 1 - offset) // self.block_size
            starts = offset + self.block_size * np.arange(windows, dtype=np.int64)
        self._order: NDArray[np.int64] = random.permutation(starts)

    def _next_starts(self, count: int) -> list[int]:
        """Where the next windows of all ranks start; advances the position."""
        starts: list[int] = []
        while len(starts) < count:
            if self.position == len(self._order):
                self._start_epoch(self.epoch + 1)
            stop = self.position + count - len(starts)
            taken = self._order[self.position : stop].tolist()
            starts += taken
            self.position += len(taken)
        return starts


def validation_batches(
    shards: Examples,
    batch_size: int,
    block_size: int,
    n_batches: int,
    rank: int = 0,
    world_size: int = 1,
    device: torch.device | str = "cpu",
    align: bool = False,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Inputs and targets of the same windows every time, spread evenly over the split.

    There are n_batches · batch_size windows, or as many as the split has. Each goes to one rank, so
    a loss summed over ranks and divided by the number of windows does not depend on the number of
    ranks. The last batch of a rank may be smaller, and a rank may have fewer batches than another,
    or none. Windows share one token with the next; with ``align`` each begins with a document.

    Raises ValueError if the split is shorter than one window.
    """
    _check_length(shards, block_size)
    if align:
        starts = _aligned_starts(shards, block_size)
    else:
        starts = block_size * np.arange((len(shards) - 1) // block_size, dtype=np.int64)
    n = min(len(starts), n_batches * batch_size)
    own = [int(starts[i * len(starts) // n]) for i in range(rank, n, world_size)]
    return (
        _windows(shards, own[i : i + batch_size], block_size, torch.device(device))
        for i in range(0, len(own), batch_size)
    )


def _aligned_starts(shards: Examples, block_size: int) -> NDArray[np.int64]:
    """The documents that a full window follows."""
    starts = shards.document_starts()
    starts = starts[starts + block_size < len(shards)]
    if not len(starts):
        raise ValueError(
            f"no document in the split {shards.split!r} of {shards.folder} is followed by "
            f"block_size={block_size:,} tokens: use a smaller block_size, or no align"
        )
    return starts


def _windows(
    shards: Examples, starts: list[int], block_size: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """The windows from each start, on the device."""
    inputs, targets = shards.windows(starts, block_size)
    if device.type == "cuda":
        # A copy from pinned memory runs in parallel to computation: next_batch does not wait.
        both = torch.stack((inputs, targets)).pin_memory().to(device, non_blocking=True)
        return both[0], both[1]
    return inputs.to(device), targets.to(device)


def _check_length(shards: Examples, block_size: int) -> None:
    if len(shards) < block_size + 1:
        raise ValueError(
            f"the split {shards.split!r} of {shards.folder} has {len(shards):,} tokens; one window "
            f"of block_size={block_size:,} needs {block_size + 1:,}. Use a smaller block_size, or "
            f"prepare more text{' or a larger val_fraction' * (shards.split == 'val')}."
        )
