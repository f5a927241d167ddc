"""Integers with scales: what rounding leaves, models that hold it, their files, what is refused."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from gpt2_edu import (
    GPT2,
    GPT2Config,
    fast,
    generate,
    load_model,
    load_tokenizer,
    pad_left,
    trace,
)
from gpt2_edu.quantize import Integers, from_bytes, quantize, round_to, rounded, two_in_a_byte
from gpt2_edu.web import save_for_page
from tests.test_llama import made as llama

ROW = torch.tensor([[0.12, -0.5, 0.31, 0.07]])

# ---- Rounding ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "last, bits, integers, scale",
    [
        (0.07, 8, [30, -127, 79, 18], 0.003937),
        (0.07, 4, [2, -7, 4, 1], 0.071429),
        (5.0, 4, [0, -1, 0, 7], 0.714286),  # an outlier, and the rest of the row is gone
    ],
)
def test_a_row_rounded_by_hand(last, bits, integers, scale):
    row = ROW.clone()
    row[0, 3] = last
    found, scales = rounded(row, bits, None)
    assert found.tolist() == [integers]
    assert scales.item() == pytest.approx(scale, rel=1e-4)
    torch.testing.assert_close(round_to(row, bits), torch.tensor([integers]) * scales)


@pytest.mark.parametrize("bits", range(2, 17))
@pytest.mark.parametrize("group", [None, 7, 1])
def test_each_weight_goes_to_the_nearest_of_evenly_spaced_ones(bits, group):
    weight = torch.randn(11, 21, dtype=torch.float64)
    left = round_to(weight, bits, group)
    rows, most = weight.view(-1, group or 21), 2 ** (bits - 1) - 1
    steps = rows.abs().amax(dim=1, keepdim=True) / most
    multiples = left.view_as(rows) / steps
    torch.testing.assert_close(multiples, multiples.round(), atol=1e-6, rtol=0)
    assert multiples.abs().max().round() == most
    assert ((left.view_as(rows) - rows).abs() <= steps * 0.500001).all()


def test_rounding_again_changes_nothing():
    once = round_to(torch.randn(11, 21), 5, 3)
    torch.testing.assert_close(round_to(once, 5, 3), once)


def test_a_row_of_zeros_stays_zeros():
    weight = torch.stack((torch.zeros(4), ROW[0]))
    assert round_to(weight, 4)[0].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_the_type_of_the_weights_stays(dtype):
    weight = torch.randn(11, 21).to(dtype)
    left = round_to(weight, 16)
    assert left.dtype == dtype
    assert (left - weight).abs().max() < weight.abs().max() / 2**8


def test_integers_of_4_bits_lie_two_in_a_byte():
    every = torch.arange(-8, 7).repeat(2, 1)  # 15, so that the last byte is half empty
    assert two_in_a_byte(every).dtype == torch.uint8 and two_in_a_byte(every).shape == (2, 8)
    assert from_bytes(two_in_a_byte(every), 15).equal(every.to(torch.int8))


@pytest.mark.parametrize(
    "arguments, kind, message",
    [
        ((ROW, 1), ValueError, "bits must be at least 2, got 1"),
        ((ROW, 17), ValueError, "bits must be at most 16, got 17"),
        ((ROW, 8.0), TypeError, "bits must be an int, got 8.0"),
        ((ROW, 8, 3), ValueError, "group must divide .* got 3: the matrix has 4"),
        ((ROW, 8, 0), ValueError, "group must be at least 1, got 0"),
        ((ROW.long(), 8), TypeError, "weights must be floats in rows, got .*int64"),
        ((ROW.tolist(), 8), TypeError, "weights must be floats in rows, got list"),
        ((ROW / 0, 8), ValueError, "not all finite"),
    ],
)
def test_what_cannot_be_rounded_is_refused(arguments, kind, message):
    with pytest.raises(kind, match=message):
        round_to(*arguments)


# ---- Models --------------------------------------------------------------------------------------

# Kernels work on blocks: its maps fill them, the odd sizes of the others do not.
WIDE = GPT2Config(vocab_size=201, block_size=13, n_layer=2, n_head=4, n_embd=64)
ODD = GPT2Config(vocab_size=101, block_size=13, n_layer=2, n_head=3, n_embd=21)
MODELS = {
    "gpt2": lambda make: make(
        GPT2Config(vocab_size=101, block_size=13, n_layer=2, n_head=3, n_embd=21)
    ),
    "wide": lambda make: make(WIDE),
    "llama": lambda make: llama(),
    "tied": lambda make: llama(tie_word_embeddings=True, qkv_bias=True),
}
ROUNDINGS = [(8, None), (8, 7), (4, None), (4, 3)]


@pytest.fixture(params=MODELS)
def model(request, make_model):
    return MODELS[request.param](make_model)


@pytest.fixture
def idx() -> Tensor:
    return torch.randint(101, (5, 11), generator=torch.Generator().manual_seed(1))


def with_rounded_weights(model, bits: int, group: int | None):
    """The model itself, in floats, with what rounding leaves of its maps and its table."""
    model = copy.deepcopy(model)
    with torch.no_grad():
        for module in {m for m in model.modules() if isinstance(m, nn.Linear)} | {model.wte}:
            if module is not model.lm_head or not model.is_tied():
                module.weight.copy_(round_to(module.weight, bits, group))
    return model


def fits(model, group: int | None) -> int | None:
    """The group, or another one if it does not divide the columns of this model."""
    columns = [m.weight.size(1) for m in model.modules() if isinstance(m, nn.Linear)]
    return group if group is None or not any(n % group for n in columns) else 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("bits, group", ROUNDINGS)
def test_it_holds_what_round_to_leaves(model, bits, group, dtype):
    group = fits(model, group)
    model = model.to(dtype)
    small, expected = quantize(model, bits, group), with_rounded_weights(model, bits, group)
    stored = {name: m for name, m in small.named_modules() if isinstance(m, Integers)}
    plain = dict(expected.named_modules())
    assert len(stored) == sum(isinstance(m, nn.Linear) for m in plain.values()) + 1
    for name, module in stored.items():
        assert module.weight.dtype == dtype
        assert module.weight.equal(plain[name].weight), name
    floats = dict(expected.named_parameters())
    for name, parameter in small.named_parameters():  # biases, norms, positions
        assert parameter.equal(floats[name]), name


@pytest.mark.parametrize("bits, group", ROUNDINGS)
def test_its_logits_are_those_of_the_rounded_weights(model, idx, bits, group):
    group = fits(model, group)
    small, expected = quantize(model, bits, group), with_rounded_weights(model, bits, group)
    for tokens in (idx, idx[:1], idx[:1, :1]):  # many rows, a text, one token
        logits, loss = expected(tokens, tokens)
        found = small(tokens, tokens)
        torch.testing.assert_close(found[0], logits, atol=2e-5, rtol=2e-5)
        torch.testing.assert_close(found[1], loss, atol=2e-5, rtol=2e-5)
    assert not small(idx)[0].allclose(model(idx)[0], atol=1e-4)


@pytest.mark.parametrize("bits", [8, 4])
def test_it_writes_the_same_text_on_every_road(model, idx, bits):
    small, expected = quantize(model, bits), with_rounded_weights(model, bits, None)
    prompt = idx[:, :6]
    batch, padding = pad_left([*prompt.tolist(), [1]], pad_id=0)
    text = generate(expected, prompt, 7, temperature=0, use_cache=False)
    for found in (
        generate(small, prompt, 7, temperature=0),
        generate(small, prompt, 7, temperature=0, use_cache=False),
        generate(small, batch, 7, temperature=0, padding=padding)[:-1],
    ):
        assert found.equal(text)
    assert generate(small, prompt[:1], 7, temperature=0).equal(text[:1])


def test_a_trace_sees_what_it_sees_of_the_model(model, idx):
    with trace(model) as expected, torch.no_grad():
        model(idx)
    small = quantize(model)
    with trace(small) as tape, torch.no_grad():
        small(idx)
    assert [*tape] == [*expected]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_it_works_in_half_precision(model, idx, dtype):
    for small in (quantize(model.to(dtype)), quantize(model.float()).to(dtype)):
        logits, _ = small(idx)
        assert logits.dtype == small.dtype == dtype
        expected, _ = model.float()(idx)
        assert (logits.float() - expected).abs().mean() < 0.05 * expected.abs().mean()


def test_the_model_itself_is_left_as_it_was(model, idx):
    before = copy.deepcopy(model.state_dict())
    small = quantize(model.train())
    assert all(module.training for module in model.modules())
    assert all(p.requires_grad for p in model.parameters())
    logits, _ = small(idx)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            assert parameter.equal(before[name])
            parameter.zero_()
    assert small(idx)[0].equal(logits)
    assert not any(p.requires_grad for p in small.parameters())
    assert not any(module.training for module in small.modules())


@pytest.mark.parametrize("bits, bytes_a_weight", [(8, 1), (4, 0.5)])
def test_parameters_are_counted_and_their_bytes(make_model, bits, bytes_a_weight):
    model = make_model(WIDE)
    small = quantize(model, bits, 32)
    assert small.num_parameters() == model.num_parameters()
    assert model.nbytes() == 4 * model.num_parameters()
    floats = sum(p.numel() for p in small.parameters())
    integers = model.num_parameters() - floats
    assert small.nbytes() == 4 * floats + integers * bytes_a_weight + 4 * integers / 32


@pytest.mark.parametrize(
    "way",
    [
        copy.deepcopy,
        lambda m: pickle.loads(pickle.dumps(m)),
        lambda m: m.to(torch.float64).to(torch.float32),
        lambda m: copy.deepcopy(m).to_empty(device="cpu"),
    ],
)
def test_a_tied_table_is_the_heads_too(make_model, idx, way):
    small = quantize(make_model(WIDE))
    state = small.state_dict()
    moved = way(small)
    assert moved.lm_head.integers is moved.wte.integers
    assert moved.num_parameters() == small.num_parameters() and moved.nbytes() == small.nbytes()
    moved.load_state_dict({k: v.clone() for k, v in state.items()}, assign=True)
    assert moved.lm_head.integers is moved.wte.integers
    assert moved(idx)[0].equal(small(idx)[0])


# ---- Files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits, group", ROUNDINGS)
def test_a_saved_model_comes_back(model, idx, bits, group, tmp_path):
    small = quantize(model, bits, fits(model, group))
    small.save_pretrained(tmp_path)
    for again in (type(model).from_pretrained(tmp_path), load_model(tmp_path)):
        assert (again.config, again.rounding) == (small.config, small.rounding)
        assert again.is_tied() == small.is_tied()
        assert again(idx)[0].equal(small(idx)[0])
        assert not any(p.requires_grad for p in again.parameters())
    stored = load_file(tmp_path / "model.safetensors")
    assert sum(t.nbytes for t in stored.values()) == small.nbytes()  # a tied head is stored once


def test_a_copy_in_half_precision_opens_in_float32(make_model, tmp_path):
    small = quantize(make_model(WIDE).bfloat16(), 4, 32)
    small.save_pretrained(tmp_path)
    again = GPT2.from_pretrained(tmp_path)
    assert again.dtype == torch.float32
    assert again.lm_head.weight.bfloat16().equal(small.lm_head.weight)


def test_integers_are_not_taken_for_weights_elsewhere(tmp_path):
    crane = GPT2.from_pretrained("crane")
    small = quantize(crane)
    with pytest.raises(ValueError, match="integers of 8 bits, which the published GPT-2 does not"):
        save_for_page(small, load_tokenizer("crane"), tmp_path / "page.safetensors")
    assert not any(tmp_path.iterdir())
    with pytest.raises(ValueError, match="integers of a quantised model"):
        crane.load_state_dict(small.state_dict())


def cut(state):
    state["transformer.h.1.mlp.c_fc.integers"] = state["transformer.h.1.mlp.c_fc.integers"][:, :9]


def as_floats(state):
    state["transformer.wte.integers"] = state["transformer.wte.integers"].float()


def not_a_number(state):
    state["transformer.h.0.attn.c_attn.scales"][3] = float("nan")


def another_head(state):
    state["lm_head.integers"] = state["transformer.wte.integers"] + 1
    state["lm_head.scales"] = state["transformer.wte.scales"].clone()


@pytest.mark.parametrize(
    "change, settings, message",
    [
        (cut, {}, r"wrong shape: .*c_fc.integers is \(256, 9\), the config asks for \(256, 64\)"),
        (as_floats, {}, "wrong type: .*wte.integers holds torch.float32, not torch.int8"),
        (not_a_number, {}, "non-finite values in .*c_attn.scales"),
        (another_head, {}, "lm_head.integers differs from transformer.wte.integers"),
        (lambda state: state.pop("transformer.wte.scales"), {}, "missing: transformer.wte.scales"),
        (dict, {"bits": 4}, r"wrong shape: .*is \(201, 64\), the config asks for \(201, 32\)"),
        (dict, {"group": 16}, r"wrong shape: .*scales is \(201, 2\), .* asks for \(201, 4\)"),
        (dict, {"bits": 3}, "config.json .* bits must be 8 or 4, got 3"),
        (dict, {"bits": None}, "config.json .* bits must be an int, got None"),
        (dict, {"group": 5}, "config.json .* group must divide"),
        (dict, {"group": "32"}, "config.json .* group must be an int, got '32'"),
        (dict, {"quant_method": "gptq"}, "config.json .*another library.*gptq"),
    ],
)
def test_a_damaged_file_is_refused_and_named(make_model, tmp_path, change, settings, message):
    quantize(make_model(WIDE), 8, 32).save_pretrained(tmp_path)
    path, weights = tmp_path / "config.json", tmp_path / "model.safetensors"
    state = load_file(weights)
    change(state)
    save_file({k: v.contiguous() for k, v in state.items()}, weights, metadata={"format": "pt"})
    stored = json.loads(path.read_text())
    stored["quantization_config"] |= settings
    path.write_text(json.dumps(stored))
    with pytest.raises(ValueError, match=message):
        GPT2.from_pretrained(tmp_path)


def test_without_its_config_the_integers_are_not_taken_for_weights(make_model, tmp_path):
    quantize(make_model(WIDE)).save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    stored = json.loads(path.read_text())
    del stored["quantization_config"]
    path.write_text(json.dumps(stored))
    with pytest.raises(ValueError, match=r"missing: transformer.wte.weight"):
        GPT2.from_pretrained(tmp_path)


# ---- What is refused -----------------------------------------------------------------------------


def test_what_cannot_be_quantised_is_refused(make_model):
    model = make_model(WIDE)
    for arguments, kind, message in (
        ((nn.Linear(3, 3),), TypeError, "takes a GPT2 or a Llama, got Linear"),
        ((quantize(model),), TypeError, "holds integers already"),
        ((model, 3), ValueError, "bits must be 8 or 4, got 3: round_to"),
        (
            (model, 8, 24),
            ValueError,
            "group must divide .* got 24: transformer.h.0.attn.c_attn has",
        ),
        ((fast.pack(model),), ValueError, "do it with the model that they were packed from"),
    ):
        with pytest.raises(kind, match=message):
            quantize(*arguments)
    with torch.no_grad():
        model.transformer.h[1].mlp.c_fc.weight[3, 5] = torch.inf
    with pytest.raises(ValueError, match=r"not all finite: transformer.h.1.mlp.c_fc.weight"):
        quantize(model)


class Doubled(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


def subclass(model):
    model.transformer.h[1].mlp.c_fc = Doubled(64, 256)


def hooked(model):
    model.transformer.h[1].mlp.c_fc.register_forward_hook(lambda module, x, y: 2 * y)


def own_forward(model):
    layer = model.transformer.h[1].mlp.c_fc
    layer.forward = lambda x: 2 * nn.Linear.forward(layer, x)


@pytest.mark.parametrize("change", [subclass, hooked, own_forward])
def test_a_layer_that_does_something_of_its_own_is_refused(make_model, change):
    model = make_model(WIDE)
    change(model)
    with pytest.raises(TypeError, match=r"of their own: transformer\.h\.1\.mlp\.c_fc$"):
        quantize(model)
    assert type(model.transformer.h[0].mlp.c_fc) is nn.Linear


class Adapted(nn.Module):
    """A layer beside which another one learns."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base, self.more = base, nn.Parameter(torch.full((base.out_features,), 0.5))

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + self.more


