"""What the benchmarks share: alternating rounds, the machine's own limits, one table, one file.

Machines slow down and speed up while they are measured. So contenders take turns, round after
round, a ratio compares the two runs of one round, and medians are reported. What the hardware
can do at most is measured in the same run, beside what the models do.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import re
import statistics
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gpt2_edu.machine.measure import copy_rate, matrix_rate, matrix_vector_rate, seconds

RESULTS = Path(__file__).resolve().parent / "results"

# ---------------------------------------------------------------------------------------------
# The command line.


def parser(description: str | None, *, device: str | None = None) -> argparse.ArgumentParser:
    """The options that every benchmark has. ``device`` fixes the default of --device."""
    made = argparse.ArgumentParser(description=description, allow_abbrev=False)
    made.add_argument("--json", type=Path, help="where to write the figures (default: results/)")
    made.add_argument("--rounds", type=int, help="alternating rounds (default: 5, or 2 if --quick)")
    made.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    made.add_argument("--device", default=device, help="cpu or cuda (default: %(default)s)")
    return made


def rounds(options: argparse.Namespace) -> int:
    return options.rounds or (2 if options.quick else 5)


# ---------------------------------------------------------------------------------------------
# Measuring.


def alternate(
    contenders: Mapping[str, Callable[[], object]],
    rounds: int,
    device: torch.device,
    *,
    warm_up: int = 2,
) -> dict[str, list[float]]:
    """Seconds of each contender in each round. All are warm before the first round.

    Every other round runs backwards, so that no contender gains by its place in the order.
    """
    for run in contenders.values():
        for _ in range(warm_up):
            run()
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    order = list(contenders)
    for _ in range(rounds):
        for name in order:
            taken[name].append(seconds(contenders[name], device))
        order.reverse()
    return taken


def alternate_apart(
    contenders: Mapping[str, Callable[[], Callable[[], object]]],
    rounds: int,
    device: torch.device,
    *,
    warm_up: int = 2,
) -> dict[str, list[float]]:
    """The same with a process for each contender: threads that one keeps would slow the others.

    A contender is a function that can be pickled and makes what is run.
    """
    runs: dict[str, Callable[[], object]] = {}
    processes = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        for name, make in contenders.items():
            here, there = processes.Pipe()
            process = processes.Process(target=_serve, args=(make, there), daemon=True)
            process.start()
            stack.callback(process.kill)
            there.close()
            here.recv()  # it is made; EOFError if it failed

            def run(pipe: Connection = here) -> None:
                pipe.send(None)
                pipe.recv()

            runs[name] = run
        return alternate(runs, rounds, device, warm_up=warm_up)


def _serve(make: Callable[[], Callable[[], object]], pipe: Connection) -> None:
    run = make()
    pipe.send(None)
    while True:
        pipe.recv()
        run()
        pipe.send(None)


def hardware_rates(
    device: torch.device, dtypes: Iterable[torch.dtype], *, quick: bool = False
) -> dict[str, float]:
    """What the machine itself reaches now, at its best: the ceilings for the models.

    ``matrix …`` is the FLOP/s of a large square product, ``matrix-vector …`` the bytes/s at which
    a matrix is read to be multiplied by one vector, as in decoding, and ``copy`` the bytes/s read
    and written when a large tensor is copied. On a GPU the tensors are gigabytes, beside which
    the microseconds of a launch do not count.
    """
    size, shape, copied = None, None, 2**27
    if device.type == "cuda":
        shape, copied = (50304, 32768), 2**32
    if quick:
        size, shape, copied = 128, (512, 64), 2**20
    reached = {}
    for dtype in dtypes:
        kind = str(dtype).removeprefix("torch.")
        reached[f"matrix {kind} FLOP/s"] = matrix_rate(device, dtype, size)
        reached[f"matrix-vector {kind} bytes/s"] = matrix_vector_rate(device, dtype, shape)
    reached["copy bytes/s"] = copy_rate(device, copied)
    return reached


# ---------------------------------------------------------------------------------------------
# The machine.


def installed(package: str) -> str | None:
    """The version of a package, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def cpu_name() -> str:
    try:
        info = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    names = re.findall(r"model name\s*:\s*(.+)", info)
    return names[0] if names else platform.machine()


def machine(device: torch.device) -> dict[str, Any]:
    """What one must know to compare figures with those of another machine."""
    described = {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": installed("transformers"),
    }
    if device.type == "cuda":
        described["gpu"] = torch.cuda.get_device_name(device)
        described["cuda"] = torch.version.cuda
    return described


# ---------------------------------------------------------------------------------------------
# The report.


