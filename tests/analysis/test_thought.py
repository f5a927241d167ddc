"""What the chapter on thought measures: tries, votes, the shell game, drafts."""

from __future__ import annotations

import math
from dataclasses import asdict
from functools import cache
from statistics import fmean

import pytest
import torch

from gpt2_edu import GPT2, load_tokenizer
from gpt2_edu.analysis import thought
from gpt2_edu.analysis.since import STUDENT
from gpt2_edu.analysis.thought import (
    AHEAD,
    CUPS,
    DRAFTS,
    NUMBERS,
    PLAYERS,
    SELDOM,
    Recipe,
    answered,
    beginnings,
    bigrams,
    chi_square,
    compare,
    drafted,
    exact,
    in_steps,
    interval,
    new_player,
    pass_times,
    play,
    rewarded,
    said,
    speed_up,
    spell,
    stored,
    taught,
    tries,
    votes,
)
from gpt2_edu.thought import cups, pass_at_k
from gpt2_edu.thought.cups import NOW, STEPS
from gpt2_edu.training.plain import crane_ids
from gpt2_edu.tuning.reward import write
from gpt2_site import make_thought


def test_an_interval_by_hand():
    found = interval([0.2, 0.3, 0.4, 0.3, 0.3])
    assert found.mean == pytest.approx(0.3)
    assert found.reach == pytest.approx(2.776 * math.sqrt(0.005) / math.sqrt(5))
    for values in ([0.1], [0.1] * 6):
        with pytest.raises(ValueError, match="2 to 5 values"):
            interval(values)
    assert set(STUDENT) == {2, 3, 4, 5}


# ---- Tries and votes


def test_beginnings_are_new_for_each_seed_and_equally_long():
    first, second = beginnings(20, 0), beginnings(20, 1)
    assert first.shape == second.shape == (20, 24)
    assert not (first == second).all(dim=1).any()
    assert (first[:, 0] == load_tokenizer("crane").eot_token).all()


@pytest.mark.thorough
@pytest.mark.slow
def test_tries_are_counted_as_the_formula_says():
    found = tries(0, problems=12, n=8)
    shares = [c / 8 for c in found["right"]]
    assert found["judge"][0] == pytest.approx(fmean(shares)) == pytest.approx(found["likeliest"][0])
    assert found["formula"] == [
        pytest.approx(fmean(pass_at_k(8, c, k) for c in found["right"])) for k in NUMBERS[:4]
    ]
    assert found["plugged"] == pytest.approx([1 - (1 - fmean(shares)) ** k for k in NUMBERS[:4]])
    assert found["judge"][3] == pytest.approx(found["formula"][3])  # the only group of eight
    for way in ("likeliest", "per_token"):
        assert all(way <= judge for way, judge in zip(found[way], found["judge"], strict=True))


@pytest.mark.slow
def test_votes_are_of_the_same_questions_as_the_greedy_answer():
    found = votes(0, problems=8, n=4)
    assert sum(row[0] for row in found["by_kind"].values()) == found["of"] == 8
    for i, share in enumerate([found["greedy"], *found["right"][:2]]):
        by_kind = sum(row[0] * row[1 + i] for row in found["by_kind"].values()) / 8
        assert share == pytest.approx(by_kind)
    assert found["greedy"] > 0.4


# ---- The shell game


@pytest.fixture(scope="module")
def player() -> GPT2:
    return GPT2.from_pretrained(CUPS)


def test_the_shipped_player_fails_at_once_and_succeeds_in_steps(player):
    at_once, in_steps = play(player, NOW, (1, 8), n=200), play(player, STEPS, (1, 8), n=200)
    assert at_once["right"][0] > 0.95 and at_once["right"][1] < 0.4
    assert min(in_steps["right"]) > 0.95
    assert at_once["tokens"] == [2.0, 2.0] and in_steps["tokens"] == [2.0, 9.0]
    assert at_once["written"] == [0.0, 0.0] and in_steps["written"] == [1.0, 1.0]
    assert at_once["right_written"] == [None, None]


def test_what_it_says_are_its_steps(player):
    games = [cups.game(seed, 5) for seed in range(20)]
    texts = said(player, games, STEPS, temperature=0.0)
    assert sum(text == one.steps for text, one in zip(texts, games, strict=True)) > 18


@pytest.mark.thorough
def test_a_new_player_knows_nothing_and_learns_one_swap_soon(monkeypatch):
    monkeypatch.setattr(cups, "MOST", 1)
    recipe = Recipe(steps=60)
    assert play(new_player(recipe), NOW, (1,), n=100)["right"][0] < 0.4
    assert play(taught(recipe, 0), NOW, (1,), n=100)["right"][0] > 0.6


