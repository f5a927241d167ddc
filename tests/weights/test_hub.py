"""OpenAI's weights by name, from a stand-in for the hub: downloads, faults, offline use."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants, file_download
from safetensors.torch import load_file, save_file

import gpt2_edu
from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.hub import PUBLISHED, Published, fetch
from gpt2_edu.machine.files import file_sha256
from tests.stand_in_hub import StandInHub
from tests.weights.helpers import assert_same_weights, point_at, refused

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
    files = sorted(folder.iterdir())
    return Published(REPO, COMMIT, {f.name: file_sha256(f) for f in files})


@pytest.fixture
def hub(published, stand_in, monkeypatch):
    """The stand-in as this process's hub, with OpenAI's weights."""
    monkeypatch.setitem(PUBLISHED, "gpt2", as_published(published))
    stand_in.publish(REPO, COMMIT, published)
    return stand_in


# ---- Downloads ---------------------------------------------------------------------------------


def test_a_name_fetches_the_published_weights(hub, published):
    model = GPT2.from_pretrained("gpt2")
    assert model.config == GPT2Config(vocab_size=101, block_size=13, n_layer=2, n_head=3, n_embd=21)
    assert_same_weights(model, GPT2.from_pretrained(published))
    assert not model.training
    assert hub.asked("GET") == [None]


def test_what_is_in_the_cache_is_not_asked_for_again(hub):
    first = GPT2.from_pretrained("gpt2")
    hub.requests.clear()
    assert_same_weights(GPT2.from_pretrained("gpt2"), first)
    assert hub.requests == []


def test_a_folder_of_that_name_comes_first(hub, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model.save_pretrained("gpt2")
    assert_same_weights(GPT2.from_pretrained("gpt2"), model)
    assert hub.requests == []


def test_every_preset_is_published_at_a_full_commit():
    assert {*PUBLISHED, "crane"} == set(gpt2_edu.config.PRESETS)
    for name, published in PUBLISHED.items():
        assert published.repo == f"openai-community/{name}"
        assert len(bytes.fromhex(published.commit)) == 20
        assert all(len(bytes.fromhex(digest)) == 32 for digest in published.sha256.values())


# ---- A bad connection ---------------------------------------------------------------------------


@pytest.mark.parametrize("status, meaning", [(404, "Not Found"), (500, "Internal")])
def test_an_answer_of_the_server_is_explained(hub, status, meaning):
    hub.failures, hub.status = 99, status
    refused("gpt2", FileNotFoundError, f"answered HTTP {status}", meaning, "hf download")


def test_a_host_that_nobody_knows_is_asked_for_once(hub, monkeypatch):
    """As without a network: the library alone would try for half a minute."""
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr("gpt2_edu.hub.getproxies", dict)
    point_at("http://hub.invalid", monkeypatch)
    refused("gpt2", FileNotFoundError, "fetched from http://hub.invalid (", "hf download")
    assert slept == []


def test_no_network_names_the_ways_to_do_without(hub, monkeypatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # taken, and nobody listens
        nobody = f"http://127.0.0.1:{unused.getsockname()[1]}"
        point_at(nobody, monkeypatch)
        refused(
            "gpt2",
            FileNotFoundError,
            f"config.json of {REPO} could not be fetched from {nobody} (",
            f"hf download {REPO} config.json model.safetensors --revision {COMMIT}",
            "HF_ENDPOINT",
            "cache",
        )


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


def test_a_damaged_download_is_fetched_once_more(hub, published):
    """A wrong byte in a file of the right size: the library itself does not notice."""
    hub.spoil = 1
    assert_same_weights(GPT2.from_pretrained("gpt2"), GPT2.from_pretrained(published))
    assert len(hub.asked("GET")) == 2


def test_a_server_that_sends_damaged_files_is_asked_twice_and_named(hub):
    hub.spoil = 9
    refused("gpt2", ValueError, "model.safetensors is damaged", "SHA-256", "HF_ENDPOINT")
    assert len(hub.asked("GET")) == 2


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_is_damaged_in_the_cache_is_fetched_again(hub, name, links, monkeypatch):
    """Without links, as on some Windows machines, the cache holds the files themselves."""
    monkeypatch.setattr(file_download, "are_symlinks_supported", lambda cache_dir=None: links)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_SYMLINKS_WARNING", True)
    file = fetch("gpt2") / name
    content = file.read_bytes()
    assert file.is_symlink() == links
    file.write_bytes(content[:-2] + b" " + content[-1:])
    hub.requests.clear()
    assert (fetch("gpt2") / name).read_bytes() == content
    assert [asked[1] for asked in hub.requests if asked[0] == "GET"] == [name]


def test_a_file_that_is_damaged_in_the_cache_is_not_used_offline(hub, monkeypatch):
    file = fetch("gpt2") / "config.json"
    file.write_bytes(file.read_bytes() + b" ")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    refused("gpt2", FileNotFoundError, "config.json", "unset HF_HUB_OFFLINE=1 to fetch it")


def test_a_mirror_that_sends_another_commit_is_refused(hub):
    """Else config and weights of two commits could get into one folder."""
    hub.lies = [{"X-Repo-Commit": "0" * 40}] * 9
    refused("gpt2", ValueError, "another commit", "HF_ENDPOINT")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_link_in_a_copied_cache_is_replaced_and_its_target_is_left_alone(hub, tmp_path, name):
    link, diary = fetch("gpt2") / name, tmp_path / "diary.txt"
    content = link.read_bytes()
    diary.write_text("the user's")
    link.unlink()
    link.symlink_to(diary)
    assert (fetch("gpt2") / name).read_bytes() == content
    assert diary.read_text() == "the user's"


@pytest.mark.parametrize("honest", [0, 2])
def test_a_mirror_whose_digest_is_a_path_overwrites_no_file(hub, tmp_path, honest):
    """The library makes a file's name of it; see what is not promised, in book/rely.md."""
    hub.lies = [{}] * honest + [
        {"ETag": '"../../../\x9bevil"', "X-Linked-ETag": '"../../../evil"'}
    ] * 99
    hub.spoil = 99
    for name in ("evil", "\x9bevil"):
        (tmp_path / name).write_text("the user's")
    for _ in range(3):
        assert refused("gpt2", ValueError, "evil").isprintable()
    for name in ("evil", "\x9bevil"):
        assert (tmp_path / name).read_text() == "the user's"


