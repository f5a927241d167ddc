"""The config refuses what cannot be built, and says why. And the device that the book runs on."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from gpt2_edu import GPT2Config, pick_device


def test_defaults_are_the_124_million_parameter_model():
    assert GPT2Config.preset("gpt2") == GPT2Config()
    rates = {"embd_pdrop": 0.1, "attn_pdrop": 0.1, "resid_pdrop": 0.1}
    rates |= {"layer_norm_epsilon": 1e-5, "initializer_range": 0.02}
    assert rates.items() <= dataclasses.asdict(GPT2Config()).items()


@pytest.mark.parametrize(
    ("name", "n_layer", "n_head", "n_embd"),
    [
        ("gpt2", 12, 12, 768),
        ("gpt2-medium", 24, 16, 1024),
        ("gpt2-large", 36, 20, 1280),
        ("gpt2-xl", 48, 25, 1600),
    ],
)
def test_a_preset_is_a_published_size(name, n_layer, n_head, n_embd):
    config = GPT2Config.preset(name)
    assert (config.n_layer, config.n_head, config.n_embd) == (n_layer, n_head, n_embd)
    assert (config.vocab_size, config.block_size, config.head_size) == (50257, 1024, 64)


def test_a_config_cannot_change_under_its_model():
    config = GPT2Config()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.n_layer = 2
    assert dataclasses.replace(config, n_layer=2).n_layer == 2
    assert len({config, GPT2Config(), dataclasses.replace(config, n_layer=2)}) == 2  # hashable


@pytest.mark.parametrize("name", ["vocab_size", "block_size", "n_layer", "n_head", "n_embd"])
def test_a_size_that_is_no_count_is_refused(name):
    for value in (0, 2**24 + 1, 12.0, "12", None, True):
        with pytest.raises((TypeError, ValueError), match=f"^{name} must be .* got"):
            GPT2Config(**{name: value})


@pytest.mark.parametrize("name", ["embd_pdrop", "attn_pdrop", "resid_pdrop"])
def test_a_dropout_that_is_no_probability_is_refused(name):
    for value in (-0.1, 1.0, float("nan"), "0.1", True):
        with pytest.raises((TypeError, ValueError), match=f"^{name} "):
            GPT2Config(**{name: value})
    assert getattr(GPT2Config(**{name: 0.0}), name) == 0.0


@pytest.mark.parametrize("name", ["layer_norm_epsilon", "initializer_range"])
def test_a_scale_that_is_not_positive_is_refused(name):
    for value in (0.0, -1e-5, float("nan"), float("inf"), None):
        with pytest.raises((TypeError, ValueError), match=f"^{name} must be"):
            GPT2Config(**{name: value})


def test_a_width_that_the_heads_cannot_share_is_refused_with_both_numbers():
    with pytest.raises(ValueError, match=r"n_embd=770.* n_head=12.* multiple of n_head"):
        GPT2Config(n_embd=770, n_head=12)


def test_a_mistyped_preset_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match=r"'gpt2-meduim'.* gpt2-xl.* Did you mean 'gpt2-medium'"):
        GPT2Config.preset("gpt2-meduim")


@pytest.mark.parametrize(
    ("cuda", "mps", "expected"),
    [(True, False, "cuda"), (False, True, "mps"), (True, True, "cuda"), (False, False, "cpu")],
)
def test_the_book_runs_on_the_cpu_whatever_the_machine_has(monkeypatch, cuda, mps, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: ["sm_75", "sm_90a", "compute_120"])
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    monkeypatch.setenv("GPT2_EDU_BOOK", "1")
    assert pick_device() == torch.device("cpu")
    monkeypatch.setenv("GPT2_EDU_BOOK", "0")
    assert pick_device() == torch.device(expected)
    monkeypatch.delenv("GPT2_EDU_BOOK")
    assert pick_device() == torch.device(expected)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (6, 1))  # too old
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "GTX 1080")
    assert pick_device().type == ("mps" if mps else "cpu")
