"""What a run reports: rows of log.jsonl, a progress bar, TensorBoard."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from ..flops import utilisation
from ..machine.data_sheets import device_peak
from ..machine.device import peak_memory
from ..machine.files import write_text
from ..machine.outside import parse_json, shown
from .config import LOG
from .run import Run

Row = dict[str, Any]
Listener = Callable[[Row], object]

TIMINGS = ("tokens_per_second", "utilisation", "peak_memory")  # differ between identical runs


class RunLog:
    """Writes what happens in a run, on rank 0; ``on_log`` is called there with each row.

    A resumed run's log is first cut back to its checkpoint. Close it at the end.
    """

    def __init__(self, run: Run, on_log: Listener | None = None) -> None:
        from tqdm.auto import tqdm  # slow to import, and the package is used without it too

        config, first = run.config, run.ranks.first
        self.run, self.on_log = run, on_log
        self.path = run.folder / LOG
        told = cut_log(self.path, run.step or -1) if first and config.resume else ""
        self.shows = first and not config.quiet
        self.bar = tqdm(total=config.steps, initial=run.step, unit="step", disable=not self.shows)
        if told:
            self.show(told, always=True)
        self.board: Any = None
        if first and config.tensorboard:
            from torch.utils.tensorboard import SummaryWriter

            # purge_step hides what an interrupted run wrote after its last checkpoint.
            purge = run.step + 1 if run.step else None
            self.board = SummaryWriter(str(run.folder / "tensorboard"), purge_step=purge)
        self.steps, self.seconds = 0, 0.0  # since the last row
        tf32 = run.device.type == "cuda" and torch.cuda.get_device_capability(run.device) >= (8, 0)
        products = "tf32" if tf32 and run.dtype == torch.float32 else run.memory.precision
        peak = device_peak(run.device, products)
        self.peak = peak and peak * run.ranks.world_size  # FLOP/s of all devices; None: not known

    def close(self) -> None:
        self.bar.close()
        if self.board is not None:
            self.board.close()

    @contextmanager
    def timed_step(self) -> Iterator[None]:
        """Around a training step: validation, samples and checkpoints do not count as time."""
        started = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - started
        self.steps += 1

    def show_step(self, loss: float) -> None:
        self.bar.update()
        self.bar.set_postfix(loss=f"{loss:.3f}", refresh=False)

    def show(self, text: str, *, always: bool = False) -> None:
        """Print a text above the bar; in a quiet run only with ``always``."""
        if self.shows or (always and self.run.ranks.first):
            self.bar.write(text)

    def write(self, row: Row) -> None:
        """Add a row to the log. Raises OSError with advice if the disk fails."""
        if not self.run.ranks.first:
            return
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise OSError(
                f"{self.path} could not be written ({error}). Make room and resume: the run goes "
                "on from its newest checkpoint."
            ) from error
        if self.board is not None:
            for name, value in row.items():
                if isinstance(value, int | float):
                    self.board.add_scalar(name, value, row["step"])
        if self.on_log is not None:
            self.on_log(row)

    def description(self) -> Row:
        """The first row: what runs where, and the peak that utilisation refers to."""
        run = self.run
        device = f"{run.device.type}, {torch.get_num_threads()} threads"
        if run.device.type == "cuda":
            device = torch.cuda.get_device_name(run.device)
        return {
            "step": 0,
            "parameters": run.model.num_parameters(),
            "device": device,
            "devices": run.ranks.world_size,
            "precision": run.memory.precision,
            "compiled": run.compiled,
            "torch": torch.__version__,
            "tokens_per_step": run.tokens_per_step,
            "peak_flops_per_second": self.peak or "n/a",
            "utilisation_is": "tokens/s · (6·(12·N·C² + V·C) + 6·N·C·T) / peak FLOP/s",
        }

    def timings(self) -> Row:
        """Speed since the last call. Utilisation is "n/a" where no data sheet gives the peak."""
        run = self.run
        rate = self.steps * run.tokens_per_step / self.seconds
        self.steps, self.seconds = 0, 0.0
        share: float | str = "n/a"
        if self.peak:
            share = utilisation(run.model.config, run.config.block_size, rate, self.peak)
        return dict(zip(TIMINGS, (rate, share, peak_memory(run.device)), strict=True))


def read_log(path: Path) -> list[dict[str, Any]]:
    """The rows of a log, without a last line that a killed process left unfinished.

    Raises ValueError if another line is damaged.
    """
    rows, problems = _rows(path)
    if problems:
        raise ValueError(problems[0])
    return rows


def _rows(path: Path) -> tuple[list[Row], list[str]]:
    """The rows that can be read, and what is wrong with the others."""
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
            problems.append(f"{place} is no row of a log: {shown(row)}")
    return rows, problems


def cut_log(path: Path, step: int) -> str:
    """Remove the rows after ``step``, so that a resumed run reads as if it had never stopped.

    A damaged log does not end a run: it is kept under another name, and what can be read of it goes
    on. Then a message is returned, otherwise "".
    """
    rows, problems = _rows(path)
    told = ""
    if problems:
        aside = path.with_name(f"{path.stem}-damaged-{time.time_ns()}{path.suffix}")
        shutil.copyfile(path, aside)
        told = f"{problems[0]} The log as it was is kept as {aside}; its other rows are used."
    kept = (row for row in rows if row["step"] <= step)
    write_text(path, "".join(json.dumps(row) + "\n" for row in kept))
    return told
