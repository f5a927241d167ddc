"""Downloads from a mirror that lies, breaks off and changes its mind, and caches of strangers.

None of them gives wrong weights, or changes a file of the user's. That the library writes new files
outside of its cache, where a mirror asks it to, is not prevented; see book/rely.md.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from huggingface_hub import constants
from huggingface_hub.utils import logging as hub_logging

from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.hub import PUBLISHED, Published
from gpt2_edu.machine.files import file_sha256
from tests.campaigns.tally import Tally
from tests.stand_in_hub import StandInHub

REPO, COMMIT = PUBLISHED["gpt2"].repo, PUBLISHED["gpt2"].commit
OUT = "../" * 5 + "evil"
HEADERS = ("ETag", "X-Linked-ETag", "X-Repo-Commit", "X-Linked-Size", "Location", "X-Error-Code")
VALUES = (
    OUT, f'"{OUT}"', f'W/"{OUT}"', "", '""', "abc", '"' + "0" * 64 + '"', "0" * 40, "-1", "1e9",
    "99999999999", "/etc/passwd", "http://127.0.0.1:9/", "\x1b[31m", "a" * 9999, "RepoNotFound",
    "GatedRepo", "EntryNotFound",
)  # fmt: skip


def lies(draw: random.Random, hub: StandInHub) -> str:
    """Set the mirror's faults; returns what they are."""
    hub.lies = [
        {draw.choice(HEADERS): draw.choice(VALUES) for _ in range(draw.randrange(3))}
        for _ in range(draw.randrange(6))
    ]
    hub.cut, hub.spoil = draw.randrange(2), draw.randrange(3)
    hub.missing_bytes = draw.choice((0, 0, 1, 9))
    hub.failures, hub.status = draw.randrange(3), draw.choice((401, 403, 404, 416, 429, 500, 503))
    hub.whole, hub.signed_in = draw.random() < 0.2, draw.random() < 0.9
    return str([hub.lies, hub.cut, hub.spoil, hub.missing_bytes, hub.failures, hub.status])


def spoil_cache(draw: random.Random, cache: Path, diary: Path) -> None:
    """What a stranger may have put there: a link to a file, or a folder, of the user's."""
    # The folder of a repository may be a link: people keep it on another disk.
    files = [path for path in cache.rglob("*") if "snapshots" in path.parts or path.name == "blobs"]
    if not files or draw.random() < 0.5:
        return
    path = draw.choice(files)
    if path.is_dir() and not path.is_symlink():
        path.rename(diary.parent / f"moved-{time.time_ns()}")
    else:
        path.unlink()
    path.symlink_to(draw.choice((diary, diary.parent)))


def campaign(loads: int, seed: int = 0) -> Tally:
    """So many loads, each by a mirror with other faults; the cache stays, honest or not."""
    tally = Tally("lying downloads")
    torch.set_num_threads(1)
    hub_logging.set_verbosity_error()
    warnings.filterwarnings("ignore", "Not enough free disk space")  # a mirror says so
    with tempfile.TemporaryDirectory() as name, StandInHub() as hub:
        folder = Path(name)
        GPT2(GPT2Config(vocab_size=9, block_size=3, n_layer=1, n_head=1, n_embd=6)).save_pretrained(
            folder / "published"
        )
        digests = {path.name: file_sha256(path) for path in (folder / "published").iterdir()}
        hub.publish(REPO, COMMIT, folder / "published")
        right = weights(folder / "published")
        home = folder / "home"
        home.mkdir()
        diary = home / "diary.txt"
        template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, hub.url)
        with (
            mock.patch.dict(PUBLISHED, {"gpt2": Published(REPO, COMMIT, digests)}),
            mock.patch.object(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template),
            mock.patch.object(constants, "ENDPOINT", hub.url),
            mock.patch.object(constants, "HF_HUB_OFFLINE", False),
            mock.patch.object(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True),
            mock.patch.dict(os.environ, {"NO_PROXY": "127.0.0.1,localhost"}),
            mock.patch.object(time, "sleep", return_value=None),
        ):
            for i in range(loads):
                draw = random.Random(f"{seed} {i}")
                cache = folder / f"caches/{i // 3}/hub"
                diary.write_text("the user's")
                spoil_cache(draw, cache, diary)
                before = tree(home)
                with mock.patch.object(constants, "HF_HUB_CACHE", str(cache)):
                    tally.trial(f"{i}: {lies(draw, hub)[:200]}", lambda: weights("gpt2"), right)
                if not before.items() <= tree(home).items():
                    tally.note("wrong", f"{i}: something of the user's changed")
    return tally


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def weights(name: Any) -> list[float]:
    return GPT2.from_pretrained(name).wte.weight.flatten().tolist()
