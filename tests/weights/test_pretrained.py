"""Checkpoints: ours open in transformers and theirs here, and a damaged one says what is wrong."""

from __future__ import annotations

import json
import os

import pytest
import torch
from safetensors.torch import load_file, save_file

import gpt2_edu.weights.pretrained
from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.weights import from_hugging_face, to_hugging_face


@pytest.fixture
def folder(model, tmp_path):
    """A checkpoint that save_pretrained wrote."""
    model.save_pretrained(tmp_path / "saved")
    return tmp_path / "saved"


@pytest.fixture(autouse=True, scope="module")
def no_progress_bars():
    from transformers.utils import logging

    logging.disable_progress_bar()


def assert_same_weights(one, other) -> None:
    one, other = one.state_dict(), other.state_dict()
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert value.dtype == other[name].dtype, name
        assert torch.equal(value, other[name]), name


def rewrite(folder, change) -> None:
    """Apply a change to the tensors of a checkpoint, in Hugging Face's layout."""
    state = {k: v.clone() for k, v in load_file(folder / "model.safetensors").items()}
    change(state)
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})


def reconfigure(folder, **settings) -> None:
    stored = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(stored | settings))


def refused(path, kind, *parts: str) -> str:
    with pytest.raises(kind) as error:
        GPT2.from_pretrained(path)
    for part in parts:
        assert part in str(error.value)
    return str(error.value)


# ---- There and back ---------------------------------------------------------------------------


def test_a_saved_model_comes_back_bit_for_bit(model, folder, idx):
    again = GPT2.from_pretrained(folder)
    assert again.config == model.config
    assert_same_weights(again, model)
    assert torch.equal(again(idx)[0], model(idx)[0])
    assert_same_weights(GPT2.from_pretrained(str(folder)), model)


def test_a_loaded_model_is_in_eval_mode_and_can_be_trained(folder, idx):
    model = GPT2.from_pretrained(folder)
    assert not any(module.training for module in model.modules())
    assert all(p.requires_grad and p.device.type == "cpu" for p in model.parameters())
    model(idx, idx)[1].backward()
    assert all(p.grad is not None for p in model.parameters())


def test_a_subclass_loads_an_instance_of_itself(folder, model, idx):
    class Louder(GPT2):
        def forward(self, *args, **kwargs):
            logits, loss = super().forward(*args, **kwargs)
            return 2 * logits, loss

    louder = Louder.from_pretrained(folder)
    assert type(louder) is Louder
    assert louder.lm_head.weight is louder.wte.weight
    assert torch.equal(louder(idx)[0], 2 * model(idx)[0])
    assert type(GPT2.from_pretrained(folder)) is GPT2


def test_training_a_loaded_model_never_writes_to_its_file(model, folder):
    trained = GPT2.from_pretrained(folder)
    with torch.no_grad():
        for parameter in trained.parameters():
            parameter.add_(1.0)
    assert_same_weights(GPT2.from_pretrained(folder), model)
    trained.save_pretrained(folder)  # over the very file that it came from
    assert_same_weights(GPT2.from_pretrained(folder), trained)


def test_every_setting_of_the_config_survives_the_trip(tmp_path, make_model):
    config = GPT2Config(
        vocab_size=103,
        block_size=17,
        n_layer=3,
        n_head=5,
        n_embd=35,
        embd_pdrop=0.2,
        attn_pdrop=0.3,
        resid_pdrop=0.4,
        layer_norm_epsilon=1e-3,
    )
    make_model(config).save_pretrained(tmp_path)
    assert GPT2.from_pretrained(tmp_path).config == config

    import transformers

    read = transformers.GPT2Config.from_pretrained(tmp_path)
    for name in ("vocab_size", "n_layer", "n_head", "n_embd", "layer_norm_epsilon"):
        assert getattr(read, name) == getattr(config, name)
    for name in ("embd_pdrop", "attn_pdrop", "resid_pdrop"):
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


def test_a_model_that_transformers_made_opens_here(tmp_path, idx):
    """Its own initialisation and its own config, none of it ours."""
    import transformers

    settings = transformers.GPT2Config(
        vocab_size=101, n_positions=13, n_layer=2, n_head=3, n_embd=21, resid_pdrop=0.25
    )
    reference = transformers.GPT2LMHeadModel(settings).eval()
    reference.save_pretrained(tmp_path)
    model = GPT2.from_pretrained(tmp_path)
    assert model.config.resid_pdrop == 0.25
    torch.testing.assert_close(reference(idx).logits, model(idx)[0], rtol=1e-5, atol=1e-5)


