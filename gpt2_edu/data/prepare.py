"""Text to token shards, once, before training: ``prepare(PrepareConfig(sources=…, out=…))``.

Each document is preceded by <|endoftext|>: the token then means "a new text begins", its first
word is predicted from it, and a model that is given nothing else starts a text. The characters
"<|endoftext|>" inside a document are ordinary text.

A preparation can be killed at any moment. What is done is recorded in unfinished.json, and the
same preparation run again goes on from there, to the same files bit for bit. header.json is written
last, so a folder that has one is whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tiktoken
from numpy.typing import NDArray
from tqdm import tqdm

from ..machine.files import file_sha256, sync, write_text
from ..machine.options import option
from ..tokenizer import load_tokenizer
from .shards import (
    HEADER,
    SHARD_NAME,
    SPLITS,
    UNFINISHED,
    VERSION,
    Header,
    Shard,
    read_header,
    tokenizer_hash,
)
from .sources import Piece, Reading, Source, find_sources

BATCH = 1 << 20  # characters encoded at a time
COMMIT_EVERY = 1.0  # seconds between two records of what is done


@dataclass(frozen=True, kw_only=True)
class PrepareConfig:
    """What to prepare, and how. The result depends on all of it but workers and overwrite."""

    sources: tuple[str, ...] = option(
        "text files, folders, .jsonl, .parquet, dataset:NAME[:CONFIG[:SPLIT]] or "
        "crane:COUNT stories"
    )
    out: str = option("folder for the shards: new, empty or of the same run")
    tokenizer: str = option("name of the tokenizer", "gpt2")
    val_fraction: float = option("share of the documents kept for validation, in [0, 1)", 0.05)
    seed: int = option("which documents are drawn for validation", 0)
    shard_tokens: int = option("tokens in one shard", 100_000_000)
    text_field: str = option("field or column that holds the text", "text")
    errors: str = option("bytes that are no UTF-8: strict (stop) or replace", "strict")
    workers: int = option("threads that encode", os.cpu_count() or 1)
    overwrite: bool = option("replace the shards that are in the folder", False)

    def __post_init__(self) -> None:
        sources: Any = self.sources
        if not isinstance(sources, tuple) or not all(isinstance(name, str) for name in sources):
            raise TypeError(f"sources must be a tuple of texts, got {sources!r}")
        if not sources:
            raise ValueError("sources is empty: name at least one file, folder or dataset")
        if not 0 <= self.val_fraction < 1:
            raise ValueError(f"val_fraction must be in [0, 1), got {self.val_fraction}")
        for name in ("shard_tokens", "workers"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{name} must be an int, got {value!r}")
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        if self.errors not in ("strict", "replace"):
            raise ValueError(f"errors must be 'strict' or 'replace', got {self.errors!r}")


def prepare(config: PrepareConfig) -> Header:
    """Turn text into a folder of token shards that ``TokenShards`` reads. Returns its header.

    A document is a text file, a line of JSONL or a row; empty lines and rows are left out. Which
    documents are for validation follows from (seed, number of the document), and the first always
    trains. Where none is drawn, as with a single file, the last val_fraction of all tokens is taken
    instead.

    Raises FileNotFoundError for a source that is not there, and ValueError for input that cannot be
    read as text, naming file and place, or for a folder that holds something else.
    """
    encoding = load_tokenizer(config.tokenizer)
    out = Path(config.out).expanduser()
    sources = find_sources(config.sources, Reading(config.text_field, config.errors))
    for name in config.sources:  # its own shards would be read as text the next time
        if out.resolve().is_relative_to(Path(name).expanduser().resolve()):
            raise ValueError(f"the output {out} lies inside the source {name}: move it elsewhere")
    identity = _identity(config, encoding, sources)
    with _locked(out):
        record = _claim(out, identity, config.overwrite)
        if record is None:  # killed after the header was written: nothing is left to do
            (out / UNFINISHED).unlink()
            return read_header(out)
        writer = _Writer(out, record, config.shard_tokens, encoding.n_vocab)
        documents = _encode_all(config, encoding, sources, writer)
        writer.commit()
        total = sum(writer.lengths["train"]) + sum(writer.lengths["val"])
        if not total:
            raise ValueError(f"there is no text in {', '.join(config.sources)}")
        if config.val_fraction > 0 and not writer.lengths["val"]:
            writer.cut_tail(min(max(round(total * config.val_fraction), 1), total - 1))
        return writer.finish(
            lambda shards: Header(
                tokenizer=config.tokenizer,
                tokenizer_hash=tokenizer_hash(encoding),
                vocab_size=encoding.n_vocab,
                dtype=writer.dtype.name,
                documents=documents,
                shards=shards,
                made=_settings(config),
            )
        )


def _settings(config: PrepareConfig) -> dict[str, Any]:
    """What the result depends on, as far as the user chose it."""
    names = ("sources", "val_fraction", "seed", "shard_tokens", "text_field", "errors")
    return {name: getattr(config, name) for name in names} | {"sources": list(config.sources)}


# ---- Encoding: pieces to ids -------------------------------------------------------------------


class Batch(NamedTuple):
    """Pieces enough to be worth a thread's while, each with the split that its document is in."""

    pieces: list[tuple[str, Piece]]
    documents: int  # how many begin in it
    read: int


