"""Generation: what is kept, what is drawn and how often, when it stops, and what it leaves."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

import gpt2_edu.generation
from gpt2_edu import GPT2, generate, pad_left, sample_next, stream
from gpt2_edu.generation import Cached, Recompute
from gpt2_edu.sampling import next_probabilities, penalize


@pytest.fixture
def model(config, make_model) -> GPT2:
    """One that does not repeat itself: its positions speak louder than its tokens."""
    model = make_model(config)
    with torch.no_grad():
        model.transformer.wpe.weight *= 3
        model.transformer.ln_f.bias.zero_()
    return model


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def distribution(logits: list[float] | Tensor, **knobs) -> Tensor:
    """The probabilities (V,) that sample_next draws from."""
    return next_probabilities(torch.as_tensor(logits).unsqueeze(0), **knobs)[0]


def logits_of(*probabilities: float) -> Tensor:
    """Logits whose softmax is these probabilities. In float64, so that halves stay halves."""
    return torch.tensor(probabilities, dtype=torch.float64).log()


def kept(logits, **knobs) -> list[int]:
    """The ids that can still be drawn."""
    return distribution(logits, **knobs).nonzero().flatten().tolist()


# ---- One step: what is kept ---------------------------------------------------------------------


def test_a_tiny_top_p_keeps_the_likeliest_token_alone():
    logits = torch.randn(11, generator=seeded())
    for p in (1e-9, 1e-45, 5e-324):
        assert kept(logits, top_p=p) == [logits.argmax().item()]
    assert kept([2.0, 2.0, 2.0], top_p=1e-9) == [0]  # of equals, the first


def test_top_p_that_is_met_exactly_adds_no_token():
    logits = logits_of(0.5, 0.25, 0.125, 0.125)
    assert kept(logits, top_p=0.5) == [0]
    assert kept(logits, top_p=0.75) == [0, 1]
    assert kept(logits, top_p=0.876) == [0, 1, 2, 3]
    for n, needed in ((10, 6), (3, 1), (7, 3)):
        assert len(kept(torch.zeros(n), top_p=needed / n)) == needed


def test_min_p_keeps_tokens_with_a_share_of_the_likeliest():
    logits = logits_of(0.1, 0.4, 0.2, 0.3)
    assert kept(logits, min_p=0.24) == [0, 1, 2, 3]
    assert kept(logits, min_p=0.26) == [1, 2, 3]
    for none in (None, 0, 0.0):
        assert torch.equal(distribution(logits, min_p=none), distribution(logits))
    assert kept([2.0, 2.0, 1.0], min_p=1) == [0, 1]


@pytest.mark.parametrize(
    "knobs",
    [
        {"top_k": 5},
        {"min_p": 0.1},
        {"temperature": 1.7, "min_p": 0.05},
        {"repetition_penalty": 1.3},
        {"repetition_penalty": 0.6, "temperature": 0.7},
        {"repetition_penalty": 1.4, "temperature": 1.5, "top_k": 30, "top_p": 0.9, "min_p": 0.1},
        {"temperature": 2.0, "top_p": 0.8, "min_p": 0.2},
    ],
    ids=str,
)
def test_the_knobs_and_their_order_are_those_of_transformers(knobs):
    from transformers.generation import logits_process as process

    logits = 3 * torch.randn(7, 101, generator=seeded())
    idx = torch.randint(101, (7, 13), generator=seeded(1))
    theirs = {
        "repetition_penalty": process.RepetitionPenaltyLogitsProcessor,
        "temperature": process.TemperatureLogitsWarper,
        "top_k": process.TopKLogitsWarper,
        "top_p": process.TopPLogitsWarper,
        "min_p": process.MinPLogitsWarper,
    }
    expected = logits.clone()
    for name, kind in theirs.items():
        if name in knobs:
            expected = kind(knobs[name])(idx, expected)
    rest = dict(knobs)
    found = penalize(logits, idx, rest.pop("repetition_penalty", 1.0))
    torch.testing.assert_close(next_probabilities(found, **rest), expected.softmax(dim=-1))


@pytest.mark.parametrize("knobs", [{}, {"temperature": 0.7, "top_k": 5, "top_p": 0.8}], ids=str)
def test_a_draw_is_the_one_that_multinomial_makes(knobs):
    logits = torch.randn(1000, 11, generator=seeded())
    probs = next_probabilities(logits, **knobs)
    expected = torch.multinomial(probs, 1, generator=seeded(9)).squeeze(1)
    assert torch.equal(sample_next(logits, generator=seeded(9), **knobs), expected)


def test_noise_of_zero_does_not_draw_what_has_no_probability(monkeypatch):
    monkeypatch.setattr(Tensor, "exponential_", lambda self, rate, generator=None: self.zero_())
    logits = torch.tensor([[-torch.inf, 1.0, 2.0]])
    assert sample_next(logits).item() == 2


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(
    weights=st.lists(st.integers(1, 64), min_size=1, max_size=13),
    top_k=st.none() | st.integers(1, 17),
    top_p=st.none() | st.floats(0.01, 1.0),
)
def test_the_kept_tokens_are_those_that_the_definition_keeps(weights, top_k, top_p):
    """Against the definition in plain Python, ties included. Whole numbers stand for masses."""
    probs = distribution(torch.tensor(weights, dtype=torch.float64).log(), top_k=top_k, top_p=top_p)
    last = sorted(weights, reverse=True)[min(top_k or len(weights), len(weights)) - 1]
    order = sorted((i for i, w in enumerate(weights) if w >= last), key=lambda i: -weights[i])
    total = sum(weights[i] for i in order)
    chosen, mass = [], 0
    for i in order:
        if top_p is not None and top_p < 1 and chosen and mass / total >= top_p - 1e-6:
            if abs(mass / total - top_p) < 1e-6:
                return  # too close to call in float32
            break
        chosen.append(i)
        mass += weights[i]
    assert probs.nonzero().flatten().tolist() == sorted(chosen)
    for i in chosen:
        assert probs[i].item() == pytest.approx(weights[i] / mass, rel=1e-5)


# ---- Whole texts --------------------------------------------------------------------------------


def step_by_step(model, idx, n) -> Tensor:
    for _ in range(n):
        logits, _ = model(idx[:, -model.config.block_size :])
        idx = torch.cat([idx, logits[:, -1:].argmax(-1)], dim=1)
    return idx


def test_greedy_is_the_argmax_step_by_step(model, idx):
    prompt, state = idx[:, :4], torch.get_rng_state()
    out = generate(model, prompt, 9, temperature=0)
    assert torch.equal(out, step_by_step(model, prompt, 9))
    assert torch.equal(torch.get_rng_state(), state)  # nothing is drawn
    assert len(out[:, 4:].unique()) > 5  # it says something
    assert torch.equal(generate(model, prompt, 9, top_k=1), out)
    assert torch.equal(generate(model, prompt, 9, top_p=1e-9), out)


def test_the_same_generator_gives_the_same_text(model, idx):
    state = torch.get_rng_state()
    one, again, other = (generate(model, idx, 3, generator=seeded(s)) for s in (1, 1, 2))
    assert torch.equal(again, one) and not torch.equal(other, one)
    assert torch.equal(torch.get_rng_state(), state)  # the global one was not touched
    torch.manual_seed(1)
    two = generate(model, idx, 3)
    torch.manual_seed(1)
    assert torch.equal(generate(model, idx, 3), two)


def test_no_new_tokens_gives_the_prompt_back(model, idx):
    assert torch.equal(generate(model, idx, 0), idx)
    assert [new.shape for new in stream(model, idx, 2)] == [(5,), (5,)]


# ---- The end of a text --------------------------------------------------------------------------


def test_a_text_that_has_ended_yields_only_the_end(model, idx):
    prompt = idx[:, :4]
    free = generate(model, prompt, 9, temperature=0)
    some, others = free[:, 4:].eq(free[0, 11]).any(dim=1), free[:, 4:].ne(free[0, 11]).all(dim=1)
    assert some.any()
    assert others.any()
    for eos in free[:, 4:].unique().tolist():
        expected = free.clone()
        for row in expected[:, 4:]:
            ends = (row == eos).nonzero()
            if len(ends):
                row[ends[0, 0] :] = eos
        out = generate(model, prompt, 9, temperature=0, eos_id=eos)
        assert torch.equal(out, expected[:, : out.size(1)])
        assert out.size(1) == 13 or out[:, -1].eq(eos).all()


def by_itself(row: list[int], stop: list[list[int]], eos: int) -> list[int]:
    """A free text of new tokens, as it is with ``stop`` and ``eos``: in plain Python."""
    for n in range(1, len(row) + 1):
        if any(row[:n][-len(end) :] == end for end in [*stop, [eos]]):
            return row[:n] + [eos] * (len(row) - n)
    return row


@pytest.mark.parametrize("use_cache", [True, False])
def test_a_text_ends_after_a_stop_sequence(model, idx, use_cache):
    prompt = idx[:, :4]
    free = generate(model, prompt, 9, temperature=0)[:, 4:].tolist()
    absent = next(i for i in range(101) if all(i not in row for row in free))
    several = [free[0][2:4], free[1][5:6], free[2][:3]]
    for stop in ([free[0][2:4]], [free[3][7:9]], several, [free[4]], [[absent, free[0][0]]]):
        out = generate(
            model, prompt, 9, temperature=0, stop=stop, eos_id=absent, use_cache=use_cache
        )
        expected = [by_itself(row, stop, absent) for row in free]
        assert out[:, 4:].tolist() == [row[: out.size(1) - 4] for row in expected]
        assert out.size(1) == 13 or out[:, -1].ne(absent).any()  # no later than the last text


def test_a_stop_sequence_does_not_begin_in_the_prompt(model, idx):
    prompt = idx[:1, :4]
    free = generate(model, prompt, 5, temperature=0)
    absent = next(i for i in range(101) if i not in free)
    stop = [free[0, 3:5].tolist()]  # the last token of the prompt and the first new one
    assert torch.equal(generate(model, prompt, 5, temperature=0, stop=stop, eos_id=absent), free)


@pytest.mark.parametrize("stop", [[[]], [[1], []], ["."], ".", [1, 2], [[1.5]]], ids=str)
def test_stop_sequences_are_lists_of_ids(model, idx, stop):
    with pytest.raises((TypeError, ValueError), match=r"stop (sequence|takes)"):
        generate(model, idx[:, :4], 1, stop=stop, eos_id=0)
    with pytest.raises(ValueError, match="stop needs eos_id"):
        generate(model, idx[:, :4], 1, stop=[[1]])


# ---- The repetition penalty ---------------------------------------------------------------------

PENALTY = 2.0


def penalised(model, text: list[int], n: int) -> list[int]:
    """Greedy with the penalty on all of one text, in plain steps: the new tokens."""
    new: list[int] = []
    for _ in range(n):
        logits = model(torch.tensor([(text + new)[-model.config.block_size :]]))[0][0, -1]
        for i in {*text, *new}:
            logits[i] = logits[i] / PENALTY if logits[i] > 0 else logits[i] * PENALTY
        new.append(int(logits.argmax()))
    return new


@pytest.mark.parametrize("use_cache", [True, False])
@torch.no_grad()
def test_the_penalty_sees_the_whole_text_also_past_the_window(model, idx, use_cache):
    """Tokens that the model has forgotten are still part of the text."""
    settings = {"temperature": 0, "repetition_penalty": PENALTY, "use_cache": use_cache}
    out = generate(model, idx, 25, overflow="crop", **settings)[:, 11:]
    assert out.tolist() == [penalised(model, row, 25) for row in idx.tolist()]
    assert not torch.equal(out, generate(model, idx, 25, overflow="crop", temperature=0)[:, 11:])


@pytest.mark.parametrize("kept", [False, True])
@torch.no_grad()
def test_the_penalty_does_not_see_padding(model, idx, kept):
    prompts = [row[:n].tolist() for row, n in zip(idx, [7, 3, 1, 6, 7], strict=True)]
    free = [penalised(model, prompt, 20) for prompt in prompts]
    pad_id = free[2][0]  # padding with what a text says next
    batch, padding = pad_left(prompts, pad_id)
    settings = {"temperature": 0, "repetition_penalty": PENALTY, "overflow": "crop"}
    if kept:
        settings["predict"] = Cached(model, model.make_cache(5), padding)
    else:
        settings["padding"] = padding
    out = generate(model, batch, 20, **settings)
    assert out[:, 7:].tolist() == free
    assert torch.equal(out[:, :7], batch)


# ---- The window ---------------------------------------------------------------------------------


def test_a_text_that_outgrows_the_window_is_refused_with_the_numbers(model, idx):
    with pytest.raises(ValueError) as error:
        generate(model, idx, 4)
    for part in ("11 prompt tokens and 4 new", "window of 14", "block_size=13", "at most 3 new"):
        assert part in str(error.value)
    with pytest.raises(ValueError, match=r"T=29 .*block_size=13"):
        generate(model, torch.zeros(1, 29).long(), 3)
    assert generate(model, idx, 3).shape == (5, 14)  # the last token need not be looked at


@pytest.mark.parametrize("T", [11, 29])
def test_cropping_forgets_the_oldest_tokens(model, T):
    prompt = torch.randint(101, (5, T))
    out = generate(model, prompt, 17, temperature=0, overflow="crop")
    assert torch.equal(out, step_by_step(model, prompt, 17))


# ---- What it leaves behind ----------------------------------------------------------------------


@pytest.mark.parametrize("training", [False, True])
def test_mode_is_restored_however_a_stream_ends(model, idx, training):
    def fail(logits: Tensor) -> Tensor:
        raise ArithmeticError

    model.train(training)
    generate(model, idx[:, :4], 3)
    assert all(module.training == training for module in model.modules())
    tokens = stream(model, idx[:, :4], 9)
    next(tokens)
    assert all(module.training == training for module in model.modules())
    tokens.close()
    with pytest.raises(ArithmeticError):
        generate(model, idx[:, :4], 3, choose=fail)
    assert all(module.training == training for module in model.modules())


def test_no_graph_is_kept_and_the_callers_gradients_stay_on(model, idx):
    seen = []
    hook = model.lm_head.register_forward_hook(lambda m, a, out: seen.append(out.requires_grad))
    for new in stream(model, idx[:, :4], 3):
        assert not new.requires_grad
        assert torch.is_grad_enabled()
    hook.remove()
    assert seen == [False] * 3
    assert torch.is_grad_enabled()
    assert model(idx)[0].requires_grad
    assert all(p.grad is None for p in model.parameters())


# ---- Bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("temperature", [-0.1, math.nan, math.inf]),
        ("top_k", [0, -5]),
        ("top_p", [0.0, 1.01, math.nan]),
        ("min_p", [-0.1, 1.1, math.nan]),
        ("repetition_penalty", [0, -1.5, math.nan, math.inf]),
    ],
)
def test_a_setting_out_of_range_is_refused(model, idx, name, values):
    for value in values:
        with pytest.raises(ValueError, match=f"^{name} .* got {value}"):
            generate(model, idx[:, :4], 0, **{name: value})  # even if nothing would be drawn
    for wrong in (True, "3"):
        with pytest.raises(TypeError, match=f"^{name} must be (int|float), got {wrong!r}"):
            generate(model, idx[:, :4], 0, **{name: wrong})


def test_functions_of_sampling_check_their_settings(idx):
    logits = torch.zeros(5, 101)
    with pytest.raises(ValueError, match="repetition_penalty"):
        penalize(logits, idx, 0.0)
    for draw in (sample_next, next_probabilities):
        with pytest.raises(ValueError, match="top_k"):
            draw(logits, top_k=0)
    for change in (partial(penalize, idx=idx, penalty=1.5), sample_next, next_probabilities):
        for wrong in (logits[0], logits.long()):
            with pytest.raises(TypeError, match=r"logits must be floats of shape \(B, V\)"):
                change(wrong)


def test_lengths_and_ends_are_whole_numbers(model, idx):
    for wrong in (True, 2.5, "3"):
        with pytest.raises(TypeError, match="max_new_tokens must be an int"):
            generate(model, idx, wrong)
        with pytest.raises(TypeError, match="eos_id must be an int"):
            generate(model, idx, 1, eos_id=wrong)
    with pytest.raises(ValueError, match="max_new_tokens must be at least 0"):
        generate(model, idx, -1)
    with pytest.raises(ValueError, match="eos_id must be at most"):
        generate(model, idx, 1, eos_id=2**63)
    with pytest.raises(ValueError, match="overflow must be"):
        generate(model, idx, 1, overflow="drop")


def test_a_bad_prompt_is_refused_before_anything_is_drawn(model, idx):
    for prompt in ([[1, 2]], idx.float(), idx[0], idx[:, :0], idx + 101):
        with pytest.raises((TypeError, ValueError), match=r"^idx"):
            generate(model, prompt, 0, overflow="crop")


@pytest.mark.parametrize("temperature", [0, 1e-38, 1e-45, 5e-324])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_the_smallest_temperature_is_greedy_and_not_nan(temperature, dtype):
    """Some of these are 0 in float32, and (51 - 51) / 0 is NaN."""
    logits = torch.tensor([[50.0, 51.0, -3.0]], dtype=dtype)
    for knobs in ({}, {"top_k": 2}, {"top_p": 1e-300}):
        probs = next_probabilities(logits, temperature=temperature, **knobs)
        assert probs.tolist() == [[0, 1, 0]]
        assert sample_next(logits, temperature=temperature, **knobs).item() == 1


# ---- With and without a cache -------------------------------------------------------------------


@pytest.mark.parametrize("knobs", [{"temperature": 0}, {"top_k": 7}, {"temperature": 1.5}], ids=str)
@pytest.mark.parametrize("prompt", [1, 4, 11])
def test_the_cache_changes_no_token(model, idx, prompt, knobs):
    prompt = idx[:, :prompt]
    n = 14 - prompt.size(1)  # to the end of the window
    plain = generate(model, prompt, n, generator=seeded(1), use_cache=False, **knobs)
    assert torch.equal(generate(model, prompt, n, generator=seeded(1), **knobs), plain)


def test_with_the_cache_each_step_computes_one_token(model, idx):
    widths = []
    model.register_forward_pre_hook(lambda module, args: widths.append(args[0].size(1)))
    generate(model, idx[:, :4], 5)
    assert widths == [4, 1, 1, 1, 1]
    widths.clear()
    generate(model, idx[:, :4], 5, use_cache=False)
    assert widths == [4, 5, 6, 7, 8]
    widths.clear()
    generate(model, idx[:, :11], 5, overflow="crop")  # past the window all move: no cache helps
    assert widths == [11, 1, 1, 13, 13]


@pytest.mark.parametrize("use_cache", [True, False])
def test_no_kernel_of_attention_plans_for_each_length(model, idx, use_cache):
    """cuDNN's would: on an H200, 45 ms a token instead of 4."""
    allowed = []
    model.register_forward_pre_hook(
        lambda module, args: allowed.append(torch.backends.cuda.cudnn_sdp_enabled())
    )
    assert torch.backends.cuda.cudnn_sdp_enabled()
    generate(model, idx[:, :4], 3, use_cache=use_cache)
    assert allowed == [False] * 3
    assert torch.backends.cuda.cudnn_sdp_enabled()


