"""Crane World: its stories are what they claim to be, the judge is right, the floor is exact.

The long version is: python -m tests.campaigns.crane
"""

from __future__ import annotations

import importlib
import itertools
import math
import random
import re
import statistics
from collections import Counter, defaultdict
from functools import cache
from importlib.resources import files

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from gpt2_edu import GPT2Config, crane, load_tokenizer
from gpt2_edu.crane.grammar import EVERYTHING, Grammar, cell, crane_world
from gpt2_edu.crane.judging import scan
from gpt2_edu.crane.notation import Slot
from gpt2_edu.crane.randomness import Chance
from gpt2_edu.crane.sampling import spell
from gpt2_edu.tokenizer import END_OF_TEXT, SPLIT_PATTERN, save_ranks, train_bpe
from tests.campaigns.crane import (
    MUTATIONS,
    can_be_said,
    distances,
    golden,
    make_tokenizer,
    met,
    mutate,
    said,
    same_stories,
    slips,
    surprise,
    withheld_pairs,
)

story_module = importlib.import_module("gpt2_edu.crane.sampling")
judge_module = importlib.import_module("gpt2_edu.crane.judging")
entropy_module = importlib.import_module("gpt2_edu.crane.surprisal")

# Of the first 1,000 stories. After a change to grammar.md that is meant, put here what
# `python -m tests.campaigns.crane --golden` prints.
GOLDEN = "f5e90bd2ff6ac5998a4e707ecf49d1ec52112a672eaa99aa0db3a5c1926f8b57"

HELD_OUT = ("sense", "object", "name")


@pytest.fixture(scope="module")
def told() -> list[crane.Told]:
    return [crane.tell(seed) for seed in range(1000)]


@pytest.fixture(scope="module")
def stories() -> list[str]:
    return [crane.story(seed) for seed in range(5000)]


# ---- Chance and seeds -------------------------------------------------------------------------


def test_chance_is_splitmix64_as_published():
    """The reference values for the seed 1234567 of the C version by Sebastiano Vigna."""
    chance = Chance(1234567)
    assert [chance.below(1 << 64) for _ in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_below_favours_no_number():
    chance = Chance(0)
    counts = Counter(chance.below(6) for _ in range(60_000))
    assert sorted(counts) == [0, 1, 2, 3, 4, 5]
    assert all(abs(count - 10_000) < 500 for count in counts.values())  # five standard deviations


def test_the_first_thousand_stories_are_the_same_on_every_machine():
    assert golden() == GOLDEN


def test_a_story_does_not_depend_on_those_told_before():
    page = (files("gpt2_edu.crane") / "grammar.md").read_text(encoding="utf-8")
    fresh = Grammar(page)
    for seed in reversed(range(50)):
        assert story_module._tell(fresh, seed, None, tests=False).text == crane.story(seed)
    assert crane.tell(3).text == crane.story(3)
    assert crane.tell(3, held_out="name").text == crane.story(3, held_out="name")


@pytest.mark.parametrize("seed", [0, (1 << 64) - 1])
def test_the_first_and_the_last_seed_tell_stories(seed):
    assert crane.judge(crane.story(seed)).kind == "story"


@pytest.mark.parametrize("seed", [-1, 1 << 64])
def test_a_seed_out_of_range_is_refused_and_not_wrapped_around(seed):
    with pytest.raises(ValueError, match=rf"seed must be from 0 to 2\^64 - 1, got {seed}"):
        crane.story(seed)


@pytest.mark.parametrize("seed", [1.0, "1", None, True, b"1"])
def test_a_seed_of_another_type_is_refused(seed):
    with pytest.raises(TypeError, match="seed must be a whole number"):
        crane.story(seed)


def test_an_unknown_test_set_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="None or one of sense, object, name, got 'nouns'"):
        crane.story(0, held_out="nouns")


# ---- How long, how many, how varied -----------------------------------------------------------


