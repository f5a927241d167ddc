"""``check``: what an answer gets right, where it goes wrong, and by which mistake.

The answer and the right one are called with the same arguments. Where they differ, so is every
known mistake of the exercise, and pairs of them: one with the same results as the answer is named.
If there is none, the answer's own code is tried with one change after another (see changes.py), and
the first wrong result is shown beside the right one. Cases that need a part that is not written yet
are left out.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import torch
from torch import Tensor

from . import calling
from .calling import Outcome, attempt, call, can_stop, quietly
from .comparing import (
    difference,
    first_difference,
    in_words,
    is_telling,
    kind_of,
    nearness,
    side_by_side,
)
from .exercise import Case, Exercise, Mistake, changed, find
from .parts import assemble, execute, solutions
from .record import mark_passed
from .redrawing import redrawn
from .repairing import repaired
from .source import definitions, source_of
from .step import Using

PAIRS = 80  # how many pairs of mistakes are tried, up to a second of computing
FOR_ONE = 2.0  # seconds of computing that one of them may take
FOR_CHANGED = 0.2  # and that an answer with a change may take in a case, besides
TIMES = 5  # as long as the right one takes
SEVERAL = 3  # equal results that are no chance, though others have each of them
SHOWN = 10.0  # seconds of computing after which a right answer is not shown at work
RAISES = "NotImplementedError"  # in the start of an exercise, until it is deleted


def check(name: str, answer: Any) -> bool:
    """Check an answer to the exercise called ``name``, and print what was found.

    ``answer`` is the function that the exercise asks for, or the value. Returns whether it is
    right; a right one is recorded in the progress file beside the notebook. Raises ValueError with
    the nearest name for an unknown exercise; nothing else, whatever the answer does.
    """
    exercise = find(name)
    if not exercise.checked:
        print(f"{name}: nothing to check here; compare with the solution in the fold.")
        return False
    report = examine(exercise, answer)
    print(report)
    if report.passed:
        source = _source(exercise, answer) if exercise.cases else None
        if exercise.cases and source is None:
            print(f"  (Not for later exercises: it needs other cells, or is not called {name}.)")
        print(mark_passed(name, source), end="")
        if shown := shown_at_work(exercise, answer):
            print(shown)
    return report.passed


def shown_at_work(exercise: Exercise, answer: Any) -> str:
    """What an answer that is right makes of the trained model.

    Empty if the exercise has no ``after``, or if it fails, takes long or contains NaN.
    """
    if exercise.after is None:
        return ""
    with torch.no_grad():
        told = call(exercise.after, Case("", (answer,)), SHOWN).value or ""
    return "" if re.search(r"\b(nan|inf)\b", told) else told


@dataclass(frozen=True)
class Report:
    """What a check found."""

    name: str
    lines: tuple[str, ...]
    passed: bool = False
    diagnosis: str | None = None  # what the mistake is
    table: tuple[str, ...] = ()  # the answer's numbers beside the right ones
    printed: str = ""  # what the answer printed in the last case that was tried
    notes: tuple[str, ...] = ()  # what else can be said of it

    def __str__(self) -> str:
        lines = [f"  {line}" for line in self.lines]
        lines += [f"    {line}" for line in self.table]
        if self.diagnosis:
            lines.append(f"  {self.diagnosis}")
        lines += [f"  {note}" for note in self.notes]
        if self.printed:
            lines += [
                "  It printed:",
                *(f"    {line[:200]}" for line in self.printed.splitlines()[:10]),
            ]
        return "\n".join([self.name, *lines])


def examine(exercise: Exercise, answer: Any) -> Report:
    """Check, without printing or recording anything."""
    name = exercise.name
    if answer is None or answer is ...:
        return Report(name, ("Not yet: fill in the cell, then run it again.",))
    if exercise.cases is None:
        return _examine_value(exercise, answer)
    if not callable(answer) or inspect.isclass(answer):
        kind = "a class" if inspect.isclass(answer) else kind_of(answer)
        given = f"no   This is {kind}, not a function. Give the function itself, without "
        return Report(name, (f"{given}brackets: check({name!r}, {name}).",))
    return examine_with(exercise, answer)


# ---- A value


def _examine_value(exercise: Exercise, answer: Any) -> Report:
    right = exercise.right
    if isinstance(answer, str) and right == str(right).strip().lower():
        answer = answer.strip().lower()  # a name, however it is spelled
    wrong = difference(answer, right, exercise.tolerance)
    if wrong is None:
        return Report(exercise.name, ("ok   Right.",), passed=True)
    for mistake in exercise.mistakes:
        value = execute(exercise, exercise.code_of(mistake))
        if difference(answer, value, exercise.tolerance) is None:
            return Report(exercise.name, ("no   Not right.",), diagnosis=mistake.message)
    # The value is all that was asked for, so the right one is not printed.
    return Report(
        exercise.name, (f"no   Not right: it {re.split(' where | instead of ', wrong)[0]}.",)
    )


# ---- A function


def examine_with(exercise: Exercise, answer: Callable[..., Any]) -> Report:
    """Check something that can be called with the exercise's cases."""
    name, lines = exercise.name, []
    assert exercise.cases is not None
    cases, wanted = exercise.cases(), _known_outcomes(exercise)
    problem = _signature_problem(answer, cases[0].args)
    if problem:
        return Report(name, (f"no   {problem}",))
    outcomes: list[Outcome] = []
    for case, right in zip(cases, wanted, strict=True):
        outcomes.append(call(answer, case))
        outcome = outcomes[-1]
        if (outcomes[0].error or "").startswith(RAISES) and RAISES in (exercise.start or ""):
            line = "Not yet: fix the function, and delete the line with `raise`."
            return Report(name, (line,))
        if outcome.unwritten:
            continue
        if outcomes[0].value is None and _is_start(exercise, answer):
            return Report(name, ("Not yet: write the function's body.",))
        wrong = _what_is_wrong(outcome, right, exercise.tolerance)
        if wrong:
            lines.append(f"no   {case.label}: it {wrong}")
            return _explained(exercise, answer, outcomes, lines)
        lines.append(f"ok   {case.label}")
    unwritten = _unwritten(outcomes)
    notes = tuple(dict.fromkeys(note for outcome in outcomes for note in outcome.notes))
    printed = outcomes[-1].printed
    return Report(name, (*lines, *unwritten), not unwritten, printed=printed, notes=notes)


