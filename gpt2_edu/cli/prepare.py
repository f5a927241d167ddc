"""``gpt2-edu prepare``: from text to token shards."""

from __future__ import annotations

from ..data.prepare import PrepareConfig
from ..data.prepare import prepare as prepare_shards
from . import command


@command(
    "gpt2-edu prepare shakespeare.txt --out data/shakespeare",
    "gpt2-edu prepare books/ more.jsonl --text-field body --vocab-size 8000 --out data/books",
    "gpt2-edu prepare letters.txt --tokenizer gpt2 --out data/letters",
    "gpt2-edu prepare dataset:roneneldan/TinyStories --out data/stories",
    positional="sources",
)
def prepare(config: PrepareConfig) -> None:
    """Turn text files, folders, JSONL or a named dataset into token shards."""
    header = prepare_shards(config)
    print(f"vocabulary{header.vocab_size:>12,} tokens, {header.made['vocabulary']}")
    print(f"training{header.tokens('train'):>14,} tokens")
    print(f"validation{header.tokens('val'):>12,} tokens, {header.made['validation']}")
    print(f"in {config.out}. Train on it: gpt2-edu train --data {config.out} --out runs/first")
