"""Text to token ids and back, with GPT-2's byte-pair ranks or your own, and no network."""

from __future__ import annotations

import base64
import codecs
import gzip
import hashlib
import io
import json
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path

import tiktoken
from safetensors import SafetensorError, safe_open

from .machine.files import atomic_write, named_path, read_object, write_text
from .machine.messages import escape_control, nearest, short_repr
from .tokenizer_json import END, FILE, TokenizerJSON

Encoding = tiktoken.Encoding | TokenizerJSON

# How GPT-2 splits a text into pieces before any bytes are merged: contractions, then runs of
# letters, digits or other characters, each with at most one space in front, then the remaining
# white space. OpenAI's pattern in the form that tiktoken ships: possessive quantifiers (++) never
# backtrack.
SPLIT_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"

END_OF_TEXT = "<|endoftext|>"

# Each tokenizer's file in assets/, and the SHA-256 of its bytes.
_RANKS = {
    "gpt2": ("gpt2.tiktoken", "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"),
    "crane": (
        "crane/crane.tiktoken",
        "e2276c6bdaebb5f8870725e2e19bfe7a692265dd15a32cf328a4b526afaaffdd",
    ),
}


RANKS = "tokenizer.tiktoken"  # the file of a vocabulary of one's own, in data, runs and models
IN_HEADER = "gpt2-edu"  # begins the names of what a model's file has in its header: config, merges
_MOST_MERGES = 2**16 - 257  # ids of a page's file have 16 bits
_MOST_BYTES = 2**24  # of all tokens together; GPT-2's have 320,000


def load_tokenizer(name: str | PathLike[str] = "gpt2") -> tiktoken.Encoding:
    """A byte-pair encoding: one that ships with this package, or your own.

    "gpt2" has 50,257 tokens: 256 bytes, 50,000 merges and ``<|endoftext|>``. It encodes exactly as
    ``tiktoken.get_encoding("gpt2")`` does, without the download. "crane" has 1,024, learned from
    stories of Crane World. Any other name is the path of a file of ranks, as ``save_ranks`` writes
    it, of a model in one file, as the book's pages save it, or of a folder: prepared text, a run,
    or a model. If such a folder has no vocabulary of its own, its model's is the one of that size.
    Raises ValueError for an unknown name or a damaged file.
    """
    if isinstance(name, str) and name in _RANKS:
        return _shipped(name)
    path = named_path(name)
    if path.is_file():
        return _read_merges(path) if path.suffix == ".safetensors" else _read_ranks(path)
    if not path.is_dir():
        raise ValueError(
            f"unknown tokenizer {short_repr(str(name))}. {nearest(str(name), _RANKS)} Or give the "
            "path of a file of ranks, or of a folder that has one."
        )
    for place in places(path):
        if (place / RANKS).is_file():
            return _read_ranks(place / RANKS)
    for place in places(path):
        if (place / "config.json").is_file():
            sizes = read_object(place / "config.json")
            return _shipped(tokenizer_name(sizes.get("vocab_size")))
    raise ValueError(f"the folder {path} has neither {RANKS} nor a model's config.json")


def load_encoding(name: str | PathLike[str]) -> Encoding:
    """What ``load_tokenizer`` finds, or the tokenizer.json of a folder, as Hugging Face has it.

    Beside a GPT-2 that file is not read, since its vocabulary is in this package.
    """
    for place in places(named_path(name)):
        if (place / FILE).is_file() and not (place / RANKS).is_file():
            config = place / "config.json"
            if not config.is_file() or read_object(config).get("model_type") != "gpt2":
                return TokenizerJSON(place, END_OF_TEXT)
    return load_tokenizer(name)


def places(folder: Path) -> list[Path]:
    """Where a tokenizer may lie: in a folder, or, if it is a run's, in its checkpoints."""
    return [folder, *sorted(folder.glob("checkpoints/step-*"))]


def save_encoding(encoding: Encoding, folder: Path) -> None:
    """Write a vocabulary into a folder, for ``load_encoding``, unless it is one of this package."""
    if isinstance(encoding, TokenizerJSON):
        encoding.save(folder)
    elif is_own(encoding):
        ranks, special = encoding._mergeable_ranks, encoding._special_tokens
        if len(special) > 1:  # the last id is not the one that ends a text
            ranks = ranks | {token.encode(): i for token, i in special.items()}
            write_text(folder / END, json.dumps({"eos_token_id": encoding.eot_token}) + "\n")
        save_ranks(ranks, folder / RANKS)


VOCABULARY = RANKS, FILE, END  # the files that ``save_encoding`` writes


@cache
def _shipped(name: str) -> tiktoken.Encoding:
    file, sha256 = _RANKS[name]
    content = (files("gpt2_edu") / "assets" / file).read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError(f"{file} of this package is damaged: install gpt2-edu again")
    return make_encoding(name, _parse_ranks(content.splitlines()))


def _read_ranks(path: Path) -> tiktoken.Encoding:
    try:
        with path.open("rb") as file:
            return make_encoding(str(path), _parse_ranks(file))
    except ValueError as error:
        raise ValueError(
            f"{path} is not a file of ranks, in which each line is a token in base64, a space and "
            f"its rank ({error})"
        ) from error


def _parse_ranks(lines: Iterable[bytes]) -> dict[bytes, int]:
    pairs = (line.split() for line in lines)
    return {base64.b64decode(token, validate=True): int(rank) for token, rank in pairs}


