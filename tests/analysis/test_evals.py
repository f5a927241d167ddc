"""Metrics of a model, compared with predictors of which every metric is known beforehand."""

from __future__ import annotations

import json
import math

import pytest
import torch

from gpt2_edu import crane
from gpt2_edu.analysis import evals
from gpt2_edu.crane import surprisal
from gpt2_edu.crane.parsing import join_words

SEEDS = range(4)


def test_grades_count_stories_and_what_is_right_in_them():
    text = crane.story(1)
    story = crane.annotated_story(1)
    [speaker] = [t for t in story.tests if t.phenomenon == "speaker"]
    words = list(story.words)
    words[speaker.start] = speaker.distractors[0][0]
    grades = evals.grade([text, None, "A crane ate fish.", join_words(words), "Nonsense"])
    assert grades.stories == evals.Score(5, 1)
    assert grades.phenomena["speaker"] == evals.Score(2, 1)
    assert grades.phenomena["sense"].share == 1
    (row,) = (line for line in str(grades).splitlines() if line.startswith("speaker"))
    assert row.split()[1:] == "2 1 50.0% 9.5 – 90.5 %".split()
    assert grades.as_dict()["phenomena"]["speaker"]["share"] == 0.5


def test_a_sample_ends_where_its_story_does_or_is_none(model, tokenizer, monkeypatch):
    end, asked = tokenizer.eot_token, []
    text = tokenizer.encode_ordinary("A crane ate fish")
    rows = [[*text, end, end], [*text, 0, 1], [end] * (len(text) + 2)]

    def generate(model, idx, max_new_tokens, **knobs):
        drawn = (knobs["eos_id"], knobs["temperature"], knobs["top_p"])
        asked.append((idx.tolist(), max_new_tokens, drawn))
        return torch.cat([idx, torch.tensor(rows[: idx.size(0)])], dim=1)

    monkeypatch.setattr(evals, "generate", generate)
    stories = evals.sample_stories(model, tokenizer, 4, temperature=0.5, top_p=0.9, batch_size=3)
    assert stories == ["A crane ate fish", None, "", "A crane ate fish"]
    limit, drawn = model.config.block_size, (end, 0.5, 0.9)
    assert asked == [([[end]] * 3, limit, drawn), ([[end]], limit, drawn)]


# ---- Forced choice


def test_an_oracle_is_always_right(oracle, tokenizer):
    grades = evals.forced_choice(oracle, tokenizer, SEEDS)
    assert grades.stories == evals.Score(len(SEEDS), len(SEEDS))
    assert {score.share for score in grades.phenomena.values()} == {1.0}


def test_every_test_of_every_story_is_counted_once(uniform, tokenizer):
    asked = [t for seed in SEEDS for t in crane.annotated_story(seed).tests]
    grades = evals.forced_choice(uniform, tokenizer, SEEDS)
    counted = {name: score.chances for name, score in grades.phenomena.items()}
    names = [t.phenomenon for t in asked]
    assert counted == {name: names.count(name) for name in sorted(set(names))}
    words = [t.sense.partition("-")[0] for t in asked if t.phenomenon == "sense"]
    counted = {word: score.chances for word, score in grades.senses.items()}
    assert counted == {word: words.count(word) for word in sorted(set(words))}
    rows = [line.split() for line in str(grades).splitlines() if line.startswith("sense of ")]
    assert {row[2]: int(row[3]) for row in rows} == counted


def test_a_choice_compares_the_right_words_with_the_distractor_after_the_same_beginning(
    reader, tokenizer
):
    story = crane.annotated_story(3)
    found = evals.choices(reader, tokenizer, [3])
    for choice, test in zip(found, story.tests, strict=True):
        begun = 1 + len(tokenizer.encode_ordinary(join_words(story.words[: test.start])))
        sums = []
        for words in (test.right, test.distractors[0]):
            text = join_words(story.words[: test.start] + words)
            ids = torch.tensor([[tokenizer.eot_token, *tokenizer.encode_ordinary(text)]])
            table = reader(ids[:, :-1])[0].detach().log_softmax(-1)
            said = table.gather(-1, ids[:, 1:, None])[0, :, 0]
            sums.append(float(said[begun - 1 :].sum()))
        assert choice.margin == pytest.approx(sums[0] - sums[1], abs=1e-3)
        assert (choice.phenomenon, choice.word) == (test.phenomenon, test.sense.split("-")[0])


