"""Training: one config, one loop, on one CPU, one GPU or many.

    from gpt2_edu.trainer import TrainConfig, Trainer

    Trainer(TrainConfig(data="shards", out="run", model="gpt2", steps=2000)).train()

``Trainer.train_step`` is one update of the weights. ``Trainer.train`` opens a run and repeats it,
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
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..checkpoints import best_checkpoint, checkpoint_path, checkpoints
from ..config import ModelConfig
from ..data import BatchLoader, TokenShards, validation_batches
from ..data.shards import tokenizer_hash
from ..flops import flops_per_token, formula
from ..generation import generate
from ..language_model import LanguageModel, eval_mode
from ..machine.data_sheets import device_peak
from ..machine.device import keep_freed_memory, named_device, pick_compile, pick_precision
from ..machine.files import named_path
from ..machine.measure import fastest
from ..machine.messages import changes
from ..models import load_config, load_model, new_model
from ..tokenizer import END_OF_TEXT, RANKS, is_own, load_encoding
from ..tokenizer_json import FILE
from ..tuning import Conversations, add_lora, load_adapter, merge, save_adapter, with_roles
from ..tuning.messages import IGNORED, role_encoding
from ..weights import locate
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
    reshard,
)
from .memory import StepMemory
from .optim import make_optimizer
from .randomness import kept_random_state, random_state, seed_all, set_random_state
from .run_folder import find_checkpoint, lock_folder, open_folder
from .run_log import Listener, Row, RunLog, timings

# A second signal within this time is an echo: torchrun passes on what the terminal has already
# sent to every process.
ECHO_SECONDS = 1.0

Data = TokenShards | Conversations  # of one split


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
        self.folder = named_path(config.out)
        self.step = 0  # steps done, also by earlier processes
        self.best_val_loss: float | None = None
        self.check_folder: Callable[[], None] = lambda: None
        self.val: Data | None = None
        self._model: LanguageModel | None = None
        self._stop = threading.Event()

    @classmethod
    def resume(cls, run: str | os.PathLike[str], *, on_log: Listener | None = None) -> Trainer:
        """A trainer that continues the run in a folder, with the settings that it began with."""
        config = replace(read_train_config(run), out=str(run), resume=True)
        return cls(config, on_log=on_log)

    @property
    def model(self) -> LanguageModel:
        """The model in training, and afterwards the trained one. It exists once ``train`` runs."""
        if self._model is None:
            raise ValueError("there is no model yet: call train() first")
        return self._model

    def stop(self) -> None:
        """Ask ``train``, in this thread or another, to save and return after its step."""
        self._stop.set()

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
            stop_on_signals(self._stop),
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
            checkpoint=checkpoints(self.folder)[-1],
            best_checkpoint=best_checkpoint(self.folder),
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
        if config.fsdp and ranks.world_size == 1:
            raise ValueError("fsdp splits a model over processes: start them with torchrun")
        self.ranks, self.step, self.best_val_loss = ranks, 0, None
        dtype = pick_precision(config.precision, device)
        self.compiled = pick_compile(config.compile, device)
        self.autocast = torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32)
        # float16 has no small numbers: the loss is scaled up to keep gradients from becoming 0.
        self.scaler = torch.amp.GradScaler(device.type, enabled=dtype == torch.float16)

        checkpoint = find_checkpoint(self.folder, config)
        train, self.val = self._data(checkpoint)
        self.tokenizer = train.encoding
        self.windows = asdict(ranks) | {
            "batch_size": config.batch_size,
            "block_size": config.block_size,
            "align": config.align or config.has_conversations,
        }
        self.loader = BatchLoader(train, seed=config.seed, **self.windows)
        if self.val is not None:
            self.val_batches()  # raises ValueError if the shards hold less than one window

        vocab_size = train.vocab_size
        sizes = load_config(checkpoint) if checkpoint else config.model_config(vocab_size)
        begin = checkpoint or (config.init_from and locate(config.init_from))
        if begin and isinstance(train, TokenShards):
            check_same_vocabulary(begin, train, str(checkpoint or config.init_from))
        self.prompt = self._prompt_of(self.val or train, sizes.vocab_size)
        self.memory = StepMemory(config, sizes, device, str(dtype).removeprefix("torch."))
        self.memory.check()
        with self.memory.explain_errors():
            seed_all(config.seed)  # the same weights on every rank
            model = self._model = self._model_of(sizes, checkpoint)
            self.training_model = distribute(model, ranks, fsdp=config.fsdp, compiled=self.compiled)
            betas, decay = (config.beta1, config.beta2), config.weight_decay
            self.optimizer = make_optimizer(model, lr=config.lr, betas=betas, weight_decay=decay)
            seed_all(config.seed, ranks.rank + 1)  # other dropout on each rank
            if checkpoint is not None:
                self._restore(checkpoint)
        ranks.gather(None)  # wait: all have read the folder before the first one writes
        if ranks.first:
            open_folder(self.folder, config)

    def _data(self, checkpoint: Path | None) -> tuple[Data, Data | None]:
        """What is trained on, and what is validated with, if anything is."""
        config = self.config
        if not config.has_conversations:
            train = TokenShards(config.data)
            return train, TokenShards(config.data, "val") if config.eval_every else None
        encoding = role_encoding(load_encoding(checkpoint or locate(config.init_from or "")))
        read = partial(Conversations, config.data, encoding, config.block_size)
        val = read("val", config.loss_on) if config.eval_every else None
        return read("train", config.loss_on), val

    def _prompt_of(self, data: Data, vocab_size: int) -> list[int]:
        """What a sample begins with: the prompt, or of conversations the first question."""
        config = self.config
        ids = self.tokenizer.encode(config.prompt, allowed_special="all")
        if isinstance(data, Conversations) and config.prompt == END_OF_TEXT:
            ids = data.question()
        if config.sample_every and max(ids) >= vocab_size:
            raise ValueError(
                f"the prompt {config.prompt!r} has the id {max(ids)}, outside the vocabulary "
                f"0 … {vocab_size - 1} of {config.data}: choose another one"
            )
        return ids

    def _model_of(self, sizes: ModelConfig, checkpoint: Path | None) -> LanguageModel:
        """A new model, or that of ``init_from``, with its adapter if one is trained."""
        config, model = self.config, new_model(sizes)
        if config.init_from is not None and (checkpoint is None or config.lora_rank):
            model.load_state_dict(self._weights_to_start_from(config.init_from))
        if not config.lora_rank:
            return model
        if checkpoint is None:
            return add_lora(model, config.lora())
        return load_adapter(model, checkpoint / ck.ADAPTER)

    def _weights_to_start_from(self, name: str) -> dict[str, Tensor]:
        """Those of ``init_from``. Raises ValueError for integers, which have no gradient."""
        model = load_model(name)
        model.can_learn()
        if self.config.has_conversations:
            model, _ = with_roles(model, load_encoding(locate(name)))
        return model.state_dict()

    @property
    def sequences_per_step(self) -> int:
        return self.ranks.world_size * self.config.batch_size * self.config.grad_accum

    # ---- The loop

    def _loop(self, log: RunLog) -> tuple[float | None, float | None]:
        """Train until the last step or a stop. Returns the last training and validation loss."""
        config, ranks = self.config, self.ranks
        loss = val_loss = None
        peak, tokens = self._peak(), self.sequences_per_step * config.block_size
        steps, elapsed = 0, 0.0  # of training since the last row of the log
        if not (config.quiet or self.finished):
            log.show(self._plan(tokens))
        if self.step == 0:
            row = self._description(tokens, peak)
            if self.val is not None:
                row["val_loss"] = val_loss = self.evaluate()
            self._write(log, row)
        stopping = False
        while not (self.finished or stopping):
            began = time.perf_counter()
            row = self.train_step()
            steps, elapsed = steps + 1, elapsed + time.perf_counter() - began
            loss = row["loss"]
            log.show_step(loss)
            stopping = ranks.any(self._stop.is_set())
            save = stopping or self._is_due(config.save_every)
            due, measured = self._is_due(config.eval_every), None
            if due or (stopping and self.val is not None):  # so that the best weights are known
                measured = val_loss = self.evaluate()
                if self.best_val_loss is None or val_loss < self.best_val_loss:
                    self.best_val_loss, save = val_loss, True
            if due:  # a run that was stopped has the log of one that was not
                row["val_loss"] = val_loss
            if self._is_due(config.sample_every):
                row["sample"] = self.sample()
                log.show(row["sample"])
            if self._is_due(config.log_every) or "val_loss" in row or "sample" in row:
                rate, (steps, elapsed) = steps * tokens / elapsed, (0, 0.0)
                row |= timings(self.model.config, config.block_size, rate, peak, ranks.device)
                self._write(log, row)
            if save:
                self.save(measured)
        if not self.finished:
            saved = checkpoint_path(self.folder, self.step)
            reached = "" if val_loss is None else f", validation loss {val_loss:.4f}"
            log.show(
                f"Stopped after step {self.step} of {config.steps}{reached}; saved in {saved}. To "
                "continue: "
                f"gpt2-edu train --out {self.folder} --resume, or in Python: "
                f"Trainer.resume({str(self.folder)!r}).train()",
                always=True,
            )
        return loss, val_loss

    def _peak(self) -> float | None:
        """FLOP/s of all devices by their data sheet; None where it is unknown."""
        device, precision = self.ranks.device, self.memory.precision
        # In float32 a new CUDA device multiplies in TF32.
        if precision == "float32" and device.type == "cuda":
            new = torch.cuda.get_device_capability(device) >= (8, 0)
            precision = "tf32" if new else precision
        peak = device_peak(device, precision)
        return peak and peak * self.ranks.world_size

    def train_step(self) -> Row:
        """One update of the weights: forward, loss, backward, clip, step. Returns its log row.

        The loss is that before the update, a mean over the batches of all ranks; the gradient's
        norm is that before clipping. Raises FloatingPointError before the update if they are not
        finite.
        """
        config, lr = self.config, self.config.learning_rate_at(self.step)
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        self.optimizer.zero_grad()
        total = torch.zeros((), device=self.ranks.device)
        batches = [self.loader.next_batch() for _ in range(config.grad_accum)]  # (B, T) each
        parts = self._parts(batches)
        for i, (inputs, targets) in enumerate(batches):
            with micro_step(self.training_model, last=i == config.grad_accum - 1):
                with self.autocast:
                    _, loss = self.training_model(inputs, targets)
                self.scaler.scale(loss / parts[i]).backward()
            total += loss.detach() / parts[i]
        self.scaler.unscale_(self.optimizer)
        clip = config.grad_clip or math.inf
        norm = float(full_tensor(nn.utils.clip_grad_norm_(self.model.parameters(), clip)))
        mean_loss = self.ranks.sum(float(total))[0] / self.ranks.world_size
        self._check_finite(mean_loss, norm, lr)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.step += 1
        return {"step": self.step, "loss": mean_loss, "lr": lr, "grad_norm": norm}

    def _parts(self, batches: list[tuple[Tensor, Tensor]]) -> list[float]:
        """What to divide the mean loss of each batch by, so that each token counts the same.

        Full windows have equally many. Of conversations, answers differ in length.
        """
        if not self.config.has_conversations:
            return [self.config.grad_accum] * len(batches)
        counts = [count_targets(targets) for _, targets in batches]
        mean = self.ranks.sum(sum(counts))[0] / self.ranks.world_size  # of a rank
        return [mean / count for count in counts]

    def _check_finite(self, loss: float, norm: float, lr: float) -> None:
        # In float16 the scaler skips a step whose gradient is not finite, and halves its scale,
        # down to 1. In other precisions the scale is 1.
        if math.isfinite(loss) and (math.isfinite(norm) or self.scaler.get_scale() > 1):
            return
        good = checkpoints(self.folder)
        kept = f"{good[-1]} is the last good checkpoint" if good else "There is no checkpoint"
        raise FloatingPointError(
            f"training diverged at step {self.step + 1}: the loss is {loss}, the gradient's norm "
            f"{norm}, at a learning rate of {lr:.3g}. Nothing of this step is saved. {kept}. Try, "
            "in this order: a lower lr, more warmup_steps, grad_clip=1, precision=float32; and "
            "look at the data if it always happens at the same step."
        )

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
            "utilisation_is": f"tokens/s · ({formula(self.model.config)}) / peak FLOP/s",
        }

    def _plan(self, tokens_per_step: int) -> str:
        """What is trained on what, and how long it will take: two sentences for people."""
        config, sizes, text = self.config, self.model.config, len(self.loader.shards)
        parameters, left = self.model.num_parameters(), config.steps - self.step
        work = config.steps * tokens_per_step * flops_per_token(sizes, config.block_size)
        second = self.measure_step()
        validated = left // config.eval_every * config.eval_batches if config.eval_every else 0
        duration = second * (left + validated / (3 * config.grad_accum))
        amount = f"The text has {text:,}, {text / parameters:.2f} for each parameter."
        if isinstance(self.loader.shards, Conversations):
            amount = f"{len(self.loader.shards.examples):,} conversations to learn from."
        learned = sum(p.numel() for p in self.model.parameters() if p.requires_grad)
        few = f", {learned:,} of them trained" if config.lora_rank else ""
        return (
            f"{parameters:,} parameters{few}: {sizes.n_layer} blocks, {sizes.n_head} heads, width "
            f"{sizes.n_embd}, {sizes.vocab_size:,} tokens. {amount}\n{config.steps:,} steps of "
            f"{self.sequences_per_step} × {config.block_size} tokens read it "
            f"{config.steps * tokens_per_step / text:.1f} times: {work / 1e12:,.1f} TFLOP. "
            f"At the {second:.2g} s a step measured now, {left:,} steps on {self.ranks.device} "
            f"take about {in_words(duration)}."
        )

    def measure_step(self) -> float:
        """Seconds that a step takes now, without changing the run: forward and backward pass.

        On a CPU one sequence stands for a batch that would take longer than ten seconds.
        """
        config, device, alone = self.config, self.ranks.device, self.ranks.world_size == 1

        def passes(rows: int) -> float:
            shape = (rows, config.block_size)
            idx = torch.zeros(shape, dtype=torch.int64, device=device)

            def run() -> None:
                with self.autocast:
                    _, loss = self.training_model(idx, idx)
                loss.backward()

            return fastest(run, device, within=0)  # three calls, on every rank

        with kept_random_state(device):
            one = passes(1) * config.batch_size if device.type == "cpu" and alone else 0.0
            batch = one if one > 10 else passes(config.batch_size)
        self.optimizer.zero_grad()
        return batch * config.grad_accum

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
        total = tokens = 0.0
        with eval_mode(self.model), self._uncompiled():
            while self.ranks.any((batch := next(batches, None)) is not None):
                with self.autocast:
                    _, loss = self.model(*(batch or (idle, idle)))
                if batch:
                    count = count_targets(batch[1])
                    total, tokens = total + float(loss) * count, tokens + count
        total, tokens = self.ranks.sum(total, tokens)
        return total / tokens

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
                eos_id=self.tokenizer.eot_token if config.has_conversations else None,
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
        reshard(model)
        config = self.config
        data = {"val_fingerprint": self.val.fingerprint} if self.val is not None else {}
        state = {
            "step": self.step,
            "val_loss": val_loss,
            "best": self.best_val_loss,
            "loader": self.loader.state_dict() | data,
            "scaler": self.scaler.state_dict(),
            "random": ranks.gather(random_state(ranks.device)),
            "sequences_per_step": self.sequences_per_step,
            "config": asdict(config),
        }
        averages = {
            f"{name}.{key}": value
            for name, parameter in model.named_parameters()
            if parameter.requires_grad
            for key, value in self.optimizer.state[parameter].items()
        }
        merged = merge(model) if config.lora_rank else model
        weights = gather_full(merged.state_dict(), ranks)
        averages = gather_full(averages, ranks)

        def adapter(folder: Path) -> None:
            save_adapter(model, folder, base=config.init_from or "", encoding=self.tokenizer)

        def write() -> None:
            self.check_folder()
            kind = model.config, model.layout
            more = adapter if config.lora_rank else None
            ck.save(self.folder, *kind, self.tokenizer, weights, averages, state, more)
            ck.prune(self.folder, config.keep)

        if problem := ranks.on_first(write):
            raise OSError(f"{problem}. The older checkpoints are intact: make room and resume.")

    def _restore(self, checkpoint: Path) -> None:
        """Continue from a checkpoint, which may have been written by another number of ranks.

        Raises ValueError if the data is not the same, or a step would take another number of
        sequences.
        """
        weights, averages, state = ck.load(checkpoint, self.model.layout)
        self.loader.load_state_dict(state["loader"])
        now: dict[str, Any] = {"sequences_per_step": self.sequences_per_step}
        then = {"sequences_per_step": state["sequences_per_step"]}
        known = state["loader"].get("val_fingerprint")  # None in checkpoints of older versions
        if self.val is not None and known is not None:
            now["validation text"], then["validation text"] = self.val.fingerprint, known
        if changed := changes(then, now):
            raise ValueError(
                f"this run began with other sizes or data: {'; '.join(changed)}. Resume with the "
                "same data, and with as many sequences a step: devices · batch_size · grad_accum."
            )
        for name, parameter in self.model.named_parameters():
            if not parameter.requires_grad:
                continue
            if name in weights:  # an adapter's are in files of their own
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


def count_targets(targets: Tensor) -> int:
    """How many tokens bear a loss."""
    return int((targets != IGNORED).sum())


def check_same_vocabulary(model: Path, shards: TokenShards, name: str) -> None:
    """Raise ValueError if a model in a folder has another vocabulary than the shards.

    ``name`` is what the user calls the model: a file of a page is unpacked into a folder of its
    own. Of a tokenizer of this package, the model's sizes say as much.
    """
    if not is_own(shards.encoding) and not any((model / file).is_file() for file in (RANKS, FILE)):
        return
    theirs = load_encoding(model)
    if tokenizer_hash(theirs) != tokenizer_hash(shards.encoding):
        raise ValueError(
            f"the model in {name} has a vocabulary of {theirs.n_vocab:,} tokens, and the text in "
            f"{shards.folder} was prepared with another one, of {shards.vocab_size:,}. Give the "
            f"data that it was trained on, or prepare the text with --tokenizer {name}"
        )


def in_words(duration: float) -> str:
    """Seconds in the largest unit of which there are two or more."""
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if duration >= 2 * size:
            return f"{duration / size:.0f} {unit}"
    return f"{max(duration, 1):.0f} seconds"


@contextmanager
def torch_settings(device: torch.device) -> Iterator[None]:
    """On CUDA float32 products may use TF32. The caller's setting and random state are restored."""
    precision = torch.get_float32_matmul_precision()
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    if device.type == "cpu":
        keep_freed_memory()
    try:
        with kept_random_state(device):
            yield
    finally:
        torch.set_float32_matmul_precision(precision)


@contextmanager
def stop_on_signals(stop: threading.Event) -> Iterator[None]:
    """Inside the block, Ctrl-C or SIGTERM sets ``stop``, and a second one raises KeyboardInterrupt.

    The training loop checks it after each step, saves and returns. Only the main thread can handle
    signals; in another one, only ``Trainer.stop`` sets it.
    """
    first = time.monotonic()

    def handle(number: int, frame: object) -> None:
        nonlocal first
        if not stop.is_set():
            first = time.monotonic()
            stop.set()
            # Not print: the signal may have come in the middle of one.
            os.write(2, b"\nStopping after this step. Once more, and the run ends unsaved.\n")
        elif time.monotonic() - first > ECHO_SECONDS:
            raise KeyboardInterrupt

    previous = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            previous[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        stop.clear()
