"""OpenAI's weights from the Hugging Face hub: downloaded once, cached, verified at each load.

``huggingface_hub`` downloads, so its settings apply: ``HF_HOME`` and ``HF_HUB_CACHE`` for the
cache, ``HF_ENDPOINT`` for a mirror, ``HF_HUB_OFFLINE``, ``HF_TOKEN``. It compares sizes, and names
files and folders after what the server says. A mirror or a copied cache may lie, so here is checked
what the server says before anything is written, and what a file is before it is read.
"""

from __future__ import annotations

import errno
import os
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from ..machine.files import file_sha256
from ..machine.outside import printable, read_json, shown

CONFIG, WEIGHTS = "config.json", "model.safetensors"  # the files of a checkpoint


@dataclass(frozen=True)
class Published:
    """One of OpenAI's checkpoints: its repository on the hub, the commit that we use, its files.

    A commit never changes, so a file of it in the cache needs no request.
    """

    repo: str
    commit: str
    sha256: dict[str, str]  # file → digest


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
        "openai-community/gpt2-medium",
        "6dcaa7a952f72f9298047fd5137cd6e4f05f41da",
        {
            CONFIG: "ef1a44d889ad1a0acc7731c78134f1b87d2d222f110e97dd10fd4117331caf22",
            WEIGHTS: "fc5a354a19255ad494f3d71549390baca1ccf61d1d822b9408971705c687c9cd",
        },
    ),
    "gpt2-large": Published(
        "openai-community/gpt2-large",
        "32b71b12589c2f8d625668d2335a01cac3249519",
        {
            CONFIG: "7fccdcfd6622055342a734c663ee0b61ff4fd697f42467595df0bf4448c8c170",
            WEIGHTS: "5f47f3e12f91cd33b662ce7e433b6150ad5512b5884a2cee961b50e9c3bbebce",
        },
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
    downloaded; ValueError if the server's answer is not the hub's, if the cache leads out of
    itself, or, after removing it, if a file is not the published one; and OSError if the disk is
    full.
    """
    published = PUBLISHED[name]
    for filename in (CONFIG, WEIGHTS):
        _check_cache(published, filename)
        path = _download(name, filename)
        _check_place(path, published, filename)
        _check_content(path, published.sha256[filename])
    return path.parent


class _Lie(ValueError):
    """An answer that the hub would not give."""


_DIGEST = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")  # git's SHA-1, or SHA-256
_ALONE = threading.Lock()  # one check at a time: it stands in the library itself


@contextmanager
def _honest(published: Published, filename: str) -> Iterator[None]:
    """Refuse answers that would make the library write elsewhere, or another version.

    It makes paths of the commit and the digest that a server gives, and of the commit also where
    the file is missing. It may ask again, and with another client, so each answer is checked where
    the library takes it: in the function that asks. Other files' answers are not ours to judge.
    """
    from huggingface_hub import file_download
    from huggingface_hub.errors import HfHubHTTPError

    ours = file_download.hf_hub_url(published.repo, filename, revision=published.commit)

    def check(commit: str | None, digest: str | None) -> None:
        """What is missing is the library's to refuse."""
        if commit in (None, published.commit) and (digest is None or _DIGEST.fullmatch(digest)):
            return
        raise _Lie(
            f"the server's answer for {filename} of {published.repo} is not the hub's (commit "
            f"{shown(commit)}, digest {shown(digest)}). Nothing was written. Check HF_ENDPOINT and "
            "any proxy."
        )

    def ask_and_check(url: str, *args: Any, **kwargs: Any) -> Any:
        try:
            answer = ask(url, *args, **kwargs)
        except HfHubHTTPError as error:
            if url == ours and error.response is not None:
                check(error.response.headers.get("X-Repo-Commit"), None)
            raise
        if url == ours:
            check(answer.commit_hash, answer.etag)
        return answer

    with _ALONE:
        ask = file_download.get_hf_file_metadata
        file_download.get_hf_file_metadata = ask_and_check
        try:
            yield
        finally:
            file_download.get_hf_file_metadata = ask


def _folder(published: Published) -> Path:
    """The cache's folder of a repository."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE) / f"models--{published.repo.replace('/', '--')}"


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # Path.resolve() fails on a link to itself


def _check_cache(published: Published, filename: str) -> None:
    """Refuse a cache in which the library would write elsewhere.

    A cache that somebody else made may hold folders that are links; and a list of the repository's
    files, from which the library takes a digest for a path without asking any server.
    """
    folder = _folder(published)
    for inner in ("blobs", "snapshots", f"snapshots/{published.commit}", ".no_exist"):
        _check_inside(folder / inner, _real(folder))
    files = folder / "trees" / f"{published.commit}.json"
    try:
        digest = read_json(files)["files"][filename]["lfs_sha256"]
    except (OSError, LookupError, TypeError):  # no list, or none of this file
        return
    if digest not in (None, published.sha256[filename]):
        raise ValueError(
            printable(str(files)) + f" is damaged or not the hub's: it says that the digest of "
            f"{filename} is {shown(digest)}. Nothing was read or changed. Remove that list, or set "
            "HF_HUB_CACHE to another folder."
        )


def _check_place(path: Path, published: Published, filename: str) -> None:
    """Refuse a file that is not in the cache's folder of this repository and commit.

    A cache that somebody else made may hold links to anything: what they lead to is not ours. What
    several repositories have in common, huggingface_hub 2 keeps once, and links to it.
    """
    folder = _folder(published)
    expected = folder / "snapshots" / published.commit / filename
    if path.name != filename or _real(path.parent) != _real(expected.parent):
        raise ValueError(f"{path} is not {expected}: the cache is not as huggingface_hub makes it")
    _check_inside(path, _real(folder), _real(folder.parent) / "blobs")


def _check_inside(path: Path, *folders: Path) -> None:
    """Refuse a link that leads out of these folders, which are real paths."""
    real = _real(path)
    if not any(real.is_relative_to(folder) for folder in folders):
        raise ValueError(
            printable(f"{path} leads to {real}, which is not in {folders[0]}")
            + ": this cache was not made by downloading. Nothing there was read or changed. Remove "
            "the link, or set HF_HUB_CACHE to another folder."
        )


def _download(name: str, filename: str) -> Path:
    """Let huggingface_hub download the file, and explain its errors."""
    from huggingface_hub import constants, hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    published = PUBLISHED[name]
    wanted = f"{filename} of {published.repo}"
    try:
        repo, commit = published.repo, published.commit
        here = try_to_load_from_cache(repo, filename, revision=commit)
        if not (constants.HF_HUB_OFFLINE or here):
            _look_up(constants.ENDPOINT)
        with _honest(published, filename):
            return Path(hf_hub_download(repo, filename, revision=commit))
    except _Lie:
        raise
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
            why = printable(str(reason).partition("\n")[0])
            problem = f"{wanted} could not be fetched from {constants.ENDPOINT} ({why})"
        raise FileNotFoundError(
            f"{problem}. Try again with a connection, or through a mirror named in HF_ENDPOINT. Or "
            f"run, on a machine that has one, `hf download {published.repo} {CONFIG} {WEIGHTS} "
            f"--revision {published.commit} --local-dir {name}` (before huggingface_hub 0.34: "
            "`huggingface-cli download`), and give the path of that folder in place of the name; "
            f"or copy that machine's filled cache to {constants.HF_HUB_CACHE}."
        ) from error


def _look_up(address: str) -> None:
    """Raise OSError for a host that nobody knows: without a network, at once.

    The library would ask for it six times in half a minute. A proxy looks it up itself.
    """
    parts = urlsplit(address)
    if not getproxies():
        socket.getaddrinfo(parts.hostname, parts.port or parts.scheme)


def _check_content(path: Path, expected: str) -> None:
    """Refuse and remove a file that does not have the expected digest.

    What other repositories may share is left to the user.
    """
    found, file = file_sha256(path), _real(path)
    if found == expected:
        return
    if not file.is_relative_to(_real(path.parents[2])):
        removed = f"It is kept in {file}, for all repositories: delete it there, then load again."
    else:
        try:
            for copy in {file, path}:
                copy.unlink(missing_ok=True)
            removed = "It has been removed; load again to repeat the download."
        except OSError as error:
            removed = f"It could not be removed ({error}): delete it, then load again."
    raise ValueError(
        f"{path} is damaged or not the published file: its digest is {found}, but must be "
        f"{expected}. {removed} If this happens again, the server sends another file: check "
        "HF_ENDPOINT and any proxy."
    )
