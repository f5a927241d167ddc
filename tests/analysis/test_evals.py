"""Marks for a model: held against guessers of which every mark is known beforehand."""

from __future__ import annotations

import copy
import json
import math
import sys

import pytest
import torch
from torch import Tensor

from gpt2_edu import GPT2Config, crane, trace
from gpt2_edu.analysis import evals, heads
from gpt2_edu.crane.grammar import TRAINING, crane_world
from gpt2_edu.crane.judging import beginnings, following
from gpt2_edu.crane.sampling import spell
from gpt2_edu.crane.surprisal import tokens
from gpt2_edu.tokenizer import make_encoding, train_bpe

SEEDS = range(6)


@pytest.fixture(scope="module")
def tokenizer():
    return make_encoding("small", train_bpe(map(crane.story, range(100)), 401))


@pytest.fixture
def reader(make_model, tokenizer):
    """A random model whose window holds any story."""
    sizes = {"vocab_size": tokenizer.n_vocab, "block_size": 211}
    return make_model(GPT2Config(**sizes, n_layer=2, n_head=3, n_embd=21))


@pytest.fixture(scope="module")
def oracle(tokenizer):
    """The exact prediction: after each token, the share of all that the grammar can say."""
    grammar = crane_world()

    def fill(table: Tensor, row: list[int]) -> None:
        ways = {(state, None, ()): p for state, p in beginnings(grammar, "story").items()}
        for t, token in enumerate(row):
            if t:  # the ways that go on with this token
                ways = {(s, b, rest[1:]): p for (s, b, rest), p in ways.items() if rest[0] == token}
            if not ways or (t and token == tokenizer.eot_token):
                return
            longer: dict = {}
            for (state, before, rest), p in ways.items():
                if rest:
                    longer[state, before, rest] = longer.get((state, before, rest), 0) + p
                    continue
                for said, after, q in following(grammar, state, p, TRAINING):
                    key = (after, said, tuple(tokens(tokenizer, before, said)))
                    longer[key] = longer.get(key, 0) + q
            ways = longer
            for (_, _, rest), p in ways.items():
                table[t, rest[0]] += p / sum(ways.values())

    def log_probs(ids: Tensor) -> Tensor:
        table = torch.zeros(*ids.shape, tokenizer.n_vocab, dtype=torch.float64)
        for b, row in enumerate(ids.tolist()):
            fill(table[b], row)
        return table.log()

    return log_probs


@pytest.fixture
def uniform(tokenizer):
    V = tokenizer.n_vocab
    return lambda ids: torch.full((*ids.shape, V), -math.log(V))


# ---- Guessers


def test_asking_a_model_switches_dropout_off_and_leaves_it_in_its_mode(model, idx):
    expected = model(idx)[0].log_softmax(dim=-1)
    model.train()
    torch.testing.assert_close(evals.of_model(model)(idx), expected)
    assert model.training


def test_a_window_as_long_as_the_text_changes_nothing(model, idx):
    T = idx.size(1)
    whole = evals.of_model(model)(idx)
    assert torch.equal(evals.of_window(model, T)(idx), whole)
    assert torch.equal(evals.of_window(model, T + 1)(idx), whole)
    assert not torch.allclose(evals.of_window(model, T - 1)(idx), whole)


def test_a_window_sees_the_last_tokens_and_no_others(model, idx):
    idx[1] = idx[0]  # one text twice, so that windows are shared
    answers = evals.of_window(model, 3)(idx)
    for t in range(idx.size(1)):
        alone = model(idx[:, max(0, t - 2) : t + 1])[0][:, -1].log_softmax(dim=-1)
        torch.testing.assert_close(answers[:, t], alone)


@pytest.mark.parametrize("n", [0, 14])
def test_a_window_that_the_model_does_not_have_is_refused(model, n):
    with pytest.raises(ValueError, match=rf"1 … block_size=13 tokens, got {n}"):
        evals.of_window(model, n)


