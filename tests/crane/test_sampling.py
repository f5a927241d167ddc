"""Stories of Crane World are what they claim to be."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter

import pytest

from gpt2_edu import GPT2Config, crane, load_tokenizer
from gpt2_edu.crane import sampling
from gpt2_edu.crane.grammar import Grammar, crane_world
from tests.crane.reference import golden, make_tokenizer, said, surprise, withheld_objects
from tests.crane.small_grammars import Enumerated, page

# Of the first stories. After a change to grammar.md that is meant, put here what
# `golden()` of tests.crane.reference returns.
GOLDEN = "bdc1ba0d79ce64ddb8a2c0877dd718c1f941845139fb8490e13b735b8b6eaeef"

HELD_OUT = ("sense", "object", "name")


def test_the_first_thousand_stories_are_the_same_on_every_machine():
    assert golden() == GOLDEN


@pytest.mark.parametrize("seed", [0, (1 << 64) - 1])
def test_the_first_and_the_last_seed_write_stories(seed):
    assert crane.judge(crane.story(seed)).kind == "story"


def test_what_gives_no_story_is_refused():
    for seed in (-1, 1 << 64):
        with pytest.raises(ValueError, match="from 0 to"):
            crane.story(seed)
    for seed in (1.0, "1", None, True):
        with pytest.raises(TypeError, match="whole number"):
            crane.story(seed)
    with pytest.raises(ValueError, match="sense, object, name"):
        crane.story(0, held_out="nouns")


# ---- How long, how many, how varied --------------------------------------------------------------


def test_stories_have_3_to_8_sentences(stories):
    assert all(3 <= len(re.findall(r"[.?!]+", text)) <= 8 for text in stories)


def test_stories_have_30_to_120_tokens(stories):
    sizes = [len(load_tokenizer("crane").encode_ordinary(text)) for text in stories]
    assert 30 <= min(sizes) and max(sizes) <= 120 < GPT2Config.preset("crane").block_size


def test_stories_use_500_to_1000_different_words(stories):
    assert 500 <= len({word for text in stories for word in re.findall("[a-z-]+", text.lower())})
    assert len({word for text in stories for word in re.findall("[A-Za-z-]+", text)}) <= 1000


@pytest.mark.thorough
def test_there_are_more_than_a_trillion_stories(stories):
    """As many as 2 to the entropy at least, in bits: a uniform choice would have the most."""
    tokenizer = make_tokenizer()
    surprises = [surprise(text, tokenizer) for text in stories[:300]]
    error = statistics.stdev(surprises) / math.sqrt(len(surprises))
    assert statistics.mean(surprises) - 4 * error > math.log(1e12)


def test_each_story_has_a_test_and_often_a_distant_cue(annotated):
    assert all(any(test.phenomenon == "sense" for test in story.tests) for story in annotated)
    found = Counter(test.phenomenon for story in annotated for test in story.tests)
    named = set(crane_world().tables["tested"].cells["as"].values())
    assert set(found) == named | {"speaker", "order"}


def test_eight_words_or_more_have_exactly_two_senses():
    table = crane_world().tables["sense"]
    senses = Counter(table.cells["word"].values())
    assert len(senses) >= 8 and set(senses.values()) == {2}
    for key in table.keys:
        other = table.cells["other"][key]
        assert other != key and table.cells["other"][other] == key
        assert table.cells["word"][other] == table.cells["word"][key]
        assert key.startswith(table.cells["word"][key] + "-")


@pytest.mark.parametrize("column", ["place", "sign", "does"])
def test_nothing_fits_both_senses_of_a_word(column):
    table = crane_world().tables["sense"]
    for key in table.keys:
        own, other = (
            set(said(table.cells[column][sense])) for sense in (key, table.cells["other"][key])
        )
        assert own and not own & other


# ---- What is tested ------------------------------------------------------------------------------


def test_a_test_names_the_words_that_stand_in_the_story(annotated):
    for story in annotated:
        for test in story.tests:
            assert story.words[test.start : test.start + len(test.right)] == test.right
            assert test.distractors and test.right not in test.distractors
            assert all(start < stop <= test.start for start, stop in test.cues)
            assert test.cues


def test_distractors_are_plausible_and_cues_are_of_the_right_sense(annotated):
    """The first is the other sense's, or one that the story has mentioned. A place of the other
    sense is no cue."""
    table = crane_world().tables["sense"]
    for story in annotated[:300]:
        for test in story.tests:
            before = " ".join(story.words[: test.start])
            first = " ".join(test.distractors[0])
            if test.phenomenon in ("speaker", "order"):
                assert first in before
            if test.phenomenon == "sense":
                columns = [table.cells[name] for name in ("place", "sign", "does")]
                other = table.cells["other"][test.sense]
                assert any(first in column[other] for column in columns)
                for start, stop in test.cues:
                    cue = " ".join(story.words[start:stop]).lower()
                    assert any(cue in column[test.sense].lower() for column in columns)


def test_a_tested_word_that_begins_a_sentence_has_its_capital():
    rules = """
story: [s: p] {p: p} sat. {^then}
then: {p.they} ran.

p       they
    Ann  she
    Ben  he

tested    as
    p.they  pronoun
"""
    story, _ = sampling._sample_once(Grammar(page(rules)), Enumerated([]), None, annotate=True)
    (test,) = story.tests
    assert (test.right, test.distractors) == (("She",), (("He",),))
    assert story.words[test.start] == "She"


# ---- What training never shows -------------------------------------------------------------------


def test_training_shows_no_withheld_pair_of_objects(stories):
    assert not any(map(withheld_objects, stories[:2000]))
    assert all(withheld_objects(crane.story(seed, held_out="object")) for seed in range(100))


@pytest.mark.parametrize("held_out", HELD_OUT)
def test_held_out_stories_are_grammatical_but_impossible_in_training(held_out):
    assert tuple(crane_world().withheld) == HELD_OUT
    for seed in range(25):
        text = crane.story(seed, held_out=held_out)
        verdict = crane.judge(text)
        assert verdict.kind == "story" and verdict.chances == verdict.right
        with pytest.raises(ValueError, match="training distribution"):
            surprise(text, make_tokenizer())


def test_the_generator_is_splitmix64_as_published():
    """The reference values for the seed 1234567 of the C version by Sebastiano Vigna."""
    generator = sampling.SplitMix64(1234567)
    assert [generator.below(1 << 64) for _ in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
