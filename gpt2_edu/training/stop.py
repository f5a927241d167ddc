"""From Ctrl-C to the checkpoint: a signal asks for the end, the loop saves and leaves."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

# A second signal within this time is an echo: torchrun passes on what the terminal has already
# sent to every process.
ECHO_SECONDS = 1.0


class Stop:
    """Inside ``with Stop() as stop``, Ctrl-C or SIGTERM sets ``stop.requested``.

    The training loop looks at it after each step, saves and returns. A second signal raises
    KeyboardInterrupt at once. Only the main thread can handle signals; in another one this does
    nothing.
    """

    def __init__(self) -> None:
        self.requested_at: float | None = None
        self._previous: dict[int, Any] = {}

    @property
    def requested(self) -> bool:
        return self.requested_at is not None

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: object) -> None:
        now = time.monotonic()
        if self.requested_at is None:
            self.requested_at = now
            # Not print: the signal may have come in the middle of one.
            os.write(2, b"\nStopping after this step. Once more, and the run ends unsaved.\n")
        elif now - self.requested_at > ECHO_SECONDS:
            raise KeyboardInterrupt
