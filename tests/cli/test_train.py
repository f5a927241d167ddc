"""gpt2-edu prepare and train: from text to a model that writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def shards(run, tmp_path) -> Path:
    """A few hundred tokens to train on."""
    (tmp_path / "crane.txt").write_text("A crane ate fish. A crane lifted steel. " * 60)
    said = run("prepare", tmp_path / "crane.txt", "--out", tmp_path / "shards", "--workers", 1)
    assert "tokens" in said
    assert f"gpt2-edu train --data {tmp_path / 'shards'}" in said
    return tmp_path / "shards"


TINY = (
    "--n-layer 1 --n-head 2 --n-embd 8 --block-size 16 --batch-size 2 --warmup-steps 2 --steps 8 "
    "--eval-every 4 --sample-every 0 --precision float32 --lr 0.01 --min-lr 0.001"
).split()


def test_text_becomes_a_model_that_writes(run, refused, shards, tmp_path):
    out = tmp_path / "run"
    said = run("train", "--data", shards, "--out", out, *TINY)
    assert "8 steps" in said
    assert f"--model {out}" in said
    rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    assert rows[-1]["step"] == 8
    assert "already holds a run" in refused("train", "--data", shards, "--out", out, *TINY)

    assert "8 steps" in run("train", "--out", out, "--resume")  # nothing left to do
    said = refused("train", "--out", out, "--resume", "--lr", 0.02)
    assert "lr was 0.01, is now 0.02" in said
    assert "is now" not in said.replace("lr was 0.01, is now 0.02", "")

    words = ["--max-new-tokens", 5, "--seed", 0]
    assert run("generate", "A crane", "--model", out, *words).startswith("A crane")
    run("export", out, "--out", tmp_path / "mine")
    newest = sorted((out / "checkpoints").iterdir())[-1]
    assert run("inspect", tmp_path / "mine") == run("inspect", newest) == run("inspect", out)


def test_what_is_wrong_with_a_run_is_said_in_a_sentence(refused, shards, tmp_path):
    out = tmp_path / "run"
    for words, part in [
        (["--data", tmp_path / "nowhere"], "no folder"),
        (["--data", shards, "--model", "gpt3"], "Did you mean"),
        (["--data", shards, "--block-size", 1000, *TINY[:6]], "1,000"),
    ]:
        said = refused("train", "--out", out, *words)
        assert part in said, said
        assert not out.exists(), words
    assert "no run to resume" in refused("train", "--out", out, "--resume")


def test_a_crane_that_cannot_begin_writes_no_story(refused, tmp_path):
    """Before 56,000 stories are written for nothing, or beside what somebody keeps there."""
    (tmp_path / "diary.txt").write_text("the user's")
    assert "is not empty: it holds diary.txt" in refused("crane", "--out", tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/run.json").write_text("{}")
    said = refused("crane", "--out", tmp_path)
    assert f"gpt2-edu train --out {tmp_path}/run --resume" in said and "--overwrite" not in said
    assert "seed must be at least 0" in refused("crane", "--out", tmp_path / "new", "--seed", -1)
    assert not (tmp_path / "new").exists()