def test_openais_file_opens_without_prefix_and_with_its_mask_buffers(model, folder):
    """As on the hub: no "transformer.", and the causal mask stored beside the weights."""

    def as_openai(state):
        for name in list(state):
            state[name.removeprefix("transformer.")] = state.pop(name)
        for i in range(2):
            state[f"h.{i}.attn.bias"] = torch.ones(1, 1, 13, 13).tril()
            state[f"h.{i}.attn.masked_bias"] = torch.tensor(-1e4)

    rewrite(folder, as_openai)
    (folder / "config.json").write_text(
        json.dumps(
            {
                "activation_function": "gelu_new",
                "architectures": ["GPT2LMHeadModel"],
                "attn_pdrop": 0.1,
                "bos_token_id": 100,
                "embd_pdrop": 0.1,
                "eos_token_id": 100,
                "initializer_range": 0.02,
                "layer_norm_epsilon": 1e-05,
                "model_type": "gpt2",
                "n_ctx": 13,
                "n_embd": 21,
                "n_head": 3,
                "n_layer": 2,
                "n_positions": 13,
                "resid_pdrop": 0.1,
                "summary_activation": None,
                "summary_first_dropout": 0.1,
                "summary_proj_to_labels": True,
                "summary_type": "cls_index",
                "summary_use_proj": True,
                "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
                "vocab_size": 101,
            }
        )
    )
    again = GPT2.from_pretrained(folder)
    assert again.config == model.config
    assert_same_weights(again, model)


def test_a_file_that_stores_the_tied_head_too_opens(model, folder):
    def add_head(state):
        state["lm_head.weight"] = state["transformer.wte.weight"].clone()

    rewrite(folder, add_head)
    again = GPT2.from_pretrained(folder)
    assert_same_weights(again, model)
    assert again.lm_head.weight is again.transformer["wte"].weight


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_a_checkpoint_of_another_precision_opens_in_float32(model, folder, dtype):
    rewrite(folder, lambda state: state.update({k: v.to(dtype) for k, v in state.items()}))
    again = GPT2.from_pretrained(folder)
    for (name, one), other in zip(
        again.state_dict().items(), model.state_dict().values(), strict=True
    ):
        assert one.dtype == torch.float32, name
        assert torch.equal(one, other.to(dtype).float()), name


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


# ---- Saving -----------------------------------------------------------------------------------


def test_saving_makes_the_folders_above_and_leaves_two_files(model, tmp_path):
    model.save_pretrained(tmp_path / "runs" / "first")
    held = sorted(path.name for path in (tmp_path / "runs" / "first").iterdir())
    assert held == ["config.json", "model.safetensors"]


def test_whoever_may_read_the_config_may_read_the_weights(model, tmp_path):
    """safetensors writes files that only their owner can read: no web server, no colleague."""
    model.save_pretrained(tmp_path)
    modes = {(tmp_path / n).stat().st_mode for n in ("config.json", "model.safetensors")}
    assert len(modes) == 1


