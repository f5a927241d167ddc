"""Parity with transformers: a right model passes, and each mistake is found in its own module."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import nn

from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.analysis.bugs import EpsilonOutside
from gpt2_edu.analysis.parity import Parity, ParityTable, order_of_magnitude, parity_table

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(model, tmp_path):
    model.save_pretrained(tmp_path / "reference")
    return tmp_path / "reference"


# ---- A right model ------------------------------------------------------------------------------


def test_a_right_model_has_no_difference(model, folder):
    table = parity_table(model, folder)
    assert table.ok and table.first_difference is None
    names = [row[0].removeprefix("transformer.") for row in table.rows()]
    block = [f"h.{i}{part}" for i in (0, 1) for part in (".ln_1", ".attn", ".ln_2", ".mlp", "")]
    assert names == ["wte", "wpe", "drop", *block, "ln_f", "lm_head"]
    for module, alone, alone_tolerance, within, within_tolerance, verdict in table.rows():
        assert verdict == "same", module
        assert alone <= alone_tolerance and within <= within_tolerance, module


@pytest.mark.parametrize("scale", [1.0, 6.0])
def test_the_tolerance_has_slack_but_is_close_to_rounding(config, make_model, tmp_path, scale):
    """Saturated attention amplifies rounding, and the measured tolerance with it."""
    for seed in range(2):
        model = make_model(config, seed)
        with torch.no_grad():
            for block in model.transformer.h:
                block.attn.c_attn.weight.mul_(scale)
        model.save_pretrained(tmp_path / "m")
        table = parity_table(model, tmp_path / "m")
        for entry in table.entries:
            assert entry.alone <= entry.alone_tolerance / 2, entry
            assert entry.within <= entry.within_tolerance / 2, entry
            assert entry.within_tolerance < 1e-3 * entry.scale, entry


def test_the_model_is_left_as_it_was(model, folder):
    """It is compared without dropout, and stays in training mode."""
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert parity_table(model.train(), folder).ok
    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not any(module._forward_hooks for module in model.modules())
    assert all(parameter.grad is None for parameter in model.parameters())


# ---- Mistakes, each in its module ---------------------------------------------------------------


def epsilon_outside(model: GPT2) -> None:
    model.transformer.h[0].ln_1.__class__ = EpsilonOutside


def transposed_projection(model: GPT2) -> None:
    weight = model.transformer.h[1].attn.c_proj.weight
    weight.data = weight.data.t().contiguous()  # square: no shape gives it away


def forgotten_bias(model: GPT2) -> None:
    model.transformer.h[0].mlp.c_fc.bias.data.zero_()


def last_position(model: GPT2) -> None:
    model.transformer.wpe.weight.data[-1] = 0


def untied_head(model: GPT2) -> None:
    model.lm_head.weight = nn.Parameter(model.lm_head.weight + 1e-3)


def not_a_number(model: GPT2) -> None:
    model.transformer.h[1].ln_2.bias.data[5] = float("nan")


MISTAKES = [
    (epsilon_outside, "transformer.h.0.ln_1"),
    (transposed_projection, "transformer.h.1.attn"),
    (forgotten_bias, "transformer.h.0.mlp"),
    (last_position, "transformer.wpe"),
    (untied_head, "lm_head"),
    (not_a_number, "transformer.h.1.ln_2"),
]


@pytest.mark.parametrize("mistake, module", MISTAKES)
def test_a_mistake_is_found_in_its_module(model, folder, mistake, module):
    mistake(model)
    table = parity_table(model, folder)
    assert not table.ok and table.first_difference == module
    verdicts = {row[0]: row[-1] for row in table.rows()}
    names = list(verdicts)
    assert all(verdicts[name] == "same" for name in names[: names.index(module)])
    block = module.rpartition(".")[0]  # it contains the mistake, so it differs alone too
    wrong = {module, block} if ".h." in module else {module}
    assert {name for name in names if verdicts[name] == "differs"} == wrong
    assert "inherited" in verdicts.values() or module == "lm_head"


def test_a_mistake_between_modules_is_found_at_the_next_module(model, folder, monkeypatch):
    """Every module is right alone; the block omits the first residual connection."""

    def forward(block, x, visible=None, update_kv=None):
        x = block.attn(block.ln_1(x), visible, update_kv)
        return x + block.mlp(block.ln_2(x))

    monkeypatch.setattr(type(model.transformer.h[0]), "forward", forward)
    table = parity_table(model, folder)
    assert table.first_difference == "transformer.h.0.ln_2"
    verdicts = {row[0]: row[-1] for row in table.rows()}
    assert verdicts["transformer.h.0.ln_2"] == verdicts["transformer.h.0"] == "differs"
    assert verdicts["transformer.h.0.mlp"] == "inherited"


def test_only_the_given_ids_are_compared_and_the_table_says_so(model, folder):
    model.transformer.wpe.weight.data[5:] = 0
    last = len(model.transformer.wpe.weight) - 1
    right = GPT2.from_pretrained(folder)
    assert repr(parity_table(right, folder)).endswith(f"no module differs at positions 0 to {last}")
    ids = torch.arange(10).view(2, 5)
    table = parity_table(model, folder, ids)
    assert table.ok and repr(table).endswith("no module differs at positions 0 to 4")
    assert "at positions 0 to 4" in table._repr_html_()
    table = parity_table(model, folder, torch.arange(6).view(1, 6))
    assert table.first_difference == "transformer.wpe"


# ---- How it shows itself ------------------------------------------------------------------------


def test_the_printed_table_does_not_depend_on_the_processor():
    """Two machines round differently; their tables read the same."""

    def table(noise: float) -> ParityTable:
        return ParityTable(
            (
                Parity("transformer.drop", 2.0, 0.0, 1e-6, noise * 1e-6, 1e-5),
                Parity("transformer.h.0.mlp", 4.0, 2e-3 + noise * 1e-6, 1e-5, 2e-3, 1e-5),
                Parity("lm_head", 8.0, noise * 2e-7, 1e-6, 0.2, 1e-5),
            ),
            positions=5,
        )

    one, other = table(0.0), table(3.0)
    assert one.rows() != other.rows()
    assert repr(one) == repr(other) and one._repr_html_() == other._repr_html_()
    assert [line.split() for line in repr(one).splitlines()] == [
        ["module", "alone", "in", "model", "verdict"],
        ["transformer.drop", "<", "10⁻⁵", "<", "10⁻⁵", "same"],
        ["transformer.h.0.mlp", "10⁻⁴", "10⁻⁴", "differs"],
        ["lm_head", "<", "10⁻⁵", "10⁻²", "inherited"],
        ["the", "first", "to", "differ:", "transformer.h.0.mlp"],
    ]


@pytest.mark.parametrize(
    "difference, scale, text",
    [
        (0.0, 0.0, "< 10⁻⁵"),
        (9e-6, 1.0, "< 10⁻⁵"),
        (2e-5, 1.0, "10⁻⁵"),
        (3.0, 2.0, "10⁰"),
        (5e12, 1.0, "10¹²"),
        (float("nan"), 1.0, "not finite"),
        (float("inf"), 1.0, "not finite"),
    ],
)
def test_the_order_of_magnitude_is_a_power_of_ten(difference, scale, text):
    assert order_of_magnitude(difference, scale) == text


# ---- What can be wrong with the question --------------------------------------------------------


def test_another_size_is_refused(folder, make_model):
    other = make_model(GPT2Config(vocab_size=101, block_size=13, n_layer=3, n_head=7, n_embd=21))
    with pytest.raises(ValueError, match=r"n_layer=2, n_head=3.*n_layer=3, n_head=7"):
        parity_table(other, folder)


def test_another_precision_is_refused(model, folder):
    with pytest.raises(ValueError, match="bfloat16"):
        parity_table(model.bfloat16(), folder)


def test_without_transformers_the_error_says_what_to_install(model, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ModuleNotFoundError, match="pip install transformers"):
        parity_table(model, folder)