@dataclass
class Row:
    """One contender's figures in one task, a value for each round."""

    task: str
    contender: str
    values: list[float]
    unit: str
    higher_is_better: bool = True
    limit: float | None = None  # what the hardware or flops.py's arithmetic allows, same unit
    note: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def of_limit(self) -> float | None:
        """How near to the limit the median is; 1 is as good as can be."""
        if self.limit is None:
            return None
        return self.median / self.limit if self.higher_is_better else self.limit / self.median


@dataclass
class Report:
    """All that one run of a benchmark found. It prints a table and writes a file."""

    benchmark: str
    device: torch.device
    settings: dict[str, Any]
    rates: dict[str, float] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    def add_rates(
        self,
        task: str,
        taken: Mapping[str, list[float]],
        work: float,
        unit: str,
        limit: float | None = None,
    ) -> None:
        """Rows from the seconds that ``alternate`` measured, for ``work`` units of work a run."""
        for contender, times in taken.items():
            values = [work / t for t in times]
            self.rows.append(Row(task, contender, values, unit, limit=limit))

    def ratio(self, row: Row) -> float | None:
        """How many times better "ours" is than this row's contender, round by round; the median."""
        ours = next((r for r in self.rows if (r.task, r.contender) == (row.task, "ours")), None)
        if ours is None or ours is row:
            return None
        pairs = zip(ours.values, row.values, strict=True)
        return statistics.median(a / b if row.higher_is_better else b / a for a, b in pairs)

    def as_dict(self) -> dict[str, Any]:
        return {
            "benchmark": self.benchmark,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": machine(self.device),
            "settings": self.settings,
            "rates": self.rates,
            "rows": [
                {
                    "task": row.task,
                    "contender": row.contender,
                    "unit": row.unit,
                    "median": row.median,
                    "values": row.values,
                    "limit": row.limit,
                    "of_limit": row.of_limit,
                    "ours_is_better_by": self.ratio(row),
                    "note": row.note,
                }
                for row in self.rows
            ],
            **self.extra,
        }

    def print(self) -> None:
        described = machine(self.device)
        settings = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        print(f"{self.benchmark}: {settings}" if settings else self.benchmark)
        print(", ".join(f"{k} {v}" for k, v in described.items() if v is not None))
        for name, rate in self.rates.items():
            print(f"  {name:32} {short(rate)}")
        head = ("task", "contender", "median", "lowest", "highest", "unit", "of limit", "")
        table = [head]
        for row in self.rows:
            ratio = self.ratio(row)
            table.append(
                (
                    row.task,
                    row.contender,
                    *(short(x) for x in (row.median, min(row.values), max(row.values))),
                    row.unit,
                    f"{row.of_limit:.0%}" if row.of_limit else "",
                    f"ours is {ratio:.2f} × as good" if ratio else row.note,
                )
            )
        print_table(table)
        if described["transformers"] is None:
            print("transformers is not installed: these are our figures alone.")

    def write(self, path: Path | None) -> Path:
        """Write JSON, by default to results/, named by benchmark, processor and date."""
        if path is None:
            described = machine(self.device)
            chip = re.sub(r"[^a-z0-9]+", "-", described.get("gpu", described["cpu"]).lower())
            day = datetime.now(UTC).date().isoformat()
            path = RESULTS / f"{self.benchmark}-{chip.strip('-')}-{day}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.as_dict(), indent=1) + "\n", encoding="utf-8")
        return path

    def finish(self, path: Path | None) -> None:
        self.print()
        print(f"written to {self.write(path)}")


def short(x: float) -> str:
    """Four digits and a prefix: 7.72e14 is "772 T"."""
    prefixes = {1e12: "T", 1e9: "G", 1e6: "M", 1e3: "k", 1: "", 1e-3: "m", 1e-6: "µ"}
    size = next((size for size in prefixes if abs(x) >= size), 1)
    return f"{x / size:.4g} {prefixes[size]}".strip()


def print_table(table: list[tuple[str, ...]]) -> None:
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    for number, line in enumerate(table):
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        )
        if number == 0:
            print("  ".join("-" * width for width in widths))


# ---------------------------------------------------------------------------------------------
# Where a GPU's time goes.


def top_kernels(run: Callable[[], object], limit: int = 25) -> list[dict[str, Any]]:
    """The GPU kernels that take the most time in one run, with their share of it."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        run()
        torch.cuda.synchronize()
    events = [e for e in profile.key_averages() if e.device_type.name == "CUDA"]
    whole = sum(e.self_device_time_total for e in events)
    events.sort(key=lambda e: e.self_device_time_total, reverse=True)
    return [
        {
            "kernel": e.key,
            "calls": e.count,
            "milliseconds": e.self_device_time_total / 1e3,
            "share": e.self_device_time_total / whole,
        }
        for e in events[:limit]
    ]


def random_ids(
    batch: int, length: int, vocab_size: int, device: torch.device, seed: int = 0
) -> Tensor:
    """(batch, length) ids, the same on every device."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(vocab_size, (batch, length), generator=generator).to(device)
