"""Processes that begin with torch imported: one server imports it and forks each of them."""

from __future__ import annotations

import multiprocessing

FORKED = multiprocessing.get_context("forkserver")
# torch's optimisers import its compiler, which would take longer than a training.
IMPORTED = ["gpt2_edu.training.trainer", "gpt2_edu.data.prepare", "torch._dynamo"]
FORKED.set_forkserver_preload([*IMPORTED, "torch.distributed.fsdp", "tests.tuning.chats"])
