"""Judging texts: is this a text of Crane World, and what in it is right?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .grammar import EVERYTHING, STARTS, Grammar, Memory, crane_world
from .notation import WORD, Item, Slot

_KEPT = 300  # readings of an ungrammatical text that are followed at a time
_CAPITAL = "^"  # on the stack: the next word begins with a capital letter

Stack = tuple["Item", "Stack"] | tuple[()]


class State(NamedTuple):
    """What is still to be said, and what is remembered."""

    stack: Stack
    memory: Memory


@dataclass(frozen=True)
class Sense:
    """A homograph in a text, and what it means there."""

    word: str
    sense: str  # such as "crane-bird"
    at: int  # the character at which the word begins


@dataclass(frozen=True)
class Verdict:
    """What ``judge`` found."""

    kind: str | None  # "story", "sentence", or None for a text that is neither
    fails_at: int | None  # the character from which on no text of the language goes on like this
    expected: tuple[str, ...]  # words that could stand there instead, "" for the end of the text
    chances: dict[str, int]  # how often each phenomenon could be got right or wrong
    right: dict[str, int]  # how often it was got right
    senses: tuple[Sense, ...]

    @property
    def grammatical(self) -> bool:
        """Whether the text is a whole story, or a single sentence, of the language."""
        return self.kind is not None


def judge(text: str) -> Verdict:
    """Judge any text, without a model.

    A grammatical text is a story or a single sentence that grammar.md can say, with what training
    never shows; space at either end is passed over. Otherwise ``fails_at`` is the first place at
    which it leaves the language; for a text that breaks off, its end. The phenomena are counted in
    the reading with the fewest mistakes, as far as the text can be read with mistakes in tested
    places alone. Time grows with the length of the readable part only. Raises TypeError if
    ``text`` is no str.
    """
    if not isinstance(text, str):
        raise TypeError(f"judge takes a text, got {type(text).__name__}")
    return _judge(crane_world(), text)


def _judge(grammar: Grammar, text: str) -> Verdict:
    kind, fails_at, expected = _read_strictly(grammar, text)
    reading = _read_leniently(grammar, text)
    marks = [note for note in reading if isinstance(note, _Mark)]
    return Verdict(
        kind,
        fails_at,
        expected,
        dict(sorted(Counter(mark.phenomenon for mark in marks).items())),
        dict(sorted(Counter(mark.phenomenon for mark in marks if mark.right).items())),
        tuple(note for note in reading if isinstance(note, Sense)),
    )


# ---- The words of a text -----------------------------------------------------------------------


def scan(text: str) -> Iterator[tuple[str | None, int]]:
    """Each word with the place where it begins; None where no word of the language can stand.

    What is spelled with a wrong space is no word either. The last is "" at the end of the text.
    """
    at, end, space = len(text) - len(text.lstrip()), len(text.rstrip()), ""
    while at < end:
        matched = WORD.match(text, at + len(space))
        follows = text[at] in ".,?!"  # a sign joins on to the word before it
        if follows:
            matched = WORD.match(text, at)
        elif not text.startswith(space, at) or matched is None or matched[0][0] in ".,?!":
            yield None, at
            return
        assert matched is not None
        yield matched[0], matched.start()
        at, space = matched.end(), "" if matched[0] == '"' else " "
    yield "", end


# ---- Without mistakes --------------------------------------------------------------------------


def following(
    grammar: Grammar, state: State, probability: float, mode: str
) -> Iterator[tuple[str, State, float]]:
    """Every word that can be said next, what is then to come, and the probability; "" is the end.

    A word can come several times, by different choices.
    """
    open_ = [(state, probability)]
    while open_:
        (stack, memory), p = open_.pop()
        if not stack:
            yield "", State(stack, memory), p
            continue
        item, capital, rest = _pop(stack)
        if not isinstance(item, Slot):
            yield _capitalised(item) if capital else item, State(rest, memory), p
            continue
        for share, option in grammar.options(item, memory, mode).probabilities():
            said = option.items if item.say else ()
            left = _push(said, rest, capital or (item.capital and item.say))
            open_.append((State(left, grammar.remember(memory, item, option)), p * share))


def beginnings(grammar: Grammar, start: str) -> dict[State, float]:
    """What there is to say before the first word: everything, with certainty."""
    return {State((grammar.starts[start], ()), grammar.empty): 1.0}


def _read_strictly(grammar: Grammar, text: str) -> tuple[str | None, int | None, tuple[str, ...]]:
    """The kind of a text, or where it fails and what could stand there."""
    alive = {start: set(beginnings(grammar, start)) for start in STARTS}
    for word, at in scan(text):
        before = alive
        alive = {start: _after(grammar, states, word) for start, states in alive.items()}
        alive = {start: states for start, states in alive.items() if states}
        if not alive:
            ways = (following(grammar, s, 1.0, EVERYTHING) for b in before.values() for s in b)
            return None, at, tuple(sorted({word for way in ways for word, _, _ in way}))
    return next(iter(alive)), None, ()


def _after(grammar: Grammar, states: set[State], word: str | None) -> set[State]:
    """The states after a word, without those that it contradicts."""
    ways = (following(grammar, state, 1.0, EVERYTHING) for state in states)
    return {after for way in ways for said, after, _ in way if said == word}


def _pop(stack: tuple[Item, Stack]) -> tuple[Item, bool, Stack]:
    """What comes next, whether with a capital letter, and what comes after it."""
    item, rest = stack
    if item != _CAPITAL:
        return item, False, rest
    assert rest  # something follows that begins with it
    return rest[0], True, rest[1]


def _push(items: tuple[Item, ...], rest: Stack, capital: bool) -> Stack:
    for item in reversed(items):
        rest = (item, rest)
    return (_CAPITAL, rest) if capital and rest else rest


def _capitalised(word: str) -> str:
    return word[0].upper() + word[1:]


# ---- With mistakes -----------------------------------------------------------------------------


class _Mark(NamedTuple):
    """A tested place, and whether it was filled rightly."""

    phenomenon: str
    right: bool


Notes = tuple["_Mark | Sense", "Notes"] | tuple[()]  # the latest first


class _Reading(NamedTuple):
    """One way to understand a text so far. The best is the least."""

    mistakes: int
    surprise: float  # minus the logarithm of its probability
    notes: Notes


def _read_leniently(grammar: Grammar, text: str) -> list[_Mark | Sense]:
    """What the best reading notes, as far as the text can be read at all."""
    readings = {
        state: _Reading(0, start * 100.0, ())  # as a story, if it can be one
        for start, name in enumerate(STARTS)
        for state in beginnings(grammar, name)
    }
    for word, at in scan(text):
        found: dict[State, _Reading] = {}
        for state, reading in readings.items():
            for after, new in _with_mistakes(grammar, state, reading, word, at):
                if after not in found or new[:2] < found[after][:2]:
                    found[after] = new
        if not found:
            break
        readings = dict(sorted(found.items(), key=lambda entry: entry[1][:2])[:_KEPT])
    best = min(readings.values(), key=lambda reading: reading[:2])
    equal = [set(_listed(r.notes)) for r in readings.values() if r.mistakes == best.mistakes]
    # What is still open, such as the crane in "A crane", is not claimed.
    sure = set.intersection(*equal)
    return [n for n in reversed(_listed(best.notes)) if isinstance(n, _Mark) or n in sure]


def _listed(notes: Notes) -> list[_Mark | Sense]:
    listed = []
    while notes:
        note, notes = notes
        listed.append(note)
    return listed


def _with_mistakes(
    grammar: Grammar, state: State, reading: _Reading, word: str | None, at: int
) -> Iterator[tuple[State, _Reading]]:
    """The states after a word, if a tested place may be filled wrongly."""
    open_ = [(state, reading)]
    while open_:
        (stack, memory), (mistakes, surprise, notes) = open_.pop()
        if not stack:
            if word == "":
                yield State(stack, memory), _Reading(mistakes, surprise, notes)
            continue
        item, capital, rest = _pop(stack)
        if not isinstance(item, Slot):
            if word == (_capitalised(item) if capital else item):
                yield State(rest, memory), _Reading(mistakes, surprise, notes)
            continue
        capital = capital or (item.capital and item.say)
        phenomenon = grammar.mark(item)
        told = (_Mark(phenomenon, True), notes) if phenomenon else notes
        if item.source[1:] == ("word",) and (sense := grammar.recall(memory, item.source[0])):
            told = (Sense(sense.partition("-")[0], sense, at), told)
        for share, option in grammar.options(item, memory, EVERYTHING).probabilities():
            left = _push(option.items if item.say else (), rest, capital)
            after = State(left, grammar.remember(memory, item, option))
            open_.append((after, _Reading(mistakes, surprise - math.log(share), told)))
        for words in grammar.wrong(item, memory) if phenomenon else ():
            if word == (_capitalised(words[0]) if capital else words[0]):
                missed = (_Mark(phenomenon or "", False), notes)
                after = State(_push(words, rest, capital), memory)
                open_.append((after, _Reading(mistakes + 1, surprise + 20.0, missed)))
