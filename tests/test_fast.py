"""Packed weights and the compiled step give the model's logits, or refuse."""

from __future__ import annotations

import copy
import pickle
from functools import partial

import pytest
import torch

from gpt2_edu import GPT2, GPT2Config, fast, generate, pad_left, stream
from gpt2_edu.fast import (
    Compiled,
    FixedCache,
    PackedBytes,
    PackedInt4,
    PackedInt8,
    PackedLinear,
    PackedWords,
    pack,
)
from gpt2_edu.machine.device import cpp_compiler
from gpt2_edu.quantize import QuantizedLinear, quantize
from tests.thorough import thorough

# ---- Packed weights ------------------------------------------------------------------------------


@pytest.mark.parametrize("onednn", [True, False])
def test_a_packed_model_gives_the_models_logits(model, idx, onednn, monkeypatch, missing):
    if onednn and not torch.backends.mkldnn.is_available():
        missing("this build of torch has no oneDNN")
    if not onednn:
        monkeypatch.setattr(fast, "onednn_knows", lambda dtype: False)
    packed = pack(model)
    assert any(isinstance(m, PackedLinear) for m in packed.modules()) == onednn
    torch.testing.assert_close(packed(idx)[0], model(idx)[0], atol=1e-5, rtol=1e-5)
    new = generate(packed, idx[:, :4], 9, temperature=0)
    assert torch.equal(new, generate(model, idx[:, :4], 9, temperature=0))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_copy_in_half_precision_is_near(model, idx, dtype):
    packed = pack(model, dtype)
    logits, _ = packed(idx)
    assert logits.dtype == dtype
    expected, _ = model(idx)
    assert (logits.float() - expected).abs().max() < 0.05 * expected.abs().max()
    assert next(model.parameters()).dtype == torch.float32


def test_later_changes_of_the_model_do_not_reach_the_copy(model, idx):
    packed = pack(model)
    before = packed(idx)[0]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert torch.equal(packed(idx)[0], before)


def test_a_copy_is_frozen_and_leaves_the_model_as_it_was(model):
    packed = pack(model.train())
    assert all(module.training for module in model.modules())
    assert not any(module.training for module in packed.modules())
    assert not any(p.requires_grad for p in packed.parameters())
    assert all(p.requires_grad for p in model.parameters())


def test_packed_weights_are_neither_saved_nor_copied_nor_moved(model, idx, tmp_path):
    packed = pack(model)
    before = packed(idx)[0]
    for use in (
        lambda: packed.save_pretrained(tmp_path),
        lambda: packed.load_state_dict(model.state_dict(), strict=False),
        lambda: packed.to(torch.float64),
        lambda: copy.deepcopy(packed),
        lambda: pickle.dumps(packed),
    ):
        with pytest.raises(ValueError, match="do it with the model that they were packed from"):
            use()
    assert list(tmp_path.iterdir()) == []
    assert packed(idx)[0].equal(before)  # nothing has changed


def test_a_packed_weight_can_be_read(model):
    weight = pack(model).transformer.h[0].mlp.c_fc.weight
    assert torch.equal(weight, model.transformer.h[0].mlp.c_fc.weight)


def test_what_cannot_be_packed_is_refused(model):
    for dtype in (torch.int8, torch.float8_e4m3fn, "float16"):
        with pytest.raises(TypeError, match=r"torch\.float64, or one of these as dtype, got"):
            pack(model, dtype)
    with pytest.raises(TypeError, match="got None"):
        pack(torch.nn.Identity())
    with pytest.raises(TypeError, match="a model that is not packed already"):
        pack(pack(model))
    with torch.no_grad():
        model.wte.weight[7] = 1e6
    with pytest.raises(ValueError, match=r"not all finite in torch.float16: .*wte"):
        pack(model, torch.float16)


