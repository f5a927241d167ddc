"""``check``: what an answer gets right, where it goes wrong, and by which mistake.

The answer and the right one are called with the same arguments. Where they differ, so is every
known mistake of the exercise: one with the same results as the answer is named. Cases that need a
part that is not written yet are left out.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import math
import re
import signal
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from .exercise import Case, Exercise, Mistake, find
from .parts import assemble, execute, solutions
from .record import mark_passed
from .source import NOT_WRITTEN

SECONDS = 10.0  # how long one call may take


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
        if exercise.after:
            print(exercise.after(answer))
    return report.passed


@dataclass(frozen=True)
class Report:
    """What a check found."""

    name: str
    lines: tuple[str, ...]
    passed: bool = False
    diagnosis: str | None = None  # the message of a known mistake
    printed: str = ""  # what the answer printed in the last case that was tried

    def __str__(self) -> str:
        lines = [f"  {line}" for line in self.lines]
        if self.diagnosis:
            lines.append(f"  {self.diagnosis}")
        if self.printed:
            lines += ["  It printed:", *(f"    {line}" for line in self.printed.splitlines()[:10])]
        return "\n".join([self.name, *lines])


def examine(exercise: Exercise, answer: Any) -> Report:
    """Check, without printing or recording anything."""
    name = exercise.name
    if answer is None or answer is ...:
        return Report(name, ("Not yet: fill in the cell, then run it again.",))
    if exercise.cases is None:
        return _examine_value(exercise, answer)
    if not callable(answer) or inspect.isclass(answer):
        kind = "a class" if inspect.isclass(answer) else _kind(answer)
        given = f"no   This is {kind}, not a function. Give the function itself, without "
        return Report(name, (f"{given}brackets: check({name!r}, {name}).",))
    return examine_with(exercise, answer)


# ---- A value


def _examine_value(exercise: Exercise, answer: Any) -> Report:
    wrong = difference(answer, exercise.right, exercise.tolerance)
    if wrong is None:
        return Report(exercise.name, ("ok   Right.",), passed=True)
    for mistake in exercise.mistakes:
        value = execute(exercise, exercise.code_of(mistake))
        if difference(answer, value, exercise.tolerance) is None:
            return Report(exercise.name, ("no   Not right.",), diagnosis=mistake.message)
    # The value is all that was asked for, so the right one is not printed.
    return Report(exercise.name, (f"no   Not right: it {wrong.partition(' where ')[0]}.",))


# ---- A function


@dataclass(frozen=True)
class Outcome:
    """The result of one call."""

    value: Any = None
    error: str | None = None  # what stopped it
    changed: bool = False  # it wrote into its arguments
    printed: str = ""
    timed_out: bool = False
    unwritten: str | None = None  # the part that it needs and that is still to be written


def examine_with(exercise: Exercise, answer: Callable[..., Any]) -> Report:
    """Check something that can be called with the exercise's cases."""
    name, lines = exercise.name, []
    assert exercise.cases is not None
    problem = _signature_problem(answer, exercise.cases()[0].args)
    if problem:
        return Report(name, (f"no   {problem}",))
    outcomes: list[Outcome] = []
    unwritten: dict[str, None] = {}  # in order
    for case, wanted in zip(exercise.cases(), _known_outcomes(exercise), strict=True):
        outcome = _call(answer, case)
        outcomes.append(outcome)
        if (outcomes[0].error or "").startswith(RAISES) and RAISES in (exercise.start or ""):
            line = "Not yet: fix the function, and delete the line with `raise`."
            return Report(name, (line,))
        if outcome.unwritten:
            unwritten[outcome.unwritten] = None
            continue
        if outcomes[0].value is None and _is_start(exercise, answer):
            return Report(name, ("Not yet: write the function's body.",))
        wrong = _what_is_wrong(outcome, wanted, exercise.tolerance)
        if wrong is None:
            lines.append(f"ok   {case.label}")
            continue
        lines.append(f"no   {case.label}: it {wrong}")
        first = len(outcomes)
        if not outcome.timed_out:
            outcomes += [_call(answer, other) for other in exercise.cases()[first:]]
        diagnosis = _diagnose(exercise, outcomes, first)
        return Report(name, tuple(lines), diagnosis=diagnosis, printed=outcome.printed)
    if unwritten:
        lines.append(f"Not yet: write {', '.join(unwritten)}, then run the cell again.")
    return Report(name, tuple(lines), passed=not unwritten, printed=outcomes[-1].printed)


