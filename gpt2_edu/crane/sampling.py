"""Stories from seeds."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass

from .grammar import TRAINING, Grammar, crane_world
from .notation import Item, Slot
from .parsing import capitalise, join_words

_MASK = (1 << 64) - 1


class SplitMix64:
    """A seeded generator of random numbers, the same on every machine, in every Python.

    A counter, well mixed. Source: Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number
    Generators". Python's ``random`` promises the same generator, but not the same methods.
    """

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1, all equally likely to one part in 2⁶⁴ / n."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return ((z ^ (z >> 31)) * n) >> 64


@dataclass(frozen=True)
class Test:
    """A place in a story where what was said before leaves one right way to go on."""

    phenomenon: str
    start: int  # the index of the first tested word
    right: tuple[str, ...]  # the words that stand there
    distractors: tuple[tuple[str, ...], ...]  # words that contradict the story, most tempting first
    cues: tuple[tuple[int, int], ...]  # spans of words, start and stop, that decided it before
    sense: str  # the sense of the story's homograph, such as "crane-bird"


@dataclass(frozen=True)
class AnnotatedStory:
    """A story in words, and what can be tested in it."""

    words: tuple[str, ...]
    tests: tuple[Test, ...]

    @property
    def text(self) -> str:
        return join_words(self.words)


def story(seed: int, *, held_out: str | None = None) -> str:
    """The story of a seed, a whole number from 0 to 2⁶⁴ - 1: the same on every machine.

    Without ``held_out`` a story as training has them. With "sense", "object" or "name" one that
    has a pair of choices of that kind which training never shows; see the grammar's last table.
    Raises ValueError for another name or a seed outside of the range, and TypeError for a seed
    that is no whole number.
    """
    return _sample(crane_world(), seed, held_out, annotate=False).text


def annotated_story(seed: int, *, held_out: str | None = None) -> AnnotatedStory:
    """``story(seed)`` with everything that can be tested in it. Raises what ``story`` raises."""
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
    while True:  # until a plot has the pair that was asked for
        sampled, complete = _sample_once(grammar, random, held_out, annotate)
        if complete:
            return sampled


def _sample_once(
    grammar: Grammar, random: SplitMix64, held_out: str | None, annotate: bool
) -> tuple[AnnotatedStory, bool]:
    """One story, and whether it has what ``held_out`` asks for."""
    words: list[str] = []
    tests: list[Test] = []
    mentions: dict[str, list[tuple[int, int]]] = defaultdict(list)  # the spans of each variable
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
        drawn = random.below(options[-1].until)
        option = options[bisect_right(options, drawn, key=lambda option: option.until)]
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
        memory = grammar.remember(memory, item, option)
        stack.extend(reversed(option.items))
        capital = capital or (item.say and item.capital)
    return AnnotatedStory(tuple(words), tuple(tests)), complete
