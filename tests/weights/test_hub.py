"""OpenAI's weights by name, from a stand-in for the hub: downloads, faults, offline use."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from huggingface_hub import __version__ as hub_version
from huggingface_hub import constants, file_download, get_session, hf_hub_download
from packaging.version import Version
from safetensors.torch import load_file, save_file

import gpt2_edu
from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.machine.files import file_sha256
from gpt2_edu.weights.hub import PUBLISHED, Published, fetch
from tests.stand_in_hub import StandInHub

# A client that loses its connection: the user asks again, and the rest is fetched.
asks_again = pytest.mark.skipif(
    Version(hub_version) < Version("1.31"), reason="an older client does not ask a second time"
)
REPO, COMMIT = PUBLISHED["gpt2"].repo, PUBLISHED["gpt2"].commit


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    """A small checkpoint in OpenAI's naming: no "transformer.", masks beside the weights."""
    import transformers
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    torch.manual_seed(3)
    folder = tmp_path_factory.mktemp("published")
    settings = transformers.GPT2Config(
        vocab_size=101, n_positions=13, n_layer=2, n_head=3, n_embd=21
    )
    transformers.GPT2LMHeadModel(settings).save_pretrained(folder)
    (folder / "generation_config.json").unlink()
    state = load_file(folder / "model.safetensors")
    state = {name.removeprefix("transformer."): value.clone() for name, value in state.items()}
    for i in range(2):
        state[f"h.{i}.attn.bias"] = torch.ones(1, 1, 13, 13).tril()
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def as_published(folder: Path) -> Published:
    """What the stand-in serves is not what the real digests say."""
    files = folder.iterdir()
    return Published(REPO, COMMIT, {f.name: file_sha256(f) for f in files})


def point_at(url: str, monkeypatch) -> None:
    """What HF_ENDPOINT does, for a library that is imported already."""
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")


@pytest.fixture
def hub(published, tmp_path, monkeypatch):
    """The stand-in as this process's hub, with an empty cache and no long waits."""
    monkeypatch.setitem(PUBLISHED, "gpt2", as_published(published))
    with StandInHub() as hub:
        hub.publish(REPO, COMMIT, published)
        point_at(hub.url, monkeypatch)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
        monkeypatch.setattr(time, "sleep", lambda seconds: None)
        yield hub


def weights_digest(model: GPT2) -> str:
    digest = hashlib.sha256()
    for value in model.state_dict().values():
        digest.update(value.numpy().tobytes())
    return digest.hexdigest()


def cached(tmp_path: Path) -> list[str]:
    """The names of the files that the cache links to."""
    return sorted(path.name for path in tmp_path.glob(f"cache/*/snapshots/{COMMIT}/*"))


def refused(kind, *parts: str) -> str:
    with pytest.raises(kind) as error:
        GPT2.from_pretrained("gpt2")
    for part in parts:
        assert part in str(error.value)
    return str(error.value)


# ---- Downloads ---------------------------------------------------------------------------------


def test_a_name_fetches_the_published_weights(hub, published):
    model = GPT2.from_pretrained("gpt2")
    assert model.config == GPT2Config(vocab_size=101, block_size=13, n_layer=2, n_head=3, n_embd=21)
    assert weights_digest(model) == weights_digest(GPT2.from_pretrained(published))
    assert not model.training
    assert hub.asked("GET") == [None]


def test_what_is_in_the_cache_is_not_asked_for_again(hub):
    first = GPT2.from_pretrained("gpt2")
    hub.requests.clear()
    assert weights_digest(GPT2.from_pretrained("gpt2")) == weights_digest(first)
    assert hub.requests == []


