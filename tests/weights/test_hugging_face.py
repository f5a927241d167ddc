"""Checkpoints in Hugging Face's form: ours open in transformers, theirs here, nothing else does."""

from __future__ import annotations

import pytest
import torch

from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.gpt2_weights import from_hugging_face, to_hugging_face
from tests.weights.helpers import assert_same_weights, reconfigure, refused, rewrite

# ---- Names and layouts ------------------------------------------------------------------------


def test_every_setting_of_the_config_survives_the_trip(tmp_path, make_model):
    rates = {"embd_pdrop": 0.2, "attn_pdrop": 0.3, "resid_pdrop": 0.4, "layer_norm_epsilon": 1e-3}
    config = GPT2Config(vocab_size=103, block_size=17, n_layer=3, n_head=5, n_embd=35, **rates)
    make_model(config).save_pretrained(tmp_path)
    assert GPT2.from_pretrained(tmp_path).config == config

    import transformers

    read = transformers.GPT2Config.from_pretrained(tmp_path)
    for name in ("vocab_size", "n_layer", "n_head", "n_embd", *rates):
        assert getattr(read, name) == getattr(config, name)
    assert (read.n_positions, read.activation_function) == (17, "gelu_new")


def test_our_folder_opens_in_transformers(model, folder, idx):
    import transformers

    reference, info = transformers.GPT2LMHeadModel.from_pretrained(
        folder, attn_implementation="eager", output_loading_info=True
    )
    assert not any(info.values()), info  # nothing missing, unexpected or mismatched
    state = reference.state_dict()
    assert torch.equal(state.pop("lm_head.weight"), model.lm_head.weight)
    ours = to_hugging_face(model.state_dict())
    assert state.keys() == ours.keys()
    for name, value in state.items():
        assert value.dtype == torch.float32
        assert torch.equal(value, ours[name]), name
    torch.testing.assert_close(reference.eval()(idx).logits, model(idx)[0], rtol=1e-5, atol=1e-5)


def test_a_folder_of_transformers_opens_here(model, tmp_path, idx):
    import transformers

    model.save_pretrained(tmp_path / "ours")
    reference = transformers.GPT2LMHeadModel.from_pretrained(tmp_path / "ours")
    reference.save_pretrained(tmp_path / "theirs")
    again = GPT2.from_pretrained(tmp_path / "theirs")
    assert again.config == model.config
    assert_same_weights(again, model)
    torch.testing.assert_close(reference.eval()(idx).logits, again(idx)[0], rtol=1e-5, atol=1e-5)


def test_openais_file_opens_without_prefix_and_with_its_mask_buffers(model, folder):
    """As on the hub: no "transformer.", and the causal mask stored beside the weights."""

    def as_openai(state):
        for name in list(state):
            state[name.removeprefix("transformer.")] = state.pop(name)
        for i in range(2):
            state[f"h.{i}.attn.bias"] = torch.ones(1, 1, 13, 13).tril()
            state[f"h.{i}.attn.masked_bias"] = torch.tensor(-1e4)

    rewrite(folder, as_openai)
    reconfigure(folder, n_ctx=13, summary_type="cls_index", task_specific_params={"a": 50})
    again = GPT2.from_pretrained(folder)
    assert again.config == model.config
    assert_same_weights(again, model)


def test_a_file_that_stores_the_tied_head_too_opens(model, folder):
    def add_head(state):
        state["lm_head.weight"] = state["transformer.wte.weight"].clone()

    rewrite(folder, add_head)
    again = GPT2.from_pretrained(folder)
    assert_same_weights(again, model)
    assert again.lm_head.weight is again.transformer.wte.weight


def test_the_layouts_are_each_others_inverse(model):
    state = model.state_dict()
    stored = to_hugging_face(state)
    assert "lm_head.weight" not in stored
    assert stored["transformer.h.0.attn.c_attn.weight"].shape == (21, 63)  # Conv1D: (in, out)
    assert stored["transformer.h.0.mlp.c_fc.weight"].shape == (21, 84)
    assert stored["transformer.h.0.mlp.c_proj.weight"].shape == (84, 21)
    square = "transformer.h.0.attn.c_proj.weight"  # no shape gives this one away
    assert torch.equal(stored[square], state[square].T)
    back = from_hugging_face(stored)
    assert back.keys() == state.keys() - {"lm_head.weight"}
    assert all(torch.equal(back[name], state[name]) for name in back)
    assert all(value.is_contiguous() for value in [*stored.values(), *back.values()])


# ---- config.json ------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["", '{"n_layer": 2, '])
def test_a_config_that_is_no_json_is_refused(folder, content):
    (folder / "config.json").write_text(content)
    refused(folder, ValueError, "config.json is not valid JSON", "Was it cut off?")


def test_a_config_of_the_wrong_kind_is_refused(folder):
    (folder / "config.json").write_text("[]")
    refused(folder, ValueError, "config.json must hold a JSON object, got list")
    (folder / "config.json").write_text("{}")
    names = ("vocab_size", "n_layer", "n_head", "n_embd", "n_positions")
    refused(folder, ValueError, "does not describe a GPT-2", *(f"{n} is missing" for n in names))


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("activation_function", "gelu", "gelu_new"),
        ("model_type", "llama", "gpt2"),
        ("scale_attn_weights", False, "True"),
        ("scale_attn_by_inverse_layer_idx", True, "False"),
        ("add_cross_attention", True, "False"),
        ("tie_word_embeddings", False, "True"),
        ("n_inner", 64, "4 · n_embd"),
    ],
)
def test_a_config_that_asks_for_another_model_is_refused(folder, name, value, wanted):
    """Each of these loads without complaint and then gives wrong logits, if nobody looks."""
    reconfigure(folder, **{name: value})
    refused(folder, ValueError, "does not describe a GPT-2", f"{name} is {value!r}", wanted)


def test_settings_that_mean_gpt2_are_accepted(folder, model):
    reconfigure(folder, activation_function="gelu_pytorch_tanh", n_inner=84, use_cache=False)
    assert_same_weights(GPT2.from_pretrained(folder), model)


def test_all_that_is_wrong_with_a_config_is_said_at_once(folder):
    reconfigure(folder, activation_function="gelu", n_inner=64, model_type="gpt_neo")
    refused(folder, ValueError, "activation_function is 'gelu'", "n_inner is 64", "'gpt_neo'")
    reconfigure(folder, activation_function="gelu_new", n_inner=84, model_type="gpt2", n_head=4)
    refused(folder, ValueError, "n_embd=21", "n_head=4")
