"""The model: parity with transformers, initialisation, tying, counts, the loss, bad input.

    python -m pytest -s -k parity tests/test_model.py

prints the worst differences from transformers at each size.
"""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from torch import Tensor, nn

from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.gpt2_weights import config_to_hugging_face, to_hugging_face
from tests.thorough import thorough

SIZES = ("gpt2", "gpt2-xl")  # 12 heads and 25


# ---- Parity with transformers -----------------------------------------------------------------


def theirs(config: GPT2Config, state: dict[str, Tensor] | None = None) -> nn.Module:
    """transformers' model of the same config, with these weights, or else on the meta device."""
    import transformers

    settings = transformers.GPT2Config(
        **config_to_hugging_face(config), attn_implementation="eager"
    )
    with torch.device("meta"):  # no time is lost on an initialisation that nobody reads
        model = transformers.GPT2LMHeadModel(settings)
    if state is not None:
        state = {name: value.clone() for name, value in state.items()}
        state["lm_head.weight"] = state["transformer.wte.weight"]
        model.load_state_dict(state, assign=True)
        model.tie_weights()
    model.loss_type = "ForCausalLM"  # what it falls back to anyway, with a remark
    return model.eval()


def worst(ours: dict[str, Tensor], reference: dict[str, Tensor]) -> tuple[float, str]:
    """The largest difference, relative to each tensor's own largest number, and where it is."""
    assert ours.keys() == reference.keys()
    found = []
    for name, expected in reference.items():
        assert ours[name].shape == expected.shape, name
        scale = expected.abs().max().item()
        assert scale > 0, f"{name} is all zeros, so nothing would be compared"
        found.append(((ours[name] - expected).abs().max().item() / scale, name))
    return max(found)


def parity(model: GPT2, idx: Tensor) -> dict[str, tuple[float, str]]:
    """Worst relative differences of logits, loss and every parameter's gradient."""
    reference = theirs(model.config, to_hugging_face(model.state_dict()))
    targets = torch.cat([idx[:, 1:], torch.full_like(idx[:, :1], -100)], dim=1)
    logits, loss = model(idx, targets)
    loss.backward()
    answer = reference(idx, labels=idx)  # which shifts the labels itself
    answer.loss.backward()
    ours = to_hugging_face({name: p.grad for name, p in model.named_parameters()})
    gradients = {name: p.grad for name, p in reference.named_parameters()}
    return {
        "logits": worst({"logits": logits}, {"logits": answer.logits}),
        "loss": worst({"loss": loss}, {"loss": answer.loss}),
        "gradient": worst(ours, gradients),
    }


@pytest.mark.parametrize("name", [SIZES[0], thorough(SIZES[1])])
def test_parity_with_transformers_in_logits_and_gradients(name, make_model, record_property):
    """At the real widths and heads, once with all tokens; two layers, random weights, float32."""
    V = 50257 if name == "gpt2" else 997
    config = dataclasses.replace(GPT2Config.preset(name), n_layer=2, vocab_size=V)
    generator = torch.Generator().manual_seed(1)
    idx = torch.randint(config.vocab_size, (2, 11), generator=generator)
    found = parity(make_model(config), idx)
    line = f"{name:12} " + ", ".join(f"{k} {v:.1e} ({n})" for k, (v, n) in found.items())
    print("\n" + line)
    record_property("parity", line)
    assert all(difference < 1e-5 for difference, _ in found.values()), line


def test_parity_with_transformers_over_a_whole_window(config, model, idx):
    whole = torch.randint(config.vocab_size, (5, config.block_size))
    for ids in (idx[:, :2], idx, whole):
        model.zero_grad()
        found = parity(model, ids)
        assert all(difference < 1e-5 for difference, _ in found.values()), found


@pytest.mark.parametrize("name", SIZES)
def test_the_full_model_has_every_tensor_of_transformers_by_name_and_shape(name):
    config = GPT2Config.preset(name)
    with torch.device("meta"):
        model = GPT2(config)
    reference = theirs(config)
    expected = {key: tuple(value.shape) for key, value in reference.state_dict().items()}
    assert expected.pop("lm_head.weight") == (50257, config.n_embd)  # tied: stored once, as wte
    ours = {key: tuple(value.shape) for key, value in to_hugging_face(model.state_dict()).items()}
    assert ours == expected
    assert len(ours) == 12 * config.n_layer + 4
    assert set(model.state_dict()) == set(reference.state_dict())


# ---- Counts, tying, initialisation ------------------------------------------------------------


def test_both_roles_of_the_tied_table_send_it_gradient(model, idx):
    model(idx, idx)[1].backward()
    unused = torch.ones(101, dtype=torch.bool)
    unused[idx.unique()] = False
    gradient = model.lm_head.weight.grad
    assert gradient[unused].ne(0).any(dim=-1).all()  # the output reaches every row
    with torch.no_grad():
        model.lm_head.weight[7] += 1.0
    assert model.transformer.wte(torch.tensor([7]))[0].equal(model.lm_head.weight[7])


