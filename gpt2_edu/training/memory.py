"""The memory of a training step: checked before a run starts, explained when it runs out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from .. import flops
from ..config import ModelConfig
from ..machine.device import available_memory, is_out_of_memory
from .config import TrainConfig


@dataclass(frozen=True)
class StepMemory:
    """What a training step needs, and what the device has."""

    config: TrainConfig
    sizes: ModelConfig
    device: torch.device
    precision: str  # of the matrix products

    @property
    def needed(self) -> int:
        """Bytes, as estimated by flops.memory."""
        B, T, kind = self.config.batch_size, self.config.block_size, self.device.type
        memory = flops.memory(self.sizes, B, T, self.precision, device_type=kind)
        frozen = memory.gradients + memory.optimiser if self.config.lora_rank else 0
        return memory.total - frozen

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
        """What a step needs, what is available, and a batch size that fits."""
        config, kind = self.config, self.device.type
        available = available_memory(self.device)
        if available is None:
            return "out of memory: choose a smaller model, batch_size or block_size"
        if kind == "cuda":  # what this process has allocated is available to it as well
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