def test_a_bigram_counts_pairs():
    bigram = evals.Bigram(torch.tensor([0, 1, 0, 1, 0, 2]), vocab_size=3, add=1.0)
    expected = torch.tensor([[1, 3, 2], [3, 1, 1], [1, 1, 1]])
    expected = expected / expected.sum(dim=-1, keepdim=True)
    torch.testing.assert_close(bigram(torch.tensor([[0, 1, 2]])).exp(), expected[None])


def test_a_bigram_without_pairs_or_with_impossible_ones_is_refused():
    with pytest.raises(ValueError, match=r"got \(1,\)"):
        evals.Bigram(torch.tensor([0]), 3)
    with pytest.raises(ValueError, match="above 0, got 0"):
        evals.Bigram(torch.tensor([0, 1]), 3, add=0)


# ---- Words, tokens, scores


def test_a_story_is_spelled_as_the_tokenizer_cuts_it(tokenizer):
    for seed in SEEDS:
        told = crane.tell(seed)
        ids, starts = evals.spelled(tokenizer, told.words)
        end = tokenizer.eot_token
        assert ids == [end, *tokenizer.encode_ordinary(told.text), end]
        for word, start, stop in zip(told.words, starts, starts[1:], strict=False):
            assert tokenizer.decode(ids[start:stop]).strip() == word
        assert starts[-1] == len(ids) - 1


def test_scores_belong_to_their_tokens_whatever_the_batch(model):
    rows = [[5, 6, 7, 8], [9, 10], [11, 12, 13]]
    for batch_size in (1, 2, 3):
        for row, said in zip(rows, evals.scores(model, rows, batch_size)):
            alone = model(torch.tensor([row]))[0][0].detach().log_softmax(dim=-1)
            expected = [float(alone[i, token]) for i, token in enumerate(row[1:])]
            assert said.tolist() == pytest.approx(expected, rel=1e-4)


# ---- Counting


def test_wilsons_interval_is_that_of_the_tables():
    assert evals.Score(10, 8).interval == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert evals.Score(10, 0).interval == pytest.approx((0, 0.2775), abs=1e-4)
    assert evals.Score(10, 10).interval == pytest.approx((0.7225, 1), abs=1e-4)


def test_grades_count_stories_and_what_is_right_in_them():
    text = crane.story(1)
    told = crane.tell(1)
    [speaker] = [t for t in told.tests if t.phenomenon == "speaker"]
    words = list(told.words)
    words[speaker.start] = speaker.wrong[0][0]
    grades = evals.grade([text, None, "A crane ate fish.", spell(words), "Nonsense"])
    assert grades.stories == evals.Score(5, 1)
    assert grades.phenomena["speaker"] == evals.Score(2, 1)
    assert grades.phenomena["sense"].share == 1
    assert " 50.0%" in str(grades).split("speaker")[1].splitlines()[0]
    assert grades.as_dict()["phenomena"]["speaker"]["share"] == 0.5


def test_nothing_to_grade_is_an_error():
    with pytest.raises(ValueError, match="at least one text"):
        evals.grade([])


# ---- Samples


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


def test_the_same_seed_writes_the_same_stories(reader, tokenizer):
    def draw(seed):
        return evals.sample_stories(reader, tokenizer, 5, seed=seed, batch_size=3, temperature=2.0)

    assert draw(1) == draw(1) != draw(2)
    assert any(draw(1)), "this test needs a story that ends"


def test_no_samples_are_refused(reader, tokenizer):
    with pytest.raises(ValueError, match="at least 1 story, got 0"):
        evals.sample_stories(reader, tokenizer, 0)


# ---- Forced choice


def test_who_knows_the_grammar_is_always_right(oracle, tokenizer):
    grades = evals.forced_choice(oracle, tokenizer, SEEDS)
    assert grades.stories == evals.Score(len(SEEDS), len(SEEDS))
    assert {score.share for score in grades.phenomena.values()} == {1.0}


