"""The floor: how well the next token of a story could be guessed by one who knows the grammar.

The probability of a text's beginning is the sum over all ways to say it: each way is followed, and
those that come to the same point are added up. So a choice that leaves no trace in the text costs
nothing. The surprise of a token is the logarithm of how much of that probability it takes away,
and the mean surprise, over all stories, is what no model can get below.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

import tiktoken

from ..tokenizer import load_tokenizer
from .grammar import TRAINING, Grammar, crane_world
from .judging import State, beginnings, following, scan
from .randomness import Chance
from .sampling import story

_SEED_BITS = 1 << 64


class Floor(float):
    """Nats per token, with what it was computed from."""

    standard_error: float  # of the mean, from the stories that were drawn
    stories: int
    tokens: int  # in all of them, the <|endoftext|> after each counted
    by_position: tuple[float, ...]  # mean nats of the first token, the second, …
    counts: tuple[int, ...]  # stories that have such a token


def entropy(n_stories: int = 1000, seed: int = 0) -> Floor:
    """The entropy of Crane World in nats per token, estimated on n_stories random stories.

    Each story's own figure is exact: minus the logarithm of its probability under the grammar, as
    training has it, with the <|endoftext|> after it, divided by its tokens. Random is only which
    stories are drawn; ``standard_error`` says how much that matters, and the same seed draws the
    same ones. Raises ValueError for fewer than two stories.
    """
    if n_stories < 2:
        raise ValueError(f"n_stories must be at least 2, got {n_stories}")
    rows = [surprisals(story(s)) for s in random_seeds(n_stories, seed)]
    totals, lengths = [sum(row) for row in rows], [len(row) for row in rows]
    mean = sum(totals) / sum(lengths)
    # Of a ratio of two sums: what is left of each story's total when its length has its due.
    rest = sum((t - mean * n) ** 2 for t, n in zip(totals, lengths, strict=True))
    floor = Floor(mean)
    floor.standard_error = math.sqrt(rest * n_stories / (n_stories - 1)) / sum(lengths)
    floor.stories, floor.tokens = n_stories, sum(lengths)
    columns = [[row[i] for row in rows if i < len(row)] for i in range(max(lengths))]
    floor.by_position = tuple(sum(column) / len(column) for column in columns)
    floor.counts = tuple(len(column) for column in columns)
    return floor


def random_seeds(n: int, seed: int = 0) -> list[int]:
    """Seeds of n random stories, from 0 to 2⁶⁴ - 1: those that ``entropy(n, seed)`` draws."""
    chance = Chance(seed)
    return [chance.below(_SEED_BITS) for _ in range(n)]


def surprisals(text: str, tokenizer: tiktoken.Encoding | None = None) -> tuple[float, ...]:
    """The surprise of each token of a story in nats, the <|endoftext|> after it included.

    The sum is minus the logarithm of the story's probability, whatever the tokenizer; without one
    the tokens are those of "crane". Raises ValueError for a text that training never shows.
    """
    return tuple(_surprisals(crane_world(), text, tokenizer or load_tokenizer("crane")))


def _surprisals(grammar: Grammar, text: str, tokenizer: tiktoken.Encoding) -> Iterator[float]:
    states, before = beginnings(grammar, "story"), None
    total = 1.0
    for word, at in scan(text):
        ways: dict[str, dict[State, float]] = defaultdict(lambda: defaultdict(float))
        for state, probability in states.items():
            for said, after, p in following(grammar, state, probability, TRAINING):
                ways[said][after] += p
        if word not in ways:
            raise ValueError(f"this is no story that training shows: it cannot go on at {at}")
        # All words that begin with the same tokens share the surprise of those tokens.
        masses = {said: sum(states.values()) for said, states in ways.items()}
        spelled = {said: tokens(tokenizer, before, said) for said in ways}
        own = spelled[word]
        for n in range(1, len(own) + 1):
            shared = sum(m for said, m in masses.items() if spelled[said][:n] == own[:n])
            yield math.log(total / shared)
            total = shared
        states, before = ways[word], word


def tokens(tokenizer: tiktoken.Encoding, before: str | None, word: str) -> list[int]:
    """The tokens of a word after another one; "" stands for the end of the story."""
    if word == "":
        return [tokenizer.eot_token]
    joined = before in (None, '"') or word[0] in ".,?!"
    return tokenizer.encode_ordinary(word if joined else " " + word)
