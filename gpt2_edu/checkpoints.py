"""The checkpoints of a training run, as they are found and checked: ``training`` writes them.

A run folder holds

    run.json               the settings of the run
    log.jsonl              one JSON object for each logged step
    checkpoints/
      step-00000500/       config.json and model.safetensors, as GPT2.from_pretrained reads them
                           tokenizer.tiktoken, unless it is one of this package's
                           optimizer.safetensors, AdamW's averages under the parameters' names
                           adapter/, where LoRA was trained, the weights being the merged ones
                           state.json, everything else, with the SHA-256 of the other files

Nothing is pickled, so opening a checkpoint runs no code.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from .machine.files import file_sha256, read_json

STATE = "state.json"
FORMAT, VERSION = "gpt2-edu checkpoint", 1
_NAME = re.compile(r"step-(\d{8,})")


def checkpoint_path(run_folder: Path, step: int) -> Path:
    """The folder of the checkpoint after ``step`` steps."""
    return run_folder / "checkpoints" / f"step-{step:08}"


def checkpoints(run_folder: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    found = (run_folder / "checkpoints").glob("step-*")
    steps = {int(match[1]): path for path in found if (match := _NAME.fullmatch(path.name))}
    return [steps[step] for step in sorted(steps)]


def best_checkpoint(run_folder: Path) -> Path | None:
    """The checkpoint with the lowest validation loss, the oldest of several; None without any."""
    losses = {path: read_state(path)["val_loss"] for path in checkpoints(run_folder)}
    measured = [path for path in losses if losses[path] is not None]
    return min(measured, key=lambda path: losses[path], default=None)


def newest_checkpoint(run_folder: Path) -> Path | None:
    """The checkpoint to resume from, every byte of it checked; None if the run has none.

    Raises ValueError if it is damaged. The message names each damaged file, the newest intact
    checkpoint and what to do. An older checkpoint is never used silently.
    """
    found = checkpoints(run_folder)
    if not found:
        return None
    try:
        require_intact(found[-1])
    except ValueError as error:
        way = "No checkpoint of this run is intact: start a new run in another folder."
        if intact := next((path for path in reversed(found) if not damage(path)), None):
            aside = run_folder / (found[-1].name + ".damaged")
            way = (
                f"{intact} is intact. Move the damaged one away and resume again, to continue from "
                f"the newest intact one:\n  mv {found[-1]} {aside}"
            )
        raise ValueError(f"{error}\n{way}") from error
    return found[-1]


def weights_folder(folder: Path, which: Literal["best", "last"] = "best") -> Path:
    """The best or last checkpoint of a run's folder; every other folder is returned unchanged.

    The best has the lowest validation loss; without validation the last is taken. Raises
    FileNotFoundError if the run has no checkpoint, and ValueError if the one to take, or a folder
    that is one itself, has other bytes than were written.
    """
    if (folder / "checkpoints").is_dir():
        best = best_checkpoint(folder) if which == "best" else None
        found = best or newest_checkpoint(folder)
        if found is None:
            raise FileNotFoundError(f"the run {folder} has no checkpoint yet")
        folder = found
    if (folder / STATE).is_file():
        require_intact(folder)
    return folder


def require_intact(folder: Path) -> None:
    """Raise ValueError if a file of a checkpoint has other bytes than were written."""
    if problems := damage(folder):
        raise ValueError(f"the checkpoint {folder} is damaged:\n  " + "\n  ".join(problems))


def damage(folder: Path) -> list[str]:
    """The problems of a checkpoint's files, one line each; empty if it is intact."""
    try:
        expected = _read_document(folder)["files"]
    except (ValueError, FileNotFoundError) as error:
        return [str(error)]
    problems = []
    for name, known in expected.items():
        path = folder / name
        if not path.is_file():
            problems.append(f"{name} is missing")
        elif path.stat().st_size < known["bytes"]:
            problems.append(f"{name} is cut off: {STATE} says {known['bytes']:,} bytes")
        elif file_sha256(path) != known["sha256"]:
            problems.append(f"{name} has other bytes than were written: its SHA-256 has changed")
    return problems


def read_state(folder: Path) -> dict[str, Any]:
    """What ``save`` stored besides tensors: step, loader, random states …"""
    state: dict[str, Any] = _read_document(folder)["state"]
    return state


def _read_document(folder: Path) -> dict[str, Any]:
    path = folder / STATE
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing")
    document = read_json(path)
    if not isinstance(document, dict) or document.pop("sha256", None) != digest(document):
        raise ValueError(f"{path} is damaged: its contents have changed since it was written")
    if (document.get("format"), document.get("version")) != (FORMAT, VERSION):
        raise ValueError(f"{path} has another format than {FORMAT!r}, version {VERSION}")
    return document


def digest(document: Mapping[str, Any]) -> str:
    """The SHA-256 that state.json has of itself."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
