"""Attention: both roads give the same, nothing looks ahead, heads keep to their columns."""

from __future__ import annotations

import dataclasses
import math
from contextlib import nullcontext

import pytest
import torch

import gpt2_edu.model
from gpt2_edu import trace
from gpt2_edu.model import CausalSelfAttention, attention_explicit, attention_fused

ROADS = [attention_explicit, attention_fused]
B, H, D = 5, 3, 7


def qkv(T, seed=0, dtype=torch.float32, sizes=(B, H, D)):
    b, h, d = sizes
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        torch.randn(b, h, T, d, generator=generator, dtype=dtype).requires_grad_() for _ in "qkv"
    )


@pytest.fixture(params=["explicit", "fused"])
def road(request):
    """A context in which the model takes one road: a tape asks for the explicit one."""
    return trace if request.param == "explicit" else nullcontext


# T = 1, odd, even, a power of two, past the kernel's own tile sizes, and GPT-2's whole window.
@pytest.mark.parametrize("T", [1, 2, 3, 11, 32, 127, 1024])
def test_both_roads_agree_forward_and_backward(T):
    sizes = (B, H, D) if T < 1024 else (1, 2, 5)
    explicit, fused = qkv(T, sizes=sizes), qkv(T, sizes=sizes)
    up = torch.randn(sizes[0], sizes[1], T, sizes[2], generator=torch.Generator().manual_seed(9))
    results = []
    for attend, tensors in ((attention_explicit, explicit), (attention_fused, fused)):
        out = attend(*tensors)
        out.backward(up)
        results.append([out, *(tensor.grad for tensor in tensors)])
    for name, one, other in zip(("out", "q", "k", "v"), *results, strict=True):
        scale = max(1.0, one.abs().max().item())
        assert (one - other).abs().max().item() < 1e-5 * scale, name


@pytest.mark.parametrize("attend", ROADS)
def test_attention_is_the_formula_written_out_for_every_pair(attend):
    T = 11
    q, k, v = qkv(T, dtype=torch.float64)
    expected = torch.zeros_like(v)
    for b in range(B):
        for h in range(H):
            for i in range(T):
                scores = [(q[b, h, i] @ k[b, h, j] / math.sqrt(D)).exp() for j in range(i + 1)]
                for j in range(i + 1):
                    expected[b, h, i] += scores[j] / sum(scores) * v[b, h, j]
    torch.testing.assert_close(attend(q, k, v), expected, rtol=1e-12, atol=1e-12)


def test_looking_at_the_weights_never_changes_the_numbers(model, config, idx):
    """At T = 1, an odd T and T = block_size: logits and gradients, with a tape and without."""
    whole = torch.randint(config.vocab_size, (B, config.block_size))
    for ids in (idx[:, :1], idx, whole):
        found = []
        for tape in (False, True):
            model.zero_grad()
            if tape:
                with trace(model):
                    logits, loss = model(ids, ids)
            else:
                logits, loss = model(ids, ids)
            loss.backward()
            gradients = {name: p.grad.clone() for name, p in model.named_parameters()}
            found.append({"logits": logits, "loss": loss, **gradients})
        for name, fused in found[0].items():
            scale = max(1e-3, fused.abs().max().item())
            assert (fused - found[1][name]).abs().max().item() < 1e-5 * scale, name


def test_a_later_token_never_changes_an_earlier_output(model, config, idx, road):
    with road():
        before, _ = model(idx)
        for t in range(idx.size(1) - 1):
            changed = idx.clone()
            changed[:, t + 1] = (changed[:, t + 1] + 1) % config.vocab_size
            after, _ = model(changed)
            assert torch.equal(after[:, : t + 1], before[:, : t + 1])  # bitwise
            assert not after[:, t + 1].isclose(before[:, t + 1]).all()  # and the change was real


def test_every_row_of_attention_weights_sums_to_one(model, idx):
    with trace(model) as t:
        model(idx)
    for layer in range(2):
        weights = t[f"transformer.h.{layer}.attn.weights"]
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))
        assert weights.triu(1).eq(0).all()  # exactly
        assert weights.tril().ge(0).all()
        assert weights[:, :, 0, 0].eq(1).all()  # the first token sees only itself


