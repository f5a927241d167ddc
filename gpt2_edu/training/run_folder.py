"""The folder of a run: locked by one process at a time, opened, and checked when it is resumed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, fields
from pathlib import Path

from ..checkpoints import checkpoints, newest_checkpoint, read_state
from ..machine.files import locked, moved_to, write_text
from ..machine.messages import changes
from . import checkpoint as ck
from .config import LOG, MAY_CHANGE, SETTINGS, TrainConfig, has_run, read_train_config
from .distributed import Ranks
from .run_log import read_log


@contextmanager
def lock_folder(folder: Path, ranks: Ranks) -> Iterator[Callable[[], None]]:
    """Keep other processes from writing to the folder of a run: rank 0 locks it for all ranks.

    Yields a function that raises OSError if the folder is no longer at its path. A run that fails
    before its first step leaves the folder as it was.
    """
    new, handle = not has_run(folder), -1

    def lock() -> None:
        nonlocal handle
        handle = stack.enter_context(locked(folder))

    def check() -> None:
        if (now := moved_to(folder, handle)) is not None:
            way = f"was moved to {now}. To continue: gpt2-edu train --out {now} --resume"
            raise OSError(f"the run folder {folder} {way if now else 'was removed'}")

    with ExitStack() as stack:
        if problem := ranks.on_first(lock):
            raise ValueError(problem)
        try:
            yield check
        except BaseException:
            here = ranks.first and moved_to(folder, handle) is None
            if here and new and not checkpoints(folder) and len(read_log(folder / LOG)) < 2:
                for name in (SETTINGS, LOG):
                    (folder / name).unlink(missing_ok=True)
                with suppress(OSError):
                    (folder / "checkpoints").rmdir()
            raise


def open_folder(folder: Path, config: TrainConfig) -> None:
    """Make the folder of a new run, or remove what a killed process left in that of an old one."""
    (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
    if config.resume:
        ck.clean(folder)
        ck.prune(folder, config.keep)  # the process may have been killed before it did
    else:
        write_text(folder / SETTINGS, json.dumps(asdict(config), indent=2) + "\n")


def find_checkpoint(folder: Path, config: TrainConfig) -> Path | None:
    """The checkpoint to resume from, or None to start at the first step.

    Raises ValueError if the settings would make it another run, and FileNotFoundError if there is
    no run to resume.
    """
    if not config.resume:
        if has_run(folder):
            raise ValueError(
                f"{folder} already holds a run. To continue it, pass resume=True; to start "
                "another one, choose another out."
            )
        return None
    checkpoint = newest_checkpoint(folder)
    stored = {folder: asdict(read_train_config(folder))}
    if checkpoint is not None:  # it has the settings as well, since run.json can be edited
        # What an older version did not know, it did as the default does.
        defaults = {field.name: field.default for field in fields(TrainConfig)}
        stored[checkpoint] = defaults | read_state(checkpoint)["config"]
    for place, settings in stored.items():
        then, now = (
            {name: value for name, value in some.items() if name not in MAY_CHANGE}
            for some in (settings, asdict(config))
        )
        if changed := "\n  ".join(changes(then, now)):
            raise ValueError(
                f"{place} was written with other settings:\n  {changed}\nResume with the original "
                "settings, or start another run in another folder; init_from can start it with "
                "this run's weights."
            )
    return checkpoint
