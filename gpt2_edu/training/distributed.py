"""One training run on many devices: each is a process, which torchrun starts and numbers.

    torchrun --nproc-per-node=2 -m gpt2_edu train …

Under DDP every rank holds the full model, works on its own rows, and gradients are averaged.
Under FSDP a rank holds a part of every tensor and gathers the rest when a block needs it, so the
model may be larger than a device. Sources: Li et al. 2020, "PyTorch Distributed"; Zhao et al.
2023, "PyTorch FSDP". FSDP takes a second to import, so that happens where it is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel

from ..language_model import LanguageModel


@dataclass(frozen=True)
class Ranks:
    """This process among those of the run; a single process is rank 0 of 1.

    Every rank must call the methods, in the same order.
    """

    rank: int
    world_size: int
    device: torch.device

    @property
    def first(self) -> bool:
        """Rank 0 writes the files and prints messages."""
        return self.rank == 0

    def sum(self, *values: float) -> list[float]:
        """Each value summed over all ranks; the same result on each of them."""
        if self.world_size == 1:
            return list(values)
        # MPS has no float64, and is never one of many.
        total = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(total)
        return total.tolist()

    def any(self, value: bool) -> bool:
        """Whether it is true on at least one rank."""
        return self.sum(value)[0] > 0

    def gather(self, value: object) -> list[object]:
        """The values of all ranks, in order."""
        if self.world_size == 1:
            return [value]
        values: list[object] = [None] * self.world_size
        dist.all_gather_object(values, value)
        return values

    def on_first(self, action: Callable[[], object]) -> str:
        """Run an action on rank 0 only. Returns its error message, or "", on all ranks."""
        problem = ""
        if self.first:
            try:
                action()
            except Exception as error:  # the other ranks are waiting for the result
                problem = str(error) or type(error).__name__
        return str(self.gather(problem)[0])


@contextmanager
def process_group(device: torch.device) -> Iterator[Ranks]:
    """Inside the block, this process is one of the ranks that torchrun started.

    Rank r of a machine uses CUDA device r. Without torchrun there is one rank. An existing group is
    used, and not destroyed. When a rank fails, its process ends, the next collective operation of
    the others fails, and torchrun ends them. Raises ValueError if the device cannot be one of many,
    or there are more ranks than devices.
    """
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        yield Ranks(0, 1, device)
        return
    if device.type == "cuda":
        local = int(os.environ.get("LOCAL_RANK", "0"))
        if local >= torch.cuda.device_count():
            raise ValueError(
                f"torchrun started a process for CUDA device number {local + 1}, this machine has "
                f"{torch.cuda.device_count()}: use a lower --nproc-per-node"
            )
        device = torch.device("cuda", local)
        torch.cuda.set_device(device)
    elif device.type != "cpu":
        raise ValueError(
            f'torchrun needs CUDA or, for trying it out, device="cpu"; this is {device.type}'
        )
    created = not dist.is_initialized()
    if created:
        backend = "nccl" if device.type == "cuda" else "gloo"
        # NCCL takes the device from here, also for barriers, and connects at once.
        bound = device if device.type == "cuda" else None
        dist.init_process_group(backend, timeout=timedelta(minutes=10), device_id=bound)
    yield Ranks(dist.get_rank(), dist.get_world_size(), device)
    if created:  # not after an error: the other ranks may be waiting in an exchange
        dist.destroy_process_group()


def distribute(model: LanguageModel, ranks: Ranks, *, fsdp: bool, compiled: bool) -> nn.Module:
    """Move the model to its devices, for DDP or FSDP2. Returns the module that a step calls."""
    if fsdp:  # a block is gathered, used and freed; the other parameters are one group
        from torch.distributed.fsdp import fully_shard

        # The default mesh would be on the GPU if there is one, whatever device the run uses.
        mesh = init_device_mesh(ranks.device.type, (ranks.world_size,))
        for block in model.transformer.h:
            if compiled:
                block.compile()
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
        return model
    called: nn.Module = model.to(ranks.device)
    if compiled:
        called = LossOnly(model)
        called.compile()  # in place: the names of the weights stay the same
    if ranks.world_size == 1:
        return called
    ids = [ranks.device.index] if ranks.device.type == "cuda" else None
    # Gradients are views into the buffers that are exchanged, which saves a copy of them.
    return DistributedDataParallel(called, device_ids=ids, gradient_as_bucket_view=True)


class LossOnly(nn.Module):
    """The model without its logits as output, so that compiled code need not write them.

    For 64 sequences of 1,024 tokens they take 6.6 GB in bfloat16, and training does not use them.
    """

    def __init__(self, model: LanguageModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, idx: Tensor, targets: Tensor) -> tuple[None, Tensor]:
        """None, and the mean cross-entropy of targets (B, T) given ids (B, T)."""
        return None, self.model(idx, targets)[1]


@contextmanager
def micro_step(model: nn.Module, *, last: bool) -> Iterator[None]:
    """Around forward and backward of one micro-batch: only the last exchanges gradients.

    The forward pass belongs inside: there DDP decides whether the backward pass will exchange.
    """
    if isinstance(model, DistributedDataParallel) and not last:
        with model.no_sync():
            yield
        return
    from torch.distributed.fsdp import FSDPModule

    if isinstance(model, FSDPModule):
        model.set_requires_gradient_sync(last)
    yield


def reshard(model: nn.Module) -> None:
    """Free what FSDP gathered for a validation: the parameters are again those of the optimiser."""
    for module in model.modules():
        if callable(free := getattr(module, "reshard", None)):
            free()


def full_tensor(tensor: Tensor) -> Tensor:
    """The tensor, gathered if it is split over the ranks; every rank must call this."""
    from torch.distributed.tensor import DTensor

    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def gather_full(tensors: Mapping[str, Tensor], ranks: Ranks) -> dict[str, Tensor]:
    """Full tensors in rank 0's main memory, gathered one at a time; none on the other ranks."""
    gathered = {}
    for name, tensor in tensors.items():
        value = full_tensor(tensor)  # on all ranks
        if ranks.first:
            gathered[name] = value.cpu()
    return gathered


@torch.no_grad()
def copy_full_tensor(target: Tensor, value: Tensor) -> None:
    """Copy a full tensor into one that may be split over the ranks: each keeps its part."""
    from torch.distributed.tensor import DTensor, distribute_tensor

    if isinstance(target, DTensor):
        value = distribute_tensor(value.to(target.device), target.device_mesh, target.placements)
    target.copy_(value)