def test_the_reward_sees_the_answer_only():
    assert answered("C AB CE steps: C E") == 1
    assert answered("C AB CE steps: A E") == 1  # a wrong step, the right answer
    assert answered("C AB CE now: E") == 1
    assert answered("C AB CE now: C") == answered("C AB CE now: E …") == answered("C AB CE") == 0
    assert in_steps("C AB CE steps: C E") and not in_steps("C AB CE now: E")


def test_cut_off_texts_are_marked(player):
    torch.manual_seed(0)
    start = torch.tensor([cups.prompt(cups.game(0, 3))] * 40)
    texts = spell(write(GPT2(player.config), start))  # untrained: it hardly ever ends
    assert any(text.endswith(" …") for text in texts)
    assert all(text.startswith(cups.game(0, 3).text) for text in texts)


@pytest.mark.thorough
def test_a_reward_changes_what_a_player_chooses(monkeypatch):
    """One that knows one swap and writes at random soon writes what is right."""
    monkeypatch.setitem(rewarded.__globals__["REWARD"], "steps", 20)
    monkeypatch.setattr(cups, "MOST", 1)
    model = taught(Recipe(written=0.5, chosen=True, steps=100), 0)
    curve = rewarded(model, 0, every=10)
    assert [row["step"] for row in curve] == [10, 20]
    assert 0 <= curve[0]["written"] <= 1 and curve[-1]["right"] > 0.5


# ---- Drafts


def test_counts_of_a_round_add_up():
    found = drafted("two blocks", 4, 0, n=2)
    ended_by_draft = found["rounds"] + found["accepted"] - found["tokens"]
    assert 0 <= ended_by_draft <= 2  # a kept <|endoftext|> is followed by nothing
    assert found["accepted"] <= found["drafted"] <= 4 * found["rounds"]


@pytest.mark.thorough
@pytest.mark.slow
def test_the_exact_rule_passes_and_the_wrong_one_does_not(monkeypatch):
    ids = crane_ids(2000)
    monkeypatch.setattr(thought, "crane_ids", lambda n: ids)
    monkeypatch.setitem(thought.DRAFTS, "bigrams", cache(bigrams.__wrapped__))
    least = []
    monkeypatch.setattr(thought, "exact", lambda *given: least.append(given[3]) or exact(*given))
    right = chi_square("exact", draws=1500, name="bigrams")
    wrong = chi_square("from p", draws=3000, name="bigrams")
    assert right["p"] > 1e-4 and wrong["p"] < 1e-5
    assert right["degrees"] >= 5
    assert least == [5 / 1500, 5 / 3000], "chi-square needs five of each to be expected"


def test_chi_square_by_hand():
    found = compare([10, 20, 30], [20, 20, 20])
    assert (found["statistic"], found["degrees"]) == (10, 2)
    assert found["p"] == pytest.approx(math.exp(-5))


def test_speed_is_tokens_by_passes():
    assert speed_up(3.0, 4, {1: 10.0, 5: 11.0}, 1.0) == pytest.approx(2.0)
    assert speed_up(1.0, 0, {1: 10.0}, 1.0) == 1.0


def test_passes_are_timed_for_each_model_and_width(player):
    found = pass_times({"cups": player}, (1, 3), rounds=3, length=8)
    assert set(found) == {"cups"} and set(found["cups"]) == {1, 3}
    assert all(0 < ms < 1000 for ms in found["cups"].values())


def test_each_way_of_writing_is_timed_in_every_round(monkeypatch):
    written, seeds = [], []

    def write(name, generator):
        written.append(name)
        seeds.append(generator.initial_seed())

    monkeypatch.setattr(thought, "generate", lambda *_, generator: write("plain", generator))
    monkeypatch.setattr(
        thought,
        "speculate",
        lambda *given, ahead, generator: write(f"{given[1]}, {ahead}", generator),
    )
    monkeypatch.setattr(
        thought, "DRAFTS", {"one block": lambda: "one block", "bigrams": lambda: "bigrams"}
    )
    found = thought.rates(rounds=2, n=3)
    assert list(found) == ["plain", *(f"{draft}, {n}" for draft in thought.DRAFTS for n in AHEAD)]
    assert written == 3 * list(found), "the first round warms up"
    assert seeds == [turn for turn in range(3) for _ in found], "other texts in each round"
    assert all(len(rates) == 2 and min(rates) > 0 for rates in found.values())


# ---- What is stored ------------------------------------------------------------------------------


