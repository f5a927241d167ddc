"""One forward pass: whatever is changed in a model, the text follows, on every road to it.

A change is made to a model, a text is generated on each road, and compared with the text of the
plainest road: the whole text recomputed for every token.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager, nullcontext
from functools import partial
from types import MethodType

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import parametrize

from gpt2_edu import GPT2, fast, generate, pad_left, trace
from gpt2_edu.model import MLP

NEW = 6


@pytest.fixture
def model(config, make_model) -> GPT2:
    """One that does not repeat itself: its positions matter more than its tokens."""
    model = make_model(config)
    with torch.no_grad():
        model.transformer.wpe.weight *= 3
        model.transformer.ln_f.bias.zero_()
    return model


# ---- Roads: from a model and prompts (B, T) to texts (B, T + NEW) --------------------------------


def cached(model, idx):
    return generate(model, idx, NEW, temperature=0)


def uncached(model, idx):
    return generate(model, idx, NEW, temperature=0, use_cache=False)


def padded(model, idx):
    """Beside a shorter text, which is padded on the left."""
    batch, padding = pad_left([*idx.tolist(), [1]], pad_id=0)
    return generate(model, batch, NEW, temperature=0, padding=padding)[:-1]


def cropped(model, idx):
    """Past the window; the tokens before its end are compared."""
    return generate(model, idx, 20, temperature=0, overflow="crop")[:, : idx.size(1) + NEW]


def packed(model, idx):
    return generate(fast.pack(model), idx, NEW, temperature=0)


ROADS = [cached, padded, cropped, packed]


# ---- Changes: context managers around a model ----------------------------------------------------


@contextmanager
def another_mlp(model):
    """What a reader does who edits MLP.forward in model.py."""
    before = MLP.forward
    MLP.forward = lambda self, x: self.dropout(self.c_proj(F.relu(3 * self.c_fc(x))))
    try:
        yield
    finally:
        MLP.forward = before


class Negated(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return -super().forward(x)


@contextmanager
def subclass_of_linear(model):
    linear = model.transformer.h[1].mlp.c_proj
    linear.__class__ = Negated
    yield


@contextmanager
def forward_hook(model):
    hook = model.transformer.h[1].register_forward_hook(lambda m, args, out: -3 * out)
    yield
    hook.remove()


class Negative(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return -weight


@contextmanager
def parametrisation(model):
    parametrize.register_parametrization(model.transformer.h[1].mlp.c_fc, "weight", Negative())
    yield


@contextmanager
def forward_of_an_instance(model):
    linear = model.transformer.h[0].mlp.c_fc
    linear.forward = MethodType(lambda self, x: -F.linear(x, self.weight, self.bias), linear)
    yield


CHANGES = [
    another_mlp,
    subclass_of_linear,
    forward_hook,
    parametrisation,
    forward_of_an_instance,
]


def name(function) -> str:
    return getattr(function, "__name__", str(function))


@pytest.mark.parametrize("road", ROADS, ids=name)
@pytest.mark.parametrize("change", [None, *CHANGES], ids=name)
def test_the_text_follows_a_change_of_the_model(model, idx, road, change):
    prompt = idx[:, :4]
    before = uncached(model, prompt)
    with change(model) if change else nullcontext():
        expected = uncached(model, prompt)
        assert torch.equal(expected, before) == (change is None)
        assert torch.equal(road(model, prompt), expected)


@pytest.mark.parametrize("road", [cached, uncached, padded, cropped, packed], ids=name)
def test_an_edit_by_trace_is_in_the_text(model, idx, road):
    edits = {"transformer.h.1.mlp.act": lambda x: -2 * x}
    with trace(model, edits=edits):
        expected = uncached(model, idx[:, :4])
    assert not torch.equal(expected, uncached(model, idx[:, :4]))
    if road is packed:
        model, road = fast.pack(model), cached
    with trace(model, edits=edits):
        assert torch.equal(road(model, idx[:, :4]), expected)


@pytest.mark.thorough
def test_a_compiled_step_follows_changes_that_come_after_it(model, idx, monkeypatch):
    """One Compiled for all of them: what was compiled before must not be used again.

    The capture decides that; test_fast has what is generated from it.
    """
    monkeypatch.setattr(fast, "require_compiler", lambda device: None)
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    prompt = idx[:, :4]
    predict = fast.Compiled(model, len(prompt))

    def follows() -> Tensor:
        expected = uncached(model, prompt)
        assert torch.equal(generate(model, prompt, NEW, temperature=0, predict=predict), expected)
        return expected

    before = follows()
    for change in (another_mlp, forward_hook):
        with change(model):
            assert not torch.equal(follows(), before)
        assert torch.equal(follows(), before)
    with trace(model, edits={"transformer.h.1.mlp.act": lambda x: -2 * x}):
        assert not torch.equal(follows(), before)
    with parametrisation(model):
        assert not torch.equal(follows(), before)


@pytest.mark.parametrize("road", [cached, padded, packed], ids=name)
def test_a_block_that_stores_no_keys_is_refused_with_a_cache(model, idx, road):
    class Wrapper(nn.Module):
        def __init__(self, block: nn.Module) -> None:
            super().__init__()
            self.block = block

        def forward(self, x: Tensor, *args: object) -> Tensor:
            return self.block(x)

    model.transformer.h[1] = Wrapper(model.transformer.h[1])
    with pytest.raises(ValueError, match="only 1 of 2 blocks stored keys in the cache"):
        road(model, idx[:, :4])
    assert uncached(model, idx[:, :4]).shape == (5, 10)


def test_no_compiler_is_a_sentence(model, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(
        ValueError, match=r"compilation needs a C\+\+ compiler such as g\+\+: install it"
    ):
        fast.Compiled(model, 1)
