"""A training run with all its parts: opened from its settings or from its newest checkpoint."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import tiktoken
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from .. import flops
from ..config import GPT2Config
from ..data import BatchLoader, TokenShards, validation_batches
from ..machine.device import (
    available_memory,
    is_out_of_memory,
    pick_compile,
    pick_precision,
)
from ..machine.files import PART, locked, write_text
from ..machine.messages import changes
from ..model import GPT2
from ..tokenizer import load_tokenizer
from ..weights import CONFIG, read_config
from . import checkpoint as ck
from .config import LOG, MAY_CHANGE, SETTINGS, TrainConfig, has_run, read_train_config
from .distributed import Ranks, replicate, shard
from .optim import make_optimizer


@dataclass(kw_only=True)
class Run:
    """All parts of a training run, and where it stands. Made by ``open_run``."""

    config: TrainConfig
    ranks: Ranks
    memory: StepMemory
    dtype: torch.dtype  # of the matrix products
    compiled: bool
    tokenizer: tiktoken.Encoding
    prompt: list[int]  # ids with which samples begin
    loader: BatchLoader
    # This rank's share of the validation windows, (B, T) each, from the first; None: no validation.
    val: Callable[[], Iterator[tuple[Tensor, Tensor]]] | None
    model: GPT2
    training_model: nn.Module  # the same weights, as a training step calls them
    optimizer: Optimizer
    scaler: torch.amp.GradScaler  # does nothing, except in float16

    step: int = 0  # steps done, also by earlier processes
    loss: float | None = None  # of the last step in this process
    val_loss: float | None = None  # the last one measured in this process
    best_val_loss: float | None = None

    @property
    def folder(self) -> Path:
        return Path(self.config.out).expanduser()

    @property
    def device(self) -> torch.device:
        return self.ranks.device

    @property
    def sequences_per_step(self) -> int:
        return self.ranks.world_size * self.config.batch_size * self.config.grad_accum

    @property
    def tokens_per_step(self) -> int:
        return self.sequences_per_step * self.config.block_size

    @property
    def finished(self) -> bool:
        return self.step == self.config.steps

    def is_due(self, every: int) -> bool:
        """Whether something that happens every so many steps, and at the end, happens now."""
        return every > 0 and (self.step % every == 0 or self.finished)

    def autocast(self) -> torch.autocast:
        """Matrix products in the chosen precision."""
        enabled = self.dtype != torch.float32
        return torch.autocast(self.device.type, dtype=self.dtype, enabled=enabled)


# ---- Opening a run -----------------------------------------------------------------------------


def open_run(config: TrainConfig, ranks: Ranks) -> Run:
    """A run before its first step or, with ``config.resume``, at its newest checkpoint.

    Seeds the random generators. The run folder is written last, when all is checked. Raises what
    ``Trainer.train`` names.
    """
    _check_options(config, ranks)
    dtype = pick_precision(config.precision, ranks.device)
    compiled = pick_compile(config.compile, ranks.device)
    train = TokenShards(config.data)
    tokenizer = load_tokenizer(train.tokenizer)
    train.check_tokenizer(train.tokenizer)
    settings = asdict(ranks) | {
        name: getattr(config, name) for name in ("batch_size", "block_size", "align")
    }
    loader = BatchLoader(train, seed=config.seed, **settings)
    val = None
    if config.eval_every:
        settings["n_batches"] = config.eval_batches
        val = partial(validation_batches, TokenShards(config.data, "val"), **settings)
        val()  # raises ValueError if the shards hold less than one window
    checkpoint = _find_checkpoint(config)
    if checkpoint is None:
        sizes = config.model_config(train.vocab_size)
    else:
        sizes = read_config(checkpoint / CONFIG)
    memory = StepMemory(config, sizes, ranks.device, str(dtype).removeprefix("torch."))
    memory.check()
    with memory.explain_errors():
        seed_all(config.seed)  # the same weights on every rank
        model = GPT2(sizes)
        if config.init_from is not None and checkpoint is None:
            model.load_state_dict(GPT2.from_pretrained(config.init_from).state_dict())
        betas = config.beta1, config.beta2
        run = Run(
            config=config,
            ranks=ranks,
            memory=memory,
            dtype=dtype,
            compiled=compiled,
            tokenizer=tokenizer,
            prompt=_prompt(config, tokenizer, sizes.vocab_size),
            loader=loader,
            val=val,
            model=model,
            training_model=_distribute(model, config, ranks, compiled),
            optimizer=make_optimizer(
                model, lr=config.lr, betas=betas, weight_decay=config.weight_decay
            ),
            # float16 has no small numbers: a scaled-up loss keeps gradients from becoming 0.
            scaler=torch.amp.GradScaler(ranks.device.type, enabled=dtype == torch.float16),
        )
        seed_all(config.seed, ranks.rank + 1)  # other dropout on each rank
        if checkpoint is not None:
            ck.restore_run(run, checkpoint)
    _open_folder(run)
    return run


def _check_options(config: TrainConfig, ranks: Ranks) -> None:
    if config.fsdp and ranks.world_size == 1:
        raise ValueError("fsdp splits a model over processes: start them with torchrun")
    if config.tensorboard and find_spec("tensorboard") is None:
        raise ValueError(
            "tensorboard=True needs the package tensorboard, which is not installed: "
            'pip install "gpt2-edu[tensorboard]"'
        )


def _find_checkpoint(config: TrainConfig) -> Path | None:
    """Where to resume, or None. Raises ValueError if the settings would make it another run."""
    folder = Path(config.out).expanduser()
    if not config.resume:
        if has_run(folder):
            raise ValueError(
                f"{folder} already holds a run. To go on with it, pass resume=True; to "
                "start another one, choose another out."
            )
        return None
    now = _fixed(asdict(config))
    checkpoint = ck.newest_checkpoint(folder)
    if checkpoint is not None and (changed := changes(_fixed(_settings_of(checkpoint)), now)):
        raise ValueError(_other_settings(checkpoint, changed))
    if changed := changes(_fixed(asdict(read_train_config(folder))), now):
        raise ValueError(_other_settings(folder, changed))
    return checkpoint


def _settings_of(checkpoint: Path) -> dict[str, Any]:
    """The settings with which a checkpoint was written: those in run.json can be edited."""
    stored: dict[str, Any] = ck.read_state(checkpoint)["config"]
    return stored


def _fixed(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that a run keeps."""
    return {name: value for name, value in settings.items() if name not in MAY_CHANGE}


