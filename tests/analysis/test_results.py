"""Shares, intervals and grades are counted rightly."""

from __future__ import annotations

import pytest

from gpt2_edu.analysis import results


def test_wilsons_interval_is_that_of_the_tables():
    assert results.Score(10, 8).interval == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert results.Score(10, 0).interval == pytest.approx((0, 0.2775), abs=1e-4)
    assert results.Score(10, 10).interval == pytest.approx((0.7225, 1), abs=1e-4)


def test_one_wrong_choice_costs_its_story():
    choice = [
        results.Choice(s, p, "bat", m) for s, p, m in [(0, "a", 1), (0, "b", -1), (1, "a", 1)]
    ]
    grades = results.grade_choices(choice)
    assert grades.stories == results.Score(2, 1)
    assert grades.phenomena == {"a": results.Score(2, 2), "b": results.Score(1, 0)}
