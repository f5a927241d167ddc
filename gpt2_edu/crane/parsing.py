"""Text as words, and every way in which the grammar can say the next one.

sampling.py writes with these words; judging.py and surprisal.py follow a text through the states.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .grammar import Grammar, Memory
from .notation import PUNCTUATION, WORD, Item, Slot


def separator(before: str | None, word: str) -> str:
    """The space between two words, or "" where none belongs; ``before`` is None at the start."""
    return "" if before in (None, '"') or word[0] in PUNCTUATION else " "


def join_words(words: Iterable[str]) -> str:
    """Words and punctuation as a text."""
    text, before = "", None
    for word in words:
        text += separator(before, word) + word
        before = word
    return text


def scan_words(text: str) -> Iterator[tuple[str | None, int]]:
    """Each word with the index of its first character, then "" at the end of the text.

    Stops with None where no word can stand, which includes a wrong space before a word. Space at
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
    """The word with a capital letter at its start."""
    return word[0].upper() + word[1:]


Stack = tuple["Item", "Stack"] | tuple[()]  # the next item and the rest


class State(NamedTuple):
    """What is still to be said, and what is remembered."""

    stack: Stack
    memory: Memory


# How a slot was filled: the slot, the memory before, and the probability, 0 for a distractor.
Choice = tuple[Slot, Memory, float]

# One way to say the next word ("" ends the text), the state after it, and what was filled before.
Step = tuple[str, State, tuple[Choice, ...]]


def initial_state(grammar: Grammar, start: str) -> State:
    """Before the first word of a text; ``start`` is one of the grammar's STARTS."""
    return State((grammar.starts[start], ()), grammar.empty)


def following(
    grammar: Grammar, state: State, mode: str, mistaken: str | None = None
) -> Iterator[Step]:
    """Every way to say the next word; different choices can lead to the same word and state.

    With ``mistaken``, a tested slot is also filled with each distractor that begins with this word.
    """
    pending: list[tuple[Stack, Memory, bool, tuple[Choice, ...]]] = [(*state, False, ())]
    while pending:
        stack, memory, capital, choices = pending.pop()
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
        if mistaken and grammar.phenomenon(item):
            for words in grammar.distractors(item, memory):
                if mistaken == (capitalise(words[0]) if capital else words[0]):
                    ways.append((words, memory, 0.0))
        for items, after, probability in ways:
            left = rest
            for said in reversed(items):
                left = (said, left)
            pending.append((left, after, capital, (*choices, (item, memory, probability))))
