"""Training in a page: our engine in Chromium beside TensorFlow.js, nanogpt and PyTorch.

All train the same shape on the same batch of Crane World, again and again, on one processor core:
in each round another one, and each contender in a Chromium of its own. Two of our workers that
share a batch have two cores. PyTorch has one thread, and no page.

With --learn it measures what a reader waits for instead: the page's own runs of its first model,
from the press of the button to the first right story, and to half of 20 right.
"""

from __future__ import annotations

import json
import math
import os
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the repository: no install needed

import torch

from benchmarks import chromium, contenders
from benchmarks.chromium import Page
from benchmarks.common import Report, Row, parser, rounds
from gpt2_edu import GPT2Config, flops
from gpt2_edu.machine.measure import matrix_rate
from gpt2_edu.training.plain import crane_ids
from gpt2_edu.web import files_script

ROOT = Path(__file__).resolve().parents[1]
CPU = torch.device("cpu")
IN_PAGE = "/benchmarks/in_page"
STATIC = "/gpt2_edu/exhibits/static"
PACKAGES = ROOT / "benchmarks" / "in_page" / "node_modules"
SECONDS = 3.0  # that a contender trains in each round, if a step is not longer
RATE = 1e-3


@dataclass(frozen=True)
class Size:
    N: int
    C: int
    T: int
    B: int
    H: int = 4
    V: int = 1024

    @property
    def config(self) -> GPT2Config:
        sizes = {"n_layer": self.N, "n_head": self.H, "n_embd": self.C, "block_size": self.T}
        return GPT2Config(vocab_size=self.V, **sizes, **contenders.NO_DROPOUT)

    def __str__(self) -> str:
        return f"C {self.C}, T {self.T}, B {self.B}"


SIZES = [Size(2, 64, 64, 8), Size(2, 96, 100, 16)]
TINY = [Size(1, 16, 8, 2, H=2)]


@dataclass(frozen=True)
class Contender:
    name: str
    worker: str
    package: str | None = None
    workers: int = 1

    @property
    def installed(self) -> bool:
        return self.package is None or (PACKAGES / self.package).is_dir()


PAGES = [
    Contender("ours", "ours.mjs"),
    Contender("ours, two workers", "ours.mjs", workers=2),
    Contender("TensorFlow.js, WASM", "tfjs.mjs", "@tensorflow/tfjs-backend-wasm"),
    Contender("nanogpt, CPU", "nanogpt.mjs", "@genai-fi/nanogpt"),
]


def batch(size: Size) -> torch.Tensor:
    """(B, T + 1) ids of stories."""
    ids = crane_ids(200)[: size.B * (size.T + 1)]
    return ids.view(size.B, size.T + 1)


# ---------------------------------------------------------------------------------------------
# One core.


@contextmanager
def bound(process: int, cores: set[int]) -> Iterator[None]:
    """All threads of a process on some cores; those that they start follow them."""
    before = os.sched_getaffinity(process)
    bind(process, cores)
    try:
        yield
    finally:
        bind(process, before)


def bind(process: int, cores: set[int]) -> None:
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(ProcessLookupError):  # it has ended by now
            os.sched_setaffinity(int(task.name), cores)


# ---------------------------------------------------------------------------------------------
# Steps.


def timed(steps: Callable[[int], tuple[float, float]], seconds: float) -> tuple[float, float]:
    """Seconds of a step, when it is warm, and the loss after all of them."""
    _, first = steps(1)
    taken, loss = steps(1)
    for share in (seconds / 3, seconds):  # the first, until what is hot is compiled
        if (n := round(share / taken)) > 1:
            taken, loss = steps(n)
    if not loss < first:
        raise SystemExit(f"one contender learns nothing: its loss was {first} and is {loss}")
    return taken, loss


def in_page(page: Page, contender: Contender, size: Size, seconds: float) -> tuple[float, float]:
    """``timed`` for a contender of the page."""
    rows = batch(size)
    ids, targets = rows[:, :-1].flatten().tolist(), rows[:, 1:].flatten().tolist()
    request = {"sizes": vars(size), "ids": ids, "targets": targets, "lr": RATE}
    page.ask("begin", f"{IN_PAGE}/{contender.worker}", request, contender.workers)

    def steps(n: int) -> tuple[float, float]:
        answer = page.ask("steps", n)
        return answer["ms"] / 1e3 / n, answer["loss"]

    return timed(steps, seconds)


