"""Calling an answer, whatever it does: in a limited time, and without a trace in the kernel."""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import random
import re
import signal
import sys
import textwrap
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import torch
from torch import Tensor

from .comparing import difference
from .exercise import Case
from .source import NOT_WRITTEN
from .step import Using, near

SECONDS = 10.0  # how long one call may compute
WAITING = 3  # how many times that it may take if it waits, on a busy machine or for a lock
AT_LEAST = 5.0  # seconds that a short call may take if it waits
LONGEST = 10_000  # characters of what a call prints that are kept
DEEPEST = 64  # dimensions of a tensor
MORE = 2 * 10**9  # bytes that a search for a change may use


@dataclass(frozen=True)
class Outcome:
    """The result of one call."""

    value: Any = None
    error: str | None = None  # what stopped it
    changed: bool = False  # it wrote into its arguments
    printed: str = ""
    timed_out: bool = False
    unwritten: str | None = None  # the part that it needs and that is still to be written
    notes: tuple[str, ...] = ()  # what it changed outside of itself
    seconds: float = field(default=0.0, compare=False)  # of computing


class OutOfTime(BaseException):
    """Raised in a function that takes too long. Not caught by ``except Exception``."""


def call(
    function: Callable[..., Any], case: Case, seconds: float | None = None, seed: int = 0
) -> Outcome:
    """Call a function with a case's arguments, and with this seed, so that a verdict is repeated.

    Raises KeyboardInterrupt if the reader interrupts it, and nothing else. It has one of torch's
    threads. Settings of torch, seeds and the folder are as before, and ``notes`` says which of them
    the call had changed.
    """
    before = _copy(case.args)
    printed = _Printed()
    notes: list[str] = []
    seconds = SECONDS if seconds is None else seconds
    begun = time.thread_time()
    with (
        _one_thread(),
        _interrupts() as interrupted,
        _restored(notes, seed),
        _output_to(printed),
    ):
        try:
            with _time_limit(seconds):
                outcome = Outcome(function(*case.args))
                _check_depth(outcome.value)
        except OutOfTime:
            outcome = Outcome(error="out of time", timed_out=True)
        except BaseException as error:
            if interrupted and isinstance(error, KeyboardInterrupt):
                raise
            outcome = _stopped(function, error)
    changed = outcome.error is None and _changed(case.args, before)
    return replace(
        outcome,
        changed=changed,
        printed=printed.getvalue(),
        notes=tuple(notes),
        seconds=time.thread_time() - begun,
    )


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Around many calls of ``attempt``."""
    with _one_thread(), _interrupts(), _restored([], 0), _output_to(_Printed()), _memory(MORE):
        yield


def attempt(function: Callable[..., Any], case: Case, seconds: float) -> Outcome:
    """The outcome of a call, of whose error only the kind is told. Much faster than ``call``."""
    before = _copy(case.args)
    torch.default_generator.manual_seed(0)
    random.seed(0)
    try:
        with _time_limit(seconds, AT_LEAST):
            value = function(*case.args)
            _check_depth(value)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, NotImplementedError) and str(error).startswith(NOT_WRITTEN):
            return Outcome(unwritten=str(error))
        return Outcome(error=f"{type(error).__name__}:")
    return Outcome(value, changed=_changed(case.args, before))


def _changed(args: tuple[Any, ...], before: tuple[Any, ...]) -> bool:
    return any(
        difference(a, b, 0.0) is not None
        for a, b in zip(args, before, strict=True)
        if not isinstance(a, torch.Generator)
    )


def _copy(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, Mapping):
        return {key: _copy(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_copy(part) for part in value)
    return value


# ---- Errors


def _stopped(function: Callable[..., Any], error: BaseException) -> Outcome:
    """The outcome of a call that raised an error."""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    if isinstance(error, NotImplementedError) and text.startswith(NOT_WRITTEN):
        return Outcome(unwritten=text.removeprefix(NOT_WRITTEN))
    kind = type(error).__name__
    if _is_of_the_check(function, error, text):
        return Outcome(
            error=f"{kind} where its result is used: a result has another kind or shape than the "
            "task asks for."
        )
    text = textwrap.shorten(text, 300, placeholder=" …")
    return Outcome(error=f"{kind}: {text}{_line(error, function)}{_in_other_words(text)}")


ONE_LIST = "Put the tensors in square brackets, as one argument"
WORDS = {  # part of an error's message: what it says to whoever has not seen it before
    "Boolean value of Tensor": "For the entries of a tensor `not`, `and`, `or` are `~`, `&`, `|`",
    "ModuleList] is missing": "A ModuleList is a list: call its modules one by one, in a loop",
    "must be tuple of Tensors, not Tensor": ONE_LIST,
    "(tuple of Tensors tensors": ONE_LIST,  # until torch 2.11
    "has no attribute 'detach'": "`nn.Parameter` takes a tensor, such as `torch.ones(n)`",
    "does not require grad": "Nothing connects this number with a parameter: a `no_grad`, a "
    "`detach` or an `item` is in between",
    "same number of dimensions": "An index such as `[:, -1]` drops an axis, and `cat` adds none",
    "type(s) for ^": "A power is written `**`",
    "'NoneType' object has no attribute 'append'": "`extend` and `append` change a list and return "
    "nothing, so they stand alone in a line",
    "must be Tensor, not float": "A function of `torch` takes a tensor. `math` has it for a number",
    "'LoRA' object has no attribute 'in_features'": "A LoRA is put around another LoRA here",
    "'GPT2' object has no attribute 'transformer'": "Your GPT2 has its blocks in `h`",
}


def _in_other_words(text: str) -> str:
    """For the end of an error message that PyTorch words for others than beginners."""
    layer = re.search(r"(?:be Tensor, not|'Tensor' and) '?(?!Tensor|None|Size)([A-Z]\w+)", text)
    if layer:
        return f". The {layer[1]} itself is used here: call it, and use its result"
    return next((f". {words}" for part, words in WORDS.items() if part in text), "")


def _is_of_the_check(function: Callable[..., Any], error: BaseException, text: str) -> bool:
    """Whether an error arose in a step's ``use``, from what a part returned.

    What ``use`` raises itself, and what is said of a part by its name, is for readers.
    """
    if not isinstance(function, Using):
        return False
    frames = traceback.extract_tb(error.__traceback__)
    if any(frame.filename in function.files for frame in frames):
        return False
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(Path(__file__).parent)]
    names = "|".join(function.step.parts)
    return not (ours[-1].line or "").startswith("raise") and not re.search(rf"\b({names})\b", text)


def _line(error: BaseException, function: Callable[..., Any]) -> str:
    """The line of the reader's own code that raised an error."""
    if isinstance(function, Using):
        return function.where(error)
    code, trace, line = getattr(function, "__code__", None), error.__traceback__, None
    while code is not None and trace is not None:
        if trace.tb_frame.f_code.co_filename == code.co_filename:  # or one inside of it
            line = trace.tb_lineno - code.co_firstlineno + 1
        trace = trace.tb_next
    meant = ""
    if code is not None and type(error) is NameError:
        meant = near(error.name or "", [*code.co_varnames, *code.co_cellvars])
    return meant if line is None else f" (line {line} of the function){meant}"