def extremes(choose, measure, sense=None):
    """The least or the greatest sum over the words of a story, whatever is chosen.

    A word is measured with the space before it. No way through the grammar is left out: it may
    even take ways that memory forbids, of other senses only where ``sense`` does not settle it.
    """
    grammar = crane_world()

    @cache
    def of(name, capital, joined):
        return choose(along(way.items, capital, joined) for way in grammar.lists[name])

    def along(items, capital, joined):
        total = 0
        for item in items:
            if not isinstance(item, Slot) or item.say:
                total += one(item, capital, joined)
                capital, joined = False, item == '"'
        return total

    def one(item, capital, joined):
        if not isinstance(item, Slot):
            word = item[0].upper() + item[1:] if capital else item
            return measure(word if joined or word[0] in ".,?!" else " " + word)
        name, *columns = item.source
        capital = capital or item.capital
        if item.name or name not in grammar.variables:
            return of(name, capital, joined)
        table = grammar.variables[name]
        if not columns:
            return of(table, capital, joined)
        keys, cells = grammar.tables[table].keys, grammar.tables[table].cells
        if name == "s" and sense:
            keys = [sense]
        for column in columns[:-1]:
            keys = [cells[column][key] for key in keys]
        return choose(of(cell(table, columns[-1], key), capital, joined) for key in keys)

    return of("story", False, True)


def test_no_story_has_fewer_than_3_or_more_than_8_sentences(stories):
    def ends(word):
        return bool(re.match("[.?!]", word))

    assert 3 <= extremes(min, ends) <= extremes(max, ends) <= 8
    assert all(3 <= len(re.findall(r"[.?!]+", text)) <= 8 for text in stories)


def test_no_story_has_fewer_than_30_tokens_or_too_many_for_the_window(stories):
    """Of all stories there are; none of the first thousands has more than 120."""
    tokenizer = load_tokenizer("crane")

    def size(word):
        return len(tokenizer.encode_ordinary(word))

    assert extremes(min, lambda word: 1) >= 30
    senses = crane_world().tables["sense"].keys
    longest = max(extremes(max, size, sense) for sense in senses)
    assert longest + 1 <= GPT2Config.preset("crane").block_size  # with <|endoftext|>
    sizes = [size(text) for text in stories]
    assert 30 <= min(sizes) and max(sizes) <= min(120, longest)


def test_stories_use_500_to_1000_different_words(stories):
    assert 500 <= len({word for text in stories for word in re.findall("[a-z-]+", text.lower())})
    assert len({word for text in stories for word in re.findall("[A-Za-z-]+", text)}) <= 1000


def test_there_are_more_than_a_trillion_stories(stories):
    """As many as 2 to the entropy at least, in bits: a uniform choice would have the most."""
    tokenizer = make_tokenizer()
    surprises = [surprise(text, tokenizer) for text in stories[:300]]
    error = statistics.stdev(surprises) / math.sqrt(len(surprises))
    assert statistics.mean(surprises) - 4 * error > math.log(1e12)


def test_stories_repeat_no_more_than_by_chance():
    pairs, expected = same_stories(20_000, sample=200)
    assert pairs <= expected + 5 * math.sqrt(expected) + 1


def test_each_story_needs_something_said_before_and_often_far_before(told):
    assert all(any(test.phenomenon == "sense" for test in t.tests) for t in told)
    found = Counter(test.phenomenon for t in told for test in t.tests)
    named = set(crane_world().tables["tested"].cells["as"].values())
    assert set(found) == named | {"speaker", "order"}


def test_the_sense_is_decided_near_and_far_within_a_sentence_and_across():
    """Three of the six meetings test it in their own sentence, and three name the other sense."""
    found = distances(1000)
    steps = [distance.words for distance in found]
    assert min(steps) >= 1 and max(steps) <= 60
    assert sum(n <= 40 for n in steps) >= 0.95 * len(steps)
    assert sum(distance.across for distance in found) < 0.75 * len(found)
    first = [distance for distance in found if distance.first]
    assert len(first) == 1000 and max(distance.words for distance in first) <= 45
    assert 0.35 <= sum(distance.across for distance in first) / len(first) <= 0.65
    assert 0.35 <= sum(distance.lured for distance in first) / len(first) <= 0.65
    assert 0.3 <= sum(distance.lured for distance in found) / len(found)


