"""Pages get all of the grammar; that they read it as Python does is tested in web/test."""

from __future__ import annotations

import base64
import gzip
import json
from itertools import chain
from typing import Any

import numpy as np
import pytest

from gpt2_edu import load_tokenizer, web
from gpt2_edu.crane.grammar import Grammar, crane_world
from gpt2_edu.crane.notation import Item, Slot
from gpt2_edu.crane.shipping import shipped
from gpt2_edu.machine.files import read_json
from tests.crane.small_grammars import PAGES, page


def as_tuple(item: Item) -> Any:
    if isinstance(item, str):
        return item
    return item.source, item.name, item.say, item.unlike, item.capital


@pytest.mark.parametrize("name", ["crane", *PAGES])
def test_all_lists_and_slots_are_shipped(name):
    grammar = crane_world() if name == "crane" else Grammar(page(PAGES[name] + "\nsentence: a"))
    read = json.loads(json.dumps(shipped(grammar)))
    slots = [(tuple(source), *rest) for source, *rest in read["slots"]]
    lists = {
        name: [
            (weight, [slots[i] if isinstance(i, int) else i for i in items])
            for weight, items in entries
        ]
        for name, entries in read["lists"].items()
    }
    assert lists == {
        name: [(entry.weight, [as_tuple(item) for item in entry.items]) for entry in entries]
        for name, entries in grammar.lists.items()
        if not name.startswith(("tested", "withheld"))
    }
    assert read["withheld"] == [list(pair) for pair in grammar.withheld.values()]


def test_every_cell_that_a_choice_depends_on_is_shipped():
    """A column with several alternatives in a cell is not, so no choice may depend on it."""
    grammar = crane_world()
    tables = shipped(grammar)["tables"]
    assert {name: table["keys"] for name, table in tables.items()} == {
        name: table.keys for name, table in grammar.tables.items() if name in tables
    }
    needed = {first for first, _ in grammar.withheld.values() if "." in first}
    for item in chain.from_iterable(e.items for e in chain.from_iterable(grammar.lists.values())):
        if isinstance(item, Slot) and item.unlike:
            columns = getattr(grammar.tables.get(grammar.variables[item.unlike]), "cells", ())
            needed |= {f"{item.unlike}.{column}" for column in columns}
        if isinstance(item, Slot) and item.name is None and item.source[0] in grammar.variables:
            needed |= {f"{item.source[0]}.{column}" for column in item.source[1:-1]}
    assert {"s.word", "s.other", "who.they", "a.where"} <= needed
    for variable, _, column in (name.partition(".") for name in needed):
        table = grammar.variables[variable]
        cells = grammar.tables[table].cells[column]
        assert tables[table]["cells"][column] == [cells[key] for key in tables[table]["keys"]]


def test_the_script_has_what_a_page_needs_and_is_small():
    script = web.files_script("crane_grammar")
    before, _, after = script.partition(" = ")
    assert before == "(globalThis.gpt2Files ??= {}).crane_grammar"
    read = json.loads(after.rstrip(";\n"))
    assert base64.b64decode(read["merges"]) == web.merges(load_tokenizer("crane"))
    assert len(gzip.compress(script.encode())) < 11 * 1024

    measured = read_json(web.ASSETS / "crane" / "measures.json")["metrics"]["validation"]
    assert np.average(read["floor"], weights=measured["counts"]) == pytest.approx(
        measured["floor"], abs=1e-4
    )