def batches(pieces: Iterable[Piece], config: PrepareConfig) -> Iterator[Batch]:
    """All pieces in their order, grouped. Depends on nothing but the pieces."""
    held: list[tuple[str, Piece]] = []
    document, size, split = -1, 0, "train"
    for piece in pieces:
        if piece.opens:
            document += 1
            drawn = is_for_validation(document, config.seed, config.val_fraction)
            split = "val" if drawn else "train"
        held.append((split, piece))
        size += len(piece.text)
        if size >= BATCH:
            yield _batch(held)
            held, size = [], 0
    if held:
        yield _batch(held)


def _batch(held: list[tuple[str, Piece]]) -> Batch:
    return Batch(held, sum(p.opens for _, p in held), sum(p.read for _, p in held))


def is_for_validation(document: int, seed: int, fraction: float) -> bool:
    """Whether a document is drawn for validation: a hash of its number decides, so each alone."""
    digest = hashlib.blake2b(f"{seed} {document}".encode(), digest_size=8).digest()
    return document > 0 and int.from_bytes(digest, "big") < fraction * 2**64


def _encode(batch: Batch, encoding: tiktoken.Encoding) -> dict[str, NDArray[np.uint32]]:
    """The ids of a batch, by split."""
    ids: dict[str, list[NDArray[np.uint32]]] = {split: [] for split in SPLITS}
    for split, piece in batch.pieces:
        if piece.opens:
            ids[split].append(np.array([encoding.eot_token], dtype=np.uint32))
        # disallowed_special=() makes special tokens ordinary text, as in encode_ordinary.
        ids[split].append(encoding.encode_to_numpy(piece.text, disallowed_special=()))
    return {split: np.concatenate(parts) for split, parts in ids.items() if parts}


def _encode_all(
    config: PrepareConfig, encoding: tiktoken.Encoding, sources: list[Source], writer: _Writer
) -> int:
    """Encode what is not yet encoded and write it in order. Returns the number of documents.

    Threads are enough: tiktoken works outside of Python's lock. Only a few batches are in memory.
    """
    documents = 0
    waiting: deque[tuple[Future[dict[str, NDArray[np.uint32]]], int]] = deque()
    pieces = (piece for source in sources for piece in source.pieces())
    total = sum(source.size for source in sources)
    with (
        tqdm(total=total, unit="B", unit_scale=True, disable=None) as bar,
        ThreadPoolExecutor(config.workers) as pool,
    ):

        def write_next() -> None:
            future, read = waiting.popleft()
            writer.append(future.result())
            bar.update(read)

        done = writer.batches
        for number, batch in enumerate(batches(pieces, config)):
            documents += batch.documents
            if number < done:
                bar.update(batch.read)
                continue
            waiting.append((pool.submit(_encode, batch, encoding), batch.read))
            if len(waiting) > 2 * config.workers:
                write_next()
        while waiting:
            write_next()
    return documents


# ---- The folder: what is written, and what is known to be written ------------------------------