def test_who_believes_the_opposite_is_never_right(oracle, tokenizer):
    grades = evals.forced_choice(lambda ids: -oracle(ids), tokenizer, SEEDS)
    assert grades.stories.right == 0
    assert {score.share for score in grades.phenomena.values()} == {0.0}


def test_every_test_of_every_story_is_counted_once(uniform, tokenizer):
    asked = [t for seed in SEEDS for t in crane.tell(seed).tests]
    grades = evals.forced_choice(uniform, tokenizer, SEEDS)
    counted = {name: score.chances for name, score in grades.phenomena.items()}
    names = [t.phenomenon for t in asked]
    assert counted == {name: names.count(name) for name in sorted(set(names))}
    words = [t.sense.partition("-")[0] for t in asked if t.phenomenon == "sense"]
    counted = {word: score.chances for word, score in grades.senses.items()}
    assert counted == {word: words.count(word) for word in sorted(set(words))}


def test_who_knows_nothing_prefers_what_has_fewer_tokens(uniform, tokenizer):
    found = evals.choices(uniform, tokenizer, SEEDS)
    expected = []
    for seed in SEEDS:
        told = crane.tell(seed)
        for test in told.tests:
            lengths = [
                len(tokenizer.encode_ordinary(spell(told.words[: test.start] + words)))
                for words in (test.right, test.wrong[0])
            ]
            expected.append((lengths[1] - lengths[0]) * math.log(tokenizer.n_vocab))
    assert [choice.margin for choice in found] == pytest.approx(expected, abs=1e-4)
    assert 0.0 in expected and not any(choice.right for choice in found if choice.margin == 0)


def test_a_choice_compares_the_right_words_with_the_lure_after_the_same_beginning(
    reader, tokenizer
):
    told = crane.tell(3)
    found = evals.choices(reader, tokenizer, [3], batch_size=2)
    for choice, test in zip(found, told.tests, strict=True):
        begun = [tokenizer.eot_token, *tokenizer.encode_ordinary(spell(told.words[: test.start]))]
        sums = []
        for words in (test.right, test.wrong[0]):
            text = spell(told.words[: test.start] + words)
            ids = torch.tensor([[tokenizer.eot_token, *tokenizer.encode_ordinary(text)]])
            said = (
                reader(ids[:, :-1])[0]
                .detach()
                .log_softmax(-1)
                .gather(-1, ids[:, 1:, None])[0, :, 0]
            )
            sums.append(float(said[len(begun) - 1 :].sum()))
        assert choice.margin == pytest.approx(sums[0] - sums[1], abs=1e-3)
        assert (choice.phenomenon, choice.word) == (test.phenomenon, test.sense.split("-")[0])


def test_held_out_stories_are_told_for_held_out_choices(uniform, tokenizer):
    for kind in (None, "object"):
        found = evals.choices(uniform, tokenizer, SEEDS, held_out=kind)
        told = [crane.tell(seed, held_out=kind).tests for seed in SEEDS]
        assert [(c.story, c.phenomenon) for c in found] == [
            (i, test.phenomenon) for i, tests in enumerate(told) for test in tests
        ]


def test_one_wrong_choice_costs_its_story():
    choice = [evals.Choice(s, p, "bat", m) for s, p, m in [(0, "a", 1), (0, "b", -1), (1, "a", 1)]]
    grades = evals.count_choices(choice)
    assert grades.stories == evals.Score(2, 1)
    assert grades.phenomena == {"a": evals.Score(2, 2), "b": evals.Score(1, 0)}


def test_a_choice_between_nothing_is_an_error(uniform, tokenizer):
    with pytest.raises(ValueError, match="at least one seed"):
        evals.forced_choice(uniform, tokenizer, [])


# ---- Validation


def test_who_knows_the_grammar_has_no_gap(oracle, tokenizer):
    found = evals.validation(oracle, tokenizer, 4, seed=7)
    assert found.gap == pytest.approx(0, abs=1e-6)
    assert found.gap_error == pytest.approx(0, abs=1e-6)
    assert max(map(abs, found.gap_by_position)) < 1e-5


