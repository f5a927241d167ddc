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
from ..machine.files import PART, file_sha256, read_json, sync
from ..machine.messages import join_some, short_repr
from ..weights import (
    CONFIG,
    WEIGHTS,
    config_to_hugging_face,
    from_hugging_face,
    named_path,
    save_tensors,
    to_hugging_face,
)
from .config import LOG, SETTINGS

OPTIMIZER, STATE = "optimizer.safetensors", "state.json"
FORMAT, VERSION = "gpt2-edu checkpoint", 1
# The state of a run, and the types of its entries.
_STATE: dict[str, Any] = {
    "step": int,  # steps done
    "val_loss": float | None,  # of these weights, if it was measured
    "best": float | None,  # the lowest validation loss so far
    "loader": dict,  # the position in the data, and fingerprints of the data
    "scaler": dict,  # float16's scale; else empty
    "random": list,  # the state of the random generators of each rank
    "sequences_per_step": int,
    "config": dict,  # the settings
}
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
    except Exception:  # OSError, and safetensors has an error of its own for a full disk
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
    """Remove the unfinished files that a killed process left in a run folder, and no others."""
    for name in (SETTINGS, LOG):
        (run_folder / (name + PART)).unlink(missing_ok=True)
    for path in (run_folder / "checkpoints").glob(f"{UNFINISHED}*"):
        if _NAME.fullmatch(path.name.removeprefix(UNFINISHED)):
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
                f"{intact} is intact. Move the damaged one away and resume again, to continue from "
                f"the newest intact one:\n  mv {path} {aside}"
            )
        raise ValueError(_damaged(path, problems) + f"\n{way}")
    return found[-1] if found else None


def model_folder(name: str, which: Literal["best", "last"] = "best") -> str:
    """The best or last checkpoint of a run folder; every other name is returned unchanged.

    Raises FileNotFoundError if the run has none, and ValueError if a checkpoint, found in a run or
    given by its own path, has other bytes than were written.
    """
    run = named_path(name)
    if (run / STATE).is_file():
        _require_intact(run)
    if not (run / "checkpoints").is_dir():
        return name
    best = best_checkpoint(run) if which == "best" else None
    found = best or newest_checkpoint(run)  # there is no best one without validation
    if found is None:
        raise FileNotFoundError(f"the run {run} has no checkpoint yet")
    _require_intact(found)
    return str(found)


def _require_intact(folder: Path) -> None:
    if problems := damage(folder):
        raise ValueError(_damaged(folder, problems))


def _damaged(folder: Path, problems: list[str]) -> str:
    return f"the checkpoint {folder} is damaged:\n  " + "\n  ".join(problems)


def damage(folder: Path, *, thoroughly: bool = True) -> list[str]:
    """The problems of a checkpoint's files, one line each; empty if it is intact.

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
    """What ``save`` stored besides tensors: step, loader, random states …"""
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
            f"{path} has the format {short_repr(document.get('format'))}, version "
            f"{short_repr(document.get('version'))}; this program reads {FORMAT!r}, version "
            f"{VERSION}"
        )
    state, files = document.get("state"), document.get("files")
    if not isinstance(state, dict) or state.keys() != _STATE.keys():
        raise ValueError(f"{path} is damaged: a part of the state is missing")
    if wrong := [name for name, kind in _STATE.items() if not isinstance(state[name], kind)]:
        raise ValueError(f"{path} is damaged: {join_some(wrong)} have the wrong type")
    if not isinstance(files, dict) or files.keys() != {CONFIG, WEIGHTS, OPTIMIZER}:
        raise ValueError(f"{path} is damaged: it lists other files than a checkpoint has")
    for known in files.values():
        if not isinstance(known, dict) or known.keys() != {"bytes", "sha256"}:
            raise ValueError(f"{path} is damaged: sizes or checksums are missing")
    return document


def _digest(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


# ---- Saving and loading ------------------------------------------------------------------------


def save(
    run_folder: Path, config: GPT2Config, weights: Tensors, averages: Tensors, state: dict[str, Any]
) -> None:
    """Write the checkpoint after ``state["step"]`` steps.

    ``weights`` is the model's state dict, ``averages`` AdamW's under the parameters' names, and
    ``state`` all else, in JSON's types: see ``_STATE``. Raises OSError, which says what to do, if
    the disk fails; the older checkpoints are then unchanged.
    """
    folder = checkpoint_path(run_folder, state["step"])
    try:
        with atomic_folder(folder) as part:
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
    except Exception as error:  # OSError, and safetensors has an error of its own for a full disk
        problem = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        older = checkpoints(run_folder)
        way = f"{older[-1]} is intact: make room and resume" if older else "Make room and start"
        size = sum(tensor.nbytes for tensor in [*weights.values(), *averages.values()])
        raise OSError(
            f"the checkpoint {folder} could not be written ({problem}). {way} again. A checkpoint "
            f"of this model needs about {size:,} bytes."
        ) from error


def load(folder: Path) -> tuple[Tensors, Tensors, dict[str, Any]]:
    """The weights, averages and state that ``save`` wrote."""
    weights = from_hugging_face(load_file(folder / WEIGHTS))
    return weights, load_file(folder / OPTIMIZER), read_state(folder)
