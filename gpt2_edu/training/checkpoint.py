"""Checkpoints: written completely or not at all, checked before they are used.

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
import random
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor

from ..machine.files import PART, file_sha256, sync
from ..machine.outside import listed, read_json, shown
from ..weights import (
    CONFIG,
    WEIGHTS,
    config_to_hugging_face,
    from_hugging_face,
    named_path,
    save_tensors,
    to_hugging_face,
)
from .distributed import copy_full_tensor, full_tensor

if TYPE_CHECKING:  # a run opens its checkpoint
    from .run import Run

OPTIMIZER, STATE = "optimizer.safetensors", "state.json"
FORMAT, VERSION = "gpt2-edu checkpoint", 1
# What the state of a run consists of.
_STATE: dict[str, Any] = {
    "step": int,
    "val_loss": float | None,
    "best": float | None,
    "loader": dict,
    "scaler": dict,
    "random": list,
    "sequences_per_step": int,
    "config": dict,
}
_NAME = re.compile(r"step-(\d{8,})")
Tensors = dict[str, Tensor]  # by name
UNFINISHED = ".unfinished-"  # begins the name of a folder that is being written or removed


# ---- Folders that are complete or absent -------------------------------------------------------


@contextmanager
def atomic_folder(final: Path) -> Iterator[Path]:
    """A folder to fill, which gets its name only when all its files are on the disk.

    If the block fails, the folder is removed. If the process is killed, it keeps a name that no
    reader takes for a checkpoint, and ``clean`` removes it.
    """
    part = final.with_name(UNFINISHED + final.name)
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        yield part
        for path in part.iterdir():
            sync(path)
        sync(part)
        os.rename(part, final)
        sync(final.parent)
    except Exception:  # OSError, and safetensors has an error of its own for a full disk
        shutil.rmtree(part, ignore_errors=True)
        raise


def remove(folder: Path) -> None:
    """Remove a folder. It is renamed first, so that a part of it is never taken for all of it."""
    unnamed = folder.with_name(UNFINISHED + folder.name)
    shutil.rmtree(unnamed, ignore_errors=True)
    os.rename(folder, unnamed)
    shutil.rmtree(unnamed)


def clean(run_folder: Path) -> None:
    """Remove the unfinished files that a killed process left in a run folder."""
    for file in run_folder.glob(f"*{PART}"):
        file.unlink()
    for folder in (run_folder / "checkpoints").glob(f"{UNFINISHED}*"):
        shutil.rmtree(folder)


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

    Raises ValueError if it is damaged, or if the validation loss of an older one cannot be read.
    The message names each damaged file, the newest intact checkpoint and what to do. An older
    checkpoint is never used silently.
    """
    found = checkpoints(run_folder)
    for path in reversed(found):
        problems = damage(path, thoroughly=path == found[-1])
        if not problems:
            continue
        intact = next((other for other in reversed(found) if not damage(other)), None)
        way = "No checkpoint of this run is intact: start a new run in another folder."
        if intact:
            aside = run_folder / (path.name + ".damaged")
            way = (
                f"{intact} is intact. Move what is damaged out of the way and resume again, to go "
                f"on from the newest that is left:\n  mv {path} {aside}"
            )
        listed = "\n  ".join(problems)
        raise ValueError(f"the checkpoint {path} is damaged:\n  {listed}\n{way}")
    return found[-1] if found else None


def model_folder(name: str, which: Literal["best", "last"] = "best") -> str:
    """The checkpoint that a run folder stands for; every other name is returned as it is.

    Raises FileNotFoundError if the run has none, and ValueError if a checkpoint, of a run or named
    itself, has other bytes than were written.
    """
    run = named_path(name)
    if (run / STATE).is_file():
        _require_intact(run)
    if not (run / "checkpoints").is_dir():
        return name
    best = best_checkpoint(run) if which == "best" else None
    found = best or newest_checkpoint(run)  # without validation none is the best
    if found is None:
        raise FileNotFoundError(f"the run {run} has no checkpoint yet")
    _require_intact(found)
    return str(found)


