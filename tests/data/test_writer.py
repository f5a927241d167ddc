"""The same bytes however often a preparation was killed, and no folder overwritten unasked."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import gpt2_edu.data.prepare
from gpt2_edu.data import TokenShards
from gpt2_edu.machine.files import locked
from tests.data.helpers import STORIES, content, refused, run

# ---- The same bytes ---------------------------------------------------------------------------


def test_the_number_of_threads_changes_no_byte(tmp_path, jsonl, small_pieces):
    run(tmp_path, jsonl, out=str(tmp_path / "one"), workers=1, val_fraction=0.2)
    run(tmp_path, jsonl, out=str(tmp_path / "five"), workers=5, val_fraction=0.2)
    assert content(tmp_path / "one") == content(tmp_path / "five")
    assert json.loads(content(tmp_path / "one")["header.json"])["documents"] == 61


STEPS = ["fsync", "replace", "truncate", "unlink"]


@pytest.mark.parametrize("one_file", [True, False])
def test_a_preparation_that_stops_at_any_step_ends_with_the_same_bytes(
    tmp_path, jsonl, small_pieces, monkeypatch, one_file
):
    """Stops it before its n-th change of the disk, for every n, until a run comes through."""
    source = jsonl
    source.write_text("\n".join(jsonl.read_text().splitlines()[:23]))
    if one_file:  # the validation split is cut from the end, which moves files about
        source = tmp_path / "play.txt"
        source.write_text("".join(STORIES[:17]))
    run(tmp_path, source, out=str(tmp_path / "undisturbed"), val_fraction=0.2, workers=1)
    wanted = content(tmp_path / "undisturbed")

    class PowerCut(BaseException):
        pass

    def stop_at(n):
        left = [n]

        def counted(function):
            def call(*args, **kwargs):
                left[0] -= 1
                if left[0] < 0:
                    raise PowerCut
                return function(*args, **kwargs)

            return call

        return counted

    for step in range(1000):
        out = tmp_path / f"out{step}"
        with monkeypatch.context() as patch:
            counted = stop_at(step)
            for name in STEPS:
                patch.setattr(os, name, counted(getattr(os, name)))
            patch.setattr(Path, "unlink", counted(Path.unlink))
            try:
                run(tmp_path, source, out=str(out), val_fraction=0.2, workers=1)
                break
            except PowerCut:
                pass
        if not (out / "header.json").exists():
            with pytest.raises((FileNotFoundError, ValueError)):
                TokenShards(out)
        run(tmp_path, source, out=str(out), val_fraction=0.2, workers=2)
        assert content(out) == wanted, f"stopped at step {step}"
    assert step > 30


CHILD = """
import os, sys, time
import gpt2_edu.data.prepare as p, gpt2_edu.data.sources as s, gpt2_edu.data.writer as w
s.BLOCK_BYTES, p.BATCH_CHARACTERS, w.COMMIT_SECONDS = 4001, 3001, 0.01
slow = p._encode
p._encode = lambda *a: (os.write(1, b"working\\n"), time.sleep(0.005), slow(*a))[2]
p.prepare(p.PrepareConfig(sources=(sys.argv[1],), out=sys.argv[2], workers=2,
                          shard_tokens=9973, val_fraction=0.1))
