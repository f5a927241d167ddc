"""Learning byte-pair merges from a text: how a vocabulary such as GPT-2's is made."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from itertools import islice, pairwise

import regex

from .config import check_int
from .tokenizer import SPLIT_PATTERN

# The order in which GPT-2 numbers the 256 bytes: first those that Latin-1 prints, then the rest.
# Training keeps to it: the ids decide between pairs that are equally frequent.
_BYTES = sorted(range(256), key=lambda b: not chr(b).isprintable() or chr(b) == " ")

LONGEST = 128  # characters of a piece that merges are learned from
Pair = tuple[int, int]  # the ids of two neighbours


def train_bpe(texts: Iterable[str], vocab_size: int, *, or_fewer: bool = False) -> dict[bytes, int]:
    """Learn byte-pair ranks from texts: the 256 bytes in GPT-2's order, then merges as learned.

    ``vocab_size`` counts the bytes, the merges and ``<|endoftext|>``, which ``make_encoding``
    adds: the result has ``vocab_size - 1`` ranks. Inside a text ``<|endoftext|>`` is nothing
    special. The order of the texts does not matter. A piece of more than LONGEST characters, as in
    a script without spaces, is learned from in parts of that size: a merge goes through all of
    each piece that holds its pair, which takes hours in one of a million characters.

    Each round merges the pair of neighbours that occurs most often; of equals, the one whose first
    id is lowest, then whose second is, as Hugging Face's ``tokenizers`` does. Raises TypeError for
    texts that are not strings, ValueError for a ``vocab_size`` below 257, or beyond what the texts
    can fill, where ``or_fewer`` would learn as many as there are. Source: Sennrich et al. 2016,
    "Neural Machine Translation of Rare Words with Subword Units", algorithm 1; on bytes, Radford
    et al. 2019, section 2.2.
    """
    check_int("vocab_size", vocab_size, 257)  # 256 bytes and <|endoftext|>
    pieces = count_pieces(texts)
    tokens = [bytes([b]) for b in _BYTES]
    id_of = {b: i for i, b in enumerate(_BYTES)}
    words = [[id_of[b] for b in piece.encode("utf-8")] for piece in pieces]
    for left, right in islice(_merges(words, list(pieces.values())), vocab_size - 257):
        tokens.append(tokens[left] + tokens[right])
    if len(tokens) < vocab_size - 1 and not or_fewer:
        raise ValueError(
            f"vocab_size={vocab_size} is too many: after {len(tokens) - 256} merges every piece of "
            f"the texts is one token. Give more text, or a vocab_size of at most {len(tokens) + 1}."
        )
    return {token: rank for rank, token in enumerate(tokens)}


def count_pieces(texts: Iterable[str]) -> Counter[str]:
    """How often each piece occurs that GPT-2's pattern cuts the texts into, none above LONGEST."""
    if isinstance(texts, str):
        raise TypeError("texts must be several strings, got a single one. Write [text].")
    find_pieces = regex.compile(SPLIT_PATTERN).findall
    pieces: Counter[str] = Counter()
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"each text must be a str, but text {i} is a {type(text).__name__}")
        pieces.update(find_pieces(text))
    for piece in [piece for piece in pieces if len(piece) > LONGEST]:
        count = pieces.pop(piece)
        for start in range(0, len(piece), LONGEST):
            pieces[piece[start : start + LONGEST]] += count
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
