"""The settings that are chosen for a text and a device."""

from __future__ import annotations

import json
import math
from importlib.resources import files

import pytest
import torch

from gpt2_edu import GPT2Config, flops
from gpt2_edu.data.shards import HEADER, Header, Shard
from gpt2_edu.trainer import TrainConfig, Trainer
from gpt2_edu.training import proposal
from gpt2_edu.training.proposal import heads, propose, settings_for
from gpt2_edu.training.trainer import in_words
from tests.training.small_run import result, small_config


def header(tokens: int, held: int | None = None, vocab_size: int = 2000, documents: int = 1):
    shards = [Shard("train-00000.bin", "train", tokens, "")]
    if held != 0:
        shards.append(Shard("val-00000.bin", "val", held or tokens // 20, ""))
    return Header("own", "", vocab_size, "uint16", documents, tuple(shards), {})


def sizes_of(settings: dict, vocab_size: int = 2000) -> GPT2Config:
    names = ("n_layer", "n_head", "n_embd", "block_size")
    return GPT2Config(vocab_size=vocab_size, **{name: settings[name] for name in names})


@pytest.mark.parametrize("tokens", [360, 5000, 39_000, 294_000, 2_500_000, 25_000_000, 10**9])
@pytest.mark.parametrize("budget", [1e9, 1e12, 1e14, math.inf])
def test_every_text_and_budget_gets_settings_that_a_run_accepts(tokens, budget):
    settings = settings_for(header(tokens), budget)
    config = TrainConfig(data="d", out="o", **settings)
    sizes = config.model_config(2000)
    assert config.eval_every and config.sample_every and config.save_every
    assert config.block_size < tokens // 20  # a window fits into the validation text
    work = config.steps * config.batch_size * config.block_size
    work *= flops.flops_per_token(sizes, config.block_size)
    assert work <= budget * 1.001 or config.steps == 20


def test_more_text_and_more_time_make_the_model_wider_and_passes_fewer():
    found = [settings_for(header(n)) for n in (39_000, 294_000, 2_500_000, 25_000_000)]
    assert [settings["n_embd"] for settings in found] == [64, 128, 256, 512]
    seen = [s["steps"] * s["batch_size"] * s["block_size"] for s in found]
    passes = [n / tokens for n, tokens in zip(seen, (39_000, 294_000, 2_500_000, 25_000_000))]
    assert passes == sorted(passes, reverse=True) and 3.9 < passes[-1] < 4.1
    in_less = [settings_for(header(2_500_000), budget)["n_embd"] for budget in (1e11, 1e13, 1e16)]
    assert in_less == sorted(in_less) and len(set(in_less)) == 3
    # Within a budget the model still sees 20 tokens for each parameter of its blocks.
    settings = settings_for(header(25_000_000), 1e14)
    blocks = 12 * settings["n_layer"] * settings["n_embd"] ** 2
    assert settings["steps"] * settings["batch_size"] * settings["block_size"] > 19 * blocks


def test_what_the_text_has_decides_the_rest():
    assert settings_for(header(9000, held=0))["eval_every"] == 0
    assert settings_for(header(9000, documents=9))["prompt"] == "<|endoftext|>"
    assert settings_for(header(9000))["prompt"] == "\n"
    assert sizes_of(settings_for(header(9000), n_embd=90)).head_size == 45
    assert [heads(width) for width in (1, 31, 96, 97, 512, 768)] == [1, 1, 3, 1, 8, 12]
    for short in (header(16, held=30), header(9000, held=16)):
        with pytest.raises(ValueError, match="at least 17 of each"):
            settings_for(short)


@pytest.mark.thorough
def test_the_device_is_measured_and_its_rate_decides(tmp_path, monkeypatch):
    (tmp_path / HEADER).write_text(header(294_000).to_json())
    state = torch.random.get_rng_state()
    rate = proposal.training_rate(torch.device("cpu"), torch.float32)
    assert 1e8 < rate < 1e14 and torch.equal(torch.random.get_rng_state(), state)
    for measured, width in ((1e9, 32), (1e12, 128)):
        monkeypatch.setattr(proposal, "training_rate", lambda *device, rate=measured: rate)
        assert propose(str(tmp_path))["n_embd"] == width
        nine_minutes = settings_for(header(294_000), 9 * 60 * measured)
        assert propose(str(tmp_path), minutes=10) == nine_minutes, "one is for validation"
    assert propose(str(tmp_path), minutes=1e-9)["steps"] == 20
    monkeypatch.setattr(proposal, "training_rate", None)
    given = propose(str(tmp_path), n_embd=64, steps=9)
    assert {**given, "n_embd": 64, "steps": 9, "eval_every": 1} == given
    with pytest.raises(ValueError, match="minutes must be above 0"):
        propose(str(tmp_path), minutes=0)


def test_a_run_says_before_its_first_step_how_long_it_takes_and_is_not_changed_by_it(
    data, finished, tmp_path, capsys
):
    out = tmp_path / "run"
    said = []
    trainer = Trainer(
        small_config(data, out, quiet=False),
        on_log=lambda row: said.append(capsys.readouterr().out) if row["step"] == 0 else None,
    )
    trainer.train()
    sizes = trainer.model.config
    work = 12 * 4 * 13 * flops.flops_per_token(sizes, 13) / 1e12
    for part in (
        f"{trainer.model.num_parameters():,} parameters: 2 blocks, 3 heads, width 21, 97 tokens",
        f"4,999, {4999 / trainer.model.num_parameters():.2f} for each parameter",
        f"12 steps of 4 × 13 tokens read it 0.1 times: {work:,.1f} TFLOP",
        "12 steps on cpu take about 1 seconds",
    ):
        assert part in said[0], said[0]
    assert result(out) == result(finished)


def test_a_duration_is_in_the_unit_that_fits_it():
    durations = {0.1: "1 seconds", 119: "119 seconds", 400: "7 minutes", 7300: "2 hours"}
    assert {d: in_words(d) for d in durations} == durations
    assert in_words(3e5) == "3 days"


def test_the_table_in_chapter_14_is_of_what_is_chosen_now():
    stored = files("gpt2_edu") / "assets" / "own_text.json"
    for text in json.loads(stored.read_text(encoding="utf-8")):
        chosen = settings_for(header(text["tokens"], vocab_size=text["vocabulary"]))
        assert {name: chosen[name] for name in ("steps", "batch_size")} == {
            name: text[name] for name in ("steps", "batch_size")
        }
        sizes = sizes_of(chosen, text["vocabulary"])
        assert flops.num_parameters(sizes) == text["parameters"]
        assert text["vocabulary"] == pytest.approx(2 * text["bytes"] ** 0.5, abs=1)
