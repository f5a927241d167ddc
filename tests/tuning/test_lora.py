"""LoRA: peft's numbers and files, what merging and switching leave, and what is refused."""

from __future__ import annotations

import copy
import json
import shutil
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load, load_file, save_file

from gpt2_edu import GPT2, Llama, fast, generate
from gpt2_edu.quantize import quantize
from gpt2_edu.tuning import (
    LoraConfig,
    adapters,
    add_lora,
    disabled,
    load_adapter,
    merge,
    peft_files,
    save_adapter,
    use_adapter,
)
from gpt2_edu.tuning.lora import LoraLinear
from gpt2_edu.tuning.peft_files import CONFIG, WEIGHTS
from tests.tuning.make_peft import GPT2_SIZES, HERE, IDX, LLAMA_SIZES, base, fill

FAMILIES = {"gpt2": "gpt2", "gpt2_tables": "gpt2", "llama": "llama"}
EVERYTHING = LoraConfig(rank=3, alpha=7, train_tables=True)


def trained(model):
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def tuned(config=EVERYTHING, family="gpt2", name="default", start=50):
    """A small model with an adapter that changes something."""
    model = add_lora(base(family), config, name)
    fill(trained(model), start)
    return model


def close(a, b, atol=1e-6):
    return torch.allclose(a, b, rtol=0, atol=atol * b.abs().max().item())


# ---- The same as peft ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
def test_an_adapter_that_peft_saved_gives_pefts_logits(name):
    expected = load_file(HERE / name / "logits.safetensors")
    model = load_adapter(base(FAMILIES[name]), HERE / name)
    assert close(model(IDX)[0], expected["logits"])
    assert close(merge(model)(IDX)[0], expected["merged"])
    with disabled(model):
        assert close(model(IDX)[0], expected["without"])
    assert not close(expected["logits"], expected["without"], atol=1e-2)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_saved_adapter_is_pefts_file_tensor_by_tensor(name, tmp_path):
    model = load_adapter(base(FAMILIES[name]), HERE / name)
    save_adapter(model, tmp_path, base=name)
    ours, theirs = (load_file(place / WEIGHTS) for place in (tmp_path, HERE / name))
    assert ours.keys() == theirs.keys()
    assert all(ours[key].equal(theirs[key]) for key in ours)
    ours, theirs = (json.loads((place / CONFIG).read_text()) for place in (tmp_path, HERE / name))
    for config in (ours, theirs):
        config["target_modules"].sort()
    changed = {key for key in ours if ours[key] != theirs[key]}
    assert changed <= {"modules_to_save"} and ours.keys() <= theirs.keys()


# ---- Arithmetic ---------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_a_new_adapter_changes_nothing_and_only_it_learns(family):
    plain, model = base(family), add_lora(base(family), LoraConfig(rank=2))
    assert model(IDX)[0].equal(plain(IDX)[0])
    names = trained(model)
    assert names and all(".lora_A." in name or ".lora_B." in name for name in names)
    model(IDX, IDX)[1].backward()
    assert {n for n, p in model.named_parameters() if p.grad is not None} == set(names)
    assert all(bool(p.grad.any()) == (".lora_B." in n) for n, p in names.items())


def test_it_trains_rank_times_the_sum_of_the_sizes():
    model = add_lora(GPT2.probe(), LoraConfig(rank=4, targets=("c_attn",)))
    assert sum(p.numel() for p in trained(model).values()) == 3 * 2048 == 3 * 4 * (128 + 384)
    assert model.transformer.h[0].attn.c_attn.weight.numel() == 49_152


@pytest.mark.parametrize("config", [EVERYTHING, LoraConfig(targets=("c_fc", "c_attn"))])
def test_a_merged_model_is_plain_and_computes_the_same(config, tmp_path):
    model = tuned(config)
    plain = merge(model)
    assert close(plain(IDX)[0], model(IDX)[0]) and plain.is_tied() and not plain.training
    assert not close(plain(IDX)[0], base("gpt2")(IDX)[0], atol=1e-2)
    assert plain.state_dict().keys() == base("gpt2").state_dict().keys()
    plain.save_pretrained(tmp_path)
    assert GPT2.from_pretrained(tmp_path)(IDX)[0].equal(plain(IDX)[0])
    with torch.no_grad():
        plain.transformer.ln_f.weight.zero_()
    assert model.transformer.ln_f.weight.any()  # it is a copy