def test_a_folder_of_that_name_comes_first(hub, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model.save_pretrained("gpt2")
    assert weights_digest(GPT2.from_pretrained("gpt2")) == weights_digest(model)
    assert hub.requests == []


def test_the_digests_of_gpt2_are_those_of_the_file_that_is_known():
    """Its config.json, byte for byte, and so the size that the preset describes."""
    known = {
        "activation_function": "gelu_new",
        "architectures": ["GPT2LMHeadModel"],
        "attn_pdrop": 0.1,
        "bos_token_id": 50256,
        "embd_pdrop": 0.1,
        "eos_token_id": 50256,
        "initializer_range": 0.02,
        "layer_norm_epsilon": 1e-05,
        "model_type": "gpt2",
        "n_ctx": 1024,
        "n_embd": 768,
        "n_head": 12,
        "n_layer": 12,
        "n_positions": 1024,
        "resid_pdrop": 0.1,
        "summary_activation": None,
        "summary_first_dropout": 0.1,
        "summary_proj_to_labels": True,
        "summary_type": "cls_index",
        "summary_use_proj": True,
        "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
        "vocab_size": 50257,
    }
    content = json.dumps(known, indent=2).encode()
    assert hashlib.sha256(content).hexdigest() == PUBLISHED["gpt2"].sha256["config.json"]


def test_every_preset_is_published_at_a_full_commit():
    assert {*PUBLISHED, "crane"} == set(gpt2_edu.config.PRESETS)
    for name, published in PUBLISHED.items():
        assert published.repo == f"openai-community/{name}"
        assert len(bytes.fromhex(published.commit)) == 20
        assert all(len(bytes.fromhex(digest)) == 32 for digest in published.sha256.values())


# ---- A bad connection ---------------------------------------------------------------------------


@asks_again
def test_a_download_that_is_cut_off_continues_where_it_stopped(hub, published, monkeypatch):
    hub.cut = 1
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 1000)  # whole chunks are kept
    kept = (published / "model.safetensors").stat().st_size // 2 // 1000 * 1000
    model = GPT2.from_pretrained("gpt2")
    assert hub.asked("GET") == [None, f"bytes={kept}-"]
    assert weights_digest(model) == weights_digest(GPT2.from_pretrained(published))


def test_a_server_that_recovers_is_asked_again(hub):
    hub.failures = 2
    GPT2.from_pretrained("gpt2")
    assert len(hub.asked("HEAD", "config.json")) == 3


def test_a_server_that_keeps_failing_is_named_with_the_ways_out(hub, tmp_path):
    hub.failures = 99
    refused(FileNotFoundError, hub.url, "HTTP 500", "config.json", "hf download", "HF_ENDPOINT")
    assert len(hub.requests) < 20
    assert cached(tmp_path) == []


@pytest.mark.parametrize("status, meaning", [(401, "token"), (403, "access"), (429, "wait")])
def test_an_answer_of_the_server_is_explained(hub, status, meaning):
    hub.failures, hub.status = 99, status
    refused(FileNotFoundError, f"answered HTTP {status}", meaning, "hf download")


def test_a_file_that_is_not_there_is_named(hub):
    hub.files = {path: file for path, file in hub.files.items() if path.endswith("json")}
    refused(FileNotFoundError, "HTTP 404", f"model.safetensors of {REPO}", "mirror")


def test_a_host_that_nobody_knows_is_asked_for_once(hub, monkeypatch):
    """As without a network: the library alone would try for half a minute."""
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr("gpt2_edu.weights.hub.getproxies", dict)
    point_at("http://hub.invalid", monkeypatch)
    refused(FileNotFoundError, "could not be fetched from http://hub.invalid (", "hf download")
    assert slept == []


