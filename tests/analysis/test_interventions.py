"""Parts are removed and vectors are swapped where they should be, and nothing else changes."""

from __future__ import annotations

import copy
from importlib.resources import files

import pytest
import torch

from gpt2_edu import GPT2, load_tokenizer, trace
from gpt2_edu.analysis.interventions import causal_map, mean_outputs, without
from gpt2_edu.exercises import my_gpt2

FOLLOWERS = (" a", " crane")


def logits(model, idx, edits=None):
    with torch.no_grad(), trace(model, edits=edits):
        return model(idx)[0]


def test_a_removed_part_is_one_whose_weights_are_zero(model, idx):
    expected = copy.deepcopy(model)
    D, (first, last) = model.config.head_size, expected.transformer.h
    with torch.no_grad():
        first.attn.c_proj.weight[:, D : 3 * D] = 0  # heads 1 and 2
        last.attn.c_proj.weight[:, :D] = 0
        last.mlp.c_proj.weight.zero_()
        last.mlp.c_proj.bias.zero_()
    edits = without(model, heads=[(0, 1), (1, 0), (0, 2)], mlps=[1])
    torch.testing.assert_close(logits(model, idx, edits), expected(idx)[0])


def test_a_part_with_a_constant_output_can_be_removed_by_its_mean_without_loss(model, idx):
    C, D = model.config.n_embd, model.config.head_size
    with torch.no_grad():
        model.transformer.h[0].attn.c_attn.weight[2 * C + D : 2 * C + 2 * D] = 0  # values of head 1
        model.transformer.h[1].mlp.c_proj.weight.zero_()
    means = mean_outputs(model, idx.tolist())
    same = without(model, heads=[(0, 1)], mlps=[1], means=means)
    torch.testing.assert_close(logits(model, idx, same), model(idx)[0], atol=1e-4, rtol=1e-4)
    for other in (without(model, heads=[(0, 1)]), without(model, mlps=[1])):
        assert (logits(model, idx, other) - model(idx)[0]).abs().max() > 0.01


def test_means_count_each_token_once(model):
    rows = [[5, 6, 7, 8], [9, 10], [11, 12, 13]]
    found = mean_outputs(model, rows)
    assert len(found) == 4
    for path, mean in found.items():
        kept = []
        for row in rows:
            with torch.no_grad(), trace(model) as t:
                model(torch.tensor([row]))
            kept.append(t[path][0])
        torch.testing.assert_close(mean, torch.cat(kept, dim=-2).mean(dim=-2, keepdim=True))


def test_parts_that_a_model_does_not_have_are_refused(model):
    with pytest.raises(ValueError, match=r"layers 0 … 1 with heads 0 … 2, got 0\.3"):
        without(model, heads=[(1, 2), (0, 3)])
    with pytest.raises(ValueError, match=r"got 0\.-1"):
        without(model, heads=[(0, -1)])
    with pytest.raises(ValueError, match=r"MLPs 0 … 1, got -1"):
        without(model, mlps=[-1])
    with pytest.raises(ValueError, match="at least one"):
        mean_outputs(model, [])


def test_a_swap_of_all_that_differs_goes_all_the_way_and_one_that_is_not_read_nowhere(
    reader, tokenizer
):
    found = causal_map(reader, tokenizer, "a,b,c,d", "a,b,x,d", FOLLOWERS)
    at = [a != b for a, b in found.tokens].index(True)
    stages = ("embd", "h.0.resid_post", "h.1.resid_post")
    assert found.stages == tuple(s if s == "embd" else f"transformer.{s}" for s in stages)
    first, between, last = found.moved
    for row, position in ((first, at), (last, len(found.tokens) - 1)):
        expected = torch.zeros(len(row))
        expected[position] = 1
        torch.testing.assert_close(row, expected, atol=1e-4, rtol=0)
    assert between[:at].abs().max() < 1e-4 < between[at:].abs().min()


@pytest.mark.parametrize("name", ["attn.out", "mlp.out"])
def test_an_entry_is_what_a_swap_by_hand_gives(reader, tokenizer, name):
    texts = ("a,b,c,d", "x,b,x,d")
    found = causal_map(reader, tokenizer, *texts, FOLLOWERS, stages=[name])
    assert found.stages == tuple(f"transformer.h.{n}.{name}" for n in (0, 1))
    rows = [torch.tensor([[tokenizer.eot_token, *tokenizer.encode_ordinary(t)]]) for t in texts]
    one, two = (tokenizer.encode_ordinary(word)[0] for word in FOLLOWERS)
    with torch.no_grad(), trace(reader) as t:
        reader(rows[1])
    path, position = found.stages[0], 3
    vector = t[path][0, position]

    def swap(x):
        x = x.clone()
        x[0, position] = vector
        return x

    begin, now, end = (
        float(out[0, -1, one] - out[0, -1, two])
        for out in (
            logits(reader, rows[0]),
            logits(reader, rows[0], {path: swap}),
            logits(reader, rows[1]),
        )
    )
    assert (found.left, found.right) == pytest.approx((begin, end), rel=1e-4)
    assert found.moved[0, position].item() == pytest.approx((begin - now) / (begin - end), abs=1e-3)


def test_what_has_no_map_is_refused(reader, tokenizer):
    def mapped(left="a,b", right="a,x", followers=FOLLOWERS, **more):
        return causal_map(reader, tokenizer, left, right, followers, **more)

    with pytest.raises(ValueError, match="choose other followers or texts"):
        mapped(right="a,b")
    with pytest.raises(ValueError, match=r"no tensor was noted as 'resid_pots'"):
        mapped(stages=["resid_pots"])
    with pytest.raises(ValueError, match=r"must be \(B, T, C\), but 'transformer.h.0.attn.heads'"):
        mapped(stages=["attn.heads"])


def test_maps_of_the_readers_model_are_those_of_the_packages(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # no file of the reader's: the book's answers
    mine = my_gpt2("weights").load(files("gpt2_edu") / "assets" / "crane")
    texts = ("In the marsh, the crane", "In the city, the crane", (" ate", " lifted"))
    ours, theirs = (
        causal_map(model, load_tokenizer("crane"), *texts)
        for model in (mine, GPT2.from_pretrained("crane"))
    )
    assert ours.tokens == theirs.tokens
    assert [f"transformer.{stage}" for stage in ours.stages[1:]] == list(theirs.stages[1:])
    torch.testing.assert_close(ours.moved, theirs.moved, atol=1e-3, rtol=0)
