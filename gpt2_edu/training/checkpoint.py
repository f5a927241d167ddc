"""Checkpoints that survive: written whole or not at all, checked before they are used.

A run folder holds

    config.json            the settings of the run
    log.jsonl              one JSON object for each logged step
    checkpoints/
      step-00000500/       config.json and model.safetensors, as GPT2.from_pretrained reads them
                           optimizer.safetensors, AdamW's averages under the parameters' names
                           state.json, all else, with the SHA-256 of the other files

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
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.optim import Optimizer

from ..machine.files import PART, file_sha256, sync, write_text
from ..model import GPT2
from ..weights.pretrained import (
    CONFIG,
    WEIGHTS,
    config_to_hugging_face,
    from_hugging_face,
    to_hugging_face,
)
from .distributed import Ranks, fill, whole

OPTIMIZER, STATE, LOG = "optimizer.safetensors", "state.json", "log.jsonl"
FILES = (CONFIG, WEIGHTS, OPTIMIZER)
FORMAT, VERSION = "gpt2-edu checkpoint", 1
NAME = re.compile(r"step-(\d{8,})")
UNFINISHED = ".unfinished-"  # begins the name of a folder that is being written or removed


# ---- Files that are there whole or not at all --------------------------------------------------


@contextmanager
def whole_folder(final: Path) -> Iterator[Path]:
    """A folder to fill, which takes its name only when all in it is on the disk.

    If the filling fails, nothing of it stays. If the process is killed, what stays has a name
    that no reader takes for a checkpoint, and ``clean`` removes it.
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
    """Remove a folder. It loses its name first, so that no half of it can pass for the whole."""
    if not folder.exists():
        return
    unnamed = folder
    if not folder.name.startswith(UNFINISHED):
        unnamed = folder.with_name(UNFINISHED + folder.name)
        shutil.rmtree(unnamed, ignore_errors=True)
        os.rename(folder, unnamed)
    shutil.rmtree(unnamed)


