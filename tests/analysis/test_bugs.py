"""The bug museum: each bug is the mistake that it is said to be, and has the symptom claimed."""

from __future__ import annotations

import math
from functools import cache
from statistics import mean

import pytest
import torch
from torch.nn import functional as F

from gpt2_edu import KVCache, trace
from gpt2_edu.analysis import bugs
from gpt2_edu.analysis.bugs import BUGS, FLOOR, LENGTH, TEXTS

case = cache(bugs.case)  # about a second each

LEAKS = ["no mask", "mask after softmax", "finite mask", "wrong view"]
SILENT = ["ε outside the root", "unbiased variance", "erf for tanh", "tied by copy"]


def loss_of(name: str) -> float:
    return mean(case(name).in_use)


@pytest.fixture
def tape_of(model, idx):
    """A function that runs a model with a bug once, and returns the tape and the model."""

    def run(name: str):
        with torch.no_grad(), bugs.broken(model, name) as (copy, tape):
            copy(idx)
        return tape, copy

    return run


# ---- The language and the healthy model ---------------------------------------------------------


def test_the_floor_is_the_entropy_of_the_language():
    """Counted token by token: what has come before decides how many words can follow."""
    surprise = 0.0
    for row in TEXTS.tolist():
        for t in range(1, LENGTH + 1):
            same = [other for other in TEXTS.tolist() if other[:t] == row[:t]]
            surprise -= math.log(sum(other[t] == row[t] for other in same) / len(same))
    assert math.isclose(surprise / TEXTS[:, :LENGTH].numel(), FLOOR)


def test_without_a_bug_the_loss_rests_on_the_floor_and_the_text_is_right():
    healthy = case("no bug")
    assert FLOOR < mean(healthy.in_use) < FLOOR + 0.005
    assert healthy.right > 95
    assert healthy.different > 20


# ---- Symptoms -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEAKS)
def test_a_leak_goes_through_the_floor_and_cannot_write(name):
    assert loss_of(name) < 0.7 * FLOOR
    assert case(name).different < 12


def test_no_mask_and_the_finite_one_colour_what_is_ahead():
    for name in ("no mask", "finite mask"):
        assert case(name).weights.triu(1).sum(dim=-1).max() > 0.7
    for name in ("mask after softmax", "wrong view"):
        assert case(name).weights.triu(1).eq(0).all()


def test_a_mask_after_the_softmax_leaves_rows_that_do_not_sum_to_one():
    assert case("mask after softmax").weights.sum(dim=-1).min() < 0.5
    torch.testing.assert_close(case("wrong view").weights.sum(dim=-1), torch.ones(4, LENGTH))


def test_a_finite_mask_holds_at_first():
    assert case("finite mask").losses[80] > FLOOR


def test_targets_off_by_none_are_copied():
    assert loss_of("targets off by none") < 0.1
    assert case("targets off by none").weights.triu(1).eq(0).all()
    assert all(len(set(text.split())) == 1 for text in case("targets off by none").texts)


@pytest.mark.parametrize("name", ["targets off by two", "positions forgotten"])
def test_what_cannot_be_known_costs_one_more_bit(name):
    """Of nine predictions one more is a guess between two."""
    assert abs(loss_of(name) - (FLOOR + math.log(2) / LENGTH)) < 0.01


def test_targets_off_by_two_skip_the_first_word():
    texts = case("targets off by two").texts
    assert not any(text.startswith("A ") for text in texts)
    assert case("targets off by two").right == 0


def test_without_positions_the_form_is_right_and_the_subject_a_guess():
    first, second = 1, 4  # the two animals
    things = {name: {bugs.FOODS[name], bugs.LOADS[name]} for name in bugs.FOODS}
    words = [text.split() for text in case("positions forgotten").texts]
    usual = [w for w in words if len(w) == 8 and w[first] in things and w[second] in things]
    of_either = [w for w in usual if w[6] in things[w[first]] | things[w[second]]]
    assert len(of_either) > 85
    assert 25 < case("positions forgotten").right < 75


def test_softmax_before_cross_entropy_is_stuck_above_its_own_floor():
    V = len(bugs.WORDS)
    assert math.log(V - 1 + math.e) - 1 < loss_of("softmax before cross-entropy")
    assert loss_of("softmax before cross-entropy") > case("no bug").losses[0] - 1
    assert case("softmax before cross-entropy").right < 5


def test_softmax_before_cross_entropy_moves_less_than_one_below_the_logarithm():
    losses = case("softmax before cross-entropy").losses
    assert losses[0] - 1 < min(losses) < losses[0] - 0.3


