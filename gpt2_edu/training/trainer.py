"""Training: one config, one loop, on one CPU, one GPU or many.

    from gpt2_edu.trainer import TrainConfig, Trainer

    Trainer(TrainConfig(data="shards", out="run", model="gpt2", steps=2000)).train()

``training_step`` is one update of the weights. A ``Trainer`` opens a run and repeats that step,
with validation, samples, log and checkpoints in between, until the last step or Ctrl-C.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import tiktoken
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ..data import BatchLoader, TokenShards, validation_batches
from ..generation import generate
from ..language_model import eval_mode
from ..machine.data_sheets import device_peak
from ..machine.device import keep_freed_memory, named_device, pick_compile, pick_precision
from ..model import GPT2
from ..tokenizer import load_tokenizer
from ..weights import CONFIG, read_config
from . import checkpoint as ck
from .config import TrainConfig, read_train_config
from .distributed import (
    Ranks,
    copy_full_tensor,
    distribute,
    full_tensor,
    gather_full,
    micro_step,
    process_group,
)
from .memory import StepMemory
from .optim import make_optimizer
from .randomness import kept_random_state, random_state, seed_all, set_random_state
from .run_folder import find_checkpoint, lock_folder, open_folder
from .run_log import Listener, Row, RunLog, timings

# A second signal within this time is an echo: torchrun passes on what the terminal has already
# sent to every process.
ECHO_SECONDS = 1.0


# ---- One step ----------------------------------------------------------------------------------


def training_step(
    model: nn.Module,
    optimizer: Optimizer,
    next_batch: Callable[[], tuple[Tensor, Tensor]],
    *,
    lr: float,
    clip: float,
    accumulate: int,
    autocast: torch.autocast,
    scaler: torch.amp.GradScaler,
    ranks: Ranks,
) -> tuple[float, float]:
    """One update of the weights: forward, loss, backward, clip, step.

    Returns the loss before the update, a mean over the batches of all ranks, and the norm of the
    gradient before clipping. Raises FloatingPointError before the update if they are not finite.
    """
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.zero_grad()
    total = torch.zeros((), device=ranks.device)
    for i in range(accumulate):
        inputs, targets = next_batch()  # (B, T) each
        with micro_step(model, last=i == accumulate - 1):
            with autocast:
                _, loss = model(inputs, targets)
            scaler.scale(loss / accumulate).backward()
        total += loss.detach() / accumulate
    scaler.unscale_(optimizer)
    norm = float(full_tensor(nn.utils.clip_grad_norm_(model.parameters(), clip)))
    mean = ranks.mean(float(total))
    check_finite(mean, norm, scaler)
    scaler.step(optimizer)
    scaler.update()
    check_scale(scaler)
    return mean, norm


def check_finite(loss: float, norm: float, scaler: torch.amp.GradScaler) -> None:
    """Raise FloatingPointError if the loss or the gradient is not finite."""
    # In float16 the scaler skips a step whose gradient is not finite, and halves its scale.
    if not math.isfinite(loss) or not (math.isfinite(norm) or scaler.is_enabled()):
        raise FloatingPointError(f"the loss is {loss}, the gradient's norm {norm}")


def check_scale(scaler: torch.amp.GradScaler) -> None:
    """Raise FloatingPointError if float16 finds no scale at which the gradient is finite."""
    if scaler.is_enabled() and (scale := scaler.get_scale()) < 1:
        raise FloatingPointError(
            "the gradient in float16 is not finite, though the loss was scaled down to "
            f"{scale:.3g} times itself"
        )


# ---- A run -------------------------------------------------------------------------------------


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

    ``on_log`` is called with each row of the log on rank 0, for live plots; the random numbers that
    it draws do not change the run. Dropout draws from torch's global generators, so a process
    trains one run at a time if it is to be repeatable.
    """

    def __init__(self, config: TrainConfig, *, on_log: Listener | None = None) -> None:
        self.config, self.on_log = config, on_log
        self.folder = Path(config.out).expanduser()
        self.step = 0  # steps done, also by earlier processes
        self.best_val_loss: float | None = None
        self.check_folder: Callable[[], None] = lambda: None
        self._model: GPT2 | None = None
        self._stop = Stop()

    @classmethod
    def resume(cls, run: str | os.PathLike[str], *, on_log: Listener | None = None) -> Trainer:
        """A trainer that continues the run in a folder, with the settings that it began with."""
        config = replace(read_train_config(run), out=str(run), resume=True)
        return cls(config, on_log=on_log)

    @property
    def model(self) -> GPT2:
        """The model in training, and afterwards the trained one. It exists once ``train`` runs."""
        if self._model is None:
            raise ValueError("there is no model yet: call train() first")
        return self._model

    def stop(self) -> None:
        """Ask ``train``, in this thread or another, to save and return after its step."""
        self._stop.requested_at = time.monotonic()

    def train(self) -> Summary:
        """Train to the last step, or until Ctrl-C or SIGTERM, and save.

        Raises ValueError if the settings do not fit the data, the device or the run that is
        resumed, or if memory does not suffice; FileNotFoundError if something to read is missing;
        FloatingPointError if loss or gradient are no longer finite, with the last good checkpoint
        unchanged; and OSError if a checkpoint cannot be written or the run folder was moved.
        """
        device, started = named_device(self.config.device), time.perf_counter()
        with (
            process_group(device) as ranks,
            self._stop,
            torch_settings(ranks.device),
            lock_folder(self.folder, ranks) as self.check_folder,
        ):
            self.open(ranks)
            with (
                closing(RunLog(self.folder, self.config, self.step, active=ranks.first)) as log,
                self.memory.explain_errors(),
            ):
                loss, val_loss = self._loop(log)
        return Summary(
            step=self.step,
            finished=self.finished,
            loss=loss,
            val_loss=val_loss,
            best_val_loss=self.best_val_loss,
            checkpoint=ck.checkpoints(self.folder)[-1],
            best_checkpoint=ck.best_checkpoint(self.folder),
            seconds=time.perf_counter() - started,
        )

    @property
    def finished(self) -> bool:
        return self.step == self.config.steps

    # ---- Opening

    def open(self, ranks: Ranks) -> None:
        """Make all parts of the run: new or, with ``config.resume``, from its newest checkpoint.

        Seeds the random generators. The run folder is written last, when everything is checked.
        Raises what ``train`` names.
        """
        config, device = self.config, ranks.device
        _check_options(config, ranks)
        self.ranks, self.step, self.best_val_loss = ranks, 0, None
        dtype = pick_precision(config.precision, device)
        self.compiled = pick_compile(config.compile, device)
        self.autocast = torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32)
        # float16 has no small numbers: the loss is scaled up to keep gradients from becoming 0.
        self.scaler = torch.amp.GradScaler(device.type, enabled=dtype == torch.float16)

        train = TokenShards(config.data)
        self.tokenizer = load_tokenizer(train.tokenizer)
        train.check_tokenizer(train.tokenizer)
        self.windows: dict[str, Any] = asdict(ranks) | {
            name: getattr(config, name) for name in ("batch_size", "block_size", "align")
        }
        self.loader = BatchLoader(train, seed=config.seed, **self.windows)
        self.val = TokenShards(config.data, "val") if config.eval_every else None
        if self.val is not None:
            self.val_batches()  # raises ValueError if the shards hold less than one window

        checkpoint = find_checkpoint(self.folder, config)
        if checkpoint is None:
            sizes = config.model_config(train.vocab_size)
        else:
            sizes = read_config(checkpoint / CONFIG)
        self.prompt = _prompt(config, self.tokenizer, sizes.vocab_size)
        self.memory = StepMemory(config, sizes, device, str(dtype).removeprefix("torch."))
        self.memory.check()
        with self.memory.explain_errors():
            seed_all(config.seed)  # the same weights on every rank
            model = self._model = GPT2(sizes)
            if config.init_from is not None and checkpoint is None:
                model.load_state_dict(GPT2.from_pretrained(config.init_from).state_dict())
            self.training_model = distribute(model, ranks, fsdp=config.fsdp, compiled=self.compiled)
            betas = config.beta1, config.beta2
            self.optimizer = make_optimizer(
                model, lr=config.lr, betas=betas, weight_decay=config.weight_decay
            )
            seed_all(config.seed, ranks.rank + 1)  # other dropout on each rank
            if checkpoint is not None:
                self._restore(checkpoint)
        ranks.barrier()  # all have read the folder before the first one writes
        if ranks.first:
            open_folder(self.folder, config)

    @property
    def sequences_per_step(self) -> int:
        return self.ranks.world_size * self.config.batch_size * self.config.grad_accum

    # ---- The loop

    def _loop(self, log: RunLog) -> tuple[float | None, float | None]:
        """Train until the last step or a stop. Returns the last training and validation loss."""
        config, ranks = self.config, self.ranks
        loss = val_loss = None
        peak = peak_flops(ranks, self.memory.precision)
        tokens = self.sequences_per_step * config.block_size
        steps, seconds = 0, 0.0  # of training since the last row of the log
        if self.step == 0:
            row = self._description(tokens, peak)
            if self.val is not None:
                row["val_loss"] = val_loss = self.evaluate()
            self._write(log, row)
        stopping = False
        while not (self.finished or stopping):
            began = time.perf_counter()
            row = self.train_step()
            steps, seconds = steps + 1, seconds + time.perf_counter() - began
            loss = row["loss"]
            log.show_step(loss)
            stopping = ranks.any(self._stop.requested)
            save = stopping or self._is_due(config.save_every)
            if self._is_due(config.eval_every):
                row["val_loss"] = val_loss = self.evaluate()
                if self.best_val_loss is None or val_loss < self.best_val_loss:
                    self.best_val_loss, save = val_loss, True
            if self._is_due(config.sample_every):
                row["sample"] = self.sample()
                log.show(row["sample"])
            if self._is_due(config.log_every) or "val_loss" in row or "sample" in row:
                rate, (steps, seconds) = steps * tokens / seconds, (0, 0.0)
                row |= timings(self.model.config, config.block_size, rate, peak, ranks.device)
                self._write(log, row)
            if save:
                self.save(row.get("val_loss"))
        if not self.finished:
            log.show(self._how_to_resume(), always=True)
        return loss, val_loss

    def train_step(self) -> Row:
        """Take one step. Returns what the log says about it."""
        config, lr = self.config, self.config.learning_rate_at(self.step)
        try:
            loss, norm = training_step(
                self.training_model,
                self.optimizer,
                self.loader.next_batch,
                lr=lr,
                clip=config.grad_clip or math.inf,
                accumulate=config.grad_accum,
                autocast=self.autocast,
                scaler=self.scaler,
                ranks=self.ranks,
            )
        except FloatingPointError as error:
            good = ck.checkpoints(self.folder)
            kept = f"{good[-1]} is the last good checkpoint" if good else "There is no checkpoint"
            raise FloatingPointError(
                f"training diverged at step {self.step + 1}: {error}, at a learning rate of "
                f"{lr:.3g}. Nothing of this step is saved. {kept}. Try, in this order: a lower lr, "
                "more warmup_steps, grad_clip=1, precision=float32; and look at the data if it "
                "always happens at the same step."
            ) from error
        self.step += 1
        return {"step": self.step, "loss": loss, "lr": lr, "grad_norm": norm}

    def _is_due(self, every: int) -> bool:
        """Whether what happens every so many steps, and at the end, happens now. 0: never."""
        return every > 0 and (self.step % every == 0 or self.finished)

    def _write(self, log: RunLog, row: Row) -> None:
        if self.ranks.first:
            self.check_folder()
        log.write(row)
        if self.on_log is not None and self.ranks.first:
            with kept_random_state(self.ranks.device):
                self.on_log(row)

    def _description(self, tokens_per_step: int, peak: float | None) -> Row:
        """The first row of the log: what runs where, and the peak that utilisation refers to."""
        device = self.ranks.device
        name = f"{device.type}, {torch.get_num_threads()} threads"
        if device.type == "cuda":
            name = torch.cuda.get_device_name(device)
        return {
            "step": 0,
            "parameters": self.model.num_parameters(),
            "device": name,
            "devices": self.ranks.world_size,
            "precision": self.memory.precision,
            "compiled": self.compiled,
            "torch": torch.__version__,
            "tokens_per_step": tokens_per_step,
            "peak_flops_per_second": peak or "n/a",
            "utilisation_is": "tokens/s · (6·(12·N·C² + V·C) + 6·N·C·T) / peak FLOP/s",
        }

    def _how_to_resume(self) -> str:
        return (
            f"Stopped after step {self.step} of {self.config.steps}; saved in "
            f"{ck.checkpoint_path(self.folder, self.step)}. To continue: gpt2-edu train --out "
            f"{self.folder} --resume, or in Python: Trainer.resume({str(self.folder)!r}).train()"
        )

    # ---- Validation and samples

    def val_batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """This rank's share of the validation windows, (B, T) each."""
        assert self.val is not None, "eval_every is 0"
        return validation_batches(self.val, n_batches=self.config.eval_batches, **self.windows)

    @torch.no_grad()
    def evaluate(self) -> float:
        """Mean loss over the validation windows, the same every time, without dropout.

        Ranks can differ by one batch. Under FSDP a forward pass needs all ranks, so those without a
        batch pass one that does not count.
        """
        batches, device = self.val_batches(), self.ranks.device
        idle = torch.zeros(1, self.config.block_size, dtype=torch.int64, device=device)
        total = rows = 0.0
        with eval_mode(self.model), self._uncompiled():
            while self.ranks.any((batch := next(batches, None)) is not None):
                with self.autocast:
                    _, loss = self.model(*(batch or (idle, idle)))
                if batch:
                    total, rows = total + float(loss) * len(batch[0]), rows + len(batch[0])
        total, rows = self.ranks.sum(total, rows)
        return total / rows

    def sample(self) -> str:
        """A text that continues the prompt. All ranks draw the same one."""
        config, device = self.config, self.ranks.device
        with eval_mode(self.model), self._uncompiled():
            ids = generate(
                self.model,
                torch.tensor([self.prompt], device=device),
                config.sample_tokens,
                generator=torch.Generator(device).manual_seed(config.seed + self.step),
                overflow="crop",
                use_cache=not config.fsdp,
            )
        return self.tokenizer.decode(ids[0].tolist())

    def _uncompiled(self) -> AbstractContextManager[None]:
        """Compiling again for batches of other shapes takes longer than it saves."""
        return torch.compiler.set_stance("force_eager") if self.compiled else nullcontext()

    # ---- Checkpoints

    def save(self, val_loss: float | None) -> None:
        """Write a checkpoint, on rank 0, then remove those that are no longer kept.

        ``val_loss`` is that of the present weights, None if it was not measured. Every rank must
        call this. Raises OSError on all of them if the checkpoint cannot be written.
        """
        ranks, model = self.ranks, self.model
        data = {"val_fingerprint": self.val.fingerprint} if self.val is not None else {}
        state = {
            "step": self.step,
            "val_loss": val_loss,
            "best": self.best_val_loss,
            "loader": self.loader.state_dict() | data,
            "scaler": self.scaler.state_dict(),
            "random": ranks.gather(random_state(ranks.device)),
            "sequences_per_step": self.sequences_per_step,
            "config": asdict(self.config),
        }
        averages = {
            f"{name}.{key}": value
            for name, parameter in model.named_parameters()
            for key, value in self.optimizer.state[parameter].items()
        }
        weights = gather_full(model.state_dict(), ranks)
        averages = gather_full(averages, ranks)

        def write() -> None:
            self.check_folder()
            ck.save(self.folder, model.config, weights, averages, state)
            ck.prune(self.folder, self.config.keep)

        if problem := ranks.on_first(write):
            raise OSError(problem)

    def _restore(self, checkpoint: Path) -> None:
        """Continue from a checkpoint, which may have been written by another number of ranks.

        Raises ValueError if the data is not the same, or a step would take another number of
        sequences.
        """
        weights, averages, state = ck.load(checkpoint)
        then, now = state["sequences_per_step"], self.sequences_per_step
        if then != now:
            raise ValueError(
                f"a step of this run takes {then} sequences, now it would take {now}: "
                f"{self.ranks.world_size} devices · batch_size {self.config.batch_size} · "
                f"grad_accum {self.config.grad_accum}. Change grad_accum or the number of devices."
            )
        self.loader.load_state_dict(state["loader"])
        known = state["loader"].get("val_fingerprint")  # None in checkpoints of older versions
        if self.val is not None and known not in (None, self.val.fingerprint):
            raise ValueError(
                f"the validation text in {self.config.data} is not the one that this run began "
                "with, so its losses could not be compared. Resume with the same data, or start a "
                "new run."
            )
        for name, parameter in self.model.named_parameters():
            copy_full_tensor(parameter, weights[name])
            adam = self.optimizer.state[parameter]
            for key in ("exp_avg", "exp_avg_sq"):
                adam[key] = torch.zeros_like(parameter, requires_grad=False)
                copy_full_tensor(adam[key], averages[f"{name}.{key}"])
            adam["step"] = averages[f"{name}.step"].to(parameter.device)
        if state["scaler"]:  # it is empty if the run was saved in another precision
            self.scaler.load_state_dict(state["scaler"])
        if self.ranks.rank < len(state["random"]):  # an additional rank keeps its own seed
            set_random_state(state["random"][self.ranks.rank], self.ranks.device)
        self.step, self.best_val_loss = state["step"], state["best"]


