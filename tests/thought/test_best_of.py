"""Choosing among several tries, and how often one of them is right."""

from __future__ import annotations

from itertools import combinations
from statistics import fmean

import pytest

from gpt2_edu.thought import best_of, majority, pass_at_k


@pytest.mark.parametrize("n, c, k", [(10, 3, 5), (10, 0, 4), (10, 10, 1), (7, 2, 6), (1, 1, 1)])
def test_pass_at_k_is_the_share_of_all_sets_with_a_right_try(n, c, k):
    sets = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(fmean(map(any, sets)))


def test_pass_at_k_of_ten_tries_with_three_right():
    assert pass_at_k(10, 3, 5) == pytest.approx(0.9167, abs=5e-5)  # 1 - 0.7^5 is 0.8319
    assert pass_at_k(10, 3, 1) == pytest.approx(0.3)


def test_pass_at_k_is_right_in_the_mean_over_all_that_may_be_drawn():
    """The mean over draws of n tries is 1 - (1 - p)^k: no bias, which 1 - (1 - c/n)^k has."""
    n, k, p = 6, 3, 0.4
    from math import comb

    weights = [comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    mean = sum(w * pass_at_k(n, c, k) for c, w in enumerate(weights))
    plugged = sum(w * (1 - (1 - c / n) ** k) for c, w in enumerate(weights))
    assert mean == pytest.approx(1 - (1 - p) ** k)
    assert plugged < mean - 0.02


@pytest.mark.parametrize(
    "n, c, k, words", [(4, 1, 5, "k=5"), (4, 5, 2, "c=5"), (4, 1, 0, "k must")]
)
def test_pass_at_k_refuses_what_no_tries_give(n, c, k, words):
    with pytest.raises(ValueError, match=words):
        pass_at_k(n, c, k)


def test_best_of_takes_the_highest_score_and_the_first_of_equals():
    assert best_of(["ab", "abcd", "wxyz", "a"], len) == "abcd"
    with pytest.raises(ValueError, match="no text"):
        best_of([], len)
    with pytest.raises(ValueError, match="'b'"):
        best_of(["a", "b"], lambda text: float("nan") if text == "b" else 0.0)


def test_majority_counts_and_takes_the_first_of_equals():
    assert majority(["red", "blue", "green", "blue"]) == "blue"
    assert majority(["red", "blue", "blue", "red"]) == "red"
    with pytest.raises(ValueError, match="no answer"):
        majority([])
