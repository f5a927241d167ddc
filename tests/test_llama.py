"""Llama, Qwen2 and Qwen3: parity with transformers, roads of generation, files, bad input."""

from __future__ import annotations

import inspect
import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from gpt2_edu import GPT2, fast, flops, generate, pad_left, trace
from gpt2_edu.config import LlamaConfig
from gpt2_edu.llama import Llama, SwiGLU, rotate, rotation
from gpt2_edu.weights import INDEX
from tests.llama_parity import COMPARED, IDX, KINDS, SIZES, made, relative, theirs


@pytest.fixture
def idx() -> Tensor:
    return IDX


# ---- Parity ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_parity_with_transformers(kind, tmp_path):
    """In logits, loss, gradients, with a cache, with padding, and in the text that follows."""
    model = made(**KINDS[kind])
    model.save_pretrained(tmp_path)
    reference = theirs(tmp_path)
    assert type(reference).__name__.lower().startswith(kind[:5] if "qwen" in kind else "llama")
    differences = {name: compare(model, reference) for name, compare in COMPARED.items()}
    assert all(difference < 1e-5 for difference in differences.values()), differences


@pytest.mark.parametrize(
    "name, sizes, count",
    [
        ("SmolLM2-135M", {}, 134_515_008),
        (
            "Qwen3-0.6B",
            {
                "vocab_size": 151_936,
                "n_layer": 28,
                "n_head": 16,
                "n_kv_head": 8,
                "n_embd": 1024,
                "n_inner": 3072,
                "head_size": 128,
                "qk_norm": True,
            },
            596_049_920,
        ),
        (
            "Llama 3 8B",
            {
                "vocab_size": 128_256,
                "n_layer": 32,
                "n_head": 32,
                "n_kv_head": 8,
                "n_embd": 4096,
                "n_inner": 14_336,
                "head_size": 128,
                "tie_word_embeddings": False,
            },
            8_030_261_248,
        ),
    ],
)
def test_the_published_sizes_have_as_many_parameters_as_published(name, sizes, count):
    with torch.device("meta"):
        assert Llama(LlamaConfig(**sizes)).num_parameters() == count
    assert flops.num_parameters(LlamaConfig(**sizes)) == count


def test_the_number_that_tells_a_llama_is_that_of_transformers(tmp_path):
    Llama.probe().save_pretrained(tmp_path)
    with torch.inference_mode():
        logits = theirs(tmp_path, torch.float64)(torch.arange(128).unsqueeze(0)).logits
    assert logits.logsumexp(dim=-1).mean().item() == pytest.approx(Llama.log_sum_exp, abs=1e-5)


def test_both_families_end_a_pass_in_the_same_lines():
    """The lines are written twice, because each file is read from top to bottom."""
    ends = {
        inspect.getsource(kind.forward).partition('x = note("ln_f"')[2] for kind in (GPT2, Llama)
    }
    assert len(ends) == 1 and "cross_entropy" in ends.pop()


# ---- Positions -----------------------------------------------------------------------------------


def test_a_score_depends_on_the_distance_of_its_tokens_only():
    """Numbers of a worked example: θ = 0.5, q = (0.9, 0.1), k = (0.7, 0.7)."""
    q, k = torch.tensor([0.9, 0.1]), torch.tensor([0.7, 0.7])

    def score(i: int, j: int) -> float:
        turned = [
            rotate(x, (0.5 * torch.tensor([n])).cos(), (0.5 * torch.tensor([n])).sin())
            for x, n in ((q, i), (k, j))
        ]
        return (turned[0] @ turned[1]).item()

    assert score(0, 0) == pytest.approx(0.7)
    assert score(3, 1) == pytest.approx(score(7, 5)) == pytest.approx(0.8494, abs=5e-5)
    assert score(5, 1) == pytest.approx(0.2179, abs=5e-5)


def test_rotation_keeps_lengths_and_position_0_as_it_is():
    x = torch.randn(2, 3, 5, SIZES.head_size)
    turned = rotate(x, *rotation(SIZES, torch.arange(5)))
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1))
    assert turned[:, :, 0].equal(x[:, :, 0]) and not turned[:, :, 1].allclose(x[:, :, 1])


