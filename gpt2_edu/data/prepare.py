"""Text to token shards, once, before training: ``prepare(PrepareConfig(sources=…, out=…))``.

Each document is preceded by <|endoftext|>: the token then means "a new text begins", its first
word is predicted from it, and a model that is given nothing else starts a text. The characters
"<|endoftext|>" inside a document are ordinary text.

A small text gets a small vocabulary. A book never uses most of GPT-2's 50,257 tokens, and their
table would be nine tenths of a small model and three quarters of its work. So unless a tokenizer is
named, byte-pair merges are learned from the text, as in chapter 1, and stored beside the shards.

The shards grow in a folder of their own and move to their place when they are complete. A
preparation that was interrupted leaves nothing that can be read, and starts again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_type_hints

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from ..bpe import count_pieces, train_bpe
from ..machine.files import explain_full_disk, file_sha256, locked, named_path, sync, write_text
from ..machine.messages import join_some, short_repr
from ..machine.options import check_type, option
from ..tokenizer import (
    RANKS,
    VOCABULARY,
    Encoding,
    is_own,
    load_encoding,
    load_tokenizer,
    make_encoding,
    save_encoding,
)
from ..tokenizer_json import FILE, TokenizerJSON
from .shards import HEADER, SHARD_NAME, SPLITS, UNFINISHED, Header, Shard, tokenizer_hash
from .sources import BLOCK, ReadOptions, Source, find_sources, in_parts

BATCH = 128  # pieces that are encoded at a time
# Merges are learned from at most so many characters, whose different words have so many bytes. It
# takes seconds. In Chinese, which has no spaces, nearly every run of characters is another word.
# A document on one line is sampled in parts of at most PART characters, as a text file is read.
SAMPLE, WORDS, PART = 10_000_000, 1_000_000, 2 * BLOCK
LEAST = 1000  # bytes of text to learn a vocabulary from
PASSAGES, PASSAGE = (
    20,
    256,
)  # of one document: how many for validation, and the fewest tokens of one


@dataclass(frozen=True, kw_only=True)
class PrepareConfig:
    """What to prepare, and how. The result depends on all of it but workers and overwrite."""

    sources: tuple[str, ...] = option(
        "text files, folders, .jsonl, dataset:NAME[:CONFIG[:SPLIT]] or crane:COUNT stories"
    )
    out: str = option("folder for the shards: new or empty")
    tokenizer: str | None = option(
        "gpt2, crane, a file of ranks, or a folder with one or with a tokenizer.json; if not "
        "given, learned from the text",
        None,
    )
    vocab_size: int | None = option(
        "tokens of the vocabulary that is learned; if not given, 2 times the root of the bytes",
        None,
    )
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
        if self.vocab_size is not None and self.tokenizer is not None:
            raise ValueError("vocab_size is for a vocabulary to learn: leave out tokenizer")
        if not self.out:
            raise ValueError("out is empty: name a folder for the shards")


def prepare(config: PrepareConfig) -> Header:
    """Turn text into a folder of token shards that ``TokenShards`` reads. Returns its header.

    A document is a text file, a line of JSONL or a row; empty lines and rows are left out. Which
    documents are for validation follows from (seed, number of the document); the first is always
    for training. Where none is drawn, as with a single file, passages that are spread evenly over
    the text are taken instead.

    Raises FileNotFoundError for a missing source, and ValueError for input that cannot be read as
    text, naming file and place, for too little text to learn the vocabulary from, or for a folder
    that holds something else.
    """
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
            encoding, made["vocabulary"] = choose_tokenizer(config, sources)
            writer = ShardWriter(part, config.shard_tokens, encoding.n_vocab)
            documents, drawn = _encode_all(config, encoding, sources, writer)
            total = sum(map(writer.tokens, SPLITS))
            if not total:
                raise ValueError(f"there is no text in {', '.join(config.sources)}")
            made["validation"] = f"{drawn:,} of {documents:,} documents, drawn at random"
            if config.val_fraction > 0 and not writer.tokens("val"):
                held = writer.hold_out(min(max(round(total * config.val_fraction), 1), total - 1))
                made["validation"] = (
                    f"{held} passage{'s' * (held != 1)}, spread evenly over the text"
                )
            save_encoding(encoding, part)
            beside = FILE if isinstance(encoding, TokenizerJSON) else RANKS
            header = Header(
                tokenizer=beside if is_own(encoding) else encoding.name,
                tokenizer_hash=tokenizer_hash(encoding),
                vocab_size=encoding.n_vocab,
                dtype=writer.dtype.name,
                documents=documents,
                shards=writer.finish(),
                made=made,
            )
            write_text(part / HEADER, header.to_json())
            replace_shards(out, part)
        finally:
            shutil.rmtree(part)
        return header


def choose_tokenizer(config: PrepareConfig, sources: list[Source]) -> tuple[Encoding, str]:
    """The tokenizer, and a sentence on where it comes from.

    If none is named, it is learned. The number of different words in a text grows about as the
    square root of its length (Heaps 1978), and so does the vocabulary: 2,000 tokens for a million
    bytes. A text of 600 MB gets GPT-2's.
    """
    if config.tokenizer is not None:
        return load_encoding(config.tokenizer), f"that of {config.tokenizer}"
    pieces = (piece.text for source in sources for piece in source.pieces())
    texts, every, size = sample(part for text in pieces for part in in_parts(text, PART))
    if 0 < size < LEAST:
        raise ValueError(
            f"{size:,} bytes of text are too few to learn from: give {LEAST:,} at the very least, "
            "and a hundred times as much for a model that writes"
        )
    wanted, most = round(2 * size**0.5), load_tokenizer("gpt2").n_vocab
    if config.vocab_size is None and wanted >= most:
        return load_tokenizer("gpt2"), "GPT-2's, since the text is long"
    ranks = train_bpe(
        texts, config.vocab_size or max(wanted, 257), or_fewer=config.vocab_size is None
    )
    how = "learned from the text" + f", from 1 in {every} of its pieces" * (every > 1)
    text = "".join(texts)[:1_000_000].encode()
    if len(zlib.compress(text, 1)) < 0.05 * len(text):
        how += ", which repeats itself: validation will look better than the model is"
    return make_encoding(RANKS, ranks), how


def sample(texts: Iterable[str]) -> tuple[list[str], int, int]:
    """Every n-th text, within SAMPLE and WORDS; n; and the bytes of all texts."""
    kept: list[str] = []
    size, every = 0, 1
    for i, text in enumerate(texts):
        size += len(text.encode())
        if i % every == 0:
            kept.append(text)
            while sum(map(len, kept)) > SAMPLE and len(kept) > 1:
                kept, every = kept[::2], 2 * every
    while len(kept) > 1 and sum(len(word.encode()) for word in count_pieces(kept)) > WORDS:
        kept, every = kept[::2], 2 * every
    return kept, every, size


def check_free(folder: Path, overwrite: bool) -> None:
    """Raise ValueError if the folder holds anything but what a preparation left unfinished."""
    held = {path.name for path in folder.iterdir()} - {UNFINISHED}
    if HEADER not in held:  # it was interrupted when some files had moved to their place
        held = {name for name in held if not _is_ours(name)}
    if held and not overwrite:
        what = "finished shards" if HEADER in held else join_some(sorted(held))
        raise ValueError(
            f"{folder} is not empty: it holds {what}. Choose another folder, or replace the "
            "shards that are there with overwrite=True."
        )


def replace_shards(folder: Path, part: Path) -> None:
    """Move new files to their place. The old header is removed first and the new one moved last.

    Without it, no reader takes the folder for complete.
    """
    for name in (HEADER, *(path.name for path in folder.iterdir() if _is_ours(path.name))):
        (folder / name).unlink(missing_ok=True)
    for name in (*sorted(path.name for path in part.iterdir() if path.name != HEADER), HEADER):
        os.replace(part / name, folder / name)
        sync(folder)


def _is_ours(name: str) -> bool:
    return name in VOCABULARY or SHARD_NAME.fullmatch(name) is not None


def is_for_validation(document: int, seed: int, fraction: float) -> bool:
    """Whether a document is drawn for validation, by a hash of its number: never the first."""
    digest = hashlib.blake2b(f"{seed} {document}".encode(), digest_size=8).digest()
    return document > 0 and int.from_bytes(digest, "big") < fraction * 2**64


def _encode_all(
    config: PrepareConfig, encoding: Encoding, sources: list[Source], writer: ShardWriter
) -> tuple[int, int]:
    """Encode the text and write it in order. Returns the number of documents, all and drawn."""
    documents, drawn, split = 0, 0, "train"
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
                    held = is_for_validation(documents, config.seed, config.val_fraction)
                    split = "val" if held else "train"
                    documents, drawn = documents + 1, drawn + held
                    ids[split].append(encoding.eot_token)
                ids[split] += new
                bar.update(piece.progress)
            for name in SPLITS:
                writer.append(name, np.asarray(ids[name], dtype=writer.dtype))
    return documents, drawn


class ShardWriter:
    """Appends token ids to the shards of both splits, each of at most ``shard_tokens`` tokens."""

    def __init__(self, folder: Path, shard_tokens: int, vocab_size: int) -> None:
        self.folder, self.shard_tokens = folder, shard_tokens
        self.dtype = np.dtype("<u2" if vocab_size <= 2**16 else "<u4")
        self.lengths: dict[str, list[int]] = {split: [] for split in SPLITS}

    def tokens(self, split: str) -> int:
        """The number of tokens written to a split."""
        return sum(self.lengths[split])

    def append(self, split: str, rest: NDArray[Any]) -> None:
        """Write ids of the writer's dtype to the end of a split."""
        lengths = self.lengths[split]
        while len(rest):
            if not lengths or lengths[-1] == self.shard_tokens:
                lengths.append(0)
            path = self._path(split, len(lengths) - 1)
            now, rest = np.split(rest, [self.shard_tokens - lengths[-1]])
            with explain_full_disk(path), path.open("ab") as file:
                file.write(now.data)
            lengths[-1] += len(now)

    def hold_out(self, count: int) -> int:
        """Move about ``count`` tokens of the training split to validation.

        It is cut into equal parts, and the end of each is taken. Returns the number of parts.
        """
        lengths, total, start = self.lengths["train"], self.tokens("train"), 0
        parts = min(max(count // PASSAGE, 1), PASSAGES)
        ends = [total * (part + 1) // parts for part in range(parts)]
        for i, length in enumerate(lengths):
            ids = np.fromfile(self._path("train", i), dtype=self.dtype)
            held = np.zeros(length, dtype=bool)
            for end in ends:
                held[max(end - count // parts - start, 0) : max(end - start, 0)] = True
            self.append("val", ids[held])
            ids[~held].tofile(self._path("train", i))
            lengths[i], start = int((~held).sum()), start + length
        return parts

    def finish(self) -> tuple[Shard, ...]:
        """Wait until all shards are on the disk, and return what the header says of them."""
        shards = []
        for split in SPLITS:
            for i, tokens in enumerate(self.lengths[split]):
                path = self._path(split, i)
                if not tokens:
                    path.unlink()
                    continue
                sync(path)
                shards.append(Shard(path.name, split, tokens, file_sha256(path)))
        return tuple(shards)

    def _path(self, split: str, i: int) -> Path:
        return self.folder / f"{split}-{i:05d}.bin"
