"""What a run loses when something happens to its folder: nothing that it does not say."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gpt2_edu.checkpoints import checkpoints, damage, weights_folder
from gpt2_edu.cli import main
from gpt2_edu.machine import files
from gpt2_edu.machine.files import locked
from gpt2_edu.trainer import Trainer
from gpt2_edu.training.config import LOG, SETTINGS
from tests.training.small_run import (
    before_each_step,
    press_ctrl_c,
    result,
    small_config,
    story,
    write_shards,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_shards(tmp_path_factory.mktemp("data") / "shards")


@pytest.fixture(scope="module")
def undisturbed(data, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    Trainer(small_config(data, out)).train()
    return out


@pytest.fixture
def stopped(data, tmp_path) -> Path:
    """A run that was stopped after step 5, with a checkpoint there and one after step 3."""
    Trainer(small_config(data, tmp_path / "run"), on_log=press_ctrl_c(5)).train()
    return tmp_path / "run"


def flip(path: Path, at: int = -9) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def test_one_flipped_byte_never_writes_another_text(stopped):
    newest = checkpoints(stopped)[-1]
    flip(newest / "model.safetensors")
    for name in (stopped, newest):
        with pytest.raises(ValueError, match="other bytes than were written"):
            weights_folder(name, "last")


def test_two_trainers_do_not_mix_their_runs(data, tmp_path, undisturbed):
    out = tmp_path / "run"
    entered, go_on = threading.Event(), threading.Event()

    def wait(row):
        if row["step"] == 2:
            entered.set()
            go_on.wait(60)

    first = Trainer(small_config(data, out), on_log=wait)
    thread = threading.Thread(target=first.train)
    thread.start()
    entered.wait(60)
    for second in (small_config(data, out, seed=1), small_config(data, out, resume=True)):
        with pytest.raises(ValueError, match="another process is writing to"):
            Trainer(second).train()
    go_on.set()
    thread.join()
    assert result(out) == result(undisturbed)


def test_edited_settings_do_not_make_another_run_of_it(stopped):
    settings = json.loads((stopped / SETTINGS).read_text())
    (stopped / SETTINGS).write_text(json.dumps(settings | {"n_embd": 24}))
    with pytest.raises(ValueError, match="n_embd was 21, is now 24"):
        Trainer.resume(stopped).train()


@pytest.mark.parametrize("damage", [b"\xff\xfe\n", b"[1]\n", b'{"step": "x"}\n', b"\0\n"])
def test_a_damaged_log_costs_no_run(stopped, undisturbed, damage, capsys):
    lines = (stopped / LOG).read_bytes().splitlines(keepends=True)
    broken = b"".join([*lines[:3], damage, *lines[3:]])
    (stopped / LOG).write_bytes(broken)
    Trainer.resume(stopped).train()
    said = capsys.readouterr()
    assert "log-damaged-" in said.out + said.err
    (kept,) = stopped.glob("log-damaged-*.jsonl")
    assert kept.read_bytes() == broken
    assert result(stopped) == result(undisturbed)


def test_a_resume_removes_no_file_of_the_user(stopped, undisturbed):
    theirs = [stopped / "mine.part", stopped / "checkpoints" / ".unfinished-thesis"]
    for path in (*theirs, stopped / "log.jsonl.part"):
        path.write_text("the user's")
    Trainer.resume(stopped).train()
    assert all(path.read_text() == "the user's" for path in theirs)
    assert [path.name for path in stopped.glob("*.part")] == ["mine.part"]
    assert result(stopped) == result(undisturbed)


def test_links_stay_and_what_they_link_to_is_never_removed(stopped, undisturbed, tmp_path):
    """The newest checkpoint is resumed from, and later ones push it out; the log is rewritten."""
    disk = tmp_path / "disk"
    disk.mkdir()
    names = [path.name for path in checkpoints(stopped)]
    for path in (*checkpoints(stopped), stopped / LOG):
        path.rename(disk / path.name)
        path.symlink_to(disk / path.name)
    (stopped / "checkpoints/.unfinished-step-00000003").symlink_to(disk / names[0])
    Trainer.resume(stopped).train()
    assert result(stopped) == result(undisturbed)
    assert (stopped / LOG).is_symlink()
    assert not any(path.is_symlink() for path in checkpoints(stopped)[-2:])
    assert not any(damage(disk / name) for name in names)


@pytest.mark.skipif(sys.platform == "win32", reason="there an open folder cannot be removed")
def test_a_folder_that_was_removed_was_not_moved(tmp_path):
    with locked(tmp_path / "run") as handle:
        (tmp_path / "run").rmdir()
        assert files.moved_to(tmp_path / "run", handle) == ""
    assert files.moved_to(tmp_path / "run", -1) is None  # where nothing is locked


@pytest.mark.skipif(sys.platform == "win32", reason="there an open folder cannot be renamed")
@pytest.mark.parametrize("new", ["nothing", "a folder of the user"])
def test_a_run_folder_that_is_renamed_ends_the_run_and_nothing_goes_to_the_old_name(
    data, tmp_path, undisturbed, new
):
    out, moved = tmp_path / "run", tmp_path / "moved"

    def rename(row):
        if row["step"] == 5:
            out.rename(moved)
            if new != "nothing":
                out.mkdir()
                (out / "run.json").write_text("the user's")

    with pytest.raises(OSError) as error:
        Trainer(small_config(data, out), on_log=rename).train()
    assert f"{out} was moved to {moved}" in str(error.value)
    held = [path.name for path in out.iterdir()] if out.exists() else []
    assert held == ([] if new == "nothing" else ["run.json"])
    Trainer.resume(moved).train()
    assert result(moved) == result(undisturbed)


@pytest.mark.skipif(sys.platform == "win32", reason="there an open folder cannot be renamed")
@pytest.mark.parametrize("gone", ["moved", "removed"])
def test_a_checkpoint_notices_that_its_folder_is_gone(data, tmp_path, gone):
    out = tmp_path / "run"
    rare = {"log_every": 100, "eval_every": 0, "sample_every": 0}

    def act(trainer):
        if trainer.step == 4:
            out.rename(tmp_path / "moved") if gone == "moved" else shutil.rmtree(out)

    with before_each_step(act), pytest.raises(OSError, match=f"{out} was {gone}"):
        Trainer(small_config(data, out, **rare)).train()
    assert not out.exists()


def test_a_folder_that_cannot_be_made_is_named(data, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nothing")
    for out in (link, *(Path(p) for p in ["/proc/run"] if Path("/proc").is_dir())):
        with pytest.raises(ValueError, match=str(out)):
            Trainer(small_config(data, out)).train()


def test_a_start_that_fails_leaves_the_folder_free(data, tmp_path):
    out = tmp_path / "run"
    out.mkdir()
    (out / "diary.txt").write_text("the user's")

    def no_memory(trainer):
        raise MemoryError

    with before_each_step(no_memory), pytest.raises(ValueError, match="not enough memory"):
        Trainer(small_config(data, out)).train()
    assert [path.name for path in out.iterdir()] == ["diary.txt"]
    Trainer(small_config(data, out, steps=4, batch_size=2)).train()


def test_a_kill_before_pruning_leaves_no_checkpoint_too_many(data, tmp_path, monkeypatch):
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr("gpt2_edu.training.checkpoint.prune", lambda *args: None)
        Trainer(small_config(data, out, keep=1), on_log=press_ctrl_c(7)).train()
    many = len(checkpoints(out))
    Trainer(small_config(data, out, keep=1, resume=True), on_log=press_ctrl_c(8)).train()
    assert len(checkpoints(out)) <= 2 < many


def test_a_damaged_state_is_named_and_leads_to_the_intact_checkpoint(stopped):
    newest = checkpoints(stopped)[-1]
    for state in (b"[]", b"{}", b"[" * 99_999, b'{"sha256": 1}', b"\xed\xa0\x80"):
        (newest / "state.json").write_bytes(state)
        with pytest.raises(ValueError, match="is intact") as error:
            Trainer.resume(stopped).train()
        said = str(error.value)
        assert str(newest / "state.json") in said
        assert len(said) < 1000 and said.replace("\n", "").isprintable()


def test_a_lock_that_its_process_left_is_free(tmp_path):
    code = (
        "import os, pathlib, sys; from gpt2_edu.machine.files import locked\n"
        "with locked(pathlib.Path(sys.argv[1])): os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "x")]).returncode == 9
    with locked(tmp_path / "x"):
        pass
    assert (tmp_path / "x").is_dir(), "a folder that was there stays"


def test_who_is_refused_leaves_the_folder_to_the_other(tmp_path, monkeypatch):
    """Both made it; the other one was faster and has written nothing yet."""
    lock, others = files._lock, []

    def late(folder, until):
        others.append(lock(folder, until))
        return lock(folder, until)

    monkeypatch.setattr(files, "_lock", late)
    with pytest.raises(BlockingIOError, match="another process"), locked(tmp_path / "x"):
        pass
    assert (tmp_path / "x").is_dir()
    os.close(others[0])


def test_who_waits_for_a_folder_that_is_taken_away_makes_it_anew(tmp_path):
    folder, ready = tmp_path / "x", threading.Event()

    def wait_and_write():
        ready.set()
        with locked(folder, wait=30):
            (folder / "file").write_text("here")

    waiting = threading.Thread(target=wait_and_write)
    with locked(folder):  # and nothing is written, so that it goes
        waiting.start()
        ready.wait()
        time.sleep(0.1)
    waiting.join()
    assert (folder / "file").read_text() == "here"


def test_a_stopped_training_is_no_success(data, tmp_path, capsys):
    """`gpt2-edu train … && gpt2-edu export …` stops there."""
    out = tmp_path / "run"
    words = "--n-layer 1 --n-head 1 --n-embd 8 --block-size 13 --steps 5000 --prompt a --quiet "
    words += "--sample-every 0 --eval-every 0 --log-every 1 --device cpu"
    with (
        before_each_step(lambda run: run.step == 3 and os.kill(os.getpid(), signal.SIGINT)),
        pytest.raises(SystemExit) as left,
    ):
        main(["train", "--data", str(data), "--out", str(out), *words.split()])
    assert left.value.code == 130
    assert f"gpt2-edu train --out {out} --resume" in "".join(capsys.readouterr())
    assert story(out)
