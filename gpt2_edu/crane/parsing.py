"""Splitting text into words, and the parser's transitions from one word to the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from .grammar import Grammar, Memory
from .notation import PUNCTUATION, WORD, Item, Slot


def separator(before: str | None, word: str) -> str:
    """The space between two words, or "" if there is none; ``before`` is None at the start."""
    return "" if before in (None, '"') or word[0] in PUNCTUATION else " "


def join_words(words: Iterable[str]) -> str:
    """The text of a sequence of words and punctuation."""
    text, before = "", None
    for word in words:
        text += separator(before, word) + word
        before = word
    return text


def scan_words(text: str) -> Iterator[tuple[str | None, int]]:
    """Yield (word, index of its first character) for each word, then ("", end of the text).

    Ends with (None, index) at a character that begins no word, or at wrong spacing. Whitespace at
    either end of the text is ignored.
    """
    before, at, end = None, len(text) - len(text.lstrip()), len(text.rstrip())
    while at < end:
        matched = WORD.match(text, at + (text[at] == " "))
        if matched is None or text[at : matched.start()] != separator(before, matched[0]):
            yield None, at
            return
        before, at = matched[0], matched.end()
        yield before, matched.start()
    yield "", end


def capitalise(word: str) -> str:
    """The word with its first letter in upper case."""
    return word[0].upper() + word[1:]


Stack = tuple["Item", "Stack"] | tuple[()]  # the next item and the rest


class State(NamedTuple):
    """The items still to be expanded, and the variables' values."""

    stack: Stack
    memory: Memory


# One filled slot: the slot, the memory before it, and the probability, 0 for a distractor.
Choice = tuple[Slot, Memory, float]

# The next word ("" ends the text), the state after it, and the slots filled to reach it.
Step = tuple[str, State, tuple[Choice, ...]]


def initial_state(grammar: Grammar, start: str) -> State:
    """The state before the first word; ``start`` is one of STARTS."""
    return State((grammar.starts[start], ()), grammar.empty)


def next_steps(
    grammar: Grammar, state: State, mode: str, distractor: str | None = None
) -> Iterator[Step]:
    """Every derivation of the next word; different choices can lead to the same word and state.

    With ``distractor``, a tested slot is also filled with the distractors that begin with that
    word.
    """
    agenda: list[tuple[Stack, Memory, bool, tuple[Choice, ...]]] = [(*state, False, ())]
    while agenda:
        stack, memory, capital, choices = agenda.pop()
        if not stack:
            yield "", State(stack, memory), choices
            continue
        item, rest = stack
        if not isinstance(item, Slot):
            yield capitalise(item) if capital else item, State(rest, memory), choices
            continue
        capital = capital or (item.capital and item.say)
        ways = [
            (option.items, grammar.remember(memory, item, option), option.probability)
            for option in grammar.options(item, memory, mode)
        ]
        if distractor and grammar.phenomenon(item):
            for words in grammar.distractors(item, memory):
                if distractor == (capitalise(words[0]) if capital else words[0]):
                    ways.append((words, memory, 0.0))
        for items, after, probability in ways:
            expanded = rest
            for new in reversed(items):
                expanded = (new, expanded)
            agenda.append((expanded, after, capital, (*choices, (item, memory, probability))))


@lru_cache(maxsize=10_000)  # texts have many states in common, and a state has many steps
def steps_by_word(
    grammar: Grammar, state: State, mode: str
) -> dict[str | None, list[tuple[State, tuple[Choice, ...]]]]:
    """The steps to each next word: the states after it, and the slots filled to reach them."""
    found: dict[str | None, list[tuple[State, tuple[Choice, ...]]]] = {}
    for word, after, choices in next_steps(grammar, state, mode):
        found.setdefault(word, []).append((after, choices))
    return found
