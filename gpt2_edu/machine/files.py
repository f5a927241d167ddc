"""Files that are written atomically, and checksums that show damage."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

PART = ".part"  # ends the name of a file that is being written


def sync(path: Path) -> None:
    """Wait until a file, or the list of files in a folder, is on the disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows does this itself, and cannot open a folder
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically: a reader finds the old file or the new one."""
    part = path.with_name(path.name + PART)
    part.write_text(text, encoding="utf-8")
    sync(part)
    os.replace(part, path)
    sync(path.parent)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal; the file need not fit into memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
