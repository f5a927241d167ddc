"""Which weights decay, and how fast the model learns at each step."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from gpt2_edu.training.optim import learning_rate, make_optimizer, parameter_groups

RUN = {"steps": 101, "lr": 0.6, "min_lr": 0.06, "warmup_steps": 11}


def test_matrices_and_tables_decay_biases_and_layernorms_do_not(model):
    """Each in exactly one group, the tied table once, frozen weights in none."""
    frozen = model.get_parameter("transformer.wpe.weight").requires_grad_(False)
    decaying, others = parameter_groups(model, 0.1)
    assert (decaying["weight_decay"], others["weight_decay"]) == (0.1, 0.0)
    grouped = [*decaying["params"], *others["params"]]
    assert len({id(p) for p in grouped}) == len(grouped) == len(list(model.parameters())) - 1
    assert not any(p is frozen for p in grouped)
    names = {id(p): name for name, p in model.named_parameters()}
    for p in grouped:
        name = names[id(p)]
        vector = name.endswith("bias") or "ln_" in name
        assert any(p is q for q in others["params"]) == vector, name


def test_the_fused_kernel_takes_the_step_that_the_definition_says(model, idx):
    """One step from averages of 0, by hand: m / √v is the gradient's sign, nearly."""
    name = "transformer.h.0.mlp.c_fc.weight"
    optimizer = make_optimizer(model, lr=0.01, betas=(0.9, 0.95), weight_decay=0.1)
    model(idx, idx)[1].backward()
    weight = model.get_parameter(name)
    before, grad = weight.detach().clone(), weight.grad.clone()
    optimizer.step()
    expected = before * (1 - 0.01 * 0.1) - 0.01 * grad / (grad.abs() + 1e-8)
    torch.testing.assert_close(weight.detach(), expected, rtol=0, atol=1e-6)


def test_the_first_step_learns_and_the_rise_is_straight():
    rates = [learning_rate(step, **RUN) for step in range(11)]
    assert rates == pytest.approx([0.6 * (i + 1) / 11 for i in range(11)])
    assert learning_rate(0, **(RUN | {"warmup_steps": 0})) > 0.599


def test_the_cosine_ends_at_min_lr_and_passes_the_middle_half_way():
    assert learning_rate(100, **RUN) == pytest.approx(0.06)
    assert learning_rate(10 + 45, **RUN) == pytest.approx((0.6 + 0.06) / 2)
    rates = [learning_rate(step, **RUN) for step in range(10, 101)]
    assert all(later < earlier for earlier, later in itertools.pairwise(rates))
    quarter = 0.06 + 0.54 * (1 + math.cos(math.pi / 3)) / 2
    assert learning_rate(10 + 30, **RUN) == pytest.approx(quarter)
