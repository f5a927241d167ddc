"""What comes of hostile trials: a clear error, the right result all the same, wrong, or hung."""

from __future__ import annotations

import resource
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SECONDS = 10.0  # what takes longer hangs
BYTES = 300e6  # what takes more memory than that is wrong
CLEAR = (ValueError, TypeError, OSError, ArithmeticError, ImportError, MemoryError)
VERDICTS = ("tried", "clear", "right", "wrong", "hung")


class Hung(BaseException):
    """Raised by the clock."""


@contextmanager
def clock() -> Iterator[None]:
    """Inside, what takes longer than SECONDS is interrupted."""

    def ring(number: int, frame: object) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Tally:
    """Counts trials; keeps those that went wrong, with how to repeat them."""

    def __init__(self) -> None:
        self.counts, self.bad = Counter[str](), list[str]()

    def trial(self, what: str, call: Callable[[], Any], right: Any = None) -> None:
        """Try a call. Unless it ends in a clear error, its result must be ``right``, if given."""
        before, verdict = peak(), "right"
        try:
            with clock():
                result = call()
        except Hung:
            verdict, what = "hung", f"{what}: more than {SECONDS} s"
        except Exception as error:
            said = str(error)
            short = 0 < len(said) < 4000 and said.replace("\n", "").isprintable()
            verdict = "clear" if isinstance(error, CLEAR) and short else "wrong"
            what = f"{what}: {type(error).__name__}: {ascii(said)[:200]}"
        else:
            if right is not None and result != right:
                verdict, what = "wrong", f"{what}: another result, without an error"
        if peak() - before > BYTES:
            verdict, what = "wrong", f"{what}: {(peak() - before) / 1e6:,.0f} MB of memory"
        self.count(verdict, what)

    def count(self, verdict: str, what: str = "") -> None:
        """Count one trial."""
        self.counts += Counter(("tried", verdict))
        if verdict in ("wrong", "hung"):
            self.bad.append(what)
            print(f"{verdict.upper()}: {what}", flush=True)