def test_a_layer_with_a_forward_or_a_hook_of_its_own_is_left_as_it_is(model, idx):
    before = pack(model)(idx)[0]
    layer = model.transformer.h[0].mlp.c_fc
    layer.forward = lambda x: torch.nn.Linear.forward(layer, 2 * x)
    assert not torch.allclose(pack(model)(idx)[0], before)


# ---- Packed integers -----------------------------------------------------------------------------


@pytest.fixture
def fbgemm(missing) -> None:
    if not fast.fbgemm_is_here():
        missing("this build of torch has no FBGEMM")


@pytest.fixture
def wide(make_model) -> GPT2:
    """One whose maps fill the blocks of every kernel, but for the rows of its head."""
    return make_model(GPT2Config(vocab_size=101, block_size=13, n_layer=2, n_head=4, n_embd=64))


def packed_maps(model) -> set[type]:
    found = {type(module) for module in model.modules()}
    kinds = {PackedLinear, PackedInt8, PackedBytes, PackedInt4, PackedWords, QuantizedLinear}
    return found & kinds


@pytest.mark.parametrize(
    "bits, group, kind", [(8, None, PackedInt8), (4, None, PackedInt4), (4, 32, PackedInt4)]
)
def test_packed_integers_give_nearly_the_same_logits(wide, idx, bits, group, kind, missing):
    """Nearer than the weights before they were rounded."""
    if kind is PackedInt8 and not fast.fbgemm_is_here():
        missing("this build of torch has no FBGEMM")
    small = quantize(wide, bits, group)
    packed = pack(small)
    assert packed_maps(packed) == {kind}
    for tokens in (idx[:1, :1], idx[:1], idx):  # few rows and many
        found, expected = packed(tokens)[0], small(tokens)[0]
        assert found.dtype == torch.float32
        off, rounding = (found - expected).abs().mean(), (wide(tokens)[0] - expected).abs().mean()
        assert off < 0.02 * expected.abs().mean() and off < rounding
    assert generate(packed, idx[:1, :4], 9, temperature=0).shape == (1, 13)


@pytest.mark.usefixtures("fbgemm")
def test_packed_integers_of_8_bits_are_the_layers(wide):
    """Inputs have 13 bits: much finer than bfloat16's 8, and whoever is beside them."""
    layer = quantize(wide).transformer.h[1].mlp.c_fc
    packed = PackedInt8(layer)
    assert packed.weight.equal(layer.weight)
    x = torch.randn(40, 64) * torch.logspace(-9, 9, 40)[:, None]
    found, expected = packed(x), layer(x)
    error = (found - expected).norm(dim=1) / (expected - layer.bias).norm(dim=1).clamp_min(1e-3)
    assert error.max() < 2e-4
    assert packed(x[7:9]).equal(found[7:9])
    assert packed(x.bfloat16()).dtype == torch.bfloat16


@pytest.mark.usefixtures("fbgemm")
def test_sums_of_bytes_do_not_overflow(wide):
    """As they would where two products are added in 16 bits, if inputs had 8 bits."""
    layer = quantize(wide).transformer.h[1].mlp.c_fc
    with torch.no_grad():
        layer.integers.fill_(127)
    packed = PackedInt8(layer)
    for sign in (1.0, -1.0):
        x = torch.full((1, 64), sign)
        torch.testing.assert_close(packed(x), layer(x), atol=1e-6, rtol=1e-5)


def test_where_there_is_no_fbgemm_torchs_kernel_for_bytes_takes_its_place(wide, monkeypatch):
    monkeypatch.setattr(fast, "fbgemm_is_here", lambda: False)
    small = quantize(wide)
    assert packed_maps(pack(small)) == {PackedBytes}
    layer = small.transformer.h[1].mlp.c_fc
    packed = fast.packed_layer(layer, torch.float32)
    assert packed.weight.equal(layer.weight)
    x = torch.randn(fast.FEW_ROWS + 1, 64)
    assert packed(x).equal(layer(x))
    few = x[:-1].bfloat16().float()  # bfloat16 rounds what is summed, not scales nor biases
    sums = layer(few) - layer.bias
    torch.testing.assert_close(packed(few) - layer.bias, sums, atol=1e-6, rtol=2**-7)
    packed.bias = None  # as in a Llama
    torch.testing.assert_close(packed(few), sums, atol=1e-6, rtol=2**-7)


