"""Stories from seeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from .grammar import TRAINING, Grammar, crane_world
from .notation import Item, Slot
from .randomness import Chance


@dataclass(frozen=True)
class Test:
    """A place in a story where what was said before leaves one right way to go on."""

    phenomenon: str
    start: int  # the word at which the tested words begin
    right: tuple[str, ...]  # the words that stand there
    wrong: tuple[tuple[str, ...], ...]  # words that would contradict the story, the best lure first
    cues: tuple[tuple[int, int], ...]  # spans of words, start and stop, that decided it before
    sense: str  # the sense of the story's homograph, such as "crane-bird"


@dataclass(frozen=True)
class Told:
    """A story in words, and what can be tested in it."""

    words: tuple[str, ...]
    tests: tuple[Test, ...]

    @property
    def text(self) -> str:
        return spell(self.words)


def story(seed: int, *, held_out: str | None = None) -> str:
    """The story of a seed, a whole number from 0 to 2⁶⁴ - 1: the same on every machine.

    Without ``held_out`` a story as training has them. With "sense", "object" or "name" one that
    has a pair of choices of that kind which training never shows; see the grammar's last table.
    Raises ValueError for another name or a seed outside of the range, and TypeError for a seed
    that is no whole number.
    """
    return spell(_tell(crane_world(), seed, held_out, tests=False).words)


def tell(seed: int, *, held_out: str | None = None) -> Told:
    """The story of a seed with all that can be tested in it. Errors are those of ``story``."""
    return _tell(crane_world(), seed, held_out, tests=True)


def spell(words: Iterable[str]) -> str:
    """Words and signs as a text: signs follow without a space, and an opening quote joins on."""
    text, space = "", ""
    for word in words:
        text += word if word[0] in ".,?!" else space + word
        space = "" if word == '"' else " "
    return text


def _capitalised(words: tuple[str, ...], capital: bool) -> tuple[str, ...]:
    return (words[0][0].upper() + words[0][1:], *words[1:]) if capital else words


def _tell(grammar: Grammar, seed: int, held_out: str | None, tests: bool) -> Told:
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise TypeError(f"seed must be a whole number, got {seed!r}")
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"seed must be from 0 to 2^64 - 1, got {seed}")
    if held_out is not None and held_out not in grammar.withheld:
        known = ", ".join(grammar.withheld)
        raise ValueError(f"held_out must be None or one of {known}, got {held_out!r}")
    chance = Chance(seed)
    told, complete = _walk(grammar, chance, held_out, tests)
    while not complete:  # a plot without the pair that was asked for: the next story of the seed
        told, complete = _walk(grammar, chance, held_out, tests)
    return told


def _walk(grammar: Grammar, chance: Chance, held_out: str | None, tests: bool) -> tuple[Told, bool]:
    """One story, and whether it has what ``held_out`` asks for."""
    words: list[str] = []
    found: list[Test] = []
    spoken: dict[str, list[tuple[int, int]]] = defaultdict(list)  # where each variable was heard
    memory, mode = grammar.empty, held_out or TRAINING
    complete, capital = held_out is None, False
    stack: list[Item] = [grammar.starts["story"]]
    while stack:
        item = stack.pop()
        if not isinstance(item, Slot):
            words.extend(_capitalised((item,), capital))
            capital = False
            continue
        option = grammar.options(item, memory, mode).draw(chance)
        if tests:
            about, heard = item.name or item.source[0], tuple(spoken[item.name or item.source[0]])
            if phenomenon := grammar.mark(item):
                sense, upper = grammar.recall(memory, "s") or "", capital or item.capital
                right = _capitalised(grammar.words(option.value), upper)
                wrong = grammar.wrong(item, memory, turn=len(words))
                lures = tuple(_capitalised(lure, upper) for lure in wrong)
                found.append(Test(phenomenon, len(words), right, lures, heard, sense))
            if item.say and item.source[1:2] not in (("other",), ("word",)):
                spoken[about].append((len(words), len(words) + len(option.items)))
        if held_out and grammar.withholds(item, held_out):
            complete = True
        memory = grammar.remember(memory, item, option)
        if item.say:
            stack.extend(reversed(option.items))
            capital = capital or item.capital
    return Told(tuple(words), tuple(found)), complete
