"""Mutations of stories, with the position and the phenomena that each one makes wrong."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

from gpt2_edu import crane
from tests.crane.reference import can_be_said, join_words

annotated_story = cache(crane.annotated_story)  # each is changed in several ways
Mutated = tuple[str, int, int]  # the text, and the characters that may be blamed, from and up to
Mutation = Callable[[crane.AnnotatedStory, random.Random], Mutated | None]


def replaced(story: crane.AnnotatedStory, start: int, stop: int, words: tuple[str, ...]) -> Mutated:
    """A story with other words in one place.

    The word after them may be blamed as well: they may begin another sentence of the language.
    """
    before = join_words([*story.words[:start], "x"])[:-1]
    text = join_words([*story.words[:start], *words, *story.words[stop:]])
    through = join_words([*story.words[:start], *words])
    return text, len(before), len(through) + 1


def wrong(phenomenon: str) -> Mutation:
    """What was said before is contradicted where the phenomenon is tested."""

    def mutate(story: crane.AnnotatedStory, rng: random.Random) -> Mutated | None:
        tests = [test for test in story.tests if test.phenomenon == phenomenon]
        if not tests:
            return None
        test = rng.choice(tests)
        first = rng.random() < 0.5
        distractor = test.distractors[0] if first else rng.choice(test.distractors)
        return replaced(story, test.start, test.start + len(test.right), distractor)

    return mutate


def _tested(story: crane.AnnotatedStory, phenomenon: str) -> crane.Test | None:
    return next((test for test in story.tests if test.phenomenon == phenomenon), None)


def other_order(story: crane.AnnotatedStory, rng: random.Random) -> Mutated | None:
    """The two chores change places where they are repeated."""
    orders = [test for test in story.tests if test.phenomenon == "order"]
    if not orders:
        return None
    first, last = orders
    between = story.words[first.start + len(first.right) : last.start]
    through = last.start + len(last.right)
    text, start, _ = replaced(story, first.start, through, (*last.right, *between, *first.right))
    return text, start, start  # what follows is right if this were


def _anywhere(words: list[str]) -> Mutated:
    text = join_words(words)
    return text, 0, len(text)


def deleted_word(story: crane.AnnotatedStory, rng: random.Random) -> Mutated:
    at = rng.randrange(len(story.words))
    return _anywhere([*story.words[:at], *story.words[at + 1 :]])


def _letter(story: crane.AnnotatedStory, rng: random.Random) -> int:
    return rng.choice([i for i, c in enumerate(story.text) if c.isalpha()])


def other_letter(story: crane.AnnotatedStory, rng: random.Random) -> Mutated:
    text, at = story.text, _letter(story, rng)
    letters = "abcdefghijklmnopqrstuvwxyz".replace(text[at].lower(), "")
    new = rng.choice(letters.upper() if text[at].isupper() else letters)
    text = text[:at] + new + text[at + 1 :]
    return text, 0, len(text)


# What must be blamed, once for each mistake; nothing where it is only to be rejected.
MUTATIONS: dict[str, tuple[Mutation, list[str]]] = {
    "a deed of the other sense": (wrong("sense"), ["sense"]),
    "another name": (wrong("name"), ["name"]),
    "another pronoun": (wrong("pronoun"), ["pronoun"]),
    "another object": (wrong("object"), ["object"]),
    "another count": (wrong("count"), ["count"]),
    "another speaker": (wrong("speaker"), ["speaker"]),
    "another chore": (wrong("order"), ["order"]),
    "another consequence": (wrong("negation"), ["negation"]),
    "was for were": (wrong("number"), ["number"]),
    "chores in the other order": (other_order, ["order", "order"]),
    "a word left out": (deleted_word, []),
    "another letter": (other_letter, []),
}


def mutate(kind: str, n: int, first: int = 0) -> Iterator[tuple[crane.AnnotatedStory, Mutated]]:
    """Different texts from n stories that have what this kind of mutation changes."""
    rng, found = random.Random(kind), 0
    for seed in itertools.count(first):
        story = annotated_story(seed)
        mutated = MUTATIONS[kind][0](story, rng)
        if mutated is not None and mutated[0] != story.text:
            found += 1
            yield story, mutated
            if found == n:
                return


def slips(kind: str, n: int) -> list[str]:
    """The mutated texts that are accepted; each verdict is checked with the reference parser."""
    passed = []
    for story, (text, start, stop) in mutate(kind, n):
        verdict = crane.judge(text)
        sayable = can_be_said(text)
        assert (verdict.kind == "story") == sayable, f"sayable: {sayable}, but {verdict}: {text}"
        if sayable:
            passed.append(text)
            continue
        at, phenomena = verdict.fails_at, MUTATIONS[kind][1]
        assert at is not None and start <= at <= stop, f"{kind} is blamed on {text[at:]!r}: {text}"
        if phenomena:
            honest = crane.judge(story.text)
            assert verdict.chances == honest.chances, f"{kind} costs chances: {text}"
            missed = Counter(honest.right) - Counter(verdict.right)
            assert missed == Counter(phenomena), f"{kind} is blamed on {missed}: {text}"
    return passed
