"""The museum: each bug has the symptom that is claimed, in the loss, the maps or the text."""

from __future__ import annotations

import math
from functools import cache
from statistics import mean

import pytest
import torch

from gpt2_edu.analysis import museum
from gpt2_edu.analysis.bugs import BUGS
from gpt2_edu.analysis.museum import FLOOR, LENGTH, TEXTS
from tests.thorough import thorough

case = cache(museum.case)  # about a second each

LEAKS = ["no mask", "mask after softmax", "finite mask", "wrong view"]
SILENT = ["ε outside the root", "unbiased variance", "erf for tanh", "tied by copy"]


def loss_of(name: str) -> float:
    return mean(case(name).eval_losses)


# ---- The language and the healthy model ---------------------------------------------------------


def test_the_floor_is_the_entropy_of_the_language():
    """Counted token by token: what has come before decides how many words can follow."""
    surprise = 0.0
    for row in TEXTS.tolist():
        for t in range(1, LENGTH + 1):
            same = [other for other in TEXTS.tolist() if other[:t] == row[:t]]
            surprise -= math.log(sum(other[t] == row[t] for other in same) / len(same))
    assert math.isclose(surprise / TEXTS[:, :LENGTH].numel(), FLOOR)


def test_without_a_bug_the_loss_reaches_the_floor_and_texts_are_right():
    healthy = case("no bug")
    assert FLOOR < mean(healthy.eval_losses) < FLOOR + 0.005
    assert healthy.correct > 95
    assert healthy.distinct > 20


# ---- Symptoms -----------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("name", [LEAKS[0], *map(thorough, LEAKS[1:])])
def test_a_leak_has_a_loss_below_the_floor_and_few_distinct_sentences(name):
    assert loss_of(name) < 0.7 * FLOOR
    assert case(name).distinct < 12


@pytest.mark.thorough
def test_no_mask_and_finite_mask_attend_to_later_tokens():
    for name in ("no mask", "finite mask"):
        assert case(name).weights.triu(1).sum(dim=-1).max() > 0.7
    for name in ("mask after softmax", "wrong view"):
        assert case(name).weights.triu(1).eq(0).all()


@pytest.mark.thorough
def test_targets_off_by_none_are_copied():
    assert loss_of("targets off by none") < 0.1
    assert case("targets off by none").weights.triu(1).eq(0).all()
    assert all(len(set(text.split())) == 1 for text in case("targets off by none").texts)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["targets off by two", "positions forgotten"])
def test_missing_information_costs_one_bit_per_sentence(name):
    """Of nine predictions one more is a guess between two."""
    assert abs(loss_of(name) - (FLOOR + math.log(2) / LENGTH)) < 0.01


@pytest.mark.thorough
def test_softmax_before_cross_entropy_is_stuck_above_its_own_floor():
    V = len(museum.WORDS)
    assert math.log(V - 1 + math.e) - 1 < loss_of("softmax before cross-entropy")
    assert loss_of("softmax before cross-entropy") > case("no bug").losses[0] - 1
    assert case("softmax before cross-entropy").correct < 5


def test_dropout_left_on_never_measures_the_same_loss_twice():
    assert len(set(case("dropout left on").eval_losses)) == 30
    assert loss_of("dropout left on") > FLOOR + 0.01
    assert len(set(case("no bug").eval_losses)) == 1


def test_a_transposed_projection_breaks_the_text_and_leaves_the_first_maps():
    assert loss_of("transposed Conv1D") > 2 * FLOOR
    assert case("transposed Conv1D").correct < 10
    torch.testing.assert_close(case("transposed Conv1D").weights, case("no bug").weights)


def test_a_wrong_cache_mask_shows_only_in_the_text():
    assert math.isclose(loss_of("cache with the wrong mask"), loss_of("no bug"), abs_tol=1e-5)
    torch.testing.assert_close(case("cache with the wrong mask").weights, case("no bug").weights)
    assert case("cache with the wrong mask").correct == 0


def test_scale_by_c_pales_the_maps_of_trained_weights():
    paler = case("scale by C").weights[:, 1:].amax(dim=-1).mean()
    assert paler < 0.9 * case("no bug").weights[:, 1:].amax(dim=-1).mean()
    assert loss_of("scale by C") > loss_of("no bug") + 0.005


@pytest.mark.thorough
@pytest.mark.parametrize("name", SILENT)
def test_a_silent_bug_shows_in_no_loss_and_no_text(name):
    assert abs(loss_of(name) - FLOOR) < 0.005
    assert case(name).correct > 95


def test_if_targets_stops_training_at_once():
    with pytest.raises(RuntimeError, match="ambiguous"):
        museum.case("if targets")


# ---- Cases and models ---------------------------------------------------------------------------


def test_a_case_is_deterministic_and_leaves_the_random_state_unchanged():
    state = torch.get_rng_state()
    again = museum.case("dropout left on")
    assert torch.equal(torch.get_rng_state(), state)
    assert again.eval_losses == case("dropout left on").eval_losses
    assert again.texts == case("dropout left on").texts


# ---- The detective game -------------------------------------------------------------------------


def test_every_bug_that_shows_can_be_drawn_and_no_other(monkeypatch):
    monkeypatch.setattr(museum, "case", lambda name: name)
    drawn = {museum.mystery(seed).case for seed in range(200)}
    assert drawn == {bug.name for bug in BUGS.values() if bug.shows}
    assert "if targets" not in drawn  # it raises at the first step


def test_a_mystery_answers_every_guess_without_raising(monkeypatch):
    monkeypatch.setattr(museum, "case", lambda name: name)
    riddle = museum.mystery(0)
    answer = riddle.case
    assert all(name not in repr(riddle) for name in BUGS)
    assert riddle.guess(answer).startswith(f"Yes, it is {answer}. {BUGS[answer].symptom}")
    for name in BUGS.keys() - {answer}:
        assert riddle.guess(name).startswith(f"Not {name}.")
        assert BUGS[answer].symptom not in riddle.guess(name)
    assert "Did you mean 'no mask'" in riddle.guess("no msk")
    assert riddle.guess("no bug").startswith("There is a bug")
    assert museum.mystery(0).case == answer
