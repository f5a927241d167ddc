"""Grammars small enough to enumerate all of their texts."""

from __future__ import annotations

import math
from collections import defaultdict

from gpt2_edu.crane import sampling, surprisal
from gpt2_edu.crane.grammar import Grammar
from tests.crane.reference import make_tokenizer

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
    """In place of SplitMix64: what it draws is written down beforehand, then always 0."""

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
        draws = Enumerated(given)
        story, _ = sampling._sample_once(grammar, draws, None, annotate=False)
        found[story.text] += 1 / math.prod(draws.sizes)
        drawn = given + [0] * (len(draws.sizes) - len(given))
        given = None  # unless one of the numbers can still be counted up, the last one first
        for i in reversed(range(len(drawn))):
            if drawn[i] + 1 < draws.sizes[i]:
                given = drawn[:i] + [drawn[i] + 1]
                break
    return found


def surprisals(grammar: Grammar, text: str, tokenizer) -> list[float]:
    return list(surprisal._surprisals(grammar, text, tokenizer))


TOKENIZERS = {
    "bytes": make_tokenizer(),
    "words": make_tokenizer(
        b"ki", b"kit", b" k", b" kit", b"te", b" kite", b" s", b" sl", b"re", b"red", b'."', b' "'
    ),
}