def test_only_the_last_position_gets_logits(model, idx):
    shapes = []
    model.lm_head.register_forward_hook(lambda module, args, out: shapes.append(out.shape))
    generate(model, idx[:, :4], 3)
    generate(model, idx[:, :4], 3, use_cache=False)
    assert shapes == [(5, 1, 101)] * 6


@pytest.mark.parametrize("use_cache", [True, False])
def test_prompts_of_different_lengths_go_on_as_if_alone(model, idx, use_cache):
    prompts = [row[:n].tolist() for row, n in zip(idx, [7, 3, 1, 6, 7], strict=True)]
    batch, padding = pad_left(prompts, pad_id=0)
    together = generate(model, batch, 7, temperature=0, padding=padding, use_cache=use_cache)
    for row, prompt in zip(together, prompts, strict=True):
        alone = generate(model, torch.tensor([prompt]), 7, temperature=0)
        assert torch.equal(row[7:], alone[0, len(prompt) :])


def test_padding_is_forgotten_first_when_a_text_is_cropped(model, idx):
    prompts = [idx[0, :9].tolist(), idx[1, :4].tolist()]
    batch, padding = pad_left(prompts, pad_id=0)
    together = generate(model, batch, 19, temperature=0, padding=padding, overflow="crop")
    short = generate(model, torch.tensor([prompts[1]]), 19, temperature=0, overflow="crop")
    # The short text is alone in its window for as long as its padding lasts, and equal when the
    # window holds the same thirteen tokens of it.
    assert torch.equal(together[1, 9:], short[0, 4:])
    assert torch.equal(
        together[0], generate(model, batch[:1], 19, temperature=0, overflow="crop")[0]
    )