def test_dropout_left_on_never_measures_the_same_loss_twice():
    assert len(set(case("dropout left on").in_use)) == 30
    assert loss_of("dropout left on") > FLOOR + 0.01
    assert len(set(case("no bug").in_use)) == 1


def test_a_transposed_projection_breaks_the_text_and_leaves_the_first_maps():
    assert loss_of("transposed Conv1D") > 2 * FLOOR
    assert case("transposed Conv1D").right < 10
    torch.testing.assert_close(case("transposed Conv1D").weights, case("no bug").weights)


def test_a_wrong_mask_of_the_cache_shows_in_the_text_alone():
    assert math.isclose(loss_of("cache with the wrong mask"), loss_of("no bug"), abs_tol=1e-5)
    torch.testing.assert_close(case("cache with the wrong mask").weights, case("no bug").weights)
    assert case("cache with the wrong mask").right == 0


def test_scale_by_c_pales_the_maps_of_trained_weights():
    paler = case("scale by C").weights[:, 1:].amax(dim=-1).mean()
    assert paler < 0.9 * case("no bug").weights[:, 1:].amax(dim=-1).mean()
    assert loss_of("scale by C") > loss_of("no bug") + 0.005


def test_scale_by_c_is_learned_around():
    with bugs.broken(bugs.newborn(), "scale by C") as (copy, _):
        losses = bugs.train(copy)
    assert FLOOR < losses[-1] < FLOOR + 0.01


@pytest.mark.parametrize("name", SILENT)
def test_a_silent_bug_shows_in_no_loss_and_no_text(name):
    assert abs(loss_of(name) - FLOOR) < 0.005
    assert case(name).right > 95


def test_if_targets_stops_training_at_once():
    with pytest.raises(RuntimeError, match="ambiguous"):
        bugs.case("if targets")


def test_if_targets_takes_a_single_id_0_for_none(model):
    token = torch.tensor([[3]])
    with bugs.broken(model, "if targets") as (copy, _):
        assert copy(token, torch.tensor([[5]]))[1] is not None
        assert copy(token, torch.tensor([[0]]))[1] is None


# ---- Each is the mistake that it is called ------------------------------------------------------


def formula_and_result(name: str, which: str, model, idx):
    """What the printed line computes from a run's own tensors, and what the run made there."""
    attn, mlp = "transformer.h.1.attn", "transformer.h.1.mlp"
    with torch.no_grad(), bugs.broken(model, name if which == "wrong" else "no bug") as (m, t):
        m(idx)
    (B, H, T, D), C = t[f"{attn}.q"].shape, m.config.n_embd
    names = {"torch": torch, "math": math, "F": F, "B": B, "H": H, "T": T, "D": D, "C": C}
    result, gain = f"{attn}.weights", None
    if "mask" in name:
        names["visible"] = torch.ones(T, T, dtype=torch.bool).tril()
        names["scores"] = t[f"{attn}.scores"]
    elif name == "wrong view":
        result = f"{attn}.q"
        products = m.transformer["h"][1].attn.c_attn(t["transformer.h.1.ln_1"])
        names["x"] = products[..., :C].contiguous()  # else `view` would complain
    elif name == "scale by C":
        result = f"{attn}.scores"
        names |= {"q": t[f"{attn}.q"], "k": t[f"{attn}.k"]}
    elif name == "erf for tanh":
        result, names["x"] = f"{mlp}.act", t[f"{mlp}.pre"]
    else:  # the norms
        result, gain = "transformer.h.1.ln_2", m.transformer["h"][1].ln_2
        x = t["transformer.h.1.resid_mid"]
        names |= {"x": x, "mean": x.mean(dim=-1, keepdim=True), "eps": gain.eps}
        names["variance"] = x.var(dim=-1, correction=0, keepdim=True)
    computed = eval(getattr(BUGS[name], which), names)
    if name == "unbiased variance":  # the line is the variance alone
        names["variance"] = computed.unsqueeze(-1)
        computed = eval(BUGS["ε outside the root"].right, names)
    return computed if gain is None else computed * gain.weight + gain.bias, t[result]


FORMULAS = ["no mask", "mask after softmax", "finite mask", "wrong view", "scale by C"]
FORMULAS += ["erf for tanh", "ε outside the root", "unbiased variance"]


@torch.no_grad()
@pytest.mark.parametrize("which", ["right", "wrong"])
@pytest.mark.parametrize("name", FORMULAS)
def test_the_line_that_a_room_prints_is_what_its_model_computes(name, which, model, idx):
    computed, result = formula_and_result(name, which, model, idx)
    torch.testing.assert_close(computed, result)


