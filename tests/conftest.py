"""What the tests share: one thread each, no hub, and a small model of which no two sizes agree."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"  # a test that reaches for the network should say so
# Compiled code in this cache may use instructions that a capped processor has not.
os.environ["TORCHINDUCTOR_FX_GRAPH_CACHE"] = "0"

os.environ["OMP_NUM_THREADS"] = "1"  # the tests run side by side, with the processes they start

import pytest
import torch
from torch import Tensor

from benchmarks.chromium import starter
from gpt2_edu import GPT2, GPT2Config

torch.set_num_threads(1)
sys.modules["rfc3987_syntax"] = None  # jsonschema builds its grammar for a second, for nothing here

# B, T, V, N, H, D and block_size are seven primes, so a transposition cannot pass. C = H · D.
B, T = 5, 11


@pytest.fixture(scope="session")
def missing():
    """What to call where a test lacks what it needs: in CI it fails, elsewhere it is skipped."""
    return pytest.fail if os.environ.get("CI") else pytest.skip


def pytest_collection() -> None:
    """What is imported stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """No later collection of garbage looks through a million objects of modules and tests."""
    gc.freeze()
    gc.enable()


running = ExitStack()  # Chromium and its driver, for all files of a folder
kept: dict[str, Any] = {}


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """The driver's event loop should not outlive the folder whose tests need it."""
    if nextitem is None or nextitem.path.parent != item.path.parent:
        kept.clear()
        running.close()


@pytest.fixture(scope="module")
def chromium(missing) -> Callable[..., Any]:
    """What starts it, with more flags."""
    if "launch" not in kept:
        kept["launch"] = running.enter_context(starter(missing))
    return kept["launch"]


@pytest.fixture(scope="module")
def browser(chromium) -> Any:
    if "browser" not in kept:
        kept["browser"] = running.enter_context(chromium())
    return kept["browser"]


@pytest.fixture(autouse=True)
def same_numbers_every_time() -> None:
    torch.default_generator.manual_seed(0)  # torch.manual_seed is slow where there is no GPU
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(0)


@pytest.fixture
def config() -> GPT2Config:
    return GPT2Config(vocab_size=101, block_size=13, n_layer=2, n_head=3, n_embd=21)


@pytest.fixture
def make_model():
    """A function from a config to a model in eval mode whose every parameter is random.

    Biases and LayerNorms too: with their initial 0 and 1, a forgotten one would pass.
    """

    def make(config: GPT2Config, seed: int = 0) -> GPT2:
        model = GPT2(config)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                std = 0.3 if parameter.ndim == 1 else parameter.size(-1) ** -0.5
                parameter.normal_(std=std, generator=generator)
                if "ln_" in name and name.endswith("weight"):
                    parameter += 1
        return model.eval()

    return make


@pytest.fixture
def model(config, make_model) -> GPT2:
    return make_model(config)


@pytest.fixture
def idx(config) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(config.vocab_size, (B, T), generator=generator)
