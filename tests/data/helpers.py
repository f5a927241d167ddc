"""What the tests of the data share: shards written by hand, short preparations, refusals."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from gpt2_edu import load_tokenizer
from gpt2_edu.data.prepare import PrepareConfig, prepare
from gpt2_edu.data.shards import Header, Shard, TokenShards, tokenizer_hash

SIZES = (101, 7, 211)  # three shards of primes; the second is shorter than a window
ENCODING = load_tokenizer("gpt2")
EOT = ENCODING.eot_token
STORIES = [f"Story {i}: the crane flew over the {'deep ' * (i % 5)}lake.\n" for i in range(61)]


def refused(call, *parts: str, kind=ValueError) -> None:
    """The call raises this error, and its message has all these parts."""
    with pytest.raises(kind) as error:
        call()
    for part in parts:
        assert part in str(error.value)


def write_shards(folder, ids_by_file, dtype="uint16", vocab_size=50257) -> None:
    """A folder of shards with these ids, from a dict of file names and ids."""
    folder.mkdir(parents=True, exist_ok=True)
    shards = []
    for name, ids in ids_by_file.items():
        raw = np.asarray(ids, dtype=np.dtype(dtype).newbyteorder("<")).tobytes()
        (folder / name).write_bytes(raw)
        sha256 = hashlib.sha256(raw).hexdigest()
        shards.append(Shard(name, name.split("-")[0], len(ids), sha256))
    header = Header(
        tokenizer="gpt2",
        tokenizer_hash=tokenizer_hash(load_tokenizer("gpt2")),
        vocab_size=vocab_size,
        dtype=dtype,
        documents=3,
        shards=tuple(shards),
        made={"sources": ["a test"]},
    )
    (folder / "header.json").write_text(header.to_json())


def run(tmp_path, *sources, **settings_):
    """Prepare into tmp_path/out; the small shards make borders fall everywhere."""
    settings_ = {"out": str(tmp_path / "out"), "tokenizer": "gpt2", "shard_tokens": 97} | settings_
    return prepare(PrepareConfig(sources=tuple(map(str, sources)), **settings_))


def ids_of(out, split="train") -> list[int]:
    """All token ids of a split."""
    shards = TokenShards(out, split)
    return shards.read(0, len(shards)).tolist()


def content(folder) -> dict[str, bytes]:
    """The bytes of every file in a folder."""
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}
