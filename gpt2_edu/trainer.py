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
import shutil
import signal
import sys
import threading
import time
import types
import typing
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from . import checkpoint as ck
from .config import GPT2Config
from .data import BatchLoader, TokenShards, validation_batches
from .device import pick_device
from .distributed import joined, micro_step, replicate, shard, whole
from .flops import device_peak, largest_batch, memory, utilisation
from .generation import generate
from .model import GPT2
from .optim import learning_rate, make_optimizer
from .pretrained import CONFIG, read_config
from .tokenizer import load_tokenizer

Row = dict[str, Any]

# What may differ when a run is resumed: where it runs and what it tells, not what it computes.
# Under data stand the same tokens at another place; that they are the same, the loader checks.
MAY_CHANGE = {
    *("data", "out", "resume", "device", "compile", "fsdp", "grad_accum"),
    *("log_every", "save_every", "keep", "tensorboard", "quiet"),
}
# What two identical runs log differently.
TIMINGS = ("tokens_per_second", "utilisation", "peak_memory")


# ---- Settings ----------------------------------------------------------------------------------


def setting(default: Any, help: str) -> Any:
    """A field with its line of help; the command line is made from these."""
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """The settings of a run. Raises TypeError or ValueError for what cannot be."""

    data: str = setting("data", "folder of token shards, as written by prepare")
    out: str = setting("run", "folder of the run: its settings, log and checkpoints")
    resume: bool = setting(False, "go on from the newest checkpoint in out")

    model: str = setting("gpt2", "size of a new model: the name of a preset")
    n_layer: int | None = setting(None, "number of blocks, in place of the preset's")
    n_head: int | None = setting(None, "number of attention heads, in place of the preset's")
    n_embd: int | None = setting(None, "width, in place of the preset's")
    init_from: str | None = setting(
        None, "start from these weights instead: a checkpoint folder or a name on the hub"
    )
    block_size: int = setting(1024, "tokens in a sequence")
    dropout: float = setting(0.0, "share of activations switched off, everywhere")

    steps: int = setting(1000, "optimiser steps")
    batch_size: int = setting(8, "sequences that a device works on at a time")
    grad_accum: int = setting(1, "batches whose gradients make one step, on each device")
    lr: float = setting(6e-4, "highest learning rate")
    min_lr: float = setting(6e-5, "learning rate of the last step, after a cosine")
    warmup_steps: int = setting(100, "steps over which the learning rate rises")
    weight_decay: float = setting(0.1, "AdamW's pull of the matrices towards 0")
    beta1: float = setting(0.9, "AdamW's memory for gradients")
    beta2: float = setting(0.95, "AdamW's memory for squared gradients")
    grad_clip: float = setting(1.0, "longest gradient, by its norm over all weights; 0: any")
    seed: int = setting(0, "number from which weights, order of data and dropout follow")

    device: str = setting("auto", "auto, cpu, cuda, cuda:1 or mps")
    precision: Literal["auto", "float32", "bf16", "fp16"] = setting(
        "auto", "of the matrix products; auto: bf16 where it is fast, on older GPUs fp16"
    )
    compile: Literal["auto", "on", "off"] = setting("auto", "torch.compile; auto: on CUDA")
    fsdp: bool = setting(False, "split the model over the devices that torchrun started")

    eval_every: int = setting(250, "steps between two validations; 0: none")
    eval_batches: int = setting(20, "batches of batch_size sequences in a validation")
    sample_every: int = setting(250, "steps between two samples of text; 0: none")
    prompt: str = setting("<|endoftext|>", "what a sample begins with")
    sample_tokens: int = setting(64, "tokens in a sample")
    save_every: int = setting(500, "steps between two checkpoints; the best is saved too")
    keep: int = setting(2, "newest checkpoints to keep, beside the best")
    log_every: int = setting(10, "steps between two rows of the log")
    tensorboard: bool = setting(False, "write the log for TensorBoard too, to out/tensorboard")
    quiet: bool = setting(False, "show no progress bar and no samples")

    def __post_init__(self) -> None:
        hints = typing.get_type_hints(type(self))
        for name, hint in hints.items():
            _check_type(name, getattr(self, name), hint)
        counts = ("block_size", "steps", "batch_size", "grad_accum", "eval_batches")
        self._check(counts + ("sample_tokens", "save_every", "keep", "log_every"), 1)
        self._check(("n_layer", "n_head", "n_embd"), 1)
        self._check(("warmup_steps", "eval_every", "sample_every", "seed"), 0)
        self._check(("weight_decay", "grad_clip", "min_lr"), 0.0)
        self._check(("dropout", "beta1", "beta2"), 0.0, below=1.0)
        if not 0 < self.lr < math.inf:
            raise ValueError(f"lr must be above 0, got {self.lr}")
        if self.min_lr > self.lr:
            raise ValueError(f"min_lr={self.min_lr} is above lr={self.lr}: lower it")
        if self.seed >= 2**32:
            raise ValueError(f"seed must be below 2^32, got {self.seed}")
        if self.warmup_steps >= self.steps:
            raise ValueError(
                f"warmup_steps={self.warmup_steps} leaves none of the {self.steps} steps for the "
                "full learning rate: choose fewer"
            )
        if not self.prompt:
            raise ValueError('prompt is empty: a sample needs a beginning, such as "<|endoftext|>"')
        sizes = (self.n_layer, self.n_head, self.n_embd)
        if self.init_from is not None and (self.model != "gpt2" or any(sizes)):
            raise ValueError(
                "init_from brings its own sizes: leave out model, n_layer, n_head and n_embd"
            )
        self._sizes()

    def _check(self, names: tuple[str, ...], least: float, below: float = math.inf) -> None:
        for name in names:
            value = getattr(self, name)
            if value is not None and not least <= value < below:
                allowed = f"at least {least}" + (f" and below {below}" if below < math.inf else "")
                raise ValueError(f"{name} must be {allowed}, got {value}")

    def new_model(self, vocab_size: int) -> GPT2:
        """An untrained model of these sizes, or the one of ``init_from``.

        Raises ValueError if that one has another vocabulary or sees fewer than block_size tokens.
        """
        if self.init_from is None:
            return GPT2(self._with_dropout(replace(self._sizes(), vocab_size=vocab_size)))
        loaded = GPT2.from_pretrained(self.init_from)
        if loaded.config.vocab_size < vocab_size:
            raise ValueError(
                f"the shards in {self.data} hold {vocab_size} different ids, but {self.init_from} "
                f"knows {loaded.config.vocab_size}: prepare the text with that model's tokenizer"
            )
        if loaded.config.block_size < self.block_size:
            raise ValueError(
                f"{self.init_from} sees at most {loaded.config.block_size} tokens: "
                f"block_size={self.block_size} is too long for it"
            )
        model = GPT2(self._with_dropout(loaded.config))
        model.load_state_dict(loaded.state_dict())
        return model

    def _sizes(self) -> GPT2Config:
        """The preset, with what is given in place of it. Raises ValueError if that cannot be."""
        preset = GPT2Config.preset(self.model)
        return replace(
            preset,
            block_size=self.block_size,
            n_layer=self.n_layer or preset.n_layer,
            n_head=self.n_head or preset.n_head,
            n_embd=self.n_embd or preset.n_embd,
        )

    def _with_dropout(self, sizes: GPT2Config) -> GPT2Config:
        p = self.dropout
        return replace(sizes, embd_pdrop=p, attn_pdrop=p, resid_pdrop=p)