def test_padding_on_the_left_says_what_it_added():
    batch, padding = pad_left([[1, 2, 3], [4], [5, 2**63 - 1]], pad_id=9)
    assert batch.tolist() == [[1, 2, 3], [9, 9, 4], [9, 5, 2**63 - 1]]
    assert padding.tolist() == [0, 2, 1]
    for wrong, kind in (([], ValueError), ([[1], []], ValueError), ([[2**63]], ValueError)):
        with pytest.raises(kind, match=r"at least one token|too large"):
            pad_left(wrong, pad_id=9)
    with pytest.raises(TypeError, match="whole numbers"):
        pad_left([[1.5]], pad_id=0)


# ---- Any model, any choice, any predictor --------------------------------------------------------


def test_any_function_from_ids_to_logits_generates():
    table = torch.eye(11).roll(1, dims=1)  # id i is followed by i + 1
    out = generate(lambda idx: 50 * table[idx], torch.tensor([[3], [9]]), 4)
    assert out.tolist() == [[3, 4, 5, 6, 7], [9, 10, 0, 1, 2]]
    with pytest.raises(ValueError, match="takes no padding"):
        generate(lambda idx: table[idx], out, 1, padding=torch.tensor([1, 0]))


def test_a_module_without_a_cache_is_recomputed_within_its_window(idx):
    class Reader(torch.nn.Sequential):
        block_size = 5

        def forward(self, idx: Tensor) -> Tensor:
            assert idx.size(1) <= self.block_size
            return super().forward(idx).cumsum(dim=1)

    reader = Reader(torch.nn.Embedding(101, 101), torch.nn.Dropout(0.5)).train()
    with pytest.raises(ValueError, match="need a window of 12, but this model sees block_size=5"):
        generate(reader, idx[:, :4], 9)
    settings = {"temperature": 0, "overflow": "crop"}
    once, again = (generate(reader, idx[:, :4], 9, **settings) for _ in range(2))
    assert torch.equal(once, again)  # in eval mode
    assert reader[1].training


