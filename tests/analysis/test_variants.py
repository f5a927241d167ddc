"""GPT-2 with one change: nothing else changes, and everything around a model takes it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from gpt2_edu import GPT2Config, generate, llama
from gpt2_edu.analysis.variants import VARIANTS, variant, with_key_heads, with_rotation

CONFIG = GPT2Config(
    vocab_size=101,
    block_size=17,
    n_layer=2,
    n_head=4,
    n_embd=24,
    embd_pdrop=0.0,
    attn_pdrop=0.0,
    resid_pdrop=0.0,
    initializer_range=0.3,
)
V, P, N, H, C = 101, 17, 2, 4, 24
WHOLE = V * C + P * C + N * (12 * C * C + 13 * C) + 2 * C


@pytest.fixture
def idx():
    return torch.randint(V, (3, 11), generator=torch.Generator().manual_seed(1))


def in_parts(state):
    """GPT-2's state dict with q, k and v apart, under the names that Llama's attention has."""
    parts = {}
    for name, value in state.items():
        if "attn.c_attn" in name:
            for letter, part in zip("qkv", value.chunk(3)):
                parts[name.replace("c_attn", f"{letter}_proj")] = part
        else:
            parts[name.replace("attn.c_proj", "attn.o_proj")] = value
    return parts


def test_shared_key_heads_are_gpt2s_attention_where_every_query_head_has_its_own(idx, make_model):
    plain, grouped = make_model(CONFIG), with_key_heads(H, CONFIG)
    grouped.load_state_dict(in_parts(plain.state_dict()))
    torch.testing.assert_close(grouped(idx)[0], plain(idx)[0])


def test_rotation_is_all_that_differs_from_a_gpt2_without_positions(idx, make_model, monkeypatch):
    plain, rotated = make_model(CONFIG), with_rotation(CONFIG)
    nn.init.zeros_(plain.transformer.wpe.weight)
    state = in_parts(plain.state_dict())
    del state["transformer.wpe.weight"]
    rotated.load_state_dict(state)
    assert not torch.allclose(rotated(idx)[0], plain(idx)[0], atol=0.1)
    still = torch.zeros(CONFIG.n_embd // CONFIG.n_head // 2)
    monkeypatch.setattr(llama, "frequencies", lambda config, device: still)
    torch.testing.assert_close(rotated(idx)[0], plain(idx)[0])


@pytest.mark.parametrize(
    "name, fewer",
    {
        "learned": 0,
        "rope": P * C,
        "none": P * C,
        "rmsnorm": (2 * N + 1) * C,
        "swiglu": N * 5 * C,
        "nobias": N * 9 * C,
        "kv2": N * (C * C + C),
        "kv1": N * 3 * (C * C + C) // 2,
        "all": P * C + (2 * N + 1) * C + N * (C * C + 9 * C),
    }.items(),
)
def test_a_variant_has_the_parameters_of_gpt2_but_for_its_change(name, fewer):
    model = variant(name, CONFIG)
    assert WHOLE - sum(w.numel() for w in model.parameters() if w.requires_grad) == fewer


@pytest.mark.parametrize("name", VARIANTS)
def test_it_generates_the_same_with_and_without_a_cache_and_learns_in_every_part(name, idx):
    model = variant(name, CONFIG)
    texts = [
        generate(
            model, idx, 6, generator=torch.Generator().manual_seed(0), use_cache=use_cache
        ).tolist()
        for use_cache in (True, False)
    ]
    assert texts[0] == texts[1]
    model(idx[:, :-1], idx[:, 1:])[1].backward()
    learns = {path: w.grad.any() for path, w in model.named_parameters() if w.requires_grad}
    # What all keys share adds the same to every score of a query, unless they are rotated.
    assert [path for path, any_ in learns.items() if not any_ and "k_proj.bias" not in path] == []


@pytest.mark.parametrize("name", VARIANTS)
def test_all_begin_with_weights_of_the_same_sizes(name):
    model = variant(name, CONFIG)
    for path, module in model.named_modules():
        if isinstance(module, nn.Linear):
            writes = path.endswith(("c_proj", "o_proj", "down_proj"))
            std = 0.15 if writes else 0.3  # √(2N) is 2
            assert module.weight.std().item() == pytest.approx(std, rel=0.3), path
            assert module.bias is None or not module.bias.any()


def test_without_positions_only_the_mask_orders(idx):
    model = variant("none", CONFIG)
    other = idx[:, [1, 0, *range(2, 11)]]
    assert not torch.allclose(model(idx)[0][:, -1], model(other)[0][:, -1], atol=1e-4)
    model.transformer.h = model.transformer.h[:1]  # one block cannot tell the order of what it sees
    torch.testing.assert_close(model(idx)[0][:, -1], model(other)[0][:, -1])
