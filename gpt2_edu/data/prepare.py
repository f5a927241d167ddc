"""Text to token shards, once, before training: ``prepare(PrepareConfig(sources=…, out=…))``.

Each document is preceded by <|endoftext|>: the token then means "a new text begins", its first
word is predicted from it, and a model that is given nothing else starts a text. The characters
"<|endoftext|>" inside a document are ordinary text.

The shards grow in a folder of their own and move to their place when they are complete. A
preparation that was interrupted leaves nothing that can be read, and starts again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_type_hints

import numpy as np
import tiktoken
from tqdm import tqdm

from ..machine.files import explain_full_disk, file_sha256, locked, named_path, sync, write_text
from ..machine.messages import join_some, short_repr
from ..machine.options import check_type, option
from ..tokenizer import load_tokenizer
from .shards import HEADER, SHARD_NAME, SPLITS, UNFINISHED, Header, Shard, tokenizer_hash
from .sources import ReadOptions, Source, find_sources

BATCH = 128  # pieces that are encoded at a time


@dataclass(frozen=True, kw_only=True)
class PrepareConfig:
    """What to prepare, and how. The result depends on all of it but workers and overwrite."""

    sources: tuple[str, ...] = option(
        "text files, folders, .jsonl, dataset:NAME[:CONFIG[:SPLIT]] or crane:COUNT stories"
    )
    out: str = option("folder for the shards: new or empty")
    tokenizer: str = option("name of the tokenizer", "gpt2")
    val_fraction: float = option("share of the documents kept for validation, in [0, 1)", 0.05)
    seed: int = option("which documents are drawn for validation", 0)
    shard_tokens: int = option("tokens in one shard", 100_000_000)
    text_field: str = option("field or column that holds the text", "text")
    errors: Literal["strict", "replace"] = option("bytes that are not UTF-8", "strict")
    workers: int = option("threads that encode", os.cpu_count() or 1)
    overwrite: bool = option("replace the shards that are in the folder", False)

    def __post_init__(self) -> None:
        sources: Any = self.sources
        if not isinstance(sources, tuple) or not all(isinstance(name, str) for name in sources):
            raise TypeError(f"sources must be a tuple of strings, got {sources!r}")
        if not sources:
            raise ValueError("sources is empty: name at least one file, folder or dataset")
        for name, hint in get_type_hints(type(self)).items():
            if name != "sources":
                check_type(name, getattr(self, name), hint)
        if not 0 <= self.val_fraction < 1:
            raise ValueError(f"val_fraction must be in [0, 1), got {self.val_fraction}")
        for name in ("shard_tokens", "workers"):
            if (value := getattr(self, name)) < 1:
                raise ValueError(f"{name} must be at least 1, got {short_repr(value)}")
        if not self.out:
            raise ValueError("out is empty: name a folder for the shards")


def prepare(config: PrepareConfig) -> Header:
    """Turn text into a folder of token shards that ``TokenShards`` reads. Returns its header.

    A document is a text file, a line of JSONL or a row; empty lines and rows are left out. Which
    documents are for validation follows from (seed, number of the document); the first is always
    for training. Where none is drawn, as with a single file, the last val_fraction of all tokens is
    taken instead.

    Raises FileNotFoundError for a missing source, and ValueError for input that cannot be read as
    text, naming file and place, or for a folder that holds something else.
    """
    encoding = load_tokenizer(config.tokenizer)
    out = named_path(config.out)
    sources = find_sources(config.sources, ReadOptions(config.text_field, config.errors))
    for name in config.sources:  # its own shards would be read as text the next time
        if out.resolve().is_relative_to(named_path(name).resolve()):
            raise ValueError(f"the output {out} lies inside the source {name}: move it elsewhere")
    names = ("sources", "val_fraction", "seed", "shard_tokens", "text_field", "errors")
    made = {name: getattr(config, name) for name in names} | {"sources": list(config.sources)}
    with locked(out):
        check_free(out, config.overwrite)
        part = out / UNFINISHED
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        try:
            writer = ShardWriter(part, config.shard_tokens, encoding.n_vocab)
            documents = _encode_all(config, encoding, sources, writer)
            total = sum(map(writer.tokens, SPLITS))
            if not total:
                raise ValueError(f"there is no text in {', '.join(config.sources)}")
            if config.val_fraction > 0 and not writer.tokens("val"):
                writer.move_tail_to_val(min(max(round(total * config.val_fraction), 1), total - 1))
            header = Header(
                tokenizer=config.tokenizer,
                tokenizer_hash=tokenizer_hash(encoding),
                vocab_size=encoding.n_vocab,
                dtype=writer.dtype.name,
                documents=documents,
                shards=writer.finish(),
                made=made,
            )
            write_text(part / HEADER, header.to_json())
            replace_shards(out, part, [shard.file for shard in header.shards])
        finally:
            shutil.rmtree(part)
        return header


def check_free(folder: Path, overwrite: bool) -> None:
    """Raise ValueError if the folder holds anything but what a preparation left unfinished."""
    held = {path.name for path in folder.iterdir()} - {UNFINISHED}
    if HEADER not in held:  # it was interrupted when some shards had moved to their place
        held = {name for name in held if not SHARD_NAME.fullmatch(name)}
    if held and not overwrite:
        what = "finished shards" if HEADER in held else join_some(sorted(held))
        raise ValueError(
            f"{folder} is not empty: it holds {what}. Choose another folder, or replace the "
            "shards that are there with overwrite=True."
        )


def replace_shards(folder: Path, part: Path, shards: list[str]) -> None:
    """Move new shards to their place. The old header is removed first and the new one moved last.

    Without it, no reader takes the folder for complete.
    """
    for name in (HEADER, *(path.name for path in folder.iterdir())):
        if name == HEADER or SHARD_NAME.fullmatch(name):
            (folder / name).unlink(missing_ok=True)
    for name in (*shards, HEADER):
        os.replace(part / name, folder / name)
        sync(folder)


def is_for_validation(document: int, seed: int, fraction: float) -> bool:
    """Whether a document is drawn for validation, by a hash of its number: never the first."""
    digest = hashlib.blake2b(f"{seed} {document}".encode(), digest_size=8).digest()
    return document > 0 and int.from_bytes(digest, "big") < fraction * 2**64


def _encode_all(
    config: PrepareConfig, encoding: tiktoken.Encoding, sources: list[Source], writer: ShardWriter
) -> int:
    """Encode the text and write it in order. Returns the number of documents."""
    documents, split = 0, "train"
    total = sum(source.size for source in sources)
    with tqdm(total=total, unit="B", unit_scale=True, disable=None) as bar:
        pieces = (piece for source in sources for piece in source.pieces())
        while batch := list(islice(pieces, BATCH)):
            ids: dict[str, list[int]] = {split: [] for split in SPLITS}
            texts = [piece.text for piece in batch]
            # In threads: tiktoken releases Python's global lock.
            encoded = encoding.encode_ordinary_batch(texts, num_threads=config.workers)
            for piece, new in zip(batch, encoded, strict=True):
                if piece.starts_document:
                    drawn = is_for_validation(documents, config.seed, config.val_fraction)
                    split = "val" if drawn else "train"
                    documents += 1
                    ids[split].append(encoding.eot_token)
                ids[split] += new
                bar.update(piece.progress)
            for name in SPLITS:
                writer.append(name, ids[name])
    return documents


class ShardWriter:
    """Appends token ids to the shards of both splits, each of at most ``shard_tokens`` tokens."""

    def __init__(self, folder: Path, shard_tokens: int, vocab_size: int) -> None:
        self.folder, self.shard_tokens = folder, shard_tokens
        self.dtype = np.dtype("<u2" if vocab_size <= 2**16 else "<u4")
        self.lengths: dict[str, list[int]] = {split: [] for split in SPLITS}

    def tokens(self, split: str) -> int:
        """The number of tokens written to a split."""
        return sum(self.lengths[split])

    def append(self, split: str, ids: Sequence[int]) -> None:
        """Write ids to the end of a split."""
        lengths, rest = self.lengths[split], np.asarray(ids, dtype=self.dtype)
        while len(rest):
            if not lengths or lengths[-1] == self.shard_tokens:
                lengths.append(0)
            path = self._path(split, len(lengths) - 1)
            now, rest = np.split(rest, [self.shard_tokens - lengths[-1]])
            with explain_full_disk(path), path.open("ab") as file:
                file.write(now.data)
            lengths[-1] += len(now)

    def move_tail_to_val(self, count: int) -> None:
        """Make the last ``count`` tokens of the training split the validation split."""
        lengths = self.lengths["train"]
        first, start = sum(lengths) - count, 0  # where validation begins, where the shard does
        for i, length in enumerate(lengths):
            if start + length > first:
                lengths[i] = keep = max(first - start, 0)
                ids = np.fromfile(self._path("train", i), dtype=self.dtype)
                self.append("val", ids[keep:].tolist())
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
