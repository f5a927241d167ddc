"""Store the reader's work in Google Drive on Colab, because its machines are temporary."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from . import mine, record

MOUNT = Path("/content/drive")
FOLDER = "MyDrive/gpt2-edu"


def keep_in_drive(keep: bool = True) -> None:
    """Mount the reader's Drive and change to its folder gpt2-edu, shared by all notebooks.

    progress.json and my_gpt2.py of this machine are copied there; a different my_gpt2.py is not
    overwritten. Prints a message and changes nothing if Drive cannot be mounted. Raises ImportError
    outside Colab.
    """
    from google.colab import drive

    if not keep:
        print("Your work is deleted with this machine. Tick the box and run this cell to keep it.")
        return
    try:
        drive.mount(str(MOUNT))
        folder = MOUNT / FOLDER
        folder.mkdir(exist_ok=True)
    except Exception as error:  # Colab's own types, and ValueError without permission
        print(f"Your Drive could not be connected ({error}). What you write stays on this machine.")
        return
    before = Path.cwd()
    os.chdir(folder)
    if Path.cwd() != before:
        try:
            _copy_work(before)
        except (OSError, ValueError) as error:
            print(f"Not everything could be copied to your Drive: {error}")
    print(f"What you write is kept in your Drive, in {FOLDER}.")


def _copy_work(before: Path) -> None:
    """Merge the progress and copy the GPT-2 of another folder into this one."""
    if (before / record.FILE).is_file():
        record.merge(before / record.FILE)
    old, here = before / mine.FILE, Path(mine.FILE)
    if old.is_file() and not here.exists():
        shutil.copyfile(old, here)
    elif old.is_file() and old.read_bytes() != here.read_bytes():
        aside = here.with_name(f"{here.stem}.other{here.suffix}")
        shutil.copyfile(old, aside)
        print(f"Your Drive has another {here}. The one of this machine is beside it: {aside}.")
