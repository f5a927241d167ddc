"""Questions about stories of Crane World: ``ask`` asks one, ``judge_answer`` marks an answer.

Both use the page questions.md. Its lines have slots of the grammar, which repeat what the story
said there. So a story is first read as facts: the words of each slot by its name, such as
``{"who": "Mara", "s.place": "by the river"}``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from ..machine.messages import join_some, short_repr
from .grammar import EVERYTHING, Grammar, Value, crane_world
from .notation import Item, Slot, Table, alternatives, parse_grammar
from .parsing import State, initial_state, join_words, scan_words, steps_by_word
from .sampling import SplitMix64, _sample_once

Facts = Mapping[str, str]
Line = tuple[Item, ...]

HELD_OUT = ("form", "thing")
_COLUMNS = {"question": ("kind", "after", "answer", "asked", "otherwise"), "prompt": ("begun",)}
_THING = "thing"  # the variable that the rule ``unasked`` is about


@dataclass(frozen=True)
class Exchange:
    """A story, a question about it, and the answer."""

    story: str
    question: str
    answer: str  # the shortest right one
    kind: str  # one of ``kinds()``
    begun: str | None  # the beginning of a sentence that goes on with the answer, if there is one


@dataclass(frozen=True)
class Question:
    """A row of questions.md. Of several lines in a cell, those count that the story can fill."""

    kind: str
    after: tuple[str, ...]  # what the story must have gone through
    asked: tuple[Line, ...]
    otherwise: tuple[Line, ...]  # forms that are kept for tests
    begun: tuple[Line, ...]
    answer: tuple[Line, ...]


class Questions:
    """The parsed page. Raises ValueError if it is inconsistent, by itself or with the grammar."""

    def __init__(self, page: str, grammar: Grammar) -> None:
        self.grammar = grammar
        source = parse_grammar(page)
        self._tables = source.tables
        self._sources = {
            ".".join(item.source) if item.name is None else item.name
            for entries in grammar.lists.values()
            for entry in entries
            for item in entry.items
            if isinstance(item, Slot)
        } | set(grammar.starts)
        self._check_tables()
        cells, begun = self._tables["question"].cells, self._tables["prompt"].cells["begun"]
        unasked = source.rules.get("unasked", ())
        self.unasked = {" ".join(map(str, entry.items)) for entry in unasked}
        self.rows = [
            Question(
                kind=cells["kind"][name],
                after=tuple(map(self._known, cells["after"][name].split())),
                asked=self._lines(cells["asked"][name]),
                otherwise=self._lines(cells["otherwise"][name]),
                begun=self._lines(begun[name]) if name in begun else (),
                answer=self._lines(cells["answer"][name]),
            )
            for name in self._tables["question"].keys
        ]

    def answer(self, row: Question, facts: Facts) -> str | None:
        """The answer to a question; None if it cannot be asked about this story."""
        passed = all(name in facts for name in row.after)
        return self.say(row.answer, facts) if passed else None

    def texts(self, row: Question, facts: Facts, held_out: str | None = None) -> list[str]:
        """A question in each form of ``held_out``; none if that excludes it, or the story does."""
        about_unasked = self.names_thing(row) and facts.get(_THING) in self.unasked
        if about_unasked != (held_out == "thing") or self.answer(row, facts) is None:
            return []
        lines = row.otherwise if held_out == "form" else row.asked
        if held_out == "thing":
            lines = tuple(line for line in lines if _slot_of(line, _THING))
        return [text for line in lines if (text := self._fill(line, facts)) is not None]

    def is_text_of(self, row: Question, text: str, facts: Facts) -> bool:
        """Whether a question is asked in these words, in any of its forms."""
        return any(self._fill(line, facts) == text for line in (*row.asked, *row.otherwise))

    def names_thing(self, row: Question) -> bool:
        """Whether some form of a question names the thing that the story is about."""
        return any(_slot_of(line, _THING) for line in (*row.asked, *row.otherwise))

    def say(self, lines: Iterable[Line], facts: Facts) -> str | None:
        """The first line that the story can fill."""
        return next((said for line in lines if (said := self._fill(line, facts))), None)

    def _fill(self, line: Line, facts: Facts) -> str | None:
        """A line's text; None if the story never filled one of its slots."""
        words: list[str] = []
        for item in line:
            said = item if isinstance(item, str) else self._recall(item, facts)
            if said is None:
                return None
            words += said.split()
        return join_words(words)

    def _recall(self, slot: Slot, facts: Facts) -> str | None:
        """What a story said in a slot, or the cell of this page in a remembered row."""
        name = ".".join(slot.source)
        if name in facts or len(slot.source) == 1:
            return facts.get(name)
        return self._column(slot).get(facts.get(slot.source[0], ""))

    def _column(self, slot: Slot) -> dict[str, str]:
        """The cells of this page for a slot such as {s.meaning}; {} if it has none."""
        table = self._tables.get(self.grammar.variables.get(slot.source[0], ""), Table())
        return table.cells.get(slot.source[-1], {})

    # ---- Validation

    def _check_tables(self) -> None:
        """Raise ValueError if a column is missing, or a row is of a key that does not exist."""
        for name, columns in _COLUMNS.items():
            for column in columns:
                if name not in self._tables or column not in self._tables[name].cells:
                    raise ValueError(f"the page of questions lacks the column {name}.{column}")
        known = self.grammar.tables | {"prompt": self._tables["question"]}
        for name, table in self._tables.items():
            if name != "question" and not set(table.keys) <= set(known.get(name, Table()).keys):
                raise ValueError(f"the table {short_repr(name)} has a row of an unknown name")

    def _lines(self, cell: str) -> tuple[Line, ...]:
        return tuple(
            self._line(entry.items) for entry in alternatives(cell) for _ in range(entry.weight)
        )

    def _line(self, items: Line) -> Line:
        """The same line. Raises ValueError for a slot that repeats nothing."""
        for slot in items:
            if not isinstance(slot, Slot):
                continue
            name = ".".join(slot.source)
            if slot.name or slot.unlike or slot.capital or not slot.say:
                raise ValueError(
                    "a question only repeats what the story said, so its slots have no brackets, "
                    f"colon, minus or ^, unlike that of {short_repr(name)}"
                )
            if not self._column(slot):
                self._known(name)
        return items

    def _known(self, name: str) -> str:
        if name not in self._sources:
            raise ValueError(f"no story fills a slot {short_repr(name)}, which a question mentions")
        return name


