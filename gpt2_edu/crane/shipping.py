"""Crane World as JSON, for pages that write and judge stories themselves.

The grammar is parsed here, so that JavaScript (web/language) needs no parser of grammar.md.
"""

from __future__ import annotations

from typing import Any

from .grammar import Grammar
from .notation import Item, Slot

_NOT_SHIPPED = ("tested", "withheld")  # tables that only describe the others


def shipped(grammar: Grammar) -> dict[str, Any]:
    """The grammar as JSON holds it: lists, slots, tables, and the pairs withheld from training.

    An entry of a list is [weight, items]; an item is a word, or the index of a slot. A slot is
    [source, name, say, unlike, capital]. A table has its keys, and the text of its cells by column,
    but for columns with several alternatives in a cell: rows are not compared by those.
    """
    numbers: dict[Slot, int] = {}

    def item(given: Item) -> str | int:
        return given if isinstance(given, str) else numbers.setdefault(given, len(numbers))

    lists = {
        name: [[entry.weight, [item(one) for one in entry.items]] for entry in entries]
        for name, entries in grammar.lists.items()
        if name.partition(".")[0] not in _NOT_SHIPPED
    }
    tables = {
        name: {
            "keys": table.keys,
            "cells": {
                column: [cells[key] for key in table.keys]
                for column, cells in table.cells.items()
                if not any("/" in text for text in cells.values())
            },
        }
        for name, table in grammar.tables.items()
        if name not in _NOT_SHIPPED
    }
    return {
        "lists": lists,
        "slots": [[s.source, s.name, s.say, s.unlike, s.capital] for s in numbers],
        "tables": tables,
        "withheld": list(grammar.withheld.values()),
    }
