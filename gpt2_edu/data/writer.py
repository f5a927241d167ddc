"""Writing a folder of shards, resumable after an interruption at any moment.

A shard is named *.bin.part while it grows. unfinished.json records the progress; header.json is
written last, so a folder that has one is complete.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..machine.files import PART, file_sha256, sync, write_text
from ..machine.messages import changes
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

    def save(self, folder: Path) -> None:
        """Write unfinished.json."""
        write_text(folder / UNFINISHED, json.dumps(asdict(self)))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make the folder and keep other processes from writing to it. The lock ends with ours."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: the shards need a folder")
    folder.mkdir(parents=True, exist_ok=True)
    if os.name == "nt":  # Windows cannot lock a folder
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise ValueError(f"another preparation is writing to {folder} right now") from error
    finally:
        os.close(handle)


def open_progress(folder: Path, identity: dict[str, Any], overwrite: bool) -> Progress:
    """The progress of an interrupted run with this identity, or that of a new run.

    Raises ValueError if the folder holds anything else and ``overwrite`` is False; with it, our
    files in the folder are removed and all others kept.
    """
    path, old = folder / UNFINISHED, None
    if path.is_file():
        try:
            old = Progress(**json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path} is damaged: remove {folder} and start again") from error
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
            why = f"{folder} is not empty: it holds {', '.join(held[:8])}."
        raise ValueError(
            f"{why} Choose another folder, or replace the shards that are there with "
            "overwrite=True (--overwrite)."
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
        lengths = self.progress.lengths[split]
        while len(ids):
            if not lengths or lengths[-1] == self.shard_tokens:
                lengths.append(0)
            path = self._part(split, len(lengths) - 1)
            now = ids[: self.shard_tokens - lengths[-1]]
            with path.open("ab") as file:
                file.write(now.data)
            self._unsynced.add(path)
            lengths[-1] += len(now)
            ids = ids[len(now) :]

    def commit(self) -> None:
        """Make everything written so far survive an interruption."""
        for path in sorted(self._unsynced):
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
        self.progress.lengths["train"] = [length for length in train if length]
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
                shards.append(Shard(final.name, split, tokens, file_sha256(part)))
                os.replace(part, final)
        sync(self.folder)
        return tuple(shards)

    def _part(self, split: str, i: int) -> Path:
        return self.folder / f"{split}-{i:05d}.bin{PART}"

    def _restore(self) -> None:
        """Bring the files to the state in the record: nothing missing, nothing more."""
        self._unsynced: set[Path] = set()
        sizes = {
            self._part(split, i): tokens * self.dtype.itemsize
            for split in SPLITS
            for i, tokens in enumerate(self.progress.lengths[split])
        }
        for path, size in sizes.items():
            if path.with_suffix("").exists():  # interrupted in ``rename_shards``
                os.replace(path.with_suffix(""), path)
            if not path.is_file() or path.stat().st_size < size:
                raise ValueError(
                    f"{path} is missing or shorter than {UNFINISHED} says, so the preparation "
                    "cannot continue. Start again in an empty folder."
                )
            os.truncate(path, size)
        for path in self.folder.glob(f"*{PART}"):
            if _is_ours(path.name) and path not in sizes:
                path.unlink()
