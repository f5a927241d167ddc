"""The settings of a training run."""

from __future__ import annotations

import math
import os
import typing
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ..config import GPT2Config, LlamaConfig, ModelConfig, check_positive
from ..machine.files import named_path, read_json
from ..machine.messages import escape_control
from ..machine.options import check_type, option
from ..models import load_config
from ..tuning import LoraConfig
from ..tuning.conversations import SUFFIX
from ..tuning.messages import ROLES
from .optim import learning_rate

SETTINGS, LOG = "run.json", "log.jsonl"  # in the run folder

# These may differ when a run is resumed: where it runs and what it reports, not what it computes.
# The trainer checks that the data has the same tokens as before.
MAY_CHANGE = {
    *("data", "out", "resume", "device", "compile", "fsdp", "grad_accum"),
    *("log_every", "save_every", "keep", "tensorboard", "quiet"),
}

_SIZES = ("n_layer", "n_head", "n_embd", "n_kv_head")

# What these settings are unless they are given: each follows from one that is declared before it.
_FOLLOWING: dict[str, Callable[[TrainConfig], float | None]] = {
    "warmup_steps": lambda config: min(100, config.steps // 10),
    "min_lr": lambda config: float(f"{config.lr / 10:.12g}"),  # 6e-5, not 5.9…95e-5
    "lora_alpha": lambda config: config.lora_rank and 2.0 * config.lora_rank,
}


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """The settings of a run. Raises TypeError or ValueError if one is not valid."""

    data: str = option(
        "folder of token shards, as written by prepare, or a .jsonl file of conversations", "data"
    )
    out: str = option("folder of the run: its settings, log and checkpoints", "run")
    resume: bool = option("continue from the newest checkpoint in out", False)

    model: str = option("size of a new model: the name of a preset", "gpt2")
    n_layer: int | None = option("number of blocks, in place of the preset's", None)
    n_head: int | None = option("number of attention heads, in place of the preset's", None)
    n_embd: int | None = option("width, in place of the preset's", None)
    family: Literal["gpt2", "llama"] = option("kind of a new model: GPT-2, or Llama", "gpt2")
    n_kv_head: int | None = option(
        "heads of keys and values of a Llama, in place of one for each attention head", None
    )
    init_from: str | None = option(
        "start from these weights instead: a checkpoint folder or a name on the hub", None
    )
    lora_rank: int | None = option(
        "train only matrices of this rank beside the frozen ones of init_from (LoRA)", None
    )
    lora_alpha: float | None = option(
        "of LoRA: how strongly they count, as alpha/rank; by default twice the rank", None
    )
    lora_tables: bool = option("with LoRA: train the token embeddings as a whole, too", False)
    loss_on: Literal["answers", "everything"] = option(
        "of conversations: which tokens are learned", "answers"
    )
    block_size: int = option("tokens in a sequence", 1024)
    align: bool = option("begin every sequence with a document, for short documents", False)
    dropout: float = option("share of activations switched off, everywhere", 0.0)

    steps: int = option("optimiser steps", 1000)
    batch_size: int = option("sequences that a device works on at a time", 8)
    grad_accum: int = option("batches whose gradients make one step, on each device", 1)
    lr: float = option("highest learning rate", 6e-4)
    min_lr: float = option("learning rate of the last step; by default a tenth of lr", None)
    warmup_steps: int = option(
        "steps over which the learning rate rises; by default a tenth of steps, at most 100", None
    )
    weight_decay: float = option("AdamW's pull of the matrices towards 0", 0.1)
    beta1: float = option("AdamW's memory for gradients", 0.9)
    beta2: float = option("AdamW's memory for squared gradients", 0.95)
    grad_clip: float = option("longest gradient, by its norm over all weights; 0: any", 1.0)
    seed: int = option("number from which weights, order of data and dropout follow", 0)

    device: str = option("auto, cpu, cuda, cuda:1 or mps", "auto")
    precision: Literal["auto", "float32", "bf16", "fp16"] = option(
        "of the matrix products; auto: bf16 where it is fast, on older GPUs fp16", "auto"
    )
    compile: Literal["auto", "on", "off"] = option("torch.compile; auto: on CUDA", "auto")
    fsdp: bool = option("split the model over the devices that torchrun started", False)

    eval_every: int = option("steps between two validations; 0: none", 250)
    eval_batches: int = option("batches of batch_size sequences in a validation", 20)
    sample_every: int = option("steps between two samples of text; 0: none", 250)
    prompt: str = option("what a sample begins with", "<|endoftext|>")
    sample_tokens: int = option("tokens in a sample", 64)
    save_every: int = option("steps between two checkpoints; the best is saved too", 500)
    keep: int = option("newest checkpoints to keep, beside the best", 2)
    log_every: int = option("steps between two rows of the log", 10)
    tensorboard: bool = option("write the log for TensorBoard too, to out/tensorboard", False)
    quiet: bool = option("show no progress bar and no samples", False)

    def __post_init__(self) -> None:
        for name, hint in typing.get_type_hints(type(self)).items():
            if name in _FOLLOWING and getattr(self, name) is None:
                object.__setattr__(self, name, _FOLLOWING[name](self))
            check_type(name, getattr(self, name), hint)
        if not 0 < self.lr < math.inf:
            raise ValueError(f"lr must be above 0, got {self.lr}")
        self._check(("block_size", "steps", "batch_size", "grad_accum", "eval_batches"), 1)
        self._check(("sample_tokens", "save_every", "keep", "log_every", "lora_rank", *_SIZES), 1)
        self._check(("warmup_steps", "eval_every", "sample_every", "seed"), 0)
        self._check(("weight_decay", "grad_clip", "min_lr"), 0.0)
        self._check(("dropout", "beta1", "beta2"), 0.0, below=1.0)
        if self.min_lr > self.lr:
            raise ValueError(f"min_lr={self.min_lr} is above lr={self.lr}: lower it")
        if self.seed >= 2**32:
            raise ValueError(f"seed must be below 2^32, got {self.seed}")
        if self.warmup_steps >= self.steps:
            raise ValueError(f"warmup_steps={self.warmup_steps} must be below steps={self.steps}")
        if not self.prompt:
            raise ValueError('prompt is empty: a sample needs a beginning, such as "<|endoftext|>"')
        given = self.model != "gpt2" or any(getattr(self, name) for name in _SIZES)
        if self.init_from is not None and (given or self.family != "gpt2"):
            names = ", ".join(("model", "family", *_SIZES))
            raise ValueError(f"init_from has its own family and sizes: leave out {names}")
        self._check_dropout(self._preset())
        self._check_tuning()

    def _check(self, names: tuple[str, ...], least: float, below: float = math.inf) -> None:
        for name in names:
            value = getattr(self, name)
            if value is not None and not least <= value < below:
                allowed = f"at least {least}" + (f" and below {below}" if below < math.inf else "")
                raise ValueError(f"{name} must be {allowed}, got {value}")

    def _check_tuning(self) -> None:
        if self.lora_alpha is not None:
            check_positive("lora_alpha", self.lora_alpha)
        if self.lora_rank is None and (self.lora_tables or self.lora_alpha is not None):
            raise ValueError("lora_alpha and lora_tables are for LoRA: give a lora_rank, too")
        if self.loss_on != "answers" and not self.has_conversations:
            raise ValueError(f"loss_on is for conversations, and {self.data} is no .jsonl file")
        if self.init_from is None and (self.lora_rank or self.has_conversations):
            what = f"lora_rank={self.lora_rank}" if self.lora_rank else f"the file {self.data}"
            raise ValueError(f"{what} is for tuning a trained model: name it with init_from")
        if self.fsdp and self.lora_rank:
            raise ValueError("fsdp splits what is trained, and LoRA trains little: leave one out")

    def lora(self) -> LoraConfig:
        """The adapter that is trained, if ``lora_rank`` says that one is."""
        rank, alpha = self.lora_rank or 1, self.lora_alpha or 1.0
        return LoraConfig(rank=rank, alpha=alpha, train_tables=self.lora_tables)

    @property
    def has_conversations(self) -> bool:
        """Whether the data is a file of conversations, in place of token shards."""
        return self.data.endswith(SUFFIX)

    def learning_rate_at(self, step: int) -> float:
        """The learning rate of one step, counted from 0."""
        return learning_rate(
            step, steps=self.steps, lr=self.lr, min_lr=self.min_lr, warmup_steps=self.warmup_steps
        )

    def model_config(self, vocab_size: int) -> ModelConfig:
        """The sizes of the model to train: the preset's with changes, or those of ``init_from``.

        Raises ValueError if that one has another vocabulary or sees fewer than block_size tokens.
        A Llama may have more rows than its tokenizer has tokens, up to a round number. For
        conversations the model gets the two tokens of the roles, unless it has them.
        """
        if self.init_from is None:
            sizes = replace(self._preset(), vocab_size=vocab_size)
        else:
            sizes = load_config(self.init_from)
        rows, is_llama = sizes.vocab_size, isinstance(sizes, LlamaConfig)
        fits = rows == vocab_size or (is_llama and rows > vocab_size)
        if self.has_conversations and rows + len(ROLES) == vocab_size:
            fits, sizes = True, replace(sizes, vocab_size=vocab_size)
        if not fits or sizes.block_size < self.block_size:
            raise ValueError(
                f"{self.init_from} has {sizes.vocab_size} ids and sees at most {sizes.block_size} "
                f"tokens; the shards in {self.data} have {vocab_size} ids, and "
                f"block_size={self.block_size}. Prepare the text with --tokenizer "
                f"{self.init_from}, and use a block_size that fits."
            )
        self._check_dropout(sizes)
        if isinstance(sizes, LlamaConfig):
            return sizes
        p = self.dropout
        return replace(sizes, embd_pdrop=p, attn_pdrop=p, resid_pdrop=p)

    def _check_dropout(self, sizes: ModelConfig) -> None:
        if isinstance(sizes, LlamaConfig) and self.dropout:
            raise ValueError(f"a Llama has no dropout: leave out dropout={self.dropout}")

    def _preset(self) -> ModelConfig:
        """The preset with its changes. Raises ValueError if they do not fit together."""
        names = ("n_layer", "n_head", "n_embd")
        given = {name: getattr(self, name) for name in names if getattr(self, name)}
        if self.model != "crane" and self.n_embd:  # narrow models start larger: about 0.6/√C
            given["initializer_range"] = 0.02 * math.sqrt(768 / self.n_embd)
        sizes = replace(GPT2Config.preset(self.model), block_size=self.block_size, **given)
        if self.family == "llama":
            return LlamaConfig.like(sizes, self.n_kv_head)
        if self.n_kv_head:
            raise ValueError(
                f"n_kv_head={self.n_kv_head} is for family='llama': in a GPT-2 every head has keys "
                "and values of its own"
            )
        return sizes


def has_run(folder: Path) -> bool:
    """Whether a folder has a run in it."""
    return (folder / SETTINGS).is_file()


def read_train_config(run: str | os.PathLike[str]) -> TrainConfig:
    """The settings of the run in a folder.

    Raises FileNotFoundError if there is no run, and ValueError if its run.json is damaged.
    """
    path = named_path(run) / SETTINGS
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no run to resume in {path.parent}: it has no {SETTINGS}. Check the folder, "
            "or start the run without resume."
        )
    try:
        return TrainConfig(**read_json(path))
    except (ValueError, TypeError) as error:
        problem = escape_control(str(error))
        raise ValueError(f"{path} does not hold the settings of a run: {problem}") from error
