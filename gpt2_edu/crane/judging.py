"""Parse a text with the grammar: is it grammatical, and which tested phenomena are right?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from .grammar import EVERYTHING, STARTS, Grammar, crane_world
from .parsing import Choice, State, initial_state, next_steps, scan_words, steps_by_word

_BEAM_WIDTH = 300  # parses kept after each word of an ungrammatical text
_MISTAKE_COST = 20.0  # nats that a mistake adds to the surprisal of a parse
_SENTENCE_COST = 100.0  # nats for parsing a text as a single sentence: a story is preferred


@dataclass(frozen=True)
class Sense:
    """The sense of one occurrence of a homograph."""

    word: str
    sense: str  # such as "crane-bird"
    at: int  # the index of the word's first character


@dataclass(frozen=True)
class Verdict:
    """The result of ``judge``."""

    kind: str | None  # "story", "sentence", or None for a text that is neither
    fails_at: int | None  # the first index at which no grammatical text continues like this
    expected: tuple[str, ...]  # words that are possible at that index; "" is the end of the text
    chances: dict[str, int]  # how often each phenomenon is tested
    right: dict[str, int]  # how often it is right
    senses: tuple[Sense, ...]

    @property
    def grammatical(self) -> bool:
        """Whether the text is a complete story or a single sentence of the language."""
        return self.kind is not None


def judge(text: str) -> Verdict:
    """Parse any text and count the tested phenomena in it.

    A grammatical text is a story or a single sentence that grammar.md generates, including pairs
    withheld from training; whitespace at either end is ignored. Otherwise ``fails_at`` is the
    first index at which it leaves the language, or its end if it is incomplete. Phenomena are
    counted in the parse with the fewest mistakes, up to where only tested slots are wrong.
    """
    if not isinstance(text, str):
        raise TypeError(f"judge takes a text, got {type(text).__name__}")
    return _judge(crane_world(), text)


def _judge(grammar: Grammar, text: str) -> Verdict:
    kind, fails_at, expected = _parse(grammar, text)
    findings = _parse_with_mistakes(grammar, text, grammatical=kind is not None)
    tested = [finding for finding in findings if not isinstance(finding, Sense)]
    return Verdict(
        kind,
        fails_at,
        expected,
        dict(sorted(Counter(phenomenon for phenomenon, _ in tested).items())),
        dict(sorted(Counter(phenomenon for phenomenon, right in tested if right).items())),
        tuple(finding for finding in findings if isinstance(finding, Sense)),
    )


def _parse(grammar: Grammar, text: str) -> tuple[str | None, int | None, tuple[str, ...]]:
    """The text's kind; or None, the index where it fails, and the words possible there."""
    states = {(start, initial_state(grammar, start)): None for start in STARTS}
    for word, at in scan_words(text):
        ways = [(start, steps_by_word(grammar, state, EVERYTHING)) for start, state in states]
        states = {(start, after): None for start, steps in ways for after, _ in steps.get(word, ())}
        if not states:
            return None, at, tuple(sorted({str(word) for _, steps in ways for word in steps}))
    return next(start for start, _ in states), None, ()


# A homograph, or a tested phenomenon and whether it is right.
_Finding = Sense | tuple[str, bool]


class _PartialParse(NamedTuple):
    """One way to parse the text so far."""

    cost: tuple[int, float]  # mistakes, and surprisal in nats
    findings: tuple[_Finding, ...]


def _parse_with_mistakes(grammar: Grammar, text: str, grammatical: bool) -> list[_Finding]:
    """The findings of the lowest-cost parse, up to where the text can be parsed.

    That of a grammatical text has no mistakes.
    """
    parses = {
        initial_state(grammar, name): _PartialParse((0, i * _SENTENCE_COST), ())
        for i, name in enumerate(STARTS)
    }
    for word, at in scan_words(text):
        found: dict[State, _PartialParse] = {}
        for state, parse in parses.items():
            if grammatical:
                steps = steps_by_word(grammar, state, EVERYTHING).get(word, [])
            else:
                ways = next_steps(grammar, state, EVERYTHING, distractor=word)
                steps = [(after, choices) for other, after, choices in ways if other == word]
            for after, choices in steps:
                new = _extend(grammar, parse, choices, at)
                if after not in found or new.cost < found[after].cost:
                    found[after] = new
        if not found:
            break
        parses = dict(sorted(found.items(), key=lambda entry: entry[1].cost)[:_BEAM_WIDTH])
    cheapest = min(parses.values(), key=lambda parse: parse.cost)
    equally_good = [set(r.findings) for r in parses.values() if r.cost[0] == cheapest.cost[0]]
    # A sense that is still ambiguous, as in "A crane", is not reported.
    certain = set.intersection(*equally_good)
    return [f for f in cheapest.findings if f in certain or not isinstance(f, Sense)]


def _extend(
    grammar: Grammar, parse: _PartialParse, choices: Iterable[Choice], at: int
) -> _PartialParse:
    """The parse after the choices that lead to the word at index ``at``."""
    (mistakes, surprisal), findings = parse
    for slot, memory, probability in choices:
        right = probability > 0
        if phenomenon := grammar.phenomenon(slot):
            findings += ((phenomenon, right),)
        if right and slot.source[1:] == ("word",):
            if sense := grammar.recall(memory, slot.source[0]):
                findings += (Sense(sense.partition("-")[0], sense, at),)
        mistakes += not right
        surprisal += -math.log(probability) if right else _MISTAKE_COST
    return _PartialParse((mistakes, surprisal), findings)