# ---- What a call leaves as it was


class _Printed(io.StringIO):
    """The beginning of what is printed. It cannot be closed."""

    def write(self, text: str) -> int:
        super().write(text[: max(LONGEST - self.tell(), 0)])
        return len(text)

    def close(self) -> None:
        pass


_output = threading.RLock()  # sys.stdout belongs to all threads


@contextlib.contextmanager
def _output_to(printed: io.StringIO) -> Iterator[None]:
    with _output:
        before = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = printed
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """On a busy machine torch's threads wait for each other, many times as long as they compute."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextlib.contextmanager
def _restored(notes: list[str], seed: int) -> Iterator[None]:
    """Restore torch's settings, the seeds and the folder, and note what differs."""
    settings = [(name, get, get(), put) for name, get, put in _SETTINGS]
    folder, seeds, draws = _folder(), torch.get_rng_state(), random.getstate()
    on_device = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    running = set(threading.enumerate())
    # torch.manual_seed takes a millisecond, since it keeps a stack trace for each device.
    torch.default_generator.manual_seed(seed)
    quick = mock.patch.object(torch, "manual_seed", torch.default_generator.manual_seed)
    tensor = mock.patch.object(torch, "tensor", _of_lists(torch.tensor))
    if on_device is not None:
        torch.cuda.manual_seed_all(seed)
    random.seed(seed)
    try:
        with tensor, quick if on_device is None else contextlib.nullcontext():
            yield
    finally:
        for name, get, value, put in settings:
            if get() != value:
                put(value)
                notes.append(f"It changed {name}, for the whole notebook. It is as before again.")
        if folder is not None and folder != _folder():
            os.chdir(folder)
            notes.append("It changed the working directory. It is as before again.")
        torch.set_rng_state(seeds)
        random.setstate(draws)
        if on_device is not None:
            torch.cuda.set_rng_state_all(on_device)
        if any(thread.is_alive() for thread in set(threading.enumerate()) - running):
            notes.append("It started a thread that still runs.")