@pytest.mark.parametrize("name", ["targets off by none", "targets off by two"])
def test_the_printed_targets_are_those_of_the_training(name):
    found: dict = {"text": TEXTS}
    exec(BUGS[name].wrong, found)
    first = found["idx"][:, :LENGTH], found["targets"][:, :LENGTH]
    shift = BUGS[name].shift
    assert torch.equal(first[0], TEXTS[:, :LENGTH])
    assert torch.equal(first[1], TEXTS[:, shift : shift + LENGTH])
    assert BUGS["no mask"].shift == 1


def test_the_printed_loss_takes_the_softmax_twice(model, idx):
    with torch.no_grad():
        logits = model(idx)[0].flatten(0, 1)
        with bugs.broken(model, "softmax before cross-entropy") as (copy, _):
            loss = copy(idx, idx)[1]
    names = {"F": F, "logits": logits, "targets": idx.flatten()}
    torch.testing.assert_close(loss, eval(BUGS["softmax before cross-entropy"].wrong, names))


def test_the_wrong_view_harms_nothing_when_tokens_come_one_at_a_time(model, idx):
    with torch.no_grad(), bugs.broken(model, "wrong view") as (copy, _):
        torch.testing.assert_close(copy(idx[:, :1])[0], model(idx[:, :1])[0])


def test_forgotten_positions_get_no_gradient(model, idx):
    with bugs.broken(model, "positions forgotten") as (copy, _):
        copy(idx, idx)[1].backward()
    assert copy.get_parameter("transformer.wpe.weight").grad is None
    assert copy.get_parameter("transformer.wte.weight").grad is not None


def test_conv1d_is_transposed_in_every_block_and_nowhere_else(model):
    with bugs.broken(model, "transposed Conv1D") as (copy, _):
        for name, was in model.named_parameters():
            expected = was.T if name.endswith("attn.c_proj.weight") else was
            assert torch.equal(copy.get_parameter(name), expected)


@pytest.mark.parametrize("name", ["ε outside the root", "unbiased variance"])
def test_every_norm_is_exchanged_the_last_one_too(name, model):
    with bugs.broken(model, name) as (copy, _):
        norms = [module for module in copy.modules() if isinstance(module, torch.nn.LayerNorm)]
    assert len(norms) == 2 * model.config.n_layer + 1
    assert {type(norm) for norm in norms} <= {bugs.EpsilonOutside, bugs.UnbiasedVariance}


def test_the_wrong_mask_of_the_cache_is_that_of_is_causal(model, idx):
    with torch.no_grad(), bugs.broken(model, "cache with the wrong mask") as (copy, tape):
        kept = KVCache(copy.config, len(idx))
        copy(idx[:, :3], cache=kept)
        copy(idx[:, 3:4], cache=kept)
        q = tape["transformer.h.1.attn.q"]
        k, v = kept.k[1, :, :, :4], kept.v[1, :, :, :4]
        expected = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        torch.testing.assert_close(tape["transformer.h.1.attn.heads"], expected)


def test_erf_is_the_exact_gelu(tape_of):
    tape, _ = tape_of("erf for tanh")
    pre, act = tape["transformer.h.1.mlp.pre"], tape["transformer.h.1.mlp.act"]
    torch.testing.assert_close(act, pre * torch.special.ndtr(pre))


def test_unbiased_variance_makes_every_norm_smaller_by_one_factor():
    C = 12
    norm, x = torch.nn.LayerNorm(C, eps=0.0), torch.randn(5, C)
    right = norm(x)
    norm.__class__ = bugs.UnbiasedVariance
    torch.testing.assert_close(norm(x), right * math.sqrt((C - 1) / C))


def test_epsilon_outside_matters_where_variance_is_small():
    norm, x = torch.nn.LayerNorm(12), torch.randn(5, 12)
    ratios = []
    for scale in (1.0, 0.01):
        norm.__class__ = torch.nn.LayerNorm
        right = norm(x * scale)
        norm.__class__ = bugs.EpsilonOutside
        ratios.append((norm(x * scale) / right).mean().item())
    assert abs(ratios[0] - 1) < 1e-4
    assert ratios[1] > 1.01


def test_tied_by_copy_counts_the_table_twice(tape_of, model):
    _, copy = tape_of("tied by copy")
    extra = model.config.vocab_size * model.config.n_embd
    assert copy.num_parameters() == model.num_parameters() + extra


