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
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import tiktoken
from numpy.typing import NDArray
from tqdm import tqdm

from ..machine.files import locked, sync, write_text
from ..machine.messages import join_some, short_repr
from ..machine.options import check_type, option
from ..tokenizer import load_tokenizer
from .shards import HEADER, SHARD_NAME, SPLITS, UNFINISHED, Header, tokenizer_hash
from .sources import Piece, ReadOptions, Source, find_sources
from .writer import ShardWriter

BATCH_CHARACTERS = 1 << 20  # encoded at a time


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
    errors: str = option("bytes that are not UTF-8: strict (stop) or replace", "strict")
    workers: int = option("threads that encode", os.cpu_count() or 1)
    overwrite: bool = option("replace the shards that are in the folder", False)

    def __post_init__(self) -> None:
        sources: Any = self.sources
        if not isinstance(sources, tuple) or not all(isinstance(name, str) for name in sources):
            raise TypeError(f"sources must be a tuple of strings, got {sources!r}")
        if not sources:
            raise ValueError("sources is empty: name at least one file, folder or dataset")
        for field in fields(self)[1:]:
            check_type(field.name, getattr(self, field.name), _HINTS[field.name])
        if not 0 <= self.val_fraction < 1:
            raise ValueError(f"val_fraction must be in [0, 1), got {self.val_fraction}")
        for name in ("shard_tokens", "workers"):
            if (value := getattr(self, name)) < 1:
                raise ValueError(f"{name} must be at least 1, got {short_repr(value)}")
        if not self.out:
            raise ValueError("out is empty: name a folder for the shards")
        if self.errors not in ("strict", "replace"):
            raise ValueError(f"errors must be 'strict' or 'replace', got {self.errors!r}")


_HINTS = get_type_hints(PrepareConfig)


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
    out = Path(config.out).expanduser()
    sources = find_sources(config.sources, ReadOptions(config.text_field, config.errors))
    for name in config.sources:  # its own shards would be read as text the next time
        if out.resolve().is_relative_to(Path(name).expanduser().resolve()):
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
    """Raise ValueError if the folder holds anything that the preparation did not leave there."""
    held = sorted(path.name for path in folder.iterdir() if path.name != UNFINISHED)
    interrupted = (folder / UNFINISHED).is_dir() and HEADER not in held
    if interrupted:  # perhaps when some of its shards had moved to their place
        held = [name for name in held if not SHARD_NAME.fullmatch(name)]
    if held and not overwrite:
        what = "finished shards" if HEADER in held else join_some(held)
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


TextBatch = list[tuple[str, Piece]]  # pieces with their split: enough work for one task


def text_batches(pieces: Iterable[Piece], config: PrepareConfig) -> Iterator[TextBatch]:
    """All pieces in their order, grouped. The groups depend on nothing but the pieces."""
    batch: TextBatch = []
    document, size, split = -1, 0, "train"
    for piece in pieces:
        if piece.starts_document:
            document += 1
            drawn = is_for_validation(document, config.seed, config.val_fraction)
            split = "val" if drawn else "train"
        batch.append((split, piece))
        size += len(piece.text)
        if size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def is_for_validation(document: int, seed: int, fraction: float) -> bool:
    """Whether a document is drawn for validation, by a hash of its number: never the first."""
    digest = hashlib.blake2b(f"{seed} {document}".encode(), digest_size=8).digest()
    return document > 0 and int.from_bytes(digest, "big") < fraction * 2**64


def _encode(batch: TextBatch, encoding: tiktoken.Encoding) -> dict[str, NDArray[np.uint32]]:
    """The ids of a batch, by split."""
    ids: dict[str, list[NDArray[np.uint32]]] = {split: [] for split in SPLITS}
    for split, piece in batch:
        if piece.starts_document:
            ids[split].append(np.array([encoding.eot_token], dtype=np.uint32))
        # disallowed_special=() makes special tokens ordinary text, as in encode_ordinary.
        ids[split].append(encoding.encode_to_numpy(piece.text, disallowed_special=()))
    return {split: np.concatenate(parts) for split, parts in ids.items() if parts}


def _encode_all(
    config: PrepareConfig, encoding: tiktoken.Encoding, sources: list[Source], writer: ShardWriter
) -> int:
    """Encode the text and write it in order. Returns the number of documents.

    Threads suffice: tiktoken releases Python's global lock. Few batches are in memory at a time.
    """
    documents = 0
    pending: deque[tuple[Future[dict[str, NDArray[np.uint32]]], int]] = deque()
    pieces = (piece for source in sources for piece in source.pieces())
    total = sum(source.size for source in sources)
    with (
        tqdm(total=total, unit="B", unit_scale=True, disable=None) as bar,
        ThreadPoolExecutor(config.workers) as pool,
    ):

        def write_next() -> None:
            future, progress = pending.popleft()
            for split, ids in future.result().items():
                writer.append(split, ids)
            bar.update(progress)

        for batch in text_batches(pieces, config):
            documents += sum(piece.starts_document for _, piece in batch)
            progress = sum(piece.progress for _, piece in batch)
            pending.append((pool.submit(_encode, batch, encoding), progress))
            if len(pending) > 2 * config.workers:
                write_next()
        while pending:
            write_next()
    return documents