def test_a_tie_is_not_right(uniform, tokenizer):
    ties = [c for c in evals.choices(uniform, tokenizer, SEEDS) if c.margin == 0]
    assert ties and not any(choice.right for choice in ties)


# ---- Validation


def test_an_oracle_has_no_gap(oracle, tokenizer):
    found = evals.validation(oracle, tokenizer, 4, seed=7)
    assert found.gap == pytest.approx(0, abs=1e-6)
    assert found.gap_error == pytest.approx(0, abs=1e-6)
    assert max(map(abs, found.gap_by_position)) < 1e-5


def test_a_uniform_predictor_has_loss_log_V(uniform, tokenizer):
    found = evals.validation(uniform, tokenizer, 4, seed=7)
    assert found.loss == pytest.approx(math.log(tokenizer.n_vocab))
    assert found.loss_error == pytest.approx(0, abs=1e-6)
    assert found.gap == pytest.approx(found.loss - found.floor)
    assert found.gap_error > 0  # the floor differs from story to story
    assert found.tokens == sum(found.counts) and found.counts[0] == found.stories == 4
    for mean, column in [(found.loss, found.by_position), (found.gap, found.gap_by_position)]:
        weighted = sum(a * n for a, n in zip(column, found.counts))
        assert weighted / found.tokens == pytest.approx(mean)


def test_validation_and_floor_are_of_the_same_stories(uniform, tokenizer, monkeypatch):
    monkeypatch.setattr(surprisal, "load_tokenizer", lambda name: tokenizer)
    floor = crane.entropy(4, seed=7)
    found = evals.validation(uniform, tokenizer, 4, seed=7)
    assert found.floor == pytest.approx(float(floor))
    assert found.counts == floor.counts
    # The uniform loss is the same everywhere, so all scatter is the floor's.
    assert found.gap_error == pytest.approx(floor.standard_error, rel=1e-4)


# ---- The report


def test_a_report_is_json_with_every_metric(reader, tokenizer, monkeypatch):
    asked, windows, choices, window = [], [], evals.choices, evals.window_log_probs

    def listen(*args, held_out, **options):
        asked.append(held_out)
        return choices(*args, held_out=held_out, **options)

    monkeypatch.setattr(evals, "choices", listen)
    monkeypatch.setattr(evals, "window_log_probs", lambda m, n: windows.append(n) or window(m, n))
    sizes = {"n_stories": 2, "n_samples": 3, "n_choices": 2, "training_seeds": range(3)}
    found = evals.report(reader, tokenizer, **sizes)
    assert json.loads(json.dumps(found)).keys() == found.keys()
    assert found["samples"]["stories"]["chances"] == 3
    kinds = ["usual", "held_out_sense", "held_out_object", "held_out_name"]
    assert list(found["forced_choice"]) == kinds
    assert set(found["baselines"]) == {"bigram", *(f"window_{n}" for n in windows)}
    assert windows == [8]
    assert found["validation"]["gap"] == evals.validation(reader, tokenizer, 2, 0).gap
    assert asked == [None, "sense", "object", "name"] * 3  # the model, and each baseline


# ---- Grades


def test_the_wilson_interval_matches_published_values():
    assert evals.Score(10, 8).interval == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert evals.Score(10, 0).interval == pytest.approx((0, 0.2775), abs=1e-4)
    assert evals.Score(10, 10).interval == pytest.approx((0.7225, 1), abs=1e-4)
    # rounding leaves neither end
    assert evals.Score(7, 0).interval[0] == 0 and evals.Score(20, 20).interval[1] == 1
