"""On Colab: keep what readers write in their Google Drive, since a machine there is soon gone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from . import mine, record

MOUNT = Path("/content/drive")
FOLDER = "MyDrive/gpt2-edu"


def keep_in_drive(keep: bool = True) -> None:
    """Work in the folder gpt2-edu of the reader's Drive, which all notebooks then share.

    progress.json and my_gpt2.py are read and written there from here on; what this machine has of
    them is brought along, and replaces nothing that differs. Where Drive cannot be had, says so and
    changes nothing. Raises ImportError outside of Colab.
    """
    from google.colab import drive

    if not keep:
        print(
            "What you write here goes with this machine. Tick the box and run this cell to keep it."
        )
        return
    try:
        drive.mount(str(MOUNT))
        folder = MOUNT / FOLDER
        folder.mkdir(exist_ok=True)
    except Exception as error:  # Colab raises its own, and ValueError where permission is not given
        print(f"Your Drive could not be connected ({error}). What you write stays on this machine.")
        return
    before = Path.cwd()
    os.chdir(folder)
    if before.resolve() != folder.resolve():
        try:
            _bring(before)
        except (OSError, ValueError) as error:
            print(f"Not everything could be brought along: {error}")
    print(f"What you write is kept in your Drive, in {FOLDER}.")


def _bring(before: Path) -> None:
    """What was written elsewhere joins what is in this folder."""
    if (before / record.FILE).is_file():
        record.merge(before / record.FILE)
    old, here = before / mine.FILE, Path(mine.FILE)
    if old.is_file() and not here.exists():
        shutil.copyfile(old, here)
    elif old.is_file() and old.read_bytes() != here.read_bytes():
        aside = here.with_name(f"{here.stem}.other{here.suffix}")
        shutil.copyfile(old, aside)
        print(f"Your Drive has another {here}. The one of this machine is beside it: {aside}.")