def test_who_knows_nothing_is_surprised_by_the_whole_vocabulary(uniform, tokenizer):
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
    room = sys.modules["gpt2_edu.crane.surprisal"]
    monkeypatch.setattr(room, "load_tokenizer", lambda name: tokenizer)
    floor = crane.entropy(4, seed=7)
    found = evals.validation(uniform, tokenizer, 4, seed=7)
    assert found.floor == pytest.approx(float(floor))
    assert found.counts == floor.counts
    # The uniform loss is the same everywhere, so all scatter is the floor's.
    assert found.gap_error == pytest.approx(floor.standard_error, rel=1e-4)


def test_one_story_has_no_error_to_estimate(uniform, tokenizer):
    with pytest.raises(ValueError, match="at least 2, got 1"):
        evals.validation(uniform, tokenizer, 1)


# ---- The report


def test_a_report_is_json_and_holds_every_mark(reader, tokenizer, monkeypatch):
    asked, choices = [], evals.choices

    def listen(*args, held_out, **options):
        asked.append(held_out)
        return choices(*args, held_out=held_out, **options)

    monkeypatch.setattr(evals, "choices", listen)
    sizes = {"n_stories": 2, "n_samples": 3, "n_choices": 2, "training_seeds": range(3)}
    kinds = ["object"]  # one stands for all: each is told anew
    found = evals.report(reader, tokenizer, **sizes, window=5, held_out=kinds)
    assert json.loads(json.dumps(found)).keys() == found.keys()
    assert found["samples"]["stories"]["chances"] == 3
    assert set(found["forced_choice"]) == {"usual", "held_out_object"}
    assert set(found["baselines"]) == {"bigram", "window_5"}
    assert found["validation"]["gap"] == evals.validation(reader, tokenizer, 2, 0).gap
    assert asked == [None, "object"] * 3  # the model, and each baseline


# ---- Heads


def silence(model, layer: int, head: int) -> None:
    """Cut a head off: c_proj has no weight for what it found."""
    D = model.config.head_size
    attn = model.transformer["h"][layer].attn
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


def test_a_head_removed_is_a_head_cut_off(reader, tokenizer, idx):
    expected = copy.deepcopy(reader)
    silence(expected, 0, 1)
    removed = heads.without_head(reader, 0, 1)
    torch.testing.assert_close(removed(idx), evals.of_model(expected)(idx))


def test_drops_are_what_is_lost_against_the_intact_model(reader, tokenizer, monkeypatch):
    places = [("sense", "bat"), ("sense", "bat"), ("sense", "seal"), ("name", "seal")]
    asked = []

    def choices(guesser, tokenizer, seeds, **options):
        asked.append((list(seeds), options))
        margins = (3, 2, 1, 4) if len(asked) == 1 else (3, -2, 1, 1)  # first the intact model
        return [evals.Choice(0, *place, margin) for place, margin in zip(places, margins)]

    monkeypatch.setattr(heads, "choices", choices)
    found = heads.head_effects(reader, tokenizer, iter([8]), held_out="object", batch_size=5)
    assert asked == 7 * [([8], {"held_out": "object", "batch_size": 5})]
    assert found.margins == {"name": 4, "sense": 2}
    for effect in found.heads:
        assert effect.drops == pytest.approx({"name": 0, "sense": 100 / 3})
        assert effect.sense_drops == {"bat": 50, "seal": 0}
        assert effect.margin_drops == pytest.approx({"name": 3, "sense": 4 / 3})
    assert str(found).splitlines()[1].split() == ["intact,", "%", "100.0", "100.0"]
    assert str(found).splitlines()[-1].split() == ["without", "1.2", "0.0", "-33.3"]


