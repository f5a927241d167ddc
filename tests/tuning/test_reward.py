"""Learning from a reward: gradients by hand and by sampling, marks, and what changes nothing."""

from __future__ import annotations

import time

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from gpt2_edu import load_tokenizer
from gpt2_edu.analysis.reward_runs import novice
from gpt2_edu.tuning.reward import (
    Texts,
    advantages,
    decode,
    divergence,
    entropy,
    gain,
    learn,
    log_probs,
    mark,
    of_tokens,
    token_weights,
    write,
)

END = load_tokenizer("crane").eot_token
NOTHING = torch.full((1, 1), END)


class Bandit(nn.Module):
    """Answers 0 or 1, whatever it is asked, with p = (0.7, 0.3)."""

    def __init__(self):
        super().__init__()
        self.logits = nn.Parameter(torch.tensor([0.7, 0.3]).log())

    def forward(self, ids):
        return self.logits.expand(*ids.shape, 2), None


def bandit_gradients(n, **settings):
    """The gradient of the mean reward on the logits, one sample at a time, (n, 2)."""
    model = Bandit()
    answers = (torch.rand(n) < 0.3).long()
    above = advantages(answers.float().unsqueeze(0), **settings)[0]
    texts = Texts(torch.stack([torch.zeros_like(answers), answers], 1), torch.ones(n, 1).bool())
    now = of_tokens(log_probs(model, texts), texts)
    (gain(now, now.detach(), above) * token_weights(texts.drawn)).sum().backward()
    alone = (F.one_hot(answers, 2) - torch.tensor([0.7, 0.3])) * above.unsqueeze(1)
    torch.testing.assert_close(model.logits.grad, alone.mean(0), atol=1e-5, rtol=0)
    return alone


def test_the_gradient_by_hand_is_that_of_the_expected_reward():
    logits, rewards = torch.tensor([0.7, 0.3]).log().requires_grad_(), torch.tensor([0.0, 1.0])
    p = logits.softmax(0)
    (p * rewards).sum().backward()
    torch.testing.assert_close(logits.grad, torch.tensor([-0.21, 0.21]))
    torch.testing.assert_close(logits.grad, p * (rewards - 0.3))


@pytest.mark.parametrize("baseline, variance", [(False, 0.1029), (True, 0.0336)])
def test_sampling_gives_the_gradient_by_hand_and_a_baseline_a_third_of_its_variance(
    baseline, variance
):
    found = bandit_gradients(40_000, baseline=baseline)
    error = (variance / len(found)) ** 0.5
    assert abs(found.mean(0) - torch.tensor([-0.21, 0.21])).max() < 4 * error
    assert found.var(0).tolist() == pytest.approx([variance] * 2, rel=0.03)


def test_a_small_group_shrinks_the_gradient_by_its_own_part_of_the_baseline():
    rewards = (torch.rand(20_000, 2) < 0.3).float()
    above = advantages(rewards)
    alone = above.unsqueeze(-1) * (
        F.one_hot(rewards.long(), 2) - torch.tensor([0.7, 0.3])
    )  # (G, n, 2)
    assert alone.mean((0, 1)).tolist() == pytest.approx([-0.105, 0.105], abs=0.01)


def test_dividing_by_the_deviation_makes_rare_and_common_success_weigh_more():
    rewards = torch.tensor([[1.0, 0, 0, 0, 0, 0, 0, 0], [1.0, 1, 1, 1, 0, 0, 0, 0]])
    plain, divided = advantages(rewards), advantages(rewards, divide=True)
    assert plain[0].max() == 0.875 and plain[1].max() == 0.5
    assert divided[0].max() == pytest.approx(7**0.5, rel=1e-4)
    assert divided[1].max() == pytest.approx(1, rel=1e-4)
    assert advantages(torch.ones(1, 4), divide=True).eq(0).all()


def test_weights_of_tokens_by_text_and_by_length():
    drawn = torch.tensor([[1, 1, 1, 1], [0, 1, 0, 0]]).bool()
    assert token_weights(drawn)[0].tolist() == pytest.approx([0.2] * 4)
    by_length = token_weights(drawn, by_length=True)
    assert by_length.sum(1).tolist() == [0.5, 0.5]
    assert by_length.sum() == token_weights(drawn).sum() == 1


def test_clipping_leaves_no_gradient_beyond_the_clip_and_only_in_the_direction_of_the_advantage():
    ratio = torch.tensor([[0.5, 1.0, 1.5], [0.5, 1.0, 1.5]])
    now = ratio.log().requires_grad_()
    gain(now, torch.zeros(2, 3), torch.tensor([2.0, -2.0]), clip=0.2).sum().backward()
    # Better than its group: no further up. Worse: no further down. The way back is always open.
    assert now.grad.tolist() == [[1.0, 2.0, 0.0], [0.0, -2.0, -3.0]]


def test_entropy_and_divergence_are_those_of_torch():
    table, start = torch.randn(2, 3, 5, 7).log_softmax(-1)
    now, before = (
        torch.distributions.Categorical(logits=table),
        torch.distributions.Categorical(logits=start),
    )
    torch.testing.assert_close(entropy(table), now.entropy())
    torch.testing.assert_close(
        divergence(table, start), torch.distributions.kl_divergence(now, before)
    )
    assert divergence(table, table).eq(0).all()


# ---- Writing and marking -------------------------------------------------------------------------


