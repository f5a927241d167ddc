"""What GPT-2 124M did with five prompts: the stored facts, and the comparison with a model."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from gpt2_edu import GPT2, load_tokenizer
from gpt2_edu.analysis.published import (
    differences,
    published_runs,
    read_runs,
    record_run,
    save_runs,
)

STORIES = ["By the river, the crane", "The city woke", "A crane ate"]


@pytest.fixture(scope="module")
def runs():
    return published_runs()


# ---- The facts ----------------------------------------------------------------------------------


def test_five_prompts_are_stored_with_the_ids_that_our_tokenizer_gives(runs):
    gpt2 = load_tokenizer("gpt2")
    assert len(runs) == 5
    for run in runs:
        assert list(run.ids) == gpt2.encode(run.prompt)
        assert "".join(run.tokens) == run.prompt
        assert [gpt2.decode([i]) for i in run.ids] == list(run.tokens)


def test_attention_is_causal_and_each_row_sums_to_one_within_rounding(runs):
    for run in runs:
        T = len(run.ids)
        assert run.attention.shape == (12, 12, T, T)
        assert torch.equal(run.attention, run.attention.tril())
        # T roundings of up to half a unit
        assert (run.attention.sum(dim=-1) - 1).abs().max() < T * 0.5e-4 + 1e-6


def test_next_tokens_are_sorted_and_their_probabilities_are_known(runs):
    gpt2 = load_tokenizer("gpt2")
    for run in runs:
        assert run.next_ids.shape == run.next_log_probs.shape == (100,)
        assert len(set(run.next_ids.tolist())) == 100
        assert (run.next_log_probs.diff() <= 0).all()
        assert 0.4 < run.next_log_probs.exp().sum() < 1
    (ai,) = (run for run in runs if run.prompt == "Artificial Intelligence is transforming the")
    assert gpt2.decode(ai.next_ids[:3].tolist()) == " way world lives"
    assert [round(p, 3) for p in ai.next_log_probs.exp().tolist()[:3]] == [0.246, 0.207, 0.021]


def test_the_file_names_its_source_and_licence():
    from importlib.resources import files

    content = json.loads((files("gpt2_edu") / "assets" / "gpt2_runs.json").read_text("utf-8"))
    assert "github.com/poloclub/transformer-explainer" in content["source"]
    assert "MIT" in content["licence"]


# ---- A comparison with a stand-in, whose answers are stored in the same way ---------------------


@pytest.fixture(scope="module")
def stand_in():
    return GPT2.from_pretrained("crane")


@pytest.fixture(scope="module")
def stored(stand_in, tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "runs.json"
    tokenizer = load_tokenizer("crane")
    save_runs([record_run(stand_in, tokenizer, prompt) for prompt in STORIES], path)
    return read_runs(path)


def test_the_model_that_was_stored_does_not_differ(stand_in, stored):
    assert [run.prompt for run in stored] == STORIES
    assert differences(stand_in, stored) == []
    with torch.no_grad():
        logits, _ = stand_in(torch.tensor([stored[0].ids]))
    assert torch.equal(stored[0].next_ids, logits[0, -1].topk(100).indices)


def test_one_other_weight_is_found_and_its_head_named(stored):
    model = GPT2.from_pretrained("crane")
    with torch.no_grad():  # the second row of values that q of head 1.2 is computed by
        model.transformer.h[1].attn.c_attn.weight[2 * model.config.n_embd // 4, 5] += 1
    lines = differences(model, stored)
    assert len(lines) == 3
    assert all("first in head 1.2" in line for line in lines)


def test_other_next_tokens_are_found_where_attention_agrees(stand_in, stored):
    first = stored[0]
    lower = replace(first, next_log_probs=first.next_log_probs - 0.001)
    (line,) = differences(stand_in, [lower])
    assert "(within rounding)" in line and "0.001" in line
    # the likeliest is not among those stored
    (line,) = differences(
        stand_in,
        [replace(first, next_ids=first.next_ids[1:], next_log_probs=first.next_log_probs[1:])],
    )
    assert "(within rounding)" in line


def test_values_that_are_not_numbers_differ(stored):
    model = GPT2.from_pretrained("crane")
    with torch.no_grad():
        model.transformer.h[2].mlp.c_proj.weight[0, 0] = torch.nan
    assert len(differences(model, stored)) == 3


def test_another_shape_is_refused_with_both(stand_in):
    with pytest.raises(ValueError, match=r"3 layers of 4 heads.* 12 layers of 12 heads"):
        differences(stand_in)