def test_an_interrupted_save_leaves_the_old_checkpoint(
    model, folder, make_model, config, monkeypatch
):
    def die_half_way(state, path, metadata=None):
        save_file(state, path, metadata)
        os.truncate(path, path.stat().st_size // 2)
        raise OSError("No space left on device")

    other = make_model(config, seed=5)
    with monkeypatch.context() as patch:
        patch.setattr(gpt2_edu.weights.pretrained, "save_file", die_half_way)
        with pytest.raises(OSError, match="No space left"):
            other.save_pretrained(folder)
    assert_same_weights(GPT2.from_pretrained(folder), model)
    other.save_pretrained(folder)
    assert_same_weights(GPT2.from_pretrained(folder), other)


def test_saving_over_a_file_is_refused(model, tmp_path):
    (tmp_path / "model").write_text("")
    with pytest.raises(ValueError, match="model is a file: save_pretrained needs a folder"):
        model.save_pretrained(tmp_path / "model")


# ---- What can be wrong ------------------------------------------------------------------------


def test_a_folder_that_is_not_there_is_named(tmp_path):
    message = refused(
        tmp_path / "nowhere",
        FileNotFoundError,
        "there is no folder",
        "nowhere",
        "config.json and model.safetensors",
        "save_pretrained",
    )
    assert "preset" not in message


@pytest.mark.parametrize(
    ("name", "hint"),
    [("gtp2", "'gpt2'"), ("gpt2-meduim", "'gpt2-medium'"), ("GPT2-XL", "'gpt2-xl'")],
)
def test_a_mistyped_name_is_offered_the_nearest(name, hint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(name, FileNotFoundError, f"no folder '{name}'", "gpt2, gpt2-medium", "mean " + hint)


def test_loaded_weights_are_copies_that_no_change_of_the_file_can_reach(model, folder):
    """A mapped file that another program overwrites in place would change the model under us."""
    again = GPT2.from_pretrained(folder)
    path = folder / "model.safetensors"
    with path.open("r+b") as file:
        file.seek(-2000, os.SEEK_END)
        file.write(b"\xff" * 2000)
    assert_same_weights(again, model)


def test_a_missing_file_is_named_with_what_there_is(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    refused(folder, FileNotFoundError, "lacks model.safetensors.", "config.json, pytorch_model.bin")
    (folder / "config.json").unlink()
    refused(folder, FileNotFoundError, "lacks config.json and model.safetensors.")
    (folder / "pytorch_model.bin").unlink()
    refused(folder, FileNotFoundError, "It holds: nothing.")


@pytest.mark.parametrize("keep", [0, 4, 200, 5000, -1])
def test_a_half_downloaded_file_says_so_with_its_size(folder, keep):
    path = folder / "model.safetensors"
    size = keep if keep >= 0 else path.stat().st_size + keep
    os.truncate(path, size)
    refused(folder, ValueError, "cannot be read as safetensors", f"{size:,} bytes", "cut off")


def test_a_page_of_html_in_place_of_the_weights_is_refused(folder):
    (folder / "model.safetensors").write_text("<!doctype html><title>404</title>" * 99)
    refused(folder, ValueError, "cannot be read as safetensors", "Fetch the file again")


@pytest.mark.parametrize("content", ["", '{"n_layer": 2, ', "<html>", "\x00"])
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
        ("activation_function", "relu", "gelu_new"),
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


def test_all_that_is_wrong_with_a_config_is_said_at_once(folder):
    reconfigure(folder, activation_function="gelu", n_inner=64, model_type="gpt_neo")
    refused(folder, ValueError, "activation_function is 'gelu'", "n_inner is 64", "'gpt_neo'")


def test_settings_that_mean_gpt2_are_accepted(folder, model):
    reconfigure(folder, activation_function="gelu_pytorch_tanh", n_inner=84, use_cache=False)
    assert_same_weights(GPT2.from_pretrained(folder), model)


def test_sizes_that_cannot_be_are_refused_as_everywhere(folder):
    reconfigure(folder, n_head=4)
    refused(folder, ValueError, "n_embd=21", "n_head=4")


def test_missing_unknown_and_misshapen_tensors_are_listed_together(folder):
    def spoil(state):
        del state["transformer.h.1.ln_2.bias"]
        del state["transformer.wpe.weight"]
        state["transformer.h.0.attn.rotary"] = torch.zeros(3)
        state["transformer.h.2.ln_1.weight"] = torch.zeros(21)
        state["transformer.wte.weight"] = torch.zeros(97, 21)
        state["transformer.h.0.mlp.c_fc.weight"] = torch.zeros(21, 63)
        state["transformer.h.0.ln_1.bias"] = torch.zeros(21, dtype=torch.int64)

    rewrite(folder, spoil)
    message = refused(folder, ValueError, "model.safetensors does not fit its config.json")
    assert sorted(line.strip() for line in message.splitlines()[1:]) == [
        "missing: transformer.h.1.ln_2.bias",
        "missing: transformer.wpe.weight",
        "not part of a GPT-2: transformer.h.0.attn.rotary",
        "not part of a GPT-2: transformer.h.2.ln_1.weight",
        "wrong shape: transformer.h.0.mlp.c_fc.weight is (63, 21), the config asks for (84, 21)",
        "wrong shape: transformer.wte.weight is (97, 21), the config asks for (101, 21)",
        "wrong type: transformer.h.0.ln_1.bias holds torch.int64, not floats",
    ]


def test_weights_stored_the_other_way_round_are_refused(folder):
    """A file whose projections are (out, in), as nn.Linear keeps them, is not Hugging Face's."""

    def transpose(state):
        name = "transformer.h.0.attn.c_attn.weight"
        state[name] = state[name].T.contiguous()

    rewrite(folder, transpose)
    refused(folder, ValueError, "wrong shape: transformer.h.0.attn.c_attn.weight is (21, 63)")


def test_the_config_of_another_size_is_refused(folder):
    reconfigure(folder, n_layer=3)
    message = refused(folder, ValueError, "missing: transformer.h.2.attn.c_attn.weight")
    assert message.count("missing") == 12


def test_a_head_that_is_not_the_table_is_refused(folder):
    def untie(state):
        state["lm_head.weight"] = state["transformer.wte.weight"].clone()
        state["lm_head.weight"][7, 3] += 1e-3

    rewrite(folder, untie)
    refused(folder, ValueError, "lm_head.weight differs from transformer.wte.weight; GPT-2 ties")


def test_a_model_whose_head_was_untied_is_not_saved_without_it(model, tmp_path):
    model.lm_head.weight = torch.nn.Parameter(torch.zeros_like(model.lm_head.weight))
    with pytest.raises(ValueError, match=r"no longer tied.*would lose lm_head"):
        model.save_pretrained(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_home_folder_means_the_same_when_saving_and_loading(model, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    model.save_pretrained("~/m")
    assert (tmp_path / "m" / "model.safetensors").is_file()
    GPT2.from_pretrained("~/m")
