"""Token shards and the batches that a training run reads from them.

A folder of shards holds header.json and plain files of token ids, little-endian uint16 (uint32 for
a vocabulary above 65,536), one after the other, with nothing before, between or after them. The
shards of one split, read in the order of the header, are one long sequence of tokens.
``gpt2_edu.data.prepare`` writes such a folder.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import tiktoken
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..machine.files import file_sha256
from ..tokenizer import load_tokenizer

HEADER = "header.json"
UNFINISHED = "unfinished.json"  # the record of a preparation that has not come to its end
FORMAT, VERSION = "gpt2-edu token shards", 1
SPLITS = ("train", "val")
SHARD_NAME = re.compile(r"(train|val)-\d{5,}\.bin")


# ---- What a folder says of itself --------------------------------------------------------------


@dataclass(frozen=True)
class Shard:
    """One file of token ids."""

    file: str  # its name in the folder
    split: str  # "train" or "val"
    tokens: int
    sha256: str  # of the file's bytes


@dataclass(frozen=True)
class Header:
    """header.json: what a folder of shards holds and how it was made."""

    tokenizer: str  # a name that load_tokenizer knows
    tokenizer_hash: str  # tokenizer_hash(...) of the tokenizer that made the ids
    vocab_size: int  # every id is below it
    dtype: str  # "uint16" or "uint32", little-endian
    documents: int  # how many texts went in, empty ones not counted
    shards: tuple[Shard, ...]
    made: dict[str, Any]  # the settings of the preparation, for people to read

    def tokens(self, split: str) -> int:
        """How many tokens a split has: 0 if there is none of that name."""
        return sum(shard.tokens for shard in self.shards if shard.split == split)

    def to_json(self) -> str:
        """The text of header.json."""
        totals = {split: self.tokens(split) for split in SPLITS}
        stored = {"format": FORMAT, "version": VERSION, "tokens": totals} | asdict(self)
        return json.dumps(stored, indent=2, ensure_ascii=False) + "\n"


def read_header(folder: str | PathLike[str]) -> Header:
    """The header of a folder of shards.

    Raises FileNotFoundError if there is no such folder or no header in it, and ValueError if the
    header is damaged, of another format, or contradicts itself.
    """
    path = Path(folder).expanduser() / HEADER
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {str(path.parent)!r}. Make one with prepare: it turns text into "
            "token shards."
        )
    if not path.is_file():
        if (path.parent / UNFINISHED).is_file():
            raise FileNotFoundError(
                f"{path.parent} holds a preparation that was interrupted: it has no {HEADER} yet. "
                "Run the same preparation again; it goes on where it stopped."
            )
        held = sorted(p.name for p in path.parent.iterdir())[:8]
        raise FileNotFoundError(
            f"{path.parent} has no {HEADER}, so it is not a folder of token shards. "
            f"It holds: {', '.join(held) or 'nothing'}."
        )
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(stored, dict):
            raise ValueError(f"it holds a {type(stored).__name__}, not an object")
        if (stored.get("format"), stored.get("version")) != (FORMAT, VERSION):
            raise ValueError(
                f"its format is {stored.get('format')!r}, version {stored.get('version')!r}; "
                f"this program reads {FORMAT!r}, version {VERSION}"
            )
        return _parse_header(stored)
    except (ValueError, KeyError, TypeError) as error:
        wrong = f"it lacks {error}" if isinstance(error, KeyError) else error
        raise ValueError(
            f"{path} cannot be used: {wrong}. Copy it again from where it was made, or prepare the "
            "text again."
        ) from error


def _parse_header(stored: dict[str, Any]) -> Header:
    """Check what the rest of this file relies on."""
    shards = tuple(
        Shard(**{field.name: entry[field.name] for field in fields(Shard)})
        for entry in stored["shards"]
    )
    values = {field.name: stored[field.name] for field in fields(Header)}
    header = Header(**(values | {"shards": shards}))
    if not shards:
        raise ValueError("it lists no shards")
    if len({shard.file for shard in shards}) < len(shards):
        raise ValueError("it lists a shard twice")
    if header.dtype not in ("uint16", "uint32"):
        raise ValueError(f"its dtype is {header.dtype!r}, not 'uint16' or 'uint32'")
    for name in ("vocab_size", "documents"):
        if not isinstance(stored[name], int) or stored[name] < 1:
            raise ValueError(f"{name} is {stored[name]!r}, not a count")
    for name in ("tokenizer", "tokenizer_hash"):
        if not isinstance(stored[name], str):
            raise ValueError(f"{name} is {stored[name]!r}, not a text")
    for shard in shards:
        matched = SHARD_NAME.fullmatch(shard.file)
        if not matched or matched[1] != shard.split:
            raise ValueError(f"{shard.file!r} is no name for a shard of the split {shard.split!r}")
        if not isinstance(shard.tokens, int) or shard.tokens < 1:
            raise ValueError(f"{shard.file} has {shard.tokens!r} tokens, not a count")
        if not isinstance(shard.sha256, str) or not re.fullmatch("[0-9a-f]{64}", shard.sha256):
            raise ValueError(f"the SHA-256 of {shard.file} is {shard.sha256!r}")
    if stored["tokens"] != {split: header.tokens(split) for split in SPLITS}:
        raise ValueError(f"its total {stored['tokens']!r} is not the sum of its shards")
    return header


@cache
def tokenizer_hash(encoding: tiktoken.Encoding) -> str:
    """SHA-256 of all that decides how a text is encoded: pattern, ranks and special tokens."""
    digest = hashlib.sha256(encoding._pat_str.encode())
    for token, rank in sorted(encoding._mergeable_ranks.items(), key=lambda item: item[1]):
        digest.update(b"%d %s\n" % (rank, token.hex().encode()))
    for name, rank in sorted(encoding._special_tokens.items()):
        digest.update(f"{rank} {name}\n".encode())
    return digest.hexdigest()


# ---- Reading -----------------------------------------------------------------------------------


class TokenShards:
    """One split of a folder of shards, memory-mapped: opening reads nothing into memory.

    ``len(shards)`` is the number of tokens, also ``shards.tokens``. Every shard is checked at
    opening: it is there, has its exact size and, unless ``verify=False``, its SHA-256, which costs
    one reading of the files. Raises FileNotFoundError for a folder, header or shard that is not
    there, and ValueError for a damaged, foreign or absent one, naming the file.
    """

    def __init__(
        self, folder: str | PathLike[str], split: str = "train", *, verify: bool = True
    ) -> None:
        self.folder, self.split = Path(folder).expanduser(), split
        self.header = read_header(self.folder)
        if split not in SPLITS:
            raise ValueError(f"unknown split {split!r}. Known: {', '.join(SPLITS)}.")
        shards = [shard for shard in self.header.shards if shard.split == split]
        if not shards:
            raise ValueError(
                f"{self.folder} has no split {split!r}. Prepare the text again with a "
                "val_fraction between 0 and 1."
            )
        self.tokens = self.header.tokens(split)
        self.tokenizer = self.header.tokenizer
        self.tokenizer_hash = self.header.tokenizer_hash
        self.vocab_size = self.header.vocab_size
        self.dtype = np.dtype(self.header.dtype).newbyteorder("<")
        self._refuse_strays()
        for shard in shards:
            self._check(shard, verify)
        self._maps = [np.memmap(self.folder / s.file, dtype=self.dtype, mode="r") for s in shards]
        self._starts = [0, *np.cumsum([shard.tokens for shard in shards]).tolist()]
        # What the data is, for a checkpoint to remember: the same tokens in the same files.
        known = [self.tokenizer_hash, *(shard.sha256 for shard in shards)]
        self.fingerprint = hashlib.sha256("\n".join(known).encode()).hexdigest()

    def __len__(self) -> int:
        return self.tokens

    def read(self, start: int, length: int) -> Tensor:
        """The token ids start … start + length - 1, across shards if need be: int64 (length,)."""
        if start < 0 or length < 0 or start + length > self.tokens:
            raise ValueError(
                f"tokens {start} to {start + length} were asked for; the split {self.split!r} of "
                f"{self.folder} has {self.tokens}"
            )
        out = np.empty(length, dtype=np.int64)
        done, i = 0, bisect_right(self._starts, start) - 1
        while done < length:
            at = start + done - self._starts[i]
            part = self._maps[i][at : at + length - done]
            out[done : done + len(part)] = part
            done, i = done + len(part), i + 1
        return torch.from_numpy(out)

    def document_starts(self) -> NDArray[np.int64]:
        """Where the documents begin, at each <|endoftext|>. Reads all the files once."""
        mark = load_tokenizer(self.tokenizer).eot_token
        found = [
            start + np.flatnonzero(ids == mark)
            for start, ids in zip(self._starts, self._maps, strict=False)
        ]
        return np.concatenate(found)

    def check_tokenizer(self, name: str) -> None:
        """Raise ValueError unless the shards were made by the tokenizer of this name."""
        expected = tokenizer_hash(load_tokenizer(name))
        if expected != self.tokenizer_hash:
            raise ValueError(
                f"the shards in {self.folder} hold the ids of another tokenizer: they were made "
                f"with {self.tokenizer!r} (hash {self.tokenizer_hash}), {name!r} has the hash "
                f"{expected}. The same id stands for different text in the two: prepare the text "
                f"again with tokenizer={name!r}, or train with {self.tokenizer!r}."
            )

    def _refuse_strays(self) -> None:
        listed = {shard.file for shard in self.header.shards}
        for path in sorted(self.folder.iterdir()):
            if SHARD_NAME.fullmatch(path.name) and path.name not in listed:
                raise ValueError(
                    f"{path} is not listed in {HEADER}: it belongs to another preparation. Move it "
                    "away, or copy the whole folder again."
                )

    def _check(self, shard: Shard, verify: bool) -> None:
        path = self.folder / shard.file
        repair = "Copy the file again from where it was made, or prepare the text again."
        if not path.is_file():
            raise FileNotFoundError(f"{path} is missing; {HEADER} lists it. {repair}")
        expected, size = shard.tokens * self.dtype.itemsize, path.stat().st_size
        if size != expected:
            state = "cut off" if size < expected else "too long"
            raise ValueError(
                f"{path} is {state}: {size:,} bytes, {HEADER} says {expected:,}. {repair}"
            )
        if verify and (found := file_sha256(path)) != shard.sha256:
            raise ValueError(
                f"{path} is damaged or comes from another preparation: its SHA-256 is {found}, "
                f"{HEADER} says {shard.sha256}. {repair}"
            )


# ---- Training batches --------------------------------------------------------------------------


class BatchLoader:
    """Batches of training windows, without end, in an order that a checkpoint can take up again.

    An epoch cuts the tokens into windows of block_size + 1 that overlap by one, so that within
    them every token is predicted once. The first window starts at an offset drawn anew for each
    epoch: the cuts move, and a token is seen with other contexts. Less than one block at either
    end is left out. The windows come in an order shuffled without replacement, drawn from
    (seed, epoch) alone.

    The position counts windows of that order and belongs to no rank. One batch of all ranks
    together takes the next world_size · batch_size windows, and rank r has rows r · batch_size …
    (r + 1) · batch_size of them. So a run saved on two ranks goes on with the same windows on one
    or four. Where an epoch ends inside a batch, the batch is filled up from the next epoch.

    With ``align``, a window begins wherever a document does, and an epoch has one for each: what a
    document says is then always seen with all that it said before, as far as the window reaches.
    It suits documents that are shorter than a window.

    Raises ValueError if the split is shorter than one window.
    """

    def __init__(
        self,
        shards: TokenShards,
        batch_size: int,
        block_size: int,
        *,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
        device: torch.device | str | None = None,
        align: bool = False,
    ) -> None:
        _check_sizes(shards, batch_size, block_size, rank, world_size)
        if not 0 <= seed < 2**32:
            raise ValueError(f"seed must be in [0, 2^32), got {seed}")
        self.shards, self.batch_size, self.block_size = shards, batch_size, block_size
        self.seed, self.rank, self.world_size = seed, rank, world_size
        self.device = torch.device(device or "cpu")
        self._documents = _aligned_starts(shards, block_size) if align else None
        self._start_epoch(0)

    def next_batch(self) -> tuple[Tensor, Tensor]:
        """Inputs and targets, both int64 (batch_size, block_size) on the device.

        targets[:, t] is the token after inputs[:, t].
        """
        starts = self._next_starts(self.batch_size * self.world_size)
        own = starts[self.rank * self.batch_size : (self.rank + 1) * self.batch_size]
        return _windows(self.shards, own, self.block_size, self.device)

    def state_dict(self) -> dict[str, int | str]:
        """Where the loader stands: the same on every rank, and what JSON can hold."""
        return {"epoch": self.epoch, "position": self.position} | self._identity()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where state_dict was taken. Batch size and number of ranks may differ.

        Raises ValueError if the state comes from other data, another block_size or another seed:
        the same position would then mean other windows.
        """
        wanted = {"epoch", "position", *self._identity()}
        if missing := sorted(wanted - state.keys()):
            raise ValueError(f"the state of the data loader lacks {', '.join(missing)}")
        changed = [
            f"{name} was {state[name]!r}, is now {value!r}"
            for name, value in self._identity().items()
            if state[name] != value
        ]
        if changed:
            raise ValueError(
                f"the saved position belongs to another order of windows: {'; '.join(changed)}. "
                "Resume with the data and settings that the run began with, or start a new run."
            )
        epoch, position = state["epoch"], state["position"]
        if not all(isinstance(n, int) and n >= 0 for n in (epoch, position)):
            raise ValueError(f"epoch {epoch!r} and position {position!r} must be counts")
        self._start_epoch(epoch)
        if position > len(self._order):
            raise ValueError(
                f"position {position} lies behind the {len(self._order)} windows of an epoch"
            )
        self.position = position

    def _identity(self) -> dict[str, int | str]:
        return {
            "seed": self.seed,
            "block_size": self.block_size,
            "align": self._documents is not None,
            "fingerprint": self.shards.fingerprint,
        }

    def _start_epoch(self, epoch: int) -> None:
        """Draw where the epoch's first window starts and the order of its windows."""
        # RandomState is frozen for good (NEP 19): a newer NumPy draws the same order. The streams
        # of its successor, Generator, may change, and a resumed run would repeat windows unseen.
        random = np.random.RandomState([self.seed, epoch % 2**32])
        tokens = len(self.shards)
        self.epoch, self.position = epoch, 0
        starts = self._documents
        if starts is None:
            offset: int = random.randint(min(self.block_size, tokens - self.block_size))
            windows = (tokens - 1 - offset) // self.block_size
            starts = offset + self.block_size * np.arange(windows, dtype=np.int64)
        self._order: NDArray[np.int64] = random.permutation(starts)

    def _next_starts(self, count: int) -> list[int]:
        """Where the next windows of all ranks start; moves the position on."""
        starts: list[int] = []
        while len(starts) < count:
            if self.position == len(self._order):
                self._start_epoch(self.epoch + 1)
            stop = self.position + count - len(starts)
            taken = self._order[self.position : stop].tolist()
            starts += taken
            self.position += len(taken)
        return starts


