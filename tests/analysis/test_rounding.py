"""Rounded weights and activations: which weights change, and by how much."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from gpt2_edu import GPT2, crane, load_tokenizer
from gpt2_edu.analysis.rounding import (
    PARTS,
    by_scale,
    clipped,
    gptq,
    rounded,
    rounded_inputs,
    with_gptq,
    with_outlier,
    with_weights,
)
from gpt2_edu.analysis.since import Truth, excess, held_out


@pytest.fixture(scope="module")
def shipped():
    return GPT2.from_pretrained("crane")


@pytest.fixture(scope="module")
def nats():
    """Nats above the floor on a few stories."""
    few = Truth(held_out().rows[:40], held_out().surprisals[:40])
    return lambda model: torch.cat(excess(model, few)).mean().item()


@pytest.fixture
def weight():
    return torch.randn(34, 96, generator=torch.Generator().manual_seed(0))


def test_a_row_by_hand():
    row = torch.tensor([[0.12, -0.5, 0.31, 0.07]])
    step = 0.5 / 7
    torch.testing.assert_close(rounded(row, 4, "row"), step * torch.tensor([[2.0, -7, 4, 1]]))


@pytest.mark.parametrize("per, scales", {"tensor": 1, "row": 34, "group 32": 102}.items())
def test_each_scale_is_that_of_its_largest_weight(per, scales, weight):
    rows, after = by_scale(weight, per), by_scale(rounded(weight, 3, per), per)
    assert len(rows) == scales
    torch.testing.assert_close(after.abs().amax(dim=1), rows.abs().amax(dim=1))
    assert all(len(row.abs().unique()) <= 4 for row in after)


@pytest.mark.parametrize("per", ["row", "group 32"])
def test_a_clipped_scale_leaves_less_squared_error_in_every_row(per, weight):
    def errors(change):
        return by_scale(change(weight, 3, per) - weight, per).square().sum(dim=1)

    assert (errors(clipped) <= errors(rounded)).all()
    assert errors(clipped).sum() < 0.8 * errors(rounded).sum()


def test_only_the_part_changes_and_the_parts_are_all_there_is(shipped):
    def changed(part):
        copy = with_weights(shipped, torch.zeros_like, part).state_dict()
        return {k for k, v in shipped.state_dict().items() if not torch.equal(v, copy[k])}

    found = {part: changed(part) - {"lm_head.weight"} for part in PARTS}
    matrices = {k for k, v in shipped.named_parameters() if v.ndim == 2}
    assert found["all"] == matrices
    assert found["wte"] | found["wpe"] | found["attention"] | found["mlp"] == matrices
    assert found["attention"] | found["mlp"] == found["maps"]
    assert found["block 0"] | found["block 1"] | found["block 2"] == found["maps"]
    assert found["all but wte"] == matrices - found["wte"]
    assert len(found["attention"]) == len(found["mlp"]) == 6


def test_fewer_bits_cost_more_and_groups_cost_less(shipped, nats):
    def cost(bits, per):
        return nats(with_weights(shipped, lambda weight: rounded(weight, bits, per)))

    assert cost(8, "row") == pytest.approx(nats(shipped), abs=2e-3)
    assert nats(shipped) + 0.005 < cost(3, "group 32") < cost(3, "row") < cost(3, "tensor")
    assert cost(2, "row") > 1


def test_an_outlier_changes_no_prediction_and_ruins_a_scale_for_all(shipped, nats):
    planted = with_outlier(shipped, 100.0)
    ids = torch.tensor([held_out().rows[0]])
    torch.testing.assert_close(planted(ids)[0], shipped(ids)[0], atol=1e-3, rtol=1e-3)
    cost = {}
    for per in ("tensor", "token"):
        with rounded_inputs(planted, 8, per):
            cost[per] = nats(planted)
    assert cost["tensor"] > nats(planted) + 0.3
    assert cost["token"] < nats(planted) + 0.03
    assert not any(m._forward_pre_hooks for m in planted.modules() if isinstance(m, nn.Linear))


@pytest.mark.parametrize("per", ["row", "group 32"])
def test_gptq_keeps_what_a_map_outputs_for_correlated_inputs(per, weight):
    generator = torch.Generator().manual_seed(1)
    mixing = torch.randn(12, 96, generator=generator)
    inputs = torch.randn(400, 12, generator=generator) @ mixing
    inputs += 0.3 * torch.randn(400, 96, generator=generator)

    def error(kept):
        return (inputs @ (kept - weight).T).square().mean()

    assert error(gptq(weight, inputs, 3, per)) < 0.5 * error(rounded(weight, 3, per))


def test_gptq_is_rounding_to_the_nearest_where_inputs_are_uncorrelated(weight):
    before = weight.clone()
    torch.testing.assert_close(gptq(weight, torch.eye(96), 3), rounded(weight, 3, "row"))
    assert torch.equal(weight, before)


@pytest.mark.thorough
def test_gptq_costs_the_trained_model_less_than_the_nearest(shipped, nats):
    encoding = load_tokenizer("crane")
    texts = [[encoding.eot_token, *encoding.encode_ordinary(crane.story(i))] for i in range(30)]
    nearest = with_weights(shipped, lambda weight: rounded(weight, 2, "row"), "maps")
    assert nats(with_gptq(shipped, texts, 2)) < nats(nearest) - 0.1