def test_the_correction_is_alpha_over_rank_times_b_a():
    model = tuned(LoraConfig(rank=3, alpha=7, targets=("c_fc",)))
    layer = model.transformer.h[1].mlp.c_fc
    A, B = layer.lora_A["default"], layer.lora_B["default"]
    assert A.shape == (3, 15) and B.shape == (60, 3)
    expected = layer.weight + 7 / 3 * B @ A
    assert close(merge(model).transformer.h[1].mlp.c_fc.weight, expected)


def test_a_tuned_model_generates_with_a_cache_what_it_does_without():
    model = tuned()
    texts = [generate(model, IDX[:, :4], 6, temperature=0, use_cache=c) for c in (True, False)]
    assert texts[0].equal(texts[1])


def test_a_tied_head_is_tuned_with_the_table_and_an_untied_one_beside_it():
    model = tuned(LoraConfig(rank=1, train_tables=True))
    table = model.wte.tables["default"]
    assert model.lm_head.tables["default"] is table and model.is_tied()
    assert sum(".tables." in name for name in trained(model)) == 1
    untied = base("llama")
    untied.lm_head.weight = torch.nn.Parameter(untied.wte.weight.detach() + 1)
    add_lora(untied, LoraConfig(rank=1, train_tables=True))
    assert sum(".tables." in name for name in trained(untied)) == 2


def test_moving_and_copying_keep_what_an_adapter_does():
    model = tuned()
    expected = model(IDX)[0]
    copied = copy.deepcopy(model)
    assert copied(IDX)[0].equal(expected) and copied.is_tied()
    assert copied.lm_head.tables is copied.wte.tables
    assert close(model.double()(IDX)[0].float(), expected, atol=1e-5) and model.is_tied()
    assert model.lm_head.tables["default"] is model.wte.tables["default"]


# ---- Several adapters ---------------------------------------------------------------------------


def test_adapters_are_switched_and_do_not_touch_each_other():
    one = tuned(name="one", start=50)
    expected = {"one": one(IDX)[0], None: base("gpt2")(IDX)[0]}
    other = LoraConfig(rank=2, alpha=3, targets=("c_attn",))
    expected["two"] = tuned(other, name="two", start=90)(IDX)[0]
    add_lora(one, other, "two")
    fill(trained(one), start=90)
    assert adapters(one).keys() == {"one", "two"} and adapters(one)["two"] == other
    for name in ("one", None, "two", "one"):
        use_adapter(one, name)
        assert close(one(IDX)[0], expected[name]) and close(merge(one)(IDX)[0], expected[name])
    with pytest.raises(RuntimeError, match="stop"), disabled(one):
        assert one(IDX)[0].equal(expected[None])
        raise RuntimeError("stop")
    assert close(one(IDX)[0], expected["one"])


def test_each_of_several_adapters_is_saved_by_its_name(tmp_path):
    model = tuned(name="one")
    add_lora(model, LoraConfig(rank=1, targets=("c_fc",)), "two")
    for name in ("one", "two"):
        save_adapter(model, tmp_path / name, name)
    again = load_adapter(base("gpt2"), tmp_path / "one", "first")
    load_adapter(again, tmp_path / "two", "second")
    for ours, theirs in (("first", "one"), ("second", "two")):
        use_adapter(again, ours)
        use_adapter(model, theirs)
        assert again(IDX)[0].equal(model(IDX)[0])


