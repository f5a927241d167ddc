"""Kill a run without warning, again and again, and check that the result is the same.

    python -m tests.campaigns.kill --kills 30

A run of a few seconds that saves at every step is killed (SIGKILL) at a random moment, resumed,
killed again, until it ends; then another one begins. Each must leave the same bytes of weights
and optimiser, and the same log with the same samples, as an undisturbed run.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import tempfile
import time
from pathlib import Path

import torch

from gpt2_edu.trainer import Trainer
from gpt2_edu.training.checkpoint import UNFINISHED, checkpoints
from gpt2_edu.training.config import has_run
from tests.campaigns.small_run import result, small_config, write_shards


def run(data: Path, out: Path, steps: int) -> None:
    """In a child process: start the run, or resume it."""
    torch.set_num_threads(1)
    config = small_config(data, out, steps=steps, save_every=1, sample_every=3, resume=has_run(out))
    Trainer(config).train()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--kills", type=int, default=30)
    options.add_argument("--steps", type=int, default=60)
    options.add_argument("--seed", type=int, default=0, help="of the random moments")
    given = options.parse_args()
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["gpt2_edu.training.trainer"])
    moments = random.Random(given.seed)

    with tempfile.TemporaryDirectory() as folder:
        data = write_shards(Path(folder) / "shards")
        for name in ("warm-up", "undisturbed"):  # the first one waits for the imports
            out = Path(folder) / name
            started = time.monotonic()
            process = processes.Process(target=run, args=(data, out, given.steps))
            process.start()
            process.join()
            duration = time.monotonic() - started
            assert process.exitcode == 0
        expected = result(out)

        kills = inside = runs = 0
        while kills < given.kills:
            runs += 1
            out, ended = Path(folder) / f"run-{runs}", False
            while not ended:
                process = processes.Process(target=run, args=(data, out, given.steps))
                process.start()
                if kills < given.kills:
                    process.join(moments.uniform(0.1, 0.9) * duration)
                    process.kill()
                process.join()
                ended = process.exitcode == 0
                if not ended:
                    assert process.exitcode == -9, f"the run failed: {process.exitcode}"
                    kills += 1
                    left = [path.name for path in out.rglob(UNFINISHED + "*")]
                    inside += bool(left)
                    at = checkpoints(out)[-1].name if out.exists() and checkpoints(out) else "none"
                    print(
                        f"kill {kills}: last checkpoint {at}, left unfinished: {left or 'nothing'}"
                    )
            assert result(out) == expected, f"{out} differs from the undisturbed run"
        print(
            f"{kills} kills in {runs} runs, {inside} of them inside a save: every run ended with "
            "the same weights, optimiser, log and samples as the undisturbed one."
        )


if __name__ == "__main__":
    main()
