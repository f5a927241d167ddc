"""Atomic writes, locks, checksums, and JSON from files that may be damaged or hostile."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from .messages import short_repr

PART = ".part"  # ends the name of a file that is being written
LARGEST = 64 << 20  # bytes of a JSON file; ours have kilobytes
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Errors of file systems without locks or fsync, such as Google Drive on Colab.
_CANNOT = (errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)


def named_path(path: str | os.PathLike[str]) -> Path:
    """A path that a user gave, with ~ replaced by the home directory.

    Raises TypeError for another type, and ValueError for an empty name or an unknown user's home.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"a path must be a str or a Path, got {short_repr(path)}")
    if not str(path) or "\0" in str(path):
        raise ValueError(
            f"{short_repr(str(path))} names no file or folder; the current folder is '.'"
        )
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise ValueError(
            f"{short_repr(str(path))} begins with the home directory of a user that this machine "
            "does not have. For a name that begins with ~, write ./~"
        ) from None


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
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary path that replaces ``path`` when the block ends: readers see old or new.

    If the block fails, it is deleted. The file has the permissions of any new file of this user.
    Raises OSError, naming the path, if the disk is full.
    """
    part = path.with_name(path.name + PART)
    with explain_full_disk(path):
        try:
            part.unlink(missing_ok=True)
            part.touch()
            mode = part.stat().st_mode
            yield part
            os.chmod(part, mode)  # safetensors lets only the owner read
            sync(part)
            os.replace(part, path)
            sync(path.parent)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


@contextmanager
def explain_full_disk(path: Path) -> Iterator[None]:
    """Inside, the error of a full disk names the file that did not fit."""
    try:
        yield
    except Exception as error:  # safetensors has an error of its own
        full = isinstance(error, OSError) and error.errno in _NO_ROOM
        if not full and "os error 28" not in str(error) and "No space left" not in str(error):
            raise
        number = getattr(error, "errno", None) or errno.ENOSPC
        said = f"the disk is full: not enough space for {path}"
        raise OSError(number, said) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file whole."""
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def locked(folder: Path, *, wait: float = 0.0) -> Iterator[int]:
    """Create a folder and lock it for this process. Yields a handle of the folder.

    Waits up to ``wait`` seconds for another process, then raises BlockingIOError. Raises ValueError
    if the path is a file. The lock ends with the process at the latest. Where folders cannot be
    locked, as on Windows, nothing is locked, and the handle is -1.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: a folder is needed")
    made, until, handle = False, time.monotonic() + wait, None
    while handle is None:
        made = not folder.exists() or made
        folder.mkdir(parents=True, exist_ok=True)
        handle = _lock(folder, until)
    try:
        yield handle
    finally:
        if made and moved_to(folder, handle) is None:
            with suppress(OSError):
                folder.rmdir()  # if nothing was written
        if handle >= 0:
            os.close(handle)


def _lock(folder: Path, until: float) -> int | None:
    """Lock a folder. Returns the descriptor to close, or None if the folder was removed."""
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


def moved_to(folder: Path, handle: int) -> str | None:
    """Where a locked folder is now, if it is no longer at its path; "" if it was removed.

    ``handle`` is what ``locked`` yielded.
    """
    if handle < 0:
        return None
    with suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(handle), folder.stat()):
            return None
    now = ""
    if sys.platform == "darwin":
        import fcntl

        now = fcntl.fcntl(handle, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0").decode()
    else:
        with suppress(OSError):
            now = os.readlink(f"/proc/self/fd/{handle}")
    return now if Path(now).is_absolute() and Path(now).exists() else ""


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal; the file need not fit into memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(path: Path) -> Any:
    """The content of a JSON file.

    Raises OSError if it cannot be read, and ValueError, naming the file, if it is not JSON in
    UTF-8, is nested too deeply, or is larger than ``LARGEST``.
    """
    if (size := path.stat().st_size) > LARGEST:
        raise ValueError(f"{path} is not what its name says: {size:,} bytes are too many")
    return parse_json(path.read_bytes(), str(path))


def read_object(path: Path) -> dict[str, Any]:
    """The content of a JSON file that must be an object; ValueError, naming the file, if not."""
    found = read_json(path)
    if not isinstance(found, dict):
        raise ValueError(f"{path} must hold a JSON object, got {type(found).__name__}")
    return found


def parse_json(text: bytes, place: str) -> Any:
    """The content of JSON text; ``place`` names its source in messages."""
    try:
        return json.loads(text.decode("utf-8-sig"))
    except RecursionError as error:
        raise ValueError(f"{place} is not valid JSON (nested too deeply)") from error
    except ValueError as error:  # also of bytes that are not UTF-8, and of endless integers
        raise ValueError(f"{place} is not valid JSON ({error}). Was it cut off?") from error