def test_what_is_drawn_begins_after_the_beginning_and_ends_with_the_first_end():
    beginning = [END, *load_tokenizer("crane").encode_ordinary("A crane")]
    texts = write(novice(), torch.tensor([beginning] * 16), torch.Generator().manual_seed(0))
    S = len(beginning)
    for ids, drawn, text in zip(texts.ids.tolist(), texts.drawn, decode(texts)):
        assert text.startswith("A crane")
        new = ids[S:]
        n = new.index(END) + 1 if END in new else len(new)
        assert drawn.tolist() == [False] * (S - 1) + [True] * n + [False] * (len(new) - n)
        assert text.endswith(" …") != (END in new)
    assert texts[:3].ids.equal(texts.ids[:3]) and len(texts[:3]) == 3


def test_a_text_that_the_window_cuts_off_is_shown_as_one():
    model = novice()
    with torch.no_grad():  # never ends
        model.transformer.ln_f.weight.zero_()
        model.transformer.ln_f.bias.copy_(-100 * model.wte.weight[END])
    texts = write(model, NOTHING)
    assert texts.ids.shape == (1, model.config.block_size + 1)
    assert texts.drawn.all()
    assert decode(texts)[0].endswith(" …")


def test_rewards_are_those_of_the_texts():
    assert mark(["a", "bcd", ""], len).tolist() == [1, 3, 0]


def fails(text):
    raise KeyError("no such word")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_reward_that_is_not_finite_is_named_with_its_text(value):
    with pytest.raises(ValueError, match=f"finite, got {value} for 'two birds'"):
        mark(["one bird", "two birds"], lambda text: value if "two" in text else 1.0)


def test_a_reward_that_raises_or_returns_no_number_is_named_with_its_text():
    with pytest.raises(RuntimeError, match=r"failed on 'one bird': KeyError.*no such word"):
        mark(["one bird"], fails)
    with pytest.raises(RuntimeError, match="failed on 'one bird': TypeError"):
        mark(["one bird"], lambda text: None)


def test_a_reward_that_never_returns_is_given_up_with_its_text():
    marked = []

    def slow(text):
        marked.append(text)
        time.sleep(0.3 if text == "two" else 0)
        return 1.0

    with pytest.raises(TimeoutError, match=r"0.05 seconds: 1 of 3 texts .* busy with 'two'"):
        mark(["one", "two", "three"], slow, seconds=0.05)
    time.sleep(0.5)
    assert marked == ["one", "two"]  # it goes no further when it returns after all


# ---- Learning ------------------------------------------------------------------------------------


def parameters(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.mark.parametrize(
    "bad, error", [(fails, RuntimeError), (lambda text: float("nan"), ValueError)]
)
def test_a_bad_reward_changes_nothing(bad, error):
    model = novice()
    before = parameters(model)
    with pytest.raises(error):
        learn(model, bad, 1, n=4)
    assert parameters(model).equal(before)


def test_equal_rewards_change_nothing_also_after_a_step_that_did_and_it_is_said():
    model, states = novice(), []
    rewards = iter([1.0, 0.0, 0.0, 0.0] + [1.0] * 4)
    with pytest.warns(RuntimeWarning, match="step 1: all rewards of a group are equal"):
        steps = learn(
            model,
            lambda text: next(rewards),
            2,
            n=4,
            on_step=lambda step: states.append(parameters(model)),
        )
    assert [step.equal for step in steps] == [0, 1]
    assert not states[0].equal(parameters(novice()))
    assert states[1].equal(states[0])


def short(text):
    return -len(text) / 100


@pytest.mark.thorough
def test_the_reward_rises_and_a_rein_keeps_the_model_near():
    found = {}
    for rein in (0.0, 1.0):
        steps = learn(
            novice(),
            short,
            10,
            n=10,
            lr=1e-3,
            rein=rein,
            generator=torch.Generator().manual_seed(0),
        )
        assert steps[0].divergence == pytest.approx(0, abs=1e-5)
        found[rein] = steps
    rewards = torch.tensor([step.rewards.mean() for step in found[0.0]])
    assert rewards[-3:].mean() > rewards[:3].mean() + 0.3
    assert found[1.0][-1].divergence < found[0.0][-1].divergence / 2


def test_texts_of_a_group_share_a_beginning_of_which_nothing_is_learned():
    beginnings = torch.tensor(
        [[END, *load_tokenizer("crane").encode_ordinary(text)] for text in ("A crane", "A bat")]
    )
    model = novice()
    first = learn(model, short, 1, n=3, beginnings=lambda: beginnings)[0]
    assert [text.split()[1] for text in first.texts] == ["crane"] * 3 + ["bat"] * 3
    assert first.rewards.shape == (2, 3)


def test_the_first_of_several_passes_is_that_of_one_and_later_ones_go_on():
    models = []
    for passes in (1, 2):
        model = novice()
        learn(model, short, 1, n=4, passes=passes, generator=torch.Generator().manual_seed(1))
        models.append(parameters(model))
    assert not models[0].equal(models[1])


def test_a_further_loss_or_an_entropy_bonus_counts_where_all_rewards_are_equal():
    model, ids = novice(), torch.arange(8)[None]
    states = [parameters(model)]
    for settings in ({"bonus": 0.1}, {"also": lambda: model(ids, ids)[1]}):
        learn(model, lambda text: 1.0, 1, n=2, **settings)
        states.append(parameters(model))
    assert not states[0].equal(states[1])
    assert not states[1].equal(states[2])
