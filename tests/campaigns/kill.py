"""Kill a run, or a preparation, without warning, again and again: the result stays the same.

A run of a few seconds that saves at every step is killed (SIGKILL) at a random moment, resumed,
killed again, until it ends; then another one begins. Each must leave the same bytes of weights
and optimiser, and the same log with the same samples, as an undisturbed run. So must a preparation
leave the same shards.
"""

from __future__ import annotations

import multiprocessing
import random
import tempfile
import time
from functools import partial
from itertools import count
from pathlib import Path

import torch

import gpt2_edu.data.prepare as prepare_file
from gpt2_edu.data.prepare import PrepareConfig
from gpt2_edu.data.shards import HEADER
from gpt2_edu.trainer import Trainer
from gpt2_edu.training.checkpoint import UNFINISHED
from gpt2_edu.training.config import has_run
from tests.campaigns.small_run import result, small_config, write_shards
from tests.campaigns.tally import Tally


def run(data: Path, out: Path, steps: int) -> None:
    """In a child process: start the run, or resume it."""
    torch.set_num_threads(1)
    config = small_config(data, out, steps=steps, save_every=1, sample_every=3, resume=has_run(out))
    Trainer(config).train()


def prepare_text(text: Path, out: Path) -> None:
    """In a child process: prepare, in small batches."""
    if (out / HEADER).exists():  # the kill came between the last file and the end of the process
        return
    prepare_file.BATCH_CHARACTERS = 4000
    prepare_file.prepare(
        PrepareConfig(sources=(str(text),), out=str(out), tokenizer="crane", workers=2)
    )


def shards_of(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def campaign(kills: int, seed: int = 0, steps: int = 60) -> Tally:
    """So many kills: half of them while training, half while preparing."""
    tally = Tally("kills")
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["gpt2_edu.training.trainer", "gpt2_edu.data.prepare"])
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        data, text = write_shards(place / "shards"), place / "text.txt"
        text.write_text("".join(f"Story {i}. A crane ate fish. " for i in range(30_000)))
        for name, work, source, outcome, left in (
            ("train", partial(run, steps=steps), data, result, f"{UNFINISHED}*"),
            ("prepare", prepare_text, text, shards_of, ".unfinished"),
        ):
            moments = random.Random(f"{seed} {name}")
            for undisturbed in ("warm-up", "undisturbed"):  # the first one waits for the imports
                expected_in = place / f"{name}-{undisturbed}"
                began = time.monotonic()
                process = processes.Process(target=work, args=(source, expected_in))
                process.start()
                process.join()
                duration = time.monotonic() - began
                assert process.exitcode == 0
            expected = outcome(expected_in)
            for out in (place / f"{name}-{i}" for i in count()):
                if tally.counts[name] >= kills // 2:
                    break
                ended = False
                while not ended:
                    process = processes.Process(target=work, args=(source, out))
                    process.start()
                    if tally.counts[name] < kills // 2:
                        process.join(moments.uniform(0.1, 0.9) * duration)
                        process.kill()
                    process.join(120)
                    ended = process.exitcode == 0
                    if not ended:
                        tally.counts["tried"] += 1
                        tally.counts[name] += 1
                        tally.counts["inside a save"] += any(out.rglob(left))
                        if process.exitcode != -9:
                            process.kill()
                            tally.note("wrong", f"{out.name} ended with {process.exitcode}")
                            return tally
                if outcome(out) != expected:
                    tally.note("wrong", f"{out.name} differs from the undisturbed one")
        tally.counts["right"] = tally.counts["tried"] - tally.counts["wrong"]
    return tally
