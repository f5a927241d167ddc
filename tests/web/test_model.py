"""The GPT-2 of the page gives PyTorch's numbers, tensor by tensor, on every backend."""

from __future__ import annotations

import json

import pytest
import torch
from torch.nn import functional as F

from gpt2_edu import GPT2, GPT2Config, KVCache, trace

BACKENDS = ["plain", "wasm"]
ODD = GPT2Config(vocab_size=101, block_size=13, n_layer=2, n_head=3, n_embd=21)


def numbers(noted: dict) -> torch.Tensor:
    values = [float(value) for value in noted["values"]]
    return torch.tensor(values, dtype=torch.float32).view(noted["shape"])


@torch.no_grad()
def expected(model: GPT2, chunks, *, cached=False, last_only=False, edits=None):
    """For each chunk the logits and every noted tensor with its axes, as PyTorch has them."""
    cache = KVCache(model.config, 1) if cached else None
    found = []
    for ids in chunks:
        with trace(model, edits=edits) as t:
            logits, _ = model(torch.tensor([ids]), cache=cache, last_only=last_only)
        axes = {name: axes for name, axes, _ in t.ledger().rows()}
        found.append((logits, {n: (axes[n], t[n]) for n in t.names if n != "idx"}))
    return found


def compare(node, folder, model, chunks, backend, *, atol=1e-5, edits=None, **request):
    answer = node(
        "run_model.mjs",
        {"folder": folder(model), "chunks": chunks, "backend": backend, "record": True, **request},
    )
    assert "error" not in answer, answer
    flags = {"cached": request.get("cached", False), "last_only": request.get("lastOnly", False)}
    for passed, (logits, tensors) in zip(
        answer["passes"], expected(model, chunks, edits=edits, **flags), strict=True
    ):
        got = torch.tensor(passed["logits"]).view(logits.shape)
        torch.testing.assert_close(got, logits, atol=atol, rtol=atol)
        noted = {entry["path"]: entry for entry in passed["noted"]}
        assert list(noted) == list(tensors), "the same tensors in the same order"
        for name, (axes, value) in tensors.items():
            assert noted[name]["axes"] == axes, name
            got = numbers(noted[name])
            assert got.shape == value.shape, name
            apart = (got - value).nan_to_num().abs().max()
            assert torch.allclose(got, value, atol=atol, rtol=atol), f"{name}: {apart}"


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_tensor_of_the_bundled_model_is_pytorchs(node, folder, backend):
    model = GPT2.from_pretrained("crane").eval()
    compare(node, folder, model, [[1023, 32, 400, 500, 7, 8, 9]], backend, atol=5e-5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("chunks", [[[3, 1, 4, 1, 5, 9, 2]], [[3, 1, 4], [1], [5, 9, 2], [6] * 6]])
@pytest.mark.parametrize("last", [False, True])
def test_sizes_that_divide_by_nothing_with_and_without_a_cache(
    node, folder, make_model, backend, chunks, last
):
    model = make_model(ODD)
    cached = len(chunks) > 1
    compare(node, folder, model, chunks, backend, cached=cached, lastOnly=last)


@pytest.mark.parametrize("backend", BACKENDS)
def test_widths_of_the_published_model(node, folder, make_model, backend):
    config = GPT2Config(vocab_size=503, block_size=32, n_layer=2)
    compare(node, folder, make_model(config), [list(range(17))], backend, atol=1e-4)


def halved(model: GPT2) -> GPT2:
    """The model with the matrices that the page keeps as float16, rounded so."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.copy_(parameter.half().float())
    return model


@pytest.mark.parametrize("odd", [True, False])
def test_float16_weights_are_rounded_and_nothing_else(node, folder, make_model, odd):
    config = ODD if odd else GPT2Config(vocab_size=503, block_size=32, n_layer=2)
    ids = [[3, 1, 4, 1, 5], [9]]
    exact = make_model(config)
    path = folder(exact)
    request = {"folder": path, "chunks": ids, "backend": "wasm-half", "cached": True}
    answer = node("run_model.mjs", request | {"record": True})
    for passed, (logits, tensors) in zip(
        answer["passes"], expected(halved(make_model(config)), ids, cached=True), strict=True
    ):
        got = torch.tensor(passed["logits"]).view(logits.shape)
        torch.testing.assert_close(got, logits, atol=1e-4, rtol=1e-4)
        for entry in passed["noted"]:
            value = tensors[entry["path"]][1]
            assert torch.allclose(numbers(entry), value, atol=1e-4, rtol=1e-4), entry["path"]
    for passed, (logits, _) in zip(answer["passes"], expected(exact, ids, cached=True)):
        got = torch.tensor(passed["logits"]).view(logits.shape)
        assert (got - logits).abs().max() < 5e-3 * max(1, float(logits.abs().max()))


def whole(numbers: torch.Tensor, largest: int) -> torch.Tensor:
    """Each row as whole numbers, the largest of which is ``largest``, times a scale."""
    scale = numbers.abs().amax(-1, keepdim=True) / largest
    return torch.floor(numbers / scale + 0.5) * scale


@pytest.mark.parametrize("odd", [True, False])
def test_int8_rounds_weights_and_inputs_and_nothing_else(node, folder, make_model, odd):
    config = ODD if odd else GPT2Config(vocab_size=503, block_size=32, n_layer=2)
    exact, ids = make_model(config), [[3, 1, 4, 1, 5], [9]]
    request = {"folder": folder(exact), "chunks": ids, "backend": "wasm-int8", "cached": True}
    answer = node("run_model.mjs", request)
    rounded = make_model(config)
    for parameter in rounded.parameters():
        if parameter.ndim == 2:
            parameter.data.copy_(whole(parameter.data, 127))
    for module in rounded.modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_pre_hook(lambda _, given: (whole(given[0], 8191),))
    for passed, (same, _), (logits, _) in zip(
        answer["passes"],
        expected(rounded, ids, cached=True),
        expected(exact, ids, cached=True),
        strict=True,
    ):
        got = torch.tensor(passed["logits"]).view(logits.shape)
        torch.testing.assert_close(got, same, atol=1e-3, rtol=1e-3)
        assert 1e-3 < (got - logits).abs().max() < 0.1 * logits.abs().max()


def test_every_float16_survives_the_way_through_the_page(node):
    """All 63,488 finite ones come back as they were; halves between two go to the even one."""
    answer = node("run_numbers.mjs", {})
    assert answer["wrong"] == []
    values = torch.tensor(answer["values"], dtype=torch.float64).float()
    bits = values.half().view(torch.int16).to(torch.int64) & 0xFFFF
    assert answer["bits"] == bits.tolist()


def test_whole_numbers_do_not_overflow_in_the_longest_row(node):
    answer = node("run_numbers.mjs", {})
    assert answer["product"] == pytest.approx(8192, rel=1e-5)
    assert answer["tooLong"] == "int8 takes rows of up to 8192 weights, not 8193: use float16"


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_edit_changes_what_follows_as_in_python(node, folder, make_model, backend):
    model = make_model(ODD)
    paths = ["tok_emb", "transformer.h.0.attn.k", "transformer.h.1.attn.weights"]
    paths += ["transformer.h.0.mlp.act", "transformer.h.1.resid_post"]
    request = {path: {"scale": 2.5} for path in paths}
    edits = {path: lambda x: 2.5 * x for path in paths}
    answer = node(
        "run_model.mjs",
        {"folder": folder(model), "chunks": [[5, 6, 7]], "backend": backend, "record": True}
        | {"edits": request},
    )
    (logits, _), *_ = expected(model, [[5, 6, 7]], edits=edits)
    got = torch.tensor(answer["passes"][0]["logits"]).view(logits.shape)
    torch.testing.assert_close(got, logits, atol=1e-4, rtol=1e-4)


def zero_head(x):
    x = x.clone()
    x[:, 1] = 0
    return x


SWITCHES = {
    "head off": ({"headsOff": ["0.1"]}, {"transformer.h.0.attn.heads": zero_head}),
    "positions off": ({"positions": False}, {"pos_emb": torch.zeros_like}),
    "exact GELU": (
        {"gelu": "erf"},
        {f"transformer.h.{n}.mlp.act": None for n in range(2)},
    ),
}


def switched(name: str) -> dict:
    """A switch of the page, and the edits in Python that do the same."""
    switches, edits = SWITCHES[name]
    edits = dict(edits)
    for path in [p for p, edit in edits.items() if edit is None]:
        kept = {}

        def remember(x, kept=kept):
            kept["pre"] = x
            return x

        edits[path.replace("act", "pre")] = remember
        edits[path] = lambda x, kept=kept: F.gelu(kept["pre"])
    return {"switches": switches, "edits": edits}


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_does_what_the_edit_in_python_does(node, folder, make_model, name):
    compare(node, folder, make_model(ODD), [[5, 6, 7, 8]], "plain", **switched(name))


def test_blocks_in_another_order(node, folder, make_model):
    model = make_model(ODD)
    there = [[5, 6, 7, 8]]
    turned = node(
        "run_model.mjs", {"folder": folder(model), "chunks": there, "switches": {"order": [1, 0]}}
    )["passes"][0]
    blocks = model.transformer.h
    x = model.transformer.drop(model.wte(torch.tensor(there)) + model.transformer.wpe.weight[:4])
    for n in (1, 0):
        x = blocks[n](x)
    logits = model.lm_head(model.transformer.ln_f(x))
    assert turned["logits"] == pytest.approx(logits.flatten().tolist(), abs=1e-4)


def test_without_mask_scale_and_layer_norm_it_is_another_model_and_finite(node, folder, make_model):
    model = make_model(ODD)
    base = {"folder": folder(model), "chunks": [[5, 6, 7, 8]], "record": True}
    plain = node("run_model.mjs", base)["passes"][0]
    for switch in ("mask", "scale", "layerNorm"):
        other = node("run_model.mjs", base | {"switches": {switch: False}})["passes"][0]
        assert all(isinstance(value, float | int) for value in other["logits"])
        assert other["logits"] != plain["logits"]
        if switch == "mask":
            noted = {entry["path"]: entry for entry in other["noted"]}
            weights = numbers(noted["transformer.h.0.attn.weights"])
            assert (weights > 0).all(), "every token sees all tokens"


@pytest.mark.parametrize(
    ("chunks", "said"),
    [
        ([[]], "start from at least one"),
        ([[101]], "101 is outside the vocabulary 0 … 100"),
        ([[-1]], "outside the vocabulary"),
        ([[1.5]], "outside the vocabulary"),
        ([[1] * 14], "14 tokens are too many: there is room for 13"),
    ],
)
def test_ids_that_do_not_fit_are_refused_in_words(node, folder, make_model, chunks, said):
    model = make_model(ODD)
    answer = node("run_model.mjs", {"folder": folder(model), "chunks": chunks})
    assert said in answer["error"]


def test_the_cache_refuses_more_than_it_holds_and_keeps_what_it_has(node, folder, make_model):
    model = make_model(ODD)
    request = {"folder": folder(model), "chunks": [[1] * 10, [2] * 4], "cached": True}
    assert "14 tokens are too many" in node("run_model.mjs", request)["error"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "llama"}, 'this is a "llama", and only a GPT-2 runs here'),
        ({"activation_function": "relu"}, '"relu"; GPT-2 has "gelu_new"'),
        ({"n_layer": 10**9}, "n_layer as a whole number"),
        ({"n_layer": 3}, "h.2.attn.c_attn.weight is missing"),
        ({"n_head": 4}, "cannot be shared"),
        ({"n_embd": 42}, "wte.weight is 101 × 21, not 101 × 42"),
        ({"layer_norm_epsilon": "x"}, "layer_norm_epsilon must lie between 0 and 1"),
        ({"scale_attn_by_inverse_layer_idx": True}, "GPT-2 has false"),
    ],
)
def test_a_config_that_lies_is_told(node, folder, make_model, tmp_path, change, said):
    make_model(ODD).save_pretrained(tmp_path / "m")
    config = tmp_path / "m" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | change))
    answer = node("run_model.mjs", {"folder": str(tmp_path / "m"), "chunks": [[1]]})
    assert said in answer["error"]
