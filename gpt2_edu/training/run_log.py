"""What a run reports: rows of log.jsonl, a progress bar, TensorBoard; and the speed of steps."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ..config import ModelConfig
from ..flops import utilisation
from ..machine.device import peak_memory
from ..machine.files import explain_full_disk, parse_json, write_text
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
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError as error:
                raise ValueError(
                    "tensorboard=True needs the package tensorboard, which is not installed: "
                    'pip install "gpt2-edu[tensorboard]"'
                ) from error
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
        """Append a row to the log. Raises OSError, naming the file, if the disk fails."""
        if not self.active:
            return
        with explain_full_disk(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        if self.board is not None:
            for name, value in row.items():
                if isinstance(value, int | float):
                    self.board.add_scalar(name, value, row["step"])


def timings(
    sizes: ModelConfig, T: int, rate: float, peak: float | None, device: torch.device
) -> Row:
    """Speed at ``rate`` tokens of length-T sequences per second, and peak memory.

    Utilisation is the share of ``peak`` FLOP/s, "n/a" where no data sheet gives it.
    """
    share = utilisation(sizes, T, rate, peak) if peak else "n/a"
    return dict(zip(TIMINGS, (rate, share, peak_memory(device)), strict=True))


# ---- Reading -----------------------------------------------------------------------------------


def read_log(path: Path, *, skip_damaged: bool = False) -> list[Row]:
    """The rows of a log, without a last line that a killed process left unfinished.

    Raises ValueError, naming file and line, if another line is damaged and is not to be skipped.
    """
    rows = []
    lines = path.read_bytes().split(b"\n") if path.is_file() else [b""]
    for number, line in enumerate(lines[:-1], start=1):  # complete lines end with a newline
        place = f"{path}, line {number},"
        try:
            row = parse_json(line, place)
            if not isinstance(row, dict) or not isinstance(row.get("step"), int):
                raise ValueError(f"{place} is not a row of a log: {short_repr(row)}")
        except ValueError:
            if not skip_damaged:
                raise
        else:
            rows.append(row)
    return rows


def cut_log(path: Path, step: int) -> str:
    """Remove the rows after ``step``, so that a resumed run reads as if it had never stopped.

    A damaged log does not end a run: a copy of it is kept under another name, and the rows that can
    be read are used. Then a message is returned, otherwise "". If the log is a link, the file that
    it points to is rewritten.
    """
    try:
        rows, message = read_log(path), ""
    except ValueError as error:
        aside = path.with_name(f"{path.stem}-damaged-{time.time_ns()}{path.suffix}")
        shutil.copyfile(path, aside)
        rows = read_log(path, skip_damaged=True)
        message = f"{error} The damaged log is kept as {aside}; its other rows are used."
    kept = (row for row in rows if row["step"] <= step)
    write_text(path.resolve(), "".join(json.dumps(row) + "\n" for row in kept))
    return message
