"""One loss for all ideas: partial models, a tiny climb, and what is stored."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
import torch

from gpt2_edu import GPT2, crane
from gpt2_edu.analysis import staircase
from gpt2_edu.analysis.scoring import model_log_probs
from gpt2_edu.analysis.staircase import (
    STEPS,
    Recipe,
    by_prefix,
    measure,
    model_with,
    parts_of,
    stored,
    trained,
)
from gpt2_edu.exhibits import Stairs
from gpt2_edu.machine.files import write_text

TINY = Recipe(stories=60, steps=25, batch_size=4, T=96, n_embd=16, seeds=1, checked=3, written=1)
BY_NAME = {step.name: step for step in STEPS}
ALL = parts_of(BY_NAME["+ depth"])  # of GPT-2


@pytest.fixture
def ids():
    return torch.randint(1024, (2, 11), generator=torch.Generator().manual_seed(0))


def test_with_all_parts_it_is_the_packages_gpt2(ids):
    torch.manual_seed(0)
    model = model_with(ALL, TINY)
    whole = GPT2(model.config)
    whole.load_state_dict(model.state_dict())
    torch.testing.assert_close(model(ids)[0], whole(ids)[0])


def test_each_step_adds_one_part():
    added = [parts_of(step) for step in STEPS]
    assert all(
        len(b) - len(a) == (step.part is not None)
        for a, b, step in zip(added, added[1:], STEPS[1:])
    )
    assert ALL == {"attention", "mask", "positions", "heads", "MLP", "residual", "norm", "depth"}


@pytest.mark.parametrize("part", ["MLP", "residual", "norm", "positions", "heads", "mask"])
def test_leaving_a_part_out_changes_what_the_model_says(part, ids):
    for parts in (ALL, ALL - {part}):
        torch.manual_seed(0)
        model = model_with(parts, TINY)
        if parts == ALL:
            whole = model(ids)[0]
    assert not torch.allclose(model(ids)[0], whole, atol=1e-4)


def test_without_positions_the_order_of_earlier_tokens_does_not_matter(ids):
    model = model_with(parts_of(BY_NAME["+ mask"]), TINY)
    other = ids[:, [3, 1, 0, 2, *range(4, 11)]]
    torch.testing.assert_close(model(ids)[0][:, -1], model(other)[0][:, -1])
    model = model_with(parts_of(BY_NAME["+ mask"]) | {"positions"}, TINY)
    assert not torch.allclose(model(ids)[0][:, -1], model(other)[0][:, -1], atol=1e-5)


def test_by_prefix_a_causal_model_says_the_same_and_an_unmasked_one_does_not(ids):
    causal, open_ = (model_with(parts, TINY) for parts in (ALL, ALL - {"mask", "depth"}))
    torch.testing.assert_close(by_prefix(causal)(ids), model_log_probs(causal)(ids))
    assert not torch.allclose(by_prefix(open_)(ids), model_log_probs(open_)(ids), atol=1e-3)


def test_at_the_end_it_is_a_llama_and_then_its_matrices_are_integers(ids):
    model = model_with(parts_of(BY_NAME["+ Llama"]), TINY)
    assert (type(model).__name__, model.config.n_layer, model.config.n_kv_head) == ("Llama", 3, 2)
    few = replace(TINY, steps=2)
    whole, bits = (trained(BY_NAME[name], 0, few)[0](ids) for name in ("+ Llama", "+ 8 bits"))
    assert 1e-6 < (whole - bits).abs().max() < 0.3


def test_a_tiny_climb_falls_from_guessing_over_frequencies_to_pairs():
    losses = [
        measure(BY_NAME[name], TINY)["losses"][0] for name in ("guess", "frequencies", "pairs")
    ]
    assert losses[0] == pytest.approx(math.log(1024), abs=1e-4)
    assert losses == sorted(losses, reverse=True)
    assert staircase.floor(TINY) < losses[-1]


def test_a_tiny_model_learns_and_the_same_seed_gives_the_same(ids):
    (one, loss), (other, again) = (trained(BY_NAME["+ norm"], 0, TINY) for _ in range(2))
    assert loss == again < math.log(1024) - 0.3
    assert torch.equal(one(ids), other(ids))


# ---- What is stored ---------------------------------------------------------------------------


def test_the_stored_run_is_of_the_present_recipe_and_steps():
    stairs = stored()
    assert stairs.recipe == Recipe()
    assert [one.step for one in stairs.steps] == list(STEPS)
    assert [len(one.losses) for one in stairs.steps] == [3 if s.part else 1 for s in STEPS]


@pytest.mark.thorough
def test_no_loss_is_below_the_floor_and_the_order_of_losses_is_what_the_text_says():
    stairs = stored()
    loss = {one.step.name: one.loss for one in stairs.steps}
    assert min(min(one.losses) for one in stairs.steps) > stairs.floor
    assert stairs.floor == pytest.approx(crane.entropy(400), abs=0.01)
    assert loss["guess"] == pytest.approx(math.log(1024), abs=1e-3)
    assert loss["guess"] > loss["frequencies"] > loss["pairs"]
    taught = [one.loss for one in stairs.steps if one.step.part]
    upto = -3  # three blocks, their exchange and their rounding
    assert taught[:upto] == sorted(taught[:upto], reverse=True)
    assert abs(loss["+ depth"] - loss["+ norm"]) < 0.05  # 600 steps are few for three blocks
    assert abs(loss["+ 8 bits"] - loss["+ Llama"]) < 0.005
    assert loss["+ MLP"] > loss["pairs"] > loss["+ residual"]  # without the plus, no gain


def test_without_a_mask_training_looks_far_better_than_the_model_is():
    cheats = {
        one.step.name for one in stored().steps if one.training and one.loss - max(one.training) > 1
    }
    assert cheats == {"+ attention"}


def test_excerpts_are_marked_where_the_judge_says():
    for one in stored().steps:
        right, wrong = one.excerpt()
        fails = crane.judge(one.story).fails_at
        text = (right + wrong).removesuffix(" …")
        assert one.story.startswith(text)
        assert (wrong != "") == (fails is not None and fails < len(right + wrong))
        if wrong:
            assert len(right) == fails


def test_a_file_of_other_steps_is_refused(tmp_path):
    content = json.loads(staircase.FILE.read_text(encoding="utf-8"))
    content["steps"].pop()
    path = tmp_path / "staircase.json"
    write_text(path, json.dumps(content))
    with pytest.raises(ValueError, match="make staircase"):
        stored(path)


def test_the_exhibit_has_every_step_with_its_loss_and_the_sentence():
    page = Stairs().html()
    for one in stored().steps:
        assert f'<th scope="row">{one.step.name}</th><td>{one.loss:.2f}</td>' in page
        assert f"{one.step.name} {one.loss:.2f}" in Stairs().alt
    assert page.count("⟦") > 5
