"""Weights from the Hugging Face hub: downloaded once, cached, verified at each load.

``huggingface_hub`` downloads, so its settings apply: ``HF_HOME`` and ``HF_HUB_CACHE`` for the
cache, ``HF_ENDPOINT`` for a mirror, ``HF_HUB_OFFLINE``, ``HF_TOKEN``. Of OpenAI's weights the
revision and the SHA-256 of every file are pinned here, so a file that a mirror or a damaged cache
has changed is not read. Of any other repository the commit is asked for once, or named by the user,
and files are compared with the digests that the hub itself gives.
"""

from __future__ import annotations

import errno
import hashlib
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from http.client import responses
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

from .machine.files import file_sha256, read_json
from .machine.messages import escape_control, short_repr

CONFIG, WEIGHTS = "config.json", "model.safetensors"  # the files of a checkpoint
INDEX = WEIGHTS + ".index.json"  # of weights in several files
BESIDE = "tokenizer.json", "generation_config.json"  # what a tokenizer is made of, where there is
NAME = re.compile(r"(?P<repo>[A-Za-z\d][\w.-]*/[A-Za-z\d][\w.-]*)(@(?P<revision>[\w.-]+))?")
COMMIT = re.compile(r"[\da-f]{40}")


@dataclass(frozen=True)
class Published:
    """A checkpoint on the hub. A commit never changes, so a cached file needs no request."""

    repo: str
    commit: str
    sha256: dict[str, str]  # file → digest


_PINNED = {  # name → commit, and the SHA-256 of CONFIG and WEIGHTS
    "gpt2": (
        "607a30d783dfa663caf39e06633721c8d4cfcd7e",
        "0daed7749b4f02b8f76240d5444551d7b08712dab4d0adb8239c56ba823bb7b4",
        "248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707",
    ),
    "gpt2-medium": (
        "6dcaa7a952f72f9298047fd5137cd6e4f05f41da",
        "ef1a44d889ad1a0acc7731c78134f1b87d2d222f110e97dd10fd4117331caf22",
        "fc5a354a19255ad494f3d71549390baca1ccf61d1d822b9408971705c687c9cd",
    ),
    "gpt2-large": (
        "32b71b12589c2f8d625668d2335a01cac3249519",
        "7fccdcfd6622055342a734c663ee0b61ff4fd697f42467595df0bf4448c8c170",
        "5f47f3e12f91cd33b662ce7e433b6150ad5512b5884a2cee961b50e9c3bbebce",
    ),
    "gpt2-xl": (
        "15ea56dee5df4983c59b2538573817e1667135e2",
        "be48115d52314bc27327e160bf10197760db02ea689d10adb24db4102edf7a8a",
        "0f8b28eb05a8075f48b61b6f35332978c74fc7763fa9fb4051a1c30511736a6a",
    ),
}
PUBLISHED = {
    name: Published(f"openai-community/{name}", commit, {CONFIG: config, WEIGHTS: weights})
    for name, (commit, config, weights) in _PINNED.items()
}


def fetch(name: str) -> Path:
    """The folder in the hub's cache that holds a published checkpoint, downloaded if necessary.

    A cached file that is not the published one is deleted and downloaded again, once. Raises
    FileNotFoundError, with the alternatives, if a file is not in the cache and cannot be
    downloaded; ValueError if the server sends another file; and OSError if the disk is full.
    """
    published = PUBLISHED[name]
    for filename, expected in published.sha256.items():
        path = _checked(published.repo, filename, published.commit, expected)
    return path.parent


def fetch_repository(name: str, check: Callable[[Path], object]) -> Path:
    """The folder in the hub's cache with a model of any repository: config, weights, tokenizer.

    name: "owner/name", or "owner/name@revision" with a commit, a branch or a tag. What is not a
    commit is asked for once. The cache records the commit, and later calls take the same without a
    request; to load another one, name it. ``check`` is called with config.json and may raise before
    anything large is downloaded. Raises what ``fetch`` does. Where the cache has no links, as on
    some Windows machines, it does not keep the hub's digests, and files are not compared with them.
    """
    matched = NAME.fullmatch(name)
    assert matched is not None
    repo, commit = matched["repo"], _commit(matched["repo"], matched["revision"] or "main")
    config = _checked(repo, CONFIG, commit)
    check(config)
    folder = config.parent
    for filename in BESIDE:
        _checked_if_there(repo, filename, commit)
    if _checked_if_there(repo, WEIGHTS, commit) is None:
        _checked(repo, INDEX, commit)
        for filename in indexed(folder):
            _checked(repo, filename, commit)
    return folder


def indexed(folder: Path) -> list[str]:
    """The names of the files that a folder's index lists. Raises ValueError for another form."""
    index = read_json(folder / INDEX)
    listed = index.get("weight_map") if isinstance(index, dict) else None
    files = list(listed.values()) if isinstance(listed, dict) else []
    if not files or any(not isinstance(name, str) or name != Path(name).name for name in files):
        raise ValueError(f"{folder / INDEX} must map tensors to files of its folder")
    return sorted({*files})


