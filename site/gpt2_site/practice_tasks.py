"""What a page needs to check an answer by itself: made from the exercise's own file.

The right value, the values of its known mistakes with what to tell their author, and how far a
number may lie off: the same as ``gpt2_edu.exercises.check`` has. The page gets it encoded, so that
nobody reads the answer by accident. _static/judge.js compares.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from torch import Tensor

from gpt2_edu.exercises.exercise import Exercise
from gpt2_edu.exercises.parts import execute
from gpt2_site.make_practice import MARKDOWN


def answered_in_page(exercise: Exercise) -> bool:
    """Whether the answer is a value: then it can be typed."""
    return exercise.checked and exercise.cases is None


def task(exercise: Exercise) -> dict[str, Any]:
    """All that judge.js needs."""
    right = leaves(exercise.right)
    # Two mistakes may have the same value; the first one is named, as in Python.
    values = [
        (execute(exercise, exercise.code_of(mistake)), mistake.message)
        for mistake in exercise.mistakes
    ]
    kind = kind_of(exercise.right, [value for value, _ in values])
    mistakes = [
        {"value": [plain(leaf) for _, leaf in leaves(value)], "says": runs(message)}
        for value, message in values
        if (kind == "list" or same_form(value, exercise.right))
        and can_be_typed(value)
        and [leaf for _, leaf in leaves(value)] != [leaf for _, leaf in right]
    ]
    numbers = [leaf for _, leaf in right if not isinstance(leaf, str)]
    share = kind != "list" and any(0 < leaf < 1 for leaf in numbers)
    return {
        "kind": kind,
        "right": [plain(leaf) for _, leaf in right],
        "tolerance": exercise.tolerance,
        "mistakes": mistakes,
        "share": share and all(0 <= leaf <= 1 for leaf in numbers),
        "unit": "nats" if "in nats" in exercise.task else "",
        "after": exercise.after(exercise.right) if exercise.after else "",
    }


def kind_of(right: Any, mistakes: list[Any]) -> str:
    """What there is to type: a number or several, a list of any length, words or tokens."""
    written = [leaf for value in (right, *mistakes) for _, leaf in leaves(value)]
    if any(isinstance(leaf, str) for _, leaf in leaves(right)):
        spaced = any(isinstance(leaf, str) and leaf != leaf.strip() for leaf in written)
        return "tokens" if spaced else "words"
    if not isinstance(right, list | tuple | Mapping | Tensor):
        return "number"
    # Where most get the length wrong, it is part of the question: fields would give it away.
    others = sum(len(leaves(value)) != len(leaves(right)) for value in mistakes)
    flat = isinstance(right, list) and not any(isinstance(part, list) for part in right)
    return "list" if flat and 2 * others > len(mistakes) else "numbers"


def leaves(value: Any) -> list[tuple[str, Any]]:
    """Every number or word of a value, in order, with what to call its field."""

    def walk(value: Any, name: str) -> Iterator[tuple[str, Any]]:
        if isinstance(value, Tensor):
            value = value.tolist()
        if isinstance(value, Mapping):
            for key, part in value.items():
                yield from walk(part, f"{name}{', ' * bool(name)}{key}")
        elif isinstance(value, list | tuple):
            deep = any(isinstance(part, list | tuple | Mapping) for part in value)
            for i, part in enumerate(value, 1):
                what = "Row" if deep else "Number"
                yield from walk(part, f"{name}{', ' * bool(name)}{what} {i}")
        else:
            yield name, value

    return list(walk(value, ""))


def same_form(value: Any, right: Any) -> bool:
    """Whether a value can be typed in the fields of the right one."""

    def form(value: Any) -> list[tuple[str, bool]]:
        return [(name, isinstance(leaf, str)) for name, leaf in leaves(value)]

    return form(value) == form(right)


def can_be_typed(value: Any) -> bool:
    """Whether a page has a way to type a value: not True and False, and ␣ is read as a space."""
    return not any(isinstance(leaf, bool) or "␣" in str(leaf) for _, leaf in leaves(value))


def plain(leaf: Any) -> Any:
    """A value as JSON holds it."""
    if isinstance(leaf, float) and not math.isfinite(leaf):
        return str(leaf)
    return leaf


def runs(message: str) -> list[list[str]]:
    """A message in pieces, each with the element it is set in, or "": a page sets text as text."""
    found, tag = [], ""
    for token in MARKDOWN.parseInline(message)[0].children:
        if token.nesting:
            tag = token.tag if token.nesting > 0 else ""
        else:
            found.append([token.tag or tag, token.content])
    return found


def encoded(data: object) -> str:
    return base64.b64encode(json.dumps(data).encode()).decode()


def form(exercise: Exercise) -> str:
    """The fields to type an answer in. Without a script to check it, practice.css hides them."""
    data = task(exercise)
    kind, own = data["kind"], leaves(exercise.right)
    name = f"answer-{exercise.name}"
    hint = {
        "list": "numbers, with a space or a comma between them",
        "tokens": "a space may be typed as ␣",
    }.get(kind, "")
    if kind == "list":
        own = [("", None)]
    fields = "".join(
        f'<input id="{name}-{i}" type="text" autocomplete="off" autocapitalize="off" '
        f'autocorrect="off" spellcheck="false" aria-describedby="{name}-verdict"'
        f"{label(kind, i, len(own), field)}>"
        for i, (field, _) in enumerate(own)
    )
    columns = widths(exercise.right)
    wide = f' style="--columns: {columns}"' if columns else ""
    return f"""<form class="answer {kind}" data-exercise="{exercise.name}" data-task="{
        encoded(data)
    }" aria-label="{escape(exercise.title)}">
<div class="ask" role="group" aria-labelledby="{name}"><span id="{name}" class="asked">Your answer{
        f" <small>({hint})</small>" if hint else ""
    }</span><span class="fields"{wide}>{fields}</span><button>Check</button></div>
<p id="{name}-verdict" class="verdict" role="status"></p>
</form>"""


def label(kind: str, place: int, of: int, field: str) -> str:
    if of == 1:
        return ' aria-label="Your answer"'
    shown = field if kind not in ("words", "tokens") else f"Word {place + 1}"
    named = f' placeholder="{escape(field)}"' if not re.match(r"(Number|Row) \d", field) else ""
    return f' aria-label="{escape(shown)} of {of}"{named}'


def widths(right: Any) -> int:
    """How many columns a table of fields has; 0 where it is none."""
    value = right.tolist() if isinstance(right, Tensor) else right
    deep = isinstance(value, list | tuple) and value and isinstance(value[0], list | tuple)
    return len(value[0]) if deep else 0
