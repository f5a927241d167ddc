"""Sample stories from the grammar, reproducibly from a seed."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass

from .grammar import TRAINING, Grammar, Value, crane_world
from .notation import Item, Slot
from .parsing import capitalise, join_words

_UINT64_MAX = (1 << 64) - 1


class SplitMix64:
    """A seeded random number generator with the same output on every machine and Python version.

    Source: Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number Generators". Python's
    ``random`` guarantees its generator across versions, but not the methods that use it.
    """

    def __init__(self, seed: int) -> None:
        self._state = seed & _UINT64_MAX

    def below(self, n: int) -> int:
        """A random integer from 0 to n - 1, uniform up to one part in 2⁶⁴ / n."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _UINT64_MAX
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _UINT64_MAX
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _UINT64_MAX
        return ((z ^ (z >> 31)) * n) >> 64


@dataclass(frozen=True)
class Test:
    """A position in a story where the earlier words determine the right continuation."""

    phenomenon: str
    start: int  # the index of the first tested word
    right: tuple[str, ...]  # the words of the story there
    distractors: tuple[tuple[str, ...], ...]  # wrong words instead, most plausible first
    cues: tuple[tuple[int, int], ...]  # spans (start, stop) of the words that determine it
    sense: str  # the sense of the story's homograph, such as "crane-bird"


@dataclass(frozen=True)
class AnnotatedStory:
    """The words of a story, its tests, and each slot with what filled it."""

    words: tuple[str, ...]
    tests: tuple[Test, ...]
    filled: tuple[tuple[Slot, Value], ...]

    @property
    def text(self) -> str:
        return join_words(self.words)


def story(seed: int, *, held_out: str | None = None) -> str:
    """The story of a seed, an integer from 0 to 2⁶⁴ - 1; the same on every machine.

    Without ``held_out``, a story from the training distribution. With "sense", "object" or "name",
    a story with a pair of choices of that kind that training never contains; see the grammar's
    last table. Raises ValueError for another name or a seed out of range, and TypeError for a seed
    that is not an int.
    """
    return _sample(crane_world(), seed, held_out, annotate=False).text


def annotated_story(seed: int, *, held_out: str | None = None) -> AnnotatedStory:
    """``story(seed)`` with its tests. Raises what ``story`` raises."""
    return _sample(crane_world(), seed, held_out, annotate=True)


def _sample(grammar: Grammar, seed: int, held_out: str | None, annotate: bool) -> AnnotatedStory:
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise TypeError(f"seed must be a whole number, got {seed!r}")
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"seed must be from 0 to 2^64 - 1, got {seed}")
    if held_out is not None and held_out not in grammar.withheld:
        known = ", ".join(grammar.withheld)
        raise ValueError(f"held_out must be None or one of {known}, got {held_out!r}")
    random = SplitMix64(seed)
    while True:  # until a story has the requested pair
        sampled, complete = _sample_once(grammar, random, held_out, annotate)
        if complete:
            return sampled


def _sample_once(
    grammar: Grammar, random: SplitMix64, held_out: str | None, annotate: bool
) -> tuple[AnnotatedStory, bool]:
    """One story, and whether it has the pair that ``held_out`` requires."""
    words: list[str] = []
    tests: list[Test] = []
    filled: list[tuple[Slot, Value]] = []
    mentions: dict[str, list[tuple[int, int]]] = defaultdict(list)  # each variable's spans
    memory, mode = grammar.empty, held_out or TRAINING
    complete, capital = held_out is None, False
    stack: list[Item] = [grammar.starts["story"]]
    while stack:
        item = stack.pop()
        if not isinstance(item, Slot):
            words.append(capitalise(item) if capital else item)
            capital = False
            continue
        options = grammar.options(item, memory, mode)
        number = random.below(options[-1].cumulative)
        option = options[bisect_right(options, number, key=lambda option: option.cumulative)]
        if annotate:
            spans = mentions[item.name or item.source[0]]
            if phenomenon := grammar.phenomenon(item):
                upper = capital or item.capital
                wrong = grammar.distractors(item, memory, turn=len(words))
                right, *distractors = (
                    (capitalise(some[0]), *some[1:]) if upper else some
                    for some in (grammar.words(option.value), *wrong)
                )
                sense = grammar.recall(memory, "s") or ""
                tests.append(
                    Test(phenomenon, len(words), right, tuple(distractors), tuple(spans), sense)
                )
            if item.say and item.source[1:2] not in (("other",), ("word",)):
                spans.append((len(words), len(words) + len(option.items)))
        if held_out and grammar.withheld[held_out][1] == grammar.choice_name(item):
            complete = True
        filled.append((item, option.value))
        memory = grammar.remember(memory, item, option)
        stack.extend(reversed(option.items))
        capital = capital or (item.say and item.capital)
    return AnnotatedStory(tuple(words), tuple(tests), tuple(filled)), complete