# ---- Two senses -------------------------------------------------------------------------------


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


def test_the_words_of_a_story_decide_its_sense(told):
    for t in told[:200]:
        senses = crane.judge(t.text).senses
        assert {found.sense for found in senses} == {t.tests[0].sense}
        for found in senses:
            assert re.match(rf"{found.word}\b", t.text[found.at :])


# ---- Spelling ---------------------------------------------------------------------------------


def test_spelling_and_scanning_undo_each_other(told):
    for t in told:
        scanned = list(scan(t.text))
        assert tuple(word for word, _ in scanned[:-1]) == t.words
        assert scanned[-1] == ("", len(t.text))
        assert all(t.text.startswith(word, at) for word, at in scanned)
        assert spell(t.words) == t.text


def test_no_token_can_reach_from_one_word_into_the_next(told):
    """GPT-2's pattern cuts a story exactly into its words, each with the space before it."""
    for t in told:
        ends = [at + len(word) for word, at in scan(t.text)][:-1]
        pieces = [t.text[a:b] for a, b in itertools.pairwise([0, *ends])]
        assert regex.findall(SPLIT_PATTERN, t.text) == pieces


def test_a_test_names_the_words_that_stand_in_the_story(told):
    for t in told:
        for test in t.tests:
            assert t.words[test.start : test.start + len(test.right)] == test.right
            assert test.wrong and test.right not in test.wrong
            assert all(start < stop <= test.start for start, stop in test.cues)
            assert test.cues


def test_a_lure_is_tempting_and_a_cue_is_none(told):
    """The first lure is the other sense's, or one that the story has mentioned. A place of the
    other sense is no cue."""
    table = crane_world().tables["sense"]
    for t in told[:300]:
        for test in t.tests:
            before = " ".join(t.words[: test.start])
            first = " ".join(test.wrong[0])
            if test.phenomenon in ("speaker", "order"):
                assert first in before
            if test.phenomenon == "sense":
                columns = [table.cells[name] for name in ("place", "sign", "does")]
                other = table.cells["other"][test.sense]
                assert any(first in column[other] for column in columns)
                for start, stop in test.cues:
                    cue = " ".join(t.words[start:stop]).lower()
                    assert any(cue in column[test.sense].lower() for column in columns)


def test_not_always_the_same_deed_is_the_first_lure(told):
    """Or a model could learn to avoid one deed instead of a sense."""
    table, lures = crane_world().tables["sense"], defaultdict(set)
    for t in told:
        for test in t.tests:
            if test.phenomenon == "sense":
                lures[test.sense].add(" ".join(test.wrong[0]))
    for key in table.keys:
        deeds = said(table.cells["does"][table.cells["other"][key]])
        assert len(lures[key] & set(deeds)) >= 4


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
    told, _ = story_module._walk(Grammar(page(rules)), Enumerated([]), None, tests=True)
    (test,) = told.tests
    assert (test.right, test.wrong) == (("She",), (("He",),)) and told.words[test.start] == "She"


# ---- What training never shows ----------------------------------------------------------------


def test_training_shows_no_withheld_pair(stories):
    for text in stories[:2000]:
        assert withheld_pairs(text) == set(), text


@pytest.mark.parametrize("held_out", HELD_OUT)
def test_a_held_out_story_has_its_pair_and_no_other(held_out):
    for seed in range(300):
        text = crane.story(seed, held_out=held_out)
        assert withheld_pairs(text) == {held_out}, text


def test_both_senses_of_a_word_lack_the_same_one_meeting():
    """Or which meeting it is would tell something about the sense."""
    senses, meetings = defaultdict(set), defaultdict(set)
    for seed in range(400):
        told = crane.tell(seed, held_out="sense")
        word, _, sense = told.tests[0].sense.partition("-")
        senses[word].add(sense)
        meetings[word].add(met(told.text))
    assert all(len(of_word) == 2 for of_word in senses.values()) and len(senses) == 10
    assert all(len(of_word) == 1 for of_word in meetings.values())


