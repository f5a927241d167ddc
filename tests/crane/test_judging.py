"""The judge is right about stories, mistakes and any other text."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpt2_edu import crane
from gpt2_edu.crane import judging
from gpt2_edu.crane.grammar import Grammar, crane_world
from gpt2_edu.crane.parsing import join_words, scan_words
from tests.crane.mutations import MUTATIONS, mutate, slips
from tests.crane.reference import can_be_said
from tests.crane.small_grammars import PAGES, every_story, page


def test_every_story_is_accepted_and_its_tests_are_counted(annotated):
    for story in annotated[:300]:
        verdict = crane.judge(story.text)
        assert verdict.kind == "story" and verdict.grammatical
        assert verdict.fails_at is None and verdict.expected == ()
        assert verdict.chances == verdict.right == Counter(test.phenomenon for test in story.tests)


@pytest.mark.parametrize(
    ("text", "senses"),
    [
        ("A crane ate fish", [crane.Sense("crane", "crane-bird", 2)]),
        ("A crane ate fish.", [crane.Sense("crane", "crane-bird", 2)]),
        ("A crane lifted steel", [crane.Sense("crane", "crane-machine", 2)]),
        ("A crane lifted steel.", [crane.Sense("crane", "crane-machine", 2)]),
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
        ("By the river , the crane ate fish.", " ,", []),
        ("A crane  ate fish.", "  ate", []),
        ("A crane Ate fish.", "Ate", []),
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
    for story in annotated[:10]:
        for n in range(len(story.words)):
            text = join_words(story.words[:n])
            verdict = crane.judge(text)
            if verdict.kind is None:
                assert verdict.fails_at == len(text)
                assert story.words[n] in verdict.expected
            else:  # not every story goes on from there
                assert can_be_said(text, verdict.kind)


def test_expected_words_continue_the_text(annotated):
    rng = random.Random(0)
    for story in annotated[:40]:
        before = story.words[: rng.randrange(1, len(story.words))]
        verdict = crane.judge(join_words([*before, "nonsense"]))
        for word in rng.sample(verdict.expected, min(5, len(verdict.expected))):
            text = join_words([*before, word] if word else before)
            again = crane.judge(text)
            assert again.kind or again.fails_at == len(text)


def test_the_words_of_a_story_decide_its_sense(annotated):
    for story in annotated[:200]:
        senses = crane.judge(story.text).senses
        assert {found.sense for found in senses} == {story.tests[0].sense}
        for found in senses:
            assert re.match(rf"{found.word}\b", story.text[found.at :])


def test_the_reference_parser_accepts_stories_and_sentences(annotated):
    assert all(can_be_said(story.text) for story in annotated[:100])
    assert all(can_be_said(crane.story(0, held_out=h)) for h in crane_world().withheld)
    assert can_be_said("A crane ate fish", "sentence")
    assert not can_be_said("A crane ate steel.", "sentence")


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
    assert len(slips(kind, 60)) <= 1


def test_every_mutation_changes_the_text():
    """Otherwise the test above is vacuous."""
    for kind in MUTATIONS:
        texts = [(story.text, text) for story, (text, _, _) in mutate(kind, 20)]
        assert len(texts) == 20 and all(before != after for before, after in texts)


# ---- Any text is judged --------------------------------------------------------------------------


def steps(monkeypatch, text: str) -> tuple[crane.Verdict, int]:
    """The verdict, and how often the judge asked what may follow."""
    calls = 0
    original = judging.next_steps

    def counted(*arguments, **options):
        nonlocal calls
        calls += 1
        yield from original(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(judging, "next_steps", counted)
        return crane.judge(text), calls


@pytest.mark.parametrize(
    "text",
    [
        "\x00",
        "A crane\x00 ate fish",
        "A crane ate\tfish",
        "鶴は魚を食べた",
        "Журавль съел рыбу",
        "A crane ate fish \U0001f41f",
        "\ud800",
        "A crane ate \udfff",
        "A\u00a0crane ate fish",
        "A crane ate ﬁsh",
        '"',
        '""',
        ". . .",
        "-",
        "A-crane",
    ],
)
def test_texts_outside_the_language_fail_at_an_index(text):
    verdict = crane.judge(text)
    assert verdict.kind is None and 0 <= verdict.fails_at <= len(text)


@pytest.mark.parametrize(
    ("unit", "times"),
    [("a ", 500_000), ("A crane ate fish. ", 60_000), ("x", 1_000_000), (" ", 1_000_000)],
)
def test_a_megabyte_costs_no_more_steps_than_a_few_words(monkeypatch, unit, times):
    verdict, long = steps(monkeypatch, unit * times)
    _, short = steps(monkeypatch, unit * 3)
    assert verdict.kind is None and 0 <= verdict.fails_at <= len(unit * times)
    assert long == short


def test_a_story_ten_thousand_times_fails_where_the_second_begins(monkeypatch):
    text = crane.story(0)
    verdict, long = steps(monkeypatch, (text + " ") * 10_000)
    _, short = steps(monkeypatch, (text + " ") * 3)
    assert verdict.kind is None and verdict.fails_at == len(text) + 1
    assert long == short


@pytest.mark.parametrize("text", [b"A crane ate fish", None, 3, ["A crane"]])
def test_a_non_string_raises_TypeError_with_its_type(text):
    with pytest.raises(TypeError, match=f"judge takes a text, got {type(text).__name__}"):
        crane.judge(text)


@settings(deadline=None, max_examples=300)
@given(st.text())
def test_judge_never_raises_for_any_string(text):
    verdict = crane.judge(text)
    assert (verdict.fails_at is None) == verdict.grammatical
    assert verdict.grammatical or 0 <= verdict.fails_at <= len(text)


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_judge_agrees_with_the_reference_on_random_word_orders(data):
    words = list(crane.annotated_story(data.draw(st.integers(0, 300))).words)
    others = list(crane.annotated_story(data.draw(st.integers(0, 300))).words)
    for _ in range(data.draw(st.integers(0, 3))):
        words[data.draw(st.integers(0, len(words) - 1))] = data.draw(st.sampled_from(others))
    text = join_words(words)
    verdict = crane.judge(text)
    assert (verdict.kind == "story") == can_be_said(text)
    assert all(verdict.right.get(name, 0) <= n for name, n in verdict.chances.items())
