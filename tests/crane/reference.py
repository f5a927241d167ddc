"""An independent, slower parser of the grammar, and statistics from the words of a text."""

from __future__ import annotations

import functools
import hashlib
import itertools
import re
from collections.abc import Iterator
from importlib.resources import files

import tiktoken

from gpt2_edu import crane
from gpt2_edu.crane.notation import Item, Slot, Source, alternatives, parse_grammar
from gpt2_edu.tokenizer import END_OF_TEXT, SPLIT_PATTERN

BYTES = {bytes([b]): b for b in range(256)}


def make_tokenizer(*longer: bytes) -> tiktoken.Encoding:
    """A token for each byte, and for each of these; it does not depend on what was trained."""
    ranks = BYTES | {token: 256 + i for i, token in enumerate(longer)}
    return tiktoken.Encoding(
        "test", pat_str=SPLIT_PATTERN, mergeable_ranks=ranks, special_tokens={END_OF_TEXT: 999}
    )


def golden() -> str:
    """The SHA-256 of the first 1,000 stories and 100 of each held-out kind, a line each."""
    stories = [crane.story(seed) for seed in range(1000)]
    for kind in ("sense", "object", "name"):
        stories += [crane.story(seed, held_out=kind) for seed in range(100)]
    return hashlib.sha256("".join(f"{text}\n" for text in stories).encode()).hexdigest()


@functools.cache
def crane_page() -> Source:
    text = (files("gpt2_edu.crane") / "grammar.md").read_text(encoding="utf-8")
    return parse_grammar(text)


# ---- A second reading of the page -------------------------------------------------------------


def can_be_said(text: str, start: str = "story", source: Source | None = None) -> bool:
    """Whether some way through the grammar says exactly this text.

    It shares with the package only how the page is cut into rules and tables: every way is tried,
    one after the other, and given up at the first word that differs.
    """
    source = source or crane_page()
    words = re.findall(r'[A-Za-z]+(?:-[a-z]+)*|[.,?!]+"?|"', text)
    if join_words(words) != text:
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


def join_words(words: list[str]) -> str:
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


# ---- Facts about stories ------------------------------------------------------------------------


def withheld_objects(text: str) -> int:
    """How many withheld pairs of a colour and a thing a story has, found by its words alone."""
    colours, things = _entries("colour"), _entries("thing")
    pairs = itertools.pairwise(re.findall(r"[A-Za-z-]+", text))
    return sum(
        (colours.index(one) + things.index(two)) % 6 == 0
        for one, two in pairs
        if one in colours and two in things
    )


def said(cell: str) -> list[str]:
    """The alternatives of a cell, without their weights."""
    return [" ".join(map(str, way.items)) for way in alternatives(cell)]


def _entries(rule: str) -> list[str]:
    return [" ".join(way.items) for way in crane_page().rules[rule]]


def surprise(text: str, tokenizer: tiktoken.Encoding) -> float:
    """Minus the logarithm of a story's probability."""
    return sum(crane.surprisals(text, tokenizer))