# ---- Offline ------------------------------------------------------------------------------------


def test_offline_with_a_filled_cache_needs_no_request(hub, monkeypatch):
    online = GPT2.from_pretrained("gpt2")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    hub.requests.clear()
    assert_same_weights(GPT2.from_pretrained("gpt2"), online)
    assert hub.requests == []


# ---- As a user runs it --------------------------------------------------------------------------


@pytest.mark.thorough
def test_settings_of_the_environment_decide_and_a_bar_shows_the_progress(published, tmp_path):
    code = f"""
from gpt2_edu import GPT2
from gpt2_edu.hub import PUBLISHED, Published
PUBLISHED["gpt2"] = Published({REPO!r}, {COMMIT!r}, {as_published(published).sha256!r})
GPT2.from_pretrained("gpt2").save_pretrained({str(tmp_path / "saved")!r})
"""
    kept = {k: v for k, v in os.environ.items() if "PROXY" not in k.upper() and k[:3] != "HF_"}
    kept["PYTHONPATH"] = str(Path(gpt2_edu.__file__).parent.parent)
    with StandInHub() as hub:
        hub.publish(REPO, COMMIT, published)
        settings = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path), "HF_TOKEN": "hf_stand_in"}
        settings["TQDM_POSITION"] = "-1"  # draw the bar, though this is no terminal
        command = [sys.executable, "-W", "error", "-c", code]
        done = subprocess.run(command, env=kept | settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert_same_weights(GPT2.from_pretrained(tmp_path / "saved"), GPT2.from_pretrained(published))
    assert "model.safetensors" in done.stderr and "100%" in done.stderr
    assert "warn" not in done.stderr.lower()
