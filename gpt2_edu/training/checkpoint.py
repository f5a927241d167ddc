"""Checkpoints: written completely or not at all, checked before use. From tensors and JSON only.

A run folder holds

    run.json               the settings of the run
    log.jsonl              one JSON object for each logged step
    checkpoints/
      step-00000500/       config.json and model.safetensors, as GPT2.from_pretrained reads them
                           optimizer.safetensors, AdamW's averages under the parameters' names
                           state.json, everything else, with the SHA-256 of the other files

Nothing is pickled, so opening a checkpoint runs no code. The layout does not depend on the number
of devices.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from safetensors.torch import load_file
from torch import Tensor

from ..config import GPT2Config
from ..machine.files import explain_full_disk, file_sha256, named_path, read_json, sync
from ..weights import (
    CONFIG,
    WEIGHTS,
    config_to_hugging_face,
    from_hugging_face,
    save_tensors,
    to_hugging_face,
)

OPTIMIZER, STATE = "optimizer.safetensors", "state.json"
FORMAT, VERSION = "gpt2-edu checkpoint", 1
_NAME = re.compile(r"step-(\d{8,})")
Tensors = dict[str, Tensor]  # by name
UNFINISHED = ".unfinished-"  # begins the name of a folder that is being written or removed


# ---- Folders that are complete or absent -------------------------------------------------------


@contextmanager
def atomic_folder(final: Path) -> Iterator[Path]:
    """A temporary folder to fill. It is renamed to ``final`` when all its files are on the disk.

    If the block fails, the folder is removed. If the process is killed, it keeps its temporary
    name, which no reader takes for a checkpoint, and ``clean`` removes it. The parent folder must
    exist.
    """
    part = final.with_name(UNFINISHED + final.name)
    _delete(part)
    part.mkdir()
    try:
        yield part
        for path in part.iterdir():
            sync(path)
        sync(part)
        os.rename(part, final)
        sync(final.parent)
    except Exception:
        with suppress(OSError):  # the first error is the one to report
            _delete(part)
        raise


def remove(folder: Path) -> None:
    """Remove a checkpoint. It is renamed first, so that a part of it is never taken for one.

    Of a link to a folder elsewhere, only the link is removed.
    """
    unnamed = folder.with_name(UNFINISHED + folder.name)
    _delete(unnamed)
    os.rename(folder, unnamed)
    _delete(unnamed)


def _delete(path: Path) -> None:
    if path.is_symlink():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def clean(run_folder: Path) -> None:
    """Remove the unfinished checkpoints that a killed process left in a run folder."""
    for path in (run_folder / "checkpoints").glob(f"{UNFINISHED}step-*"):
        _delete(path)


# ---- The checkpoints of a run ------------------------------------------------------------------


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


def prune(run_folder: Path, keep: int) -> None:
    """Remove all checkpoints but the newest ``keep`` and the best."""
    best = best_checkpoint(run_folder)
    for path in checkpoints(run_folder)[:-keep]:
        if path != best:
            remove(path)


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


def model_folder(name: str, which: Literal["best", "last"] = "best") -> str:
    """The best or last checkpoint of a run folder; every other name is returned unchanged.

    Raises FileNotFoundError if the run has none, and ValueError if a checkpoint, found in a run or
    given by its own path, has other bytes than were written.
    """
    run = named_path(name)
    if (run / STATE).is_file():
        require_intact(run)
    if not (run / "checkpoints").is_dir():
        return name
    best = best_checkpoint(run) if which == "best" else None
    found = best or newest_checkpoint(run)  # there is no best one without validation
    if found is None:
        raise FileNotFoundError(f"the run {run} has no checkpoint yet")
    require_intact(found)
    return str(found)


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
    if not isinstance(document, dict) or document.pop("sha256", None) != _digest(document):
        raise ValueError(f"{path} is damaged: its contents have changed since it was written")
    if (document.get("format"), document.get("version")) != (FORMAT, VERSION):
        raise ValueError(f"{path} has another format than {FORMAT!r}, version {VERSION}")
    return document


def _digest(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


# ---- Saving and loading ------------------------------------------------------------------------


def save(
    run_folder: Path, config: GPT2Config, weights: Tensors, averages: Tensors, state: dict[str, Any]
) -> None:
    """Write the checkpoint after ``state["step"]`` steps.

    ``weights`` is the model's state dict, ``averages`` AdamW's under the parameters' names, and
    ``state`` all else, in JSON's types, as ``Trainer.save`` makes it.
    """
    folder = checkpoint_path(run_folder, state["step"])
    with explain_full_disk(folder), atomic_folder(folder) as part:
        settings = json.dumps(config_to_hugging_face(config), indent=2) + "\n"
        (part / CONFIG).write_text(settings, encoding="utf-8")
        save_tensors(to_hugging_face(weights), part / WEIGHTS)
        save_tensors(averages, part / OPTIMIZER)
        files = {
            name: {"bytes": (part / name).stat().st_size, "sha256": file_sha256(part / name)}
            for name in (CONFIG, WEIGHTS, OPTIMIZER)
        }
        document = {"format": FORMAT, "version": VERSION, "state": state, "files": files}
        document["sha256"] = _digest(document)
        (part / STATE).write_text(json.dumps(document), encoding="utf-8")


def load(folder: Path) -> tuple[Tensors, Tensors, dict[str, Any]]:
    """The weights, averages and state that ``save`` wrote."""
    weights = from_hugging_face(load_file(folder / WEIGHTS))
    return weights, load_file(folder / OPTIMIZER), read_state(folder)
