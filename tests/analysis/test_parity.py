"""Parity with transformers: a right model passes, and each mistake is found in its own module."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.analysis.parity import (
    MARGIN,
    Parity,
    ParityTable,
    module_names,
    order_of_magnitude,
    parity_table,
)
from gpt2_edu.model import MLP


@pytest.fixture
def folder(model, tmp_path):
    model.save_pretrained(tmp_path / "reference")
    return tmp_path / "reference"


# ---- A right model ------------------------------------------------------------------------------


def test_a_right_model_has_no_difference(model, folder):
    table = parity_table(model, folder)
    assert table.ok and table.first_difference is None
    assert [row[0] for row in table.rows()] == [
        "transformer.wte",
        "transformer.wpe",
        "transformer.drop",
        "transformer.h.0.ln_1",
        "transformer.h.0.attn",
        "transformer.h.0.ln_2",
        "transformer.h.0.mlp",
        "transformer.h.0",
        "transformer.h.1.ln_1",
        "transformer.h.1.attn",
        "transformer.h.1.ln_2",
        "transformer.h.1.mlp",
        "transformer.h.1",
        "transformer.ln_f",
        "lm_head",
    ]
    for module, alone, alone_tolerance, within, within_tolerance, verdict in table.rows():
        assert verdict == "same", module
        assert alone <= alone_tolerance and within <= within_tolerance, module


@pytest.mark.parametrize("scale", [0.1, 1.0, 6.0])
def test_the_tolerance_has_slack_but_is_close_to_rounding(config, make_model, tmp_path, scale):
    """Saturated attention amplifies rounding, and the measured tolerance with it."""
    for seed in range(3):
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


def test_a_deep_model_passes(make_model, tmp_path):
    """Differences accumulate over 24 blocks, and so does the reference's rounding error."""
    model = make_model(GPT2Config(vocab_size=101, block_size=13, n_layer=24, n_head=3, n_embd=21))
    model.save_pretrained(tmp_path)
    assert parity_table(model, tmp_path).ok


def test_an_accidentally_exact_reference_does_not_fail_a_right_model(make_model, tmp_path):
    """In a tiny model the reference's rounding errors can all be near 0."""
    config = GPT2Config(vocab_size=3, block_size=1, n_layer=1, n_head=1, n_embd=2)
    for seed in range(60):
        model = make_model(config, seed)
        model.save_pretrained(tmp_path)
        assert parity_table(model, tmp_path).ok, seed


def test_the_model_is_left_as_it_was(model, folder):
    """It is compared without dropout, and stays in training mode."""
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert parity_table(model.train(), folder).ok
    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not any(module._forward_hooks for module in model.modules())
    assert all(parameter.grad is None for parameter in model.parameters())


# ---- Mistakes, each in its module ---------------------------------------------------------------


class EpsilonOutside(nn.LayerNorm):
    def forward(self, x):
        deviation = x.std(-1, keepdim=True, unbiased=False) + self.eps
        return (x - x.mean(-1, keepdim=True)) / deviation * self.weight + self.bias


class Unbiased(nn.LayerNorm):
    def forward(self, x):
        deviation = (x.var(-1, keepdim=True, unbiased=True) + self.eps).sqrt()
        return (x - x.mean(-1, keepdim=True)) / deviation * self.weight + self.bias


class ExactGelu(MLP):
    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x)))


def epsilon_outside(model: GPT2) -> None:
    model.transformer.h[0].ln_1.__class__ = EpsilonOutside


def unbiased_variance(model: GPT2) -> None:
    model.transformer.ln_f.__class__ = Unbiased


def exact_gelu(model: GPT2) -> None:
    model.transformer.h[1].mlp.__class__ = ExactGelu


def transposed_projection(model: GPT2) -> None:
    weight = model.transformer.h[1].attn.c_proj.weight
    weight.data = weight.data.t().contiguous()  # square: no shape gives it away


def swapped_norms(model: GPT2) -> None:
    block = model.transformer.h[1]
    block.ln_1, block.ln_2 = block.ln_2, block.ln_1