def _identity(
    config: PrepareConfig, encoding: tiktoken.Encoding, sources: list[Source]
) -> dict[str, Any]:
    """What two runs must share for one to go on where the other stopped."""
    states = json.dumps([source.state for source in sources])
    return _settings(config) | {
        "version": VERSION,
        "tokenizer": config.tokenizer,
        "tokenizer_hash": tokenizer_hash(encoding),
        "files (names, sizes, times)": hashlib.sha256(states.encode()).hexdigest(),
    }


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Keep a second preparation out of the folder. The lock goes with the process."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file: the shards need a folder")
    out.mkdir(parents=True, exist_ok=True)
    if os.name == "nt":  # Windows locks no folders
        yield
        return
    import fcntl

    handle = os.open(out, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise ValueError(f"another preparation is writing to {out} right now") from error
    finally:
        os.close(handle)


def _claim(out: Path, identity: dict[str, Any], overwrite: bool) -> dict[str, Any] | None:
    """The record to go on from, a new one in a folder that is free, or None: all is done."""
    fresh = {"identity": identity, "batches": 0, "lengths": {split: [] for split in SPLITS}}
    record = _read_record(out)
    if record and record["identity"] == identity:
        return None if (out / HEADER).is_file() else record
    held = sorted(path.name for path in out.iterdir() if path.name != f"{UNFINISHED}.part")
    if held and not overwrite and not (record and record["batches"] == 0):
        raise ValueError(
            f"{_what_is_there(out, held, record, identity)} Choose another folder, or replace the "
            "shards that are there with overwrite=True (--overwrite)."
        )
    for name in [HEADER, *(n for n in held if _is_ours(n))]:  # the header first: it vouches for all
        (out / name).unlink(missing_ok=True)
    write_text(out / UNFINISHED, json.dumps(fresh))
    return fresh


def _what_is_there(
    out: Path, held: list[str], record: dict[str, Any] | None, identity: dict[str, Any]
) -> str:
    if record:
        old = record["identity"]
        changed = [
            f"{name} was {old.get(name)!r}, is now {identity.get(name)!r}"
            for name in sorted(old.keys() | identity.keys())
            if old.get(name) != identity.get(name)
        ]
        return (
            f"{out} holds an unfinished preparation that is not this one: {'; '.join(changed)}. "
            "To finish it, run it again as it was."
        )
    if HEADER in held:
        return f"{out} holds finished shards."
    return f"{out} is not empty: it holds {', '.join(held[:8])}."


def _read_record(out: Path) -> dict[str, Any] | None:
    path = out / UNFINISHED
    if not path.is_file():
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return {name: record[name] for name in ("identity", "batches", "lengths")}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged: remove {out} and start again") from error


def _is_ours(name: str) -> bool:
    name = name.removesuffix(".part")
    return name in (HEADER, UNFINISHED) or bool(SHARD_NAME.fullmatch(name))


class _Writer:
    """Appends ids to the shards of both splits, and records how far it has come.

    A shard is named *.bin.part until all are finished. ``commit`` first brings the files to the
    disk, then the record; what is in the files beyond the record is cut off when it is taken up.
    """

    def __init__(
        self, out: Path, record: dict[str, Any], shard_tokens: int, vocab_size: int
    ) -> None:
        self.out, self.identity, self.shard_tokens = out, record["identity"], shard_tokens
        self.batches: int = record["batches"]
        self.lengths: dict[str, list[int]] = record["lengths"]  # tokens in each shard
        self.dtype = np.dtype("<u2" if vocab_size <= 2**16 else "<u4")
        self.committed = time.monotonic()
        self._restore()

    def append(self, ids: dict[str, NDArray[np.uint32]]) -> None:
        """Write the ids of one batch."""
        for split, new in ids.items():
            self._append(split, new.astype(self.dtype))
        self.batches += 1
        if time.monotonic() - self.committed >= COMMIT_EVERY:
            self.commit()

    def _append(self, split: str, ids: NDArray[Any]) -> None:
        lengths = self.lengths[split]
        while len(ids):
            if not lengths or lengths[-1] == self.shard_tokens:
                lengths.append(0)
            path = self._part(split, len(lengths) - 1)
            now = ids[: self.shard_tokens - lengths[-1]]
            with path.open("ab") as file:
                file.write(now.tobytes())
            self._unsynced.add(path)
            lengths[-1] += len(now)
            ids = ids[len(now) :]

    def commit(self) -> None:
        """From here on, what is written so far is kept whatever happens."""
        for path in sorted(self._unsynced):
            sync(path)
        self._unsynced.clear()
        record = {"identity": self.identity, "batches": self.batches, "lengths": self.lengths}
        write_text(self.out / UNFINISHED, json.dumps(record))
        self.committed = time.monotonic()

    def cut_tail(self, count: int) -> None:
        """Make the last tokens of the training split the validation split."""
        train = list(self.lengths["train"])
        first = sum(train) - count  # where validation begins
        start = 0
        for i, length in enumerate(train):
            if start + length > first:
                ids = np.memmap(self._part("train", i), dtype=self.dtype, mode="r")
                keep = max(first - start, 0)
                for at in range(keep, length, BATCH):
                    self._append("val", ids[at : at + BATCH])
                train[i] = keep
            start += length
        self.lengths["train"] = [length for length in train if length]
        self.commit()
        self._restore()  # cuts the files

    def finish(self, make_header: Callable[[tuple[Shard, ...]], Header]) -> Header:
        """Give the shards their names, then write the header."""
        shards = []
        for split in SPLITS:
            for i, tokens in enumerate(self.lengths[split]):
                part = self._part(split, i)
                final = part.with_suffix("")
                sync(part)
                shards.append(Shard(final.name, split, tokens, file_sha256(part)))
                os.replace(part, final)
        sync(self.out)
        header = make_header(tuple(shards))
        write_text(self.out / HEADER, header.to_json())
        (self.out / UNFINISHED).unlink()
        return header

    def _part(self, split: str, i: int) -> Path:
        return self.out / f"{split}-{i:05d}.bin.part"

    def _restore(self) -> None:
        """Bring the files to what the record says: nothing missing, nothing more."""
        self._unsynced: set[Path] = set()
        wanted = {
            self._part(split, i): tokens * self.dtype.itemsize
            for split in SPLITS
            for i, tokens in enumerate(self.lengths[split])
        }
        for path, size in wanted.items():
            if path.with_suffix("").exists():  # killed while the shards were given their names
                os.replace(path.with_suffix(""), path)
            if not path.is_file() or path.stat().st_size < size:
                raise ValueError(
                    f"{path} is missing or shorter than {UNFINISHED} says, so the preparation "
                    "cannot go on. Start it anew in an empty folder."
                )
            os.truncate(path, size)
        for path in self.out.glob("*.part"):
            if _is_ours(path.name) and path not in wanted:
                path.unlink()
