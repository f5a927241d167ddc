"""The model of Crane World in this package: small, offline, and as good as its card says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import gpt2_edu
from gpt2_edu import GPT2, GPT2Config, crane, load_tokenizer
from gpt2_edu.analysis.evals import forced_choice, grade, sample_stories, validation
from gpt2_edu.bpe import train_bpe
from gpt2_edu.tokenizer import save_ranks

pytestmark = pytest.mark.slow

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


@pytest.mark.thorough
def test_right_words_are_more_likely_than_distractors(shipped, tokenizer):
    grades = forced_choice(shipped, tokenizer, crane.random_seeds(80, 5))
    chances = sum(score.chances for score in grades.phenomena.values())
    assert sum(score.right for score in grades.phenomena.values()) / chances >= 0.98


def test_transformers_loads_the_bundled_file(shipped, tokenizer):
    import transformers

    other = transformers.GPT2LMHeadModel.from_pretrained(ASSETS, dtype=torch.float32).eval()
    idx = torch.tensor([tokenizer.encode(crane.story(4))])
    with torch.no_grad():
        assert torch.allclose(shipped(idx)[0], other(idx).logits, atol=1e-4)


@pytest.mark.thorough
def test_the_bundled_tokenizer_is_reproduced_from_the_stories(tmp_path):
    save_ranks(train_bpe(map(crane.story, range(20_000)), 1024), tmp_path / "crane.tiktoken")
    shipped = ASSETS / "crane.tiktoken"
    assert shipped.read_bytes() == (tmp_path / "crane.tiktoken").read_bytes()


@pytest.mark.parametrize("word", [" crane", " ate", " fish", " lifted", " steel"])
def test_words_shown_in_chapters_are_single_tokens(word):
    assert len(load_tokenizer("crane").encode(word)) == 1
