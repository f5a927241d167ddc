"""Files that are written whole or not at all, by one process at a time, with checksums."""

from __future__ import annotations

import errno
import hashlib
import os
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

PART = ".part"  # ends the name of a file that is being written
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# What some network drives answer, such as Google Drive on Colab: they cannot do this at all.
_CANNOT = (errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)


def sync(path: Path) -> None:
    """Wait until a file, or the list of files in a folder, is on the disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows does this itself, and cannot open a folder
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
    finally:
        os.close(descriptor)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes ``path`` when the block ends: readers find old or new.

    If the block fails, nothing is left of it. The file may be read by whoever may read new files of
    this user. Raises OSError that names the place if the disk is full.
    """
    part = path.with_name(path.name + PART)
    with named_if_full(path):
        try:
            part.unlink(missing_ok=True)
            part.touch()
            mode = part.stat().st_mode
            yield part
            os.chmod(part, mode)  # safetensors lets nobody but the owner read
            sync(part)
            os.replace(part, path)
            sync(path.parent)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


@contextmanager
def named_if_full(path: Path) -> Iterator[None]:
    """Inside, an error of a full disk says which file did not fit."""
    try:
        yield
    except Exception as error:  # safetensors has an error of its own
        full = isinstance(error, OSError) and error.errno in _NO_ROOM
        if not full and "os error 28" not in str(error) and "No space left" not in str(error):
            raise
        number = getattr(error, "errno", None) or errno.ENOSPC
        said = f"the disk is full: there is no room for {path}"
        raise OSError(number, said) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file whole."""
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def locked(folder: Path, *, wait: float = 0.0) -> Iterator[None]:
    """Make the folder and keep other processes from writing to it. The lock ends with ours.

    Waits for another one for so many seconds, then raises BlockingIOError. Raises ValueError if the
    path is a file. Where folders cannot be locked, as on Windows, nothing is.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: a folder is needed")
    made, until, handle = False, time.monotonic() + wait, None
    while handle is None:
        made = not folder.exists() or made
        folder.mkdir(parents=True, exist_ok=True)
        handle = _lock(folder, until)
    try:
        yield
    finally:
        if made:
            with suppress(OSError):
                folder.rmdir()  # nothing was written: as it was
        if handle >= 0:
            os.close(handle)


def _lock(folder: Path, until: float) -> int | None:
    """Lock it. Returns what is to be closed, or None if another process took the folder away."""
    if os.name == "nt":
        return -1
    import fcntl

    with ExitStack() as stack, suppress(FileNotFoundError):
        handle = os.open(folder, os.O_RDONLY)
        stack.callback(os.close, handle)
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() >= until:
                    said = f"another process is writing to {folder} right now"
                    raise BlockingIOError(error.errno, said) from error
                time.sleep(0.02)
            except OSError as error:
                if error.errno not in _CANNOT:
                    raise
                break
        if os.path.samestat(os.fstat(handle), folder.stat()):
            stack.pop_all()
            return handle
    return None


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal; the file need not fit into memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_crc32(path: Path, size: int) -> int:
    """CRC-32 of a file's first ``size`` bytes."""
    crc32 = 0
    with path.open("rb") as file:
        while size and (block := file.read(min(size, 1 << 22))):
            crc32, size = zlib.crc32(block, crc32), size - len(block)
    return crc32
