"""The model of Crane World in this package: small, offline, and as good as its card says."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import gpt2_edu
from gpt2_edu import GPT2, GPT2Config, crane, generate, load_tokenizer
from gpt2_edu.analysis.evals import forced_choice, grade, sample_stories, validation
from gpt2_edu.analysis.heads import sense_only_from_hint, without_head
from gpt2_edu.bpe import train_bpe
from gpt2_edu.tokenizer import save_ranks

ASSETS = Path(gpt2_edu.__file__).parent / "assets" / "crane"


@pytest.fixture(scope="module")
def shipped() -> GPT2:
    return GPT2.from_pretrained("crane")


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer("crane")


@pytest.fixture(scope="module")
def measures():
    return json.loads((ASSETS / "measures.json").read_text(encoding="utf-8"))


def test_config_is_the_crane_preset(shipped):
    assert shipped.config == GPT2Config.preset("crane")
    assert (ASSETS / "model.safetensors").stat().st_size <= 4 * 2**20
    assert sum(path.stat().st_size for path in ASSETS.iterdir()) <= 6 * 2**20


def test_loss_is_close_to_the_entropy_and_not_below(shipped, tokenizer):
    found = validation(shipped, tokenizer, 200, seed=11)
    assert -3 * found.gap_error < found.gap < 0.02


def test_samples_are_grammatical(shipped, tokenizer):
    grades = grade(sample_stories(shipped, tokenizer, 200, seed=3))
    assert grades.stories.share >= 0.935  # measured on 1,000: 0.978; four standard errors less
    assert grades.phenomena["sense"].share >= 0.98


def test_right_words_are_more_likely_than_distractors(shipped, tokenizer):
    grades = forced_choice(shipped, tokenizer, crane.random_seeds(80, 5))
    chances = sum(score.chances for score in grades.phenomena.values())
    assert sum(score.right for score in grades.phenomena.values()) / chances >= 0.98


def test_stored_metrics_are_those_of_the_bundled_weights(shipped, tokenizer, measures):
    stored = measures["metrics"]["validation"]
    found = validation(shipped, tokenizer, 200, seed=0)
    assert abs(found.loss - stored["loss"]) < 4 * (found.loss_error + stored["loss_error"])
    assert abs(found.gap - stored["gap"]) < 4 * (found.gap_error + stored["gap_error"]) + 1e-4
    assert stored["gap"] < 0.02
    assert measures["metrics"]["samples"]["stories"]["share"] >= 0.97


def test_one_head_carries_the_sense_from_the_hint(shipped, tokenizer, measures):
    """Ablating it loses a tenth of these choices; other phenomena are unaffected."""
    stored = measures["head_effects_by_hint"]["heads"]
    needed = max(stored, key=lambda head: head["drops"]["sense"])
    others = [drop for name, drop in needed["drops"].items() if name != "sense"]
    assert needed["drops"]["sense"] >= 10 and max(others) <= 2

    hints = [seed for seed in crane.random_seeds(6000, 10) if sense_only_from_hint("crane", seed)]
    left = without_head(shipped, needed["layer"], needed["head"])
    grades = forced_choice(left, tokenizer, hints).phenomena
    sense, share = grades.pop("sense"), 1 - needed["drops"]["sense"] / 100
    error = math.sqrt(share * (1 - share) / sense.chances)
    assert abs(sense.share - share) < 4 * error
    chances = sum(score.chances for score in grades.values())
    assert sum(score.right for score in grades.values()) / chances >= 0.98


def test_log_and_snapshots_are_of_the_same_run(measures):
    lines = (ASSETS / "log.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    snapshots = json.loads((ASSETS / "snapshots.json").read_text(encoding="utf-8"))
    steps = [shot["step"] for shot in snapshots["snapshots"]]
    assert rows[-1]["step"] == steps[-1] == measures["recipe"]["settings"]["steps"]
    assert steps == sorted(set(steps)) and steps[0] == 0
    config = GPT2Config.preset("crane")
    for shot in snapshots["snapshots"]:
        for tokens, layers in zip(snapshots["tokens"], shot["attention"]):
            assert len(layers) == config.n_layer
            for heads in layers:
                assert len(heads) == config.n_head
                for rows_ in heads:
                    assert [len(row) for row in rows_] == list(range(1, len(tokens) + 1))
                    assert all(95 <= sum(row) <= 105 for row in rows_)


def test_transformers_loads_the_bundled_file(shipped, tokenizer, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers")
    other = transformers.GPT2LMHeadModel.from_pretrained(ASSETS, dtype=torch.float32).eval()
    idx = torch.tensor([tokenizer.encode(crane.story(4))])
    with torch.no_grad():
        assert torch.allclose(shipped(idx)[0], other(idx).logits, atol=1e-4)


@pytest.mark.parametrize("prompt", ["鶴は", "Zyzzyva! ☃", "A crane\n\nate", "1234"])
def test_unknown_words_are_tokenized_and_continued(shipped, tokenizer, prompt):
    idx = torch.tensor([tokenizer.encode(prompt)])
    assert tokenizer.decode(idx[0].tolist()) == prompt
    out = generate(shipped, idx, 5)
    assert out.shape == (1, idx.shape[1] + 5)


def test_the_command_line_generates_a_story_offline(tmp_path):
    command = [sys.executable, "-m", "gpt2_edu", "generate", "--model", "crane", "--seed", "1"]
    offline = {"HF_HUB_OFFLINE": "1", "https_proxy": "http://127.0.0.1:9", "HOME": str(tmp_path)}
    done = subprocess.run(
        [*command, "By the river, the crane"],
        env=os.environ | offline,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.startswith("By the river, the crane ")
    assert len(done.stdout) > 60


def test_the_bundled_tokenizer_is_reproduced_from_the_stories(tmp_path):
    save_ranks(train_bpe(map(crane.story, range(20_000)), 1024), tmp_path / "crane.tiktoken")
    shipped = ASSETS / "crane.tiktoken"
    assert shipped.read_bytes() == (tmp_path / "crane.tiktoken").read_bytes()


@pytest.mark.parametrize("word", [" crane", " ate", " fish", " lifted", " steel"])
def test_words_shown_in_chapters_are_single_tokens(word):
    assert len(load_tokenizer("crane").encode(word)) == 1