def test_each_kind_of_parameter_starts_as_gpt2_starts_it():
    torch.manual_seed(0)
    model = GPT2(GPT2Config(vocab_size=1009, block_size=131, n_layer=3, n_head=2, n_embd=134))
    residual = 0.02 / math.sqrt(2 * 3)
    seen = []
    for name, parameter in model.named_parameters():
        kind = name.split(".")[-2]
        seen.append(kind)
        if name.endswith("bias"):
            assert parameter.eq(0).all(), name
        elif kind in ("ln_1", "ln_2", "ln_f"):
            assert parameter.eq(1).all(), name
        else:
            std = residual if kind == "c_proj" else 0.02
            n = parameter.numel()
            assert abs(parameter.std().item() / std - 1) < 4 / math.sqrt(2 * n), name
            assert abs(parameter.mean().item()) < 4 * std / math.sqrt(n), name
            tail = (parameter.abs() > 2 * std).float().mean().item()
            assert abs(tail - 0.0455) < 4 * math.sqrt(0.0455 * 0.9545 / n), name  # it is normal
    assert set(seen) == {"wte", "wpe", "ln_1", "c_attn", "c_proj", "ln_2", "c_fc", "ln_f"}
    assert seen.count("c_proj") == 3 * 4
    # Nothing repeats: the same numbers drawn for two tensors would show here.
    projections = [p for name, p in model.named_parameters() if name.endswith("c_proj.weight")]
    assert len({p[0, 0].item() for p in projections}) == 6


def test_an_untrained_model_guesses_evenly():
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=1009, block_size=131, n_layer=3, n_head=2, n_embd=134)
    model = GPT2(config).eval()
    idx = torch.randint(1009, (5, 131))
    _, loss = model(idx, torch.randint(1009, (5, 131)))
    assert abs(loss.item() - math.log(1009)) < 0.05


def test_a_model_on_the_meta_device_runs_for_its_shapes(config):
    with torch.device("meta"):
        model = GPT2(config)
        logits, loss = model(torch.zeros(5, 11, dtype=torch.int64), torch.zeros(5, 11).long())
    assert logits.shape == (5, 11, 101)
    assert loss.shape == ()


# ---- The loss ---------------------------------------------------------------------------------


def test_the_loss_is_the_mean_over_the_counted_targets(model, idx):
    targets = torch.zeros_like(idx)
    targets[0] = -100
    targets[1:, 3] = -100
    logits, loss = model(idx, targets)
    terms = -logits.log_softmax(dim=-1)[..., 0]  # the target is 0 wherever it counts
    torch.testing.assert_close(loss, terms[targets == 0].mean())


# ---- Bad input --------------------------------------------------------------------------------


def test_ids_of_another_type_or_shape_are_refused(model, idx):
    with pytest.raises(TypeError, match="GPT2Config"):
        GPT2("gpt2")
    for wrong in ([[1, 2, 3]], "text", idx.float(), idx.int()):
        with pytest.raises(TypeError, match=r"^idx must be a tensor of int64"):
            model(wrong)
        with pytest.raises(TypeError, match=r"^targets must be a tensor of int64"):
            model(idx, wrong)
    for wrong in (idx[0], idx[0, 0], idx[None]):
        with pytest.raises(ValueError, match=r"must have shape \(B, T\)"):
            model(wrong)
    for wrong in (idx[:, :0], idx[:0]):
        with pytest.raises(ValueError, match="no tokens"):
            model(wrong)
    with pytest.raises(ValueError, match=r"T=14 .*block_size=13"):
        model(torch.zeros(5, 14).long())
    assert model(torch.zeros(5, 13).long())[0].shape == (5, 13, 101)


@pytest.mark.parametrize("bad", [-1, -99, 101, -(2**40)])
def test_an_id_outside_the_vocabulary_is_refused_by_its_number(model, idx, bad):
    wrong = idx.clone()
    wrong[4, 10] = bad
    with pytest.raises(ValueError, match=f"idx holds the id {bad}, .*0 … 100"):
        model(wrong)
    with pytest.raises(ValueError, match=f"targets holds the id {bad}, .*0 … 100"):
        model(idx, wrong)
    wrong[4, 10] = 100
    model(wrong, wrong)


def test_targets_that_do_not_fit_are_refused(model, idx):
    for wrong in (idx[:, 1:], idx.T):
        with pytest.raises(ValueError, match=r"targets must have idx's shape \(5, 11\)"):
            model(idx, wrong)
    with pytest.raises(ValueError, match="last_only"):
        model(idx, idx, last_only=True)
    with pytest.raises(ValueError, match="targets or a cache"):
        model(idx, idx, cache=model.make_cache(5))
    with pytest.raises(TypeError, match="must be a KVCache"):
        model(idx, cache={})
    nothing = torch.full_like(idx, -100)  # their mean would be 0 / 0
    with pytest.raises(ValueError, match="every target is -100"):
        model(idx, nothing)
    nothing[4, 10] = 7
    assert model(idx, nothing)[1].isfinite()
