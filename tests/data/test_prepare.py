"""A preparation is whole or absent, splits its documents, and overwrites nothing unasked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpt2_edu.data import TokenShards
from gpt2_edu.data.prepare import PrepareConfig, is_for_validation
from gpt2_edu.machine.files import locked
from tests.data.helpers import ENCODING, EOT, STORIES, content, ids_of, refused, run


def test_takes_validation_from_the_end_of_one_document(tmp_path, small_pieces):
    text = "".join(STORIES)
    (tmp_path / "play.txt").write_text(text)
    header = run(tmp_path, tmp_path / "play.txt", val_fraction=0.2)
    train, val = ids_of(tmp_path / "out"), ids_of(tmp_path / "out", "val")
    assert train + val == [EOT, *ENCODING.encode_ordinary(text)]
    assert len(val) == round(0.2 * (len(train) + len(val))) > 97  # more than the last shard
    assert header.documents == 1


def test_few_documents_leave_a_validation_split_unless_unwanted(tmp_path, jsonl):
    jsonl.write_text("\n".join(jsonl.read_text().splitlines()[:3]))
    run(tmp_path, jsonl, val_fraction=0.05)
    train, val = ids_of(tmp_path / "out"), ids_of(tmp_path / "out", "val")
    assert len(val) == max(1, round(0.05 * (len(train) + len(val))))
    header = run(tmp_path, jsonl, val_fraction=0, overwrite=True)
    assert {shard.split for shard in header.shards} == {"train"}


def test_draws_by_number_and_seed():
    drawn = [[is_for_validation(i, seed, 0.1) for i in range(20000)] for seed in (0, 1)]
    assert drawn[0] != drawn[1]
    assert all(1800 < sum(of_seed) < 2200 for of_seed in drawn)
    assert not any(is_for_validation(0, seed, 0.9) for seed in range(9))  # the first always trains
    # A larger fraction keeps what a smaller one drew.
    assert all(is_for_validation(i, 0, 0.2) for i in range(20000) if drawn[0][i])


@pytest.mark.parametrize(
    "wrong, kind",
    [
        ({"sources": ()}, ValueError),
        ({"sources": "a.txt"}, TypeError),
        ({"val_fraction": 1.0}, ValueError),
        ({"val_fraction": -0.1}, ValueError),
        ({"shard_tokens": 0}, ValueError),
        ({"workers": 0}, ValueError),
        ({"workers": 1.5}, TypeError),
        ({"errors": "ignore"}, ValueError),
    ],
)
def test_refuses_settings_by_name(wrong, kind):
    refused(lambda: PrepareConfig(**({"sources": ("a",), "out": "b"} | wrong)), *wrong, kind=kind)


def test_threads_change_no_byte(tmp_path, jsonl, small_pieces):
    for name, workers in (("one", 1), ("five", 5)):
        run(tmp_path, jsonl, out=str(tmp_path / name), workers=workers, val_fraction=0.2)
    assert content(tmp_path / "one") == content(tmp_path / "five")


class PowerCut(BaseException):
    """What no handler catches."""


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_kill_at_any_step_leaves_old_new_or_nothing(
    tmp_path, jsonl, small_pieces, monkeypatch, overwrite
):
    """Stops it before its n-th change of the disk, for every n, until a run comes through."""
    jsonl.write_text("\n".join(jsonl.read_text().splitlines()[:23]))
    run(tmp_path, jsonl, out=str(tmp_path / "undisturbed"), val_fraction=0.2)
    wanted, new = content(tmp_path / "undisturbed"), TokenShards(tmp_path / "undisturbed").header
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
            for place, name in (
                (os, "fsync"), (os, "replace"), (os, "rename"), (Path, "unlink"), (Path, "mkdir"),
            ):  # fmt: skip
                patch.setattr(place, name, counted(getattr(place, name)))
            patch.setattr("shutil.rmtree", counted(lambda *args, **kwargs: None))
            try:
                run(tmp_path, jsonl, out=str(out), val_fraction=0.2, overwrite=overwrite)
                break
            except PowerCut:
                pass
        if (out / "header.json").exists():
            assert TokenShards(out).header in (old, new)
        again = overwrite or (out / "header.json").exists()
        run(tmp_path, jsonl, out=str(out), val_fraction=0.2, overwrite=again)
        assert content(out) == wanted, f"stopped at step {step}"
    assert step > 10


def test_replaces_finished_shards_only_on_request_and_with_success(tmp_path, jsonl):
    run(tmp_path, jsonl, shard_tokens=50)
    before, text = content(tmp_path / "out"), jsonl.read_text()
    refused(lambda: run(tmp_path, jsonl), "holds finished shards", "overwrite=True")
    jsonl.write_text("{broken")
    refused(lambda: run(tmp_path, jsonl, overwrite=True), "stories.jsonl:1")
    assert content(tmp_path / "out") == before
    jsonl.write_text(text)
    run(tmp_path, jsonl, overwrite=True)
    assert len(content(tmp_path / "out")) < len(before)
    TokenShards(tmp_path / "out")


def test_leaves_a_folder_of_other_things_alone(tmp_path, jsonl):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    refused(lambda: run(tmp_path, jsonl), "not empty", "thesis.txt")
    run(tmp_path, jsonl, overwrite=True)
    assert (tmp_path / "out" / "thesis.txt").read_text() == "years of work"
    refused(lambda: run(tmp_path, tmp_path), "lies inside the source")
    refused(lambda: run(tmp_path, jsonl, out=str(jsonl)), "lies inside the source")


def test_refuses_a_folder_in_use(tmp_path, jsonl):
    (tmp_path / "out").mkdir()
    with locked(tmp_path / "out"):
        refused(lambda: run(tmp_path, jsonl), "another process is writing", kind=BlockingIOError)
    run(tmp_path, jsonl)