"""


def test_kill_9_at_random_moments_changes_no_byte(tmp_path):
    path = tmp_path / "stories.txt"
    path.write_text("".join(STORIES) * 150)
    header = run(tmp_path, path, shard_tokens=9973, val_fraction=0.1)
    generator, kept, kills = random.Random(0), [], 0
    command = [sys.executable, "-c", CHILD, str(path), str(tmp_path / "killed")]
    environment = os.environ | {"PYTHONPATH": str(Path(gpt2_edu.__file__).parents[1])}
    for _ in range(5):
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as child:
            if kills < 3:
                for _ in range(generator.randint(15, 40)):  # pieces begun, whatever time they take
                    assert child.stdout.readline() == b"working\n"
                time.sleep(generator.uniform(0, 0.01))
                child.send_signal(signal.SIGKILL)
            child.stdout.read()
        code = child.returncode
        if code == 0:
            break
        kills += 1
        record = tmp_path / "killed" / "unfinished.json"
        kept.append(json.loads(record.read_text())["batches"] if record.exists() else 0)
    assert code == 0
    assert kills == 3 and kept == sorted(kept) and kept[-1] > 0  # work was kept each time
    # The source is named as before, so that the headers can be the same too.
    assert content(tmp_path / "killed") == content(tmp_path / "out")
    assert header.tokens("val") > 9973


def test_finished_work_is_not_done_twice(tmp_path, jsonl, small_pieces, monkeypatch):
    encoded = []
    encode = gpt2_edu.data.prepare._encode

    def dies_at_the_seventh(batch, *rest):
        encoded.append(batch)
        if len(encoded) == 7:
            raise OSError("No space left on device")
        return encode(batch, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(gpt2_edu.data.prepare, "_encode", dies_at_the_seventh)
        with pytest.raises(OSError, match="No space left"):
            run(tmp_path, jsonl, workers=1)
    done = json.loads((tmp_path / "out" / "unfinished.json").read_text())["batches"]
    assert done == 6

    again = []
    with monkeypatch.context() as patch:
        patch.setattr(gpt2_edu.data.prepare, "_encode", lambda *a: again.append(a[0]) or encode(*a))
        run(tmp_path, jsonl, workers=1)
    assert again[0] == encoded[6]


def test_stopped_after_its_header_a_preparation_has_nothing_left_to_do(
    tmp_path, jsonl, monkeypatch
):
    unlink = Path.unlink

    def dies(path, missing_ok=False):
        if path.name == "unfinished.json":
            raise KeyboardInterrupt
        unlink(path, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", dies)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, jsonl)
    before = content(tmp_path / "out")
    monkeypatch.setattr(gpt2_edu.data.prepare, "_encode_all", pytest.fail)
    assert run(tmp_path, jsonl) == TokenShards(tmp_path / "out").header
    assert before.pop("unfinished.json")
    assert content(tmp_path / "out") == before


# ---- The folder -------------------------------------------------------------------------------


def stopped(tmp_path, source, monkeypatch) -> None:
    """Leaves an unfinished preparation with some work in it."""
    encode = gpt2_edu.data.prepare._encode
    calls = []

    def dies(*args):
        calls.append(args)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return encode(*args)

    with monkeypatch.context() as patch:
        patch.setattr(gpt2_edu.data.prepare, "_encode", dies)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, source, workers=1)


def test_another_preparation_in_an_unfinished_folder_says_what_differs(
    tmp_path, jsonl, small_pieces, monkeypatch
):
    stopped(tmp_path, jsonl, monkeypatch)
    before = content(tmp_path / "out")
    parts = ("not this one", "seed was 0, is now 7", "overwrite=True", "run it again as it was")
    refused(lambda: run(tmp_path, jsonl, seed=7), *parts)
    os.utime(jsonl, (1, 1))
    refused(lambda: run(tmp_path, jsonl), "files (names, sizes, times) was")
    assert content(tmp_path / "out") == before  # nothing is lost

    run(tmp_path, jsonl, seed=7, overwrite=True)
    run(tmp_path, jsonl, seed=7, out=str(tmp_path / "fresh"))
    assert content(tmp_path / "out") == content(tmp_path / "fresh")


def test_finished_shards_are_kept_without_overwrite(tmp_path, jsonl):
    run(tmp_path, jsonl, shard_tokens=50)
    before = content(tmp_path / "out")
    refused(lambda: run(tmp_path, jsonl), "holds finished shards", "overwrite=True")
    refused(
        lambda: run(tmp_path, tmp_path / "nowhere", overwrite=True),
        "nowhere",
        kind=FileNotFoundError,
    )
    assert content(tmp_path / "out") == before
    run(tmp_path, jsonl, overwrite=True)
    assert len(content(tmp_path / "out")) < len(before)
    TokenShards(tmp_path / "out")


def test_a_folder_of_other_things_is_left_alone(tmp_path, jsonl):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    refused(lambda: run(tmp_path, jsonl), "not empty", "thesis.txt")
    run(tmp_path, jsonl, overwrite=True)
    assert (tmp_path / "out" / "thesis.txt").read_text() == "years of work"
    (tmp_path / "file").write_text("")
    refused(lambda: run(tmp_path, jsonl, out=str(tmp_path / "file")), "is a file")


def test_after_bad_input_the_folder_can_be_used_at_once(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("{broken")
    refused(lambda: run(tmp_path, path), "a.jsonl:1")
    path.write_text('{"text": "whole again"}')
    assert run(tmp_path, path).documents == 1


def test_a_record_without_its_files_is_refused(tmp_path, jsonl, small_pieces, monkeypatch):
    stopped(tmp_path, jsonl, monkeypatch)
    part = tmp_path / "out" / "train-00000.bin.part"
    os.truncate(part, 3)
    refused(lambda: run(tmp_path, jsonl), "train-00000.bin.part is missing or shorter")
    (tmp_path / "out" / "unfinished.json").write_text("{")
    refused(lambda: run(tmp_path, jsonl), "unfinished.json is damaged")


def test_two_preparations_do_not_write_to_one_folder(tmp_path, jsonl):
    (tmp_path / "out").mkdir()
    with locked(tmp_path / "out"):
        refused(lambda: run(tmp_path, jsonl), "another process is writing", kind=BlockingIOError)
    run(tmp_path, jsonl)


def test_the_output_may_not_lie_among_the_sources(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    refused(lambda: run(tmp_path, tmp_path), "lies inside the source")
