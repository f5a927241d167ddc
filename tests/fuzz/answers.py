"""Answers that were written without sight of the solutions and of the known mistakes.

``tests/exercises/held_out`` has a file for each chapter with the answers to its exercises, as a
learner may give them: "right" and "wrong" ones; "harmless" ones, which their writer took for wrong,
and which give what is asked for; and "refused" ones, right in themselves, which need what ``build``
does not take, or fail on a GPU. Those of chapters 22 and 24 were written with sight of the
solutions, before the mistakes that they make were named.
"""

from __future__ import annotations

import contextlib
import io
import json
import linecache
import random
from pathlib import Path
from typing import NamedTuple

from gpt2_edu.exercises import mine, parts
from gpt2_edu.exercises.checking import examine
from gpt2_edu.exercises.exercise import BUILD, find, find_step
from gpt2_edu.exercises.source import definitions
from tests.fuzz.tally import Tally

FOLDER = Path(__file__).parents[1] / "exercises" / "held_out"


class Answer(NamedTuple):
    """An answer to an exercise, or to a chapter's step; the parts that are not the solution's."""

    chapter: str
    name: str  # "build" for the step
    kind: str
    code: str


class Verdict(NamedTuple):
    """What became of an answer, and whether its mistake was named."""

    passed: bool
    named: bool


def answers() -> list[Answer]:
    found = []
    for file in sorted(FOLDER.glob("*.json")):
        for name, kinds in json.loads(file.read_text("utf-8")).items():
            found += [Answer(file.stem, name, kind, code) for kind in kinds for code in kinds[kind]]
    return found


def verdict(answer: Answer) -> Verdict:
    if answer.name == BUILD:
        step = find_step(answer.chapter)
        report, _ = mine._examine(step, definitions(step.solution) | definitions(answer.code), {})
        return Verdict(report.passed, bool(report.diagnosis))
    exercise = find(answer.name)
    file, lines = f"<{answer.name}>", answer.code.splitlines(keepends=True)
    linecache.cache[file] = (len(answer.code), None, lines, file)  # as of a notebook's cell
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            given = parts.execute(exercise, answer.code, parts.solutions)
    except Exception:  # the cell itself says what is wrong
        return Verdict(False, False)
    report = examine(exercise, given)
    return Verdict(report.passed, bool(report.diagnosis))


def sample(tries: int, seed: int = 0) -> list[Answer]:
    """At least so many answers, if there are: all that were given to some exercises.

    What is computed of an exercise serves all answers to it.
    """
    found = answers()
    asked = list(dict.fromkeys((answer.chapter, answer.name) for answer in found))
    random.Random(seed).shuffle(asked)
    found.sort(key=lambda answer: asked.index((answer.chapter, answer.name)))
    last = found[:tries][-1]
    return [a for i, a in enumerate(found) if i < tries or a[:2] == last[:2]]


def fuzz(tries: int, seed: int = 0) -> Tally:
    """Clear is a wrong answer whose mistake is named, right an answer that is judged rightly."""
    tally = Tally()
    for answer in sample(tries, seed):
        found = verdict(answer)
        if found.passed == (answer.kind in ("wrong", "refused")):
            tally.count(
                "wrong", f"{answer.kind} answer to {answer.chapter}, {answer.name}:\n{answer.code}"
            )
        else:
            tally.count("clear" if found.named else "right")
    return tally
