"""Judging texts: is this a text of Crane World, and what in it is right?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from .grammar import EVERYTHING, STARTS, Grammar, crane_world
from .parsing import Choice, State, following, initial_state, scan_words

_BEAM = 300  # readings of an ungrammatical text that are followed at a time
_MISTAKE = 20.0  # nats that a mistake adds to the surprise of a reading
_SENTENCE = 100.0  # nats that reading a text as a single sentence adds: a story is tried first


@dataclass(frozen=True)
class Sense:
    """A homograph in a text, and what it means there."""

    word: str
    sense: str  # such as "crane-bird"
    at: int  # the index of the word's first character


@dataclass(frozen=True)
class Verdict:
    """What ``judge`` found."""

    kind: str | None  # "story", "sentence", or None for a text that is neither
    fails_at: int | None  # the index from which no text of the language goes on like this
    expected: tuple[str, ...]  # words that could stand there instead, "" for the end of the text
    chances: dict[str, int]  # how often each phenomenon could be got right or wrong
    right: dict[str, int]  # how often it was got right
    senses: tuple[Sense, ...]

    @property
    def grammatical(self) -> bool:
        """Whether the text is a complete story, or a single sentence, of the language."""
        return self.kind is not None


def judge(text: str) -> Verdict:
    """Judge any text, without a model.

    A grammatical text is a story or a single sentence that grammar.md can say, including what
    training never shows; space at either end is ignored. Otherwise ``fails_at`` is the first index
    at which it leaves the language; for a text that breaks off, its end. The phenomena are counted
    in the reading with the fewest mistakes, as far as the text can be read with mistakes in tested
    places only. Time grows with the length of the readable part only. Raises TypeError if
    ``text`` is no str.
    """
    if not isinstance(text, str):
        raise TypeError(f"judge takes a text, got {type(text).__name__}")
    return _judge(crane_world(), text)


def _judge(grammar: Grammar, text: str) -> Verdict:
    notes = _read_leniently(grammar, text)
    tested = [note for note in notes if not isinstance(note, Sense)]
    return Verdict(
        *_read_strictly(grammar, text),
        dict(sorted(Counter(phenomenon for phenomenon, _ in tested).items())),
        dict(sorted(Counter(phenomenon for phenomenon, right in tested if right).items())),
        tuple(note for note in notes if isinstance(note, Sense)),
    )


def _read_strictly(grammar: Grammar, text: str) -> tuple[str | None, int | None, tuple[str, ...]]:
    """The kind of a text, or where it fails and what could stand there."""
    states = {(start, initial_state(grammar, start)): None for start in STARTS}
    for word, at in scan_words(text):
        ways = [
            (start, said, after)
            for start, state in states
            for said, after, _ in following(grammar, state, EVERYTHING)
        ]
        states = {(start, after): None for start, said, after in ways if said == word}
        if not states:
            return None, at, tuple(sorted({said for _, said, _ in ways}))
    return next(start for start, _ in states), None, ()


# A homograph, or a tested phenomenon and whether the place was filled rightly.
_Note = Sense | tuple[str, bool]


class _Reading(NamedTuple):
    """One way to understand a text so far."""

    cost: tuple[int, float]  # mistakes, and minus the logarithm of its probability
    notes: tuple[_Note, ...]


def _read_leniently(grammar: Grammar, text: str) -> list[_Note]:
    """What the reading of the lowest cost notes, as far as the text can be read at all."""
    readings = {
        initial_state(grammar, name): _Reading((0, i * _SENTENCE), ())
        for i, name in enumerate(STARTS)
    }
    for word, at in scan_words(text):
        found: dict[State, _Reading] = {}
        for state, reading in readings.items():
            for said, after, choices in following(grammar, state, EVERYTHING, mistaken=word):
                if said == word:
                    new = _extended(grammar, reading, choices, at)
                    if after not in found or new.cost < found[after].cost:
                        found[after] = new
        if not found:
            break
        readings = dict(sorted(found.items(), key=lambda entry: entry[1].cost)[:_BEAM])
    best = min(readings.values(), key=lambda reading: reading.cost)
    equal = [set(r.notes) for r in readings.values() if r.cost[0] == best.cost[0]]
    # A sense that is still open, such as that of the crane in "A crane", is not reported.
    sure = set.intersection(*equal)
    return [note for note in best.notes if note in sure or not isinstance(note, Sense)]


def _extended(grammar: Grammar, reading: _Reading, choices: Iterable[Choice], at: int) -> _Reading:
    """A reading after the choices that led to the word at index ``at``."""
    (mistakes, surprise), notes = reading
    for slot, memory, probability in choices:
        right = probability > 0
        if phenomenon := grammar.phenomenon(slot):
            notes += ((phenomenon, right),)
        if right and slot.source[1:] == ("word",):
            if sense := grammar.recall(memory, slot.source[0]):
                notes += (Sense(sense.partition("-")[0], sense, at),)
        mistakes += not right
        surprise += -math.log(probability) if right else _MISTAKE
    return _Reading((mistakes, surprise), notes)