def _is_start(exercise: Exercise, answer: Callable[..., Any]) -> bool:
    """Whether the answer is still the exercise's start."""
    assert exercise.start is not None
    functions = answer, execute(exercise, exercise.start, solutions)
    ours, start = (getattr(f, "__code__", None) for f in functions)
    return ours is not None and start is not None and ours.co_code == start.co_code


def _source(exercise: Exercise, answer: Any) -> str | None:
    """The source of a function that passed, if it also passes without names of other cells."""
    try:
        source = textwrap.dedent(inspect.getsource(answer))
        alone = examine(exercise, assemble(exercise.name, source)).passed
    except Exception:  # no source, or it fails alone
        return None
    return source if alone else None


@lru_cache(maxsize=32)
def _known_outcomes(exercise: Exercise, mistake: Mistake | None = None) -> list[Outcome]:
    """The outcomes of the right answer, or of a mistake, in every case."""
    assert exercise.cases is not None
    function = exercise.right
    if mistake is not None:
        function = execute(exercise, exercise.code_of(mistake), solutions)
    return [_call(function, case, bounded=False) for case in exercise.cases()]


def _diagnose(exercise: Exercise, outcomes: Sequence[Outcome], first: int) -> str | None:
    """The message of the mistake whose outcomes equal the answer's in every case.

    If there is none and the answer has several parts, cases that it does not get through do not
    count after the ``first``, the last of which failed: another part may be unfinished there.
    """
    compared = []
    for mistake in exercise.mistakes:
        theirs = _known_outcomes(exercise, mistake)
        # One that did not end was the last that was called.
        same = [_same(*both, exercise.tolerance) for both in zip(outcomes, theirs, strict=False)]
        if all(same):
            return mistake.message
        if len(exercise.parts) > 1:
            compared.append((mistake, same))
    for mistake, same in compared:
        if all(s or (i >= first and outcomes[i].value is None) for i, s in enumerate(same)):
            return mistake.message
    return None


def _same(ours: Outcome, theirs: Outcome, tolerance: float) -> bool:
    if ours.unwritten:
        return True
    if ours.error or theirs.error:
        return _gist(ours.error) == _gist(theirs.error)
    return (
        ours.changed == theirs.changed and difference(ours.value, theirs.value, tolerance) is None
    )


def _gist(error: str | None) -> list[str]:
    """An error's kind and the first words of its message, without the names and sizes in it."""
    return re.sub(r"'[^']*'|\d+", "", error or "").split()[:5]


def _what_is_wrong(outcome: Outcome, wanted: Outcome, tolerance: float) -> str | None:
    if wanted.error:  # here the right answer is to refuse
        kind = wanted.error.split(":")[0]
        if outcome.error is None:
            return f"gives an answer, where the right one raises {kind}."
        if outcome.error.split(":")[0] != kind:
            return f"stops with {outcome.error}, where the right one raises {kind}."
        return None
    if outcome.timed_out:
        return f"does not end: it was stopped after {SECONDS:.0f} seconds."
    if outcome.error:
        return f"stops with {outcome.error}"
    if outcome.value is None:
        return "returns nothing: is a `return` missing?"
    if outcome.changed:
        return "changes what it was given, in place. Make a new tensor, as `x + 1` does."
    wrong = difference(outcome.value, wanted.value, tolerance)
    return wrong and f"{wrong}."


# ---- Calling a reader's function

RAISES = "NotImplementedError"  # in the start of an exercise, until it is deleted


class OutOfTime(BaseException):
    """Raised in a function that takes too long. Not caught by ``except Exception``."""


def _call(function: Callable[..., Any], case: Case, *, bounded: bool = True) -> Outcome:
    before = _copy(case.args)
    printed = io.StringIO()
    try:
        limit = _time_limit(SECONDS) if bounded else contextlib.nullcontext()
        with contextlib.redirect_stdout(printed), limit:
            value = function(*case.args)
    except OutOfTime:
        return Outcome(error="out of time", timed_out=True)
    except (Exception, SystemExit) as error:
        if isinstance(error, NotImplementedError) and str(error).startswith(NOT_WRITTEN):
            return Outcome(unwritten=str(error).removeprefix(NOT_WRITTEN))
        text = " ".join(str(error).split())
        text = textwrap.shorten(text, 300, placeholder=" …")
        return Outcome(error=f"{type(error).__name__}: {text}{_line(error, function)}")
    changed = any(
        difference(a, b, 0.0) is not None
        for a, b in zip(case.args, before, strict=True)
        if not isinstance(a, torch.Generator)
    )
    return Outcome(value, changed=changed, printed=printed.getvalue())


