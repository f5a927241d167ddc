"""Checkpoints: complete or absent, checked before use, readable without this program."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from gpt2_edu import GPT2, weights
from gpt2_edu.checkpoints import newest_checkpoint
from gpt2_edu.trainer import Trainer
from gpt2_edu.training import checkpoint as ck
from gpt2_edu.training.randomness import random_state, set_random_state
from tests.training.small_run import result, small_config


@pytest.fixture
def run(finished, tmp_path):
    """A run of 12 steps with checkpoints after 9 and 12."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


def refused(run, *parts: str) -> str:
    with pytest.raises(ValueError) as caught:
        newest_checkpoint(run)
    assert all(part in str(caught.value) for part in parts), caught.value
    return str(caught.value)


def test_a_checkpoint_opens_as_a_model_here_and_in_transformers(run):
    import transformers

    newest = newest_checkpoint(run)
    model = GPT2.from_pretrained(newest)
    theirs = transformers.GPT2LMHeadModel.from_pretrained(newest).eval()
    idx = torch.arange(11).unsqueeze(0)
    torch.testing.assert_close(model(idx)[0], theirs(idx).logits, rtol=1e-5, atol=1e-5)


def test_a_run_folder_holds_what_the_layout_says_and_nothing_pickled(run):
    files = {str(p.relative_to(run)) for p in run.rglob("*") if p.is_file()}
    names = ("config.json", "model.safetensors", "optimizer.safetensors", "state.json")
    expected = {f"checkpoints/step-{step:08}/{name}" for step in (9, 12) for name in names}
    assert files == expected | {"run.json", "log.jsonl"}
    tensors = load_file(run / "checkpoints/step-00000012/optimizer.safetensors")
    assert tensors["transformer.h.1.mlp.c_fc.weight.exp_avg"].shape == (84, 21)
    assert tensors["transformer.ln_f.bias.step"] == 12
    assert not any("lm_head" in name for name in tensors)


FILES = ("config.json", "model.safetensors", "optimizer.safetensors", "state.json")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", ["missing", "cut off", "changed"])
def test_a_damaged_file_is_named_with_the_way_out(run, name, kind):
    newest, older = run / "checkpoints/step-00000012", run / "checkpoints/step-00000009"
    path = newest / name
    raw = path.read_bytes()
    if kind == "missing":
        path.unlink()
    else:
        at = raw.index(b"1") if name.endswith("json") else len(raw) - 7  # JSON stays valid
        flipped = raw[:at] + bytes([raw[at] ^ 2]) + raw[at + 1 :]
        path.write_bytes(raw[:-9] if kind == "cut off" else flipped)
    message = refused(run, f"{newest} is damaged", name, f"{older} is intact", "resume again")
    if kind != "changed" and name != "state.json":
        assert kind in message

    mv, source, target = message.splitlines()[-1].split()
    assert mv == "mv"
    os.rename(source, target)
    assert newest_checkpoint(run) == older


def test_any_flipped_bit_of_the_state_is_noticed(run):
    path = run / "checkpoints/step-00000012/state.json"
    raw = path.read_bytes()
    for at in random.Random(0).sample(range(len(raw)), 53):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
        refused(run, "state.json")
    path.write_bytes(raw)
    assert newest_checkpoint(run) == path.parent


def test_an_older_checkpoint_that_cannot_be_compared_is_refused_too(run):
    (run / "checkpoints/step-00000009/state.json").write_text("{}")
    with pytest.raises(ValueError, match=r"step-00000009/state.json is damaged"):
        Trainer.resume(run).train()
    (run / "checkpoints/step-00000012/model.safetensors").unlink()
    assert "mv" not in refused(run, "No checkpoint of this run is intact", "start a new run")


def test_a_checkpoint_of_a_later_version_is_not_guessed_at(run):
    path = run / "checkpoints/step-00000012/state.json"
    document = json.loads(path.read_text())
    del document["sha256"]
    document["version"] = 2
    path.write_text(json.dumps(document | {"sha256": ck.digest(document)}))
    refused(run, "another format", "version 1")


def test_everything_is_on_the_disk_before_it_takes_its_name(tmp_path, monkeypatch):
    done, sync, rename = [], ck.sync, os.rename
    monkeypatch.setattr(ck, "sync", lambda path: done.append(path.name) or sync(path))
    monkeypatch.setattr(os, "rename", lambda a, b: done.append("renamed") or rename(a, b))
    (left := tmp_path / ".unfinished-step-00000001").mkdir()  # by an earlier attempt
    (left / "c").touch()
    with ck.atomic_folder(tmp_path / "step-00000001") as part:
        for name in ("a", "b"):
            (part / name).write_text("1")
    assert sorted(done[:2]) == ["a", "b"]
    assert done[2:] == [".unfinished-step-00000001", "renamed", tmp_path.name]


