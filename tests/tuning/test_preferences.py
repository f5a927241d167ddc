"""DPO and imitation: the loss at the start, its gradient, pairs, and what learning does."""

from __future__ import annotations

import math
from copy import deepcopy

import pytest
import torch

from gpt2_edu import load_tokenizer
from gpt2_edu.analysis.reward_runs import novice
from gpt2_edu.tuning.preferences import dpo_loss, imitate, join, pair, prefer, text_log_probs
from gpt2_edu.tuning.reward import Texts, write

END = load_tokenizer("crane").eot_token


@pytest.fixture
def texts() -> Texts:
    start = torch.full((24, 1), END)
    return write(novice(), start, torch.Generator().manual_seed(3))


def test_the_loss_at_the_start_is_ln_2(texts):
    losses = prefer(novice(), texts[:8], texts[8:16], 1, batch_size=8)
    assert losses == [pytest.approx(math.log(2), abs=1e-6)]
    assert math.log(2) == pytest.approx(0.6931, abs=1e-4)


def test_the_gradient_is_that_of_the_papers_formula():
    model, start = novice(), novice()
    with torch.no_grad():
        model.transformer.h[0].mlp.c_fc.bias += 0.1  # no longer at its start
    some = write(start, torch.full((4, 1), END), torch.Generator().manual_seed(3))
    better, worse, beta = some[:2], some[2:], 0.3

    gained = [text_log_probs(model, t) - text_log_probs(start, t).detach() for t in (better, worse)]
    dpo_loss(*gained, beta).backward()
    found = model.wte.weight.grad.clone()

    # Section 4: -β σ(r(worse) - r(better)) (∇ log p(better) - ∇ log p(worse)), where r is β times
    # what was gained.
    model.zero_grad()
    weights = torch.sigmoid(beta * (gained[1] - gained[0])).detach()
    up, down = text_log_probs(model, better), text_log_probs(model, worse)
    (-beta * (weights * (up - down)).mean()).backward()
    torch.testing.assert_close(found, model.wte.weight.grad, atol=1e-6, rtol=1e-4)


def test_the_log_probability_of_a_text_counts_what_was_drawn_and_nothing_else(texts):
    model = novice()
    found = text_log_probs(model, texts)
    longest = int(texts.drawn.sum(1).max())
    for i in (0, 5):
        n = int(texts.drawn[i].sum())
        _, loss = model(texts.ids[i : i + 1, :n], texts.ids[i : i + 1, 1 : n + 1])
        assert found[i].item() == pytest.approx(-loss.item() * n, rel=1e-4)
        assert n <= longest


def test_joined_texts_have_the_same_log_probabilities():
    model = novice()
    start = torch.full((3, 1), END)
    short = write(model, start, torch.Generator().manual_seed(0))
    n = int(short.drawn.sum(1).max())
    cut = Texts(short.ids[:, :20], short.drawn[:, :19])
    both = join([cut, short])
    assert both.ids.shape == (6, short.ids.size(1)) and n > 19
    expected = torch.cat([text_log_probs(model, cut), text_log_probs(model, short)])
    torch.testing.assert_close(text_log_probs(model, both), expected)


def test_pairs_are_of_one_group_the_better_first_and_none_where_all_are_equal():
    rewards = torch.tensor([[0.0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0.5]])
    pairs = pair(rewards).tolist()
    assert [better for better, _ in pairs] == [1, 3, 11]
    flat = rewards.flatten()
    for better, worse in pairs:
        assert better // 4 == worse // 4
        assert flat[better] > flat[worse]
    assert pair(torch.ones(2, 3)).shape == (0, 2)


def test_preferring_widens_the_gap_between_chosen_and_rejected(texts):
    seen = []
    losses = prefer(
        novice(),
        texts[:12],
        texts[12:],
        8,
        batch_size=8,
        on_step=lambda *step: seen.append(step),
    )
    assert losses[-1] < losses[0] - 0.05
    assert seen[-1][1] > seen[-1][2] + 0.5
    assert seen[0][1:] == (pytest.approx(0, abs=1e-4), pytest.approx(0, abs=1e-4))


def test_imitated_texts_become_likelier(texts):
    model = novice()
    before = text_log_probs(model, texts[:6]).mean().item()
    unread = model.transformer.wpe.weight[texts.ids.size(1) :].clone()
    losses = imitate(model, texts[:6], 8, batch_size=6)
    assert model.transformer.wpe.weight[texts.ids.size(1) :].equal(unread), "nothing decays"
    assert text_log_probs(model, texts[:6]).mean().item() > before + 1
    assert losses[-1] < losses[0]


def test_without_texts_or_pairs_there_is_nothing_to_learn(texts):
    before = deepcopy(novice().state_dict())
    with pytest.raises(ValueError, match="there is no text to imitate"):
        imitate(novice(), texts[:0], 1)
    model = novice()
    with pytest.raises(ValueError, match="needs a rejected one, got 3 and 2"):
        prefer(model, texts[:3], texts[:2], 1)
    with pytest.raises(ValueError, match="got 0 and 0"):
        prefer(model, texts[:0], texts[:0], 1)
    assert all(model.state_dict()[name].equal(value) for name, value in before.items())