# ---- The same interface as GPT2's ----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["llama", "scaled", "qwen3"])
def test_every_road_generates_the_same(kind, idx):
    model, prompt = made(**KINDS[kind]), idx[:, :9]
    with torch.no_grad():
        expected = prompt
        for _ in range(12):
            next_ids = model(expected)[0][:, -1:].argmax(dim=-1)
            expected = torch.cat([expected, next_ids], dim=1)
    batch, padding = pad_left([*prompt.tolist(), [1]], pad_id=0)
    found = {
        "cached": generate(model, prompt, 12, temperature=0),
        "uncached": generate(model, prompt, 12, temperature=0, use_cache=False),
        "padded": generate(model, batch, 12, temperature=0, padding=padding)[:-1],
        "cropped": generate(model, prompt, 40, temperature=0, overflow="crop")[:, :21],
        "packed": generate(fast.pack(model), prompt, 12, temperature=0),
    }
    for road, text in found.items():
        assert text.equal(expected), road


def test_a_cache_holds_the_key_heads_only(idx):
    model = made()
    cache = model.make_cache(3)
    assert cache.k[0].shape == (3, SIZES.n_kv_head, SIZES.block_size, SIZES.head_size)
    whole, _ = model(idx)
    parts = [model(part, cache=cache)[0] for part in idx.split([1, 13, 15], dim=1)]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole)


@pytest.mark.parametrize("kind", ["scaled", "qwen3"])
def test_its_training_pass_is_compiled_as_one_graph(kind, idx):
    model = made(**KINDS[kind])
    _, expected = model(idx, idx)
    _, loss = torch.compile(model, backend="eager", fullgraph=True)(idx, idx)
    torch.testing.assert_close(loss, expected)


@pytest.mark.parametrize("attention", ["explicit", "fused"])
def test_either_attention_gives_the_same(attention, idx):
    model = made()
    expected, _ = model(idx)
    model.use_attention(attention)
    assert relative(model(idx)[0], expected) < 1e-5


def test_a_tape_records_what_it_does_of_a_gpt2(idx):
    model = made()
    with trace(model) as tape:
        model(idx)
    for name in ("q", "k", "v", "scores", "weights", "heads", "merged", "out"):
        assert len(tape.ending(f"attn.{name}")) == SIZES.n_layer
    weights = tape["transformer.h.1.attn.weights"]
    assert weights.shape == (3, SIZES.n_head, 29, 29)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, SIZES.n_head, 29))
    with trace(model, edits={"transformer.h.0.mlp.act": torch.zeros_like}):
        assert not model(idx)[0].allclose(tape["logits"])


# ---- Files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_model_is_the_same_when_loaded(kind, idx, tmp_path):
    model = made(**KINDS[kind])
    model.save_pretrained(tmp_path)
    loaded = Llama.from_pretrained(tmp_path)
    assert loaded.config == model.config and loaded.is_tied() == model.is_tied()
    assert loaded(idx)[0].equal(model(idx)[0])


@pytest.mark.parametrize("kind", ["llama", "tied", "scaled", "qwen2", "qwen3"])
def test_what_transformers_saved_in_several_files_is_loaded(kind, idx, tmp_path):
    made(**KINDS[kind]).save_pretrained(tmp_path / "ours")
    reference = theirs(tmp_path / "ours")
    reference.save_pretrained(tmp_path, max_shard_size="8KB")
    assert (tmp_path / INDEX).is_file() and not (tmp_path / "model.safetensors").exists()
    assert relative(Llama.from_pretrained(tmp_path)(idx)[0], reference(idx).logits) < 1e-5

    made().save_pretrained(tmp_path)  # over it: the index of the other files must not be followed
    assert Llama.from_pretrained(tmp_path)(idx)[0].equal(made()(idx)[0])