def _slot_of(line: Line, name: str) -> bool:
    return any(isinstance(item, Slot) and item.source == (name,) for item in line)


@cache
def crane_questions() -> Questions:
    """The questions of questions.md."""
    page = (files("gpt2_edu.crane") / "questions.md").read_text(encoding="utf-8")
    return Questions(page, crane_world())


@cache
def kinds() -> tuple[str, ...]:
    """The kinds of questions: "who", "friend", "where", "colour", "count" and "sense"."""
    return tuple(dict.fromkeys(row.kind for row in crane_questions().rows))


def ask(seed: int, *, held_out: str | None = None) -> Exchange:
    """A question about a story, with its answer; for a seed the same on every machine.

    All kinds are equally likely, and so are the questions of a kind. The story is from the training
    distribution. Without ``held_out``, question and form are such as training uses; with "form" the
    form is one that it never uses, and with "thing" the question is about a thing that it never
    asks about. Raises ValueError for another name or a seed outside 0 … 2^64 - 1, and TypeError for
    a seed that is not an int.
    """
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise TypeError(f"seed must be a whole number, got {seed!r}")
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"seed must be from 0 to 2^64 - 1, got {seed}")
    _check_held_out(held_out)
    questions, random = crane_questions(), SplitMix64(seed)
    rows = [row for row in questions.rows if held_out != "thing" or questions.names_thing(row)]
    asked = list(dict.fromkeys(row.kind for row in rows))
    kind = asked[random.below(len(asked))]
    rows = [row for row in rows if row.kind == kind]
    row = rows[random.below(len(rows))]
    while True:  # until a story can be asked this
        story, _ = _sample_once(crane_world(), random, None, annotate=False)
        facts = _facts(crane_world(), story.filled)
        if texts := questions.texts(row, facts, held_out):
            question, answer = texts[random.below(len(texts))], questions.answer(row, facts)
            assert answer is not None, "a question without an answer has no texts"
            return Exchange(story.text, question, answer, kind, questions.say(row.begun, facts))