def test_a_head_takes_its_own_columns(config):
    attention = CausalSelfAttention(config)
    x = torch.arange(B * 11 * config.n_embd, dtype=torch.float32).view(B, 11, config.n_embd)
    heads = attention.split_heads(x)
    assert heads.shape == (B, H, 11, D)
    for h in range(H):
        assert torch.equal(heads[:, h], x[..., h * D : (h + 1) * D])


def only_dropout_on(config, name, p=0.5):
    off = {"embd_pdrop": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0}
    return dataclasses.replace(config, **(off | {name: p}))


@pytest.mark.parametrize("name", ["embd_pdrop", "attn_pdrop", "resid_pdrop"])
def test_dropout_is_off_in_eval_mode_and_on_in_training(config, make_model, idx, road, name):
    model = make_model(only_dropout_on(config, name))
    silent = make_model(only_dropout_on(config, name, p=0.0))
    with road(), torch.no_grad():
        expected = silent(idx)[0]
        assert torch.equal(model(idx)[0], expected)
        model.train()
        assert not model(idx)[0].allclose(expected)
        assert not model(idx)[0].allclose(model(idx)[0])  # another mask each time
        assert torch.equal(silent.train()(idx)[0], expected)


@pytest.mark.parametrize("attend", ROADS)
def test_attention_dropout_zeroes_weights_and_keeps_their_mean(attend):
    """Seen through v = the identity, a head's result is its weights: some 0, the rest scaled up."""
    torch.manual_seed(0)
    T, p = 7, 0.3
    q, k, _ = qkv(T, sizes=(2000, H, D))
    v = torch.eye(T).expand(2000, H, T, T)
    with torch.no_grad():
        q, k = (x[:1].expand(2000, H, T, D) for x in (q, k))
        weights, dropped = attend(q, k, v), attend(q, k, v, dropout_p=p)
    past = torch.ones(T, T, dtype=torch.bool).tril()
    zeros = dropped.eq(0)[..., past].float().mean().item()
    assert abs(zeros - p) < 0.01
    kept = dropped.ne(0)
    torch.testing.assert_close(dropped[kept], weights[kept] / (1 - p))
    assert (dropped.mean(0) - weights.mean(0)).abs().max() < 0.05


def ran(monkeypatch, layer, x) -> set[str]:
    """Which of the two attentions a layer has used."""
    calls = set()
    for name in ("attention_explicit", "attention_fused"):
        real = getattr(gpt2_edu.model, name)
        watched = lambda *a, name=name, real=real: calls.add(name) or real(*a)  # noqa: E731
        monkeypatch.setattr(gpt2_edu.model, name, watched)
    layer(x)
    monkeypatch.undo()
    return calls


@pytest.mark.parametrize(
    ("dtype", "T", "learns", "chosen"),
    [
        (torch.bfloat16, 7, True, "attention_explicit"),
        (torch.bfloat16, 513, True, "attention_fused"),  # so long a table costs more
        (torch.bfloat16, 7, False, "attention_fused"),  # forward alone the kernel is fast
        (torch.float32, 7, True, "attention_fused"),
    ],
    ids=str,
)
def test_the_faster_attention_runs_on_a_cpu(dtype, T, learns, chosen, config, monkeypatch):
    layer = CausalSelfAttention(config).to(dtype).requires_grad_(learns)
    assert ran(monkeypatch, layer, torch.randn(1, T, config.n_embd).to(dtype)) == {chosen}


@pytest.mark.parametrize("wanted", ["explicit", "fused"])
def test_which_attention_runs_can_be_chosen_and_a_tape_sees_its_tables_all_the_same(
    wanted, model, idx, monkeypatch
):
    expected, _ = model(idx)
    model.use_attention(wanted)
    assert ran(monkeypatch, model, idx) == {f"attention_{wanted}"}
    torch.testing.assert_close(model(idx)[0], expected)
    with trace(model) as t:
        model(idx)
    assert "transformer.h.0.attn.weights" in t
    with pytest.raises(ValueError, match=r'must be "auto", "explicit" or "fused", got \'flash\''):
        model.use_attention("flash")