def test_a_module_around_a_layer_stays(make_model, idx, tmp_path):
    model = make_model(WIDE)
    model.transformer.h[1].mlp.c_fc = Adapted(model.transformer.h[1].mlp.c_fc)
    small = quantize(model)
    assert isinstance(small.transformer.h[1].mlp.c_fc.base, Integers)
    expected = with_rounded_weights(model, 8, None)
    torch.testing.assert_close(small(idx)[0], expected(idx)[0], atol=2e-5, rtol=2e-5)
    with pytest.raises(ValueError, match=r"c_fc has code of its own \(Adapted\)"):
        small.save_pretrained(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def test_it_cannot_be_trained(model, idx):
    small = quantize(model)
    before = copy.deepcopy(small.state_dict())
    for change in (small.train, small.requires_grad_):
        with pytest.raises(ValueError, match="have no gradient: train the model that it was made"):
            change()
    assert not small.training and not any(p.requires_grad for p in small.parameters())
    optimiser = torch.optim.AdamW(small.parameters())
    with pytest.raises(RuntimeError, match="does not require grad"):
        small(idx, idx)[1].backward()
    optimiser.step()
    for name, tensor in small.state_dict().items():
        assert tensor.equal(before[name])
    assert small.eval() is small and small.requires_grad_(False) is small


def test_a_gradient_passes_through_it(make_model, idx):
    """As for a map of what moved a prediction, or for an adapter that learns beside it."""
    model = make_model(WIDE)
    small, expected = quantize(model), with_rounded_weights(model, 8, None)
    gradients = []
    for one in (small, expected):
        nudge = torch.zeros(64, requires_grad=True)
        with trace(one, edits={"embd": lambda x, nudge=nudge: x + nudge}):
            one(idx[:1], idx[:1])[1].backward()
        gradients.append(nudge.grad)
    torch.testing.assert_close(*gradients)