def questions_about(story: str, *, held_out: str | None = None) -> list[Exchange]:
    """All questions that ``ask`` can ask about a story, in the order of questions.md.

    Any story of the language; ``held_out`` as for ``ask``. Raises ValueError for another text, and
    for another name.
    """
    _check_held_out(held_out)
    questions, facts = crane_questions(), _read(story)
    found = []
    for row in questions.rows:
        if (answer := questions.answer(row, facts)) is not None:
            begun = questions.say(row.begun, facts)
            texts = questions.texts(row, facts, held_out)
            found += [Exchange(story, text, answer, row.kind, begun) for text in texts]
    return found


def judge_answer(story: str, question: str, answer: str) -> bool:
    """Whether an answer is the shortest right one; whitespace at its ends is ignored.

    Any story of the language, and any form of any question. Raises ValueError for another text as
    story, and for a question that questions.md cannot ask about it.
    """
    for name, text in {"story": story, "question": question, "answer": answer}.items():
        if not isinstance(text, str):
            raise TypeError(f"{name} must be a text, got {type(text).__name__}")
    questions, facts = crane_questions(), _read(story)
    rows = [row for row in questions.rows if questions.is_text_of(row, question, facts)]
    right = {questions.answer(row, facts) for row in rows} - {None}
    if not right:
        raise ValueError(f"{short_repr(question)} is no question about this story")
    return answer.strip() in right


def _check_held_out(held_out: str | None) -> None:
    if held_out not in (None, *HELD_OUT):
        raise ValueError(f"held_out must be None or one of {join_some(HELD_OUT)}, got {held_out!r}")


# ---- What a story says ---------------------------------------------------------------------------


def _facts(grammar: Grammar, filled: Iterable[tuple[Slot, Value]]) -> dict[str, str]:
    """The words of each slot, by its variable or source; "" if it expands to slots."""
    facts = {}
    for slot, (name, i) in filled:
        if name in grammar.tables:
            said = grammar.tables[name].keys[i]
        else:
            items = grammar.lists[name][i].items
            said = (
                "" if any(isinstance(item, Slot) for item in items) else " ".join(map(str, items))
            )
        facts[slot.name or ".".join(slot.source)] = said
    return facts


@lru_cache(maxsize=4096)
def _read(story: str) -> Facts:
    """The facts of a story, found by parsing it. Raises ValueError for any other text."""
    grammar = crane_world()
    # The choices that led to each state, as a chain of (earlier ones, index of a word, choices).
    states: dict[State, Any] = {initial_state(grammar, "story"): None}
    words: list[str] = []
    for word, _ in scan_words(story):
        found: dict[State, Any] = {}
        for state, chain in states.items():
            for after, choices in steps_by_word(grammar, state, EVERYTHING).get(word, ()):
                found.setdefault(after, (chain, len(words), choices))
        if not found:
            raise ValueError(f"this is no story of Crane World: {short_repr(story)}")
        states = found
        words.append(word or "")
    (_, memory), chain = next(iter(states.items()))
    values = dict(zip(grammar.variables, memory, strict=True))
    filled: list[tuple[Slot, Value]] = []
    while chain is not None:
        chain, at, choices = chain
        for slot, before, _ in choices:
            value = values[slot.name] if slot.name else None
            for option in () if value else grammar.options(slot, before, EVERYTHING):
                said = [str(item).lower() for item in option.items]
                if value is None or said == [w.lower() for w in words[at : at + len(said)]]:
                    value = option.value
            assert value is not None, "a slot was filled with nothing"
            filled.append((slot, value))
    return _facts(grammar, reversed(filled))
