"""``gpt2-edu prepare``: from text to token shards."""

from __future__ import annotations

from ..data.prepare import PrepareConfig
from ..data.prepare import prepare as prepare_shards
from . import command


@command(
    "gpt2-edu prepare shakespeare.txt --out data/shakespeare",
    "gpt2-edu prepare books/ more.jsonl --text-field body --out data/books",
    "gpt2-edu prepare dataset:roneneldan/TinyStories --out data/stories",
    positional="sources",
)
def prepare(config: PrepareConfig) -> None:
    """Turn text files, folders, JSONL or a named dataset into token shards."""
    header = prepare_shards(config)
    for split in ("train", "val"):
        print(f"{split:6}{header.tokens(split):>16,} tokens")
    print(f"in {config.out}. Train on it: gpt2-edu train --data {config.out} --out runs/first")