def _require_intact(folder: Path) -> None:
    if problems := damage(folder):
        raise ValueError(f"the checkpoint {folder} is damaged:\n  " + "\n  ".join(problems))


def damage(folder: Path, *, thoroughly: bool = True) -> list[str]:
    """What is wrong with a checkpoint's files, one line for each; empty if it is intact.

    Without ``thoroughly`` only the sizes of the files are compared.
    """
    try:
        expected = _read_document(folder)["files"]
    except (ValueError, FileNotFoundError) as error:
        return [str(error)]
    problems = []
    for name, known in expected.items():
        path = folder / name
        if not path.is_file():
            problems.append(f"{name} is missing")
        elif (size := path.stat().st_size) != known["bytes"]:
            state = "cut off" if size < known["bytes"] else "too long"
            problems.append(f"{name} is {state}: {size:,} bytes, {STATE} says {known['bytes']:,}")
        elif thoroughly and file_sha256(path) != known["sha256"]:
            problems.append(f"{name} has other bytes than were written: its SHA-256 has changed")
    return problems


def read_state(folder: Path) -> dict[str, Any]:
    """What ``save_run`` stores besides tensors: step, loader, random states …"""
    return _read_document(folder)["state"]


def _read_document(folder: Path) -> dict[str, Any]:
    path = folder / STATE
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing")
    document = read_json(path)
    if not isinstance(document, dict) or document.pop("sha256", None) != _digest(document):
        raise ValueError(f"{path} is damaged: its contents have changed since it was written")
    if (document.get("format"), document.get("version")) != (FORMAT, VERSION):
        raise ValueError(
            f"{path} has the format {shown(document.get('format'))}, version "
            f"{shown(document.get('version'))}; this program reads {FORMAT!r}, version {VERSION}"
        )
    state, files = document.get("state"), document.get("files")
    if not isinstance(state, dict) or state.keys() != _STATE.keys():
        raise ValueError(f"{path} is damaged: it lacks a part of the state of a run")
    wrong = [name for name, kind in _STATE.items() if not isinstance(state[name], kind)]
    if wrong:
        raise ValueError(f"{path} is damaged: {listed(wrong)} hold what does not belong there")
    if not isinstance(files, dict) or files.keys() != {CONFIG, WEIGHTS, OPTIMIZER}:
        raise ValueError(f"{path} is damaged: it lists other files than a checkpoint has")
    if not all(
        isinstance(known, dict) and known.keys() == {"bytes", "sha256"} for known in files.values()
    ):
        raise ValueError(f"{path} is damaged: its list of files is")
    return document


