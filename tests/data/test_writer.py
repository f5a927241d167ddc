"""A preparation is whole or absent, and no folder is overwritten unasked."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gpt2_edu.data import TokenShards
from gpt2_edu.machine.files import locked
from tests.data.helpers import STORIES, content, refused, run


def test_the_number_of_threads_changes_no_byte(tmp_path, jsonl, small_pieces):
    run(tmp_path, jsonl, out=str(tmp_path / "one"), workers=1, val_fraction=0.2)
    run(tmp_path, jsonl, out=str(tmp_path / "five"), workers=5, val_fraction=0.2)
    assert content(tmp_path / "one") == content(tmp_path / "five")
    assert json.loads(content(tmp_path / "one")["header.json"])["documents"] == 61


class PowerCut(BaseException):
    """What no handler catches."""


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_preparation_killed_at_any_step_is_old_new_or_refused(
    tmp_path, jsonl, small_pieces, monkeypatch, overwrite
):
    """Stops it before its n-th change of the disk, for every n, until a run comes through."""
    jsonl.write_text("\n".join(jsonl.read_text().splitlines()[:23]))
    run(tmp_path, jsonl, out=str(tmp_path / "undisturbed"), val_fraction=0.2)
    wanted = content(tmp_path / "undisturbed")
    play = tmp_path / "play.txt"
    play.write_text("".join(STORIES[:9]))

    for step in range(1000):
        out, left = tmp_path / f"out{step}", [step]
        old = run(tmp_path, play, out=str(out)) if overwrite else None

        def counted(function, left=left):
            def call(*args, **kwargs):
                left[0] -= 1
                if left[0] < 0:
                    raise PowerCut
                return function(*args, **kwargs)

            return call

        with monkeypatch.context() as patch:
            for name in ("fsync", "replace", "rename"):
                patch.setattr(os, name, counted(getattr(os, name)))
            for name in ("unlink", "mkdir"):
                patch.setattr(Path, name, counted(getattr(Path, name)))
            patch.setattr("shutil.rmtree", counted(lambda *args, **kwargs: None))
            try:
                run(tmp_path, jsonl, out=str(out), val_fraction=0.2, overwrite=overwrite)
                break
            except PowerCut:
                pass
        if (out / "header.json").exists():
            assert TokenShards(out).header in (old, TokenShards(tmp_path / "undisturbed").header)
        elif out.exists():
            with pytest.raises((FileNotFoundError, ValueError)):
                TokenShards(out)
        again = overwrite or (out / "header.json").exists()
        run(tmp_path, jsonl, out=str(out), val_fraction=0.2, overwrite=again)
        assert content(out) == wanted, f"stopped at step {step}"
    assert step > 10


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


def test_a_failed_preparation_keeps_the_shards_that_it_was_to_replace(tmp_path, jsonl):
    run(tmp_path, jsonl)
    before = content(tmp_path / "out")
    jsonl.write_text("{broken")
    refused(lambda: run(tmp_path, jsonl, overwrite=True), "stories.jsonl:1")
    assert content(tmp_path / "out") == before


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


def test_two_preparations_do_not_write_to_one_folder(tmp_path, jsonl):
    (tmp_path / "out").mkdir()
    with locked(tmp_path / "out"):
        refused(lambda: run(tmp_path, jsonl), "another process is writing", kind=BlockingIOError)
    run(tmp_path, jsonl)


def test_the_output_may_not_lie_among_the_sources(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    refused(lambda: run(tmp_path, tmp_path), "lies inside the source")