@pytest.mark.parametrize("bits, group", [(8, 32), (4, 16)])
def test_integers_for_which_there_is_no_kernel_stay_as_they_are(wide, idx, bits, group):
    small = quantize(wide, bits, group)
    packed = pack(small)
    assert packed_maps(packed) == {QuantizedLinear}
    assert packed(idx)[0].equal(small(idx)[0])


@pytest.mark.parametrize("bits", [8, 4])
def test_a_packed_map_of_integers_keeps_zeros_biases_and_what_is_not_finite(wide, bits):
    layer = quantize(wide, bits).transformer.h[0].mlp.c_fc
    packed = fast.packed_layer(layer, torch.float32)
    assert packed(torch.zeros(2, 64)).equal(layer.bias.expand(2, -1))
    for bad in (torch.nan, torch.inf, -torch.inf):
        x = torch.ones(2, 64)
        x[1, 5] = bad
        assert packed(x)[0].isfinite().all() and not packed(x)[1].isfinite().any()


def test_packed_integers_are_neither_saved_nor_copied_nor_packed_again(wide, tmp_path):
    for bits in (8, 4):
        packed = pack(quantize(wide, bits))
        for use in (
            lambda packed=packed: packed.save_pretrained(tmp_path),
            lambda packed=packed: copy.deepcopy(packed),
            lambda packed=packed: packed.to(torch.float64),
        ):
            with pytest.raises(ValueError, match="the model that they were packed from"):
                use()
        with pytest.raises(TypeError, match="a model that is not packed already"):
            pack(packed)
    assert list(tmp_path.iterdir()) == []


def test_a_map_of_integers_with_a_hook_is_left_as_it_is(wide, idx):
    small = quantize(wide)
    before = pack(small)(idx)[0]
    small.transformer.h[0].mlp.c_fc.register_forward_hook(lambda module, x, y: 2 * y)
    assert not torch.allclose(pack(small)(idx)[0], before)


# ---- The compiled step ---------------------------------------------------------------------------


def fixed(model: GPT2, *sizes: int) -> FixedCache:
    return FixedCache(model.config, *sizes)


@pytest.mark.parametrize("sizes", [[11], [10, 1], [3, 4, 4], [1] * 11], ids=str)
def test_a_cache_of_fixed_shapes_gives_the_full_pass(model, idx, sizes):
    cache = fixed(model, len(idx))
    with torch.no_grad():
        parts = [model(part, cache=cache)[0] for part in idx.split(sizes, 1)]
    torch.testing.assert_close(torch.cat(parts, dim=1), model(idx)[0], atol=1e-5, rtol=1e-5)
    assert cache.length == 11
    cache.reset()
    assert cache.length == 0


def test_a_cache_of_fixed_shapes_keeps_its_own_type(model, idx):
    cache = FixedCache(model.config, len(idx), None, None, torch.float32)
    half = copy.deepcopy(model).bfloat16()
    assert half(idx, cache=cache)[0].dtype == torch.bfloat16
    assert cache.k[0].dtype == torch.float32
    assert not any(tensor.requires_grad for tensor in (*cache.k, *cache.v))  # it holds no graph


def test_a_cache_of_fixed_shapes_refuses_what_a_cache_does(model, idx):
    cache = fixed(model, len(idx), 11)
    model(idx, cache=cache)
    with pytest.raises(ValueError, match="full: it holds 11 of max_len=11 tokens and 1 more"):
        model(idx[:, :1], cache=cache)


@pytest.fixture
def compiler(missing) -> None:
    if cpp_compiler() is None:
        missing("torch.compile needs a C++ compiler")


