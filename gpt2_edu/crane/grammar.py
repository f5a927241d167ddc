"""The grammar of Crane World: the ways to fill a slot, with their probabilities.

The state of a derivation is a stack of items still to be expanded and a memory of variables.
Sampling (sampling.py), parsing (judging.py) and exact probabilities (surprisal.py) all call
``Grammar.options``, so they agree on what the grammar means.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate, chain

from ..machine.messages import short_repr
from .notation import Alternative, Item, Slot, Source, alternatives, parse_grammar

Value = tuple[str, int]  # a variable's value: the name of a list, and an index in it
Memory = tuple[Value | None, ...]  # the value of each variable; None if not set

STARTS = ("story", "sentence")  # start symbols
TRAINING, EVERYTHING = "training", "everything"  # without and with the withheld pairs
_WITHHELD_EVERY = 6  # one pair of choices in six is withheld from training


@dataclass(frozen=True)
class Option:
    """One way to fill a slot."""

    items: tuple[Item, ...]  # what the slot expands to
    value: Value
    probability: float
    cumulative: int  # sum of the weights up to and including this option


class Grammar:
    """A parsed grammar. Raises ValueError if its rules and tables are inconsistent."""

    def __init__(self, page: str) -> None:
        source = parse_grammar(page)
        self.tables = source.tables
        self.lists = _lists(source)
        self._words = {
            name: [_words(entry) for entry in entries] for name, entries in self.lists.items()
        }
        entries = chain.from_iterable(self.lists.values())
        slots = [item for entry in entries for item in entry.items if isinstance(item, Slot)]
        # A variable is defined by the slots that name it, always from the same list.
        self.variables = {slot.name: slot.source[0] for slot in slots if slot.name}
        self._variable_index = {name: i for i, name in enumerate(self.variables)}
        self.empty: Memory = (None,) * len(self.variables)  # no variable is set
        self._phenomena = self._column("tested", "as")
        first, second = self._column("withheld", "first"), self._column("withheld", "second")
        self.withheld = {name: (first[name], second[name]) for name in first}
        self._check_names()
        self._dependencies = {slot: self._dependencies_of(slot) for slot in slots}
        self._options: dict[tuple[Slot, str, Memory], tuple[Option, ...]] = {}
        self.starts = {name: Slot((name,), None, True, None, False, None) for name in STARTS}
        self._dependencies |= dict.fromkeys(self.starts.values(), ())

    def remember(self, memory: Memory, slot: Slot, option: Option) -> Memory:
        """The memory after filling a slot with an option."""
        if slot.name is None:
            return memory
        i = self._variable_index[slot.name]
        return memory[:i] + (option.value,) + memory[i + 1 :]

    def recall(self, memory: Memory, name: str) -> str | None:
        """The key or words of a variable; None if it is not set."""
        value = memory[self._variable_index[name]]
        if value is None:
            return None
        table, i = value
        return self.tables[table].keys[i] if table in self.tables else " ".join(self.words(value))

    def words(self, value: Value) -> tuple[str, ...]:
        """The words of an entry. Raises ValueError if it contains slots."""
        words = self._words[value[0]][value[1]]
        if words is None:
            raise ValueError(
                f"an entry of {short_repr(value[0])} has slots, so it cannot be repeated"
            )
        return words

    # ---- Filling a slot

    def options(self, slot: Slot, memory: Memory, mode: str) -> tuple[Option, ...]:
        """The ways to fill a slot. ``mode``: TRAINING, EVERYTHING, or one name in ``withheld``."""
        key = (slot, mode, tuple([memory[i] for i in self._dependencies[slot]]))
        options = self._options.get(key)
        if options is None:
            options = self._options[key] = self._compute_options(slot, memory, mode)
        return options

    def _compute_options(self, slot: Slot, memory: Memory, mode: str) -> tuple[Option, ...]:
        name, only = self._source_list(slot, memory)
        allowed = {
            i: entry
            for i, entry in enumerate(self.lists[name])
            if (only is None or only == i)
            and not (slot.unlike and self._have_common_cell((name, i), memory, slot.unlike))
            and (mode == EVERYTHING or self._is_allowed(slot, i, memory, mode))
        }
        sums = list(accumulate(entry.weight for entry in allowed.values()))
        return tuple(
            Option(entry.items if slot.say else (), (name, i), entry.weight / sums[-1], cumulative)
            for (i, entry), cumulative in zip(allowed.items(), sums, strict=True)
        )

    def _source_list(self, slot: Slot, memory: Memory) -> tuple[str, int | None]:
        """The name of the list that a slot draws from, and the only possible index or None."""
        name, *columns = slot.source
        if slot.name is not None or name not in self._variable_index:
            return name, None
        value = memory[self._variable_index[name]]
        assert value is not None, f"{name} is used before it is set"
        for column in columns[:-1]:
            table, i = value
            keys = self.tables[table].keys
            value = (table, keys.index(self.tables[table].cells[column][keys[i]]))
        table, i = value
        if not columns:
            return value[0], i
        return cell(table, columns[-1], self.tables[table].keys[i]), None

    def _have_common_cell(self, value: Value, memory: Memory, other: str) -> bool:
        """Whether a value equals a variable's, or their table rows have an equal cell."""
        second = memory[self._variable_index[other]]
        if second is None or value[0] != second[0]:
            return False
        table = self.tables.get(value[0])
        if table is None:
            return value == second
        rows = (table.row(table.keys[i]) for i in (value[1], second[1]))
        return any(a == b for a, b in zip(*rows, strict=True))

    def _is_allowed(self, slot: Slot, i: int, memory: Memory, mode: str) -> bool:
        """Whether training, or the test set ``mode``, allows entry i after the earlier choices."""
        for held_out, (first, second) in self.withheld.items():
            if second != self.choice_name(slot):
                continue
            earlier = self._choice_index(memory, first)
            if earlier is not None and ((earlier + i) % _WITHHELD_EVERY == 0) != (mode == held_out):
                return False
        return True

    def _choice_index(self, memory: Memory, choice: str) -> int | None:
        """The index of an earlier choice, or of its cell among the column's distinct cells."""
        variable, _, column = choice.partition(".")
        value = memory[self._variable_index[variable]]
        if value is None or not column:
            return value and value[1]
        table = self.tables[value[0]]
        distinct = list(dict.fromkeys(table.cells[column].values()))
        return distinct.index(table.cells[column][table.keys[value[1]]])

    def choice_name(self, slot: Slot) -> str | None:
        """A slot's name in the table ``withheld``: its variable or rule; None for a reference."""
        return slot.name or (None if slot.source[0] in self._variable_index else slot.source[0])

    # ---- Tests

    def phenomenon(self, slot: Slot) -> str | None:
        """The phenomenon that a slot tests; None if earlier words do not determine its filling."""
        if slot.phenomenon is not None:
            return slot.phenomenon or None
        variable, *columns = slot.source
        if slot.name is not None or variable not in self.variables:
            return None
        return self._phenomena.get(".".join([self.variables[variable], *columns]))

    def distractors(self, slot: Slot, memory: Memory, turn: int = 0) -> Iterator[tuple[str, ...]]:
        """Wrong fillings of a tested slot, the most plausible first.

        They are the entries of other rows: the other sense, then rows already mentioned, then the
        rest. ``turn`` rotates the entries within a cell, so that the first distractor varies.
        """
        name, only = self._source_list(slot, memory)
        seen = {self.words((name, i)) for i in range(len(self.lists[name])) if only in (None, i)}
        variable, *columns = slot.source
        own = memory[self._variable_index[variable]]
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

    # ---- Validation

    def _column(self, table: str, column: str) -> dict[str, str]:
        if table not in self.tables:
            return {}
        self._require_column(table, column, f"{table}.{column}")
        return self.tables[table].cells[column]

    def _require_column(self, table: str | None, column: str, name: str) -> None:
        _require(table in self.tables and column in self.tables[table].cells, name)

    def _check_names(self) -> None:
        """Raise ValueError if the tables ``tested`` and ``withheld`` contain an undefined name."""
        entries = [(entry, entry.partition(".")[0]) for entry in self._phenomena]
        for first, second in self.withheld.values():
            entries.append((first, self.variables.get(first.partition(".")[0], "")))
            entries.append((second, self.variables.get(second, second)))
        for entry, name in entries:
            _require(name in self.lists, entry)
            if column := entry.partition(".")[2]:
                self._require_column(name, column, entry)

    def _dependencies_of(self, slot: Slot) -> tuple[int, ...]:
        """Indices of the variables a slot depends on. Raises ValueError for an undefined name."""
        name, *columns = slot.source
        table = None if slot.name else self.variables.get(name)
        _require(name in self.lists or table is not None, name)
        for column in columns:
            self._require_column(table, column, f"{name}.{column}")
        needed = [name] if table else []
        if slot.unlike:
            _require(slot.unlike in self.variables, slot.unlike)
            needed.append(slot.unlike)
        choice = self.choice_name(slot)
        pairs = self.withheld.values()
        needed += [first.partition(".")[0] for first, second in pairs if second == choice]
        return tuple(self._variable_index[variable] for variable in needed)


def _require(defined: bool, name: str) -> None:
    if not defined:
        raise ValueError(f"the grammar mentions {short_repr(name)}, which is not defined")


def cell(table: str, column: str, key: str) -> str:
    """The name of a table cell in ``Grammar.lists``."""
    return f"{table}.{column}.{key}"


def _lists(source: Source) -> dict[str, tuple[Alternative, ...]]:
    """Alternatives by list name: of rules, of tables (their keys), and of cells."""
    lists = dict(source.rules)
    for name, table in source.tables.items():
        lists[name] = tuple(next(alternatives(key)) for key in table.keys)
        for column, cells in table.cells.items():
            for key, text in cells.items():
                lists[cell(name, column, key)] = tuple(alternatives(text))
    return lists


@cache
def crane_world() -> Grammar:
    """The grammar of grammar.md."""
    return Grammar((files("gpt2_edu.crane") / "grammar.md").read_text(encoding="utf-8"))


def _words(entry: Alternative) -> tuple[str, ...] | None:
    """The words of an entry; None if it has slots."""
    words = tuple(item for item in entry.items if isinstance(item, str))
    return words if len(words) == len(entry.items) else None