def _check_options(config: TrainConfig, ranks: Ranks) -> None:
    if config.fsdp and ranks.world_size == 1:
        raise ValueError("fsdp splits a model over processes: start them with torchrun")
    if config.tensorboard and find_spec("tensorboard") is None:
        raise ValueError(
            "tensorboard=True needs the package tensorboard, which is not installed: "
            'pip install "gpt2-edu[tensorboard]"'
        )


def _prompt(config: TrainConfig, tokenizer: tiktoken.Encoding, V: int) -> list[int]:
    """The ids with which samples begin. Raises ValueError if one is outside the vocabulary."""
    ids = tokenizer.encode(config.prompt, allowed_special="all")
    if config.sample_every and max(ids) >= V:
        raise ValueError(
            f"the prompt {config.prompt!r} has the id {max(ids)}, outside the "
            f"vocabulary 0 … {V - 1} of {config.data}: choose another one"
        )
    return ids


def peak_flops(ranks: Ranks, precision: str) -> float | None:
    """FLOP/s of all devices in matrix products, from the data sheet; None if it is not known."""
    device = ranks.device
    tf32 = device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)
    peak = device_peak(device, "tf32" if tf32 and precision == "float32" else precision)
    return peak and peak * ranks.world_size


@contextmanager
def torch_settings(device: torch.device) -> Iterator[None]:
    """The settings of torch that a run relies on. The caller's, and random states, are restored.

    Gradients are on and new tensors are float32. On CUDA float32 products may use TF32.
    """
    matmul, dtype = torch.get_float32_matmul_precision(), torch.get_default_dtype()
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    if device.type == "cpu":
        keep_freed_memory()
    torch.set_default_dtype(torch.float32)
    try:
        with kept_random_state(device), torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        torch.set_float32_matmul_precision(matmul)
        torch.set_default_dtype(dtype)


class Stop:
    """Inside ``with stop:``, Ctrl-C or SIGTERM sets ``stop.requested``.

    The training loop checks it after each step, saves and returns. A second signal raises
    KeyboardInterrupt at once. Only the main thread can handle signals; in another one, only
    ``Trainer.stop`` sets it.
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
        self.requested_at = None
        while self._previous:
            signal.signal(*self._previous.popitem())

    def _handle(self, number: int, frame: object) -> None:
        now = time.monotonic()
        if self.requested_at is None:
            self.requested_at = now
            # Not print: the signal may have come in the middle of one.
            os.write(2, b"\nStopping after this step. Once more, and the run ends unsaved.\n")
        elif now - self.requested_at > ECHO_SECONDS:
            raise KeyboardInterrupt
