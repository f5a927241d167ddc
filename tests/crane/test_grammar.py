"""Mistakes in a grammar are found when it is read."""

from __future__ import annotations

import pytest

from gpt2_edu.crane.grammar import EVERYTHING, Grammar
from tests.crane.small_grammars import page


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("story: {nobody} came", "mentions 'nobody', which is not defined"),
        ("story: {x: x - y}\n\nx: a", "mentions"),
        ("story: {p: p} {p.size}\n\np word\n    a  b", r"mentions 'p\.size'"),
        ("story: a\n\nstory: b", "the rule 'story' is defined twice"),
        ("story: a\n\np one two\n    key  b", "columns one, two"),
        (
            "story: a\n\np one\n    k  b\n    l  c\n\np two\n    k  d",
            "'p' has no 'two'",
        ),
        ("story: {x came", r"syntax error in the grammar at '\{x came'"),
        ("story: a / 0 * b", "syntax error"),
        ("story: a\n\np one\n    k  b\n    k  b", "exactly one cell"),
        ("story: a\n\ntested to\n    story  x", r"mentions 'tested\.as'"),
        ("story: a\n\ntested as\n    tale  x", "mentions 'tale'"),
        ("story: a\n\nwithheld first\n    x  story", r"mentions 'withheld\.second'"),
        ("story: a\n\nwithheld first second\n    x  story  story", "mentions 'story', which"),
        ("story: {p: p}\n\np: a\n\nwithheld first second\n    x  p  q", "mentions 'q'"),
    ],
)
def test_an_invalid_grammar_raises_with_the_location(rules, message):
    with pytest.raises(ValueError, match=message):
        Grammar(page(rules))


def test_text_outside_blocks_is_ignored():
    grammar = Grammar("story: nonsense {$\n\n" + page("story: a") + "\n```python\nb: c\n```\n")
    assert list(grammar.lists) == ["story"]


def test_option_probabilities_are_proportional_to_their_weights():
    grammar = Grammar(page("story: {x}\n\nx: 2 * a / b / 5 *"))
    (slot,) = grammar.lists["story"][0].items
    options = grammar.options(slot, grammar.empty, EVERYTHING)
    assert [(option.probability, option.items) for option in options] == [
        (2 / 8, ("a",)),
        (1 / 8, ("b",)),
        (5 / 8, ()),
    ]
