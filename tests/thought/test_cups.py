"""The shell game: what it is, and what a model reads of it."""

from __future__ import annotations

from collections import Counter

import pytest

from gpt2_edu.thought import cups
from gpt2_edu.thought.cups import DOT, DOTS, END, IDS, NOW, STEPS, game, judge, play, read, rows


def test_a_game_by_hand():
    assert play("C", ["AB", "CE", "BD", "AE"]) == cups.Game("C AB CE BD AE", "C E E A", "A")


def test_games_are_those_of_their_seeds_and_all_cups_and_swaps_occur():
    games = [game(seed, 8) for seed in range(300)]
    assert games == [game(seed, 8) for seed in range(300)]
    assert len({one.text for one in games}) == 300
    words = Counter(word for one in games for word in one.text.split())
    assert set(words) == {*cups.CUPS, *cups.SWAPS}
    assert min(Counter(one.answer for one in games).values()) > 30


def test_a_text_is_read_as_its_game():
    one = game(3, 5)
    assert read(f"{one.text} {STEPS} {one.steps}") == one
    for text in ("", "C", "AB C", "Z AB", f"{NOW} AB"):
        with pytest.raises(ValueError, match="a game is"):
            read(text)


def test_the_last_word_is_the_answer():
    one = play("C", ["AB", "CE"])
    assert judge(one, "E") and judge(one, "C E") and judge(one, f"{DOT} E")
    assert not judge(one, "C") and not judge(one, "") and not judge(one, "E C")


def test_rows_ask_for_the_answer_after_the_word_that_asks():
    one, other = play("C", ["AB", "CE"]), play("A", ["AB"])
    idx, targets = rows([one, other], [True, False])
    assert cups.decode(idx[0].tolist()[1:]) == "C AB CE steps: C E"
    assert targets[0].tolist() == [-100] * 4 + [IDS["C"], IDS["E"], IDS[END]]
    assert targets[1].tolist() == [-100] * 3 + [IDS["B"], IDS[END]] + [-100] * 2
    assert idx[1].tolist()[-1] == IDS[END]
    idx, targets = rows([one], True, dots=True)
    assert idx[0].tolist()[-3:] == [IDS[DOTS], IDS[DOT], IDS["E"]]
    idx, chosen = rows([one], False, chosen=True)
    assert chosen[0].tolist() == [-100] * 3 + [IDS[NOW], IDS["E"], IDS[END]]


def test_fewer_steps_end_with_the_answer():
    one = game(5, 7)
    places = one.steps.split()
    assert cups.written(one, STEPS, every=2).split() == places[::2]
    assert cups.written(one, STEPS, every=3).split() == [places[0], places[3], places[6]]
    assert cups.written(one, STEPS, every=9) == cups.written(one, NOW) == one.answer


def test_what_is_no_game_is_told():
    with pytest.raises(ValueError, match="swaps must be at least 1"):
        game(0, 0)
    with pytest.raises(ValueError, match="'AF'"):
        cups.encode("A AF")
    with pytest.raises(ValueError, match="does not say how"):
        cups.written(game(0, 1), "why:")
    with pytest.raises(ValueError, match="every must be at least 1"):
        cups.written(game(0, 1), STEPS, every=0)


def test_all_games_that_are_asked_about_fit_into_the_window():
    longest = len(cups.prompt(game(0, 12), STEPS)) + 12
    assert longest <= cups.config().block_size