def test_a_head_that_always_says_the_same_is_not_missed_when_its_mean_stands_in(reader, tokenizer):
    C, D = reader.config.n_embd, reader.config.head_size
    with torch.no_grad():  # the values of head 1: their bias alone
        reader.transformer["h"][0].attn.c_attn.weight[2 * C + D : 2 * C + 2 * D] = 0
    by_mean, by_zero = (
        heads.head_effects(reader, tokenizer, range(2), instead=instead).heads[1].margin_drops
        for instead in ("mean", "zero")
    )
    assert by_mean == pytest.approx(dict.fromkeys(by_mean, 0), abs=1e-4)
    assert max(map(abs, by_zero.values())) > 1e-2


def test_the_mean_of_a_head_counts_each_token_once_and_no_padding(model):
    rows = [[5, 6, 7, 8], [9, 10], [11, 12, 13]]
    for layer in (0, 1):
        kept = []
        for row in rows:
            with torch.no_grad(), trace(model) as t:
                model(torch.tensor([row]))
            kept.append(t[f"transformer.h.{layer}.attn.heads"][0])
        expected = torch.cat(kept, dim=1).mean(dim=1)
        for batch_size in (1, 3):
            found = heads.mean_heads(model, rows, batch_size=batch_size)[layer]
            torch.testing.assert_close(found, expected)


def test_a_hint_is_all_that_tells_the_sense():
    places = ("by the river", "in the marsh", "on the island", "harbour", "city", "building site")
    seeds = crane.random_seeds(4000, 3)
    texts = [crane.story(seed) for seed in seeds if heads.told_by_hint("crane", seed)]
    assert len(texts) >= 10
    for text in texts:
        opening, deed = text.split(", until the crane ")
        assert "saw nothing but" in opening
        assert not any(place in text for place in places)
        assert not any(f"the crane {verb}" in deed for verb in ("ate", "lifted"))
    bats = [seed for seed in seeds if heads.told_by_hint("bat", seed)]
    assert bats and all(", until the bat " in crane.story(seed) for seed in bats)


def test_what_cannot_be_removed_is_refused(model, tokenizer):
    with pytest.raises(ValueError, match=r"layers 0 … 1 with heads 0 … 2, got 2\.0"):
        heads.without_head(model, 2, 0)
    with pytest.raises(ValueError, match='"zero" or "mean", got \'median\''):
        heads.head_effects(model, tokenizer, SEEDS, instead="median")


def test_a_head_that_looks_evenly_has_the_weights_of_an_even_look(reader, tokenizer):
    with torch.no_grad():
        for block in reader.transformer["h"]:
            block.attn.c_attn.weight.zero_()
            block.attn.c_attn.bias.zero_()
    found = heads.attention_statistics(reader, tokenizer, SEEDS)
    assert {"first", "previous", "copy", "induction", "homograph"} < set(found.counts)
    for head in found.heads:
        assert head.weights == pytest.approx(found.even, rel=1e-4)


def test_weights_are_those_of_the_head_and_the_place(reader, tokenizer):
    found = heads.attention_statistics(reader, tokenizer, [2, 3], batch_size=2)
    sums = {(n, h): [0.0, 0.0, 0] for n in (0, 1) for h in (0, 1, 2)}
    for seed in (2, 3):
        ids = evals.spelled(tokenizer, crane.tell(seed).words)[0]
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


def test_heads_are_watched_where_they_must_know_and_at_what_decides(tokenizer):
    seen = set()
    for seed in range(30):
        told = crane.tell(seed)
        ids, starts = evals.spelled(tokenizer, told.words)
        word_of = {k: i for i, at in enumerate(starts[:-1]) for k in range(at, starts[i + 1])}
        places = list(heads.looks(told, ids, starts))
        seen |= {pattern for pattern, _, _ in places}
        assert all(keys and max(keys) <= query < len(ids) - 1 for _, query, keys in places)
        tests = {starts[test.start] - 1: test for test in told.tests}
        for pattern, query, keys in places:
            if pattern in ("copy", "induction"):
                words = {told.words[word_of[k]] for k in keys}
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
                own = max(k for k, i in word_of.items() if i < test.start and told.words[i] == word)
                homographs += [(own, sorted(k for k in keys if k < own))]
        found = [(query, keys) for pattern, query, keys in places if pattern == "homograph"]
        assert found == [(own, keys) for own, keys in homographs if keys]
    assert {"copy", "induction", "homograph", "to sense", "to order"} <= seen


