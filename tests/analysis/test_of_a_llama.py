"""What looks inside a model takes a Llama, and what changes GPT-2's own modules refuses one."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from gpt2_edu import Llama, LlamaConfig, trace
from gpt2_edu.analysis.bugs import broken
from gpt2_edu.analysis.divergence import divergence, encode_pair, first_tokens
from gpt2_edu.analysis.evals import forced_choice, sample_stories
from gpt2_edu.analysis.heads import attention_statistics, head_effects, noted_heads
from gpt2_edu.analysis.interventions import causal_map, without
from gpt2_edu.analysis.parity import parity_table
from gpt2_edu.analysis.scoring import score, window_log_probs
from gpt2_edu.analysis.units import unit_answers
from gpt2_edu.exhibits import Matrix
from gpt2_edu.labs import Heads, Patching, Sampling

FOLLOWERS = (" a", " crane")
LIVE = {"printed": Matrix([[1.5, -2.0]]), "first": "Turn a knob."}


@pytest.fixture
def llama(tokenizer) -> Llama:
    """A random model whose window holds any story: three query heads, one key head."""
    torch.manual_seed(0)
    sizes = {"vocab_size": tokenizer.n_vocab, "block_size": 211, "n_layer": 2, "n_head": 3}
    config = LlamaConfig(**sizes, n_kv_head=1, n_embd=22, n_inner=34, head_size=6)
    model = Llama(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return model


def logits(model, idx, edits=None):
    with torch.no_grad(), trace(model, edits=edits):
        return model(idx)[0]


def test_a_removed_part_is_one_whose_weights_are_zero(llama):
    idx = torch.tensor([[5, 6, 7, 8, 9]])
    edits = without(llama, heads=[(0, 1), (1, 0)], mlps=[1])
    cut = logits(llama, idx, edits)
    with torch.no_grad():
        llama.transformer.h[0].attn.o_proj.weight[:, 6:12] = 0
        llama.transformer.h[1].attn.o_proj.weight[:, :6] = 0
        llama.transformer.h[1].mlp.down_proj.weight.zero_()
    torch.testing.assert_close(cut, llama(idx)[0])


def test_every_query_head_has_a_map_and_can_be_removed(llama, tokenizer):
    assert [heads.size(1) for heads in noted_heads(llama).values()] == [3, 3]
    found = attention_statistics(llama, tokenizer, range(3))
    assert [(h.layer, h.head) for h in found.heads] == [(n, h) for n in (0, 1) for h in (0, 1, 2)]
    assert all(0 < h.weights["previous"] < 1 for h in found.heads)
    assert len(head_effects(llama, tokenizer, range(2)).heads) == 6


def test_a_swap_before_the_first_and_after_the_last_block_goes_all_the_way(llama, tokenizer):
    found = causal_map(llama, tokenizer, "a,b,c,d", "a,b,x,d", FOLLOWERS)
    at = [a != b for a, b in found.tokens].index(True)
    assert found.moved[0, at] == pytest.approx(1, abs=1e-4)
    assert found.moved[-1, -1] == pytest.approx(1, abs=1e-4)
    assert len(found.stages) == 3


def test_the_last_stage_of_the_logit_lens_is_the_model_itself(llama, tokenizer):
    texts = "a,b,c,d", "a,b,x,d"
    found = divergence(llama, tokenizer, *texts, followers=FOLLOWERS)
    ids, _ = encode_pair(tokenizer, *texts)
    first, second = first_tokens(tokenizer, FOLLOWERS)
    left, right = llama(torch.tensor(ids))[0][:, -1]
    expected = (left[first] - left[second] - right[first] + right[second]).item()
    assert found.lens[-1][-1] == pytest.approx(expected, abs=1e-4)


def test_scores_samples_and_choices_take_it(llama, tokenizer):
    ids = [1, 2, 3, 4, 5]
    table = llama(torch.tensor([ids]))[0].log_softmax(dim=-1)[0]
    expected = table[:-1].gather(-1, torch.tensor(ids[1:]).unsqueeze(-1))[:, 0]
    torch.testing.assert_close(score(llama, ids), expected)
    assert window_log_probs(llama, 3)(torch.tensor([ids])).shape == (1, 5, tokenizer.n_vocab)
    assert len(sample_stories(llama, tokenizer, 2)) == 2
    assert forced_choice(llama, tokenizer, range(3)).phenomena


def test_a_unit_answers_with_its_gate_times_the_other_projection(llama):
    rows = [[5, 6, 7], [8, 9]]
    answers = unit_answers(llama, rows)
    block = llama.transformer.h[0]
    with trace(llama) as t:
        llama(torch.tensor(rows[:1]))
    normed = t["transformer.h.0.ln_2"][0]
    expected = F.silu(block.mlp.gate_proj(normed)) * block.mlp.up_proj(normed)
    torch.testing.assert_close(answers.act[0][:3].float(), expected.half().float())


def test_the_labs_show_it(llama, tokenizer):
    heads = Heads(llama, tokenizer, text="a,b", **LIVE)
    shown = list(heads.show(text="a,b", layer=1, cut=("0.1",)))
    assert len(shown[-1].heads) == 3
    patching = Patching(llama, tokenizer, texts=("a,b", "a,c"), **LIVE)
    stages = patching.controls()["stage"].options
    assert stages[0] == "embd" and "h.1.resid_post" in stages
    assert list(patching.show(giver="a,b", taker="a,c", stage="embd", back=1))
    assert list(Sampling(llama, tokenizer, text="a", **LIVE).show(
        prompt="a", top_k=0, new_tokens=3, texts=2, seed=0, temperature=1.0, top_p=1.0, min_p=0.0
    ))  # fmt: skip


def test_what_is_made_for_the_modules_of_gpt2_says_so(llama, tmp_path):
    with pytest.raises(TypeError, match="modules of a GPT2, got Llama"), broken(llama, "no bug"):
        pass
    with pytest.raises(TypeError, match="modules of a GPT2, got Llama"):
        parity_table(llama, "crane")
    llama.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="model_type is 'llama', not 'gpt2'"):
        parity_table(llama, tmp_path)