# ---- Refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("settings, problem", [
    ({"rank": 0}, "rank must be at least 1"),
    ({"rank": 2.0}, "rank must be an int"),
    ({"alpha": 0}, "alpha must be above 0"),
    ({"alpha": "8"}, "alpha must be a float"),
    ({"targets": ["c_attn"]}, "targets must be a tuple of names"),
    ({"targets": "c_attn"}, "targets must be a tuple of names"),
])  # fmt: skip
def test_settings_that_cannot_be_are_refused(settings, problem):
    with pytest.raises((TypeError, ValueError), match=problem):
        LoraConfig(**settings)


def test_models_and_names_that_cannot_be_tuned_are_refused_and_stay_as_they_were():
    model = base("gpt2")
    before = model.state_dict().keys()
    with pytest.raises(ValueError, match=r"no q_proj\. It has: c_attn, c_fc, c_proj"):
        add_lora(model, LoraConfig(targets=("c_attn", "q_proj")))
    with pytest.raises(ValueError, match="an adapter needs a new name"):
        add_lora(model, LoraConfig(), "a.b")
    assert model.state_dict().keys() == before and model.wte.weight.requires_grad
    model.transformer.h[0].mlp.c_fc.register_forward_hook(lambda *_: None)
    with pytest.raises(TypeError, match=r"do of their own: transformer\.h\.0\.mlp\.c_fc"):
        add_lora(model, LoraConfig())
    with pytest.raises(ValueError, match="integers of 8 bits, which have no gradient"):
        add_lora(quantize(base("gpt2")), LoraConfig())
    model = tuned()
    with pytest.raises(ValueError, match="needs a new name"):
        add_lora(model, LoraConfig())
    with pytest.raises(ValueError, match=r"no adapter 'defualt'\. Known: default\. Did you mean"):
        use_adapter(model, "defualt")
    with pytest.raises(ValueError, match=r"no adapter 'other'\. It has: default"):
        save_adapter(model, HERE / "nowhere", "other")
    assert not (HERE / "nowhere").exists()


def test_a_tuned_model_is_not_saved_quantised_or_given_to_a_page_as_if_it_were_plain(tmp_path):
    model = tuned()
    with pytest.raises(ValueError, match=r"has code of its own \(LoraLinear\).*merge"):
        model.save_pretrained(tmp_path / "model")
    with pytest.raises(TypeError, match="quantize would lose what these do of their own"):
        quantize(model)
    packed = fast.pack(model)
    assert close(packed(IDX)[0], model(IDX)[0], atol=1e-5)
    assert any(isinstance(module, LoraLinear) for module in packed.modules())


@pytest.fixture
def saved(tmp_path):
    """The folder of a saved adapter."""
    save_adapter(tuned(), tmp_path / "adapter", base="mine")
    return tmp_path / "adapter"


def refuses(folder, model, problem, kind=ValueError):
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(kind, match=problem):
        load_adapter(model, folder)
    after = model.state_dict()
    assert after.keys() == before.keys() and all(after[n].equal(before[n]) for n in before)
    assert not adapters(model)


def test_an_adapter_of_another_model_is_refused(saved):
    other = base("gpt2")
    with torch.no_grad():
        other.transformer.h[1].mlp.c_fc.bias[3] += 1e-3
    refuses(saved, other, "belongs to another model, named 'mine': the weights of the blocks")
    refuses(HERE / "gpt2", base("llama"), r"this model has no c_.*\. It has: down_proj")
    refuses(HERE / "llama", base("gpt2"), "does not fit this model")
    refuses(HERE / "gpt2", GPT2.probe(), "missing: .*h.2.attn.c_attn.lora_A.weight")
    wider = GPT2(replace(GPT2_SIZES, n_embd=21))
    refuses(HERE / "gpt2", wider, r"wrong shape: .*c_attn\.lora_A\.weight is \(2, 15\)")
    assert isinstance(load_adapter(base("gpt2"), saved), GPT2)


