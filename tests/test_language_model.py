"""The table stays tied, eval_mode restores what it changed, and only a GPT-2 is saved as one."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from gpt2_edu import GPT2, load_tokenizer
from gpt2_edu.language_model import eval_mode, modules_of
from gpt2_edu.model import MLP
from gpt2_edu.web import save_for_page
from gpt2_edu.weights import BUNDLED

# ---- The tied table: lm_head.weight is wte.weight, one Parameter -------------------------------


def by_meta(model: GPT2) -> GPT2:
    with torch.device("meta"):
        made = GPT2(model.config)
    made.to_empty(device="cpu").load_state_dict(model.state_dict())
    return made


def by_assigning(model: GPT2) -> GPT2:
    """Two Parameters that share a storage would be stepped twice."""
    made = GPT2(model.config)
    made.load_state_dict({k: v.clone() for k, v in model.state_dict().items()}, assign=True)
    return made


def by_assigning_to_meta(model: GPT2) -> GPT2:
    with torch.device("meta"):
        made = GPT2(model.config)
    made.load_state_dict(copy.deepcopy(model.state_dict()), assign=True)
    return made


def by_moving(model: GPT2) -> GPT2:
    return copy.deepcopy(model).double().to("cpu", torch.float32)


WAYS = [by_meta, by_assigning, by_assigning_to_meta, by_moving, copy.deepcopy]


@pytest.mark.parametrize("way", WAYS)
def test_the_table_is_one_parameter_and_counts_once(model, way):
    made = way(model)
    assert made.lm_head.weight is made.wte.weight
    assert made.num_parameters() == model.num_parameters()
    assert [name for name, _ in made.named_parameters() if "lm_head" in name] == []


def trained(model: GPT2, idx: torch.Tensor) -> dict[str, torch.Tensor]:
    optimiser = torch.optim.AdamW(model.eval().parameters(), lr=1e-2)
    for _ in range(20):
        model(idx, idx)[1].backward()
        optimiser.step()
        optimiser.zero_grad()
    return model.state_dict()


@pytest.mark.parametrize("way", WAYS)
def test_training_equals_that_of_a_model_that_was_tied_throughout(model, idx, way):
    ours, expected = trained(way(model), idx), trained(model, idx)
    assert ours.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(ours[name], value), name


def test_loading_says_what_torch_says(model):
    state = model.state_dict()
    del state["transformer.ln_f.bias"]
    found = model.load_state_dict(state, strict=False)
    assert (found.missing_keys, found.unexpected_keys) == (["transformer.ln_f.bias"], [])
    with pytest.raises(RuntimeError, match=r"ln_f\.bias"):
        model.load_state_dict(state)


# ---- Modes -------------------------------------------------------------------------------------


def modes(model: nn.Module) -> dict[str, bool]:
    return {name: module.training for name, module in model.named_modules()}


def test_eval_mode_gives_every_module_back_its_own_mode(model):
    """A block that a user has frozen in eval mode would drop out in the next training step."""
    model.train().transformer.h[0].eval()
    before = modes(model)
    with eval_mode(model):
        assert not any(modes(model).values())
    assert modes(model) == before and len(set(before.values())) == 2


def test_the_quick_list_of_modules_leaves_none_out(model):
    model.register_module("nothing", None)
    model.empty = nn.ModuleList()
    assert set(modules_of(model)) == set(model.modules())


def test_eval_mode_restores_after_an_error(model):
    with pytest.raises(KeyError), eval_mode(model.train()):
        raise KeyError
    assert all(modes(model).values())


def test_a_model_that_its_config_does_not_describe_is_not_saved(model, tmp_path):
    model.save_pretrained(tmp_path)
    before = (tmp_path / "model.safetensors").read_bytes()
    del model.transformer.h[1]
    with pytest.raises(ValueError, match=r"not the GPT-2 of its config: missing: .*h.1"):
        model.save_pretrained(tmp_path)
    assert (tmp_path / "model.safetensors").read_bytes() == before


class ReluMLP(MLP):
    def forward(self, x):
        return self.dropout(self.c_proj(self.c_fc(x).relu()))


def another_class(model: GPT2, monkeypatch) -> str:
    model.transformer.h[1].mlp.__class__ = ReluMLP
    return r"transformer\.h\.1\.mlp has code of its own \(ReluMLP\)"


def another_forward(model: GPT2, monkeypatch) -> str:
    norm = model.transformer.ln_f
    norm.forward = lambda x: x
    return r"transformer\.ln_f has code of its own \(LayerNorm\)"


def other_parameters(model: GPT2, monkeypatch) -> str:
    model.transformer.h[0].ln_2 = nn.RMSNorm(model.config.n_embd)
    return r"h\.0\.ln_2 has code of its own \(RMSNorm\), missing: transformer\.h\.0\.ln_2\.bias"


def another_line(model: GPT2, monkeypatch) -> str:
    """As after an edit of model.py."""
    monkeypatch.setattr(MLP, "forward", ReluMLP.forward)
    return r"gpt2_edu\.model\.GPT2 computes other logits"


@pytest.mark.parametrize("change", [another_class, another_forward, other_parameters, another_line])
def test_what_others_would_compute_with_is_a_gpt2_or_is_not_written(monkeypatch, tmp_path, change):
    model = GPT2.from_pretrained("crane")
    model.save_pretrained(tmp_path / "before")
    problem = change(model, monkeypatch)
    with pytest.raises(ValueError, match=f"{problem}.*Undo or merge the changes"):
        model.save_pretrained(tmp_path / "model")
    with pytest.raises(ValueError, match=problem):
        save_for_page(model, load_tokenizer("crane"), tmp_path / "model.safetensors")
    assert [path.name for path in tmp_path.iterdir()] == ["before"]


def test_the_number_that_tells_a_gpt2_is_that_of_transformers():
    import transformers

    reference = transformers.GPT2LMHeadModel.from_pretrained(BUNDLED["crane"]).double().eval()
    with torch.inference_mode():
        logits = reference(torch.arange(128).unsqueeze(0)).logits
    assert logits.logsumexp(dim=-1).mean().item() == pytest.approx(GPT2.log_sum_exp, abs=1e-6)


@pytest.mark.parametrize("assign", [False, True])
def test_a_head_that_the_user_untied_stays_untied(model, assign):
    model.lm_head.weight = nn.Parameter(torch.randn_like(model.wte.weight))
    made = by_moving(model)
    made.load_state_dict(copy.deepcopy(model.state_dict()), assign=assign)
    assert made.lm_head.weight is not made.wte.weight
    assert torch.equal(made.lm_head.weight, model.lm_head.weight)
    assert torch.equal(made.wte.weight, model.wte.weight)