def _commit(repo: str, revision: str) -> str:
    """The commit that a branch or tag names: the recorded one, otherwise what the hub says now."""
    from huggingface_hub import try_to_load_from_cache

    if COMMIT.fullmatch(revision):
        return revision
    cached = try_to_load_from_cache(repo, CONFIG, revision=revision)
    path = Path(cached) if isinstance(cached, str) else _download(repo, CONFIG, revision)
    if not COMMIT.fullmatch(path.parent.name):
        raise ValueError(f"HF_ENDPOINT sent no commit for {repo}: {short_repr(path.parent.name)}")
    return path.parent.name


def _checked(repo: str, filename: str, commit: str, sha256: str | None = None) -> Path:
    """A file in the cache with the digest that it must have: the given one, or the hub's."""
    path = _download(repo, filename, commit)
    if (wrong := _wrong_digest(path, sha256)) is not None:
        _delete(path)
        path = _download(repo, filename, commit)
        if (wrong := _wrong_digest(path, sha256)) is not None:
            raise ValueError(
                f"{path} is damaged or not the published file: {wrong}. The server sends another "
                "file: check HF_ENDPOINT and any proxy, and delete "
                f"{escape_control(str(path.resolve()))}."
            )
    if path.parent.name != commit:
        sent = short_repr(path.parent.name)
        raise ValueError(f"HF_ENDPOINT sent another commit of {filename}: {sent}")
    return path


def _checked_if_there(repo: str, filename: str, commit: str) -> Path | None:
    """The same, or None if the repository does not have the file."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import RemoteEntryNotFoundError

    cached = try_to_load_from_cache(repo, filename, revision=commit)
    if cached is not None and not isinstance(cached, str):  # the cache knows that it is not there
        return None
    try:
        return _checked(repo, filename, commit)
    except FileNotFoundError as error:
        if isinstance(error.__cause__, RemoteEntryNotFoundError):
            return None
        raise


def _wrong_digest(path: Path, sha256: str | None) -> str | None:
    """What is wrong with a file's digest; None if it is right, or none is known.

    The hub's is the name of the file in the cache to which a link leads: SHA-256 of a large file,
    and git's digest, which is shorter, of a small one.
    """
    expected = sha256 or (path.resolve().name if path.is_symlink() else None)
    if expected is None:
        return None
    kind, found = "SHA-256", file_sha256(path)
    if len(expected) == 40:
        content = path.read_bytes()
        kind, found = "digest", hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    if found == expected:
        return None
    return f"its {kind} is {found}, but must be {escape_control(expected)}"


def _delete(path: Path) -> None:
    """Delete a file from the cache, but nothing outside of its repository's folder."""
    target = path.resolve()
    if target.is_relative_to(path.parents[2].resolve()):
        target.unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def _download(repo: str, filename: str, commit: str) -> Path:
    """Let huggingface_hub download the file, and explain its errors."""
    from huggingface_hub import constants, hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    wanted, cache = f"{filename} of {repo}", constants.HF_HUB_CACHE
    try:
        cached = try_to_load_from_cache(repo, filename, revision=commit)
        if not (constants.HF_HUB_OFFLINE or cached or getproxies()):  # proxies resolve names
            address = urlsplit(constants.ENDPOINT)  # the library would retry for half a minute
            socket.getaddrinfo(address.hostname, address.port or address.scheme)
        # Not force_download: a server that gives a path as ETag could then overwrite any file.
        return Path(hf_hub_download(repo, filename, revision=commit))
    except Exception as error:  # of the library, its HTTP client or the operating system
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            said = f"the disk is full: {wanted} did not fit into {cache}. Free some space there, or"
            raise OSError(error.errno, f"{said} set HF_HUB_CACHE to another folder") from error
        # The library wraps the reason why it could not ask in "not in the cache".
        reason = error.__cause__ if isinstance(error, LocalEntryNotFoundError) else error
        endpoint = escape_control(constants.ENDPOINT)
        if constants.HF_HUB_OFFLINE:
            problem = f"{wanted} is not in the cache; unset HF_HUB_OFFLINE=1 to fetch it"
        elif isinstance(reason, HfHubHTTPError) and reason.response is not None:
            status = reason.response.status_code
            answer = f"HTTP {status} {responses.get(status, '')}".rstrip()
            problem = f"asked for {wanted}, {endpoint} answered {answer}"
            if status in (401, 403):
                problem += "; if it has terms to accept, do so on its page, and set HF_TOKEN"
        else:
            why = escape_control(str(reason).partition("\n")[0])[:300]
            problem = f"{wanted} could not be fetched from {endpoint} ({why})"
        files = f"{CONFIG} {WEIGHTS} "
        if not any(repo == published.repo for published in PUBLISHED.values()):
            files, problem = "", f"there is no folder {repo!r}, and {problem}"
        raise FileNotFoundError(
            f"{problem}. Try again with a connection, or through a mirror named in HF_ENDPOINT. Or "
            f"run, on a machine that has one, `hf download {repo} {files}--revision {commit} "
            f"--local-dir {repo.split('/')[1]}`, and give the path of that folder in place "
            f"of the name; or copy that machine's filled cache to {cache}."
        ) from error