FIRST = {
    "no mask": "transformer.h.0.attn.masked_scores",
    "mask after softmax": "transformer.h.0.attn.weights",
    "finite mask": "transformer.h.0.attn.masked_scores",
    "wrong view": "transformer.h.0.attn.q",
    "positions forgotten": "pos_emb",
    "softmax before cross-entropy": "logits",
    "scale by C": "transformer.h.0.attn.scores",
    "dropout left on": "embd",
    "transposed Conv1D": "transformer.h.0.attn.out",
    "ε outside the root": "transformer.h.0.ln_1",
    "unbiased variance": "transformer.h.0.ln_1",
    "erf for tanh": "transformer.h.0.mlp.act",
}


@pytest.mark.parametrize("name", BUGS)
def test_the_first_tensor_that_differs_is_the_bugs_own(name, model, idx, tape_of):
    with torch.no_grad(), trace(model) as right:
        model(idx)
    wrong, _ = tape_of(name)
    different = [path for path in right.names if not torch.equal(right[path], wrong[path])]
    assert (different or [None])[0] == FIRST.get(name)


# ---- The house rules of the museum --------------------------------------------------------------


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_leaves_nothing_behind(name, model, idx):
    kind, before = type(model), {k: v.clone() for k, v in model.state_dict().items()}
    kinds = [type(module) for module in model.modules()]
    with torch.no_grad():
        logits = model(idx)[0]
        with bugs.broken(model, name) as (copy, _):
            copy(idx)
        assert torch.equal(model(idx)[0], logits)
    assert type(model) is kind and [type(module) for module in model.modules()] == kinds
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert model.lm_head.weight is model.get_parameter("transformer.wte.weight")


def test_a_case_is_the_same_each_time_and_leaves_chance_as_it_was():
    state = torch.get_rng_state()
    again = bugs.case("dropout left on")
    assert torch.equal(torch.get_rng_state(), state)
    assert again.in_use == case("dropout left on").in_use
    assert again.texts == case("dropout left on").texts


@pytest.mark.parametrize("bug", BUGS.values(), ids=lambda bug: bug.name)
def test_every_room_says_what_is_wrong_and_how_to_notice(bug):
    assert bug.right != bug.wrong
    assert bug.symptom.endswith(".")
    assert str(bug).splitlines() == [f"right   {bug.right}", f"wrong   {bug.wrong}"]


def test_an_unknown_room_is_named_with_the_nearest(model):
    close = r"no room is called 'no musk'.*Did you mean 'no mask'"
    with pytest.raises(ValueError, match=close):
        bugs.case("no musk")
    with pytest.raises(ValueError, match=close), bugs.broken(model, "no musk"):
        pass


def test_an_unknown_word_is_named_with_the_nearest():
    with pytest.raises(ValueError, match=r"does not know the word 'craine'.*mean 'crane'"):
        bugs.encode("A craine ate")


def test_small_models_leave_chance_as_it_was():
    state = torch.get_rng_state()
    one, two = bugs.newborn(), bugs.newborn()
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(p, q) for p, q in zip(one.parameters(), two.parameters()))


def test_what_a_reader_does_to_the_healthy_model_stays_with_the_reader():
    mine = bugs.healthy()
    with torch.no_grad():
        mine.lm_head.weight.zero_()
    assert bugs.healthy().lm_head.weight.any()


def test_the_same_edit_reaches_every_block(model):
    edits = bugs.everywhere(model, ("q", "k"), torch.zeros_like)
    assert set(edits) == {f"transformer.h.{layer}.{name}" for layer in (0, 1) for name in "qk"}


def test_a_case_can_be_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    figure = case("no bug").plot()
    assert [ax.get_title() for ax in figure.axes if ax.images] == [f"head {h}" for h in range(4)]
    matplotlib.pyplot.close(figure)


# ---- The detective game -------------------------------------------------------------------------


def test_every_bug_that_shows_can_be_drawn_and_no_other(monkeypatch):
    monkeypatch.setattr(bugs, "case", lambda name: name)
    drawn = {bugs.mystery(seed).case for seed in range(200)}
    assert drawn == {bug.name for bug in BUGS.values() if bug.shows}


def test_a_mystery_answers_every_guess_kindly(monkeypatch):
    monkeypatch.setattr(bugs, "case", lambda name: name)
    riddle = bugs.mystery(0)
    answer = riddle.case
    assert all(name not in repr(riddle) for name in BUGS)
    assert riddle.guess(answer).startswith(f"Yes, it is {answer}. {BUGS[answer].symptom}")
    for name in BUGS.keys() - {answer}:
        assert riddle.guess(name).startswith(f"Not {name}.")
        assert BUGS[answer].symptom not in riddle.guess(name)
    assert "Did you mean 'no mask'" in riddle.guess("no msk")
    assert riddle.guess("no bug").startswith("There is a bug")
    assert bugs.mystery(0).case == answer