def _explained(
    exercise: Exercise, answer: Callable[..., Any], outcomes: list[Outcome], lines: list[str]
) -> Report:
    """The report on an answer whose last outcome so far is the first wrong one."""
    assert exercise.cases is not None
    cases, wanted, first = exercise.cases(), _known_outcomes(exercise), len(outcomes)
    wrong = outcomes[-1]
    if not wrong.timed_out:
        # With cases of their own: the last call may have written into what it was given.
        outcomes = outcomes + Outcomes(exercise.cases, answer)[first:]
    (diagnosis, guess), right = _diagnose(exercise, answer, outcomes, first), wanted[first - 1]
    table: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    if diagnosis is None and wrong.value is not None and right.value is not None:
        table, said = _shown(exercise, cases[first - 1], wrong.value, right.value)
    told = (wrong.error or "").endswith("?")  # a name that is misspelt
    if diagnosis is None and not wrong.timed_out and not told:
        diagnosis = (
            _is_fixed(outcomes, wanted)
            or _is_drawn(exercise, answer, outcomes, first)
            or _repaired(exercise, answer, outcomes)
        )
    return Report(
        exercise.name,
        (*lines, *_unwritten(outcomes)),
        diagnosis=diagnosis or guess,
        table=table,
        printed=wrong.printed,
        notes=(*said, *wrong.notes),
    )


