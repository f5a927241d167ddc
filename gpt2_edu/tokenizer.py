"""Text to token ids and back, with GPT-2's own byte-pair ranks and no network; and new ranks."""

from __future__ import annotations

import base64
import codecs
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from heapq import heappop, heappush
from importlib.resources import files
from itertools import islice, pairwise
from pathlib import Path

import regex
import tiktoken

from .machine.files import whole_file
from .machine.messages import nearest
from .machine.outside import shown

# How GPT-2 cuts a text into pieces before any bytes are merged: contractions, then runs of
# letters, digits or other signs, each with at most one space in front, then what white space is
# left. This is OpenAI's pattern in the form that tiktoken ships, whose possessive quantifiers
# (++) never backtrack.
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

# The order in which GPT-2 numbers the 256 bytes: first those that Latin-1 prints, then the rest.
# Training keeps to it: the ids decide between pairs that are equally frequent.
_BYTES = sorted(range(256), key=lambda b: not chr(b).isprintable() or chr(b) == " ")

Pair = tuple[int, int]  # the ids of two neighbours


@cache
def load_tokenizer(name: str = "gpt2") -> tiktoken.Encoding:
    """A byte-pair encoding, built from the ranks that ship with this package.

    ``load_tokenizer("gpt2")`` has 50,257 tokens: 256 bytes, 50,000 merges and ``<|endoftext|>``.
    It encodes exactly as ``tiktoken.get_encoding("gpt2")`` does, without the download.
    ``load_tokenizer("crane")`` has 1,024, learned from stories of Crane World. Raises ValueError
    for an unknown name or a damaged file of ranks.
    """
    if name not in _RANKS:
        raise ValueError(f"unknown tokenizer {shown(name)}. {nearest(str(name), _RANKS)}")
    file, sha256 = _RANKS[name]
    content = (files("gpt2_edu") / "assets" / file).read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError(f"{file} of this package is damaged: install gpt2-edu again")
    lines = (line.split() for line in content.splitlines())
    return make_encoding(name, {base64.b64decode(token): int(rank) for token, rank in lines})


def make_encoding(name: str, ranks: dict[bytes, int]) -> tiktoken.Encoding:
    """A tokenizer from its ranks: GPT-2's way to cut, and ``<|endoftext|>`` as the last id.

    Raises ValueError if a byte is missing, or if the ranks are not 0, 1, 2 … without a gap.
    """
    missing = [b for b in range(256) if bytes([b]) not in ranks]
    if missing:
        raise ValueError(f"ranks must hold all 256 bytes, or some text has no ids; not {missing}")
    if sorted(ranks.values()) != list(range(len(ranks))):
        raise ValueError(f"{len(ranks)} ranks must be the numbers 0 to {len(ranks) - 1}, each once")
    return tiktoken.Encoding(
        name=name,
        pat_str=SPLIT_PATTERN,
        mergeable_ranks=ranks,
        special_tokens={END_OF_TEXT: len(ranks)},
        explicit_n_vocab=len(ranks) + 1,
    )


def save_ranks(ranks: dict[bytes, int], path: str | Path) -> None:
    """Write ranks as tiktoken does: a line for each token, in base64, then a space and its rank."""
    by_rank = sorted(ranks.items(), key=lambda item: item[1])
    lines = [base64.b64encode(token) + b" %d\n" % rank for token, rank in by_rank]
    with whole_file(Path(path)) as part:
        part.write_bytes(b"".join(lines))


