"""What tests/test_distributed.py looks at: runs on two ranks, written into a folder.

    torchrun --nproc-per-node=2 -m tests.campaigns.two_ranks FOLDER

FOLDER holds the shards, and a run on one rank that was stopped after 5 steps.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from gpt2_edu.training import checkpoint as ck
from gpt2_edu.training.trainer import Trainer
from tests.campaigns.small_run import small_config

# One process with grad_accum=2 takes the same sequences for a step as two with 1.
TWO_RANKS = {"batch_size": 2, "dropout": 0.0}


class Stopped(Trainer):
    """Only rank 1 hears the signal, in the middle of its sixth step."""

    def _learn(self) -> Any:
        if self.step == 5 and self.ranks.rank == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return super()._learn()


class Drawing(Trainer):
    """Each rank shows what its generator would draw next, and draws nothing."""

    def _learn(self) -> Any:
        drawn = torch.rand(1, generator=torch.default_generator.clone_state()).item()
        (self.run / f"drawn-{self.step}-{self.ranks.rank}.txt").write_text(str(drawn))
        return super()._learn()


class Lost(Trainer):
    """The disk of rank 0 is full when it saves."""

    def _save(self, val_loss: float | None) -> None:
        def full(*_: object, **__: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        ck.save_file = full
        super()._save(val_loss)


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, data = dist.get_rank(), folder / "shards"
    Trainer(small_config(data, folder / "ddp", **TWO_RANKS)).train()
    Trainer(small_config(data, folder / "ddp-4", grad_accum=4, **TWO_RANKS)).train()
    fsdp = Trainer(small_config(data, folder / "fsdp", fsdp=True, grad_accum=2, **TWO_RANKS))
    fsdp.train()
    table = fsdp.model.get_parameter("transformer.wte.weight")
    assert fsdp.model.lm_head.weight is table, "the tie was cut"
    rows = table.to_local().size(0)
    assert rows < len(table), "nothing was split"
    Stopped(small_config(data, folder / "stopped", fsdp=True, **TWO_RANKS)).train()
    one = small_config(data, folder / "one", resume=True, **TWO_RANKS)
    Trainer(one).train()  # was on one rank until now
    dropout = TWO_RANKS | {"dropout": 0.3}
    Drawing(small_config(data, folder / "dropout", **dropout)).train()
    Stopped(small_config(data, folder / "dropout-again", **dropout)).train()
    Trainer.resume(folder / "dropout-again").train()
    try:
        Lost(small_config(data, folder / "lost", **TWO_RANKS)).train()
    except OSError as error:
        (folder / f"lost-{rank}.txt").write_text(str(error))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
