"""The settings of a training run."""

from __future__ import annotations

import json
import math
import os
import types
import typing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ..config import GPT2Config
from ..model import GPT2
from ..weights.pretrained import CONFIG

# What may differ when a run is resumed: where it runs and what it tells, not what it computes.
# Under data stand the same tokens at another place; that they are the same, the loader checks.
MAY_CHANGE = {
    *("data", "out", "resume", "device", "compile", "fsdp", "grad_accum"),
    *("log_every", "save_every", "keep", "tensorboard", "quiet"),
}


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
    align: bool = setting(False, "begin every sequence with a document, for short documents")
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
        if loaded.config.vocab_size != vocab_size:
            raise ValueError(
                f"the shards in {self.data} have a vocabulary of {vocab_size} ids, "
                f"{self.init_from} has {loaded.config.vocab_size}: prepare the text with that "
                "model's tokenizer"
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