@pytest.mark.parametrize("held_out", HELD_OUT)
def test_a_held_out_story_is_right_but_cannot_be_expected(held_out):
    for seed in range(60):
        text = crane.story(seed, held_out=held_out)
        verdict = crane.judge(text)
        assert verdict.kind == "story" and verdict.chances == verdict.right
        with pytest.raises(ValueError, match="no story that training shows"):
            surprise(text, make_tokenizer())


def test_every_kind_of_pair_is_known():
    assert tuple(crane_world().withheld) == HELD_OUT


# ---- The judge accepts what is right ----------------------------------------------------------


def test_every_story_is_accepted_and_its_tests_are_counted(told):
    for t in told[:300]:
        verdict = crane.judge(t.text)
        assert verdict.kind == "story" and verdict.grammatical
        assert verdict.fails_at is None and verdict.expected == ()
        assert verdict.chances == verdict.right == Counter(test.phenomenon for test in t.tests)


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
def test_what_is_wrong_fails_where_it_leaves_the_language(text, fails_at, senses):
    verdict = crane.judge(text)
    assert verdict.kind is None and not verdict.grammatical
    at = verdict.fails_at
    assert text[at:].strip().startswith(fails_at.strip()) and (fails_at or at == len(text))
    assert [found.sense for found in verdict.senses] == senses


def test_a_beginning_fails_at_its_end_and_the_next_word_is_expected(told):
    for t in told[:10]:
        for n in range(len(t.words)):
            text = spell(t.words[:n])
            verdict = crane.judge(text)
            if verdict.kind is None:
                assert verdict.fails_at == len(text)
                assert t.words[n] in verdict.expected
            else:  # not every story goes on from there
                assert can_be_said(text, verdict.kind)


def test_what_is_expected_could_indeed_stand_there(told):
    rng = random.Random(0)
    for t in told[:40]:
        before = t.words[: rng.randrange(1, len(t.words))]
        verdict = crane.judge(spell([*before, "nonsense"]))
        for word in rng.sample(verdict.expected, min(5, len(verdict.expected))):
            text = spell([*before, word] if word else before)
            again = crane.judge(text)
            assert again.kind or again.fails_at == len(text)


# ---- The judge rejects what is wrong ----------------------------------------------------------


@pytest.mark.parametrize("kind", MUTATIONS)
def test_the_judge_rejects_and_blames(kind):
    """``slips`` compares each verdict with a second reading of the grammar, and looks at what is
    blamed. What passes is thus a story of the language; that must be rare."""
    assert len(slips(kind, 60)) <= 1


def test_a_mutation_changes_what_it_says():
    """Or the test above would have nothing to find."""
    for kind in MUTATIONS:
        texts = [(told.text, text) for told, (text, _, _) in mutate(kind, 20)]
        assert len(texts) == 20 and all(before != after for before, after in texts)


def test_the_second_reading_accepts_stories_and_sentences(told):
    assert all(can_be_said(t.text) for t in told[:100])
    assert all(can_be_said(crane.story(0, held_out=h)) for h in HELD_OUT)
    assert can_be_said("A crane ate fish", "sentence")
    assert not can_be_said("A crane ate steel.", "sentence")


# ---- The judge stands anything ----------------------------------------------------------------


def steps(monkeypatch, text: str) -> tuple[crane.Verdict, int]:
    """The verdict, and how often the judge asked what may follow."""
    calls = Counter()

    def counted(name):
        original = getattr(judge_module, name)

        def count(*arguments):
            calls[name] += 1
            yield from original(*arguments)

        return count

    with monkeypatch.context() as patch:
        for name in ("following", "_with_mistakes"):
            patch.setattr(judge_module, name, counted(name))
        return crane.judge(text), calls.total()


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
def test_what_is_not_of_the_language_is_rejected_at_a_place(text):
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
def test_what_is_no_text_is_refused_with_its_type(text):
    with pytest.raises(TypeError, match=f"judge takes a text, got {type(text).__name__}"):
        crane.judge(text)