# ---- Validation batches ------------------------------------------------------------------------


def validation_batches(
    shards: TokenShards,
    batch_size: int,
    block_size: int,
    n_batches: int,
    rank: int = 0,
    world_size: int = 1,
    device: torch.device | str | None = None,
    align: bool = False,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Inputs and targets of the same windows every time, spread evenly over the split.

    n_batches · batch_size windows in all, or as many as the split has, whatever the number of
    ranks: they are dealt out, each to one rank, so a loss summed over ranks and divided by the
    number of windows is the same on one rank or many. The last batch has as many rows as are left,
    and a rank may have fewer batches than another, or none. Windows start at token 0 and do not
    overlap but for the token that is target of one and input of the next; with ``align`` each
    begins with a document.

    Raises ValueError if the split is shorter than one window.
    """
    _check_sizes(shards, batch_size, block_size, rank, world_size)
    if n_batches < 1:
        raise ValueError(f"n_batches must be at least 1, got {n_batches}")
    if align:
        starts = _aligned_starts(shards, block_size)
    else:
        starts = block_size * np.arange((len(shards) - 1) // block_size, dtype=np.int64)
    n = min(len(starts), n_batches * batch_size)
    own = [int(starts[i * len(starts) // n]) for i in range(rank, n, world_size)]
    target = torch.device(device or "cpu")
    return (
        _windows(shards, own[i : i + batch_size], block_size, target)
        for i in range(0, len(own), batch_size)
    )


def _aligned_starts(shards: TokenShards, block_size: int) -> NDArray[np.int64]:
    """The documents that begin early enough for a whole window."""
    starts = shards.document_starts()
    starts = starts[starts + block_size < len(shards)]
    if not len(starts):
        raise ValueError(
            f"no document in the split {shards.split!r} of {shards.folder} is followed by "
            f"block_size={block_size:,} tokens: use a smaller block_size, or no align"
        )
    return starts


def _windows(
    shards: TokenShards, starts: list[int], block_size: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """The windows of block_size + 1 tokens that start there, as inputs and targets."""
    ids = torch.stack([shards.read(start, block_size + 1) for start in starts])
    if device.type == "cuda":
        # From pinned memory the copy runs beside the computation, and next_batch does not wait.
        ids = ids.pin_memory().to(device, non_blocking=True)
    else:
        ids = ids.to(device)
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()


def _check_sizes(
    shards: TokenShards, batch_size: int, block_size: int, rank: int, world_size: int
) -> None:
    sizes = {"batch_size": batch_size, "block_size": block_size, "world_size": world_size}
    for name, value in sizes.items():
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    if not 0 <= rank < world_size:
        raise ValueError(f"rank must be in [0, {world_size}), got {rank}")
    if len(shards) < block_size + 1:
        raise ValueError(
            f"the split {shards.split!r} of {shards.folder} has {len(shards):,} tokens; one window "
            f"of block_size={block_size:,} needs {block_size + 1:,}. Use a smaller block_size, or "
            f"prepare more text{' or a larger val_fraction' * (shards.split == 'val')}."
        )
