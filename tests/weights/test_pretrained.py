"""Load and save: the same weights come back, and a damaged checkpoint is named with its fault."""

from __future__ import annotations

import os

import pytest
import torch
from safetensors.torch import save_file

import gpt2_edu.weights
from gpt2_edu import GPT2
from tests.weights.helpers import assert_same_weights, refused, rewrite

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


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_a_checkpoint_of_another_precision_opens_in_float32(model, folder, dtype):
    rewrite(folder, lambda state: state.update({k: v.to(dtype) for k, v in state.items()}))
    again = GPT2.from_pretrained(folder)
    for (name, one), other in zip(
        again.state_dict().items(), model.state_dict().values(), strict=True
    ):
        assert one.dtype == torch.float32, name
        assert torch.equal(one, other.to(dtype).float()), name


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
        patch.setattr(gpt2_edu.weights, "save_file", die_half_way)
        with pytest.raises(OSError, match="the disk is full"):
            other.save_pretrained(folder)
    assert_same_weights(GPT2.from_pretrained(folder), model)
    other.save_pretrained(folder)
    assert_same_weights(GPT2.from_pretrained(folder), other)


def test_saving_over_a_file_is_refused(model, tmp_path):
    (tmp_path / "model").write_text("")
    with pytest.raises(ValueError, match="model is a file: save_pretrained needs a folder"):
        model.save_pretrained(tmp_path / "model")


# ---- What can be wrong ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "hint"),
    [("gtp2", "'gpt2'"), ("GPT2-XL", "'gpt2-xl'")],
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
    again.save_pretrained(folder)  # over the very file that it came from
    assert_same_weights(GPT2.from_pretrained(folder), model)


def test_a_missing_file_is_named_with_what_there_is(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    refused(folder, FileNotFoundError, "lacks model.safetensors.", "config.json, pytorch_model.bin")


@pytest.mark.parametrize("keep", [0, 200, -1])
def test_a_half_downloaded_file_says_so_with_its_size(folder, keep):
    path = folder / "model.safetensors"
    size = keep if keep >= 0 else path.stat().st_size + keep
    os.truncate(path, size)
    refused(folder, ValueError, "cannot be read as safetensors", f"{size:,} bytes", "cut off")


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


def test_a_head_that_is_not_the_table_is_refused(folder):
    def untie(state):
        state["lm_head.weight"] = state["transformer.wte.weight"].clone()
        state["lm_head.weight"][7, 3] += 1e-3

    rewrite(folder, untie)
    refused(folder, ValueError, "lm_head.weight differs from transformer.wte.weight; GPT-2 ties")


def test_a_model_whose_head_was_untied_is_not_saved_without_it(model, tmp_path):
    model.lm_head.weight = torch.nn.Parameter(torch.zeros_like(model.lm_head.weight))
    with pytest.raises(ValueError, match=r"lm_head\.weight is no longer tied to transformer\.wte"):
        model.save_pretrained(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_home_folder_means_the_same_when_saving_and_loading(model, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    model.save_pretrained("~/m")
    assert (tmp_path / "m" / "model.safetensors").is_file()
    GPT2.from_pretrained("~/m")
