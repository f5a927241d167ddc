"""Writing a folder of shards, resumable after an interruption at any moment.

A shard is named *.bin.part while it grows. unfinished.json records the progress; header.json is
written last, so a folder that has one is complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import zlib
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..machine.files import (
    PART,
    explain_full_disk,
    file_crc32,
    file_sha256,
    read_json,
    sync,
    write_text,
)
from ..machine.messages import changes, join_some
from .shards import HEADER, SHARD_NAME, SPLITS, UNFINISHED, Shard

COMMIT_SECONDS = 1.0  # between two records of the progress


@dataclass
class Progress:
    """unfinished.json: what is on the disk so far."""

    identity: dict[str, Any]  # what another run must share to continue this one
    batches: int = 0  # of text, written
    lengths: dict[str, list[int]] = field(  # tokens in each shard, by split
        default_factory=lambda: {split: [] for split in SPLITS}
    )
    sums: dict[str, list[int]] = field(  # CRC-32 of each shard's bytes: it can be carried on
        default_factory=lambda: {split: [] for split in SPLITS}
    )

    def save(self, folder: Path) -> None:
        """Write unfinished.json."""
        stored = asdict(self)
        write_text(folder / UNFINISHED, json.dumps(stored | {"sha256": _digest(stored)}))

    @classmethod
    def load(cls, path: Path) -> Progress:
        """Read unfinished.json. Raises ValueError if it is not as it was written."""
        stored = read_json(path)
        if not isinstance(stored, dict) or stored.pop("sha256", None) != _digest(stored):
            raise ValueError("it is not as it was written")
        if stored.keys() != {field.name for field in fields(cls)}:
            raise ValueError("it was written by another version")
        return cls(**stored)


def _digest(stored: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(stored, sort_keys=True).encode()).hexdigest()


def open_progress(folder: Path, identity: dict[str, Any], overwrite: bool) -> Progress:
    """The progress of an interrupted run with this identity, or that of a new run.

    Raises ValueError if the folder holds anything else and ``overwrite`` is False; with it, our
    files in the folder are removed and all others kept.
    """
    path, old = folder / UNFINISHED, None
    if path.is_file():
        try:
            old = Progress.load(path)
        except ValueError as error:
            raise ValueError(
                f"{path} is damaged ({error}): remove {folder} and start again"
            ) from error
        if old.identity == identity:
            return old
    held = sorted(path.name for path in folder.iterdir() if path.name != UNFINISHED + PART)
    if held and not overwrite and not (old and old.batches == 0):
        if old:
            changed = "; ".join(changes(old.identity, identity))
            why = (
                f"{folder} holds an unfinished preparation that is not this one: {changed}. "
                "To finish it, run it again as it was."
            )
        elif HEADER in held:
            why = f"{folder} holds finished shards."
        else:
            why = f"{folder} is not empty: it holds {join_some(held)}."
        raise ValueError(
            f"{why} Choose another folder, or replace the shards that are there with "
            "overwrite=True."
        )
    # The header goes first: without it, no reader takes the folder for complete.
    for name in [HEADER, *(name for name in held if _is_ours(name))]:
        (folder / name).unlink(missing_ok=True)
    progress = Progress(identity)
    progress.save(folder)
    return progress


def _is_ours(name: str) -> bool:
    name = name.removesuffix(PART)
    return name in (HEADER, UNFINISHED) or bool(SHARD_NAME.fullmatch(name))


class ShardWriter:
    """Appends token ids to the shards of both splits and records the progress.

    ``commit`` syncs the shards to the disk first, then the record. Bytes in the files beyond the
    record are cut off when a run continues.
    """

    def __init__(
        self, folder: Path, progress: Progress, shard_tokens: int, vocab_size: int
    ) -> None:
        self.folder, self.progress, self.shard_tokens = folder, progress, shard_tokens
        self.dtype = np.dtype("<u2" if vocab_size <= 2**16 else "<u4")
        self._committed = time.monotonic()
        self._restore()

    def tokens(self, split: str) -> int:
        """The number of tokens written to a split."""
        return sum(self.progress.lengths[split])

    def append(self, ids: dict[str, NDArray[np.uint32]]) -> None:
        """Write the ids of one batch of text, by split."""
        for split, new in ids.items():
            self._append(split, new.astype(self.dtype))
        self.progress.batches += 1
        if time.monotonic() - self._committed >= COMMIT_SECONDS:
            self.commit()

    def _append(self, split: str, ids: NDArray[Any]) -> None:
        lengths, sums = self.progress.lengths[split], self.progress.sums[split]
        while len(ids):
            if not lengths or lengths[-1] == self.shard_tokens:
                lengths.append(0)
                sums.append(0)
            path = self._part(split, len(lengths) - 1)
            now = ids[: self.shard_tokens - lengths[-1]]
            with explain_full_disk(path), path.open("ab") as file:
                file.write(now.data)
            self._unsynced.add(path)
            lengths[-1] += len(now)
            sums[-1] = zlib.crc32(now.data, sums[-1])
            ids = ids[len(now) :]

    def commit(self) -> None:
        """Make everything written so far survive an interruption."""
        for path in sorted(self._unsynced):
            with explain_full_disk(path):
                sync(path)
        self._unsynced.clear()
        self.progress.save(self.folder)
        self._committed = time.monotonic()

    def move_tail_to_val(self, count: int) -> None:
        """Make the last tokens of the training split the validation split."""
        train = list(self.progress.lengths["train"])
        first = sum(train) - count  # where validation begins
        start = 0
        for i, length in enumerate(train):
            if start + length > first:
                ids = np.memmap(self._part("train", i), dtype=self.dtype, mode="r")
                keep = max(first - start, 0)
                self._append("val", ids[keep:])
                train[i] = keep
            start += length
        self.progress.lengths["train"] = train = [length for length in train if length]
        self.progress.sums["train"] = [
            file_crc32(self._part("train", i), length * self.dtype.itemsize)
            for i, length in enumerate(train)
        ]
        self.commit()
        self._restore()  # cuts the files

    def rename_shards(self) -> tuple[Shard, ...]:
        """Give the shards their final names: what remains is to write the header."""
        shards = []
        for split in SPLITS:
            for i, tokens in enumerate(self.progress.lengths[split]):
                part = self._part(split, i)
                final = part.with_suffix("")
                sync(part)
                self._check(part, tokens * self.dtype.itemsize, self.progress.sums[split][i])
                shards.append(Shard(final.name, split, tokens, file_sha256(part)))
                os.replace(part, final)
        sync(self.folder)
        return tuple(shards)

    def _check(self, path: Path, size: int, crc32: int) -> None:
        """Raise ValueError if a shard's bytes are not those that were written."""
        if file_crc32(path, size) != crc32:
            raise ValueError(
                f"{path} has other bytes than were written, so the preparation cannot continue. "
                "Start again in an empty folder."
            )

    def _part(self, split: str, i: int) -> Path:
        return self.folder / f"{split}-{i:05d}.bin{PART}"

    def _restore(self) -> None:
        """Bring the files to the state in the record: nothing missing, nothing more."""
        self._unsynced: set[Path] = set()
        sizes, sums = (
            {
                self._part(split, i): number
                for split in SPLITS
                for i, number in enumerate(numbers[split])
            }
            for numbers in (self.progress.lengths, self.progress.sums)
        )
        for path, tokens in sizes.items():
            size = tokens * self.dtype.itemsize
            if path.with_suffix("").exists():  # interrupted in ``rename_shards``
                os.replace(path.with_suffix(""), path)
            if not path.is_file() or path.stat().st_size < size:
                raise ValueError(
                    f"{path} is missing or shorter than {UNFINISHED} says, so the preparation "
                    "cannot continue. Start again in an empty folder."
                )
            os.truncate(path, size)
            self._check(path, size, sums[path])
        for path in self.folder.glob(f"*{PART}"):
            if _is_ours(path.name) and path not in sizes:
                path.unlink()
