"""The copy for inference says what the model says, and is refused where it cannot stand in."""

from __future__ import annotations

import pytest
import torch

import gpt2_edu.packed
from gpt2_edu import generate, pack
from gpt2_edu.machine.onednn import PackedLinear


@pytest.mark.parametrize("onednn", [True, False])
def test_a_packed_model_gives_the_models_logits(model, idx, onednn, monkeypatch, missing):
    if onednn and not torch.backends.mkldnn.is_available():
        missing("this build of torch has no oneDNN")
    if not onednn:
        monkeypatch.setattr(gpt2_edu.packed, "onednn_knows", lambda dtype: False)
    fast = pack(model)
    assert any(isinstance(m, PackedLinear) for m in fast.modules()) == onednn
    torch.testing.assert_close(fast(idx)[0], model(idx)[0], atol=1e-5, rtol=1e-5)
    new = generate(fast, idx[:, :4], 9, temperature=0)
    assert torch.equal(new, generate(model, idx[:, :4], 9, temperature=0))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_copy_in_half_precision_is_near(model, idx, dtype):
    fast = pack(model, dtype)
    logits, _ = fast(idx)
    assert logits.dtype == dtype
    expected, _ = model(idx)
    assert (logits.float() - expected).abs().max() < 0.05 * expected.abs().max()
    assert next(model.parameters()).dtype == torch.float32


def test_later_changes_of_the_model_do_not_reach_the_copy(model, idx):
    fast = pack(model)
    before = fast(idx)[0]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert torch.equal(fast(idx)[0], before)


def test_a_copy_is_frozen_and_counts_what_it_was_made_from(model):
    fast = pack(model.train())
    assert model.training
    assert not fast.training
    assert not any(p.requires_grad for p in fast.parameters())
    assert fast.num_parameters() == model.num_parameters()


def test_a_copy_is_not_saved(model, tmp_path):
    with pytest.raises(ValueError, match="save the model that it was packed from"):
        pack(model).save_pretrained(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_type_that_is_no_float_is_refused(model):
    with pytest.raises(TypeError, match=r"got torch\.int8"):
        pack(model, torch.int8)


def test_a_packed_model_loads_like_any_other():
    fast = gpt2_edu.packed.PackedGPT2.from_pretrained("crane")
    assert fast.num_parameters() == gpt2_edu.GPT2.from_pretrained("crane").num_parameters()