@pytest.mark.parametrize("keepdim", [True, False])
def test_a_choice_that_is_handed_in_decides(model, idx, keepdim):
    def least_likely(logits: Tensor) -> Tensor:
        return logits.argmin(dim=-1, keepdim=keepdim)  # (B, 1) or (B,)

    out = generate(model, idx[:, :4], 5, choose=least_likely)
    for t in range(4, 9):
        assert torch.equal(out[:, t], model(out[:, :t])[0][:, -1].argmin(dim=-1))
    with pytest.raises(ValueError, match="choose replaces temperature, top_k, top_p"):
        generate(model, idx, 1, choose=least_likely, top_k=3)
    with pytest.raises(ValueError, match="min_p and generator"):
        generate(model, idx, 1, choose=least_likely, min_p=0.1)
    with pytest.raises(ValueError, match="min_p and generator"):
        generate(model, idx, 1, choose=least_likely, generator=seeded())


def test_a_predictor_can_be_kept_for_the_next_text(model, idx, make_model):
    predict = Cached(model, model.make_cache(5))
    widths = []
    model.register_forward_pre_hook(lambda module, args: widths.append(args[0].size(1)))
    for prompt in (idx[:, :4], idx[:, 4:7], idx[:, 4:8]):  # the third continues none
        expected = generate(model, prompt, 3, temperature=0, use_cache=False)
        widths.clear()
        assert torch.equal(generate(model, prompt, 3, temperature=0, predict=predict), expected)
        assert widths[1:] == [1, 1]
    with torch.no_grad():  # keys from before a change of the model are not relied on
        model.transformer.h[0].mlp.c_fc.weight.neg_()
    found = generate(model, expected, 3, predict=predict, temperature=0)
    assert torch.equal(found, generate(model, expected, 3, temperature=0))
    with pytest.raises(ValueError, match="predict replaces use_cache and padding"):
        generate(model, idx, 1, predict=predict, use_cache=False)
    with pytest.raises(ValueError, match="made for another model"):
        generate(make_model(model.config), idx, 1, predict=predict)


