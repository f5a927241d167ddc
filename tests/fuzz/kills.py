"""Kill a training, or a preparation, at random moments: the result stays the same.

A run of a few seconds that saves at every step is killed (SIGKILL), resumed, killed again, until it
ends; then another one begins. Each must leave the same bytes of weights and optimiser and the same
log as an undisturbed run. So must a preparation leave the same shards.
"""

from __future__ import annotations

import random
import tempfile
import time
from functools import partial
from itertools import count
from pathlib import Path

import torch

import gpt2_edu.data.prepare as prepare_file
from gpt2_edu.data import sources
from gpt2_edu.data.prepare import PrepareConfig
from gpt2_edu.data.shards import HEADER
from gpt2_edu.trainer import Trainer
from gpt2_edu.training.config import has_run
from tests.forked import FORKED
from tests.fuzz.tally import Tally
from tests.training.small_run import result, small_config, write_shards


def train(data: Path, out: Path, steps: int) -> None:
    """In a child process: start the run, or resume it."""
    torch.set_num_threads(1)
    config = small_config(data, out, steps=steps, save_every=1, sample_every=3, resume=has_run(out))
    Trainer(config).train()


def prepare(text: Path, out: Path) -> None:
    """In a child process: prepare, in small batches."""
    if (out / HEADER).exists():  # the kill came between the last file and the end of the process
        return
    prepare_file.BATCH, sources.BLOCK = 2, 2000
    config = PrepareConfig(sources=(str(text),), out=str(out), tokenizer="crane", workers=2)
    prepare_file.prepare(config)


def shards_of(out: Path) -> dict[str, bytes]:
    """Its files: a kill after the last of them leaves an empty folder, which nothing reads."""
    return {path.name: path.read_bytes() for path in sorted(out.iterdir()) if path.is_file()}


def fuzz(tries: int, seed: int = 0, steps: int = 60) -> Tally:
    """So many kills: half of them while training, half while preparing."""
    tally = Tally()
    begun = FORKED.Process(target=int)  # which waits for the imports
    begun.start()
    begun.join()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        data, text = write_shards(place / "shards"), place / "text.txt"
        text.write_text("".join(f"Story {i}. A crane ate fish. " for i in range(500 * steps)))
        for work, source, outcome in (
            (partial(train, steps=steps), data, result),
            (prepare, text, shards_of),
        ):
            draw, kills = random.Random(seed), 0
            kind = place / outcome.__name__
            began = time.monotonic()
            process = FORKED.Process(target=work, args=(source, kind / "undisturbed"))
            process.start()
            process.join()
            duration = time.monotonic() - began
            assert process.exitcode == 0
            expected = outcome(kind / "undisturbed")
            for out in (kind / str(i) for i in count()):
                if kills >= tries // 2:
                    break
                before, code = kills, -9
                while code == -9:
                    process = FORKED.Process(target=work, args=(source, out))
                    process.start()
                    if kills < tries // 2:
                        process.join(draw.uniform(0.1, 0.9) * duration)
                        process.kill()
                    process.join(120)
                    code = process.exitcode
                    kills += code == -9
                fine = code == 0 and outcome(out) == expected
                for _ in range(kills - before):
                    tally.count("right" if fine else "wrong", f"{out}, exit status {code}")
                if code != 0:
                    return tally
    return tally
