"""Text as words, and every way in which the grammar can say the next one.

sampling.py writes with these words; judging.py and surprisal.py follow a text through the states.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .grammar import Grammar, Memory
from .notation import PUNCTUATION, WORD, Item, Slot

# ---- Words and text ----------------------------------------------------------------------------


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


# ---- States ------------------------------------------------------------------------------------

_CAPITAL = "^"  # on the stack: the next word begins with a capital letter

Stack = tuple["Item", "Stack"] | tuple[()]  # the next item and the rest


class State(NamedTuple):
    """What is still to be said, and what is remembered."""

    stack: Stack
    memory: Memory


class Choice(NamedTuple):
    """How a slot was filled."""

    slot: Slot
    memory: Memory  # before it was filled
    probability: float  # 0 for a distractor


class Step(NamedTuple):
    """One way to say the next word."""

    word: str  # "" for the end of the text
    state: State  # after the word
    choices: tuple[Choice, ...]  # the slots that were filled to reach it, in order


def initial_state(grammar: Grammar, start: str) -> State:
    """Before the first word of a text; ``start`` is one of the grammar's STARTS."""
    return State((grammar.starts[start], ()), grammar.empty)


def following(
    grammar: Grammar, state: State, mode: str, mistaken: str | None = None
) -> Iterator[Step]:
    """Every way to say the next word; different choices can lead to the same word and state.

    With ``mistaken``, a tested slot is also filled with each distractor that begins with this word.
    """
    pending: list[tuple[State, tuple[Choice, ...]]] = [(state, ())]
    while pending:
        (stack, memory), choices = pending.pop()
        if not stack:
            yield Step("", State(stack, memory), choices)
            continue
        item, capital, rest = _pop(stack)
        if not isinstance(item, Slot):
            yield Step(capitalise(item) if capital else item, State(rest, memory), choices)
            continue
        capital = capital or (item.capital and item.say)
        for probability, option in grammar.options(item, memory, mode).probabilities():
            after = State(
                _push(option.items if item.say else (), rest, capital),
                grammar.remember(memory, item, option),
            )
            pending.append((after, (*choices, Choice(item, memory, probability))))
        if mistaken and grammar.phenomenon(item):
            for words in grammar.distractors(item, memory):
                if mistaken == (capitalise(words[0]) if capital else words[0]):
                    after = State(_push(words, rest, capital), memory)
                    pending.append((after, (*choices, Choice(item, memory, 0.0))))


def _pop(stack: tuple[Item, Stack]) -> tuple[Item, bool, Stack]:
    """The next item, whether it begins with a capital letter, and the rest."""
    item, rest = stack
    if item != _CAPITAL:
        return item, False, rest
    assert rest  # something follows that begins with it
    return rest[0], True, rest[1]


def _push(items: tuple[Item, ...], rest: Stack, capital: bool) -> Stack:
    for item in reversed(items):
        rest = (item, rest)
    return (_CAPITAL, rest) if capital and rest else rest
