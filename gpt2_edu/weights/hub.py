"""OpenAI's weights from the Hugging Face hub: downloaded once, cached, verified at each load.

``huggingface_hub`` downloads, so its settings apply: ``HF_HOME`` and ``HF_HUB_CACHE`` for the
cache, ``HF_ENDPOINT`` for a mirror, ``HF_HUB_OFFLINE``, ``HF_TOKEN``. It compares sizes; the
checksums are compared here.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from ..machine.files import file_sha256

CONFIG, WEIGHTS = "config.json", "model.safetensors"  # the files of a checkpoint


@dataclass(frozen=True)
class Published:
    """One of OpenAI's checkpoints: its repository on the hub and the commit that we use.

    A commit never changes, so a file of it in the cache needs no request. ``sha256`` holds the
    digests that are widely published; other files are compared with the hub's own digest.
    """

    repo: str
    commit: str
    sha256: dict[str, str] = field(default_factory=dict)


PUBLISHED = {
    "gpt2": Published(
        "openai-community/gpt2",
        "607a30d783dfa663caf39e06633721c8d4cfcd7e",
        {
            CONFIG: "0daed7749b4f02b8f76240d5444551d7b08712dab4d0adb8239c56ba823bb7b4",
            WEIGHTS: "248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707",
        },
    ),
    "gpt2-medium": Published(
        "openai-community/gpt2-medium", "6dcaa7a952f72f9298047fd5137cd6e4f05f41da"
    ),
    "gpt2-large": Published(
        "openai-community/gpt2-large", "32b71b12589c2f8d625668d2335a01cac3249519"
    ),
    "gpt2-xl": Published(
        "openai-community/gpt2-xl",
        "15ea56dee5df4983c59b2538573817e1667135e2",
        {
            CONFIG: "be48115d52314bc27327e160bf10197760db02ea689d10adb24db4102edf7a8a",
            WEIGHTS: "0f8b28eb05a8075f48b61b6f35332978c74fc7763fa9fb4051a1c30511736a6a",
        },
    ),
}

_MEANINGS = {  # of an HTTP status for a download
    401: ": if a token is set, it may be wrong or expired (`hf auth whoami` checks it)",
    403: ": this token or network has no access",
    404: ", not found: a mirror named in HF_ENDPOINT may lack this commit",
    429: ", too many requests: wait a little",
}


def fetch(name: str) -> Path:
    """The folder in the hub's cache that holds a published checkpoint, downloaded if necessary.

    Raises FileNotFoundError, with the alternatives, if a file is not in the cache and cannot be
    downloaded; ValueError, after removing it, if a file is not the published one; and OSError if
    the disk is full.
    """
    for filename in (CONFIG, WEIGHTS):
        path = _download(name, filename)
        _check_content(path, PUBLISHED[name].sha256.get(filename))
    return path.parent


def _download(name: str, filename: str) -> Path:
    """Let huggingface_hub download the file, and explain its errors."""
    from huggingface_hub import constants, hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    published = PUBLISHED[name]
    wanted = f"{filename} of {published.repo}"
    try:
        return Path(hf_hub_download(published.repo, filename, revision=published.commit))
    except Exception as error:  # of the library, its HTTP client or the operating system
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OSError(
                error.errno,
                f"the disk is full: {wanted} did not fit into {constants.HF_HUB_CACHE}. Free some "
                "space there, or set HF_HUB_CACHE to a folder on another disk",
            ) from error
        # The library wraps the reason why it could not ask in "not in the cache".
        reason = error.__cause__ if isinstance(error, LocalEntryNotFoundError) else error
        if constants.HF_HUB_OFFLINE:
            problem = f"{wanted} is not in the cache; unset HF_HUB_OFFLINE=1 to fetch it"
        elif isinstance(reason, HfHubHTTPError) and reason.response is not None:
            status = reason.response.status_code
            meaning = _MEANINGS.get(status, ", an error of the server" if status >= 500 else "")
            problem = f"asked for {wanted}, {constants.ENDPOINT} answered HTTP {status}{meaning}"
        else:
            why = str(reason).partition("\n")[0]
            problem = f"{wanted} could not be fetched from {constants.ENDPOINT} ({why})"
        raise FileNotFoundError(
            f"{problem}. Try again with a connection, or through a mirror named in HF_ENDPOINT. Or "
            f"run, on a machine that has one, `hf download {published.repo} {CONFIG} {WEIGHTS} "
            f"--revision {published.commit} --local-dir {name}` (before huggingface_hub 0.34: "
            "`huggingface-cli download`), and give the path of that folder in place of the name; "
            f"or copy that machine's filled cache to {constants.HF_HUB_CACHE}."
        ) from error


def _check_content(path: Path, sha256: str | None) -> None:
    """Refuse and remove a file that does not have the expected digest.

    The cache names a file after the hub's digest of it, SHA-256 for large files and git's SHA-1
    for others, and links to it from the commit's folder. Where links cannot be made, on some
    Windows machines, there is no such name, and only files of known ``sha256`` are checked.
    """
    blob = path.parent / os.readlink(path) if path.is_symlink() else path
    expected = sha256 or blob.name
    if re.fullmatch("[0-9a-f]{64}", expected):
        found = file_sha256(path)
    elif re.fullmatch("[0-9a-f]{40}", expected):
        content = path.read_bytes()
        found = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    else:
        return
    if found == expected:
        return
    try:
        for copy in {path.resolve(), blob, path}:
            copy.unlink(missing_ok=True)
        removed = "It has been removed; load again to repeat the download."
    except OSError as error:
        removed = f"It could not be removed ({error}): delete it, then load again."
    raise ValueError(
        f"{path} is damaged or not the published file: its digest is {found}, but must be "
        f"{expected}. {removed} If this happens again, the server sends another file: check "
        "HF_ENDPOINT and any proxy."
    )