@settings(deadline=None, max_examples=300)
@given(st.text())
def test_no_text_makes_the_judge_stumble(text):
    verdict = crane.judge(text)
    assert (verdict.fails_at is None) == verdict.grammatical
    assert verdict.grammatical or 0 <= verdict.fails_at <= len(text)


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_words_of_the_language_in_any_order_are_judged_as_the_second_reading_does(data):
    words = list(crane.tell(data.draw(st.integers(0, 300))).words)
    others = list(crane.tell(data.draw(st.integers(0, 300))).words)
    for _ in range(data.draw(st.integers(0, 3))):
        words[data.draw(st.integers(0, len(words) - 1))] = data.draw(st.sampled_from(others))
    text = spell(words)
    verdict = crane.judge(text)
    assert (verdict.kind == "story") == can_be_said(text)
    assert all(verdict.right.get(name, 0) <= n for name, n in verdict.chances.items())


# ---- The floor is exact -----------------------------------------------------------------------

PAGES = {
    # Two kinds share a word and a deed, so a text may be said in several ways; weights, a table
    # with alternatives in its cells, silent choices, unlike, capitals and a withheld pair.
    "everything": """
story:
    [s: kind] {opening} {who: person} met {friend: person - who}. {^who.they} {end: end}.

opening:
    {^sound}, the {s.word} {s.does}.
    3 * [n: nothing] The {s.word} {s.does}, {mood: mood}.
    2 *

sound: oh / oh my
mood: 2 * red / redder
nothing: a / b / c
end: ran / 3 * ran home / [q: nothing] sang

kind        word    does
    bird     crane    sang / 2 * slept / sat
    machine  crane    slept / stood
    animal   bat      sat

person   they
    Ann   she
    Una   she
    Ben   he

withheld   first  second
    pair    s      mood
    finish  s      end
""",
    # The same text by different ways and of different weight; words that begin alike.
    "alike": """
story:
    {x: x} {y} {x}. {z}

x: kit / kite / 2 * kites / kit
y: kit / 2 * {pair} / {x: x} and {x: x - x}
pair: kit kit / kit / kit
z:
    "Kit," said {^x}. {x} kit
    4 *
    {^y}
""",
    # A capital waits for the first word that is said, past what is silent and what is empty.
    "capitals": """
story:
    {^a} {b} {^c}

a: [n: n] {n} old / {b} new
b: 2 * / or
c: [n: n] / so [n: n] {n}
n: one / two
""",
}


def page(rules: str) -> str:
    return f"```text\n{rules.strip()}\n```\n"


class Enumerated:
    """In place of Chance: what it draws is written down beforehand, then always 0."""

    def __init__(self, given: list[int]) -> None:
        self.given, self.sizes = given, []

    def below(self, n: int) -> int:
        i = len(self.sizes)
        self.sizes.append(n)
        return self.given[i] if i < len(self.given) else 0


def every_story(grammar: Grammar) -> dict[str, float]:
    """Each text with its probability, by drawing every number that could be drawn."""
    found: dict[str, float] = defaultdict(float)
    given: list[int] | None = []
    while given is not None:
        chance = Enumerated(given)
        told, _ = story_module._walk(grammar, chance, None, tests=False)
        found[told.text] += 1 / math.prod(chance.sizes)
        drawn = given + [0] * (len(chance.sizes) - len(given))
        given = None  # unless one of the numbers can still be counted up, the last one first
        for i in reversed(range(len(drawn))):
            if drawn[i] + 1 < chance.sizes[i]:
                given = drawn[:i] + [drawn[i] + 1]
                break
    return found


def surprisals(grammar: Grammar, text: str, tokenizer) -> list[float]:
    return list(entropy_module._surprisals(grammar, text, tokenizer))


