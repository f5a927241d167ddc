"""What the names on the command line stand for."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import torch

from ..machine.device import named_device, pick_device
from ..training.checkpoint import best_checkpoint, checkpoints, newest_checkpoint


def model_folder(name: str, which: Literal["best", "last"] = "best") -> str:
    """The checkpoint that a run folder stands for; every other name is returned as it is."""
    run = Path(name).expanduser()
    if not (run / "checkpoints").is_dir():
        return name
    best = best_checkpoint(run) if which == "best" and checkpoints(run) else None
    found = best or newest_checkpoint(run)  # without validation none is the best
    if found is None:
        raise FileNotFoundError(f"the run {run} has no checkpoint yet")
    return str(found)


def device_named(name: str) -> torch.device:
    """The device of this name; "auto" is the fastest one here."""
    return pick_device() if name == "auto" else named_device(name)