def test_a_predictor_is_given_no_more_than_can_matter_to_the_model(model, idx, monkeypatch):
    longest = []

    class Watched(Recompute):
        def __call__(self, idx: Tensor) -> Tensor:
            longest.append(idx.size(1))
            return super().__call__(idx)

    monkeypatch.setattr(gpt2_edu.generation, "Recompute", Watched)
    generate(model, idx, 60, overflow="crop")
    assert max(longest) == 13 + 11  # window and prompt


@pytest.mark.parametrize("temperature", [1e39, 10**400])
def test_an_enormous_temperature_is_uniform_and_not_nan(temperature):
    probs = distribution([1.0, 5.0, -math.inf, 90.0], temperature=temperature)
    assert probs[[0, 1, 3]].isclose(torch.tensor(1 / 3)).all()
    assert probs[2] == 0


@pytest.mark.parametrize("kind", [Recompute, lambda m, p: Cached(m, m.make_cache(2), p)])
def test_a_kept_predictor_counts_the_padding_of_each_text_anew(model, idx, kind):
    batch, padding = pad_left([idx[0, :9].tolist(), idx[1, :4].tolist()], pad_id=0)
    predict = kind(model, padding)
    expected = generate(model, batch, 12, temperature=0, padding=padding, overflow="crop")
    for _ in range(3):
        found = generate(model, batch, 12, temperature=0, predict=predict, overflow="crop")
        assert torch.equal(found, expected)


