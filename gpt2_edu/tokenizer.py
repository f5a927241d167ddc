"""Text to token ids and back, with GPT-2's own byte-pair ranks and no network."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import as_file, files

import tiktoken
from tiktoken.load import load_tiktoken_bpe

from .config import nearest

# How GPT-2 cuts a text into pieces before any bytes are merged: contractions, then runs of
# letters, digits or other signs, each with at most one space in front, then what white space is
# left. This is OpenAI's pattern in the form that tiktoken ships, whose possessive quantifiers
# (++) never backtrack.
SPLIT_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"

END_OF_TEXT = "<|endoftext|>"

_RANKS_SHA256 = {"gpt2": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"}


@cache
def load_tokenizer(name: str = "gpt2") -> tiktoken.Encoding:
    """A byte-pair encoding, built from the ranks that ship with this package.

    ``load_tokenizer("gpt2")`` has 50,257 tokens: 256 bytes, 50,000 merges and ``<|endoftext|>``.
    It encodes exactly as ``tiktoken.get_encoding("gpt2")`` does, without the download. Raises
    ValueError for an unknown name or a damaged file of ranks.
    """
    if name not in _RANKS_SHA256:
        raise ValueError(f"unknown tokenizer {name!r}. {nearest(name, _RANKS_SHA256)}")
    with as_file(files("gpt2_edu") / "assets" / f"{name}.tiktoken") as path:
        ranks = load_tiktoken_bpe(str(path), expected_hash=_RANKS_SHA256[name])
    return tiktoken.Encoding(
        name=name,
        pat_str=SPLIT_PATTERN,
        mergeable_ranks=ranks,
        special_tokens={END_OF_TEXT: len(ranks)},
        explicit_n_vocab=len(ranks) + 1,
    )


def stream_text(tokenizer: tiktoken.Encoding, ids: Iterable[int]) -> Iterator[str]:
    """The text of each id as it comes, never half a character.

    A token can end in the middle of a character's bytes. Those wait for the rest, so a piece may
    be empty; what is still half when the ids end becomes "�".
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for i in ids:
        yield decoder.decode(tokenizer.decode_single_token_bytes(i))
    yield decoder.decode(b"", final=True)