def clean(run: Path) -> None:
    """Remove what a killed process left unfinished in a run folder."""
    for path in [*run.glob(f"*{PART}"), *(run / "checkpoints").glob(f"{UNFINISHED}*")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


# ---- The checkpoints of a run ------------------------------------------------------------------


def checkpoint_path(run: Path, step: int) -> Path:
    """Where the checkpoint after so many steps stands."""
    return run / "checkpoints" / f"step-{step:08}"


def checkpoints(run: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    found = [path for path in (run / "checkpoints").glob("step-*") if NAME.fullmatch(path.name)]
    return sorted(found, key=lambda path: int(path.name.removeprefix("step-")))


def best_checkpoint(run: Path) -> Path | None:
    """The checkpoint with the lowest validation loss, the oldest of several; None without any."""
    losses = {path: read_state(path)["val_loss"] for path in checkpoints(run)}
    measured = {path: loss for path, loss in losses.items() if loss is not None}
    return min(measured, key=lambda path: measured[path]) if measured else None


def prune(run: Path, keep: int) -> None:
    """Remove all checkpoints but the newest ``keep`` and the best."""
    best = best_checkpoint(run)
    for path in checkpoints(run)[:-keep]:
        if path != best:
            remove(path)


def newest_checkpoint(run: Path) -> Path | None:
    """The checkpoint to go on from, every byte of it checked; None if the run has none.

    Raises ValueError if it is damaged, or if an older one cannot be read and so not be compared
    for the best: with each damaged file, the newest intact checkpoint and what to do. An older
    one is never taken silently.
    """
    found = checkpoints(run)
    for path in reversed(found):
        problems = damage(path, thoroughly=path == found[-1])
        if not problems:
            continue
        intact = next((other for other in reversed(found) if not damage(other)), None)
        way = "No checkpoint of this run is intact: start a new run in another folder."
        if intact:
            way = (
                f"{intact} is intact. Move what is damaged out of the way and resume again, to go "
                f"on from the newest that is left:\n  mv {path} {run / (path.name + '.damaged')}"
            )
        listed = "\n  ".join(problems)
        raise ValueError(f"the checkpoint {path} is damaged:\n  {listed}\n{way}")
    return found[-1] if found else None


def damage(folder: Path, *, thoroughly: bool = True) -> list[str]:
    """What is wrong with a checkpoint's files, one line for each; nothing if it is intact.

    Without ``thoroughly`` files are compared by size alone, and not read.
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
    """What state.json remembers: step, loader, random states … See ``save_checkpoint``."""
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
    run: Path,
    step: int,
    model: GPT2,
    optimizer: Optimizer,
    state: Mapping[str, Any],
    ranks: Ranks,
) -> Path:
    """Write the checkpoint after ``step`` steps; rank 0 does, and every rank must call this.

    ``state`` is what JSON can hold, the same on all ranks: among it "val_loss", the validation
    loss of exactly these weights or None. Raises OSError on every rank if the disk refuses; then
    the older checkpoints are as they were.
    """
    final = checkpoint_path(run, step)
    weights = _gathered(model.state_dict(), ranks)
    averages = _gathered(_optimizer_tensors(model, optimizer), ranks)
    problem = ""
    if ranks.first:
        try:
            with whole_folder(final) as part:
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
        except Exception as error:  # the other ranks wait below: tell them before anything else
            problem = f"{type(error).__name__}: {error}"
    problem = str(ranks.gather(problem)[0])
    if problem:
        older = checkpoints(run)
        way = f"{older[-1]} is intact: make room and resume" if older else "Make room and start"
        raise OSError(
            f"the checkpoint {final} could not be written ({problem}). {way} again. A checkpoint "
            f"of this model needs about {_size(weights, averages):,} bytes."
        )
    return final


def load_weights(folder: Path, model: GPT2) -> None:
    """Put a checkpoint's weights into a model of the same sizes, split over ranks or not."""
    tensors = from_hugging_face(load_file(folder / WEIGHTS))
    for name, parameter in model.named_parameters():
        fill(parameter, tensors[name])


def load_optimizer(folder: Path, model: GPT2, optimizer: Optimizer) -> None:
    """Put AdamW's step counts and averages back."""
    tensors = load_file(folder / OPTIMIZER)
    for name, parameter in model.named_parameters():
        state = optimizer.state[parameter]
        for key in ("exp_avg", "exp_avg_sq"):
            state[key] = torch.zeros_like(parameter, requires_grad=False)
            fill(state[key], tensors[f"{name}.{key}"])
        state["step"] = tensors[f"{name}.step"].to(parameter.device)


def _optimizer_tensors(model: GPT2, optimizer: Optimizer) -> dict[str, Tensor]:
    return {
        f"{name}.{key}": value
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state[parameter].items()
    }


def _gathered(tensors: Mapping[str, Tensor], ranks: Ranks) -> dict[str, Tensor]:
    """Whole tensors on rank 0's CPU, one after the other; nothing on the other ranks."""
    gathered = {}
    for name, tensor in tensors.items():
        value = whole(tensor)  # all ranks take part
        if ranks.first:
            gathered[name] = value.cpu()
    return gathered


def _size(*groups: Mapping[str, Tensor]) -> int:
    return sum(tensor.nbytes for group in groups for tensor in group.values())


# ---- Random states -----------------------------------------------------------------------------


def random_state(device: torch.device) -> dict[str, Any]:
    """The states of all random generators that a run can draw from, as JSON can hold them."""
    version, numbers, gauss = random.getstate()
    legacy = np.random.get_state(legacy=False)
    assert isinstance(legacy, dict)
    state: dict[str, Any] = {
        "python": [version, list(numbers), gauss],
        "numpy": legacy | {"state": legacy["state"] | {"key": legacy["state"]["key"].tolist()}},
        "torch": _hex(torch.get_rng_state()),
    }
    if device.type == "cuda":
        state["cuda"] = _hex(torch.cuda.get_rng_state(device))
    elif device.type == "mps":
        state["mps"] = _hex(torch.mps.get_rng_state())
    return state


def set_random_state(state: Mapping[str, Any], device: torch.device) -> None:
    """Put the generators back where ``random_state`` found them."""
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    inner = state["numpy"]["state"]
    key = np.array(inner["key"], dtype=np.uint32)
    np.random.set_state(state["numpy"] | {"state": inner | {"key": key}})
    torch.set_rng_state(_bytes(state["torch"]))
    if device.type in state:  # a run that moved here from another kind of device has none
        place = torch.cuda if device.type == "cuda" else torch.mps
        place.set_rng_state(_bytes(state[device.type]))


def _hex(state: Tensor) -> str:
    return state.numpy().tobytes().hex()


def _bytes(text: str) -> Tensor:
    return torch.frombuffer(bytearray.fromhex(text), dtype=torch.uint8)


# ---- The log -----------------------------------------------------------------------------------


def read_log(path: Path) -> list[dict[str, Any]]:
    """The rows of a log. A last line that a killed process left unfinished is left out."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    rows = []
    for number, line in enumerate(lines[:-1], start=1):  # what follows the last newline is cut off
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}, is not a JSON object: {line!r}") from error
    return rows


def cut_log(path: Path, step: int) -> None:
    """Forget what came after ``step``, so that a resumed run reads as if it had never stopped."""
    rows = [row for row in read_log(path) if row["step"] <= step]
    write_text(path, "".join(json.dumps(row) + "\n" for row in rows))
