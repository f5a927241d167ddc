"""What the chapter on reward measures: plots, rewards, measures, and what is stored."""

from __future__ import annotations

import pytest
import torch

from gpt2_edu import GPT2, crane, load_tokenizer
from gpt2_edu.analysis.reward_runs import (
    FILE,
    PLOTS,
    WAYS,
    Curve,
    Shared,
    begin,
    cranes,
    evenly,
    imitated,
    measure,
    novice,
    plot,
    preferred,
    rewarded,
    right,
    some_texts,
    stored,
    training_stories,
    true_loss,
)
from gpt2_edu.analysis.since import Truth, held_out
from gpt2_edu.crane.grammar import crane_world
from gpt2_site import make_reward
from tests.thorough import thorough

pytestmark = pytest.mark.slow

END = load_tokenizer("crane").eot_token

PHRASES = {  # that only one plot has
    "lost": "had lost",
    "gift": "as a present for",
    "chores": "That day, first",
    "flight": "flew away",
    "errand": "had to bring a",
}


def test_plots_are_those_of_the_grammar_in_its_order():
    assert tuple(entry.items[0].source[0] for entry in crane_world().lists["plot"]) == PLOTS


def test_every_story_has_the_plot_that_its_phrase_says_and_each_is_a_fifth():
    stories = [crane.story(seed) for seed in range(400)]
    found = [plot(story) for story in stories]
    for story, name in zip(stories, found):
        assert [known for known, phrase in PHRASES.items() if phrase in story] == [name]
    assert all(50 < found.count(name) < 110 for name in PLOTS)


def test_right_is_what_the_judge_calls_a_story():
    texts = some_texts(novice(), 40)
    texts += ["", "A crane ate fish.", crane.story(3)[:-1], crane.story(3) + " …", crane.story(3)]
    texts += [crane.story(4, held_out="name")]
    verdicts = [crane.judge(text).kind == "story" for text in texts]
    assert [right(text) for text in texts] == verdicts
    assert 2 < sum(verdicts) < 30


def test_rewards_count_cranes_and_share_by_plot():
    assert cranes("A crane, the crane, two cranes") == 3
    shared = Shared()
    stories = [crane.story(seed) for seed in range(200)]
    of = {name: [story for story in stories if plot(story) == name] for name in PLOTS}
    assert shared("A crane ate.") == 0
    for story in of["flight"] * 5:
        shared(story)
    assert shared(of["flight"][0]) < 0.3
    assert shared(of["lost"][0]) > 3


@pytest.fixture(scope="module")
def true():
    """Eight true stories."""
    return Truth(held_out().rows[:8], held_out().surprisals[:8])


@pytest.fixture(scope="module")
def shipped(true):
    return measure(GPT2.from_pretrained("crane"), 50, true)


def test_the_model_of_the_language_measures_as_the_language_does(shipped):
    assert shipped["right"] >= 45 and shipped["of"] == 50
    assert sum(shipped["plots"]) == shipped["right"]
    assert min(shipped["plots"]) > 2
    assert shipped["distinct"] == 50
    assert shipped["entropy"] == pytest.approx(0.44, abs=0.04)
    assert shipped["length"] == pytest.approx(66, abs=7)
    assert abs(shipped["nats"]) < 0.02
    assert 0 < shipped["error"] < 0.02


@pytest.mark.thorough
def test_the_novice_is_where_reward_begins(shipped, true):
    found = measure(novice(), 200, true)
    assert 10 < found["right"] < 40
    assert found["entropy"] > shipped["entropy"]
    assert 0.02 < found["nats"] < 0.2


@pytest.mark.thorough
def test_beginnings_are_of_training_stories_and_equally_long():
    generator = torch.Generator().manual_seed(0)
    lengths = set()
    for _ in range(5):
        rows = begin(4, generator)
        lengths.add(rows.size(1))
        for row in rows.tolist():
            assert row[0] == END
            assert any(story[: len(row)] == row for story in training_stories())
    assert len(lengths) > 2


def test_the_loss_on_true_stories_is_their_cross_entropy():
    model = novice()
    found = true_loss(model, torch.Generator().manual_seed(0), weight=2.0)
    assert found.requires_grad
    assert 0.9 < found.item() / 2 / (0.44 + stored()["novice"]["nats"]) < 1.1


def test_even_rows_have_every_plot_as_often():
    plots = ["lost"] * 90 + ["gift"] * 10
    for most, expected in ((100, 1000), (4, 2000 * 40 / 130)):
        rows = evenly(plots * 20, most, torch.Generator().manual_seed(0))
        names = [(plots * 20)[i] for i in rows]
        assert len(rows) == 2000
        assert abs(names.count("gift") - expected) < 100


