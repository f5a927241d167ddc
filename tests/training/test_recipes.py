"""Crane World from nothing to a model: what a recipe writes, and that it can be repeated."""

from __future__ import annotations

import pytest

from gpt2_edu import GPT2Config, crane, load_tokenizer
from gpt2_edu.data.shards import read_header
from gpt2_edu.training import recipes
from gpt2_edu.training.config import TrainConfig
from gpt2_edu.training.recipes import RECIPES, Recipe, train_crane

SMALL = {"n_layer": 1, "n_head": 2, "n_embd": 8, "steps": 12, "warmup_steps": 2, "batch_size": 2}
SMALL |= {"precision": "float32", "device": "cpu", "sample_tokens": 5, "eval_batches": 1}


@pytest.fixture(autouse=True)
def few_stories(monkeypatch):
    small = {name: Recipe(60, recipe.settings) for name, recipe in RECIPES.items()}
    monkeypatch.setattr(recipes, "RECIPES", small)


def test_a_seed_gives_the_same_weights_and_a_listener_every_row(tmp_path):
    heard = []

    def run(name, seed):
        summary = train_crane(
            "laptop",
            str(tmp_path / name),
            seed=seed,
            quiet=True,
            on_log=lambda row, trainer: heard.append((row["step"], trainer.model.config.n_embd)),
            **SMALL,
        )
        return (summary.checkpoint / "model.safetensors").read_bytes()

    assert run("a", 0) == run("b", 0) != run("c", 1)
    assert heard[0] == (0, 8) and heard[-1] == (12, 8)
    made = read_header(tmp_path / "a" / "data").made
    assert made["val_fraction"] == 0.02, "another split is another model than the shipped one"


def test_an_unknown_recipe_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(ValueError, match=r"unknown recipe 'labtop'.*Did you mean 'laptop'"):
        train_crane("labtop", str(tmp_path))


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_has_settings_that_a_run_takes_and_stories_enough_for_one_epoch(name, tmp_path):
    config = TrainConfig(data=str(tmp_path), **RECIPES[name].settings)
    assert config.steps * config.batch_size <= RECIPES[name].stories
    assert config.model == "crane" and config.block_size <= GPT2Config.preset("crane").block_size


def test_a_window_holds_a_whole_story_and_the_marks_around_it():
    encoding = load_tokenizer("crane")
    longest = max(len(encoding.encode_ordinary(crane.story(seed))) for seed in range(2000))
    assert longest < min(recipe.settings["block_size"] for recipe in RECIPES.values())