def _other_settings(place: Path, changed: list[str]) -> str:
    return (
        f"{place} was written with other settings:\n  "
        + "\n  ".join(changed)
        + "\nResume with those that it began with, or start another run in another folder; "
        "init_from can begin it with this run's weights."
    )


def seed_all(*numbers: int) -> None:
    """Seed Python's, NumPy's and torch's generators. Torch's for the CPU takes 32 bits."""
    seed = int(np.random.SeedSequence(numbers).generate_state(1)[0])
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def _distribute(model: GPT2, config: TrainConfig, ranks: Ranks, compiled: bool) -> nn.Module:
    """Move the model to its devices; returns what a training step calls."""
    if config.fsdp:
        if compiled:
            for block in model.transformer["h"].children():
                block.compile()
        shard(model, ranks)
        return model
    called: nn.Module = model.to(ranks.device)
    if compiled:
        called = LossAlone(model)
        called.compile()  # in place: no name of a weight changes
    return called if ranks.world_size == 1 else replicate(called, ranks)


class LossAlone(nn.Module):
    """The model in training: what is compiled so need not write its logits, which nobody reads.

    For 64 texts of 1,024 tokens those are 6.6 GB in bfloat16.
    """

    def __init__(self, model: GPT2) -> None:
        super().__init__()
        self.model = model

    def forward(self, idx: Tensor, targets: Tensor) -> tuple[None, Tensor]:
        """The mean cross-entropy of targets (B, T) after ids (B, T), in the model's place."""
        return None, self.model(idx, targets)[1]