def test_a_run_that_was_killed_continues_where_it_was(tmp_path, monkeypatch):
    made = []

    def tried(seed):
        made.append(seed)
        if made.count(1) == 1 and seed == 1:
            raise KeyboardInterrupt
        return {"right": [seed]}

    monkeypatch.setattr(make_thought, "FILE", tmp_path / "thought.json")
    monkeypatch.setattr(make_thought, "tries", tried)
    monkeypatch.setattr(make_thought, "DRAFTS", {})
    monkeypatch.setattr(make_thought, "votes", lambda seed: {"right": [0.123456]})
    counted = lambda rule, draws: {"rule": rule, "draws": draws}  # noqa: E731
    monkeypatch.setattr(make_thought, "chi_square", counted)
    for name in ("player", "reward", "speed", "draft_losses"):
        monkeypatch.setattr(make_thought, name, lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        make_thought.main()
    assert [row["seed"] for row in stored(tmp_path / "thought.json")["tries"]["rows"]] == [0]
    stored.cache_clear()
    make_thought.main()
    assert made == [0, 1, 1, 2, 3, 4]
    found = stored(tmp_path / "thought.json")
    assert [row["right"] for row in found["tries"]["rows"]] == [[0], [1], [2], [3], [4]]
    assert [row["rule"] for row in found["drafts"]["chi_square"]] == ["exact", "from p"]
    assert found["votes"]["rows"][4] == {"seed": 4, "right": [0.1235]}


def rows(place, **key):
    """The stored rows with this key, one for each seed."""
    section, name = place.split(".")
    found = [row for row in stored()[section][name] if row.items() >= key.items()]
    assert [row["seed"] for row in found] == list(range(len(found)))
    return found


def test_stored_rows_are_of_the_present_recipes():
    content = stored()
    assert content["cups"]["players"] == {name: asdict(one) for name, one in PLAYERS.items()}
    assert content["reward"]["seldom"] == asdict(SELDOM)
    assert {row["draft"] for row in content["drafts"]["rows"]} == set(DRAFTS)


@pytest.mark.parametrize("bits", [8, 4])
def test_a_rounded_draft_has_the_bits_of_its_name(bits):
    assert DRAFTS[f"{bits} bits"]().wte.bits == bits


def test_the_judge_picks_better_than_the_model_itself_and_the_mean_promises_too_much():
    found = rows("tries.rows")
    at = NUMBERS.index(8)
    for way in ("likeliest", "per_token"):
        gaps = interval([row["judge"][at] - row[way][at] for row in found])
        assert gaps.mean > gaps.reach
    promised = interval([row["plugged"][at] - row["formula"][at] for row in found])
    assert promised.mean > promised.reach
    for row in found:
        assert row["formula"][-1] == pytest.approx(row["judge"][-1], abs=1e-3)


def test_votes_come_back_to_the_greedy_answer():
    found = rows("votes.rows")
    assert interval([row["right"][2] - row["right"][0] for row in found]).mean > 0
    assert abs(interval([row["greedy"] - row["right"][2] for row in found]).mean) < 0.02


def test_steps_do_what_an_answer_at_once_does_not():
    eight = {
        ask: interval([row["right"][7] for row in rows("cups.rows", player="both", ask=ask)])
        for ask in (NOW, STEPS)
    }
    assert eight[NOW].mean < 0.3 and eight[STEPS].mean > 0.9
    longer = [row["right"][8] for row in rows("cups.rows", player="both", ask=STEPS)]
    assert max(longer) < 0.4  # ten swaps, which no game of training had


def test_a_reward_makes_steps_chosen_and_mends_no_answer_at_once():
    for row in rows("reward.rows", player="seldom"):
        assert row["before"]["written"][7] < 0.3 and row["after"]["written"][7] > 0.9
        assert row["after"]["right"][7] > row["before"]["right"][7]
    for row in rows("reward.rows", player="both"):
        assert row["after"]["right"][7] < row["before"]["right"][7] + 0.06


def test_the_exact_rule_passed_and_the_other_did_not():
    right, wrong = stored()["drafts"]["chi_square"]
    assert right["p"] > 0.01 and right["draws"] == 100_000
    assert wrong["p"] < 1e-50


def test_a_better_draft_is_accepted_more_often():
    def share(draft):
        found = rows("drafts.rows", draft=draft, ahead=4)
        return interval([row["accepted"] / row["drafted"] for row in found])

    assert share("8 bits").mean > share("one block").mean > share("bigrams").mean + 0.3
    nats = stored()["drafts"]["nats"]
    assert nats["8 bits"] < nats["one block"] < nats["two blocks"]


def test_a_pass_over_five_tokens_costs_far_less_than_five_passes():
    for times in stored()["speed"]["passes"].values():
        assert times["5"] < 4 * times["1"]