def _unwritten(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """A line that names the parts which are still to be written, if there are any."""
    names = dict.fromkeys(outcome.unwritten for outcome in outcomes if outcome.unwritten)
    return (f"Not yet: write {', '.join(names)}, then run the cell again.",) if names else ()


def _shown(
    exercise: Exercise, case: Case, value: Any, right: Any
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A wrong value beside the right one, and what can be said of it in a sentence."""
    try:
        said = exercise.properties(value, *case.args) if exercise.properties else None
        found = first_difference(value, right, exercise.tolerance)
        table = side_by_side(*found[1:], exercise.tolerance) if found else []
        if not said and found:
            said = in_words(*found[1:], exercise.tolerance)
    except Exception:  # the value may be anything
        return (), ()
    return tuple(table), (said,) if said else ()


def _is_start(exercise: Exercise, answer: Callable[..., Any]) -> bool:
    """Whether the answer is still the exercise's start."""
    assert exercise.start is not None
    functions = answer, execute(exercise, exercise.start, solutions)
    ours, start = (getattr(f, "__code__", None) for f in functions)
    return ours is not None and start is not None and ours.co_code == start.co_code


def _source(exercise: Exercise, answer: Any) -> str | None:
    """The source of a function that passed, if it also passes without names of other cells."""
    try:
        source = source_of(answer)
        alone = examine(exercise, assemble(exercise.name, source)).passed
    except Exception:  # no source, or it fails alone
        return None
    return source if alone else None


class Outcomes(Sequence[Outcome]):
    """The outcomes of a function in every case, each computed when it is first asked for."""

    def __init__(self, cases: Callable[[], list[Case]], function: Callable[..., Any]) -> None:
        self.function, self.cases = function, cases
        self.found: list[Outcome | None] = [None] * len(cases())

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        if (outcome := self.found[i]) is None:
            outcome = self.found[i] = call(self.function, self.cases()[i])
        return outcome


@cache
def _known_outcomes(exercise: Exercise, mistake: Mistake | None = None) -> Outcomes:
    """The outcomes of the right answer, or of a mistake, in every case."""
    assert exercise.cases is not None
    function = exercise.right
    if mistake is not None:
        function = execute(exercise, exercise.code_of(mistake), solutions)
    return Outcomes(exercise.cases, function)


# ---- Which mistake it is


def _diagnose(
    exercise: Exercise, answer: Callable[..., Any], outcomes: Sequence[Outcome], first: int
) -> tuple[str | None, str | None]:
    """The message of the mistake, or of the two, that the answer's outcomes come from, and a guess.

    The best is a mistake with the same outcome in every case. The next are one in each of a step's
    parts, and a pair of mistakes. Then one that is the same in the ``first`` cases, the last of
    which failed, and wherever the answer returns a value: another part may be unfinished. The guess
    is one that is the same in most of the wrong cases, where the others are wrong in a way of
    their own.
    """
    right, tolerance = _known_outcomes(exercise), exercise.tolerance
    wrong = [
        not ours.unwritten and bool(_what_is_wrong(ours, theirs, tolerance))
        for ours, theirs in zip(outcomes, right, strict=False)
    ]
    telling = [
        is_wrong and is_telling(o.value) for is_wrong, o in zip(wrong, outcomes, strict=True)
    ]
    in_part, with_another = None, None
    mistakes = _possible(exercise, answer)
    for mistake in mistakes:
        theirs = _known_outcomes(exercise, mistake)
        if not _same(outcomes[first - 1], theirs[first - 1], tolerance):
            continue
        # One that did not end was the last that was called.
        same = [_same(*both, tolerance) for both in zip(outcomes, theirs, strict=False)]
        if all(same):
            return mistake.message, None
        apart = [i for i, is_same in enumerate(same) if not is_same]
        particular = any(t and is_same for t, is_same in zip(telling, same, strict=True))
        if apart[0] < first:
            continue
        if all(outcomes[i].value is None for i in apart):
            if particular or len(exercise.parts) > 1:
                in_part = in_part or mistake.message
        elif all(wrong[i] for i in apart) and sum(wrong) > 2 * len(apart):
            if particular or sum(wrong) - len(apart) >= SEVERAL:
                with_another = with_another or mistake.message
    said = _of_parts(exercise, answer)
    if not said and any(telling):
        two = _two_mistakes(exercise, mistakes, outcomes, first)
        said = _of_two(two[0].message, two[1].message) if two else None
    more = "(That explains most of the wrong cases, not all.)"
    return said or in_part, f"{with_another} {more}" if with_another else None


def _possible(exercise: Exercise, answer: Callable[..., Any]) -> list[Mistake]:
    """The known mistakes, without those in parts of a step that the reader has not written."""
    if not isinstance(answer, Using) or not answer.left:
        return list(exercise.mistakes)
    books = definitions(exercise.solution)
    codes = [(mistake, definitions(exercise.code_of(mistake))) for mistake in exercise.mistakes]
    return [m for m, code in codes if all(code.get(part) == books[part] for part in answer.left)]


def _two_mistakes(
    exercise: Exercise, mistakes: Sequence[Mistake], outcomes: Sequence[Outcome], first: int
) -> tuple[Mistake, Mistake] | None:
    """The two mistakes that give the answer's outcomes together, among the first PAIRS.

    Mistakes are listed by how common they are; those that explain a case alone are tried before
    others. One that fails where the answer is right is in no pair; where the answer is wrong, one
    of the two is.
    """
    right, tolerance = _known_outcomes(exercise), exercise.tolerance

    def wrong(found: Sequence[Outcome]) -> set[int]:
        both = enumerate(zip(found, right, strict=False))
        return {
            i
            for i, (ours, theirs) in both
            if not outcomes[i].unwritten and _what_is_wrong(ours, theirs, tolerance)
        }

    ours = wrong(outcomes)
    fine = [i for i in range(len(outcomes)) if i not in ours]

    def harmless(mistake: Mistake) -> bool:
        """Whether it leaves right what is right."""
        theirs = _known_outcomes(exercise, mistake)
        return not any(
            _what_is_wrong(theirs[i], right[i], tolerance)
            for i in fine
            if not outcomes[i].unwritten
        )

    def explains(mistake: Mistake) -> bool:
        both = enumerate(zip(outcomes, _known_outcomes(exercise, mistake), strict=False))
        return any(
            i in ours and is_telling(a.value) and _same(a, b, tolerance) for i, (a, b) in both
        )

    able = [m for m in mistakes if m.edits and harmless(m)]
    able.sort(key=lambda mistake: not explains(mistake))
    fails = [wrong(_known_outcomes(exercise, mistake)) for mistake in able]
    pairs = sorted(itertools.combinations(range(len(able)), 2), key=sum)
    tried = 0
    for i, j in pairs:
        one, other = able[i], able[j]
        try:
            code = changed(exercise.solution, *one.edits, *other.edits)
        except ValueError:  # they change the same place
            continue
        if fails[i] | fails[j] != ours:
            continue
        tried += 1
        if tried > PAIRS:
            return None
        if _gives(exercise, code, outcomes, first):
            return one, other
    return None


def _of_two(one: str, other: str) -> str:
    """The messages of two mistakes in one, without sentences that both of them have."""
    first, second = (re.split(r"(?<=[.?]) (?=[A-Z`])", message) for message in (one, other))
    new = " ".join(sentence for sentence in second if sentence not in first)
    return f"Two mistakes at once. {one} And: {new}" if new else f"In two places: {one}"


def _of_parts(exercise: Exercise, answer: Callable[..., Any]) -> str | None:
    """What is said of each of a step's parts alone, if more than one is wrong."""
    failing = _failing(exercise, answer)
    if not isinstance(answer, Using) or len(failing) < 2:
        return None
    apart = answer.apart()
    wrong = {part: examine_with(exercise, apart[part]).diagnosis for part in failing}
    if not any(wrong.values()):
        return None
    return " ".join(
        f"In `{part}`: {said}" if said else f"`{part}` has a mistake, too."
        for part, said in wrong.items()
    )


@lru_cache(maxsize=4)
def _failing(exercise: Exercise, answer: Callable[..., Any]) -> list[str]:
    """The parts of a step that fail with the book's others, if the reader has written several."""
    apart = answer.apart() if isinstance(answer, Using) else {}
    right, cases = _known_outcomes(exercise), exercise.cases
    assert cases is not None
    return [
        part
        for part, alone in apart.items()
        if any(
            _what_is_wrong(*both, exercise.tolerance)
            for both in zip(Outcomes(cases, alone), right, strict=True)
        )
    ]


def _is_fixed(outcomes: Sequence[Outcome], wanted: Sequence[Outcome]) -> str | None:
    """What to say where the answer has one result in all cases, and the right ones differ."""

    def fixed(found: Sequence[Outcome]) -> bool:
        return all(o.value is not None and _same(found[0], o, 0.0) for o in found)

    if len(outcomes) < 2 or not fixed(outcomes) or fixed(wanted):
        return None
    return "Your result is the same in every case. Compute it from what is given."


def _is_drawn(
    exercise: Exercise, answer: Callable[..., Any], outcomes: Sequence[Outcome], first: int
) -> str | None:
    """What to say where the answer's first wrong result depends on the seed, and must not."""
    cases = exercise.cases
    assert cases is not None
    own, right = outcomes[first - 1], _known_outcomes(exercise)[first - 1]

    def again(function: Callable[..., Any], known: Outcome, seed: int) -> bool:
        found = call(function, cases()[first - 1], seed=seed)
        return _same(known, found, exercise.tolerance)

    # Objects of their own, such as generators, are never equal.
    if again(answer, own, 1) or not (again(answer, own, 0) and again(exercise.right, right, 1)):
        return None
    return (
        "Your result is another with every seed, so something in it is drawn at random: a new "
        "layer's weights, for one, or dropout. Use what is given."
    )


def _repaired(
    exercise: Exercise, answer: Callable[..., Any], outcomes: Sequence[Outcome]
) -> str | None:
    """Which change to the answer's code makes all cases right."""
    failing = _failing(exercise, answer)
    if len(failing) > 1 or not can_stop():
        return None
    original = exercise.cases
    assert original is not None
    right, tolerance = _known_outcomes(exercise), exercise.tolerance
    wrong = [bool(_what_is_wrong(*both, tolerance)) for both in zip(outcomes, right, strict=True)]
    order = sorted(range(len(right)), key=lambda i: not wrong[i])
    others = [redrawn(original, draw) for draw in (1, 2, 3)]

    given = original()
    keeps = all(_is_plain(part) for case in given for part in case.args)

    def near(changed: Callable[..., Any], draw: Callable[[], list[Case]], right: Outcomes) -> float:
        """The share of the cases before the first wrong one, with how near that is."""
        nonlocal given
        cases = given if draw is original else draw()
        for passed, i in enumerate(order):
            outcome = attempt(changed, cases[i], FOR_CHANGED + TIMES * right[i].seconds)
            if outcome.error or outcome.changed or not keeps:
                given = original()  # as these may have been changed
            if not outcome.unwritten and _what_is_wrong(outcome, right[i], tolerance):
                value = 0.0 if outcome.error else nearness(outcome.value, right[i].value, tolerance)
                return (passed + min(value, 0.9)) / len(order)
        return 1.0

    def nearest(changed: Callable[..., Any]) -> float:
        found = near(changed, original, right)
        for cases in others if found == 1 else ():
            found = min(found, near(changed, cases, Outcomes(cases, exercise.right)))
        return found

    with quietly(), contextlib.suppress(Exception):  # the code may be anything
        return repaired(answer, nearest, exercise.solution, failing)
    return None


def _is_plain(value: Any) -> bool:
    """Whether ``attempt`` notices if a call changes a value: no model, no generator."""
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, Tensor | int | float | str)


def _gives(exercise: Exercise, code: str, outcomes: Sequence[Outcome], first: int) -> bool:
    """Whether some code has these outcomes.

    Begins with the case that failed first, since almost all code differs there.
    """
    assert exercise.cases is not None
    try:
        function = execute(exercise, code, solutions)
    except Exception:
        return False
    for i in [first - 1, *(i for i in range(len(outcomes)) if i != first - 1)]:
        theirs = call(function, exercise.cases()[i], FOR_ONE)
        if not _same(outcomes[i], theirs, exercise.tolerance):
            return False
    return True


def _same(ours: Outcome, theirs: Outcome, tolerance: float) -> bool:
    if ours.unwritten:
        return True
    if ours.error or theirs.error:
        return _gist(ours.error) == _gist(theirs.error)
    both = (ours.value, theirs.value), (theirs.value, ours.value)  # a list is no tensor
    equal = all(difference(*pair, tolerance) is None for pair in both)
    return ours.changed == theirs.changed and equal


def _gist(error: str | None) -> list[str]:
    """An error's kind and the first words of its message, without the names and sizes in it.

    A missing key or name is all that its error says, so it stays. So do the sizes of tensors that
    do not fit: the cases are the same, so another mistake mostly has others. A slip of the pen,
    told by a question, is like no other error.
    """
    if error and error.endswith("?"):
        return [error]
    where = re.findall(r" \(in (\w+): ", error or "")  # a method of a step
    message = re.sub(r" \((in|line) .*", "", error or "")  # without where it arose
    names = r"(?<!^KeyError: )(?<!^NameError: name )'[^']*'|\d+"
    sizes = sorted(re.findall(r"\d+", message)) if message.startswith("RuntimeError") else []
    places = [] if sizes else where
    return [*re.sub(names, "", message).split()[:5], *sizes, *places]


def _what_is_wrong(outcome: Outcome, wanted: Outcome, tolerance: float) -> str | None:
    if wanted.error:  # here the right answer is to refuse
        kind = wanted.error.split(":")[0]
        if outcome.error is None:
            return f"gives an answer, where the right one raises {kind}."
        if outcome.error.split(":")[0] != kind:
            return f"stops with {outcome.error}, where the right one raises {kind}."
        return None
    if outcome.timed_out:
        return f"does not end: it was stopped after {calling.SECONDS:.0f} seconds."
    if outcome.error:
        return f"stops with {outcome.error}"
    if outcome.value is None:
        return "returns nothing: is a `return` missing?"
    if outcome.changed:
        return "changes what it was given, in place. Make a new tensor, as `x + 1` does."
    wrong = difference(outcome.value, wanted.value, tolerance)
    return wrong and f"{wrong}."


def _signature_problem(function: Callable[..., Any], args: Sequence[Any]) -> str | None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*args)
    except TypeError:
        n = len(args)
        return f"It takes {signature}, but is called with {n} arguments: keep its first line."
    return None
