"""Mistakes in a grammar are found when it is read."""

from __future__ import annotations

import pytest

from gpt2_edu.crane.grammar import EVERYTHING, Grammar
from tests.crane.small_grammars import page


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("story: {nobody} came", "mentions 'nobody', which is not defined"),
        ("story: {x: nothing} came", "mentions 'nothing', which is not defined"),
        ("story: {x: x - y}\n\nx: a", "mentions"),
        ("story: {p: p} {p.size}\n\np word\n    a  b", r"mentions p\.size, which is not"),
        ("story: a\n\nstory: b", "the rule 'story' is defined twice"),
        ("story: a\n\np one two\n    key  b", r"columns one, two, but 'key  b' has 1 cells"),
        ("story: a\n\np one\n    key  b  c", r"columns one, but 'key  b  c' has 2 cells"),
        ("story: a\n\np one\n    k  b\n    l  c\n\np two\n    k  d", "has no 'two' for 'l'"),
        ("story: a\n\nstory one\n    k  b", "'story' is both a rule and a table"),
        ("story: {x came", r"syntax error in the grammar at '\{x came'"),
        ("story: a $ b", r"syntax error in the grammar at '\$ b' in 'a \$ b'"),
        ("story: a 3", "syntax error in the grammar at '3' in 'a 3'"),
        ("story: a\n\nx:", "the rule 'x' has no alternatives"),
        ("story: a / 0 * b", "at least 1, but there is a 0 in 'a / 0 [*] b'"),
        ("story: a\n\np one\n    k  b\n    k  b", "table 'p' has two cells 'one' for 'k'"),
        ("story: {p: p}\n\np one\n    k  b\n\np one\n    k  c", "two cells 'one' for 'k'"),
        ("story: a\n\ntested to\n    story  x", "table 'tested' has no column 'as'"),
        ("story: a\n\ntested as\n    tale  x", "'tested' mentions 'tale', which is not"),
        ("story: a\n\ntested as\n    story.end  x", "'tested' mentions 'story.end'"),
        ("story: a\n\nwithheld first\n    x  story", "'withheld' has no column 'second'"),
        ("story: a\n\nwithheld first second\n    x  story  story", "mentions 'story', which"),
        ("story: {p: p}\n\np: a\n\nwithheld first second\n    x  p.one  p", "mentions 'p.one'"),
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
