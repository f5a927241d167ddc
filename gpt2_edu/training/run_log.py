"""What a run reports: rows of log.jsonl, a progress bar, TensorBoard; and the speed of steps."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ..config import GPT2Config
from ..flops import utilisation
from ..machine.device import peak_memory
from ..machine.files import parse_json, write_text
from ..machine.messages import short_repr
from .config import LOG, TrainConfig

Row = dict[str, Any]
Listener = Callable[[Row], object]

TIMINGS = ("tokens_per_second", "utilisation", "peak_memory")  # differ between identical runs


class RunLog:
    """Writes log.jsonl, the progress bar and TensorBoard: on rank 0, where ``active`` is true.

    ``step`` is the number of steps done: the log of a resumed run is first cut back to there. Close
    it at the end.
    """

    def __init__(self, folder: Path, config: TrainConfig, step: int, *, active: bool) -> None:
        from tqdm.auto import tqdm  # slow to import, and the package is used without it too

        self.path, self.active = folder / LOG, active
        message = cut_log(self.path, step or -1) if active and config.resume else ""
        self.shows = active and not config.quiet
        self.bar = tqdm(total=config.steps, initial=step, unit="step", disable=not self.shows)
        if message:
            self.show(message, always=True)
        self.board: Any = None
        if active and config.tensorboard:
            from torch.utils.tensorboard import SummaryWriter

            # Hide what an interrupted run wrote after its last checkpoint.
            purge = step + 1 if step else None
            self.board = SummaryWriter(str(folder / "tensorboard"), purge_step=purge)

    def close(self) -> None:
        self.bar.close()
        if self.board is not None:
            self.board.close()

    def show_step(self, loss: float) -> None:
        """Advance the progress bar by a step."""
        self.bar.update()
        self.bar.set_postfix(loss=f"{loss:.3f}", refresh=False)

    def show(self, text: str, *, always: bool = False) -> None:
        """Print a text above the bar; in a quiet run only with ``always``."""
        if self.shows or (always and self.active):
            self.bar.write(text)

    def write(self, row: Row) -> None:
        """Append a row to the log. Raises OSError with advice if the disk fails."""
        if not self.active:
            return
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise OSError(
                f"{self.path} could not be written ({error}). Make room and resume: the run "
                "continues from its newest checkpoint."
            ) from error
        if self.board is not None:
            for name, value in row.items():
                if isinstance(value, int | float):
                    self.board.add_scalar(name, value, row["step"])


def timings(
    sizes: GPT2Config, T: int, rate: float, peak: float | None, device: torch.device
) -> Row:
    """Speed at ``rate`` tokens of length-T sequences per second, and peak memory.

    Utilisation is the share of ``peak`` FLOP/s, "n/a" where no data sheet gives it.
    """
    share = utilisation(sizes, T, rate, peak) if peak else "n/a"
    return dict(zip(TIMINGS, (rate, share, peak_memory(device)), strict=True))


# ---- Reading -----------------------------------------------------------------------------------


def read_log(path: Path) -> list[Row]:
    """The rows of a log, without a last line that a killed process left unfinished.

    Raises ValueError if another line is damaged.
    """
    rows, problems = _rows(path)
    if problems:
        raise ValueError(problems[0])
    return rows


def _rows(path: Path) -> tuple[list[Row], list[str]]:
    """The rows that can be read, and a message for each line that cannot."""
    rows, problems = [], []
    lines = path.read_bytes().split(b"\n") if path.is_file() else [b""]
    for number, line in enumerate(lines[:-1], start=1):  # complete lines end with a newline
        place = f"{path}, line {number},"
        try:
            row = parse_json(line, place)
        except ValueError as error:
            problems.append(str(error))
            continue
        if isinstance(row, dict) and isinstance(row.get("step"), int):
            rows.append(row)
        else:
            problems.append(f"{place} is not a row of a log: {short_repr(row)}")
    return rows, problems


def cut_log(path: Path, step: int) -> str:
    """Remove the rows after ``step``, so that a resumed run reads as if it had never stopped.

    A damaged log does not end a run: a copy of it is kept under another name, and the rows that can
    be read are used. Then a message is returned, otherwise "". If the log is a link, the file that
    it points to is rewritten.
    """
    rows, problems = _rows(path)
    message = ""
    if problems:
        aside = path.with_name(f"{path.stem}-damaged-{time.time_ns()}{path.suffix}")
        shutil.copyfile(path, aside)
        message = f"{problems[0]} The damaged log is kept as {aside}; its other rows are used."
    kept = (row for row in rows if row["step"] <= step)
    write_text(path.resolve(), "".join(json.dumps(row) + "\n" for row in kept))
    return message