def _read_merges(path: Path) -> tiktoken.Encoding:
    packed = header_texts(path).get(f"{IN_HEADER}.merges")
    if packed is None:
        raise ValueError(f"{path} has no tokenizer in its header: name the model's own")
    try:
        with gzip.open(io.BytesIO(base64.b64decode(packed, validate=True))) as file:
            ranks = ranks_of_merges(file.read(256 + 4 * _MOST_MERGES + 1))
        return make_encoding(str(path), ranks)
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise ValueError(f"the tokenizer in the header of {path} is damaged ({error})") from error


def ranks_of_merges(merges: bytes) -> dict[bytes, int]:
    """The ranks of a tokenizer in the compact form that ``web.merges`` makes.

    Raises ValueError for merges of tokens that are not there yet, or longer than any tokenizer's.
    """
    tokens = [merges[i : i + 1] for i in range(256)]
    pairs = array("H", merges[256:])
    if sys.byteorder == "big":
        pairs.byteswap()
    if len(pairs) > 2 * _MOST_MERGES:
        raise ValueError("it has more merges than ids have numbers")
    total = 0
    for left, right in zip(pairs[::2], pairs[1::2], strict=True):
        if max(left, right) >= len(tokens):
            raise ValueError(f"merge {len(tokens) - 256} joins tokens that are not there yet")
        tokens.append(tokens[left] + tokens[right])
        total += len(tokens[-1])  # each may be twice as long as the one before
        if total > _MOST_BYTES:
            raise ValueError("its tokens are longer than any tokenizer's")
    return {token: rank for rank, token in enumerate(tokens)}


def header_texts(path: Path) -> dict[str, str]:
    """What a safetensors file says in its header beside the tensors.

    Raises ValueError if it cannot be read.
    """
    try:
        with safe_open(path, framework="np") as file:
            return file.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise ValueError(
            f"{path} cannot be read as safetensors ({escape_control(str(error))[:300]}). It is "
            f"{path.stat().st_size:,} bytes; was it cut off?"
        ) from error


def is_own(encoding: Encoding) -> bool:
    """Whether a tokenizer is none of this package's, so that files must carry it."""
    return encoding.name not in _RANKS


def make_encoding(name: str, ranks: dict[bytes, int]) -> tiktoken.Encoding:
    """A tokenizer from its ranks: GPT-2's split pattern, and ``<|endoftext|>`` as the last id.

    If the ranks contain ``<|endoftext|>`` itself, it is special, and so are the tokens after it.
    Raises ValueError if a byte is missing, or if the ranks are not 0, 1, 2 … without a gap.
    """
    missing = [b for b in range(256) if bytes([b]) not in ranks]
    if missing:
        raise ValueError(f"ranks must hold all 256 bytes, or some text has no ids; not {missing}")
    if sorted(ranks.values()) != list(range(len(ranks))):
        raise ValueError(f"{len(ranks)} ranks must be the numbers 0 to {len(ranks) - 1}, each once")
    end = ranks.get(END_OF_TEXT.encode(), len(ranks))
    special = {token.decode(): rank for token, rank in ranks.items() if rank > end}
    return tiktoken.Encoding(
        name=name,
        pat_str=SPLIT_PATTERN,
        mergeable_ranks={token: rank for token, rank in ranks.items() if rank < end},
        special_tokens={END_OF_TEXT: end} | special,
        explicit_n_vocab=end + 1 + len(special),
    )


def save_ranks(ranks: dict[bytes, int], path: str | Path) -> None:
    """Write ranks as tiktoken does: a line for each token, in base64, then a space and its rank."""
    by_rank = sorted(ranks.items(), key=lambda item: item[1])
    lines = [base64.b64encode(token) + b" %d\n" % rank for token, rank in by_rank]
    with atomic_write(Path(path)) as part:
        part.write_bytes(b"".join(lines))


def tokenizer_name(vocab_size: int | None) -> str:
    """The tokenizer of this package with so many tokens: "gpt2" or "crane".

    Raises ValueError if there is none.
    """
    for name in _RANKS:
        if _shipped(name).n_vocab == vocab_size:
            return name
    raise ValueError(
        f"no tokenizer of this package has {short_repr(vocab_size)} tokens: name the one that "
        "the model was trained with"
    )


def stream_text(tokenizer: Encoding, ids: Iterable[int]) -> Iterator[str]:
    """Yield the text of each id, never half a character.

    A token can end in the middle of a character's bytes. They are held back until the rest arrives,
    so a piece may be empty; a character that is incomplete at the end becomes "�".
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for i in ids:
        if not isinstance(i, int) or not 0 <= i < tokenizer.n_vocab:
            raise ValueError(
                f"{short_repr(i)} is not an id of {tokenizer.name!r}: 0 … {tokenizer.n_vocab - 1}"
            )
        yield decoder.decode(tokenizer.decode_single_token_bytes(i))
    yield decoder.decode(b"", final=True)


def until(pieces: Iterable[str], stop: Sequence[str]) -> Iterator[str]:
    """Yield a text, given in pieces, up to the stop string that is complete first.

    A stop string may begin in one piece and end in another, so a tail that could be its beginning
    is held back until the next piece decides. Raises ValueError for an empty stop string.
    """
    if isinstance(stop, str) or not all(isinstance(one, str) for one in stop):
        raise TypeError(f"stop takes a list of strings, got {short_repr(stop)}")
    if "" in stop:
        raise ValueError("a stop string needs at least one character")
    held = ""
    for piece in pieces:
        held += piece
        found = [(held.find(one) + len(one), held.find(one)) for one in stop if one in held]
        if found:
            yield held[: min(found)[1]]
            return
        begun = [n for one in stop for n in range(1, len(one)) if held.endswith(one[:n])]
        safe = len(held) - max(begun, default=0)
        yield held[:safe]
        held = held[safe:]
    yield held