TOKENIZERS = {
    "bytes": make_tokenizer(),
    "words": make_tokenizer(
        b"ki", b"kit", b" k", b" kit", b"te", b" kite", b" s", b" sl", b"re", b"red", b'."', b' "'
    ),
}


@pytest.mark.parametrize("tokens", TOKENIZERS)
@pytest.mark.parametrize("name", PAGES)
def test_the_surprise_of_every_token_of_every_story_is_exact(name, tokens):
    """In brute force: all stories are told, and those that begin alike are added up."""
    grammar, tokenizer = Grammar(page(PAGES[name])), TOKENIZERS[tokens]
    stories = every_story(grammar)
    assert len(stories) > 10
    assert sum(stories.values()) == pytest.approx(1, abs=1e-12)
    beginnings: dict[tuple[int, ...], float] = defaultdict(float)
    ids = {text: (*tokenizer.encode_ordinary(text), tokenizer.eot_token) for text in stories}
    for text, p in stories.items():
        for n in range(len(ids[text]) + 1):
            beginnings[ids[text][:n]] += p
    for text, p in stories.items():
        found = surprisals(grammar, text, tokenizer)
        expected = [
            math.log(beginnings[ids[text][:n]] / beginnings[ids[text][: n + 1]])
            for n in range(len(ids[text]))
        ]
        assert found == pytest.approx(expected, abs=1e-9)
        assert math.exp(-sum(found)) == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("name", PAGES)
def test_the_tokens_after_a_common_beginning_share_all_probability(name):
    grammar, tokenizer = Grammar(page(PAGES[name])), TOKENIZERS["words"]
    shares: dict[tuple[int, ...], dict[int, float]] = defaultdict(dict)
    for text in every_story(grammar):
        ids = [*tokenizer.encode_ordinary(text), tokenizer.eot_token]
        for n, nats in enumerate(surprisals(grammar, text, tokenizer)):
            known = shares[tuple(ids[:n])].setdefault(ids[n], math.exp(-nats))
            assert known == pytest.approx(math.exp(-nats))
    assert max(len(share) for share in shares.values()) > 1
    for share in shares.values():
        assert sum(share.values()) == pytest.approx(1, abs=1e-9)


def test_a_text_that_can_be_said_in_two_ways_has_the_sum_of_both():
    rules = "story: {way}\n\nway: 3 * {one} / {two}\n\none: a b / a c\n\ntwo: a b / d"
    grammar = Grammar(page(rules))
    found = math.exp(-sum(surprisals(grammar, "a b", TOKENIZERS["bytes"])))
    assert found == pytest.approx(0.75 * 0.5 + 0.25 * 0.5)


def test_a_choice_without_a_trace_costs_nothing():
    plain = Grammar(page(PAGES["everything"]))
    rules = PAGES["everything"].replace("met", "[w: weather] met [v: nothing]")
    rules += "\nweather: sun / 5 * rain / snow\n"
    assert rules.count("[w:") == 1
    more = Grammar(page(rules))
    for text in every_story(plain):
        a, b = (surprisals(grammar, text, TOKENIZERS["bytes"]) for grammar in (plain, more))
        assert a == pytest.approx(b, abs=1e-9)


@pytest.mark.parametrize("name", PAGES)
def test_judge_and_storyteller_have_the_same_language(name):
    """On grammars small enough to know all of it."""
    grammar = Grammar(page(PAGES[name] + "\nsentence: never\n"))
    stories = every_story(grammar)
    rng = random.Random(0)
    for text in stories:
        verdict = judge_module._judge(grammar, text)
        assert verdict.kind == "story", text
    words = sorted({word for text in stories for word, _ in scan(text) if word})
    rejected = 0
    for text in rng.sample(sorted(stories), min(40, len(stories))):
        changed = [word for word, _ in scan(text) if word]
        changed[rng.randrange(len(changed))] = rng.choice(words)
        verdict = judge_module._judge(grammar, spell(changed))
        if spell(changed) not in stories:
            rejected += not grammar.withheld
            assert grammar.withheld or verdict.kind is None, spell(changed)
    assert rejected or grammar.withheld


