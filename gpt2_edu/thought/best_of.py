"""More than one try: choose among them, and estimate how often one of them is right."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from ..config import check_int
from ..machine.messages import short_repr


def pass_at_k(n: int, c: int, k: int) -> float:
    """The probability that one of k tries is right, estimated from n tries of which c are.

    It is 1 - C(n - c, k) / C(n, k), the share of all sets of k tries with a right one, and right on
    average. 1 - (1 - c/n)^k is too low on average, because (1 - p)^k is convex in p. Source: Chen
    et al. 2021, section 2.1. Raises ValueError unless 0 ≤ c ≤ n and 1 ≤ k ≤ n.
    """
    check_int("n", n, 1)
    check_int("c", c, 0)
    check_int("k", k, 1)
    if c > n:
        raise ValueError(f"of n={n} tries, c={c} cannot be right")
    if k > n:
        raise ValueError(f"k={k} tries cannot be chosen from n={n}: make at least as many")
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def best_of(texts: Sequence[str], score: Callable[[str], float]) -> str:
    """The text with the highest score, the first of equals.

    Raises ValueError if there is no text, or a score is not a number.
    """
    if not texts:
        raise ValueError("there is no text to choose from")
    scores = [float(score(text)) for text in texts]
    for text, found in zip(texts, scores, strict=True):
        if math.isnan(found):
            raise ValueError(f"a score must be a number, got {found} for {short_repr(text)}")
    return texts[scores.index(max(scores))]


def majority(answers: Sequence[str]) -> str:
    """The most frequent answer, of equals the one that came first. ValueError if there is none.

    Source: Wang et al. 2023, "Self-Consistency".
    """
    if not answers:
        raise ValueError("there is no answer to count")
    return Counter(answers).most_common(1)[0][0]