def train_bpe(texts: Iterable[str], vocab_size: int) -> dict[bytes, int]:
    """Learn byte-pair ranks from texts: the 256 bytes in GPT-2's order, then merges as learned.

    ``vocab_size`` counts the bytes, the merges and ``<|endoftext|>``, which ``make_encoding``
    adds: the result has ``vocab_size - 1`` ranks. Inside a text ``<|endoftext|>`` is nothing
    special. The order of the texts does not matter.

    Each round merges the pair of neighbours that occurs most often; of equals, the one whose first
    id is lowest, then whose second is, as Hugging Face's ``tokenizers`` does. Raises TypeError for
    texts that are not strings, ValueError for a ``vocab_size`` below 257 or beyond what the texts
    can fill. Source: Sennrich et al. 2016, "Neural Machine Translation of Rare Words with
    Subword Units", algorithm 1; on bytes, Radford et al. 2019, section 2.2.
    """
    if not isinstance(vocab_size, int) or isinstance(vocab_size, bool):
        raise TypeError(f"vocab_size must be an int, got {vocab_size!r}")
    if vocab_size < 257:
        raise ValueError(
            f"vocab_size must be at least 257, for 256 bytes and {END_OF_TEXT}, got {vocab_size}"
        )
    pieces = _count_pieces(texts)
    tokens = [bytes([b]) for b in _BYTES]
    id_of = {b: i for i, b in enumerate(_BYTES)}
    words = [[id_of[b] for b in piece.encode("utf-8")] for piece in pieces]
    for left, right in islice(_merges(words, list(pieces.values())), vocab_size - 257):
        tokens.append(tokens[left] + tokens[right])
    if len(tokens) < vocab_size - 1:
        raise ValueError(
            f"vocab_size={vocab_size} is too many: after {len(tokens) - 256} merges every piece of "
            f"the texts is one token. Give more text, or a vocab_size of at most {len(tokens) + 1}."
        )
    return {token: rank for rank, token in enumerate(tokens)}


def _count_pieces(texts: Iterable[str]) -> Counter[str]:
    """How often each piece occurs that GPT-2's pattern cuts the texts into."""
    if isinstance(texts, str):
        raise TypeError("texts must be several strings, got a single one. Write [text].")
    find_pieces = regex.compile(SPLIT_PATTERN).findall
    pieces: Counter[str] = Counter()
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"each text must be a str, but text {i} is a {type(text).__name__}")
        pieces.update(find_pieces(text))
    return pieces


def _merges(words: list[list[int]], weights: list[int]) -> Iterator[Pair]:
    """The pairs to merge, best first, until every word is one token. Merge n makes id 256 + n.

    A text repeats its words, so each different word is kept once with a weight that says how
    often it occurs, and a merge recounts only the words that hold its pair.
    """
    counts: Counter[Pair] = Counter()
    where: defaultdict[Pair, set[int]] = defaultdict(set)  # words that hold the pair, or once did
    for w, word in enumerate(words):
        for pair in pairwise(word):
            counts[pair] += weights[w]
            where[pair].add(w)
    heap = sorted((-n, pair) for pair, n in counts.items())  # what is sorted is a heap
    new = 256
    while heap and heap[0][0] < 0:
        claimed, best = heappop(heap)
        if -claimed > counts[best]:  # counts only fall: this one is less by now, so it must wait
            heappush(heap, (-counts[best], best))
            continue
        yield best
        new_pairs = set()
        for w in where.pop(best):
            for pair in pairwise(words[w]):
                counts[pair] -= weights[w]
            words[w] = _merge(words[w], best, new)
            for pair in pairwise(words[w]):
                counts[pair] += weights[w]
                if new in pair:
                    where[pair].add(w)
                    new_pairs.add(pair)
        for pair in new_pairs:
            heappush(heap, (-counts[pair], pair))
        new += 1


def _merge(word: list[int], pair: Pair, new: int) -> list[int]:
    """The same word, with every occurrence of the pair replaced by one new id."""
    merged, i = [], 0
    while i < len(word):
        found = tuple(word[i : i + 2]) == pair
        merged.append(new if found else word[i])
        i += 2 if found else 1
    return merged


def tokenizer_name(vocab_size: int) -> str:
    """The tokenizer of this package with so many tokens: "gpt2" or "crane".

    Raises ValueError if there is none.
    """
    for name in _RANKS:
        if load_tokenizer(name).n_vocab == vocab_size:
            return name
    raise ValueError(
        f"no tokenizer of this package has {vocab_size:,} tokens. Known: {', '.join(_RANKS)}."
    )


def stream_text(tokenizer: tiktoken.Encoding, ids: Iterable[int]) -> Iterator[str]:
    """The text of each id as it comes, never half a character.

    A token can end in the middle of a character's bytes. Those wait for the rest, so a piece may
    be empty; what is still half when the ids end becomes "�".
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for i in ids:
        if not isinstance(i, int) or not 0 <= i < tokenizer.n_vocab:
            raise ValueError(
                f"{shown(i)} is no id of {tokenizer.name!r}: 0 … {tokenizer.n_vocab - 1}"
            )
        yield decoder.decode(tokenizer.decode_single_token_bytes(i))
    yield decoder.decode(b"", final=True)