def test_held_out_stories_are_looked_at_when_asked_for(reader, tokenizer):
    told = [crane.tell(seed, held_out="object") for seed in SEEDS]
    lengths = [len(evals.spelled(tokenizer, story.words)[0]) for story in told]
    usual = [len(evals.spelled(tokenizer, crane.tell(seed).words)[0]) for seed in SEEDS]
    assert sum(lengths) != sum(usual), "this test needs stories of other lengths"
    found = heads.attention_statistics(reader, tokenizer, SEEDS, held_out="object")
    assert found.counts["previous"] == sum(lengths) - 2 * len(SEEDS)


def test_no_stories_leave_nothing_to_look_at(reader, tokenizer):
    with pytest.raises(ValueError, match="at least one seed"):
        heads.attention_statistics(reader, tokenizer, [])


# ---- Where two texts part


def test_texts_part_at_the_first_difference_and_not_before(reader, tokenizer):
    found = heads.parting(reader, tokenizer, "a,b,c,d", "a,b,x,d")
    differ = [a != b for a, b in found.tokens]
    at = differ.index(True)
    assert differ == [i == at for i in range(len(differ))] and len(differ) > at + 1 > 1
    assert found.stages[:3] == ("embd", "h.0.resid_mid", "h.0.resid_post")
    assert len(found.stages) == 1 + 2 * reader.config.n_layer
    for distances in (found.cosine, found.relative):
        assert [d > 1e-6 for d in distances[0]] == differ
        for row in distances[1:]:
            assert max(row[:at]) < 1e-6 < min(row[at:])
    assert found.lens is None


def test_distances_are_those_of_the_vectors(reader, tokenizer):
    found = heads.parting(reader, tokenizer, "a,b", "a,x")
    vectors = []
    for text in ("a,b", "a,x"):
        ids = [tokenizer.eot_token, *tokenizer.encode_ordinary(text)]
        with torch.no_grad(), trace(reader) as t:
            reader(torch.tensor([ids]))
        vectors.append(t["transformer.h.1.resid_mid"][0, -1])
    a, b = vectors
    i = found.stages.index("h.1.resid_mid")
    assert found.cosine[i][-1] == pytest.approx(float(1 - a @ b / a.norm() / b.norm()), rel=1e-4)
    mean = float(a.norm() + b.norm()) / 2
    assert found.relative[i][-1] == pytest.approx(float((a - b).norm()) / mean, rel=1e-4)


def test_the_last_stage_prefers_followers_as_the_logits_do(reader, tokenizer):
    found = heads.parting(reader, tokenizer, "a,b", "a,x", followers=(" a", " crane"))
    one, two = (tokenizer.encode_ordinary(word)[0] for word in (" a", " crane"))
    preferences = []
    for text in ("a,b", "a,x"):
        ids = [tokenizer.eot_token, *tokenizer.encode_ordinary(text)]
        logits = reader(torch.tensor([ids]))[0][0, -1].detach()
        preferences.append(float(logits[one] - logits[two]))
    assert found.lens[-1][-1] == pytest.approx(preferences[0] - preferences[1], rel=1e-3)
    assert found.lens[0][-1] != pytest.approx(found.lens[-1][-1], rel=1e-3)


def test_texts_that_do_not_line_up_are_refused(reader, tokenizer):
    with pytest.raises(ValueError, match=r"'a,b' has 3 \(a \| , \| b\) and 'a,b,c' has 5"):
        heads.parting(reader, tokenizer, "a,b", "a,b,c")
    with pytest.raises(ValueError, match="different tokens"):
        heads.parting(reader, tokenizer, "a,b", "a,c", followers=(" a", " a"))
    with pytest.raises(ValueError, match="different tokens"):
        heads.parting(reader, tokenizer, "a,b", "a,c", followers=("", " a"))
