"""Parser of grammar.md: its rules, tables and slots as objects.

The page explains the notation. A syntax error in it is a ValueError that quotes the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from ..machine.messages import join_some, short_repr

PUNCTUATION = ".,?!"  # follows a word without a space
WORD = re.compile(rf'[A-Za-z]+(?:-[a-z]+)*|[{PUNCTUATION}]+"?|"')  # a word, or punctuation
_SLOT = re.compile(
    r"(?P<open>[{\[])(?P<capital>\^?)(?:(?P<name>\w+): )?(?P<source>\w+(?:\.\w+)*)"
    r"(?: - (?P<unlike>\w+))?(?P<phenomenon>@\w*)?[}\]]"
)
_BLOCK = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PARAGRAPH = re.compile(r"^(\S.*)\n((?: .*\n|\n)*)", re.MULTILINE)  # a line, indented lines
_WEIGHT = re.compile(r"([1-9]\d*) \*\s*")
_CELL = re.compile(r"\s{2,}")


@dataclass(frozen=True, eq=False)  # compared by identity: equal text in two lines gives two slots
class Slot:
    """A placeholder in a line, filled when the line is expanded."""

    source: tuple[str, ...]  # a rule, a table or a variable, and columns after it
    name: str | None  # the variable that stores the choice
    say: bool  # False for square brackets: the choice is stored, but adds no words
    unlike: str | None  # the variable whose row must share no cell with this one
    capital: bool
    phenomenon: str | None  # what the slot tests; "": nothing; None: see the table ``tested``


Item = str | Slot  # a word, or a slot


@dataclass(frozen=True)
class Alternative:
    """One of the ways to fill a slot."""

    weight: int
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Table:
    """The keys of a table's rows, and the unparsed text of its cells."""

    keys: list[str] = field(default_factory=list)
    cells: dict[str, dict[str, str]] = field(default_factory=dict)  # column → key → text

    def row(self, key: str) -> list[str]:
        """The key and all cells of its row."""
        return [key, *(column[key] for column in self.cells.values())]


@dataclass(frozen=True)
class Source:
    """All rules and tables of a page, by name."""

    rules: dict[str, tuple[Alternative, ...]]
    tables: dict[str, Table]


def parse_grammar(page: str) -> Source:
    """The rules and tables in the text blocks of a Markdown page."""
    rules: dict[str, tuple[Alternative, ...]] = {}
    tables: dict[str, Table] = {}
    for block in _BLOCK.findall(page):
        for header, indented in _PARAGRAPH.findall(block):
            body = [line.strip() for line in indented.splitlines() if line.strip()]
            name, colon, rest = header.partition(":")
            if colon:
                if name in rules:
                    raise ValueError(f"the rule {short_repr(name)} is defined twice in the grammar")
                lines = [rest] if rest.strip() else body
                rules[name] = tuple(chain.from_iterable(map(alternatives, lines)))
            else:
                _add_columns(tables, header, body)
    for name, table in tables.items():
        for column, cells in table.cells.items():
            if cells.keys() != set(table.keys):
                raise ValueError(
                    f"a row of the table {short_repr(name)} has no {short_repr(column)}"
                )
    return Source(rules, tables)


def _add_columns(tables: dict[str, Table], header: str, body: list[str]) -> None:
    """Add a block's columns to a table, which may be split over several blocks."""
    name, *columns = header.split()
    table = tables.setdefault(name, Table())
    for line in body:
        key, *cells = _CELL.split(line)
        known = [column for column in columns if key in table.cells.get(column, {})]
        if known or len(cells) != len(columns):
            raise ValueError(
                f"the table {short_repr(name)} needs exactly one cell for each key and each of "
                f"the columns {join_some(columns)}, unlike in {short_repr(line)}"
            )
        if key not in table.keys:
            table.keys.append(key)
        for column, cell in zip(columns, cells, strict=True):
            table.cells.setdefault(column, {})[key] = cell


def alternatives(line: str) -> Iterator[Alternative]:
    """The parts of a line between slashes, each with its weight."""
    for part in line.split("/"):
        text, weight = part.strip(), 1
        if matched := _WEIGHT.match(text + " "):
            text, weight = text[matched.end() :], int(matched[1])
        yield Alternative(weight, tuple(_items(text)))


def _items(line: str) -> Iterator[Item]:
    rest = line
    while rest := rest.lstrip(" "):
        if matched := _SLOT.match(rest):
            yield Slot(
                source=tuple(matched["source"].split(".")),
                name=matched["name"],
                say=matched["open"] == "{",
                unlike=matched["unlike"],
                capital=bool(matched["capital"]),
                phenomenon=None if matched["phenomenon"] is None else matched["phenomenon"][1:],
            )
        elif matched := WORD.match(rest):
            yield matched[0]
        else:
            raise ValueError(
                f"syntax error in the grammar at {short_repr(rest[:20])} in {short_repr(line)}"
            )
        rest = rest[matched.end() :]
