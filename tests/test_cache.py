"""The cache: whatever way the tokens went in, the logits are those of one full pass."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gpt2_edu import GPT2, GPT2Config, KVCache, generate, pad_left, trace
from gpt2_edu.model import attention_explicit, attention_fused, visible_keys

B, T = 5, 11
CONFIG = GPT2Config(vocab_size=101, block_size=13, n_layer=2, n_head=3, n_embd=21)


def close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)


def in_chunks(model: GPT2, idx: Tensor, sizes: list[int], cache: KVCache, **settings) -> Tensor:
    """The logits (B, T, V), computed chunk by chunk."""
    with torch.no_grad():
        parts = [model(part, cache=cache, **settings)[0] for part in idx.split(sizes, 1)]
    return torch.cat(parts, dim=1)


# ---- Equal to the full pass ---------------------------------------------------------------------


@pytest.mark.parametrize("prompt", range(1, T + 1))
def test_every_split_of_prompt_and_decoding_gives_the_full_pass(model, idx, prompt):
    expected, _ = model(idx)
    cache = KVCache(model.config, B, T)
    close(in_chunks(model, idx, [prompt] + [1] * (T - prompt), cache), expected)
    assert cache.length == T


@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_a_prompt_may_come_in_chunks_of_any_size(data):
    torch.manual_seed(3)
    model, idx = GPT2(CONFIG).eval(), torch.randint(101, (B, T))
    sizes = []
    while sum(sizes) < T:
        sizes.append(data.draw(st.integers(1, T - sum(sizes))))
    close(in_chunks(model, idx, sizes, KVCache(CONFIG, B)), model(idx)[0])


@pytest.mark.parametrize("sizes", [[11], [10, 1], [3, 4, 4], [1] * 11], ids=str)
def test_texts_padded_on_the_left_are_as_if_alone(model, idx, sizes):
    lengths = [11, 7, 10, 1, 3]
    batch, padding = pad_left([row[:n].tolist() for row, n in zip(idx, lengths)], pad_id=5)
    assert padding.tolist() == [T - n for n in lengths]
    cached = in_chunks(model, batch, sizes, KVCache(model.config, B), padding=padding)
    full, _ = model(batch, padding=padding)
    for row, (text, n) in enumerate(zip(idx, lengths)):
        alone, _ = model(text[None, :n])
        close(cached[row, T - n :], alone[0])
        close(full[row, T - n :], alone[0])
    assert cached.isfinite().all()


def test_what_stands_in_the_padding_does_not_matter(model, idx):
    padding = torch.tensor([4, 0, 1, 10, 7])
    other = torch.where(torch.arange(T) < padding[:, None], (idx + 1) % 101, idx)
    one, two = model(idx, padding=padding)[0], model(other, padding=padding)[0]
    assert torch.equal(one[:, -1], two[:, -1])


def test_a_cached_pass_can_be_watched_and_is_the_same(model, idx):
    cache, watched = KVCache(model.config, B), KVCache(model.config, B)
    with trace(model) as t:
        seen = in_chunks(model, idx[:, :10], [4, 6], watched)
        last = model(idx[:, 10:], cache=watched, last_only=True)[0]
    close(last, model(idx)[0][:, [-1]])
    close(seen, in_chunks(model, idx[:, :10], [4, 6], cache))
    rows = {name: (axes, shape) for name, axes, shape in t.ledger().rows()}
    assert rows["transformer.h.1.attn.weights"] == ("B H T S", (B, 3, 1, T))
    assert rows["transformer.h.1.attn.k"] == ("B H T D", (B, 3, 1, 7))
    assert rows["logits"] == ("B 1 V", (B, 1, 101))


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (1, 11), (4, 11), (11, 11)])
def test_both_roads_agree_where_keys_were_kept(queries, keys):
    q, k, v = torch.randn(B, 3, queries, 7), torch.randn(B, 3, keys, 7), torch.randn(B, 3, keys, 7)
    positions = torch.arange(keys - queries, keys)
    for padding in (None, torch.tensor([0, 1, 5, 9, 0]).clamp(max=keys - queries)):
        visible = visible_keys(positions, keys, padding)
        close(attention_fused(q, k, v, 0.0, visible), attention_explicit(q, k, v, 0.0, visible))
    unmasked = attention_explicit(q, k, v)
    close(unmasked, attention_explicit(q, k, v, 0.0, visible_keys(positions, keys)))
    if queries in (1, keys):
        close(unmasked, attention_fused(q, k, v))
    else:
        with pytest.raises(AssertionError, match="top left"):
            attention_fused(q, k, v)


def test_a_cache_keeps_no_gradient(model, idx):
    cache = KVCache(model.config, B)
    logits, _ = model(idx, cache=cache)
    assert logits.requires_grad
    assert not any(tensor.requires_grad for tensor in (*cache.k, *cache.v))


@pytest.mark.parametrize("kept", [torch.bfloat16, torch.float32])
def test_a_half_precision_model_attends_to_what_is_kept_in_either_type(model, idx, kept):
    cache = KVCache(model.config, B, dtype=kept)
    logits = in_chunks(model.bfloat16(), idx, [6, 5], cache)
    assert logits.dtype == torch.bfloat16
    assert {k.dtype for k in cache.k} == {kept}
    torch.testing.assert_close(logits, model(idx)[0], atol=0.1, rtol=0.05)


# ---- What does not fit --------------------------------------------------------------------------


def test_a_full_cache_is_an_error_that_loses_nothing(model, idx):
    expected, _ = model(idx)
    cache = KVCache(model.config, B, T)
    model(idx[:, :8], cache=cache)
    with pytest.raises(ValueError, match=r"full: it holds 8 of max_len=11 tokens and 5 more"):
        model(idx[:, :5], cache=cache)
    assert cache.length == 8
    close(model(idx[:, 8:], cache=cache)[0], expected[:, 8:])
    with pytest.raises(ValueError, match="full"):
        model(idx[:, :1], cache=cache)
    cache.reset()
    close(model(idx, cache=cache)[0], expected)


def test_a_pass_that_fails_half_way_can_be_done_again(model, idx):
    expected, _ = model(idx)
    cache = KVCache(model.config, B)
    model(idx[:, :4], cache=cache)

    def fail(x: Tensor) -> Tensor:
        raise ArithmeticError

    with pytest.raises(ArithmeticError), trace(model, edits={"transformer.h.1.ln_2": fail}):
        model(idx[:, 6:9], cache=cache)
    assert cache.length == 4
    close(model(idx[:, 4:], cache=cache)[0], expected[:, 4:])


def test_a_cache_of_something_else_is_refused(model, idx, make_model):
    config = model.config
    held = r"\(n_layer, n_kv_head, head_size\) = \(2, 3, 7\), this model has \(3, 3, 7\)"
    with pytest.raises(ValueError, match=held):
        make_model(replace(config, n_layer=3))(idx, cache=KVCache(config, B))
    with pytest.raises(ValueError, match="a batch of 7, idx has 5"):
        model(idx, cache=KVCache(config, 7))
    with pytest.raises(ValueError, match="on meta, idx on cpu"):
        model(idx, cache=KVCache(config, B, device="meta"))
    cache = KVCache(config, B)
    model(idx[:, :1], cache=cache)
    with pytest.raises(ValueError, match=r"1 tokens of another model. Call cache.reset\(\)"):
        make_model(config, seed=1)(idx[:, 1:], cache=cache)


def test_sizes_that_mean_nothing_are_refused(config):
    with pytest.raises(ValueError, match="max_len must lie in 1 … block_size=13, got 14"):
        KVCache(config, B, 14)
    with pytest.raises(ValueError, match="max_len must be at least 1"):
        KVCache(config, B, 0)
    with pytest.raises(ValueError, match="batch_size must be at least 1"):
        KVCache(config, 0)
    with pytest.raises(TypeError, match="batch_size must be an int"):
        KVCache(config, True)
    with pytest.raises(TypeError, match="dtype must be"):
        KVCache(config, B, dtype=torch.int8)


@pytest.mark.parametrize(
    "padding",
    [[0] * B, torch.zeros(4).long(), torch.zeros(B), torch.tensor([0, 0, -1, 0, 0])]
    + [torch.tensor([0, 0, T, 0, 0])],
    ids=str,
)
def test_padding_that_does_not_fit_is_refused(model, idx, padding):
    for call in (model, lambda idx, padding: generate(model, idx, 1, padding=padding)):
        with pytest.raises((TypeError, ValueError), match=r"^padding (must be|holds)"):
            call(idx, padding=padding)


def test_a_cache_made_in_inference_mode_serves_outside_it(model, idx):
    with torch.inference_mode():
        cache = KVCache(model.config, B)
    close(model(idx, cache=cache)[0], model(idx)[0])


def test_more_blocks_than_the_cache_has_layers_are_refused(model, idx, make_model):
    model.transformer.h.append(make_model(model.config).transformer.h[0])
    with pytest.raises(ValueError, match="the cache has 2 layers, and the model has more blocks"):
        model(idx, cache=KVCache(model.config, B))


def test_a_models_own_cache_has_its_window_device_and_type(model):
    cache = model.make_cache(3)
    assert (cache.batch_size, cache.max_len, cache.length) == (3, 13, 0)
    assert model.make_cache(3, 7).max_len == 7
    assert model.bfloat16().make_cache(1).k[0].dtype == torch.float32  # on a CPU
    assert model.to("meta").make_cache(1).k[0].dtype == torch.bfloat16


def test_a_model_in_float64_keeps_its_precision_with_a_cache(model, idx):
    double = model.double()
    cache = double.make_cache(len(idx))
    double(idx[:, :-1], cache=cache)
    cached = double(idx[:, -1:], cache=cache)[0]
    torch.testing.assert_close(cached, double(idx)[0][:, -1:], atol=1e-13, rtol=1e-12)