def test_the_frequencies_in_older_files_are_skipped(idx, tmp_path):
    made().save_pretrained(tmp_path)
    path = tmp_path / "model.safetensors"
    frequencies = {f"model.layers.{n}.self_attn.rotary_emb.inv_freq": torch.ones(7) for n in (0, 1)}
    save_file(load_file(path) | frequencies, path, metadata={"format": "pt"})
    assert Llama.from_pretrained(tmp_path)(idx)[0].equal(made()(idx)[0])


def test_a_missing_head_is_named_unless_it_is_tied(tmp_path):
    made().save_pretrained(tmp_path)
    path = tmp_path / "model.safetensors"
    left = {name: tensor for name, tensor in load_file(path).items() if name != "lm_head.weight"}
    save_file(left, path, metadata={"format": "pt"})
    with pytest.raises(ValueError, match="missing: lm_head"):
        Llama.from_pretrained(tmp_path)


def test_a_missing_file_of_several_is_named(tmp_path):
    made().save_pretrained(tmp_path / "ours")
    theirs(tmp_path / "ours").save_pretrained(tmp_path, max_shard_size="8KB")
    gone = sorted(tmp_path.glob("model-0*"))[2]
    gone.unlink()
    with pytest.raises(FileNotFoundError, match=rf"lacks {gone.name}: .* files that its {INDEX}"):
        Llama.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    "index",
    ["[]", "{}", '{"weight_map": {"a": "../model.safetensors"}}', '{"weight_map": {"a": ["b"]}}'],
)
def test_an_index_that_leads_elsewhere_is_refused(index, tmp_path):
    made().save_pretrained(tmp_path)
    (tmp_path / INDEX).write_text(index)
    with pytest.raises(ValueError, match="must map tensors to files of its folder"):
        Llama.from_pretrained(tmp_path)


def test_a_part_that_was_replaced_is_not_saved(tmp_path, monkeypatch):
    model = made()
    monkeypatch.setattr(SwiGLU, "forward", lambda self, x: self.down_proj(self.gate_proj(x)))
    with pytest.raises(ValueError, match=r"not the Llama of its config: .*computes other logits"):
        model.save_pretrained(tmp_path / "model")
    assert not (tmp_path / "model").exists()


# ---- Bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("change, message", [
    ({"model_type": "mistral"}, "model_type is 'mistral', not one of llama, qwen2, qwen3"),
    ({"rope_parameters": {"rope_type": "yarn"}}, "its RoPE is of type 'yarn'"),
    ({"rope_parameters": {"rope_type": "llama3"}}, "rope's factor is missing"),
    ({"rope_parameters": [1]}, "rope_parameters must be an object"),
    ({"use_sliding_window": True}, "use_sliding_window is True, not False"),
    ({"num_key_value_heads": 4}, "n_head=6 is not divisible by n_kv_head=4"),
    ({"head_dim": 7}, "head_size=7 is odd"),
    ({"rms_norm_eps": 0}, "rms_norm_eps must be above 0"),
    ({"num_attention_heads": "6"}, "n_head must be an int"),
])  # fmt: skip
def test_a_config_of_something_else_is_refused(change, message, tmp_path):
    made().save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ValueError, match=f"does not describe a Llama: {message}"):
        Llama.from_pretrained(tmp_path)


def test_each_class_refuses_the_files_of_the_other(tmp_path):
    made().save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="model_type is 'llama', not 'gpt2'"):
        GPT2.from_pretrained(tmp_path)
    with pytest.raises(ValueError, match="model_type is 'gpt2', not one of llama"):
        Llama.from_pretrained("crane")
    with pytest.raises(TypeError, match="made from a LlamaConfig, got GPT2Config"):
        Llama(GPT2.from_pretrained("crane").config)


def test_a_cache_of_another_model_and_a_text_beyond_the_window_are_refused(idx):
    model = made()
    with pytest.raises(ValueError, match="n_kv_head"):
        model(idx, cache=made(n_kv_head=6).make_cache(3))
    with pytest.raises(ValueError, match="at most block_size=41"):
        model(idx.repeat(1, 2))
