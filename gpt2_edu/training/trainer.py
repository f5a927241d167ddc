"""Training: one config, one loop, on one CPU, one GPU or many.

    from gpt2_edu.trainer import TrainConfig, Trainer

    Trainer(TrainConfig(data="shards", out="run", model="gpt2", steps=2000)).train()

Top down: ``Trainer.train`` opens a run, ``training_loop`` alternates ``training_step`` and
``report`` until the last step or Ctrl-C.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..generation import generate
from ..machine.device import keep_freed_memory, named_device
from ..model import GPT2, eval_mode
from . import checkpoint as ck
from .config import TrainConfig, read_train_config
from .distributed import full_tensor, micro_step, process_group
from .run import Run, claimed, open_run
from .run_log import Listener, Row, RunLog

# A second signal within this time is an echo: torchrun passes on what the terminal has already
# sent to every process.
ECHO_SECONDS = 1.0


@dataclass(frozen=True)
class Summary:
    """How a run ended."""

    step: int  # steps done, in this process and those before it
    finished: bool  # False: it was stopped and can be resumed
    loss: float | None  # of the last training step; None if none was left to do
    val_loss: float | None  # of the last validation
    best_val_loss: float | None
    checkpoint: Path  # the newest
    best_checkpoint: Path | None
    seconds: float


class Trainer:
    """Runs what a TrainConfig describes: ``Trainer(config).train()``.

    ``on_log`` is called with each row of the log on rank 0, for live plots.
    """

    def __init__(self, config: TrainConfig, *, on_log: Listener | None = None) -> None:
        self.config, self.on_log = config, on_log
        self._run: Run | None = None
        self._stop = Stop()

    @classmethod
    def resume(cls, run: str | os.PathLike[str], *, on_log: Listener | None = None) -> Trainer:
        """A trainer that goes on with the run in a folder, with the settings it began with."""
        config = replace(read_train_config(run), out=str(run), resume=True)
        return cls(config, on_log=on_log)

    @property
    def model(self) -> GPT2:
        """The model in training, and afterwards the trained one. It exists once ``train`` runs."""
        if self._run is None:
            raise ValueError("there is no model yet: call train() first")
        return self._run.model

    def stop(self) -> None:
        """Ask ``train``, which runs in another thread, to save and return after its step."""
        self._stop.requested_at = time.monotonic()

    def train(self) -> Summary:
        """Train to the last step, or until Ctrl-C or SIGTERM, and save.

        Raises ValueError if the settings fit neither the data nor the device nor the run that is
        resumed, or if memory does not suffice; FileNotFoundError if something to read is missing;
        FloatingPointError if loss or gradient are no longer finite, with the last good checkpoint
        untouched; and OSError if a checkpoint cannot be written.
        """
        device = named_device(self.config.device)
        started = time.perf_counter()
        with process_group(device) as ranks, self._stop as stop, torch_settings(ranks.device):
            folder = Path(self.config.out).expanduser()
            with claimed(folder, ranks):
                run = self._run = open_run(self.config, ranks)
                with closing(RunLog(run, self.on_log)) as log, run.memory.explain_errors():
                    training_loop(run, log, stop)
        return Summary(
            step=run.step,
            finished=run.finished,
            loss=run.loss,
            val_loss=run.val_loss,
            best_val_loss=run.best_val_loss,
            checkpoint=ck.checkpoints(run.folder)[-1],
            best_checkpoint=ck.best_checkpoint(run.folder),
            seconds=time.perf_counter() - started,
        )


@contextmanager
def torch_settings(device: torch.device) -> Iterator[None]:
    """TF32 for float32 products on CUDA, and random states that the caller gets back unchanged."""
    matmul, before = torch.get_float32_matmul_precision(), ck.random_state(device)
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    if device.type == "cpu":
        keep_freed_memory()
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(matmul)
        ck.set_random_state(before, device)


# ---- The loop ----------------------------------------------------------------------------------


def training_loop(run: Run, log: RunLog, stop: Stop) -> None:
    """Train to the last step, or until a stop is requested on any rank."""
    if run.step == 0:
        first = log.description()
        if run.val is not None:
            first["val_loss"] = run.val_loss = evaluate(run)
        log.write(first)
    stopping = False
    while not (run.finished or stopping):
        with log.timed_step():
            result = training_step(run)
        stopping = run.ranks.any(stop.requested)
        report(run, log, result, save=stopping)
    if not run.finished:
        log.show(_how_to_resume(run), always=True)


@dataclass(frozen=True)
class StepResult:
    """What the log says about one training step."""

    loss: float  # mean over the batches of all ranks, before the update
    lr: float
    grad_norm: float  # before clipping


def training_step(run: Run) -> StepResult:
    """One update of the weights: forward, backward, clip, AdamW.

    Raises FloatingPointError before the update if loss or gradient are not finite.
    """
    config = run.config
    lr = config.learning_rate_at(run.step)
    for group in run.optimizer.param_groups:
        group["lr"] = lr
    total = torch.zeros((), device=run.device)
    for i in range(config.grad_accum):
        idx, targets = run.loader.next_batch()  # (B, T) each
        with micro_step(run.training_model, last=i == config.grad_accum - 1):
            with run.autocast():
                _, loss = run.training_model(idx, targets)
            # All micro-batches have equally many targets: the mean of their means is the mean.
            run.scaler.scale(loss / config.grad_accum).backward()
        total += loss.detach() / config.grad_accum
    run.scaler.unscale_(run.optimizer)
    norm = nn.utils.clip_grad_norm_(run.model.parameters(), config.grad_clip or math.inf)
    grad_norm = float(full_tensor(norm))
    result = StepResult(run.ranks.mean(float(total)), lr, grad_norm)
    check_finite(run, result)
    run.scaler.step(run.optimizer)
    run.scaler.update()
    check_scale(run)
    run.optimizer.zero_grad(set_to_none=True)
    run.step += 1
    return result


def check_finite(run: Run, result: StepResult) -> None:
    """Raise FloatingPointError if the loss or the gradient of the coming step is not finite."""
    # The scaler finds its scale by trying: it skips the steps with infinite gradients.
    if math.isfinite(result.loss) and (math.isfinite(result.grad_norm) or run.scaler.is_enabled()):
        return
    good = ck.checkpoints(run.folder)
    kept = f"{good[-1]} is the last good checkpoint" if good else "There is no checkpoint yet"
    raise FloatingPointError(
        f"training diverged at step {run.step + 1}: the loss is {result.loss}, the gradient's norm "
        f"{result.grad_norm}, at a learning rate of {result.lr:.3g}. Nothing of this step is "
        f"saved. {kept}. Try, in this order: a lower lr, more warmup_steps, grad_clip=1, "
        "precision=float32; and look at the data if it always comes at the same step."
    )


def check_scale(run: Run) -> None:
    """Raise FloatingPointError if float16 finds no scale at which the gradient is finite.

    After each step that is skipped the scaler halves its scale; below 1 nothing can come of it.
    """
    if run.scaler.is_enabled() and (scale := run.scaler.get_scale()) < 1:
        raise FloatingPointError(
            f"the gradient in float16 is not finite at step {run.step + 1}, though the loss was "
            f"scaled down to {scale:.3g} times itself. Nothing of this step is saved. Try "
            "precision=float32, or bf16 where the device has it; or a lower lr."
        )


def report(run: Run, log: RunLog, result: StepResult, *, save: bool = False) -> None:
    """After a step, what is due: validation, a sample, a row of the log, a checkpoint.

    A validation loss that is the best so far is always saved.
    """
    config = run.config
    run.loss = result.loss
    log.show_step(result.loss)
    row: Row = {"step": run.step} | asdict(result)
    if run.is_due(config.eval_every):
        row["val_loss"] = run.val_loss = evaluate(run)
        if run.best_val_loss is None or run.val_loss < run.best_val_loss:
            run.best_val_loss, save = run.val_loss, True
    if run.is_due(config.sample_every):
        row["sample"] = sample(run)
        log.show(row["sample"])
    if run.is_due(config.log_every) or "val_loss" in row or "sample" in row:
        log.write(row | log.timings())
    if save or run.is_due(config.save_every):
        ck.save_run(run, row.get("val_loss"))


def _how_to_resume(run: Run) -> str:
    return (
        f"Stopped after step {run.step} of {run.config.steps}; saved in "
        f"{ck.checkpoint_path(run.folder, run.step)}. To go on: gpt2-edu train --out {run.folder} "
        f"--resume, or in Python: Trainer.resume({str(run.folder)!r}).train()"
    )


# ---- Measuring and sampling --------------------------------------------------------------------


@torch.no_grad()
def evaluate(run: Run) -> float:
    """Mean loss over the validation windows, the same every time, without dropout.

    Ranks can differ by one batch. Under FSDP a forward pass needs all ranks, so those without a
    batch pass one that does not count.
    """
    assert run.val is not None, "eval_every is 0"
    batches = run.val()
    idle = torch.zeros(1, run.config.block_size, dtype=torch.int64, device=run.device)
    total = rows = 0.0
    with eval_mode(run.model), _uncompiled(run):
        while run.ranks.any((batch := next(batches, None)) is not None):
            idx, targets = batch or (idle, idle)
            with run.autocast():
                _, loss = run.model(idx, targets)
            if batch:
                total, rows = total + float(loss) * len(idx), rows + len(idx)
    total, rows = run.ranks.sum(total, rows)
    return total / rows


def sample(run: Run) -> str:
    """A text that the model continues from the prompt. All ranks draw the same one."""
    generator = torch.Generator(run.device).manual_seed(run.config.seed + run.step)
    with eval_mode(run.model), _uncompiled(run):
        ids = generate(
            run.model,
            torch.tensor([run.prompt], device=run.device),
            run.config.sample_tokens,
            generator=generator,
            overflow="crop",
            use_cache=not run.config.fsdp,
        )
    return run.tokenizer.decode(ids[0].tolist())


def _uncompiled(run: Run) -> AbstractContextManager[None]:
    """Batches of other shapes would be compiled anew, which takes longer than it saves."""
    return torch.compiler.set_stance("force_eager") if run.compiled else nullcontext()


# ---- Ctrl-C ------------------------------------------------------------------------------------


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
        self.requested_at = None
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