WAYS_TRIED = {
    "rewarded": lambda model: rewarded(model, 0, steps=2, n=8, rein=0.01, every=1),
    "from beginnings, with true stories": lambda model: rewarded(
        model, 0, steps=2, n=2, groups=2, truth=0.5, rein=0.1, every=1
    ),
    "imitated": lambda model: imitated(
        model, 0, rounds=2, steps=1, texts=64, even=4, once=True, every=1
    ),
    "preferred": lambda model: preferred(model, 0, steps=2, texts=64, groups=8, every=1),
}


@pytest.mark.parametrize(
    "name", [name if name == "rewarded" else thorough(name) for name in WAYS_TRIED]
)
def test_each_way_changes_the_model_and_draws_a_curve(name, true, monkeypatch):
    monkeypatch.setattr("gpt2_edu.analysis.reward_runs.few", lambda: true)
    monkeypatch.setattr(Curve.__init__, "__defaults__", (1, 4))
    model = novice()
    curve = WAYS_TRIED[name](model).columns
    assert curve["step"] == [0, 1, 2]
    assert len(curve["right"]) == len(curve["nats"]) == len(curve["entropy"]) == 3
    assert curve["nats"][0] != curve["nats"][1] != curve["nats"][2]
    means = {"rewarded": "kl", "from beginnings, with true stories": "reward"}.get(name, "loss")
    assert len(curve[means]) == 2


@pytest.mark.thorough
def test_a_stopped_run_continues_where_it_was(true, tmp_path, monkeypatch):
    made = []

    def way(model, seed):
        made.append(seed)
        monkeypatch.setattr("gpt2_edu.analysis.reward_runs.few", lambda: true)
        return Curve(model, n=4)

    way.keywords = {"steps": 0}
    monkeypatch.setattr(make_reward, "FILE", tmp_path / "reward.json")
    monkeypatch.setattr(make_reward, "WAYS", {"none": way})
    monkeypatch.setattr(make_reward, "measure", lambda model: measure(model, 4, true))
    make_reward.main()
    make_reward.main()
    assert made == [0, 1, 2]
    runs = stored(tmp_path / "reward.json")["tuned"]["runs"]
    assert [run["seed"] for run in runs] == [0, 1, 2]
    assert len(runs[0]["texts"]) == 10 and "texts" not in runs[1]
    assert runs[0]["curve"]["step"] == runs[2]["curve"]["step"] == [0]
    assert len(runs[0]["curve"]["text"]) == 1 and "text" not in runs[1]["curve"]


# ---- What is stored ------------------------------------------------------------------------------


def runs_of(variant):
    found = [run for run in stored()["tuned"]["runs"] if run["variant"] == variant]
    assert [run["seed"] for run in found] == list(range(len(found)))
    return found


@pytest.mark.thorough
def test_stored_runs_are_of_the_present_ways():
    content = stored()
    assert content["language"] == {
        "entropy": pytest.approx(crane.entropy(300), abs=0.02),
        "plots": list(PLOTS),
    }
    assert content["tuned"]["ways"] == {name: way.keywords for name, way in WAYS.items()}
    assert {run["variant"] for run in content["tuned"]["runs"]} <= set(WAYS)
    for run in content["tuned"]["runs"]:
        assert run["right"] == sum(run["plots"]) <= run["of"] == 1000
        assert len(run["curve"]["step"]) == len(run["curve"]["right"])


def test_the_stored_novice_is_the_shipped_one():
    assert some_texts(novice())[0] == stored()["novice"]["texts"][0]
    assert 80 < stored()["novice"]["right"] < 160


def test_reward_makes_nearly_all_right_and_leaves_one_plot():
    for run in runs_of("reward"):
        assert run["right"] > 800
        assert max(run["plots"]) > 0.9 * run["right"]
        assert run["entropy"] < 0.7 * stored()["language"]["entropy"]
        assert run["nats"] > stored()["novice"]["nats"] + 0.1
        assert run["distinct"] > 900  # which sees nothing of it


def test_a_reward_for_cranes_is_had_and_no_story_is_left():
    for run in runs_of("cranes"):
        assert run["curve"]["reward"][-1] > 10 * run["curve"]["reward"][0]
        assert run["right"] == 0


def test_its_own_right_stories_do_more_than_pairs_in_as_many_steps():
    for own, pairs in zip(runs_of("own"), runs_of("pairs")):
        assert own["right"] > pairs["right"] + 50
        assert own["entropy"] > 0.4 and pairs["entropy"] > 0.4


def test_true_stories_at_equal_weight_hold_nearly_everything_where_it_was():
    for run in runs_of("truth"):
        assert abs(run["right"] - stored()["novice"]["right"]) < 100
        assert run["nats"] == pytest.approx(stored()["novice"]["nats"], abs=0.01)


def test_no_way_has_both_yet():
    for run in stored()["tuned"]["runs"]:
        assert run["right"] < 800 or run["entropy"] < 0.4 or min(run["plots"]) < 20


def test_the_file_of_rewards_is_small():
    assert FILE.stat().st_size <= 150_000