def _prompt(config: TrainConfig, tokenizer: tiktoken.Encoding, V: int) -> list[int]:
    """The ids with which samples begin. Raises ValueError for one that the data does not have."""
    ids = tokenizer.encode(config.prompt, allowed_special="all")
    if config.sample_every and max(ids) >= V:
        raise ValueError(
            f"the prompt {config.prompt!r} has the id {max(ids)}, outside the "
            f"vocabulary 0 … {V - 1} of {config.data}: choose another one"
        )
    return ids


@contextmanager
def claimed(folder: Path, ranks: Ranks) -> Iterator[None]:
    """One run at a time writes to a folder: rank 0 locks it for all.

    A start that fails before its first step gives the folder back as it was.
    """
    with ExitStack() as stack:
        problem, new = "", not has_run(folder)
        if ranks.first:
            try:
                stack.enter_context(locked(folder))
            except (OSError, ValueError) as error:
                problem = str(getattr(error, "strerror", None) or error)
        if problem := str(ranks.gather(problem)[0]):
            raise ValueError(problem)
        try:
            yield
        except BaseException:
            if ranks.first and new and not ck.checkpoints(folder) and not has_rows(folder):
                for name in (SETTINGS, SETTINGS + PART, LOG):
                    (folder / name).unlink(missing_ok=True)
                with suppress(OSError):
                    (folder / "checkpoints").rmdir()
            raise


def has_rows(folder: Path) -> bool:
    """Whether a step of the run was logged: its first row tells only how it began."""
    log = folder / LOG
    return log.is_file() and log.read_bytes().count(b"\n") > 1


def _open_folder(run: Run) -> None:
    """Make the run folder, or remove what a killed process left in it."""
    run.ranks.barrier()  # all have looked into it before the first one writes
    if not run.ranks.first:
        return
    (run.folder / "checkpoints").mkdir(parents=True, exist_ok=True)
    if run.config.resume:
        ck.clean(run.folder)
        ck.prune(run.folder, run.config.keep)  # a kill may have come before it
    else:
        write_text(run.folder / SETTINGS, json.dumps(asdict(run.config), indent=2) + "\n")


# ---- Its memory --------------------------------------------------------------------------------


@dataclass(frozen=True)
class StepMemory:
    """The memory of a training step: what it needs, what the device has."""

    config: TrainConfig
    sizes: GPT2Config
    device: torch.device
    precision: str  # of the matrix products

    @property
    def needed(self) -> int:
        """Bytes, as estimated by flops.memory."""
        B, T, kind = self.config.batch_size, self.config.block_size, self.device.type
        return flops.memory(self.sizes, B, T, self.precision, device_type=kind).total

    def check(self) -> None:
        """Raise ValueError if a CPU has too little: the system would kill the process silently."""
        available = available_memory(self.device)
        if self.device.type == "cpu" and available and self.needed > available:
            raise ValueError(self.advice())

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Turn an out-of-memory error inside the block into a ValueError with advice."""
        try:
            yield
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            raise ValueError(self.advice()) from error

    def advice(self) -> str:
        """What a step needs, what there is, and a batch that fits."""
        config, kind = self.config, self.device.type
        available = available_memory(self.device)
        if available is None:
            return "out of memory: choose a smaller model, batch_size or block_size"
        if kind == "cuda":  # what this process holds is available to it too
            available += torch.cuda.memory_allocated(self.device)
        fits = flops.largest_batch(
            self.sizes, config.block_size, available, self.precision, device_type=kind
        )
        way = "Choose a smaller model or block_size, or fsdp on more devices."
        if 0 < fits < config.batch_size:
            accum = math.ceil(config.batch_size * config.grad_accum / fits)
            way = f"batch_size={fits} fits; a grad_accum of {accum} keeps the step as large."
        return (
            f"not enough memory for batch_size={config.batch_size} and "
            f"block_size={config.block_size}: a step of this model needs about "
            f"{self.needed / 2**30:.2f} GiB, and the {kind} has {available / 2**30:.2f}. {way}"
        )
