"""The runs on two ranks that tests/training/test_distributed.py checks, written to a folder.

The folder holds a run on one rank that was stopped after 5 steps, conversations and a model to
tune. Each rank is a process, with the variables that torchrun would set.
"""

from __future__ import annotations

import errno
import os
import signal
import traceback
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist

from gpt2_edu import weights
from gpt2_edu.trainer import Trainer
from tests.training.small_run import before_each_step, small_config
from tests.tuning import chats

# One process with grad_accum=2 takes the same sequences for a step as two with 1.
TWO_RANKS = {"batch_size": 2, "dropout": 0.0, "steps": 8}
LLAMA = {"family": "llama", "n_embd": 24, "n_kv_head": 1}


def stop_on_rank_1(run: Trainer) -> None:
    """Only rank 1 gets the signal, in its sixth step."""
    if run.step == 5 and run.ranks.rank == 1:
        os.kill(os.getpid(), signal.SIGINT)


def write_next_draw(run: Trainer) -> None:
    """What each rank's generator would draw next, without drawing it."""
    drawn = torch.rand(1, generator=torch.default_generator.clone_state()).item()
    (run.folder / f"drawn-{run.step}-{run.ranks.rank}.txt").write_text(str(drawn))


def main(data: Path, folder: Path) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()

    def trainer(name: str, **settings: Any) -> Trainer:
        return Trainer(small_config(data, folder / name, **(TWO_RANKS | settings)))

    trainer("ddp").train()
    trainer("ddp-4", grad_accum=4).train()
    fsdp = trainer("fsdp", fsdp=True, grad_accum=2)
    fsdp.train()
    table = fsdp.model.get_parameter("transformer.wte.weight")
    assert fsdp.model.lm_head.weight is table, "the tie was cut"
    rows = table.to_local().size(0)
    assert rows < len(table), "nothing was split"
    trainer("llama", fsdp=True, **LLAMA).train()
    begin = folder / "chat.jsonl", folder / "start"
    Trainer(chats.config(*begin, folder / "tuned", batch_size=2, **chats.LORA)).train()
    with before_each_step(stop_on_rank_1):
        trainer("stopped", fsdp=True).train()
    trainer("one", resume=True).train()  # begun on one rank
    with before_each_step(write_next_draw):
        trainer("dropout", dropout=0.3).train()
    with before_each_step(stop_on_rank_1):
        trainer("dropout-again", dropout=0.3).train()
    Trainer.resume(folder / "dropout-again").train()
    full = OSError(errno.ENOSPC, "No space left on device")  # rank 0 alone writes
    try:
        with mock.patch.object(weights, "save_file", side_effect=full):
            trainer("lost").train()
    except OSError as error:
        (folder / f"lost-{rank}.txt").write_text(str(error))
    dist.destroy_process_group()


def run(rank: int, port: int, data: Path, folder: Path) -> None:
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    try:
        main(data, folder)
    except BaseException:
        (folder / f"failed-{rank}.txt").write_text(traceback.format_exc())
        raise