def test_what_training_withholds_has_no_surprise_but_is_judged_a_story():
    grammar = Grammar(page(PAGES["everything"] + "\nsentence: never\n"))
    withheld = "The crane sang, red. Ann met Ben. She ran home."  # 0 + 0 is a multiple of six
    assert judge_module._judge(grammar, withheld).kind == "story"
    assert withheld not in every_story(grammar)
    with pytest.raises(ValueError, match="no story that training shows: it cannot go on at"):
        surprisals(grammar, withheld, TOKENIZERS["bytes"])


# ---- The floor of Crane World -----------------------------------------------------------------


@pytest.fixture
def by_bytes(monkeypatch):
    """Any tokenizer will do to see whether the figures fit together."""
    monkeypatch.setattr(entropy_module, "load_tokenizer", lambda name: TOKENIZERS["bytes"])


def test_the_floor_fits_together(by_bytes):
    floor = crane.entropy(40, seed=3)
    assert floor.stories == 40 and floor.counts[0] == 40
    assert list(floor.counts) == sorted(floor.counts, reverse=True)
    assert sum(floor.counts) == floor.tokens
    by_position = np.array(floor.by_position)
    assert float(np.average(by_position, weights=floor.counts)) == pytest.approx(float(floor))
    assert min(by_position) > -1e-12 and floor > 0
    rows = []
    chance = Chance(3)
    for _ in range(40):
        rows.append(crane.surprisals(crane.story(chance.below(1 << 64))))
    assert float(floor) == pytest.approx(sum(map(sum, rows)) / sum(map(len, rows)))
    assert floor.by_position[5] == pytest.approx(statistics.mean(row[5] for row in rows))


def test_the_same_seed_gives_the_same_floor_and_another_one_another(by_bytes):
    first, again, other = crane.entropy(20, 1), crane.entropy(20, 1), crane.entropy(20, 2)
    assert first == again and first.by_position == again.by_position
    assert first.standard_error == again.standard_error
    assert first != other


def test_the_standard_error_says_how_far_estimates_scatter(by_bytes):
    floors = [crane.entropy(30, seed) for seed in range(24)]
    scatter = statistics.stdev(map(float, floors))
    claimed = statistics.mean(floor.standard_error for floor in floors)
    assert 0.6 < scatter / claimed < 1.6
    assert crane.entropy(270, 5).standard_error == pytest.approx(claimed / 3, rel=0.2)


@pytest.mark.parametrize("n", [1, 0, -5])
def test_too_few_stories_for_an_error_are_refused(n):
    with pytest.raises(ValueError, match=f"n_stories must be at least 2, got {n}"):
        crane.entropy(n)


def test_stories_begin_as_often_as_their_surprise_says(stories):
    """The first two words of 5,000 stories against the probability of just these two."""
    tokenizer, n = TOKENIZERS["bytes"], len(stories)
    begin = Counter(tuple(re.match(r"(\w+) (\w+)", text).groups()) for text in stories)
    likely = 0.0
    for words, count in begin.items():
        text = next(text for text in stories if re.match(r"\b".join([" ".join(words), ""]), text))
        size = len(tokenizer.encode_ordinary(" ".join(words))) + 1  # with the space that ends it
        p = math.exp(-sum(surprisals(crane_world(), text, tokenizer)[:size]))
        likely += p
        assert abs(count - n * p) < 5 * math.sqrt(n * p) + 1, words
    assert 0.98 < likely < 1 + 1e-9


def test_the_last_token_of_a_surprise_is_the_end_of_the_text():
    tokenizer = TOKENIZERS["bytes"]
    text = crane.story(0)
    assert len(surprisals(crane_world(), text, tokenizer)) == len(text) + 1
    assert tokenizer.decode([tokenizer.eot_token]) == END_OF_TEXT


def test_the_surprise_of_a_whole_story_does_not_depend_on_the_tokenizer(stories):
    for text in stories[:20]:
        by_bytes = sum(surprisals(crane_world(), text, TOKENIZERS["bytes"]))
        assert sum(crane.surprisals(text)) == pytest.approx(by_bytes, rel=1e-9)