def _copy(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, Mapping):
        return {key: _copy(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_copy(part) for part in value)
    return value


def _line(error: BaseException, function: Callable[..., Any]) -> str:
    """The line of the reader's own code that raised an error."""
    if hasattr(function, "where"):
        return str(function.where(error))
    code, trace, line = getattr(function, "__code__", None), error.__traceback__, None
    while code is not None and trace is not None:
        if trace.tb_frame.f_code.co_filename == code.co_filename:  # or one inside of it
            line = trace.tb_lineno - code.co_firstlineno + 1
        trace = trace.tb_next
    return "" if line is None else f" (line {line} of the function)"


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


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise OutOfTime after this many seconds of computing, in the main thread.

    They are the processor's, so that a busy machine fails no answer. On Windows and in other
    threads a reader interrupts the kernel.
    """
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


# ---- Comparing


def difference(got: Any, wanted: Any, tolerance: float) -> str | None:
    """How a value differs from the wanted one, as the rest of "it …"; None if it does not."""
    if isinstance(wanted, Tensor):
        return _tensor_difference(got, wanted, tolerance)
    if isinstance(got, Tensor) and got.ndim == 0:
        got = got.item()
    if isinstance(wanted, bool) or wanted is None:
        return None if got is wanted else f"gives {_short(got)} where {wanted} is right"
    if isinstance(wanted, int | float):
        if isinstance(got, Tensor) and got.numel() == 1:
            got = got.item()
        if not isinstance(got, int | float) or isinstance(got, bool):
            return f"gives {_kind(got)}, not a number"
        close = math.isclose(got, wanted, rel_tol=tolerance, abs_tol=tolerance)
        return None if close else f"gives {_short(got)} where {_short(wanted)} is right"
    if isinstance(wanted, Mapping):
        if not isinstance(got, Mapping):
            return f"gives {_kind(got)}, not a dictionary"
        if missing := [key for key in wanted if key not in got]:
            return f"lacks {missing[0]!r}"
        if more := [key for key in got if key not in wanted]:
            return f"has {more[0]!r}, which does not belong there"
        parts = ((f"at {key!r}", got[key], value) for key, value in wanted.items())
    elif isinstance(wanted, list | tuple):
        if isinstance(got, Tensor):
            got = list(got) if any(isinstance(w, Tensor) for w in wanted) else got.tolist()
        if not isinstance(got, list | tuple):
            return f"gives {_kind(got)}, not a {type(wanted).__name__}"
        if len(got) != len(wanted):
            return f"has the length {len(got)} where {len(wanted)} is right"
        parts = ((f"at place {i}", *pair) for i, pair in enumerate(zip(got, wanted, strict=True)))
    else:
        same = type(got) is type(wanted) and got == wanted
        return None if same else f"gives {_short(got)} where {_short(wanted)} is right"
    for where, mine, right in parts:
        wrong = difference(mine, right, tolerance)
        if wrong:
            return f"{wrong} ({where})"
    return None


def _tensor_difference(got: Any, wanted: Tensor, tolerance: float) -> str | None:
    if wanted.ndim == 0 and isinstance(got, int | float) and not isinstance(got, bool):
        got = torch.tensor(got, dtype=wanted.dtype)
    if not isinstance(got, Tensor):
        return f"gives {_kind(got)}, not a tensor"
    if got.shape != wanted.shape:
        return f"gives the shape {tuple(got.shape)} where {tuple(wanted.shape)} is right"
    if got.dtype != wanted.dtype:
        return f"gives numbers of type {got.dtype} where {wanted.dtype} is right"
    got, wanted = got.detach(), wanted.detach()
    if got.is_floating_point() and got.isnan().any() and not wanted.isnan().any():
        where = got.isnan().nonzero()[0].tolist()
        return "gives nan (no number)" + (f" at {where}" if where else "")
    if not got.is_floating_point():
        apart = got != wanted
    else:
        apart = ~torch.isclose(got, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
    if not apart.any():
        return None
    where = apart.nonzero()[0].tolist()
    mine, right = got[tuple(where)].item(), wanted[tuple(where)].item()
    place = f" at {where}" if where else ""
    return f"gives {_short(mine)}{place} where {_short(right)} is right"


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = repr(value)
    return text if len(text) < 80 else text[:77] + "…"
