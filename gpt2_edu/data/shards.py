"""Token shards: the files of token ids that a training run reads.

A folder of shards holds header.json and plain files of token ids, little-endian uint16 (uint32 for
a vocabulary above 65,536), with nothing before, between or after them. The shards of one split, in
the order of the header, are one long sequence of tokens. A vocabulary that is not one of this
package's lies beside them. ``gpt2_edu.data.prepare`` writes such a folder.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
from dataclasses import asdict, dataclass, fields
from functools import cache, cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..machine.files import file_sha256, named_path, read_json
from ..machine.messages import escape_control, join_some, short_repr
from ..machine.options import check_type
from ..tokenizer import RANKS, Encoding, load_encoding, load_tokenizer
from ..tokenizer_json import FILE, TokenizerJSON

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

    def __post_init__(self) -> None:
        for name, kind in {"file": str, "tokens": int, "sha256": str}.items():
            check_type(name, getattr(self, name), kind)
        matched = SHARD_NAME.fullmatch(self.file)
        if not matched or matched[1] != self.split:
            raise ValueError(f"{short_repr(self.file)} is no name for a {self.split!r:.80} shard")
        if self.tokens < 1:
            raise ValueError(f"{self.file} has {short_repr(self.tokens)} tokens")


@dataclass(frozen=True)
class Header:
    """header.json: what a folder of shards holds and how it was made."""

    tokenizer: str  # a name that load_tokenizer knows, or RANKS or FILE, which is beside the header
    tokenizer_hash: str  # tokenizer_hash(...) of the tokenizer that made the ids
    vocab_size: int  # every id is below it
    dtype: str  # "uint16" or "uint32", little-endian
    documents: int  # number of texts, without the empty ones
    shards: tuple[Shard, ...]
    made: dict[str, Any]  # the settings of the preparation, for people to read

    def __post_init__(self) -> None:
        for name, kind in {"tokenizer": str, "tokenizer_hash": str, "vocab_size": int}.items():
            check_type(name, getattr(self, name), kind)
        if self.vocab_size < 1 or self.dtype not in ("uint16", "uint32"):
            found = f"{short_repr(self.vocab_size)} and {short_repr(self.dtype)}"
            raise ValueError(f"vocab_size and dtype cannot be {found}")

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
    header is damaged or of another format.
    """
    path = named_path(folder) / HEADER
    if not path.is_file():
        raise FileNotFoundError(_why_no_header(path.parent))
    try:
        stored = read_json(path)
        if (stored["format"], stored["version"]) != (FORMAT, VERSION):
            raise ValueError(f"this program reads only {FORMAT!r}, version {VERSION}")
        names = [field.name for field in fields(Shard)]
        shards = (Shard(*(entry[name] for name in names)) for entry in stored["shards"])
        stored["shards"] = tuple(shards)
        return Header(**{field.name: stored[field.name] for field in fields(Header)})
    except (ValueError, KeyError, TypeError) as error:
        wrong = f"it lacks {error}" if isinstance(error, KeyError) else error
        raise ValueError(
            f"{path} cannot be used: {wrong}. Copy it again from where it was made, or prepare the "
            "text again."
        ) from error


def _why_no_header(folder: Path) -> str:
    if not folder.is_dir():
        return f"there is no folder {str(folder)!r}. Make one with prepare, which writes shards."
    if (folder / UNFINISHED).is_dir():
        return f"{folder} holds a preparation that was interrupted, or runs now. Run it again."
    held = join_some(sorted(path.name for path in folder.iterdir())) or "nothing"
    shown = escape_control(str(folder))
    return f"{shown} has no {HEADER}, so it holds no token shards, but {held}."


@cache
def tokenizer_hash(encoding: Encoding) -> str:
    """SHA-256 of all that decides how a text is encoded: pattern, ranks and special tokens."""
    if isinstance(encoding, TokenizerJSON):
        return encoding.sha256
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
    exact size and its SHA-256, for which each file is read once. Raises FileNotFoundError if the
    folder, its header or a shard is missing, and ValueError if the split is unknown or empty or a
    file is damaged, naming the file.
    """

    def __init__(self, folder: str | PathLike[str], split: str = "train") -> None:
        self.folder, self.split = named_path(folder), split
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
        self._check_files(shards)
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

    def windows(self, starts: list[int], block_size: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of block_size tokens from each start: int64 (B, T) each."""
        ids = torch.stack([self.read(start, block_size + 1) for start in starts])
        return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()

    def document_starts(self) -> NDArray[np.int64]:
        """The positions of <|endoftext|>, where documents begin. Reads all files once."""
        eot = self.encoding.eot_token
        shards = zip(self._starts, self._maps, strict=False)  # _starts also holds the end
        return np.concatenate([start + np.flatnonzero(ids == eot) for start, ids in shards])

    @cached_property
    def encoding(self) -> Encoding:
        """The tokenizer that made the ids. Raises ValueError if it has changed since."""
        own = self.tokenizer in (RANKS, FILE)
        encoding = load_encoding(self.folder) if own else load_tokenizer(self.tokenizer)
        found, made = tokenizer_hash(encoding), self.header.tokenizer_hash
        if found != made or self.vocab_size > encoding.n_vocab:
            raise ValueError(
                f"the shards in {self.folder} hold {self.vocab_size:,} ids of {self.tokenizer!r} "
                f"(hash {made}); {encoding.name!r} is another tokenizer, with "
                f"{encoding.n_vocab:,} ids and the hash {found}. Prepare the text again."
            )
        return encoding

    def _check_files(self, shards: list[Shard]) -> None:
        repair = "Copy the file again from where it was made, or prepare the text again."
        for shard in shards:
            path = self.folder / shard.file
            if not path.is_file():
                raise FileNotFoundError(f"{path} is missing; {HEADER} lists it. {repair}")
            expected, size = shard.tokens * self.dtype.itemsize, path.stat().st_size
            if size != expected:
                said = f"has {size:,} bytes, {HEADER} says {expected:,}"
                raise ValueError(f"{path} is damaged: it {said}. {repair}")
            if file_sha256(path) != shard.sha256:
                raise ValueError(f"{path} is damaged: {HEADER} has another SHA-256. {repair}")