def _check_type(name: str, value: object, hint: Any) -> None:
    """Raise TypeError, or ValueError for a word that is none of those allowed."""
    if typing.get_origin(hint) is Literal:
        choices = typing.get_args(hint)
        if value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
        return
    allowed = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    fits = allowed + (int,) if float in allowed else allowed  # 1 is a float as well
    if not isinstance(value, fits) or (isinstance(value, bool) and bool not in allowed):
        words = " or ".join("None" if kind is types.NoneType else kind.__name__ for kind in allowed)
        raise TypeError(f"{name} must be {words}, got {value!r}")


def read_train_config(run: str | os.PathLike[str]) -> TrainConfig:
    """The settings that a run folder remembers.

    Raises FileNotFoundError if there is no run, and ValueError if its config.json is damaged.
    """
    path = Path(run).expanduser() / CONFIG
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no run to resume in {path.parent}: it has no {CONFIG}. Check the folder, or "
            "start the run without resume."
        )
    try:
        return TrainConfig(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} does not hold the settings of a run: {error}") from error


# ---- What the device can do --------------------------------------------------------------------


def pick_precision(precision: str, device: torch.device) -> torch.dtype:
    """The type in which matrices are multiplied: float32, bfloat16 or float16.

    "auto" takes bfloat16 where hardware has it: on CUDA since Ampere, on CPUs with AVX512-BF16 or
    AMX. Older CUDA devices get float16, all else float32, and so does the book, whose numbers
    every reader shall get. Raises ValueError for what a device has not.
    """
    kind = device.type
    fast_bf16 = {
        "cuda": lambda: torch.cuda.get_device_capability(device) >= (8, 0),
        "cpu": lambda: torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported(),
    }.get(kind, lambda: False)()
    if precision == "auto":
        if os.environ.get("GPT2_EDU_BOOK") == "1":
            return torch.float32
        if fast_bf16:
            return torch.bfloat16
        return torch.float16 if kind == "cuda" else torch.float32
    if precision == "fp16" and kind != "cuda":
        raise ValueError(f"precision=fp16 is for CUDA, this is {kind}: use bf16 or float32")
    if precision == "bf16" and (kind == "mps" or (kind == "cuda" and not fast_bf16)):
        raise ValueError(f"precision=bf16 is not fast on this {kind} device: use auto or float32")
    return {"float32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[precision]


def pick_compile(choice: str, device: torch.device) -> bool:
    """Whether to compile. On a CPU it takes half a minute and wins a few percent, so only if asked.

    Raises ValueError if it is asked for and the compiler it needs is not installed.
    """
    on_cuda = device.type == "cuda"
    if on_cuda:
        there, needs = find_spec("triton") is not None, "the package triton"
    else:
        names = (os.environ.get("CXX", "c++"), "g++", "clang++", "cl")
        there, needs = any(map(shutil.which, names)), "a C++ compiler such as g++"
    if choice == "on" and not there:
        raise ValueError(f"compile=on needs {needs}, which is not here: install it or use auto")
    return choice == "on" or (choice == "auto" and on_cuda and there)


def available_memory(device: torch.device) -> int | None:
    """Bytes that a device can still give, or None where the system does not tell."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    table = Path("/proc/meminfo")
    if device.type != "cpu" or not table.is_file():
        return None
    lines = dict(line.split(":", 1) for line in table.read_text().splitlines())
    return int(lines["MemAvailable"].split()[0]) * 1024


def peak_memory(device: torch.device) -> int | None:
    """The most bytes in use so far, by torch on CUDA, by the process on a CPU; None elsewhere."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if device.type != "cpu" or find_spec("resource") is None:
        return None
    import resource  # not on Windows

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


@contextmanager
def run_settings(device: torch.device) -> Iterator[None]:
    """TF32 for float32 products on CUDA, and random states of its own, for the run alone."""
    matmul, before = torch.get_float32_matmul_precision(), ck.random_state(device)
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
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
        device = pick_device() if wanted == "auto" else _device(wanted)
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
        self.prompt = self.tokenizer.encode(config.prompt, allowed_special="all")
        self.loader = BatchLoader(
            train,
            config.batch_size,
            config.block_size,
            seed=config.seed,
            rank=ranks.rank,
            world_size=ranks.world_size,
            device=self.device,
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
            ck.write_text(self.run / CONFIG, stored + "\n")

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
        if self.step < config.steps and self._talks():
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


def _device(name: str) -> torch.device:
    """The device of this name, if it is here."""
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ValueError(f"unknown device {name!r}: use auto, cpu, cuda, cuda:1 or mps") from error
    here = {
        "cpu": 1,
        "cuda": torch.cuda.device_count(),
        "mps": int(torch.backends.mps.is_available()),
    }
    if (device.index or 0) >= here.get(device.type, 0):
        raise ValueError(f"device {name!r} is not here: use auto to take what there is")
    return device


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
