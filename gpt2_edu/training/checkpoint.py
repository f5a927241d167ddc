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
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.optim import Optimizer

from ..machine.files import PART, file_sha256, sync
from ..model import GPT2
from ..weights import (
    CONFIG,
    WEIGHTS,
    config_to_hugging_face,
    from_hugging_face,
    to_hugging_face,
)
from .distributed import Ranks, copy_full_tensor, full_tensor

OPTIMIZER, STATE = "optimizer.safetensors", "state.json"
FILES = (CONFIG, WEIGHTS, OPTIMIZER)
FORMAT, VERSION = "gpt2-edu checkpoint", 1
_NAME = re.compile(r"step-(\d{8,})")
UNFINISHED = ".unfinished-"  # begins the name of a folder that is being written or removed


# ---- Folders that are complete or absent -------------------------------------------------------


@contextmanager
def atomic_folder(final: Path) -> Iterator[Path]:
    """A folder to fill, which gets its name only when all its files are on the disk.

    If the block fails, the folder is removed. If the process is killed, it keeps a name that no
    reader takes for a checkpoint, and ``clean`` removes it.
    """
    part = final.with_name(UNFINISHED + final.name)
    remove(part)
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
    if not folder.exists():
        return
    unnamed = folder
    if not folder.name.startswith(UNFINISHED):
        unnamed = folder.with_name(UNFINISHED + folder.name)
        shutil.rmtree(unnamed, ignore_errors=True)
        os.rename(folder, unnamed)
    shutil.rmtree(unnamed)


def clean(run_folder: Path) -> None:
    """Remove the unfinished files that a killed process left in a run folder."""
    for path in [
        *run_folder.glob(f"*{PART}"),
        *(run_folder / "checkpoints").glob(f"{UNFINISHED}*"),
    ]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


# ---- The checkpoints of a run ------------------------------------------------------------------


def checkpoint_path(run_folder: Path, step: int) -> Path:
    """The folder of the checkpoint after ``step`` steps."""
    return run_folder / "checkpoints" / f"step-{step:08}"


def checkpoints(run_folder: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    found = [
        path for path in (run_folder / "checkpoints").glob("step-*") if _NAME.fullmatch(path.name)
    ]
    return sorted(found, key=lambda path: int(path.name.removeprefix("step-")))


def best_checkpoint(run_folder: Path) -> Path | None:
    """The checkpoint with the lowest validation loss, the oldest of several; None without any."""
    losses = {path: read_state(path)["val_loss"] for path in checkpoints(run_folder)}
    measured = {path: loss for path, loss in losses.items() if loss is not None}
    return min(measured, key=lambda path: measured[path]) if measured else None


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
    """The checkpoint that a run folder stands for; every other name is returned as it is."""
    run = Path(name).expanduser()
    if not (run / "checkpoints").is_dir():
        return name
    best = best_checkpoint(run) if which == "best" else None
    found = best or newest_checkpoint(run)  # without validation none is the best
    if found is None:
        raise FileNotFoundError(f"the run {run} has no checkpoint yet")
    return str(found)


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
    """What state.json stores: step, loader, random states … See ``Run.state``."""
    return _read_document(folder)["state"]


def _read_document(folder: Path) -> dict[str, Any]:
    path = folder / STATE
    if not path.is_file():
        raise FileNotFoundError(f"{STATE} is missing")
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        digest = document.pop("sha256")
        if digest != _digest(document):
            raise ValueError("its contents have changed since it was written")
    except (ValueError, KeyError, AttributeError) as error:
        raise ValueError(f"{STATE} is damaged ({error})") from error
    if (document["format"], document["version"]) != (FORMAT, VERSION):
        raise ValueError(
            f"{STATE} has the format {document['format']!r}, version {document['version']}; "
            f"this program reads {FORMAT!r}, version {VERSION}"
        )
    return document


def _digest(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


# ---- Saving and loading ------------------------------------------------------------------------


def save_checkpoint(
    run_folder: Path,
    step: int,
    model: GPT2,
    optimizer: Optimizer,
    state: Mapping[str, Any],
    ranks: Ranks,
) -> Path:
    """Write the checkpoint after ``step`` steps, on rank 0; every rank must call this.

    ``state`` is JSON, the same on all ranks. Its "val_loss" is the validation loss of exactly
    these weights, or None. Raises OSError on every rank if the disk fails; the older checkpoints
    are then unchanged.
    """
    final = checkpoint_path(run_folder, step)
    weights = _gathered(model.state_dict(), ranks)
    averages = _gathered(_optimizer_tensors(model, optimizer), ranks)
    problem = ""
    if ranks.first:
        try:
            with atomic_folder(final) as part:
                config = json.dumps(config_to_hugging_face(model.config), indent=2) + "\n"
                (part / CONFIG).write_text(config, encoding="utf-8")
                save_file(to_hugging_face(weights), part / WEIGHTS, metadata={"format": "pt"})
                save_file(averages, part / OPTIMIZER)
                document = {
                    "format": FORMAT,
                    "version": VERSION,
                    "state": {"step": step, **state},
                    "files": {
                        name: {
                            "bytes": (part / name).stat().st_size,
                            "sha256": file_sha256(part / name),
                        }
                        for name in FILES
                    },
                }
                document["sha256"] = _digest(document)
                (part / STATE).write_text(json.dumps(document), encoding="utf-8")
        except Exception as error:  # the other ranks wait below: let them know first
            problem = f"{type(error).__name__}: {error}"
    problem = str(ranks.gather(problem)[0])
    if problem:
        older = checkpoints(run_folder)
        way = f"{older[-1]} is intact: make room and resume" if older else "Make room and start"
        raise OSError(
            f"the checkpoint {final} could not be written ({problem}). {way} again. A checkpoint "
            f"of this model needs about {_size(weights, averages):,} bytes."
        )
    return final


def load_weights(folder: Path, model: GPT2) -> None:
    """Copy a checkpoint's weights into a model of the same sizes, split over ranks or not."""
    tensors = from_hugging_face(load_file(folder / WEIGHTS))
    for name, parameter in model.named_parameters():
        copy_full_tensor(parameter, tensors[name])


def load_optimizer(folder: Path, model: GPT2, optimizer: Optimizer) -> None:
    """Restore AdamW's step counts and averages."""
    tensors = load_file(folder / OPTIMIZER)
    for name, parameter in model.named_parameters():
        state = optimizer.state[parameter]
        for key in ("exp_avg", "exp_avg_sq"):
            state[key] = torch.zeros_like(parameter, requires_grad=False)
            copy_full_tensor(state[key], tensors[f"{name}.{key}"])
        state["step"] = tensors[f"{name}.step"].to(parameter.device)


def _optimizer_tensors(model: GPT2, optimizer: Optimizer) -> dict[str, Tensor]:
    return {
        f"{name}.{key}": value
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state[parameter].items()
    }


def _gathered(tensors: Mapping[str, Tensor], ranks: Ranks) -> dict[str, Tensor]:
    """Full tensors on rank 0's CPU, gathered one at a time; nothing on the other ranks."""
    gathered = {}
    for name, tensor in tensors.items():
        value = full_tensor(tensor)  # on all ranks
        if ranks.first:
            gathered[name] = value.cpu()
    return gathered


def _size(*groups: Mapping[str, Tensor]) -> int:
    return sum(tensor.nbytes for group in groups for tensor in group.values())
