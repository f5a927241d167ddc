"""Training: one config, one loop, on one CPU, one GPU or many.

    from gpt2_edu.trainer import TrainConfig, Trainer

    Trainer(TrainConfig(data="shards", out="run", model="gpt2", steps=2000)).train()

A step reads batches, sums their gradients, clips them and lets AdamW move the weights. All else
here keeps a run honest: it can be stopped and taken up again without a trace, its log says what
happened, and what goes wrong is said in words.
"""

from __future__ import annotations

import json
import math
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..data.shards import BatchLoader, TokenShards, validation_batches
from ..flops import largest_batch, memory, utilisation
from ..generation import generate
from ..machine.data_sheets import device_peak
from ..machine.device import (
    available_memory,
    keep_freed_memory,
    named_device,
    peak_memory,
    pick_compile,
    pick_device,
    pick_precision,
)
from ..machine.files import write_text
from ..model import GPT2
from ..tokenizer import load_tokenizer
from ..weights.pretrained import CONFIG, read_config
from . import checkpoint as ck
from .config import MAY_CHANGE, TrainConfig, read_train_config
from .distributed import joined, micro_step, replicate, shard, whole
from .optim import learning_rate, make_optimizer

__all__ = ["Stop", "Summary", "TrainConfig", "Trainer"]

Row = dict[str, Any]

# What two identical runs log differently.
TIMINGS = ("tokens_per_second", "utilisation", "peak_memory")


# ---- What belongs to all of torch --------------------------------------------------------------


@contextmanager
def run_settings(device: torch.device) -> Iterator[None]:
    """TF32 for float32 products on CUDA, and random states of its own, for the run alone."""
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


# ---- Being told to stop ------------------------------------------------------------------------


class Stop:
    """Ctrl-C, or SIGTERM, asks the run to finish its step, save and leave; a second one insists.

    Signals can be heard in the main thread only; a run in another one is not interrupted. What
    comes within a second of the first is taken for its echo: torchrun passes on what the terminal
    has already sent to every process.
    """

    def __init__(self) -> None:
        self.asked_at: float | None = None
        self._before: dict[int, Any] = {}

    @property
    def asked(self) -> bool:
        return self.asked_at is not None

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hear(self, number: int, frame: object) -> None:
        now = time.monotonic()
        if self.asked_at is None:
            self.asked_at = now
            # Not print: the signal may have come in the middle of one.
            os.write(2, b"\nStopping after this step. Once more, and the run ends unsaved.\n")
        elif now - self.asked_at > 1:
            raise KeyboardInterrupt


