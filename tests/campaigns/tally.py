"""What came of many hostile trials: told clearly, right after all, wrong, hung."""

from __future__ import annotations

import resource
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SECONDS = 5.0  # what takes longer hangs
BYTES = 300e6  # what takes more memory than that is wrong
CLEAR = (ValueError, TypeError, OSError, ArithmeticError, ImportError, MemoryError)


class Hung(BaseException):
    """Raised by the clock."""


@contextmanager
def clock(seconds: float = SECONDS) -> Iterator[None]:
    """Inside, what takes longer is interrupted."""

    def ring(number: int, frame: object) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def clear(error: BaseException) -> bool:
    """An error of a kind that is foreseen, in few plain words."""
    said = str(error)
    return (
        isinstance(error, CLEAR) and 0 < len(said) < 4000 and said.replace("\n", "").isprintable()
    )


class Tally:
    """Counts trials, and keeps those that went wrong with how to repeat them."""

    def __init__(self, part: str, most: float = BYTES) -> None:
        self.most = most
        self.part, self.counts, self.bad = part, Counter[str](), list[str]()

    def trial(self, what: str, call: Callable[[], Any], right: Any = None) -> None:
        """Try a call. Unless it ends in a clear error, its result must be ``right``, if given."""
        self.counts["tried"] += 1
        before, began = peak(), time.perf_counter()
        try:
            with clock():
                result = call()
        except Hung:
            self.note("hung", f"{what}: more than {time.perf_counter() - began:.0f} s")
        except Exception as error:
            if clear(error):
                self.counts["clear"] += 1
            else:
                self.note("wrong", f"{what}: {type(error).__name__}: {ascii(str(error))[:200]}")
        else:
            if right is not None and result != right:
                self.note("wrong", f"{what}: another result, and no word of it")
            else:
                self.counts["right"] += 1
        if (more := peak() - before) > self.most:
            self.note("wrong", f"{what}: {more / 1e6:,.0f} MB of memory")

    def note(self, verdict: str, what: str) -> None:
        self.counts[verdict] += 1
        self.bad.append(what)
        print(f"    {verdict.upper()}: {what}", flush=True)

    def row(self) -> dict[str, Any]:
        names = ("tried", "clear", "right", "wrong", "hung")
        return {"part": self.part} | {name: self.counts[name] for name in names}