def test_no_network_names_the_ways_to_do_without(hub, monkeypatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # taken, and nobody listens
        nobody = f"http://127.0.0.1:{unused.getsockname()[1]}"
        point_at(nobody, monkeypatch)
        refused(
            FileNotFoundError,
            f"config.json of {REPO} could not be fetched from {nobody} (",
            f"hf download {REPO} config.json model.safetensors --revision {COMMIT}",
            "HF_ENDPOINT",
            "cache",
        )


def test_a_file_of_the_wrong_size_is_not_kept(hub, tmp_path):
    hub.missing_bytes = 7
    message = refused(FileNotFoundError, "model.safetensors", "could not be fetched", "size")
    assert "force_download" not in message  # the library's advice is for its own callers
    assert cached(tmp_path) == ["config.json"]
    hub.missing_bytes = 0
    GPT2.from_pretrained("gpt2")


def test_a_full_disk_is_named_with_the_cache(hub, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(file_download, "http_get", full)
        with pytest.raises(OSError, match="disk is full") as error:
            GPT2.from_pretrained("gpt2")
    assert error.value.errno == errno.ENOSPC
    assert str(tmp_path / "cache") in str(error.value) and "HF_HUB_CACHE" in str(error.value)
    GPT2.from_pretrained("gpt2")


# ---- Content that is not the published ---------------------------------------------------------


def test_a_damaged_download_is_removed_and_fetched_again(hub, published, tmp_path):
    """A wrong byte in a file of the right size: the library itself does not notice."""
    hub.spoil = 1
    refused(ValueError, "model.safetensors is damaged", "has been removed", "load again")
    assert cached(tmp_path) == ["config.json"]
    assert not any("model" in path.name for path in tmp_path.rglob("blobs/*"))
    model = GPT2.from_pretrained("gpt2")
    assert len(hub.asked("GET")) == 2
    assert weights_digest(model) == weights_digest(GPT2.from_pretrained(published))


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_file_that_is_damaged_in_the_cache_is_noticed(hub, name):
    file = fetch("gpt2") / name
    content = file.read_bytes()
    file.write_bytes(content[:-2] + b" " + content[-1:])
    refused(ValueError, f"{name} is damaged", "has been removed")
    assert (fetch("gpt2") / name).read_bytes() == content


def test_a_mirror_that_serves_something_else_under_the_name_is_refused(
    hub, tmp_path, published, monkeypatch
):
    """All its headers agree with what it sends; it is not what OpenAI published."""
    config = (published / "config.json").read_bytes()
    true = {"config.json": hashlib.sha256(config).hexdigest(), "model.safetensors": "0" * 64}
    monkeypatch.setitem(PUBLISHED, "gpt2", Published(REPO, COMMIT, true))
    refused(ValueError, "model.safetensors is damaged or not the published file", "HF_ENDPOINT")
    assert cached(tmp_path) == ["config.json"]


def test_without_links_the_known_digest_still_counts(hub, monkeypatch):
    """On some Windows machines the cache holds the files themselves, and no digest names them."""
    monkeypatch.setattr(file_download, "are_symlinks_supported", lambda cache_dir=None: False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_SYMLINKS_WARNING", True)
    folder = fetch("gpt2")
    assert not any(path.is_symlink() for path in folder.iterdir())
    file = folder / "model.safetensors"
    file.write_bytes(b"\0" * file.stat().st_size)
    refused(ValueError, "model.safetensors is damaged", "has been removed")
    fetch("gpt2")


def test_a_bad_file_that_cannot_be_removed_is_named(hub, monkeypatch):
    hub.spoil = 1
    unlink = Path.unlink

    def read_only(self, missing_ok=False):
        if "model" in self.name or len(self.name) == 64:
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        unlink(self, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", read_only)
        refused(ValueError, "is damaged", "could not be removed", "Permission denied", "delete it")


# ---- Offline ------------------------------------------------------------------------------------


def test_offline_with_a_filled_cache_needs_no_request(hub, monkeypatch):
    online = GPT2.from_pretrained("gpt2")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    hub.requests.clear()
    assert weights_digest(GPT2.from_pretrained("gpt2")) == weights_digest(online)
    assert hub.requests == []


def test_offline_without_a_cache_says_so(hub, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    refused(FileNotFoundError, "not in the cache", "HF_HUB_OFFLINE=1", "hf download", "folder")
    assert hub.requests == []


# ---- As a user runs it --------------------------------------------------------------------------


CODE = f"""
import hashlib
from gpt2_edu import GPT2
from gpt2_edu.weights.hub import PUBLISHED, Published
PUBLISHED["gpt2"] = Published({REPO!r}, {COMMIT!r}, DIGESTS)
digest = hashlib.sha256()
for value in GPT2.from_pretrained("gpt2").state_dict().values():
    digest.update(value.numpy().tobytes())
print(digest.hexdigest())
"""


def start(folder: Path, **settings: str) -> subprocess.Popen[str]:
    """Another process that loads "gpt2", with these settings and no others of the hub's."""
    kept = {k: v for k, v in os.environ.items() if "PROXY" not in k.upper() and k[:3] != "HF_"}
    kept["PYTHONPATH"] = str(Path(gpt2_edu.__file__).parent.parent)
    code = CODE.replace("DIGESTS", repr(as_published(folder).sha256))
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.Popen(
        command, env=kept | settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_two_processes_at_once_and_a_third_offline(published, tmp_path):
    """The environment decides on hub and cache; a bar shows the progress, and nothing warns."""
    expected = weights_digest(GPT2.from_pretrained(published))
    with StandInHub() as hub:
        hub.publish(REPO, COMMIT, published)
        hub.pause = 0.3
        settings = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path), "HF_TOKEN": "hf_stand_in"}
        settings["TQDM_POSITION"] = "-1"  # draw the bar, though this is no terminal
        both = [start(published, **settings) for _ in range(2)]
        outputs = [process.communicate(timeout=60) for process in both]
        assert [process.returncode for process in both] == [0, 0], outputs
        assert [out.strip() for out, _ in outputs] == [expected, expected]
        assert any("model.safetensors" in err and "100%" in err for _, err in outputs)
        assert not any("warn" in err.lower() for _, err in outputs), outputs
        hub.requests.clear()
        third = start(published, HF_ENDPOINT=hub.url, HF_HOME=str(tmp_path), HF_HUB_OFFLINE="1")
        out, err = third.communicate(timeout=60)
        assert (out.strip(), err) == (expected, "")
        assert hub.requests == []


# ---- Lies --------------------------------------------------------------------------------------

XET = "ab" * 32  # the name of a file in the store that repositories share
OUT = "../../../evil"  # from blobs/ and .locks/models--…/ to the folder that holds the cache


def everything(folder: Path) -> dict[str, bytes | None]:
    """All that a server or a cache could make, change or cost: files, links and folders."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if "cache" not in path.relative_to(folder).parts[:1]
    }


def digest_said(value: str) -> dict[str, str]:
    return {"ETag": value, "X-Linked-ETag": value}


LIES = {
    "digest out of the cache": digest_said(f'"{OUT}"'),
    "weak digest out of the cache": digest_said(f'W/"{OUT}"'),
    "digest of a large file out of the cache": {"X-Linked-ETag": f'"{OUT}"'},
    "no digest": digest_said('"abc"'),
    "empty digest in quotes": digest_said('""'),
    "empty digest": digest_said(""),
    "another commit": {"X-Repo-Commit": "0" * 40},
    "commit out of the cache": {"X-Repo-Commit": f"../{OUT}"},
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
@pytest.mark.parametrize("honest_answers", [0, 1])
def test_a_lying_mirror_writes_nothing(hub, tmp_path, lie, honest_answers):
    """Also one that is honest until the library has begun to trust it."""
    hub.lies = [{}] * honest_answers + [lie] * 9
    (tmp_path / "evil").write_text("the user's")
    message = refused(ValueError, "is not the hub's", "Nothing was written", "HF_ENDPOINT")
    assert len(message) < 400
    assert everything(tmp_path) == {"evil": b"the user's"}
    assert cached(tmp_path) == ["config.json"][:honest_answers]


def test_a_mirror_that_lies_when_asked_again_writes_nothing(hub, tmp_path):
    hub.failures, hub.lies = 1, [LIES["digest out of the cache"]] * 9
    refused(ValueError, "is not the hub's")
    assert everything(tmp_path) == {} and cached(tmp_path) == []


@asks_again
def test_a_mirror_that_lies_to_another_client_writes_nothing(hub, tmp_path, monkeypatch):
    """After a connection that fails, the library asks with a new client."""
    hub.lies = [LIES["digest out of the cache"]] * 9
    client, down = type(get_session()), [True] * 3
    request = client.request

    def refuse(self, method, url, **kwargs):
        return request(self, method, "http://127.0.0.1:9" if down and down.pop() else url, **kwargs)

    monkeypatch.setattr(client, "request", refuse)
    refused(ValueError, "is not the hub's")
    assert not down
    assert everything(tmp_path) == {} and cached(tmp_path) == []


def test_a_file_that_a_mirror_misses_makes_no_folder_elsewhere(hub, tmp_path):
    hub.files.clear()
    hub.lies = [{"X-Repo-Commit": f"../{OUT}"}] * 9
    refused(ValueError, "is not the hub's")
    assert everything(tmp_path) == {} and not list(tmp_path.rglob(".no_exist"))


def test_signs_that_a_terminal_obeys_do_not_reach_it(hub, tmp_path):
    hub.lies = [{"ETag": '"\x9b31m"'}] * 9
    assert refused(ValueError, "is not the hub's").isprintable()
    hub.lies.clear()
    file = fetch("gpt2") / "config.json"
    file.unlink()
    file.symlink_to(tmp_path / "\x9b31m")
    (tmp_path / "\x9b31m").touch()
    assert refused(ValueError, "leads to").isprintable()


def test_two_models_and_somebody_elses_file_at_once(hub, published):
    """The answers for one are not judged by what was asked for another; no check stays behind."""
    ask, other = file_download.get_hf_file_metadata, Published("some/one", "1" * 40, {})
    medium = Published(PUBLISHED["gpt2-medium"].repo, "2" * 40, PUBLISHED["gpt2"].sha256)
    hub.publish(medium.repo, medium.commit, published)
    hub.publish(other.repo, other.commit, published)
    hub.pause = 0.2
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor() as pool:
        patch.setitem(PUBLISHED, "gpt2-medium", medium)
        jobs = [pool.submit(fetch, "gpt2"), pool.submit(fetch, "gpt2-medium")]
        for file in os.listdir(published):
            jobs.append(pool.submit(hf_hub_download, other.repo, file, revision=other.commit))
        assert all(os.path.exists(job.result()) for job in jobs)
    assert file_download.get_hf_file_metadata is ask


# ---- A cache that somebody else made ------------------------------------------------------------


@pytest.mark.parametrize("offline", [True, False])
@pytest.mark.parametrize("of", ["config.json", "model.safetensors"])
def test_a_link_in_a_foreign_cache_does_not_cost_the_user_a_file(
    hub, tmp_path, monkeypatch, offline, of
):
    link = fetch("gpt2") / of
    (tmp_path / "diary.txt").write_text("the user's")
    link.unlink()
    link.symlink_to(tmp_path / "diary.txt")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
    refused(ValueError, "leads to", "diary.txt", "Nothing there was read or changed")
    assert everything(tmp_path) == {"diary.txt": b"the user's"}
    assert link.is_symlink()


@pytest.mark.parametrize("inner", ["blobs", "snapshots", f"snapshots/{COMMIT}", ".no_exist"])
def test_a_linked_folder_in_a_foreign_cache_fills_no_folder_of_the_user(hub, tmp_path, inner):
    link = tmp_path / f"cache/models--{REPO.replace('/', '--')}" / inner
    link.parent.mkdir(parents=True)
    (tmp_path / "home").mkdir()
    link.symlink_to(tmp_path / "home")
    refused(ValueError, "leads to", "home", "Remove the link")
    assert everything(tmp_path) == {"home": None}
    assert hub.requests == []


def test_a_cache_behind_a_link_is_a_cache(hub, tmp_path, monkeypatch):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "link"))
    first = weights_digest(GPT2.from_pretrained("gpt2"))
    assert weights_digest(GPT2.from_pretrained("gpt2")) == first


@pytest.fixture
def xet(hub, published, monkeypatch):
    """The hub's other way to send a large file; the library then keeps it for all repositories."""
    if not hasattr(constants, "HF_HUB_DISABLE_SHARED_BLOBS"):
        pytest.skip("this huggingface_hub shares no files between repositories")

    def xet_get(*, incomplete_path: Path, **kwargs) -> None:
        incomplete_path.write_bytes((published / "model.safetensors").read_bytes())

    monkeypatch.setattr(file_download, "xet_get", xet_get)
    monkeypatch.setattr(file_download, "is_xet_available", lambda: True)
    hub.lies = [{}, {"X-Xet-Hash": XET, "X-Xet-Refresh-Route": hub.url}] * 9
    return hub


def test_a_file_that_repositories_share_is_in_the_cache(xet, tmp_path, published):
    model = GPT2.from_pretrained("gpt2")
    assert (fetch("gpt2") / "model.safetensors").resolve() == tmp_path / "cache/blobs/ab" / XET
    assert weights_digest(model) == weights_digest(GPT2.from_pretrained(published))


def test_a_damaged_file_that_repositories_share_is_left_to_the_user(xet):
    shared = (fetch("gpt2") / "model.safetensors").resolve()
    shared.chmod(0o644)  # the library makes it read-only
    shared.write_bytes(bytes(shared.stat().st_size))
    refused(ValueError, "model.safetensors is damaged", str(shared), "delete it there")
    shared.unlink()
    fetch("gpt2")


@pytest.mark.parametrize("file", ["config.json", "model.safetensors"])
def test_a_list_of_files_in_a_foreign_cache_names_no_path(xet, tmp_path, file):
    """With it the library asks no server."""
    trees = tmp_path / f"cache/models--{REPO.replace('/', '--')}/trees"
    trees.mkdir(parents=True)
    entry = {"size": 9, "blob_id": "0" * 40, "lfs_sha256": OUT, "lfs_size": 9, "xet_hash": XET}
    listed = {"format_version": 1, "files": {file: entry}}
    (trees / f"{COMMIT}.json").write_text(json.dumps(listed))
    refused(ValueError, f"{COMMIT}.json", "not the hub's", OUT)
    assert everything(tmp_path) == {}


def test_every_size_is_pinned():
    for published in PUBLISHED.values():
        assert set(published.sha256) == {"config.json", "model.safetensors"}