# ---- The run -----------------------------------------------------------------------------------


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

    ``on_log`` is called with each row of the log on rank 0, for live plots. Afterwards ``model``
    holds the trained model. See ``train`` for what can go wrong.
    """

    def __init__(
        self, config: TrainConfig, *, on_log: Callable[[Row], object] | None = None
    ) -> None:
        self.config, self.on_log = config, on_log
        self.run = Path(config.out).expanduser()
        self.model: GPT2

    @classmethod
    def resume(
        cls, run: str | os.PathLike[str], *, on_log: Callable[[Row], object] | None = None
    ) -> Trainer:
        """A trainer that goes on with the run in a folder, with the settings it began with."""
        config = replace(read_train_config(run), out=str(run), resume=True)
        return cls(config, on_log=on_log)

    def train(self) -> Summary:
        """Train to the last step, or until Ctrl-C or SIGTERM, and save.

        Raises ValueError if the settings fit neither the data nor the device nor the run that is
        resumed, or if memory does not suffice; FileNotFoundError if something to read is not
        there; FloatingPointError if loss or gradient are no longer finite, with the last good
        checkpoint untouched; and OSError if a checkpoint cannot be written.
        """
        wanted = self.config.device
        device = pick_device() if wanted == "auto" else named_device(wanted)
        started = time.perf_counter()
        with ExitStack() as stack:
            self.ranks = stack.enter_context(joined(device))
            self.device = self.ranks.device
            self.stop = stack.enter_context(Stop())
            stack.enter_context(run_settings(self.device))
            try:
                self._prepare()
                loss, val_loss = self._loop(stack)
            except (MemoryError, RuntimeError) as error:
                if not _out_of_memory(error):
                    raise
                raise ValueError(self._memory_advice()) from error
        newest = ck.checkpoints(self.run)[-1]
        return Summary(
            step=self.step,
            finished=self.step == self.config.steps,
            loss=loss,
            val_loss=val_loss,
            best_val_loss=self.best,
            checkpoint=newest,
            best_checkpoint=ck.best_checkpoint(self.run),
            seconds=time.perf_counter() - started,
        )

    # ---- Before the first step

    def _prepare(self) -> None:
        """Open data and run folder, build model and optimiser, and go to where the run stands."""
        config, ranks = self.config, self.ranks
        if config.fsdp and ranks.world_size == 1:
            raise ValueError("fsdp splits a model over processes: start them with torchrun")
        self.dtype = pick_precision(config.precision, self.device)
        compiled = pick_compile(config.compile, self.device)
        train = TokenShards(config.data)
        self.val = TokenShards(config.data, "val") if config.eval_every else None
        self.tokenizer = load_tokenizer(train.tokenizer)
        train.check_tokenizer(train.tokenizer)
        self.prompt = self.tokenizer.encode(config.prompt, allowed_special="all")
        self.loader = BatchLoader(
            train,
            config.batch_size,
            config.block_size,
            seed=config.seed,
            rank=ranks.rank,
            world_size=ranks.world_size,
            device=self.device,
            align=config.align,
        )
        self.log = self.run / ck.LOG
        latest = self._find_checkpoint()

        _seed(config.seed)  # the same weights on every rank
        if latest is None:
            self.model = config.new_model(train.vocab_size)
        else:
            self.model = GPT2(read_config(latest / CONFIG))
        self._check_fit(train)
        self.model.train()
        self.training_model = self._distribute(compiled)
        self.optimizer = make_optimizer(
            self.model,
            lr=config.lr,
            betas=(config.beta1, config.beta2),
            weight_decay=config.weight_decay,
        )
        # float16 has no small numbers: the loss is scaled up so that gradients do not vanish.
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.dtype == torch.float16)
        self.step, self.compiled = 0, compiled
        self.best: float | None = None
        _seed(config.seed, ranks.rank + 1)  # but other dropout on each
        if latest is not None:
            self._restore(latest)
        self._open_run()

    def _find_checkpoint(self) -> Path | None:
        """Where to resume; None for a run that starts. Nothing is written yet."""
        if not self.config.resume:
            if (self.run / CONFIG).is_file():
                raise ValueError(
                    f"{self.run} already holds a run. To go on with it, pass resume=True; to "
                    "start another one, choose another out."
                )
            return None
        self._compare(asdict(read_train_config(self.run)), asdict(self.config))
        return ck.newest_checkpoint(self.run)

    def _open_run(self) -> None:
        """Make the run folder, or clear it of what came after the checkpoint."""
        self.ranks.gather(None)  # all have looked before the first one writes
        if not self.ranks.first:
            return
        (self.run / "checkpoints").mkdir(parents=True, exist_ok=True)
        if self.config.resume:
            ck.clean(self.run)
            ck.cut_log(self.log, self.step if self.step else -1)
        else:
            stored = json.dumps(asdict(self.config), indent=2)
            write_text(self.run / CONFIG, stored + "\n")

    def _compare(self, before: Row, now: Row) -> None:
        """Refuse to go on with settings that would make it another run."""
        changed = [
            f"{name} was {before[name]!r}, is now {value!r}"
            for name, value in now.items()
            if name not in MAY_CHANGE and before[name] != value
        ]
        if changed:
            listed = "\n  ".join(changed)
            raise ValueError(
                f"the run in {self.run} was started with other settings:\n  {listed}\n"
                "Resume with those that it began with, or start another run in another folder; "
                "init_from can begin it with this run's weights."
            )

    def _restore(self, latest: Path) -> None:
        """Put everything back as it was when the checkpoint was written."""
        state = ck.read_state(latest)
        then, now = state["sequences_per_step"], self._sequences_per_step()
        if then != now:
            raise ValueError(
                f"a step of this run takes {then} sequences, now it would take {now}: "
                f"{self.ranks.world_size} devices · batch_size {self.config.batch_size} · "
                f"grad_accum {self.config.grad_accum}. Change grad_accum or the number of devices."
            )
        ck.load_weights(latest, self.model)
        ck.load_optimizer(latest, self.model, self.optimizer)
        self.loader.load_state_dict(state["loader"])
        if state["scaler"] and self.scaler.is_enabled():
            self.scaler.load_state_dict(state["scaler"])
        if self.ranks.rank < len(state["random"]):  # a rank that is new keeps its own seed
            ck.set_random_state(state["random"][self.ranks.rank], self.device)
        self.step, self.best = state["step"], state["best"]

    def _distribute(self, compiled: bool) -> nn.Module:
        """Bring the model to its devices; returns what a training step calls."""
        if self.config.fsdp:
            if compiled:
                for block in self.model.transformer["h"].children():
                    block.compile()
            shard(self.model)
            return self.model
        self.model.to(self.device)
        if compiled:
            self.model.compile()  # in place, so that no name of a weight changes
        return self.model if self.ranks.world_size == 1 else replicate(self.model, self.ranks)

    def _check_fit(self, train: TokenShards) -> None:
        """Refuse what would fail later: short validation data, an unknown prompt, no memory."""
        if self.val is not None:
            self._validation(self.val)
        V = self.model.config.vocab_size
        if self.config.sample_every and max(self.prompt) >= V:
            raise ValueError(
                f"the prompt {self.config.prompt!r} has the id {max(self.prompt)}, outside the "
                f"vocabulary 0 … {V - 1} of {train.folder}: choose another one"
            )
        # On a CPU the system would kill the process without a word.
        available = available_memory(self.device)
        if self.device.type == "cpu" and available and self._needed_memory() > available:
            raise ValueError(self._memory_advice())

    def _needed_memory(self) -> int:
        config = self.config
        kind, precision = self.device.type, str(self.dtype).removeprefix("torch.")
        sizes = self.model.config
        return memory(
            sizes, config.batch_size, config.block_size, precision, device_type=kind
        ).total

    def _memory_advice(self) -> str:
        """What a step needs, what there is, and a batch that fits."""
        config = self.config
        available = available_memory(self.device)
        if not hasattr(self, "model") or available is None:
            return "out of memory: choose a smaller model, batch_size or block_size"
        if self.device.type == "cuda":  # what this process holds is part of what it can have
            available += torch.cuda.memory_reserved(self.device)
        kind, precision = self.device.type, str(self.dtype).removeprefix("torch.")
        fits = largest_batch(
            self.model.config, config.block_size, available, precision, device_type=kind
        )
        way = (
            f"batch_size={fits} fits; a grad_accum of "
            f"{math.ceil(config.batch_size * config.grad_accum / fits)} keeps the step as large."
            if 0 < fits < config.batch_size
            else "Choose a smaller model or block_size, or fsdp on more devices."
        )
        return (
            f"not enough memory for batch_size={config.batch_size} and "
            f"block_size={config.block_size}: a step of this model needs about "
            f"{self._needed_memory() / 2**30:.2f} GiB, and the {kind} has "
            f"{available / 2**30:.2f}. {way}"
        )

    # ---- The loop

    def _loop(self, stack: ExitStack) -> tuple[float | None, float | None]:
        config = self.config
        bar = stack.enter_context(self._progress())
        self.board = stack.enter_context(self._board())
        loss: float | None = None
        val_loss: float | None = None
        saved: int | None = self.step or None
        if self.step == 0:
            val_loss = self._evaluate()
            self._write(self._description() | ({} if val_loss is None else {"val_loss": val_loss}))
        tokens = self._sequences_per_step() * config.block_size
        seconds = done = 0.0
        stopping = False
        while self.step < config.steps and not stopping:
            before = time.perf_counter()
            loss, grad_norm, lr, stopping = self._learn()
            seconds, done = seconds + time.perf_counter() - before, done + tokens
            self.step += 1
            bar.update()
            bar.set_postfix(loss=f"{loss:.3f}", refresh=False)

            row: Row = {"step": self.step, "loss": loss, "lr": lr, "grad_norm": grad_norm}
            improved = False
            if self._due(config.eval_every):
                row["val_loss"] = val_loss = self._evaluate()
                improved = val_loss is not None and (self.best is None or val_loss < self.best)
                self.best = val_loss if improved else self.best
            if self._due(config.sample_every):
                row["sample"] = self._sample()
                if self._talks():
                    bar.write(row["sample"])
            if self._due(config.log_every) or "val_loss" in row or "sample" in row:
                self._write(row | self._timings(done / seconds))
                seconds = done = 0.0
            if self._due(config.save_every) or improved or stopping:
                self._save(row.get("val_loss"))
                saved = self.step
        assert saved == self.step, "the last step is always due"
        if self.step < config.steps and self.ranks.first:  # even a quiet run says how to go on
            bar.write(self._how_to_go_on())
        return loss, val_loss

    def _due(self, every: int) -> bool:
        return every > 0 and (self.step % every == 0 or self.step == self.config.steps)

    def _learn(self) -> tuple[float, float, float, bool]:
        """One optimiser step: its loss, gradient norm and learning rate, and whether to stop."""
        config, optimizer = self.config, self.optimizer
        lr = learning_rate(
            self.step,
            steps=config.steps,
            lr=config.lr,
            min_lr=config.min_lr,
            warmup_steps=config.warmup_steps,
        )
        for group in optimizer.param_groups:
            group["lr"] = lr
        total = torch.zeros((), device=self.device)
        for i in range(config.grad_accum):
            idx, targets = self.loader.next_batch()
            with micro_step(self.training_model, last=i == config.grad_accum - 1):
                with self._numerics():
                    _, loss = self.training_model(idx, targets)
                # All micro-batches have equally many targets: the mean of their means is the mean.
                self.scaler.scale(loss / config.grad_accum).backward()
            total += loss.detach() / config.grad_accum
        self.scaler.unscale_(optimizer)
        norm = whole(
            nn.utils.clip_grad_norm_(self.model.parameters(), config.grad_clip or math.inf)
        )
        summed, stops = self.ranks.sum(float(total), float(self.stop.asked))
        mean, grad_norm = summed / self.ranks.world_size, float(norm)
        # An infinite gradient under the scaler is its way to find its scale: it skips the step.
        if not math.isfinite(mean) or not (math.isfinite(grad_norm) or self.scaler.is_enabled()):
            raise FloatingPointError(self._diverged(mean, grad_norm, lr))
        self.scaler.step(optimizer)
        self.scaler.update()
        optimizer.zero_grad(set_to_none=True)
        return mean, grad_norm, lr, stops > 0

    def _numerics(self) -> torch.autocast:
        """Matrix products in the chosen precision."""
        reduced = self.dtype != torch.float32
        return torch.autocast(self.device.type, dtype=self.dtype, enabled=reduced)

    @torch.no_grad()
    def _evaluate(self) -> float | None:
        """Mean loss over the same windows every time, dropout off; None without validation.

        Ranks have up to one batch more or less. Under FSDP a forward pass needs all of them, so
        those that have run out pass a batch that does not count.
        """
        config, ranks = self.config, self.ranks
        if self.val is None:
            return None
        own = self._validation(self.val)
        total = rows = 0.0
        idle = torch.zeros(1, config.block_size, dtype=torch.int64, device=self.device)
        with self._aside():
            while ranks.sum((batch := next(own, None)) is not None)[0]:
                idx, targets = batch or (idle, idle)
                with self._numerics():
                    _, loss = self.model(idx, targets)
                if batch:
                    total, rows = total + float(loss) * len(idx), rows + len(idx)
        total, rows = ranks.sum(total, rows)
        return total / rows

    def _validation(self, shards: TokenShards) -> Iterator[tuple[Tensor, Tensor]]:
        """This rank's share of the fixed windows, in batches."""
        return validation_batches(
            shards,
            self.config.batch_size,
            self.config.block_size,
            self.config.eval_batches,
            rank=self.ranks.rank,
            world_size=self.ranks.world_size,
            device=self.device,
            align=self.config.align,
        )

    def _sample(self) -> str:
        """A text of the model's own. All ranks draw the same: under FSDP each pass needs them."""
        config = self.config
        generator = torch.Generator(self.device).manual_seed(config.seed + self.step)
        with self._aside():
            text = generate(
                self.model,
                torch.tensor([self.prompt], device=self.device),
                config.sample_tokens,
                generator=generator,
                overflow="crop",
                use_cache=not config.fsdp,
            )
        return self.tokenizer.decode(text[0].tolist())

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """Eval mode, uncompiled: other shapes would be compiled anew. Training mode afterwards."""
        self.model.eval()
        try:
            with torch.compiler.set_stance("force_eager") if self.compiled else nullcontext():
                yield
        finally:
            self.model.train()

    def _save(self, val_loss: float | None) -> None:
        """Write a checkpoint, then remove those that are no longer kept."""
        state = {
            "val_loss": val_loss,
            "best": self.best,
            "loader": self.loader.state_dict(),
            "scaler": self.scaler.state_dict(),
            "random": self.ranks.gather(ck.random_state(self.device)),
            "sequences_per_step": self._sequences_per_step(),
            "config": asdict(self.config),
        }
        ck.save_checkpoint(self.run, self.step, self.model, self.optimizer, state, self.ranks)
        if self.ranks.first:
            ck.prune(self.run, self.config.keep)
        self.ranks.gather(None)  # none looks at the checkpoints while one of them goes

    # ---- What the run says

    def _sequences_per_step(self) -> int:
        return self.ranks.world_size * self.config.batch_size * self.config.grad_accum

    def _talks(self) -> bool:
        return self.ranks.first and not self.config.quiet

    def _progress(self) -> Any:
        from tqdm.auto import tqdm  # here, so that nothing loads it that shows no bar

        return tqdm(
            total=self.config.steps, initial=self.step, unit="step", disable=not self._talks()
        )

    @contextmanager
    def _board(self) -> Iterator[Any]:
        """TensorBoard's writer on rank 0, if it is wanted; else None."""
        if not (self.config.tensorboard and self.ranks.first):
            yield None
            return
        if find_spec("tensorboard") is None:
            raise ValueError(
                "tensorboard=True needs the package tensorboard, which is not installed: "
                'pip install "gpt2-edu[tensorboard]"'
            )
        from torch.utils.tensorboard import SummaryWriter

        # What an interrupted run wrote after its last checkpoint is not shown.
        folder = str(self.run / "tensorboard")
        with SummaryWriter(folder, purge_step=self.step + 1 if self.step else None) as writer:
            yield writer

    def _write(self, row: Row) -> None:
        """Add a row to the log, and tell whoever listens. One log for all ranks."""
        if not self.ranks.first:
            return
        try:
            with self.log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise OSError(
                f"{self.log} could not be written ({error}). Make room and resume: the run goes on "
                "from its newest checkpoint."
            ) from error
        if self.board is not None:
            for name, value in row.items():
                if isinstance(value, int | float):
                    self.board.add_scalar(name, value, row["step"])
        if self.on_log is not None:
            self.on_log(row)

    def _description(self) -> Row:
        """The first row: what ran where, and what utilisation is measured against."""
        peak = self._peak()
        return {
            "step": 0,
            "parameters": self.model.num_parameters(),
            "device": self._device_name(),
            "devices": self.ranks.world_size,
            "precision": str(self.dtype).removeprefix("torch."),
            "compiled": self.compiled,
            "torch": torch.__version__,
            "tokens_per_step": self._sequences_per_step() * self.config.block_size,
            "peak_flops_per_second": "n/a" if peak is None else peak,
            "utilisation_is": "tokens/s · (6·(12·N·C² + V·C) + 6·N·C·T) / peak FLOP/s",
        }

    def _timings(self, tokens_per_second: float) -> Row:
        """What differs from run to run. Evaluating, sampling and saving do not count as time."""
        peak = self._peak()
        share: float | str = "n/a"  # a peak that no data sheet gives is not guessed
        if peak is not None:
            share = utilisation(self.model.config, self.config.block_size, tokens_per_second, peak)
        return {
            "tokens_per_second": tokens_per_second,
            "utilisation": share,
            "peak_memory": peak_memory(self.device),
        }

    def _peak(self) -> float | None:
        """FLOP/s of all devices together, if the table of devices knows this one."""
        precision = str(self.dtype).removeprefix("torch.")
        if precision == "float32" and self.device.type == "cuda":
            has_tf32 = torch.cuda.get_device_capability(self.device) >= (8, 0)
            precision = "tf32" if has_tf32 else precision
        peak = device_peak(self.device, precision)
        return None if peak is None else peak * self.ranks.world_size

    def _device_name(self) -> str:
        if self.device.type == "cuda":
            return torch.cuda.get_device_name(self.device)
        return f"{self.device.type}, {torch.get_num_threads()} threads"

    def _how_to_go_on(self) -> str:
        return (
            f"Stopped after step {self.step} of {self.config.steps}; saved in "
            f"{ck.checkpoint_path(self.run, self.step)}. To go on, give the same command with "
            f"--resume, or in Python: Trainer.resume({str(self.run)!r}).train()"
        )

    def _diverged(self, loss: float, grad_norm: float, lr: float) -> str:
        good = ck.checkpoints(self.run)
        kept = f"{good[-1]} is the last good checkpoint" if good else "There is no checkpoint yet"
        return (
            f"training diverged at step {self.step + 1}: the loss is {loss}, the gradient's norm "
            f"{grad_norm}, at a learning rate of {lr:.3g}. Nothing of this step is saved. {kept}. "
            "Try, in this order: a lower lr, more warmup_steps, grad_clip=1, precision=float32; "
            "and look at the data if it always comes at the same step."
        )


# ---- Small things ------------------------------------------------------------------------------


def _seed(*numbers: int) -> None:
    """Seed all generators that a run may draw from. Torch's for the CPU takes 32 bits."""
    seed = int(np.random.SeedSequence(numbers).generate_state(1)[0])
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def _out_of_memory(error: BaseException) -> bool:
    """Whether this is torch's way, on any device, to say that there is no memory left."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or any(
        words in str(error) for words in ("can't allocate memory", "out of memory")
    )
