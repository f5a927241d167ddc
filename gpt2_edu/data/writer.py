"""Writing token ids to shards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..machine.files import explain_full_disk, file_sha256, sync
from .shards import SPLITS, Shard


class ShardWriter:
    """Appends token ids to the shards of both splits, each of at most ``shard_tokens`` tokens."""

    def __init__(self, folder: Path, shard_tokens: int, vocab_size: int) -> None:
        self.folder, self.shard_tokens = folder, shard_tokens
        self.dtype = np.dtype("<u2" if vocab_size <= 2**16 else "<u4")
        self.lengths: dict[str, list[int]] = {split: [] for split in SPLITS}

    def tokens(self, split: str) -> int:
        """The number of tokens written to a split."""
        return sum(self.lengths[split])

    def append(self, split: str, ids: NDArray[Any]) -> None:
        """Write ids (n,) to the end of a split."""
        lengths = self.lengths[split]
        while len(ids):
            if not lengths or lengths[-1] == self.shard_tokens:
                lengths.append(0)
            path = self._path(split, len(lengths) - 1)
            now = ids[: self.shard_tokens - lengths[-1]].astype(self.dtype)
            with explain_full_disk(path), path.open("ab") as file:
                file.write(now.data)
            lengths[-1] += len(now)
            ids = ids[len(now) :]

    def move_tail_to_val(self, count: int) -> None:
        """Make the last ``count`` tokens of the training split the validation split."""
        lengths = self.lengths["train"]
        first, start = sum(lengths) - count, 0  # where validation begins, where the shard does
        for i, length in enumerate(lengths):
            if start + length > first:
                lengths[i] = keep = max(first - start, 0)
                ids = np.fromfile(self._path("train", i), dtype=self.dtype)
                self.append("val", ids[keep:])
                ids[:keep].tofile(self._path("train", i))
            start += length
        self.lengths["train"] = [length for length in lengths if length]

    def finish(self) -> tuple[Shard, ...]:
        """Wait until all shards are on the disk, and return what the header says of them."""
        shards = []
        for split in SPLITS:
            for i, tokens in enumerate(self.lengths[split]):
                path = self._path(split, i)
                sync(path)
                shards.append(Shard(path.name, split, tokens, file_sha256(path)))
        return tuple(shards)

    def _path(self, split: str, i: int) -> Path:
        return self.folder / f"{split}-{i:05d}.bin"
