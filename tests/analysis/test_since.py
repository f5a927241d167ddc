"""What the part "Since GPT-2" measures: the truth, training, and what is stored."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import pairwise, product
from statistics import fmean

import pytest
import torch

from gpt2_edu import GPT2, crane, load_tokenizer
from gpt2_edu.analysis import since
from gpt2_edu.analysis.since import (
    EDGES,
    Recipe,
    Truth,
    count_right,
    difference,
    excess,
    held_out,
    in_a_row,
    readings,
    share_right,
    stored,
    train,
)
from gpt2_edu.analysis.variants import VARIANTS, as_llama, variant
from gpt2_edu.llama import frequencies
from gpt2_site import make_since

TINY = Recipe(steps=25, batch_size=4, T=32, n_embd=16, stories=60)


@pytest.fixture(scope="module")
def shipped():
    return GPT2.from_pretrained("crane")


@pytest.fixture
def few(monkeypatch):
    """Eight stories to measure on, and the one long row that they fill."""
    stories = Truth(held_out().rows[:8], held_out().surprisals[:8])
    monkeypatch.setattr(since, "held_out", lambda: stories)
    in_a_row.cache_clear()
    yield
    in_a_row.cache_clear()


def test_the_shipped_model_is_at_the_floor_of_new_stories_and_of_stories_in_a_row(shipped):
    above = torch.cat(excess(shipped, held_out())).mean()
    assert 0 < above < 0.01
    rows = in_a_row()
    assert all(
        len(row) == len(s) + 1 == EDGES[-1] + 1 for row, s in zip(rows.rows, rows.surprisals)
    )
    window = Truth([row[:129] for row in rows.rows], [s[:128] for s in rows.surprisals])
    assert abs(torch.stack(excess(shipped, window)).mean()) < 0.1  # a shifted floor costs 0.7


def test_stories_in_a_row_are_whole_until_the_row_ends():
    end = load_tokenizer("crane").eot_token
    texts = [load_tokenizer("crane").decode(row).split("<|endoftext|>") for row in in_a_row().rows]
    assert all(row[0] == end for row in in_a_row().rows)
    whole = [story for text in texts for story in text[1:-1]]
    assert len(whole) > 200
    assert all(crane.judge(story).kind == "story" for story in whole[:20])


def test_true_stories_count_as_right_and_unfinished_ones_by_their_tested_places():
    samples = [row[1:] for row in held_out().rows[:20]]
    assert count_right(samples) == 20
    assert share_right(samples) == 1.0
    cut = [row[:30] for row in samples]
    assert count_right(cut) == 0
    assert share_right(cut) == 1.0
    wrong = load_tokenizer("crane").encode_ordinary("Nine pigeons sat in the crane. Ann left.")
    assert count_right([wrong]) == 0


def test_training_learns_and_the_same_seed_gives_the_same():
    losses = []
    for seed in (0, 0, 1):
        torch.manual_seed(0)
        model = variant("all", TINY.config(block_size=41))
        losses.append(train(model, TINY, seed, warmup_steps=5))
    assert losses[0] == losses[1] != losses[2]
    assert losses[0][-1] < losses[0][0] - 0.5
    assert not model.training


def test_windows_of_whole_stories_begin_with_one(monkeypatch):
    seen = []
    model = variant("learned", TINY.config(block_size=41))
    model.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    train(model, replace(TINY, whole=True, steps=3), 0)
    end = load_tokenizer("crane").eot_token
    assert all((ids[:, 0] == end).all() and ids.shape == (4, 32) for ids in seen)


def test_a_scaling_divides_the_angles_that_it_is_to_divide():
    config = as_llama(Recipe().config(EDGES[-1]), 4)
    plain, ways = frequencies(config), readings(config, 64)
    torch.testing.assert_close(frequencies(ways["linear 7"]) * 7, plain)
    torch.testing.assert_close(frequencies(ways["linear 1.75"]) * 1.75, plain)
    ntk = frequencies(ways["ntk 7"])
    assert ntk[0] == plain[0]
    assert ntk[-1].item() * 7 == pytest.approx(plain[-1].item())
    llama3 = frequencies(ways["llama3 7"])
    assert llama3[0] == plain[0]
    assert llama3[-1].item() * 7 == pytest.approx(plain[-1].item())


def test_differences_are_paired_by_seed():
    runs = [
        {"variant": name, "seed": seed, "within": value}
        for name, values in {"a": (0.1, 0.5, 0.9), "b": (0.21, 0.6, 0.99)}.items()
        for seed, value in enumerate(values)
    ]
    found = difference(runs, "b", "a")
    assert found.mean == pytest.approx(0.1)
    assert found.reach == pytest.approx(4.303 * 0.01 / 3**0.5)
    assert found.apart
    assert not difference([*runs[:5], runs[5] | {"within": 0.8}], "b", "a").apart
    with pytest.raises(ValueError, match="2 to 5 pairs of runs, got 1"):
        difference(runs[:4], "b", "a")


@pytest.mark.thorough
def test_a_stopped_run_continues_where_it_was(few, tmp_path, monkeypatch):
    monkeypatch.setattr(make_since, "FILE", tmp_path / "since.json")
    monkeypatch.setattr(make_since, "SHORT", TINY)
    monkeypatch.setattr(make_since, "TUNED", replace(make_since.TUNED, steps=1, stories=60))
    monkeypatch.setattr(make_since, "measure", lambda model, T: since.measure(model, T, 2))
    made = []
    monkeypatch.setattr(make_since, "train", lambda *args, **kw: made.append(train(*args, **kw)))
    for name, trained, rows in (("rope", 3, 7), ("rope", 0, 7), ("kv1", 1, 0)):
        made.clear()
        results = make_since.Results()
        results.begin("llama", "runs", "positions", **make_since.on_paper(TINY, [name]))
        make_since.run(results, name, 3)
        assert len(made) == trained
        llama = make_since.Results().content["llama"]
        found = [row for row in llama["positions"] if row["variant"] == name]
        assert len(found) == rows
    assert [(run["variant"], run["seed"]) for run in llama["runs"]] == [("rope", 3), ("kv1", 3)]
    assert llama["runs"][0]["nats"] > 1
    spans = [span[:2] for span in llama["runs"][0]["by_position"]]
    assert spans == list(map(list, pairwise(EDGES)))


# ---- What is stored ------------------------------------------------------------------------------


@pytest.fixture
def runs():
    return stored()["llama"]["runs"]


def test_the_stored_runs_are_whole_rounds_of_the_present_recipe_and_variants():
    content = stored()
    for section, recipe, names in (
        ("llama", make_since.SHORT, list(VARIANTS)),
        ("long", make_since.LONG, list(make_since.FEW)),
    ):
        found = content[section]
        assert found["recipe"] == asdict(recipe)
        assert list(found["parameters"]) == names
        seeds = range(len(found["runs"]) // len(names))
        assert [(run["seed"], run["variant"]) for run in found["runs"]] == list(
            product(seeds, names)
        )


@pytest.mark.thorough
def test_no_variant_reaches_the_floor_and_only_having_no_positions_costs_much(runs):
    assert stored()["llama"]["floor"] == pytest.approx(crane.entropy(400), abs=0.01)
    for seed in {run["seed"] for run in runs}:
        within = {run["variant"]: run["within"] for run in runs if run["seed"] == seed}
        assert min(within.values()) > 0.05
        assert max(within, key=within.__getitem__) == "none"
        assert max(within[name] for name in within if name != "none") < 0.25


def nats(rows, span, **key):
    """The mean of the rows with this key, in a range of positions."""
    found = [row["by_position"][span][2] for row in rows if row.items() >= key.items()]
    return fmean(found)


def test_beyond_the_window_learned_positions_fail_at_once_and_rotation_later(runs):
    assert nats(runs, 1, variant="learned") > nats(runs, 0, variant="learned") + 1
    assert nats(runs, 1, variant="rope") < nats(runs, 0, variant="rope") + 0.1
    assert nats(runs, 5, variant="rope") > nats(runs, 0, variant="rope") + 0.5


def test_a_scaling_costs_at_home_and_a_little_training_on_long_texts_is_the_cure(runs):
    rows = stored()["llama"]["positions"]
    home = nats(runs, 0, variant="rope")
    for reading in ("linear 1.75", "linear 7", "ntk 7", "base 500000", "llama3 7"):
        assert nats(rows, 0, variant="rope", reading=reading, steps=0) > home + 0.03
    tuned = [nats(rows, i, variant="rope", reading="plain", steps=200) for i in range(6)]
    assert max(tuned) < home + 0.15
    assert nats(rows, 5, variant="learned", reading="plain", steps=200) > 1


def test_stored_sizes_are_those_of_the_variants():
    sizes = stored()["llama"]
    config = make_since.SHORT.config(make_since.SHORT.T)
    assert sizes["parameters"]["learned"] == GPT2(config).num_parameters()
    assert sizes["parameters"]["all"] == variant("all", config).num_parameters()
    whole = sizes["cache_bytes"]["learned"]
    assert whole == 2 * 2 * config.n_layer * config.n_embd  # k and v, two bytes each
    assert [sizes["cache_bytes"][name] for name in ("kv2", "kv1", "all")] == [
        whole // 2,
        whole // 4,
        whole // 2,
    ]


def test_stored_bits_cost_more_the_fewer_they_are():
    bits = stored()["bits"]
    nats = {(row["bits"], row["per"]): row["nats"] for row in bits["rows"] if row["part"] == "all"}
    right = {
        (row["bits"], row["per"]): row["right"] for row in bits["rows"] if row["part"] == "all"
    }
    for per in make_since.PER:
        costs = [nats[b, per] for b in (5, 4, 3, 2)]
        assert costs == sorted(costs)
        assert nats[8, per] == pytest.approx(bits["intact"]["nats"], abs=1e-3)
        assert right[2, per] < 10
    assert nats[3, "tensor"] > nats[3, "row"] > nats[3, "group 32"] > bits["intact"]["nats"] + 0.005
    assert right[3, "tensor"] < right[3, "row"] < right[3, "group 32"] < bits["intact"]["right"]


def test_the_file_is_small():
    assert since.FILE.stat().st_size <= 40_000
