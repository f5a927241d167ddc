"""Token shards: the files of token ids that a training run reads.

A folder of shards holds header.json and plain files of token ids, little-endian uint16 (uint32 for
a vocabulary above 65,536), with nothing before, between or after them. The shards of one split, in
the order of the header, are one long sequence of tokens. ``gpt2_edu.data.prepare`` writes such a
folder.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
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

from ..machine.files import file_sha256, read_json
from ..machine.messages import escape_control, join_some, short_repr
from ..tokenizer import load_tokenizer

HEADER = "header.json"
UNFINISHED = ".unfinished"  # the folder in which a preparation writes its shards
FORMAT, VERSION = "gpt2-edu token shards", 1
SPLITS = ("train", "val")
SHARD_NAME = re.compile(r"(train|val)-\d{5,}\.bin")


# ---- The header --------------------------------------------------------------------------------


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
    documents: int  # number of texts, without the empty ones
    shards: tuple[Shard, ...]
    made: dict[str, Any]  # the settings of the preparation, for people to read

    def tokens(self, split: str) -> int:
        """The number of tokens in a split: 0 if there is none of that name."""
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
    if not path.is_file():
        raise FileNotFoundError(_why_no_header(path.parent))
    try:
        stored = read_json(path)
        if not isinstance(stored, dict):
            raise ValueError(f"it holds a {type(stored).__name__}, not an object")
        if (stored.get("format"), stored.get("version")) != (FORMAT, VERSION):
            raise ValueError(
                f"its format is {short_repr(stored.get('format'))}, version "
                f"{short_repr(stored.get('version'))}; "
                f"this program reads {FORMAT!r}, version {VERSION}"
            )
        return _parse_header(stored)
    except (ValueError, KeyError, TypeError) as error:
        wrong = f"it lacks {error}" if isinstance(error, KeyError) else error
        raise ValueError(
            f"{path} cannot be used: {wrong}. Copy it again from where it was made, or prepare the "
            "text again."
        ) from error


def _why_no_header(folder: Path) -> str:
    if not folder.is_dir():
        return (
            f"there is no folder {str(folder)!r}. Make one with prepare: it turns text into token "
            "shards."
        )
    if (folder / UNFINISHED).is_dir():
        return f"{folder} holds a preparation that was interrupted, or runs now. Run it again."
    held = join_some(sorted(path.name for path in folder.iterdir()))
    return (
        f"{escape_control(str(folder))} has no {HEADER}, so it is not a folder of token shards. "
        f"It holds: {held or 'nothing'}."
    )


def _parse_header(stored: dict[str, Any]) -> Header:
    """The header, with everything checked that the rest of this file relies on."""
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
        raise ValueError(f"its dtype is {short_repr(header.dtype)}, not 'uint16' or 'uint32'")
    for name in ("vocab_size", "documents"):
        if not isinstance(stored[name], int) or stored[name] < 1:
            raise ValueError(f"{name} is {short_repr(stored[name])}, not a positive integer")
    for name in ("tokenizer", "tokenizer_hash"):
        if not isinstance(stored[name], str):
            raise ValueError(f"{name} is {short_repr(stored[name])}, not a string")
    for shard in shards:
        if not isinstance(shard.file, str):
            raise ValueError(f"{short_repr(shard.file)} is no name of a file")
        matched = SHARD_NAME.fullmatch(shard.file)
        if not matched or matched[1] != shard.split:
            raise ValueError(
                f"{short_repr(shard.file)} is no name for a shard of the split "
                f"{short_repr(shard.split)}"
            )
        if not isinstance(shard.tokens, int) or shard.tokens < 1:
            raise ValueError(
                f"{shard.file} has {short_repr(shard.tokens)} tokens, not a positive integer"
            )
        if not isinstance(shard.sha256, str) or not re.fullmatch("[0-9a-f]{64}", shard.sha256):
            raise ValueError(f"the SHA-256 of {shard.file} is {short_repr(shard.sha256)}")
    if stored["tokens"] != {split: header.tokens(split) for split in SPLITS}:
        raise ValueError(f"its total {short_repr(stored['tokens'])} is not the sum of its shards")
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

    ``len(shards)`` is the number of tokens. Opening checks that every shard exists and has its
    exact size and, unless ``verify=False``, its SHA-256, for which each file is read once. Raises
    FileNotFoundError if the folder, its header or a shard is missing, and ValueError if the split
    is unknown or empty or a file is damaged or not listed, naming the file.
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
        self.tokenizer, self.vocab_size = self.header.tokenizer, self.header.vocab_size
        self.dtype = np.dtype(self.header.dtype).newbyteorder("<")
        self._check_files(shards, verify)
        self._maps = [np.memmap(self.folder / s.file, dtype=self.dtype, mode="r") for s in shards]
        self._starts = [0, *np.cumsum([shard.tokens for shard in shards]).tolist()]
        # Identifies the data in a checkpoint: the same tokens in the same files.
        hashes = [self.header.tokenizer_hash, *(shard.sha256 for shard in shards)]
        self.fingerprint = hashlib.sha256("\n".join(hashes).encode()).hexdigest()

    def __len__(self) -> int:
        return int(self._starts[-1])

    def read(self, start: int, length: int) -> Tensor:
        """The token ids start … start + length - 1, across shards: int64 (length,)."""
        if start < 0 or length < 0 or start + length > len(self):
            raise ValueError(
                f"tokens {start} to {start + length} were asked for; the split {self.split!r} of "
                f"{self.folder} has {len(self)}"
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
        """The positions of <|endoftext|>, where documents begin. Reads all files once."""
        eot = load_tokenizer(self.tokenizer).eot_token
        shards = zip(self._starts, self._maps, strict=False)  # _starts also holds the end
        return np.concatenate([start + np.flatnonzero(ids == eot) for start, ids in shards])

    def check_tokenizer(self, name: str) -> None:
        """Raise ValueError unless the shards were made by the tokenizer of this name."""
        encoding = load_tokenizer(name)
        expected = tokenizer_hash(encoding)
        if expected != self.header.tokenizer_hash:
            raise ValueError(
                f"the shards in {self.folder} hold the ids of another tokenizer: they were made "
                f"with {self.tokenizer!r} (hash {self.header.tokenizer_hash}), {name!r} has the "
                f"hash {expected}. The same id stands for different text in the two: prepare the "
                f"text again with tokenizer={name!r}, or train with {self.tokenizer!r}."
            )
        if self.vocab_size > encoding.n_vocab:
            raise ValueError(
                f"{self.folder / HEADER} says that there are {self.vocab_size:,} tokens; {name!r} "
                f"has only {encoding.n_vocab:,}. Copy it again, or prepare the text again."
            )

    def _check_files(self, shards: list[Shard], verify: bool) -> None:
        listed = {shard.file for shard in self.header.shards}
        for path in sorted(self.folder.iterdir()):
            if SHARD_NAME.fullmatch(path.name) and path.name not in listed:
                raise ValueError(
                    f"{path} is not listed in {HEADER}: it belongs to another preparation. Move it "
                    "away, or copy the whole folder again."
                )
        repair = "Copy the file again from where it was made, or prepare the text again."
        for shard in shards:
            path = self.folder / shard.file
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
