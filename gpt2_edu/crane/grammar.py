"""The grammar at work: what may be said next, and how likely it is.

A text is produced from a stack of what is still to be said and from what is remembered. Writing it
(sampling.py), judging it (judging.py) and computing its probability (surprisal.py) all ask this
file for the ways to fill the next slot, so there is one meaning of the grammar.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate, chain

from ..machine.outside import shown
from .notation import Alternative, Item, Slot, Source, alternatives, read

Value = tuple[str, int]  # what a variable remembers: the name of a list, and a place in it
Memory = tuple[Value | None, ...]  # one entry for each variable of the grammar

STARTS = ("story", "sentence")  # the rules that a text begins with
TRAINING, EVERYTHING = "training", "everything"  # without and with what is withheld
_APART = 6  # one pair of choices in six is withheld


@dataclass(frozen=True)
class Option:
    """One way to fill a slot."""

    items: tuple[Item, ...]  # what is then to be said
    value: Value
    probability: float
    until: int  # the weights of all options up to this one, added up


class Grammar:
    """The rules and tables of a page. Raises ValueError if they contradict each other."""

    def __init__(self, page: str) -> None:
        source = read(page)
        self.tables = source.tables
        self.lists = _lists(source)
        entries = chain.from_iterable(self.lists.values())
        slots = [item for entry in entries for item in entry.items if isinstance(item, Slot)]
        # A variable is defined by the slots that name it, always from the same list.
        self.variables = {slot.name: slot.source[0] for slot in slots if slot.name}
        self._number = {name: i for i, name in enumerate(self.variables)}
        self.empty: Memory = (None,) * len(self.variables)  # nothing remembered
        self._tested = self._column("tested", "as")
        first, second = self._column("withheld", "first"), self._column("withheld", "second")
        self.withheld = {name: (first[name], second[name]) for name in first}
        self._check_names()
        self._depends = {slot: self._check(slot) for slot in slots}
        self._filled: dict[tuple[Slot, str, Memory], tuple[Option, ...]] = {}
        self.starts = {name: Slot((name,), None, True, None, False, None) for name in STARTS}
        self._depends |= dict.fromkeys(self.starts.values(), ())

    def remember(self, memory: Memory, slot: Slot, option: Option) -> Memory:
        """The memory after a slot was filled."""
        if slot.name is None:
            return memory
        i = self._number[slot.name]
        return memory[:i] + (option.value,) + memory[i + 1 :]

    def recall(self, memory: Memory, name: str) -> str | None:
        """The key or words that a variable stands for; None if it was not set."""
        value = memory[self._number[name]]
        if value is None:
            return None
        table, i = value
        return self.tables[table].keys[i] if table in self.tables else " ".join(self.words(value))

    def words(self, value: Value) -> tuple[str, ...]:
        """The words of an entry that has no slots in it."""
        items = self.lists[value[0]][value[1]].items
        if not all(isinstance(item, str) for item in items):
            raise ValueError(f"an entry of {shown(value[0])} has slots, so it cannot be said again")
        return items  # type: ignore[return-value]

    # ---- Filling a slot

    def options(self, slot: Slot, memory: Memory, mode: str) -> tuple[Option, ...]:
        """The ways to fill a slot. ``mode``: TRAINING, EVERYTHING, or one name in ``withheld``."""
        key = (slot, mode, tuple([memory[i] for i in self._depends[slot]]))
        found = self._filled.get(key)
        if found is None:
            found = self._filled[key] = self._fill(slot, memory, mode)
        return found

    def _fill(self, slot: Slot, memory: Memory, mode: str) -> tuple[Option, ...]:
        name, only = self._list(slot, memory)
        allowed = {
            i: entry
            for i, entry in enumerate(self.lists[name])
            if (only is None or only == i)
            and not (slot.unlike and self._overlap((name, i), memory, slot.unlike))
            and (mode == EVERYTHING or self._permitted(slot, i, memory, mode))
        }
        sums = list(accumulate(entry.weight for entry in allowed.values()))
        return tuple(
            Option(entry.items if slot.say else (), (name, i), entry.weight / sums[-1], until)
            for (i, entry), until in zip(allowed.items(), sums, strict=True)
        )

    def _list(self, slot: Slot, memory: Memory) -> tuple[str, int | None]:
        """The list that a slot draws from, and the index of its entry if only one is possible."""
        name, *columns = slot.source
        if slot.name is not None or name not in self._number:
            return name, None
        value = memory[self._number[name]]
        assert value is not None, f"{name} is used before it is set"
        for column in columns[:-1]:
            table, i = value
            keys = self.tables[table].keys
            value = (table, keys.index(self.tables[table].cells[column][keys[i]]))
        table, i = value
        if not columns:
            return value[0], i
        return cell(table, columns[-1], self.tables[table].keys[i]), None

    def _overlap(self, value: Value, memory: Memory, other: str) -> bool:
        """Whether two entries have anything in common."""
        second = memory[self._number[other]]
        if second is None or value[0] != second[0]:
            return False
        table = self.tables.get(value[0])
        if table is None:
            return value == second
        rows = (table.row(table.keys[i]) for i in (value[1], second[1]))
        return any(a == b for a, b in zip(*rows, strict=True))

    def _permitted(self, slot: Slot, i: int, memory: Memory, mode: str) -> bool:
        """Whether training, or the test set ``mode``, allows this choice after those before it."""
        for held_out, (first, second) in self.withheld.items():
            if second != self.choice_name(slot):
                continue
            before = self._ordinal(memory, first)
            if before is not None and ((before + i) % _APART == 0) != (mode == held_out):
                return False
        return True

    def _ordinal(self, memory: Memory, choice: str) -> int | None:
        """The index of an earlier choice, or of its cell among the distinct ones."""
        variable, _, column = choice.partition(".")
        value = memory[self._number[variable]]
        if value is None or not column:
            return value and value[1]
        table = self.tables[value[0]]
        distinct = list(dict.fromkeys(table.cells[column].values()))
        return distinct.index(table.cells[column][table.keys[value[1]]])

    def choice_name(self, slot: Slot) -> str | None:
        """A slot's name in the table ``withheld``: its variable, or its rule.

        None where the slot refers to a variable that was set before.
        """
        return slot.name or (None if slot.source[0] in self._number else slot.source[0])

    # ---- What is tested

    def phenomenon(self, slot: Slot) -> str | None:
        """What filling a slot tests; None if nothing said before decides it."""
        if slot.phenomenon is not None:
            return slot.phenomenon or None
        variable, *columns = slot.source
        if slot.name is not None or variable not in self.variables:
            return None
        return self._tested.get(".".join([self.variables[variable], *columns]))

    def distractors(self, slot: Slot, memory: Memory, turn: int = 0) -> Iterator[tuple[str, ...]]:
        """Words that would wrongly fill a tested slot, the most tempting first.

        These are the entries of other rows: first of the other sense, then of rows that the text
        has mentioned, then of the rest. ``turn`` is the entry of a cell to begin with, so that the
        first distractor varies.
        """
        name, only = self._list(slot, memory)
        seen = {self.words((name, i)) for i in range(len(self.lists[name])) if only in (None, i)}
        variable, *columns = slot.source
        own = memory[self._number[variable]]
        assert own is not None
        table = own[0]
        others = [value[1] for value in memory if value and value[0] == table and value != own]
        if columns and "other" in self.tables[table].cells:
            keys = self.tables[table].keys
            others.insert(0, keys.index(self.tables[table].cells["other"][keys[own[1]]]))
        others += [i for i in range(len(self.lists[table])) if i not in others]
        for i in others:
            name = cell(table, columns[-1], self.tables[table].keys[i]) if columns else table
            entries = range(len(self.lists[name])) if columns else [i]
            for entry in entries:
                words = self.words((name, (entry + turn) % len(entries) if columns else entry))
                if words not in seen:
                    seen.add(words)
                    yield words

    # ---- Checks of the page

    def _column(self, table: str, column: str) -> dict[str, str]:
        if table not in self.tables:
            return {}
        if not self._has(table, column):
            raise ValueError(f"the table {shown(table)} has no column {shown(column)}")
        return self.tables[table].cells[column]

    def _check_names(self) -> None:
        """Raises ValueError if the tables ``tested`` and ``withheld`` name something undefined."""
        entries = [("tested", entry, entry.partition(".")[0]) for entry in self._tested]
        for first, second in self.withheld.values():
            entries.append(("withheld", first, self.variables.get(first.partition(".")[0], "")))
            entries.append(("withheld", second, self.variables.get(second, second)))
        for table, entry, name in entries:
            column = entry.partition(".")[2]
            if name not in self.lists or (column and not self._has(name, column)):
                raise ValueError(
                    f"the table {shown(table)} speaks of {shown(entry)}, which nothing defines"
                )

    def _has(self, table: str | None, column: str) -> bool:
        return table in self.tables and column in self.tables[table].cells

    def _check(self, slot: Slot) -> tuple[int, ...]:
        """The variables that a slot depends on. Raises ValueError for an undefined name."""
        name, *columns = slot.source
        known = name in self.lists or (name in self.variables and slot.name is None)
        if not known or (slot.unlike and slot.unlike not in self.variables):
            raise ValueError(f"the grammar speaks of {shown(name)}, which it does not define")
        table = self.variables.get(name) if slot.name is None else None
        for column in columns:
            if not self._has(table, column):
                raise ValueError(f"the grammar speaks of {name}.{column}, which it does not define")
        needed = [name] if table else []
        needed += [slot.unlike] if slot.unlike else []
        choice = self.choice_name(slot)
        needed += [
            first.partition(".")[0] for first, second in self.withheld.values() if second == choice
        ]
        return tuple(self._number[variable] for variable in needed)


def cell(table: str, column: str, key: str) -> str:
    """The name of a table cell in ``Grammar.lists``."""
    return f"{table}.{column}.{key}"


def _lists(source: Source) -> dict[str, tuple[Alternative, ...]]:
    """Everything that can fill a slot: rules, the keys of tables, and their cells."""
    lists = dict(source.rules)
    for name, table in source.tables.items():
        if name in lists:
            raise ValueError(f"{shown(name)} is both a rule and a table in the grammar")
        lists[name] = tuple(next(alternatives(key)) for key in table.keys)
        for column, cells in table.cells.items():
            for key, text in cells.items():
                lists[cell(name, column, key)] = tuple(alternatives(text))
    return lists


@cache
def crane_world() -> Grammar:
    """The grammar of grammar.md."""
    return Grammar((files("gpt2_edu.crane") / "grammar.md").read_text(encoding="utf-8"))
