"""The judge is right about stories, mistakes and any other text."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpt2_edu import crane
from gpt2_edu.crane import judging
from gpt2_edu.crane.grammar import Grammar
from gpt2_edu.crane.parsing import join_words, scan_words
from tests.crane.mutations import MUTATIONS, slips
from tests.crane.reference import can_be_said
from tests.crane.small_grammars import PAGES, every_story, page

pytestmark = pytest.mark.slow


def test_every_story_is_accepted_and_its_tests_are_counted(annotated):
    for story in annotated[:300]:
        verdict = crane.judge(story.text)
        assert verdict.kind == "story" and verdict.grammatical
        assert verdict.fails_at is None and verdict.expected == ()
        assert verdict.chances == verdict.right == Counter(test.phenomenon for test in story.tests)
        assert {found.sense for found in verdict.senses} == {story.tests[0].sense}


@pytest.mark.parametrize(
    ("text", "senses"),
    [
        ("A crane ate fish", [crane.Sense("crane", "crane-bird", 2)]),
        ("A crane lifted steel", [crane.Sense("crane", "crane-machine", 2)]),
        ("  By the river, the crane ate fish.\n", [crane.Sense("crane", "crane-bird", 20)]),
    ],
)
def test_a_single_sentence_is_judged(text, senses):
    verdict = crane.judge(text)
    assert verdict.kind == "sentence" and verdict.fails_at is None
    assert list(verdict.senses) == senses


@pytest.mark.parametrize(
    ("text", "fails_at", "senses"),
    [
        ("A crane ate steel.", "steel", ["crane-bird"]),
        ("A crane lifted fish.", "fish", ["crane-machine"]),
        ("By the river, the crane lifted steel.", "lifted", ["crane-bird"]),
        ("At the harbour, the crane ate fish.", "ate", ["crane-machine"]),
        ("A crane ate fish .", " .", ["crane-bird"]),
        ("A crane  ate fish.", "  ate", []),
        ("a crane ate fish.", "a ", []),
        ("A crane ate fish..", "..", ["crane-bird"]),
        ("A crane", "", []),
        ("", "", []),
    ],
)
def test_an_ungrammatical_text_fails_where_it_leaves_the_language(text, fails_at, senses):
    verdict = crane.judge(text)
    assert verdict.kind is None and not verdict.grammatical
    at = verdict.fails_at
    assert text[at:].strip().startswith(fails_at.strip()) and (fails_at or at == len(text))
    assert [found.sense for found in verdict.senses] == senses


def test_a_prefix_fails_at_its_end_and_the_next_word_is_expected(annotated):
    for story in annotated[:5]:
        for n in range(len(story.words)):
            text = join_words(story.words[:n])
            verdict = crane.judge(text)
            if verdict.kind is None:
                assert verdict.fails_at == len(text)
                assert story.words[n] in verdict.expected
            else:  # not every story goes on from there
                assert can_be_said(text, verdict.kind)


@pytest.mark.parametrize("name", PAGES)
def test_judge_and_sampler_have_the_same_language(name):
    """On grammars small enough to know all of it."""
    grammar = Grammar(page(PAGES[name] + "\nsentence: never\n"))
    stories = every_story(grammar)
    rng = random.Random(0)
    for text in stories:
        verdict = judging._judge(grammar, text)
        assert verdict.kind == "story", text
    words = sorted({word for text in stories for word, _ in scan_words(text) if word})
    rejected = 0
    for text in rng.sample(sorted(stories), min(40, len(stories))):
        changed = [word for word, _ in scan_words(text) if word]
        changed[rng.randrange(len(changed))] = rng.choice(words)
        verdict = judging._judge(grammar, join_words(changed))
        if join_words(changed) not in stories:
            rejected += not grammar.withheld
            assert grammar.withheld or verdict.kind is None, join_words(changed)
    assert rejected or grammar.withheld


# ---- What is wrong is rejected -------------------------------------------------------------------


@pytest.mark.parametrize("kind", MUTATIONS)
def test_mutations_are_rejected_with_the_right_phenomenon(kind):
    """``slips`` checks each verdict with the reference parser, and the phenomenon reported. A
    mutation that is still a story is accepted, which must be rare."""
    assert len(slips(kind, 30)) <= 1


# ---- Any text is judged --------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["a ", "A crane ate fish. ", "x", " "])
def test_a_megabyte_is_judged_at_once(unit):
    text = unit * (1_000_000 // len(unit))
    verdict = crane.judge(text)
    assert verdict.kind is None and 0 <= verdict.fails_at <= len(text)


def test_a_non_string_raises_with_its_type():
    with pytest.raises(TypeError, match="judge takes a text, got bytes"):
        crane.judge(b"A crane ate fish")


@settings(deadline=None, max_examples=100)
@given(st.text())
def test_judge_never_raises_for_any_string(text):
    verdict = crane.judge(text)
    assert (verdict.fails_at is None) == verdict.grammatical
    assert verdict.grammatical or 0 <= verdict.fails_at <= len(text)
