"""Downloads from a mirror that lies and breaks off, into caches that strangers have filled.

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
from unittest import mock

import torch
from huggingface_hub import constants
from huggingface_hub.utils import logging as hub_logging

from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.hub import PUBLISHED, Published
from gpt2_edu.machine.files import file_sha256
from tests.fuzz.tally import Tally
from tests.stand_in_hub import StandInHub

REPO, COMMIT = PUBLISHED["gpt2"].repo, PUBLISHED["gpt2"].commit
OUT = "../" * 5 + "evil"
HEADERS = ("ETag", "X-Linked-ETag", "X-Repo-Commit", "X-Linked-Size", "Location", "X-Error-Code")
VALUES = (
    OUT, f'"{OUT}"', "", '""', "abc", '"' + "0" * 64 + '"', "0" * 40, "-1", "1e9", "99999999999",
    "/etc/passwd", "http://127.0.0.1:9/", "\x1b[31m", "a" * 9999, "RepoNotFound", "GatedRepo",
)  # fmt: skip


def lie(draw: random.Random, hub: StandInHub) -> None:
    """Set the mirror's faults."""
    hub.lies = [
        {draw.choice(HEADERS): draw.choice(VALUES) for _ in range(draw.randrange(3))}
        for _ in range(draw.randrange(6))
    ]
    hub.cut, hub.spoil = draw.randrange(2), draw.randrange(3)
    hub.missing_bytes = draw.choice((0, 0, 1, 9))
    hub.failures, hub.status = draw.randrange(3), draw.choice((401, 403, 404, 416, 429, 500, 503))
    hub.whole, hub.signed_in = draw.random() < 0.2, draw.random() < 0.9


def spoil(draw: random.Random, cache: Path, diary: Path) -> None:
    """Put a link to a file, or a folder, of the user's into the cache."""
    # The folder of a repository may be a link: people keep it on another disk.
    files = [path for path in cache.rglob("*") if "snapshots" in path.parts or path.name == "blobs"]
    if files and draw.random() < 0.5:
        path = draw.choice(files)
        path.rename(cache.parent / f"moved-{time.time_ns()}")
        path.symlink_to(draw.choice((diary, diary.parent)))


def fuzz(tries: int, seed: int = 0) -> Tally:
    """So many loads, each by a mirror with other faults; three share a cache."""
    tally = Tally()
    torch.set_num_threads(1)
    hub_logging.set_verbosity_error()
    warnings.filterwarnings("ignore", "Not enough free disk space")  # a mirror says so
    with tempfile.TemporaryDirectory() as name, StandInHub() as hub:
        published, home = Path(name) / "published", Path(name) / "home"
        sizes = GPT2Config(vocab_size=9, block_size=3, n_layer=1, n_head=1, n_embd=6)
        GPT2(sizes).save_pretrained(published)
        digests = {path.name: file_sha256(path) for path in published.iterdir()}
        hub.publish(REPO, COMMIT, published)
        right = weights(published)
        home.mkdir()
        diary = home / "diary.txt"
        diary.write_text("the user's")
        template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, hub.url)
        with (
            mock.patch.dict(PUBLISHED, {"gpt2": Published(REPO, COMMIT, digests)}),
            mock.patch.multiple(
                constants,
                HUGGINGFACE_CO_URL_TEMPLATE=template,
                ENDPOINT=hub.url,
                HF_HUB_OFFLINE=False,
                HF_HUB_DISABLE_PROGRESS_BARS=True,
            ),
            mock.patch.dict(os.environ, {"NO_PROXY": "127.0.0.1,localhost"}),
            mock.patch.object(time, "sleep", return_value=None),
        ):
            for i in range(tries):
                draw, cache = random.Random(f"{seed} {i}"), Path(name) / f"caches/{i // 3}/hub"
                spoil(draw, cache, diary)
                lie(draw, hub)
                with mock.patch.object(constants, "HF_HUB_CACHE", str(cache)):
                    tally.trial(f"{i}: {hub.lies}"[:300], lambda: weights("gpt2"), right)
                if not diary.is_file() or diary.read_text() != "the user's":
                    tally.count("wrong", f"{i}: a file of the user's was changed")
                    diary.write_text("the user's")
    return tally


def weights(name: str | Path) -> list[float]:
    return GPT2.from_pretrained(name).wte.weight.flatten().tolist()
