"""Fill a real disk while a run saves, and check that nothing is lost. Needs root, for the mount.

    python -m tests.campaigns.full_disk

The run folder lies on a disk of half a megabyte in memory, where two checkpoints have room and a
third has not. The save fails with a clear message, the older checkpoints are intact, and with more
room the run goes on to the same end as an undisturbed one.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import torch

from gpt2_edu.trainer import Trainer
from gpt2_edu.training.checkpoint import UNFINISHED, checkpoints, newest_checkpoint
from tests.campaigns.small_run import result, small_config, write_shards


def main() -> None:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        data, disk = write_shards(Path(name) / "shards"), Path(name) / "disk"
        out = disk / "run"
        config = small_config(data, out)
        Trainer(small_config(data, Path(name) / "undisturbed")).train()
        expected = result(Path(name) / "undisturbed")
        disk.mkdir()
        for size in ("300k", "450k", "600k"):
            subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], check=True
            )
            try:
                try:
                    Trainer(config).train()
                except OSError as error:
                    print(f"{size}: {error}")
                else:
                    raise SystemExit(f"the disk of {size} was too large to fill")
                assert not list(disk.rglob(UNFINISHED + "*")), "the failed save left something"
                saved = checkpoints(out)
                assert not saved or newest_checkpoint(out) == saved[-1]
                subprocess.run(["mount", "-o", "remount,size=9m", disk], check=True)
                Trainer.resume(out).train()
                assert result(out) == expected
            finally:
                subprocess.run(["umount", disk], check=True)
        print("a full disk cost nothing but the save that did not fit")


if __name__ == "__main__":
    main()
