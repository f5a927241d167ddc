"""Crane World from nothing to a model: what a recipe writes, and that it can be repeated."""

from __future__ import annotations

import pytest
import torch

from gpt2_edu import GPT2, GPT2Config, crane, load_tokenizer
from gpt2_edu.training import recipes
from gpt2_edu.training.config import TrainConfig
from gpt2_edu.training.recipes import RECIPES, Recipe, train_crane

SMALL = {"n_layer": 1, "n_head": 2, "n_embd": 8, "steps": 12, "warmup_steps": 2, "batch_size": 2}
SMALL |= {"precision": "float32", "device": "cpu", "sample_tokens": 5, "eval_batches": 1}


@pytest.fixture(autouse=True)
def few_stories(monkeypatch):
    small = {name: Recipe(60, recipe.settings) for name, recipe in RECIPES.items()}
    monkeypatch.setattr(recipes, "RECIPES", small)


def weights(summary) -> dict[str, torch.Tensor]:
    return GPT2.from_pretrained(summary.checkpoint).state_dict()


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(tmp_path):
    runs = [
        train_crane("laptop", str(tmp_path / name), seed=seed, quiet=True, **SMALL)
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    ]
    a, b, c = map(weights, runs)
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert not torch.equal(a["transformer.wte.weight"], c["transformer.wte.weight"])


def test_whoever_listens_gets_every_row_with_the_trainer(tmp_path):
    heard = []
    train_crane(
        "laptop",
        str(tmp_path / "run"),
        quiet=True,
        on_log=lambda row, trainer: heard.append((row["step"], trainer.model.config.n_embd)),
        **SMALL,
    )
    assert heard[0] == (0, 8) and heard[-1] == (12, 8)


def test_an_unknown_recipe_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(ValueError, match=r"unknown recipe 'labtop'.*Did you mean 'laptop'"):
        train_crane("labtop", str(tmp_path))


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_has_settings_that_a_run_takes_and_stories_enough_for_one_epoch(name, tmp_path):
    config = TrainConfig(data=str(tmp_path), **RECIPES[name].settings)
    assert config.steps * config.batch_size <= RECIPES[name].stories
    assert config.model == "crane" and config.block_size <= GPT2Config.preset("crane").block_size


@pytest.mark.parametrize("name", RECIPES)
def test_a_window_holds_a_whole_story_and_the_marks_around_it(name):
    encoding = load_tokenizer("crane")
    longest = max(len(encoding.encode_ordinary(crane.story(seed))) for seed in range(5000))
    assert longest + 1 <= RECIPES[name].settings["block_size"]