@pytest.mark.parametrize("changed, problem", [
    ({"r": None}, "rank must be an int, got None"),
    ({"r": 10**9}, "rank must be at most"),
    ({"r": 10**6}, "wrong shape: "),
    ({"r": 2}, "wrong shape: "),
    ({"lora_alpha": -1}, "alpha must be above 0"),
    ({"target_modules": "all-linear"}, "target_modules is 'all-linear', not a list"),
    ({"target_modules": [7]}, "targets must be a tuple of names"),
    ({"target_modules": ["c_fc"]}, r"not part of a GPT-2: .*c_attn"),
    ({"modules_to_save": ["ln_f"]}, r"modules_to_save is \['ln_f'\]"),
    ({"modules_to_save": None}, "not part of a GPT-2: base_model.model.transformer.wte"),
    ({"ensure_weight_tying": False}, "has a head of its own"),
    ({"use_dora": True}, "use_dora is True"),
    ({"use_rslora": True}, "use_rslora is True"),
    ({"rank_pattern": {"c_fc": 8}}, "rank_pattern is"),
    ({"bias": "all"}, "bias is 'all'"),
    ({"peft_type": "IA3"}, "peft_type is 'IA3', not 'LORA'"),
])  # fmt: skip
def test_a_config_that_says_something_else_is_refused(changed, problem, saved):
    settings = json.loads((saved / CONFIG).read_text()) | changed
    (saved / CONFIG).write_text(json.dumps(settings))
    refuses(saved, base("gpt2"), problem)


def test_damaged_files_are_refused(saved, tmp_path):
    whole = (saved / WEIGHTS).read_bytes()
    (saved / WEIGHTS).write_bytes(whole[:-9])
    refuses(saved, base("gpt2"), "cannot be read as safetensors")
    tensors = load(whole)
    key = next(key for key in tensors if "lora_A" in key)
    save_file(tensors | {key: tensors[key] * torch.nan}, saved / WEIGHTS)
    refuses(saved, base("gpt2"), "not finite: base_model")
    save_file({k: v for k, v in tensors.items() if k != key}, saved / WEIGHTS)
    refuses(saved, base("gpt2"), "missing: base_model")
    (saved / CONFIG).write_text("[]")
    refuses(saved, base("gpt2"), "must hold a JSON object")
    (saved / CONFIG).write_text("{")
    refuses(saved, base("gpt2"), "not valid JSON")
    (saved / CONFIG).unlink()
    refuses(saved, base("gpt2"), f"it lacks {CONFIG}", FileNotFoundError)
    shutil.rmtree(saved)
    refuses(saved, base("gpt2"), "holds no adapter", FileNotFoundError)


def test_a_name_finds_an_adapter_of_this_package_unless_a_folder_has_it(saved, monkeypatch):
    monkeypatch.setitem(peft_files.BUNDLED, "mine", saved)
    monkeypatch.chdir(saved.parent)
    assert load_adapter(base("gpt2"), "mine")(IDX)[0].equal(tuned()(IDX)[0])
    (saved.parent / "mine").mkdir()
    refuses("mine", base("gpt2"), "mine holds no adapter", FileNotFoundError)


def test_an_adapter_of_a_llama_is_read_back(tmp_path):
    model = tuned(family="llama")
    save_adapter(model, tmp_path)
    again = load_adapter(base("llama"), tmp_path)
    assert isinstance(again, Llama) and again(IDX)[0].equal(model(IDX)[0])
    assert json.loads((tmp_path / CONFIG).read_text())["modules_to_save"] == ["lm_head"]
    assert "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight" in load_file(
        tmp_path / WEIGHTS
    )


def test_an_adapter_of_a_model_with_two_tables_has_both(tmp_path):
    untied = Llama(replace(LLAMA_SIZES, tie_word_embeddings=False))
    model = add_lora(copy.deepcopy(untied), EVERYTHING)
    fill(trained(model), 50)
    save_adapter(model, tmp_path, dtype=torch.float64)
    settings = json.loads((tmp_path / CONFIG).read_text())
    assert settings["modules_to_save"] == ["embed_tokens", "lm_head"]
    again = load_adapter(untied, tmp_path)
    assert again(IDX)[0].equal(model(IDX)[0])
    assert load_file(tmp_path / WEIGHTS)["base_model.model.lm_head.weight"].dtype == torch.float64
