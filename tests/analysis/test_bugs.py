"""Each bug is the mistake that it is said to be, and changes nothing else."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from gpt2_edu import KVCache, trace
from gpt2_edu.analysis import bugs, museum
from gpt2_edu.analysis.bugs import BUGS
from gpt2_edu.analysis.museum import LENGTH, TEXTS


@pytest.fixture
def tape_of(model, idx):
    """A function that runs a model with a bug once, and returns the tape and the model."""

    def run(name: str):
        with torch.no_grad(), bugs.broken(model, name) as (copy, tape):
            copy(idx)
        return tape, copy

    return run


def formula_and_result(name: str, which: str, model, idx):
    """What the printed line computes from a run's own tensors, and what the run made there."""
    attn, mlp = "transformer.h.1.attn", "transformer.h.1.mlp"
    with torch.no_grad(), bugs.broken(model, name if which == "wrong" else "no bug") as (m, t):
        m(idx)
    (B, H, T, D), C = t[f"{attn}.q"].shape, m.config.n_embd
    names = {"torch": torch, "math": math, "F": F, "B": B, "H": H, "T": T, "D": D, "C": C}
    result, gain = f"{attn}.weights", None
    if "mask" in name:
        names["visible"] = torch.ones(T, T, dtype=torch.bool).tril()
        names["scores"] = t[f"{attn}.scores"]
    elif name == "wrong view":
        result = f"{attn}.q"
        products = m.transformer.h[1].attn.c_attn(t["transformer.h.1.ln_1"])
        names["x"] = products[..., :C].contiguous()  # else `view` would complain
    elif name == "scale by C":
        result = f"{attn}.scores"
        names |= {"q": t[f"{attn}.q"], "k": t[f"{attn}.k"]}
    elif name == "erf for tanh":
        result, names["x"] = f"{mlp}.act", t[f"{mlp}.pre"]
    else:  # the norms
        result, gain = "transformer.h.1.ln_2", m.transformer.h[1].ln_2
        x = t["transformer.h.1.resid_mid"]
        names |= {"x": x, "mean": x.mean(dim=-1, keepdim=True), "eps": gain.eps}
        names["variance"] = x.var(dim=-1, correction=0, keepdim=True)
    computed = eval(getattr(BUGS[name], which), names)
    if name == "unbiased variance":  # the line is the variance alone
        names["variance"] = computed.unsqueeze(-1)
        computed = eval(BUGS["ε outside the root"].right, names)
    return computed if gain is None else computed * gain.weight + gain.bias, t[result]


FORMULAS = ["no mask", "mask after softmax", "finite mask", "wrong view", "scale by C"]
FORMULAS += ["erf for tanh", "ε outside the root", "unbiased variance"]


@torch.no_grad()
@pytest.mark.parametrize("which", ["right", "wrong"])
@pytest.mark.parametrize("name", FORMULAS)
def test_the_printed_line_is_what_the_buggy_model_computes(name, which, model, idx):
    computed, result = formula_and_result(name, which, model, idx)
    torch.testing.assert_close(computed, result)


@pytest.mark.parametrize("name", ["targets off by none", "targets off by two"])
def test_the_printed_targets_are_those_of_the_training(name):
    found: dict = {"text": TEXTS}
    exec(BUGS[name].wrong, found)
    first = found["idx"][:, :LENGTH], found["targets"][:, :LENGTH]
    shift = BUGS[name].shift
    assert torch.equal(first[0], TEXTS[:, :LENGTH])
    assert torch.equal(first[1], TEXTS[:, shift : shift + LENGTH])
    assert BUGS["no mask"].shift == 1


def test_the_loss_takes_the_softmax_twice(model, idx):
    with torch.no_grad():
        logits = model(idx)[0].flatten(0, 1)
        with bugs.broken(model, "softmax before cross-entropy") as (copy, _):
            loss = copy(idx, idx)[1]
    line = BUGS["softmax before cross-entropy"].wrong.removeprefix("return ")
    returned = eval(line, {"logits": logits})
    torch.testing.assert_close(loss, F.cross_entropy(returned, idx.flatten()))


def test_the_wrong_mask_of_the_cache_is_that_of_is_causal(model, idx):
    with torch.no_grad(), bugs.broken(model, "cache with the wrong mask") as (copy, tape):
        kept = KVCache(copy.config, len(idx))
        copy(idx[:, :3], cache=kept)
        copy(idx[:, 3:4], cache=kept)
        q = tape["transformer.h.1.attn.q"]
        k, v = kept.k[1][:, :, :4], kept.v[1][:, :, :4]
        expected = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        torch.testing.assert_close(tape["transformer.h.1.attn.heads"], expected)


def test_tied_by_copy_counts_the_table_twice(tape_of, model):
    _, copy = tape_of("tied by copy")
    extra = model.config.vocab_size * model.config.n_embd
    assert copy.num_parameters() == model.num_parameters() + extra


FIRST = {
    "no mask": "transformer.h.0.attn.masked_scores",
    "mask after softmax": "transformer.h.0.attn.weights",
    "finite mask": "transformer.h.0.attn.masked_scores",
    "wrong view": "transformer.h.0.attn.q",
    "positions forgotten": "pos_emb",
    "softmax before cross-entropy": "logits",
    "scale by C": "transformer.h.0.attn.scores",
    "dropout left on": "embd",
    "transposed Conv1D": "transformer.h.0.attn.out",
    "ε outside the root": "transformer.h.0.ln_1",
    "unbiased variance": "transformer.h.0.ln_1",
    "erf for tanh": "transformer.h.0.mlp.act",
}


@pytest.mark.parametrize("name", BUGS)
def test_the_first_tensor_that_differs_is_the_bugs_own(name, model, idx, tape_of):
    with torch.no_grad(), trace(model) as right:
        model(idx)
    wrong, _ = tape_of(name)
    different = [path for path in right.names if not torch.equal(right[path], wrong[path])]
    assert (different or [None])[0] == FIRST.get(name)


def test_if_targets_treats_a_single_id_0_as_none(model):
    token = torch.tensor([[3]])
    with bugs.broken(model, "if targets") as (copy, _):
        assert copy(token, torch.tensor([[5]]))[1] is not None
        assert copy(token, torch.tensor([[0]]))[1] is None


# ---- What every bug has in common ---------------------------------------------------------------


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_leaves_the_original_model_unchanged(name, model, idx):
    kind, before = type(model), {k: v.clone() for k, v in model.state_dict().items()}
    kinds = [type(module) for module in model.modules()]
    with torch.no_grad():
        logits = model(idx)[0]
        with bugs.broken(model, name) as (copy, _):
            copy(idx)
        assert torch.equal(model(idx)[0], logits)
    assert type(model) is kind and [type(module) for module in model.modules()] == kinds
    assert "forward" not in vars(model)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert model.lm_head.weight is model.get_parameter("transformer.wte.weight")


def test_an_unknown_bug_raises_with_the_nearest_name(model):
    close = r"no bug called 'no musk'.*Did you mean 'no mask'"
    with pytest.raises(ValueError, match=close):
        museum.case("no musk")
    with pytest.raises(ValueError, match=close), bugs.broken(model, "no musk"):
        pass