# ---- Its tokenizer ----------------------------------------------------------------------------


def test_the_tokenizer_that_ships_is_the_one_that_the_stories_train(tmp_path):
    save_ranks(train_bpe(map(crane.story, range(20_000)), 1024), tmp_path / "crane.tiktoken")
    shipped = files("gpt2_edu") / "assets" / "crane" / "crane.tiktoken"
    assert shipped.read_bytes() == (tmp_path / "crane.tiktoken").read_bytes()


@pytest.mark.parametrize("word", [" crane", " ate", " fish", " lifted", " steel"])
def test_the_words_that_the_chapters_look_at_are_single_tokens(word):
    assert len(load_tokenizer("crane").encode(word)) == 1


# ---- The notation -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("story: {nobody} came", "speaks of 'nobody', which it does not define"),
        ("story: {x: nothing} came", "speaks of 'nothing', which it does not define"),
        ("story: {x: x - y}\n\nx: a", "speaks of"),
        ("story: {p: p} {p.size}\n\np word\n    a  b", r"speaks of p\.size, which it does not"),
        ("story: a\n\nstory: b", "the rule 'story' stands twice"),
        ("story: a\n\np one two\n    key  b", r"columns one, two, but 'key  b' has 1 cells"),
        ("story: a\n\np one\n    key  b  c", r"columns one, but 'key  b  c' has 2 cells"),
        ("story: a\n\np one\n    k  b\n    l  c\n\np two\n    k  d", "has no 'two' for 'l'"),
        ("story: a\n\nstory one\n    k  b", "'story' is both a rule and a table"),
        ("story: {x came", r"cannot be read at '\{x came'"),
        ("story: a $ b", r"cannot be read at '\$ b' in 'a \$ b'"),
        ("story: a 3", "cannot be read at '3' in 'a 3'"),
        ("story: a\n\nx:", "the rule 'x' has nothing to choose from"),
        ("story: a / 0 * b", "at least 1, but there is a 0 in 'a / 0 [*] b'"),
        ("story: a\n\np one\n    k  b\n    k  b", "table 'p' has two cells 'one' for 'k'"),
        ("story: {p: p}\n\np one\n    k  b\n\np one\n    k  c", "two cells 'one' for 'k'"),
        ("story: a\n\ntested to\n    story  x", "table 'tested' has no column 'as'"),
        ("story: a\n\ntested as\n    tale  x", "'tested' speaks of 'tale', which nothing"),
        ("story: a\n\ntested as\n    story.end  x", "'tested' speaks of 'story.end'"),
        ("story: a\n\nwithheld first\n    x  story", "'withheld' has no column 'second'"),
        ("story: a\n\nwithheld first second\n    x  story  story", "speaks of 'story', which"),
        ("story: {p: p}\n\np: a\n\nwithheld first second\n    x  p.one  p", "of 'p.one'"),
        ("story: {p: p}\n\np: a\n\nwithheld first second\n    x  p  q", "speaks of 'q'"),
    ],
)
def test_a_grammar_with_a_mistake_is_refused_with_the_place(rules, message):
    with pytest.raises(ValueError, match=message):
        Grammar(page(rules))


def test_text_outside_of_the_blocks_is_not_read():
    grammar = Grammar("story: nonsense {$\n\n" + page("story: a") + "\n```python\nb: c\n```\n")
    assert list(grammar.lists) == ["story"]


def test_all_ways_to_fill_a_slot_have_weights_that_add_up():
    grammar = Grammar(page("story: {x}\n\nx: 2 * a / b / 5 *"))
    (slot,) = grammar.lists["story"][0].items
    ways = grammar.options(slot, grammar.empty, EVERYTHING).probabilities()
    assert [(p, option.items) for p, option in ways] == [
        (2 / 8, ("a",)),
        (1 / 8, ("b",)),
        (5 / 8, ()),
    ]
