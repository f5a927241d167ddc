"""Surprisal and entropy are exact."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict

import numpy as np
import pytest

from gpt2_edu import crane
from gpt2_edu.crane import judging, surprisal
from gpt2_edu.crane.grammar import Grammar, crane_world
from gpt2_edu.crane.sampling import SplitMix64
from gpt2_edu.tokenizer import END_OF_TEXT
from tests.crane.small_grammars import PAGES, TOKENIZERS, every_story, page, surprisals


@pytest.mark.parametrize("tokens", TOKENIZERS)
@pytest.mark.parametrize("name", PAGES)
def test_the_surprisal_of_every_token_of_every_story_is_exact(name, tokens):
    """In brute force: all stories are enumerated, and those that begin alike are added up."""
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


def test_probabilities_of_two_derivations_add_up():
    rules = "story: {way}\n\nway: 3 * {one} / {two}\n\none: a b / a c\n\ntwo: a b / d"
    grammar = Grammar(page(rules))
    found = math.exp(-sum(surprisals(grammar, "a b", TOKENIZERS["bytes"])))
    assert found == pytest.approx(0.75 * 0.5 + 0.25 * 0.5)


def test_a_withheld_story_raises_but_is_judged_a_story():
    grammar = Grammar(page(PAGES["everything"] + "\nsentence: never\n"))
    withheld = "The crane sang, red. Ann met Ben. She ran home."  # 0 + 0 is a multiple of six
    assert judging._judge(grammar, withheld).kind == "story"
    assert withheld not in every_story(grammar)
    with pytest.raises(ValueError, match="training distribution"):
        surprisals(grammar, withheld, TOKENIZERS["bytes"])


# ---- Crane World ---------------------------------------------------------------------------------


@pytest.fixture
def by_bytes(monkeypatch):
    """Use the byte tokenizer, which is fast; the statistics hold for any."""
    monkeypatch.setattr(surprisal, "load_tokenizer", lambda name: TOKENIZERS["bytes"])


def test_entropy_statistics_are_consistent(by_bytes):
    floor = crane.entropy(40, seed=3)
    assert floor.stories == 40 and floor.counts[0] == 40
    assert list(floor.counts) == sorted(floor.counts, reverse=True)
    assert sum(floor.counts) == floor.tokens
    by_position = np.array(floor.by_position)
    assert float(np.average(by_position, weights=floor.counts)) == pytest.approx(float(floor))
    assert min(by_position) > -1e-12 and floor > 0
    rows = []
    generator = SplitMix64(3)
    for _ in range(40):
        rows.append(crane.surprisals(crane.story(generator.below(1 << 64))))
    assert float(floor) == pytest.approx(sum(map(sum, rows)) / sum(map(len, rows)))
    assert floor.by_position[5] == pytest.approx(statistics.mean(row[5] for row in rows))


def test_the_error_of_a_mean_is_that_of_stories_of_different_lengths():
    """At a mean of 3, both totals, 4 of 2 tokens and 5 of 1, are 2 off: √(8 · 2 / 1) / 3."""
    assert surprisal.mean_and_error([[1, 3], [5]]) == (3, pytest.approx(4 / 3))


def test_fewer_than_two_stories_raise():
    with pytest.raises(ValueError, match="at least 2, got 1"):
        crane.entropy(1)


def test_the_last_surprisal_is_that_of_endoftext():
    tokenizer = TOKENIZERS["bytes"]
    text = crane.story(0)
    assert len(surprisals(crane_world(), text, tokenizer)) == len(text) + 1
    assert tokenizer.decode([tokenizer.eot_token]) == END_OF_TEXT


def test_the_surprisal_of_a_story_does_not_depend_on_the_tokenizer(stories):
    for text in stories[:20]:
        by_bytes = sum(surprisals(crane_world(), text, TOKENIZERS["bytes"]))
        assert sum(crane.surprisals(text)) == pytest.approx(by_bytes, rel=1e-9)
