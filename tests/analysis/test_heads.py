"""Heads are removed and measured where they should be."""

from __future__ import annotations

import pytest
import torch

from gpt2_edu import crane, trace
from gpt2_edu.analysis import evals, heads, scoring

SEEDS = range(6)


def silence(model, layer: int, head: int) -> None:
    """Cut a head off: c_proj has no weight for what it found."""
    D = model.config.head_size
    attn = model.transformer.h[layer].attn
    with torch.no_grad():
        attn.c_proj.weight[:, head * D : (head + 1) * D] = 0


def test_a_head_that_nothing_listens_to_can_be_removed_without_loss(reader, tokenizer):
    silence(reader, 1, 2)
    found = heads.head_effects(reader, tokenizer, range(2))
    assert [(e.layer, e.head) for e in found.heads] == [(n, h) for n in (0, 1) for h in (0, 1, 2)]
    *others, silent = found.heads
    assert set(silent.margin_drops.values()) == {0.0}
    assert set(silent.drops.values()) == set(silent.sense_drops.values()) == {0.0}
    assert all(any(effect.margin_drops.values()) for effect in others)
    assert len(str(found).splitlines()) == 2 + len(found.heads)


def test_drops_are_what_is_lost_against_the_intact_model(reader, tokenizer, monkeypatch):
    places = [("sense", "bat"), ("sense", "bat"), ("sense", "seal"), ("name", "seal")]
    asked = []

    def choices(predictor, tokenizer, seeds):
        asked.append(list(seeds))
        margins = (3, 2, 1, 4) if len(asked) == 1 else (3, -2, 1, 1)  # first the intact model
        return [evals.Choice(0, *place, margin) for place, margin in zip(places, margins)]

    monkeypatch.setattr(heads, "choices", choices)
    found = heads.head_effects(reader, tokenizer, iter([8]))
    assert asked == 7 * [[8]]
    assert found.margins == {"name": 4, "sense": 2}
    for effect in found.heads:
        assert effect.drops == pytest.approx({"name": 0, "sense": 100 / 3})
        assert effect.sense_drops == {"bat": 50, "seal": 0}
        assert effect.margin_drops == pytest.approx({"name": 3, "sense": 4 / 3})
    assert str(found).splitlines()[1].split() == ["intact,", "%", "100.0", "100.0"]
    assert str(found).splitlines()[-1].split() == ["without", "1.2", "0.0", "-33.3"]


def test_a_hint_is_all_that_tells_the_sense():
    seeds = crane.random_seeds(1000, 3)
    found = [seed for seed in seeds if heads.sense_only_from_hint("bat", seed)]
    texts = [crane.story(seed) for seed in found]
    assert texts and all(text.count(", until the bat ") == 1 for text in texts)
    for seed in found:
        assert sum(test.phenomenon == "sense" for test in crane.annotated_story(seed).tests) == 1
    places = ("cave", "forest", "old tower", "stadium", "at school", "park")
    assert not any(place in text for text in texts for place in places)


def test_weights_are_those_of_the_head_and_the_place(reader, tokenizer):
    found = heads.attention_statistics(reader, tokenizer, [2, 3])
    sums = {(n, h): [0.0, 0.0, 0] for n in (0, 1) for h in (0, 1, 2)}
    for seed in (2, 3):
        ids = scoring.encode_words(tokenizer, crane.annotated_story(seed).words)[0]
        with torch.no_grad(), trace(reader) as t:
            reader(torch.tensor([ids[:-1]]))
        for (n, h), entry in sums.items():
            weights = t[f"transformer.h.{n}.attn.weights"][0, h]
            entry[0] += float(weights.diagonal(-1).sum())
            entry[1] += float(weights[1:, 0].sum())
            entry[2] += len(weights) - 1
    for head in found.heads:
        previous, first, count = sums[head.layer, head.head]
        assert head.weights["previous"] == pytest.approx(previous / count, rel=1e-4)
        assert head.weights["first"] == pytest.approx(first / count, rel=1e-4)
        assert found.counts["first"] == count
    best = found.strongest("previous")
    assert best.weights["previous"] == max(head.weights["previous"] for head in found.heads)
    (row,) = (line for line in str(found).splitlines() if line.startswith("previous"))
    assert row.split()[1] == str(found.counts["previous"])
    assert row.endswith(f"{best.layer}.{best.head}: {best.weights['previous']:.3f}")


def test_heads_are_watched_where_they_must_know_and_at_what_decides(tokenizer):
    seen = set()
    for seed in range(30):
        story = crane.annotated_story(seed)
        ids, starts = scoring.encode_words(tokenizer, story.words)
        word_of = {k: i for i, at in enumerate(starts[:-1]) for k in range(at, starts[i + 1])}
        places = list(heads.attention_places(story, ids, starts))
        seen |= {pattern for pattern, _, _ in places}
        assert all(keys and max(keys) <= query < len(ids) - 1 for _, query, keys in places)
        tests = {starts[test.start] - 1: test for test in story.tests}
        for pattern, query, keys in places:
            if pattern in ("copy", "induction"):
                words = {story.words[word_of[k]] for k in keys}
                assert words == set(tests[query].right)
                if pattern == "induction":
                    assert all(ids[k - 1] == ids[query] for k in keys)
        homographs = []
        for query, test in tests.items():
            keys = {k for k, i in word_of.items() for a, b in test.cues if a <= i < b}
            if keys:
                assert (f"to {test.phenomenon}", query, sorted(keys)) in places
            if test.phenomenon == "sense":
                word = test.sense.partition("-")[0]
                own = max(
                    k for k, i in word_of.items() if i < test.start and story.words[i] == word
                )
                homographs += [(own, sorted(k for k in keys if k < own))]
        found = [(query, keys) for pattern, query, keys in places if pattern == "homograph"]
        assert found == [(own, keys) for own, keys in homographs if keys]
    assert {"copy", "induction", "homograph", "to sense", "to order"} <= seen