def forgotten_bias(model: GPT2) -> None:
    model.transformer.h[0].mlp.c_fc.bias.data.zero_()


def forgotten_scale(model: GPT2) -> None:
    """Scores not divided by √D."""
    block = model.transformer.h[1]
    block.attn.c_attn.weight.data[:21] *= 7**0.5
    block.attn.c_attn.bias.data[:21] *= 7**0.5


def other_positions(model: GPT2) -> None:
    model.transformer.wpe.weight.data.copy_(model.transformer.wpe.weight.flip(0))


def untied_head(model: GPT2) -> None:
    model.lm_head.weight = nn.Parameter(model.lm_head.weight + 1e-3)


def not_a_number(model: GPT2) -> None:
    model.transformer.h[1].ln_2.bias.data[5] = float("nan")


MISTAKES = [
    (epsilon_outside, "transformer.h.0.ln_1"),
    (unbiased_variance, "transformer.ln_f"),
    (exact_gelu, "transformer.h.1.mlp"),
    (transposed_projection, "transformer.h.1.attn"),
    (swapped_norms, "transformer.h.1.ln_1"),
    (forgotten_bias, "transformer.h.0.mlp"),
    (forgotten_scale, "transformer.h.1.attn"),
    (other_positions, "transformer.wpe"),
    (untied_head, "lm_head"),
    (not_a_number, "transformer.h.1.ln_2"),
]


@pytest.mark.parametrize("mistake, module", MISTAKES)
def test_a_mistake_is_found_in_its_module(model, folder, mistake, module):
    mistake(model)
    table = parity_table(model, folder)
    assert not table.ok
    assert table.first_difference == module
    verdicts = {row[0]: row[-1] for row in table.rows()}
    names = list(verdicts)
    assert verdicts[module] == "differs"
    assert all(verdicts[name] == "same" for name in names[: names.index(module)])
    block = module.rpartition(".")[0]  # it contains the mistake, so it differs alone too
    wrong = {module, block} if ".h." in module else {module}
    if mistake is swapped_norms:
        wrong.add("transformer.h.1.ln_2")
    assert {name for name in names if verdicts[name] == "differs"} == wrong


def test_a_module_with_a_wrong_input_only_is_inherited(model, folder):
    forgotten_bias(model)
    verdicts = {row[0]: row[-1] for row in parity_table(model, folder).rows()}
    assert verdicts["transformer.h.1.attn"] == verdicts["lm_head"] == "inherited"


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


def test_the_last_position_of_the_window_is_compared(model, folder):
    model.transformer.wpe.weight.data[-1] = 0
    assert parity_table(model, folder).first_difference == "transformer.wpe"


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


def test_the_html_is_a_table_with_a_caption_and_scopes(model, folder):
    from bs4 import BeautifulSoup

    swapped_norms(model)
    soup = BeautifulSoup(parity_table(model, folder)._repr_html_(), "html.parser")
    assert soup.div["class"] == ["g2", "g2-parity"]
    assert soup.caption.text
    assert [th.text for th in soup.thead.find_all("th", scope="col")] == [
        "module",
        "alone",
        "in the model",
        "verdict",
    ]
    rows = soup.tbody.find_all("tr")
    assert [row.find("th", scope="row").text for row in rows] == module_names(2)
    assert {row.find_all("td")[-1].text for row in rows} == {"same", "differs", "inherited"}


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
    with pytest.raises(ValueError, match=r"other sizes: n_layer=2, n_head=3; this one has 3, 7"):
        parity_table(other, folder)


def test_another_precision_is_refused(model, folder):
    with pytest.raises(
        ValueError, match=r"float32, but this model is in torch.bfloat16.*float\(\)"
    ):
        parity_table(model.bfloat16(), folder)


def test_a_missing_folder_is_named(model, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        parity_table(model, tmp_path / "nowhere")


def test_without_transformers_the_error_says_what_to_install(model, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ModuleNotFoundError, match="pip install transformers"):
        parity_table(model, folder)


def test_the_docstring_states_the_margin():
    assert f"``MARGIN`` = {MARGIN} times" in parity_table.__doc__
