"""A training run with all its parts: opened from its settings or from its newest checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import tiktoken
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ..config import GPT2Config
from ..data import BatchLoader, TokenShards, validation_batches
from ..machine.device import pick_compile, pick_precision
from ..machine.files import write_text
from ..machine.messages import changes
from ..model import GPT2
from ..tokenizer import load_tokenizer
from ..weights import CONFIG, read_config
from . import checkpoint as ck
from .config import MAY_CHANGE, SETTINGS, TrainConfig, has_run, read_train_config
from .distributed import Ranks, replicate, shard
from .memory import StepMemory
from .optim import make_optimizer
from .random_state import random_state, seed_all, set_random_state


@dataclass(kw_only=True)
class Run:
    """All parts of a training run, and where it stands. Made by ``open_run``."""

    config: TrainConfig
    ranks: Ranks
    dtype: torch.dtype  # of the matrix products
    compiled: bool
    tokenizer: tiktoken.Encoding
    prompt: list[int]  # ids with which samples begin
    loader: BatchLoader
    val: TokenShards | None  # None: no validation
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
    def memory(self) -> StepMemory:
        return StepMemory(self.config, self.model.config, self.device, self.dtype)

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
        reduced = self.dtype != torch.float32
        return torch.autocast(self.device.type, dtype=self.dtype, enabled=reduced)

    def validation_batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """This rank's share of the validation windows: idx and targets, each (B, T).

        They are the same every time. Raises ValueError if there is less than one window.
        """
        assert self.val is not None, "eval_every is 0"
        settings = _batch_settings(self.config, self.ranks)
        return validation_batches(self.val, n_batches=self.config.eval_batches, **settings)


# ---- Opening a run -----------------------------------------------------------------------------


def open_run(config: TrainConfig, ranks: Ranks) -> Run:
    """A run before its first step or, with ``config.resume``, at its newest checkpoint.

    Seeds the random generators. The run folder is written last, when all is checked. Raises what
    ``Trainer.train`` names.
    """
    _check_packages(config, ranks)
    dtype = pick_precision(config.precision, ranks.device)
    compiled = pick_compile(config.compile, ranks.device)
    train = TokenShards(config.data)
    tokenizer = load_tokenizer(train.tokenizer)
    train.check_tokenizer(train.tokenizer)
    loader = BatchLoader(train, seed=config.seed, **_batch_settings(config, ranks))
    checkpoint = _find_checkpoint(config)
    if checkpoint is None:
        model_config = config.model_config(train.vocab_size)
    else:
        model_config = read_config(checkpoint / CONFIG)
    memory = StepMemory(config, model_config, ranks.device, dtype)
    memory.check()
    with memory.explain_errors():
        init_from = config.init_from if checkpoint is None else None
        model = _new_model(model_config, config.seed, init_from)
        training_model = _distribute(model, config, ranks, compiled)
        betas = config.beta1, config.beta2
        run = Run(
            config=config,
            ranks=ranks,
            dtype=dtype,
            compiled=compiled,
            tokenizer=tokenizer,
            prompt=tokenizer.encode(config.prompt, allowed_special="all"),
            loader=loader,
            val=TokenShards(config.data, "val") if config.eval_every else None,
            model=model,
            training_model=training_model,
            optimizer=make_optimizer(
                model, lr=config.lr, betas=betas, weight_decay=config.weight_decay
            ),
            # float16 has no small numbers: a scaled-up loss keeps gradients from becoming 0.
            scaler=torch.amp.GradScaler(ranks.device.type, enabled=dtype == torch.float16),
        )
        _check_samples(run)
        seed_all(config.seed, ranks.rank + 1)  # other dropout on each rank
        if checkpoint is not None:
            restore_run(run, checkpoint)
    _open_folder(run)
    return run


def _check_packages(config: TrainConfig, ranks: Ranks) -> None:
    if config.fsdp and ranks.world_size == 1:
        raise ValueError("fsdp splits a model over processes: start them with torchrun")
    if config.tensorboard and find_spec("tensorboard") is None:
        raise ValueError(
            "tensorboard=True needs the package tensorboard, which is not installed: "
            'pip install "gpt2-edu[tensorboard]"'
        )


def _batch_settings(config: TrainConfig, ranks: Ranks) -> dict[str, Any]:
    """What batches for training and validation have in common."""
    return asdict(ranks) | {
        name: getattr(config, name) for name in ("batch_size", "block_size", "align")
    }


def _find_checkpoint(config: TrainConfig) -> Path | None:
    """Where to resume; None for a run that has none yet.

    Raises ValueError if the settings would make it another run.
    """
    folder = Path(config.out).expanduser()
    if not config.resume:
        if has_run(folder):
            raise ValueError(
                f"{folder} already holds a run. To go on with it, pass resume=True; to "
                "start another one, choose another out."
            )
        return None
    before, now = (
        {name: value for name, value in asdict(settings).items() if name not in MAY_CHANGE}
        for settings in (read_train_config(folder), config)
    )
    if changed := changes(before, now):
        listed = "\n  ".join(changed)
        raise ValueError(
            f"the run in {folder} was started with other settings:\n  {listed}\n"
            "Resume with those that it began with, or start another run in another folder; "
            "init_from can begin it with this run's weights."
        )
    return ck.newest_checkpoint(folder)


def _new_model(model_config: GPT2Config, seed: int, init_from: str | None) -> GPT2:
    """The model of step 0, the same on every rank."""
    seed_all(seed)
    model = GPT2(model_config)
    if init_from is not None:
        model.load_state_dict(GPT2.from_pretrained(init_from).state_dict())
    return model.train()


def _distribute(model: GPT2, config: TrainConfig, ranks: Ranks, compiled: bool) -> nn.Module:
    """Move the model to its devices; returns what a training step calls."""
    if config.fsdp:
        if compiled:
            for block in model.transformer["h"].children():
                block.compile()
        shard(model)
        return model
    model.to(ranks.device)
    if compiled:
        model.compile()  # in place, so that no name of a weight changes
    return model if ranks.world_size == 1 else replicate(model, ranks)


def _check_samples(run: Run) -> None:
    """Raise ValueError for what would fail later: short validation data, an unknown prompt."""
    if run.val is not None:
        run.validation_batches()
    V = run.model.config.vocab_size
    if run.config.sample_every and max(run.prompt) >= V:
        raise ValueError(
            f"the prompt {run.config.prompt!r} has the id {max(run.prompt)}, outside the "
            f"vocabulary 0 … {V - 1} of {run.config.data}: choose another one"
        )


def _open_folder(run: Run) -> None:
    """Make the run folder, or remove what a killed process left in it."""
    run.ranks.barrier()  # all have looked into it before the first one writes
    if not run.ranks.first:
        return
    (run.folder / "checkpoints").mkdir(parents=True, exist_ok=True)
    if run.config.resume:
        ck.clean(run.folder)
    else:
        write_text(run.folder / SETTINGS, json.dumps(asdict(run.config), indent=2) + "\n")


# ---- Its checkpoints ---------------------------------------------------------------------------


def save_run(run: Run, val_loss: float | None) -> None:
    """Write a checkpoint, then remove those that are no longer kept.

    ``val_loss`` is that of the present weights, None if it was not measured.
    """
    state = {
        "val_loss": val_loss,
        "best": run.best_val_loss,
        "loader": run.loader.state_dict(),
        "scaler": run.scaler.state_dict(),
        "random": run.ranks.gather(random_state(run.device)),
        "sequences_per_step": run.sequences_per_step,
        "config": asdict(run.config),
    }
    ck.save_checkpoint(run.folder, run.step, run.model, run.optimizer, state, run.ranks)
    if run.ranks.first:
        ck.prune(run.folder, run.config.keep)
    run.ranks.barrier()  # no rank reads the checkpoints while one is being removed


def restore_run(run: Run, checkpoint: Path) -> None:
    """Put a run into the state that ``save_run`` wrote.

    Raises ValueError if its steps would now take another number of sequences.
    """
    state = ck.read_state(checkpoint)
    then, now = state["sequences_per_step"], run.sequences_per_step
    if then != now:
        raise ValueError(
            f"a step of this run takes {then} sequences, now it would take {now}: "
            f"{run.ranks.world_size} devices · batch_size {run.config.batch_size} · "
            f"grad_accum {run.config.grad_accum}. Change grad_accum or the number of devices."
        )
    ck.load_weights(checkpoint, run.model)
    ck.load_optimizer(checkpoint, run.model, run.optimizer)
    run.loader.load_state_dict(state["loader"])
    if state["scaler"] and run.scaler.is_enabled():
        run.scaler.load_state_dict(state["scaler"])
    if run.ranks.rank < len(state["random"]):  # an additional rank keeps its own seed
        set_random_state(state["random"][run.ranks.rank], run.device)
    run.step, run.best_val_loss = state["step"], state["best"]
