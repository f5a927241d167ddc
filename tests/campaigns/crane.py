"""Crane World at length: a million stories, twenty thousand judgements, mutations of each kind.

    python -m tests.campaigns.crane --stories 1000000 --judged 20000 --mutated 2000
    python -m tests.campaigns.crane --golden     # the SHA-256 that tests/test_crane.py expects

Also what tests/test_crane.py shares with this: a second, slower reading of the grammar, the pairs
that training must not show as one finds them in a text, and the mutations.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import importlib
import itertools
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import NamedTuple

import tiktoken

from gpt2_edu import crane
from gpt2_edu.crane.grammar import crane_world
from gpt2_edu.crane.notation import Item, Slot, Source, alternatives, read
from gpt2_edu.crane.randomness import Chance
from gpt2_edu.tokenizer import END_OF_TEXT, SPLIT_PATTERN

# crane.judge and crane.entropy are functions that hide the modules they come from.
entropy_module = importlib.import_module("gpt2_edu.crane.surprisal")

BYTES = {bytes([b]): b for b in range(256)}


def make_tokenizer(*longer: bytes) -> tiktoken.Encoding:
    """A token for each byte, and for each of these; it does not depend on what was trained."""
    ranks = BYTES | {token: 256 + i for i, token in enumerate(longer)}
    return tiktoken.Encoding(
        "test", pat_str=SPLIT_PATTERN, mergeable_ranks=ranks, special_tokens={END_OF_TEXT: 999}
    )


def golden() -> str:
    """The SHA-256 of the first 1,000 stories, a line each."""
    stories = "".join(crane.story(seed) + "\n" for seed in range(1000))
    return hashlib.sha256(stories.encode()).hexdigest()


@functools.cache
def page() -> Source:
    text = (files("gpt2_edu.crane") / "grammar.md").read_text(encoding="utf-8")
    return read(text)


# ---- A second reading of the page -------------------------------------------------------------


def can_be_said(text: str, start: str = "story", source: Source | None = None) -> bool:
    """Whether some way through the grammar says exactly this text.

    It shares with the package only how the page is cut into rules and tables: every way is tried,
    one after the other, and given up at the first word that differs.
    """
    source = source or page()
    words = re.findall(r'[A-Za-z]+(?:-[a-z]+)*|[.,?!]+"?|"', text)
    if _joined(words) != text:
        return False
    open_: list[tuple[tuple[Item, ...], dict, int, bool]] = [
        (way.items, {}, 0, False) for way in source.rules[start]
    ]
    while open_:
        items, memory, at, upper = open_.pop()
        if not items:
            if at == len(words):
                return True
            continue
        item, rest = items[0], items[1:]
        if isinstance(item, str):
            said = item[0].upper() + item[1:] if upper else item
            if words[at : at + 1] == [said]:
                open_.append((rest, memory, at + 1, False))
            continue
        for value, filling in _fillings(source, item, memory):
            after = memory | ({item.name: value} if item.name else {})
            if item.say:
                open_.append(((*filling, *rest), after, at, upper or item.capital))
            else:
                open_.append((rest, after, at, upper))
    return False


def _joined(words: list[str]) -> str:
    text = " ".join(words)
    text = re.sub(r' ([.,?!]+"?)', r"\1", text)
    return re.sub(r'(^| )" ', r'\1"', text)


def _fillings(source: Source, slot: Slot, memory: dict) -> Iterator[tuple[tuple, tuple]]:
    """Each value a slot may take, and the items that say it."""
    name, *columns = slot.source
    if slot.name is None and name in memory:
        table, key, items = memory[name]
        for column in columns:
            cell = source.tables[table].cells[column][key]
            key, ways = cell, [way.items for way in alternatives(cell)]
        yield from ((("", "", way), way) for way in (ways if columns else [items]))
    elif name in source.tables:
        table = source.tables[name]
        for key in table.keys:
            row = set(table.row(key))
            if slot.unlike is None or not row & set(table.row(memory[slot.unlike][1])):
                items = next(alternatives(key)).items
                yield (name, key, items), items
    else:
        for way in source.rules[name]:
            if slot.unlike is None or memory[slot.unlike][2] != way.items:
                yield (name, "", way.items), way.items


# ---- Which withheld pairs are in a text -------------------------------------------------------


def withheld_pairs(text: str) -> set[str]:
    """The kinds of pairs in a story that training must not show, found by its words alone."""
    found = set()
    meeting = met(text)
    if (_homograph(text) + meeting) % 6 == 0:
        found.add("sense")
    colours, things = _entries("colour"), _entries("thing")
    for one, two in itertools.pairwise(re.findall(r"[A-Za-z-]+", text)):
        if one in colours and two in things and (colours.index(one) + things.index(two)) % 6 == 0:
            found.add("object")
    people = page().tables["person"].keys
    told = dict.fromkeys(word for word in re.findall(r"[A-Za-z]+", text) if word in people)
    if len(told) == 2 and (_plot(text, meeting) + people.index(list(told)[1])) % 6 == 0:
        found.add("name")
    return found


def said(cell: str) -> list[str]:
    """The alternatives of a cell, without their weights."""
    return [" ".join(map(str, way.items)) for way in alternatives(cell)]


def _homograph(text: str) -> int:
    words = dict.fromkeys(page().tables["sense"].cells["word"].values())
    (found,) = [i for i, word in enumerate(words) if re.search(rf"\b{word}\b", text)]
    return found


@functools.cache
def _openings() -> list[str]:
    """How each meeting begins, as a regular expression: its cell names a rule with one line."""
    openings = []
    for cell in page().tables["meeting"].cells["opening"].values():
        ((slot,),) = (way.items for way in alternatives(cell))
        assert isinstance(slot, Slot)
        (way,) = page().rules[slot.source[0]]
        openings.append(_pattern(way.items))
    return openings


def met(text: str) -> int:
    """The number of the meeting in a story."""
    (found,) = [i for i, opening in enumerate(_openings()) if re.match(opening, text)]
    return found


def _plot(text: str, meeting: int) -> int:
    """Which plot it is, by how the first sentence after the meeting goes."""
    before, plots = _openings()[meeting], []
    for i, way in enumerate(page().rules["plot"]):
        for opening in page().rules[way.items[0].source[0]]:
            items = opening.items[: opening.items.index(".") + 1]
            if re.match(f"{before} {_pattern(items)}", text):
                plots.append(i)
    (plot,) = plots
    return plot


def _entries(rule: str) -> list[str]:
    return [" ".join(way.items) for way in page().rules[rule]]


def _pattern(items: tuple[Item, ...]) -> str:
    """A regular expression for words with slots."""
    parts = []
    for item in items:
        if isinstance(item, Slot):
            parts.append("[^.]+?")
        else:
            parts.append(item if item.isalpha() else r"\s*" + re.escape(item))
    return re.sub(r" (\\s\*)", r"\1", " ".join(parts))


# ---- Mutations --------------------------------------------------------------------------------

Mutated = tuple[str, int, int]  # the text, and the characters that may be blamed, from and up to
Mutation = Callable[[crane.Told, random.Random], Mutated | None]


def replaced(told: crane.Told, start: int, stop: int, words: tuple[str, ...]) -> Mutated:
    """A story with other words in one place.

    The word after them may be blamed as well: they may begin another sentence of the language.
    """
    before = _joined([*told.words[:start], "x"])[:-1]
    text = _joined([*told.words[:start], *words, *told.words[stop:]])
    through = _joined([*told.words[:start], *words])
    return text, len(before), len(through) + 1


def wrong(phenomenon: str) -> Mutation:
    """What was said before is contradicted where the phenomenon is tested."""

    def mutate(told: crane.Told, rng: random.Random) -> Mutated | None:
        tests = [test for test in told.tests if test.phenomenon == phenomenon and test.wrong]
        if not tests:
            return None
        test = rng.choice(tests)
        lure = test.wrong[0] if rng.random() < 0.5 else rng.choice(test.wrong)
        return replaced(told, test.start, test.start + len(test.right), lure)

    return mutate


def _tested(told: crane.Told, phenomenon: str) -> crane.Test | None:
    return next((test for test in told.tests if test.phenomenon == phenomenon), None)


def other_noun(told: crane.Told, rng: random.Random) -> Mutated | None:
    test = _tested(told, "number")
    if test is None:
        return None
    (start, stop), cells = test.cues[-1], page().tables["noun"].cells["was"]
    was = cells[" ".join(told.words[start:stop])]
    nouns = [noun for noun in cells if cells[noun] != was]
    text, _, _ = replaced(told, start, stop, tuple(rng.choice(nouns).split()))
    # A verb that does not agree is only seen at the verb.
    at = text.index(f" {was} ", len(_joined(list(told.words[:start]))))
    return text, at, at + 1 + len(was)


def other_polarity(told: crane.Told, rng: random.Random) -> Mutated | None:
    test = _tested(told, "negation")
    if test is None:
        return None
    start, stop = test.cues[-1]
    fact = list(told.words[start:stop])
    if "not" in fact:
        fact.remove("not")
    else:
        fact.insert(fact.index("was") + 1, "not")
    text, _, through = replaced(told, start, stop, tuple(fact))
    return text, through, through + len(_joined(list(told.words[stop : test.start + 9])))


def other_order(told: crane.Told, rng: random.Random) -> Mutated | None:
    """The two chores change places where they are told again."""
    orders = [test for test in told.tests if test.phenomenon == "order"]
    if not orders:
        return None
    first, last = orders
    between = told.words[first.start + len(first.right) : last.start]
    through = last.start + len(last.right)
    text, start, _ = replaced(told, first.start, through, (*last.right, *between, *first.right))
    return text, start, start  # what follows is right if this were


def then_for_first(told: crane.Told, rng: random.Random) -> Mutated | None:
    test = _tested(told, "order")
    if test is None:
        return None
    at = max(i for i in range(test.start) if told.words[i] == "first")
    return replaced(told, at, at + 1, ("then",))


def _anywhere(words: list[str]) -> Mutated:
    text = _joined(words)
    return text, 0, len(text)


def deleted_word(told: crane.Told, rng: random.Random) -> Mutated:
    at = rng.randrange(len(told.words))
    return _anywhere([*told.words[:at], *told.words[at + 1 :]])


def swapped_words(told: crane.Told, rng: random.Random) -> Mutated:
    words = list(told.words)
    at = rng.randrange(len(words) - 1)
    words[at : at + 2] = words[at + 1], words[at]
    return _anywhere(words)


def _sentences(text: str) -> list[str]:
    return re.findall(r'\S.*?[.?!]+"?(?= [A-Z"]|$)', text)


def repeated_sentence(told: crane.Told, rng: random.Random) -> Mutated:
    cut = _sentences(told.text)
    at = rng.randrange(len(cut))
    text = " ".join([*cut[: at + 1], *cut[at:]])
    return text, 0, len(text)


def shuffled_sentences(told: crane.Told, rng: random.Random) -> Mutated:
    cut = _sentences(told.text)
    rng.shuffle(cut)
    text = " ".join(cut)
    return text, 0, len(text)


def _letter(told: crane.Told, rng: random.Random) -> int:
    return rng.choice([i for i, c in enumerate(told.text) if c.isalpha()])


def other_letter(told: crane.Told, rng: random.Random) -> Mutated:
    text, at = told.text, _letter(told, rng)
    letters = "abcdefghijklmnopqrstuvwxyz".replace(text[at].lower(), "")
    new = rng.choice(letters.upper() if text[at].isupper() else letters)
    text = text[:at] + new + text[at + 1 :]
    return text, 0, len(text)


def other_case(told: crane.Told, rng: random.Random) -> Mutated:
    text, at = told.text, _letter(told, rng)
    text = text[:at] + text[at].swapcase() + text[at + 1 :]
    return text, 0, at + 1


def double_space(told: crane.Told, rng: random.Random) -> Mutated:
    text = told.text
    at = rng.choice([i for i, c in enumerate(text) if c == " "])
    return text[:at] + " " + text[at:], 0, at + 2


def space_before_sign(told: crane.Told, rng: random.Random) -> Mutated:
    text = told.text
    at = rng.choice([i for i, c in enumerate(text) if c in ".,?!"])
    return text[:at] + " " + text[at:], 0, at + 2


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
    "lamps for lamp": (other_noun, ["number"]),
    "not put in or out": (other_polarity, ["negation"]),
    "chores in the other order": (other_order, ["order", "order"]),
    "then for first": (then_for_first, []),
    "a word left out": (deleted_word, []),
    "two words swapped": (swapped_words, []),
    "a sentence twice": (repeated_sentence, []),
    "sentences in another order": (shuffled_sentences, []),
    "another letter": (other_letter, []),
    "a capital too many or too few": (other_case, []),
    "two spaces": (double_space, []),
    "a space before a sign": (space_before_sign, []),
}


def mutate(kind: str, n: int, first: int = 0) -> Iterator[tuple[crane.Told, Mutated]]:
    """Different texts from n stories that have what this kind of mutation changes."""
    rng, found = random.Random(kind), 0
    for seed in itertools.count(first):
        told = crane.tell(seed)
        mutated = MUTATIONS[kind][0](told, rng)
        if mutated is not None and mutated[0] != told.text:
            found += 1
            yield told, mutated
            if found == n:
                return


def slips(kind: str, n: int) -> list[str]:
    """The mutated texts that pass, after a look that they are sayable, and that no other is."""
    passed = []
    for told, (text, start, stop) in mutate(kind, n):
        verdict = crane.judge(text)
        sayable = can_be_said(text)
        assert (verdict.kind == "story") == sayable, f"sayable: {sayable}, but {verdict}: {text}"
        if sayable:
            passed.append(text)
            continue
        at, phenomena = verdict.fails_at, MUTATIONS[kind][1]
        assert at is not None and start <= at <= stop, f"{kind} is blamed on {text[at:]!r}: {text}"
        if phenomena:
            honest = crane.judge(told.text)
            assert verdict.chances == honest.chances, f"{kind} costs chances: {text}"
            missed = Counter(honest.right) - Counter(verdict.right)
            assert missed == Counter(phenomena), f"{kind} is blamed on {missed}: {text}"
    return passed


# ---- How far it is from a cue to what it decides ----------------------------------------------


class Distance(NamedTuple):
    """From the last cue to what shows the sense."""

    words: int
    across: bool  # a sentence ends in between
    lured: bool  # a place of the other sense is named before
    first: bool  # the story has no such test before


def distances(n: int) -> list[Distance]:
    """Of all tests of the sense in n stories."""
    found = []
    places = page().tables["sense"].cells["place"]
    others = page().tables["sense"].cells["other"]
    for seed in range(n):
        told = crane.tell(seed)
        tests = [test for test in told.tests if test.phenomenon == "sense"]
        for test in tests:
            cue = test.cues[-1][1]
            between = told.words[cue : test.start]
            before = _joined(list(told.words[: test.start])).lower()
            across = any(word[0] in ".?!" for word in between)
            lured = any(place in before for place in said(places[others[test.sense]]))
            found.append(Distance(len(between), across, lured, test is tests[0]))
    return found


# ---- The campaign -----------------------------------------------------------------------------


def same_stories(n: int, sample: int = 2000) -> tuple[int, float]:
    """Pairs of equal stories among n seeds, and how many chance alone would give.

    Two stories are equal with the probability E[p(story)], so of n (n - 1) / 2 pairs that share.
    """
    seen: Counter[int] = Counter()
    for seed in range(n):
        text = crane.story(seed)
        seen[hash(text)] += 1
    pairs = sum(k * (k - 1) // 2 for k in seen.values())
    tokenizer, chance = make_tokenizer(), Chance(7)
    p = [math.exp(-surprise(crane.story(chance.below(1 << 64)), tokenizer)) for _ in range(sample)]
    return pairs, n * (n - 1) / 2 * sum(p) / sample


def surprise(text: str, tokenizer: tiktoken.Encoding) -> float:
    """Minus the logarithm of a story's probability."""
    return sum(entropy_module._surprisals(crane_world(), text, tokenizer))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--stories", type=int, default=1_000_000, help="looked at for equal ones")
    options.add_argument("--judged", type=int, default=20_000, help="stories that are judged")
    options.add_argument("--mutated", type=int, default=2_000, help="texts of each kind")
    options.add_argument("--golden", action="store_true", help="print the SHA-256 and stop")
    given = options.parse_args()
    if given.golden:
        print(golden())
        return

    found = distances(min(given.judged, 5000))
    for name, some in (("first", [d for d in found if d.first]), ("all", found)):
        steps = Counter(distance.words for distance in some)
        across, lured = (sum(column) / len(some) for column in list(zip(*some, strict=True))[1:3])
        print(f"words from the last cue to the sense, {name} tests:", sorted(steps.items()))
        print(f"across the end of a sentence: {across:.1%}; the other sense named: {lured:.1%}")

    for held_out in (None, *crane_world().withheld):
        for seed in range(given.judged if held_out is None else given.judged // 10):
            text = crane.story(seed, held_out=held_out)
            verdict = crane.judge(text)
            assert verdict.kind == "story" and verdict.chances == verdict.right, text
            expected = set() if held_out is None else {held_out}
            assert withheld_pairs(text) == expected, (held_out, text)
    print(f"{given.judged} stories judged, and a tenth as many of each kind held out: all right")

    for kind in MUTATIONS:
        passed = slips(kind, given.mutated)
        print(f"{kind}: {given.mutated - len(passed)} of {given.mutated} rejected")
        for text in passed[:3]:
            print("    can be said:", text)
        assert len(passed) <= given.mutated / 100

    pairs, expected = same_stories(given.stories)
    print(f"{given.stories} seeds: {pairs} pairs of equal stories, {expected:.2f} expected")
    assert pairs <= expected + 5 * math.sqrt(expected) + 5


if __name__ == "__main__":
    main()
