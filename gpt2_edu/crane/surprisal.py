"""Exact surprisal of each token of a story, and the entropy of Crane World.

The probability of a prefix is the sum over all its derivations; those that reach the same state
are merged (the forward algorithm). A token's surprisal is -log p(token | prefix). Its mean over
all stories, the entropy, is the lowest loss that a model can have.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

from ..tokenizer import Encoding, load_tokenizer
from .grammar import TRAINING, Grammar, crane_world
from .parsing import State, initial_state, next_steps, scan_words, separator
from .sampling import SplitMix64, story


class EntropyEstimate(float):
    """Nats per token, with statistics of the stories it was estimated from."""

    standard_error: float  # of the mean
    stories: int
    tokens: int  # in all stories, including the <|endoftext|> after each
    by_position: tuple[float, ...]  # mean nats of the first token, the second, …
    counts: tuple[int, ...]  # stories that are long enough


def entropy(n_stories: int = 1000, seed: int = 0) -> EntropyEstimate:
    """The entropy of Crane World in nats per token, estimated on n_stories random stories.

    The surprisal of each story is exact, under the training distribution and including the
    <|endoftext|> after it. Only the sample of stories is random: it is determined by ``seed``, and
    ``standard_error`` is the error it causes. Raises ValueError for fewer than two stories.
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
    """Seeds (0 to 2⁶⁴ - 1) of n random stories, the same as ``entropy(n, seed)`` uses."""
    random = SplitMix64(seed)
    return [random.below(1 << 64) for _ in range(n)]


def mean_and_error(rows: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The mean over all tokens of all stories (one row each), and its standard error.

    Tokens of one story are correlated, so the error is computed from the stories' totals, as that
    of a ratio estimator (Cochran 1977, "Sampling Techniques", chapter 6).
    """
    totals, lengths, n = [sum(row) for row in rows], [len(row) for row in rows], len(rows)
    mean = sum(totals) / sum(lengths)
    residual = sum((t - mean * k) ** 2 for t, k in zip(totals, lengths, strict=True))
    return mean, math.sqrt(residual * n / (n - 1)) / sum(lengths)


def means_by_position(
    rows: Sequence[Sequence[float]],
) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """The mean over rows at each position, and the number of rows that long."""
    columns = [[row[i] for row in rows if i < len(row)] for i in range(max(map(len, rows)))]
    return tuple(sum(column) / len(column) for column in columns), tuple(map(len, columns))


def surprisals(text: str, tokenizer: Encoding | None = None) -> tuple[float, ...]:
    """The surprisal in nats of each token of a story, including the <|endoftext|> after it.

    The sum is -log p(story) for any tokenizer; the default is "crane". Raises ValueError for a
    text with probability 0 in training.
    """
    return tuple(_surprisals(crane_world(), text, tokenizer or load_tokenizer("crane")))


def _surprisals(grammar: Grammar, text: str, tokenizer: Encoding) -> Iterator[float]:
    states, previous, total = {initial_state(grammar, "story"): 1.0}, None, 1.0
    for word, at in scan_words(text):
        ways: dict[str, dict[State, float]] = defaultdict(lambda: defaultdict(float))
        for state, probability in states.items():
            for candidate, after, choices in next_steps(grammar, state, TRAINING):
                ways[candidate][after] += math.prod((p for _, _, p in choices), start=probability)
        if word not in ways:
            raise ValueError(
                f"not a story of the training distribution: it leaves it at index {at}"
            )
        # Words that begin with the same tokens share the surprisal of those tokens.
        masses = {candidate: sum(states.values()) for candidate, states in ways.items()}
        tokens = {candidate: word_tokens(tokenizer, previous, candidate) for candidate in ways}
        actual = tokens[word]
        for n in range(1, len(actual) + 1):
            shared = sum(
                m for candidate, m in masses.items() if tokens[candidate][:n] == actual[:n]
            )
            yield math.log(total / shared)
            total = shared
        states, previous = ways[word], word


def word_tokens(tokenizer: Encoding, previous: str | None, word: str) -> list[int]:
    """The tokens of a word after the previous one; "" is the end of the story."""
    if word == "":
        return [tokenizer.eot_token]
    return tokenizer.encode_ordinary(separator(previous, word) + word)