def test_texts_that_threads_write_are_those_of_one(config, make_model):
    """Of a model in training mode: no thread may switch dropout on for another."""
    model = make_model(replace(config, resid_pdrop=0.5)).train()
    prompt = torch.tensor([[1, 2]])
    expected = generate(model, prompt, 12, temperature=0)
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(generate, model, prompt, 12, temperature=0) for _ in range(40)]
        assert all(torch.equal(job.result(), expected) for job in jobs)
    assert all(module.training for module in model.modules())


def test_a_pass_that_was_interrupted_leaves_nothing_to_rely_on(model, idx):
    predict = Cached(model, model.make_cache(5))
    predict(idx[:, :5])

    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    hook = model.register_forward_hook(interrupt)
    with pytest.raises(KeyboardInterrupt):
        predict(idx[:, :6])
    hook.remove()
    torch.testing.assert_close(predict(idx[:, :7]), model(idx[:, :7])[0][:, -1])


def test_a_subclass_with_a_plain_forward_is_recomputed(config, idx):
    class Plain(GPT2):
        def forward(self, idx, targets=None):
            return super().forward(idx, targets)

    torch.manual_seed(0)
    model = Plain(config).eval()
    out = generate(model, idx[:, :4], 3, temperature=0)
    assert torch.equal(out[:, 4], model(idx[:, :4])[0][:, -1].argmax(-1))