@pytest.fixture
def compile_by(monkeypatch):
    """A function that chooses what torch.compile ends with; "aot_eager" runs the graph as it is."""

    def choose(backend: str) -> None:
        torch._dynamo.reset()  # what other tests have compiled
        if backend != "inductor":
            compiled = partial(torch.compile, backend=backend, fullgraph=True, dynamic=False)
            monkeypatch.setattr(torch, "compile", lambda step, **_: compiled(step))

    return choose


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("backend", ["aot_eager", thorough("inductor")])
def test_one_compiled_step_serves_every_length_and_any_number_of_texts(
    model, idx, backend, compile_by
):
    """When it compiles again is decided before a backend makes C++ of the graph."""
    compile_by(backend)
    predict = Compiled(model, len(idx))
    settings = {"temperature": 0, "overflow": "crop"}
    for T, n in ((2, 12), (1, 6), (9, 25)):
        expected = generate(model, idx[:, :T], n, use_cache=False, **settings)
        with torch._dynamo.config.patch(error_on_recompile=True):
            found = generate(model, idx[:, :T], n, predict=predict, **settings)
        assert torch.equal(found, expected)
        with torch.no_grad():
            model.wte.weight.mul_(-1.1)  # a changed weight is seen


@pytest.mark.thorough
@pytest.mark.usefixtures("compiler")
def test_prompts_of_different_lengths_continue_as_if_alone_when_compiled(model, idx):
    batch, padding = pad_left([idx[0, :6].tolist(), idx[1, :2].tolist()], pad_id=0)
    predict = Compiled(model, 2, padding=padding)
    assert torch.equal(
        generate(model, batch, 6, temperature=0, predict=predict),
        generate(model, batch, 6, temperature=0, padding=padding),
    )
    with pytest.raises(ValueError, match="was made for a batch of 2, idx has 5"):
        next(stream(model, idx, 1, predict=predict))


@pytest.mark.parametrize("bits", [8, 4])
def test_words_hold_the_integers(bits):
    torch.manual_seed(0)
    layer = QuantizedLinear(torch.nn.Linear(20, 13), bits, None)
    packed = PackedWords(layer)
    assert torch.equal(packed.weight, layer.weight)
    x = torch.randn(2, 3, 20)
    torch.testing.assert_close(packed(x), layer(x), atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("rows", [1, 3])
def test_a_product_with_words_is_that_of_floats(bits, rows, monkeypatch):
    torch.manual_seed(0)
    layer = QuantizedLinear(torch.nn.Linear(20, 13), bits, None)
    x, expected = torch.randn(1, rows, 20), layer(torch.zeros(1, rows, 20))
    packed = PackedWords(layer)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert torch.equal(packed(torch.zeros_like(x)), expected)
    torch.testing.assert_close(packed(x), layer(x))
    assert packed(x.bfloat16()).dtype == torch.bfloat16


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_a_quantised_model_packed_for_the_compiler_writes_its_text(model, idx, backend, compile_by):
    """What is compiled is one graph; whether as C++ or as it is matters little here."""
    compile_by(backend)
    whole = quantize(model)
    packed = pack(whole, for_compiler=True)
    expected = generate(whole, idx[:1, :4], 9, temperature=0)
    found = generate(packed, idx[:1, :4], 9, temperature=0, predict=Compiled(packed, 1))
    assert torch.equal(found, expected)


def test_for_the_compiler_only_integers_by_rows_are_packed(model):
    assert packed_maps(pack(model, for_compiler=True)) == set()
    assert packed_maps(pack(quantize(model), for_compiler=True)) == {PackedWords}
    grouped = pack(quantize(model, 8, group=7), for_compiler=True)
    assert packed_maps(grouped) == {QuantizedLinear}


@pytest.mark.usefixtures("compiler")
def test_what_the_compiler_cannot_take_is_refused(model):
    with pytest.raises(TypeError, match=r"no packed model, but one of pack\("):
        Compiled(pack(quantize(model)), 1)
