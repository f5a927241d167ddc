"""Files that are there whole or not at all, and that can be told from damaged ones."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

PART = ".part"  # ends the name of a file that is being written


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk and not only in memory."""
    if path.is_dir() and os.name == "nt":
        return  # Windows writes a folder's names by itself and opens no folder
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_text(path: Path, text: str) -> None:
    """Put a text in the place of a file: whoever reads it finds the old one or the new one."""
    part = path.with_name(path.name + PART)
    part.write_text(text, encoding="utf-8")
    sync(part)
    os.replace(part, path)
    sync(path.parent)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, read piece by piece."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