@pytest.mark.parametrize(
    "choose", [lambda z: z[:, 0], lambda z: None, lambda z: [1], lambda z: z.softmax(-1).long()]
)
def test_what_is_no_choice_is_refused(model, idx, choose):
    with pytest.raises(TypeError, match="choose must return a tensor of 5 token ids, got"):
        generate(model, idx[:, :4], 1, choose=choose)


def test_an_output_with_logits_is_understood_and_another_refused(idx):
    out = generate(lambda ids: SimpleNamespace(logits=F.one_hot(ids, 101) * 9.0), idx, 2)
    assert out.shape == (5, 13)
    with pytest.raises(TypeError, match=r"must return logits \(B, T, V\), got None"):
        generate(lambda ids: None, idx, 2)


# Attention makes zeros of NaN in a query.
@pytest.mark.parametrize("where", ["attn.c_attn.weight", "mlp.c_proj.bias"])
@pytest.mark.parametrize("use_cache", [True, False])
def test_a_prediction_that_is_not_finite_names_the_weights(model, idx, where, use_cache):
    with torch.no_grad():
        model.get_parameter(f"transformer.h.1.{where}").view(-1)[0] = math.nan
    with pytest.raises(FloatingPointError, match=rf"not finite: transformer.h.1.{where}"):
        generate(model, idx[:, :4], 3, use_cache=use_cache)
