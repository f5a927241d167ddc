"""Checkpoints: written completely or not at all, checked before use. From tensors and JSON only.

``gpt2_edu.checkpoints`` says what is in a run folder, and reads it. The layout does not depend on
the number of devices.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from safetensors.torch import load_file
from torch import Tensor

from ..checkpoints import (
    FORMAT,
    STATE,
    VERSION,
    best_checkpoint,
    checkpoint_path,
    checkpoints,
    digest,
    read_state,
)
from ..config import ModelConfig
from ..machine.files import explain_full_disk, file_sha256, sync
from ..tokenizer import Encoding, save_encoding
from ..weights import CONFIG, WEIGHTS, save_tensors

OPTIMIZER = "optimizer.safetensors"
ADAPTER = "adapter"  # a folder, in the format of peft
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


def prune(run_folder: Path, keep: int) -> None:
    """Remove all checkpoints but the newest ``keep`` and the best."""
    best = best_checkpoint(run_folder)
    for path in checkpoints(run_folder)[:-keep]:
        if path != best:
            remove(path)


# ---- Saving and loading ------------------------------------------------------------------------


def save(
    run_folder: Path,
    config: ModelConfig,
    layout: ModuleType,
    encoding: Encoding,
    weights: Tensors,
    averages: Tensors,
    state: dict[str, Any],
    adapter: Callable[[Path], object] | None = None,
) -> None:
    """Write the checkpoint after ``state["step"]`` steps.

    ``layout`` is that of the model's family, ``weights`` the model's state dict, ``averages``
    AdamW's under the parameters' names, and ``state`` all else, in JSON's types, as
    ``Trainer.save`` makes it. ``adapter`` writes one into a folder: of a model that is tuned by
    LoRA, ``weights`` are then the merged ones.
    """
    folder = checkpoint_path(run_folder, state["step"])
    with explain_full_disk(folder), atomic_folder(folder) as part:
        settings = json.dumps(layout.config_to_hugging_face(config), indent=2) + "\n"
        (part / CONFIG).write_text(settings, encoding="utf-8")
        save_tensors(layout.to_hugging_face(weights), part / WEIGHTS)
        save_tensors(averages, part / OPTIMIZER)
        save_encoding(encoding, part)
        if adapter is not None:
            adapter(part / ADAPTER)
        files = {
            path.relative_to(part).as_posix(): {
                "bytes": path.stat().st_size,
                "sha256": file_sha256(path),
            }
            for path in sorted(part.rglob("*"))
            if path.is_file()
        }
        document = {"format": FORMAT, "version": VERSION, "state": state, "files": files}
        document["sha256"] = digest(document)
        (part / STATE).write_text(json.dumps(document), encoding="utf-8")


def load(folder: Path, layout: ModuleType) -> tuple[Tensors, Tensors, dict[str, Any]]:
    """The weights, averages and state that ``save`` wrote."""
    weights = layout.from_hugging_face(load_file(folder / WEIGHTS))
    return weights, load_file(folder / OPTIMIZER), read_state(folder)