@cache
def _of_lists(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """``torch.tensor``, which without this ends the process for a list that contains itself."""
    with torch.device("cpu"):  # torch keeps a list of its functions, from the first use on
        torch.empty(0)

    def made(data: Any, *args: Any, **more: Any) -> Tensor:
        _check_depth(data)
        return make(data, *args, **more)

    return made


def _check_depth(value: Any) -> None:
    """Raise ValueError for a list that contains itself, or for lists in lists beyond DEEPEST."""
    lists = [value]
    for _ in range(DEEPEST):
        lists = [each for each in lists if isinstance(each, list | tuple | dict)]
        if not lists:
            return
        parts = (part for x in lists for part in (x.values() if isinstance(x, dict) else x))
        lists = list({id(part): part for part in parts if not isinstance(part, Tensor)}.values())
    raise ValueError(f"lists are nested more than {DEEPEST} deep: does one contain itself?")


@contextlib.contextmanager
def _memory(more: int) -> Iterator[None]:
    """A limit on memory, of so many bytes more than now. Beyond it is MemoryError. Only Linux."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        yield
        return
    import resource

    before, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = int(statm.read_text().split()[0]) * resource.getpagesize() + more
    if before == resource.RLIM_INFINITY or limit < before:
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, most))


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return None


def _set_device(device: torch.device) -> None:
    torch.set_default_device(None if device.type == "cpu" else device)


_SETTINGS: list[tuple[str, Callable[[], Any], Callable[[Any], Any]]] = [
    ("torch's default type", torch.get_default_dtype, torch.set_default_dtype),
    ("torch's default device", torch.get_default_device, _set_device),
    ("whether torch tracks gradients", torch.is_grad_enabled, torch.set_grad_enabled),
    (
        "whether torch looks for anomalies",
        torch.is_anomaly_enabled,
        torch.autograd.set_detect_anomaly,
    ),
    ("torch's number of threads", torch.get_num_threads, torch.set_num_threads),
    (
        "whether torch is deterministic",
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
    ),
]


# ---- Time


@contextlib.contextmanager
def _interrupts() -> Iterator[list[bool]]:
    """A list that is filled when the reader interrupts, and not when an answer raises the same."""
    found: list[bool] = []
    if threading.current_thread() is not threading.main_thread():
        yield found
        return
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # someone else's: they cannot be told apart
        yield [True]
        return

    def interrupt(*_: object) -> None:
        found.append(True)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield found
    finally:
        signal.signal(signal.SIGINT, before)


def can_stop() -> bool:
    """Whether a function that does not end can be stopped here."""
    return sys.platform != "win32" and threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def _time_limit(seconds: float, waiting: float = 0.0) -> Iterator[None]:
    """Raise OutOfTime after this many seconds of computing, in the main thread.

    They are the processor's, so that a busy machine fails no answer, and this thread's, because
    those of torch add up; one that waits has more of the clock's, at least ``waiting``. It is
    raised again each second until the function ends. On Windows and in other threads a reader
    interrupts the kernel.
    """
    if sys.platform == "win32" or not can_stop():  # type checkers know the first
        yield
        return
    running, begun = True, time.thread_time()

    def stop(number: int, frame: FrameType | None) -> None:
        # The timer counts all threads. This one's clock is a little behind it where it is the only.
        waited = number == signal.SIGALRM
        late = waited or time.thread_time() - begun > 0.9 * seconds
        if running and late and frame and frame.f_code not in _AROUND:
            raise OutOfTime

    timers = (
        (signal.SIGPROF, signal.ITIMER_PROF, seconds),
        (signal.SIGALRM, signal.ITIMER_REAL, max(WAITING * seconds, waiting)),
    )
    before = [signal.signal(number, stop) for number, _, _ in timers]
    for _, timer, limit in timers:
        signal.setitimer(timer, limit, 1.0)
    try:
        yield
    finally:
        running = False
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


# Not interrupted: the answer has ended, and both timers may have run down in the meantime.
_AROUND = {
    call.__code__,
    attempt.__code__,
    inspect.unwrap(_time_limit).__code__,
    contextlib._GeneratorContextManager.__exit__.__code__,
}