def _digest(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


# ---- Saving and restoring ----------------------------------------------------------------------


def save_run(run: Run, val_loss: float | None) -> None:
    """Write a checkpoint, on rank 0, then remove those that are no longer kept.

    ``val_loss`` is that of the present weights, None if it was not measured. Every rank must call
    this. Raises OSError on all of them if the disk fails; the older checkpoints are then unchanged.
    """
    state = {
        "step": run.step,
        "val_loss": val_loss,
        "best": run.best_val_loss,
        "loader": run.loader.state_dict(),
        "scaler": run.scaler.state_dict(),
        "random": run.ranks.gather(random_state(run.device)),
        "sequences_per_step": run.sequences_per_step,
        "config": asdict(run.config),
    }
    weights = _gathered(run, run.model.state_dict())
    averages = {
        f"{name}.{key}": value
        for name, parameter in run.model.named_parameters()
        for key, value in run.optimizer.state[parameter].items()
    }
    averages = _gathered(run, averages)
    problem = ""
    if run.ranks.first:
        try:
            _write(run, state, weights, averages)
        except Exception as error:  # the other ranks wait below: let them know first
            problem = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
    problem = str(run.ranks.gather(problem)[0])
    if problem:
        older = checkpoints(run.folder)
        way = f"{older[-1]} is intact: make room and resume" if older else "Make room and start"
        size = sum(tensor.nbytes for tensor in [*weights.values(), *averages.values()])
        raise OSError(
            f"the checkpoint {checkpoint_path(run.folder, run.step)} could not be written "
            f"({problem}). {way} again. A checkpoint of this model needs about {size:,} bytes."
        )
    if run.ranks.first:
        prune(run.folder, run.config.keep)
    run.ranks.barrier()  # no rank reads the checkpoints while one is being removed


def _gathered(run: Run, tensors: Tensors) -> Tensors:
    """Full tensors on rank 0's CPU, gathered one at a time; nothing on the other ranks."""
    gathered = {}
    for name, tensor in tensors.items():
        value = full_tensor(tensor)  # on all ranks
        if run.ranks.first:
            gathered[name] = value.cpu()
    return gathered


def _write(run: Run, state: dict[str, Any], weights: Tensors, averages: Tensors) -> None:
    with atomic_folder(checkpoint_path(run.folder, run.step)) as part:
        config = json.dumps(config_to_hugging_face(run.model.config), indent=2) + "\n"
        (part / CONFIG).write_text(config, encoding="utf-8")
        save_tensors(to_hugging_face(weights), part / WEIGHTS)
        save_tensors(averages, part / OPTIMIZER)
        files = {
            name: {"bytes": (part / name).stat().st_size, "sha256": file_sha256(part / name)}
            for name in (CONFIG, WEIGHTS, OPTIMIZER)
        }
        document = {"format": FORMAT, "version": VERSION, "state": state, "files": files}
        document["sha256"] = _digest(document)
        (part / STATE).write_text(json.dumps(document), encoding="utf-8")


def restore_run(run: Run, checkpoint: Path) -> None:
    """Put a run into the state that ``save_run`` wrote; the model may be split over ranks now.

    Raises ValueError if its steps would now take another number of sequences.
    """
    state = read_state(checkpoint)
    then, now = state["sequences_per_step"], run.sequences_per_step
    if then != now:
        raise ValueError(
            f"a step of this run takes {then} sequences, now it would take {now}: "
            f"{run.ranks.world_size} devices · batch_size {run.config.batch_size} · "
            f"grad_accum {run.config.grad_accum}. Change grad_accum or the number of devices."
        )
    weights = from_hugging_face(load_file(checkpoint / WEIGHTS))
    averages = load_file(checkpoint / OPTIMIZER)
    for name, parameter in run.model.named_parameters():
        copy_full_tensor(parameter, weights[name])
        adam = run.optimizer.state[parameter]
        for key in ("exp_avg", "exp_avg_sq"):
            adam[key] = torch.zeros_like(parameter, requires_grad=False)
            copy_full_tensor(adam[key], averages[f"{name}.{key}"])
        adam["step"] = averages[f"{name}.step"].to(parameter.device)
    run.loader.load_state_dict(state["loader"])
    if state["scaler"]:  # not if it was saved in another precision
        run.scaler.load_state_dict(state["scaler"])
    if run.ranks.rank < len(state["random"]):  # an additional rank keeps its own seed
        set_random_state(state["random"][run.ranks.rank], run.device)
    run.step, run.best_val_loss = state["step"], state["best"]


def random_state(device: torch.device) -> dict[str, Any]:
    """The states of all random generators that a run can draw from, in JSON's types."""
    version, numbers, gauss = random.getstate()
    generator = np.random.get_state(legacy=False)
    generator["state"]["key"] = generator["state"]["key"].tolist()
    states = {"torch": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    elif device.type == "mps":
        states["mps"] = torch.mps.get_rng_state()
    return {
        "python": [version, list(numbers), gauss],
        "numpy": generator,
        **{name: state.numpy().tobytes().hex() for name, state in states.items()},
    }


def set_random_state(state: Mapping[str, Any], device: torch.device) -> None:
    """Restore what ``random_state`` returned, as far as it has a state for this kind of device."""

    def tensor(name: str) -> Tensor:
        return torch.frombuffer(bytearray.fromhex(state[name]), dtype=torch.uint8)

    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    np.random.set_state(state["numpy"])
    torch.set_rng_state(tensor("torch"))
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(tensor("cuda"), device)
    elif device.type == "mps" and "mps" in state:
        torch.mps.set_rng_state(tensor("mps"))
