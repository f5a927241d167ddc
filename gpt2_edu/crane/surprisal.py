"""Exact surprisal: how well the next token of a story can be guessed by one who knows the grammar.

The probability of a text's beginning is the sum over all ways to say it: each way is followed, and
those that reach the same state are added up. So a choice that leaves no trace in the text costs
nothing. The surprisal of a token is the logarithm of how much of that probability it takes away,
and its mean over all stories, the entropy, is the lowest loss that a model can have.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

import tiktoken

from ..tokenizer import load_tokenizer
from .grammar import TRAINING, Grammar, crane_world
from .parsing import State, following, initial_state, scan_words, separator
from .sampling import SplitMix64, story


class EntropyEstimate(float):
    """Nats per token, with what it was computed from."""

    standard_error: float  # of the mean, from the stories that were drawn
    stories: int
    tokens: int  # in all of them, the <|endoftext|> after each counted
    by_position: tuple[float, ...]  # mean nats of the first token, the second, …
    counts: tuple[int, ...]  # stories that have such a token


def entropy(n_stories: int = 1000, seed: int = 0) -> EntropyEstimate:
    """The entropy of Crane World in nats per token, estimated on n_stories random stories.

    Each story's own figure is exact: minus the logarithm of its probability under the grammar, as
    training has it, with the <|endoftext|> after it, divided by its tokens. Random is only which
    stories are drawn; ``standard_error`` says how much that matters, and the same seed draws the
    same ones. Raises ValueError for fewer than two stories.
    """
    if n_stories < 2:
        raise ValueError(f"n_stories must be at least 2, got {n_stories}")
    rows = [surprisals(story(s)) for s in random_seeds(n_stories, seed)]
    mean, error = mean_and_error(rows)
    estimate = EntropyEstimate(mean)
    estimate.standard_error = error
    estimate.stories, estimate.tokens = n_stories, sum(map(len, rows))
    estimate.by_position, estimate.counts = means_by_position(rows)
    return estimate


def random_seeds(n: int, seed: int = 0) -> list[int]:
    """Seeds of n random stories, from 0 to 2⁶⁴ - 1: those that ``entropy(n, seed)`` draws."""
    random = SplitMix64(seed)
    return [random.below(1 << 64) for _ in range(n)]


def mean_and_error(rows: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The mean over all tokens of all stories (one row each), and its standard error.

    The tokens of a story depend on each other, so the error comes from how the stories scatter:
    that of a ratio of two sums (Cochran 1977, "Sampling Techniques", chapter 6).
    """
    totals, lengths, n = [sum(row) for row in rows], [len(row) for row in rows], len(rows)
    mean = sum(totals) / sum(lengths)
    residual = sum((t - mean * k) ** 2 for t, k in zip(totals, lengths, strict=True))
    return mean, math.sqrt(residual * n / (n - 1)) / sum(lengths)


def means_by_position(
    rows: Sequence[Sequence[float]],
) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """The mean of the rows' first numbers, of their second ones, …, and how many rows have them."""
    columns = [[row[i] for row in rows if i < len(row)] for i in range(max(map(len, rows)))]
    return tuple(sum(column) / len(column) for column in columns), tuple(map(len, columns))


def surprisals(text: str, tokenizer: tiktoken.Encoding | None = None) -> tuple[float, ...]:
    """The surprisal of each token of a story in nats, the <|endoftext|> after it included.

    The sum is minus the logarithm of the story's probability, whatever the tokenizer; without one
    the tokens are those of "crane". Raises ValueError for a text that training never shows.
    """
    return tuple(_surprisals(crane_world(), text, tokenizer or load_tokenizer("crane")))


def _surprisals(grammar: Grammar, text: str, tokenizer: tiktoken.Encoding) -> Iterator[float]:
    states, before, total = {initial_state(grammar, "story"): 1.0}, None, 1.0
    for word, at in scan_words(text):
        ways: dict[str, dict[State, float]] = defaultdict(lambda: defaultdict(float))
        for state, probability in states.items():
            for said, after, choices in following(grammar, state, TRAINING):
                ways[said][after] += math.prod((p for _, _, p in choices), start=probability)
        if word not in ways:
            raise ValueError(f"this is no story that training shows: it cannot go on at {at}")
        # All words that begin with the same tokens share the surprisal of those tokens.
        masses = {said: sum(states.values()) for said, states in ways.items()}
        tokens = {said: word_tokens(tokenizer, before, said) for said in ways}
        own = tokens[word]
        for n in range(1, len(own) + 1):
            shared = sum(m for said, m in masses.items() if tokens[said][:n] == own[:n])
            yield math.log(total / shared)
            total = shared
        states, before = ways[word], word


def word_tokens(tokenizer: tiktoken.Encoding, before: str | None, word: str) -> list[int]:
    """The tokens of a word after another one; "" stands for the end of the story."""
    if word == "":
        return [tokenizer.eot_token]
    return tokenizer.encode_ordinary(separator(before, word) + word)
