"""The notation of grammar.md: rules, tables and slots, read into objects.

The page explains the notation to readers; this file parses it. A mistake in the page is a
ValueError that names the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..machine.outside import listed, shown

PUNCTUATION = ".,?!"  # follows a word without a space
WORD = re.compile(rf'[A-Za-z]+(?:-[a-z]+)*|[{PUNCTUATION}]+"?|"')  # a word, or punctuation
_SLOT = re.compile(
    r"(?P<open>[{\[])(?P<capital>\^?)(?:(?P<name>\w+): )?(?P<source>\w+(?:\.\w+)*)"
    r"(?: - (?P<unlike>\w+))?(?P<phenomenon>@\w*)?[}\]]"
)
_BLOCK = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PARAGRAPH = re.compile(r"^(\S.*)\n((?: .*\n|\n)*)", re.MULTILINE)  # a line, indented lines
_WEIGHT = re.compile(r"(\d+) \*\s*")
_CELL = re.compile(r"\s{2,}")


@dataclass(frozen=True, eq=False)  # compared by identity: the same text in two places is two slots
class Slot:
    """A place in a line that is filled when the line is said."""

    source: tuple[str, ...]  # a rule, a table or a variable, and columns after it
    name: str | None  # the variable that remembers what was chosen
    say: bool  # False for square brackets
    unlike: str | None  # the variable whose row must have nothing in common with this one
    capital: bool
    phenomenon: str | None  # what is tested here; "": nothing; None: see the table ``tested``


Item = str | Slot  # a word, or a slot


@dataclass(frozen=True)
class Alternative:
    """One of the ways to fill a slot."""

    weight: int
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Table:
    """Rows with a key and cells: the unparsed text of each."""

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


def read(page: str) -> Source:
    """The rules and tables in the text blocks of a page."""
    rules: dict[str, tuple[Alternative, ...]] = {}
    tables: dict[str, Table] = {}
    for block in _BLOCK.findall(page):
        for header, indented in _PARAGRAPH.findall(block):
            body = [line.strip() for line in indented.splitlines() if line.strip()]
            name, colon, rest = header.partition(":")
            if colon:
                if name in rules:
                    raise ValueError(f"the rule {shown(name)} stands twice in the grammar")
                lines = [rest] if rest.strip() else body
                rules[name] = tuple(a for line in lines for a in alternatives(line))
                if not rules[name]:
                    raise ValueError(f"the rule {shown(name)} has nothing to choose from")
            else:
                _add_columns(tables, header, body)
    for name, table in tables.items():
        for column, cells in table.cells.items():
            if missing := [key for key in table.keys if key not in cells]:
                raise ValueError(
                    f"the table {shown(name)} has no {shown(column)} for {shown(missing[0])}"
                )
    return Source(rules, tables)


def _add_columns(tables: dict[str, Table], header: str, body: list[str]) -> None:
    """A table may stand in several blocks, each with some of its columns."""
    name, *columns = header.split()
    table = tables.setdefault(name, Table())
    for line in body:
        key, *cells = _CELL.split(line)
        if len(cells) != len(columns):
            raise ValueError(
                f"the table {shown(name)} has the columns {listed(columns)}, but {shown(line)} has "
                f"{len(cells)} cells after its key"
            )
        if key not in table.keys:
            table.keys.append(key)
        for column, cell in zip(columns, cells, strict=True):
            rows = table.cells.setdefault(column, {})
            if key in rows:
                raise ValueError(
                    f"the table {shown(name)} has two cells {shown(column)} for {shown(key)}"
                )
            rows[key] = cell


def alternatives(line: str) -> Iterator[Alternative]:
    """The parts of a line between slashes, each with its weight."""
    for part in line.split("/"):
        text, weight = part.strip(), 1
        if matched := _WEIGHT.match(text + " "):
            text, weight = text[matched.end() :], int(matched[1])
            if weight == 0:
                raise ValueError(
                    f"a weight is at least 1, but there is a 0 in {shown(line.strip())}"
                )
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
            raise ValueError(f"the grammar cannot be read at {shown(rest[:20])} in {shown(line)}")
        rest = rest[matched.end() :]