def in_torch(size: Size, seconds: float, *, fused: bool) -> tuple[float, float]:
    """``timed`` for our model in PyTorch, in the plain loop."""
    model = contenders.ours(size.config, CPU)
    loss = math.nan

    def loss_of(idx: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        nonlocal loss
        found = model(idx, targets)[1]
        loss = found.item()
        return found

    step = contenders.training_step(model, loss_of, batch(size), fused=fused)

    def steps(n: int) -> tuple[float, float]:
        started = time.perf_counter()
        for _ in range(n):
            step()
        return (time.perf_counter() - started) / n, loss

    return timed(steps, seconds)


def turn(
    launch: Callable[..., Any], start: str, size: Size, cores: set[int], seconds: float, back: bool
) -> Iterator[tuple[str, float, float]]:
    """Name, tokens/s and loss of each contender, on one of the cores or on both."""
    order: list[Contender | bool] = [*(one for one in PAGES if one.installed), False, True]
    for one in reversed(order) if back else order:
        if isinstance(one, bool):
            with bound(os.getpid(), cores):
                taken, loss = in_torch(size, seconds, fused=one)
            name = "PyTorch, one thread" + ", AdamW fused" * one
        else:
            own = os.sched_getaffinity(0) if one.workers > 1 else cores
            with chromium.page_of_its_own(launch, start) as page, bound(page.renderer(), own):
                taken, loss = in_page(page, one, size, seconds)
            name = one.name
        yield name, size.B * size.T / taken, loss


def speed(options: Any, launch: Callable[..., Any], start: str) -> Report:
    """Tokens/s of all, round by round."""
    cores = sorted(os.sched_getaffinity(0))
    seconds = 0.05 if options.quick else SECONDS
    report = Report("page_training", CPU, {"versions": versions()})
    rate: list[float] = []
    for size in TINY if options.quick else SIZES:
        rows: dict[str, Row] = {}
        losses: dict[str, float] = {}
        for number in range(rounds(options)):
            core = {cores[number % len(cores)]}
            with bound(os.getpid(), core):
                rate.append(matrix_rate(CPU, torch.float32, 128 if options.quick else None))
            for name, value, loss in turn(launch, start, size, core, seconds, number % 2 == 1):
                row = Row(f"training, {size}", name, [], "tokens/s")
                rows.setdefault(name, row).values.append(value)
                losses[name] = loss
        for row in rows.values():
            threads = 2 if row.contender.endswith("two workers") else 1
            per_token = flops.flops_per_token(size.config, size.T)
            row.limit = threads * statistics.median(rate) / per_token
            row.note = f"loss {losses[row.contender]:.2f}"
        report.rows += rows.values()
    report.rates = {"matrix float32 FLOP/s, one thread": statistics.median(rate)}
    return report


def versions() -> dict[str, str]:
    """Of what package.json pins and is installed."""
    names = sorted({one.package for one in PAGES if one.package and one.installed})
    found = {name: (PACKAGES / name / "package.json").read_text() for name in names}
    return {name: json.loads(text)["version"] for name, text in found.items()}


# ---------------------------------------------------------------------------------------------
# What a reader waits for.


def learn(options: Any, launch: Callable[..., Any], start: str) -> Report:
    """Seconds to the first right story, and to half of 20, of several seeds."""
    limit = 20.0 if options.quick else 300.0
    report = Report("page_training_learn", CPU, {"limit": limit})
    found: dict[str, list[float]] = {}
    long: list[str] = []
    for seed in range(rounds(options)):
        with chromium.page_of_its_own(launch, start) as page:
            answer = page.ask("learn", seed, limit)
            long += [f"seed {seed}: {kind} of {ms:.0f} ms" for kind, ms, _ in page.ask("long", 0)]
        for name, value in answer.items():
            found.setdefault(name, []).append(value)
        print(f"seed {seed}: {answer}", flush=True)
    for name, values in found.items():
        unit = {"tokens/s": "tokens/s", "loss": "nats"}.get(re.split("[ ,]", name)[0], "s")
        row = Row(name, "ours", values, unit, higher_is_better=unit == "tokens/s")
        missed = sum(value >= limit for value in values) * (unit == "s")
        row.note = f"{missed} of {len(values)} not within {limit:.0f} s" * bool(missed)
        report.rows.append(row)
    report.extra["long"] = long
    print("Kept the page busy for more than 50 ms: " + ("; ".join(long) or "nothing"))
    return report


# ---------------------------------------------------------------------------------------------


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__, device="cpu")
    options.add_argument("--learn", action="store_true", help="how long a reader waits")
    options = options.parse_args(argv)
    torch.set_num_threads(1)  # as a page has it
    missing = [one.name for one in PAGES if not one.installed]
    if missing and not options.learn:
        print(f"Not installed, so not measured (npm ci in {PACKAGES.parent}): {', '.join(missing)}")
    names = ["crane_grammar"] if options.learn else []
    made = {f"{STATIC}/files/{name}.js": files_script(name) for name in names}
    with chromium.served(ROOT, made) as address:
        with chromium.starter(sys.exit) as launch:
            start = f"{address}{IN_PAGE}/page.html"
            report = (learn if options.learn else speed)(options, launch, start)
            with chromium.page_of_its_own(launch, start) as page:
                report.settings["chromium"] = page.page.context.browser.version
    report.finish(options.json)


if __name__ == "__main__":
    main()