def test_what_a_kill_leaves_is_no_checkpoint_and_is_cleaned_away(run, monkeypatch):
    """In the middle of a save, or of a removal."""
    shutil.copytree(
        run / "checkpoints/step-00000012", run / "checkpoints/.unfinished-step-00000013"
    )
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda path, ignore_errors=False: None)  # killed before
        ck.remove(run / "checkpoints/step-00000009")
    assert [path.name for path in ck.checkpoints(run)] == ["step-00000012"]
    ck.clean(run)
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["step-00000012"]


@pytest.mark.parametrize("full_at", ["model.safetensors", "optimizer.safetensors"])
@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        SafetensorError("Error while serializing: I/O error: No space left on device"),
    ],
)
def test_a_full_disk_keeps_the_old_checkpoint_and_the_run_goes_on_later(
    data, finished, tmp_path, monkeypatch, full_at, error
):
    def write_until_full(tensors, path, metadata=None):
        save_file(tensors, path, metadata)
        if path.name == f"{full_at}.part" and "step-00000006" in str(path):
            os.truncate(path, 99)
            raise error

    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(weights, "save_file", write_until_full)
        with pytest.raises(OSError) as caught:
            Trainer(small_config(data, out)).train()
    assert "the disk is full" in str(caught.value) and "step-00000006" in str(caught.value)
    assert [path.name for path in ck.checkpoints(out)][-1] == "step-00000004"
    assert not list((out / "checkpoints").glob(".unfinished*"))
    Trainer.resume(out).train()
    assert result(out) == result(finished)


def make_checkpoints(run, losses):
    """Checkpoints without weights, one for each validation loss."""
    files = (ck.CONFIG, ck.WEIGHTS, ck.OPTIMIZER)
    (run / "checkpoints").mkdir()
    for step, loss in enumerate(losses, start=1):
        with ck.atomic_folder(ck.checkpoint_path(run, step)) as part:
            document = {
                "format": ck.FORMAT,
                "version": ck.VERSION,
                "files": {name: {"bytes": 0, "sha256": ""} for name in files},
                "state": {"step": step, "val_loss": loss, "best": None, "loader": {}}
                | {"scaler": {}, "random": [], "sequences_per_step": 1, "config": {}},
            }
            document["sha256"] = ck.digest(document)
            (part / "state.json").write_text(json.dumps(document))


@pytest.mark.parametrize(
    "losses, kept",
    [
        ([3.0, 1.0, 2.0, 2.5, 2.4], [2, 4, 5]),  # the best is old
        ([3.0, 2.0, 2.0, 2.5, 2.4], [2, 4, 5]),  # of two equal ones the first
        ([3.0, None, 2.0, None, 1.0], [4, 5]),  # the best is new
        ([None, None, None], [2, 3]),  # never validated
    ],
)
def test_the_newest_and_the_best_are_kept_and_a_worse_one_never_takes_its_place(
    tmp_path, losses, kept
):
    make_checkpoints(tmp_path, losses)
    ck.prune(tmp_path, keep=2)
    assert [int(path.name[-8:]) for path in ck.checkpoints(tmp_path)] == kept


def test_checkpoints_are_ordered_by_number_also_beyond_eight_digits(tmp_path):
    for step in (99_999_999, 100_000_000, 7):
        ck.checkpoint_path(tmp_path, step).mkdir(parents=True)
    (tmp_path / "checkpoints/step-12.old").mkdir()
    steps = [int(path.name.removeprefix("step-")) for path in ck.checkpoints(tmp_path)]
    assert steps == [7, 99_999_999, 100_000_000]


def test_the_generator_goes_on_where_it_stood():
    state = json.loads(json.dumps(random_state(torch.device("cpu"))))
    first = torch.rand(5)
    set_random_state(state, torch.device("cpu"))
    assert torch.equal(torch.rand(5), first)


def test_the_random_state_of_a_gpu_is_that_of_the_runs(monkeypatch):
    """Not of the current device, which may be another one."""
    device, states = torch.device("cuda", 1), {}
    monkeypatch.setattr(
        torch.cuda, "get_rng_state", lambda of: torch.tensor([of.index] * 16).byte()
    )
    monkeypatch.setattr(
        torch.cuda, "set_rng_state", lambda state, of: states.update({of: state.tolist()})
    )
    set_random_state(json.loads(json.dumps(random_state(device))), device)
    assert states == {device: [1] * 16}


def test_the_random_state_of_the_caller_does_not_leak_into_a_run(data, finished, tmp_path):
    torch.manual_seed(99)
    Trainer(small_config(data, tmp_path / "run")).train()
    assert result(tmp_path / "run") == result(finished)
