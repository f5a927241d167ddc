"""What units answer to: their places, and how far a token decides them."""

from __future__ import annotations

import json

import pytest
import torch

from gpt2_edu import GPT2, crane, load_tokenizer, trace
from gpt2_edu.analysis.units import contexts, share_on_favourites, strongest, unit_answers
from gpt2_edu.web import ASSETS

BIRD = (1, 356)


@pytest.fixture(scope="module")
def model() -> GPT2:
    return GPT2.from_pretrained("crane")


@pytest.fixture(scope="module")
def rows() -> list[list[int]]:
    tokenizer = load_tokenizer("crane")
    end = tokenizer.eot_token
    stories = [crane.story(seed) for seed in range(1_000_000, 1_000_060)]
    return [[end, *tokenizer.encode_ordinary(story), end] for story in stories]


@pytest.fixture(scope="module")
def answers(model, rows):
    return unit_answers(model, rows)


def test_answers_are_those_of_a_pass_without_padding(model, rows, answers):
    for row in (0, 33, 59):
        with trace(model) as t, torch.no_grad():
            model(torch.tensor([rows[row]]))
        here = answers.row == row
        assert answers.token[here].tolist() == rows[row]
        assert answers.at[here].tolist() == list(range(len(rows[row])))
        for block, act in enumerate(answers.act):
            right = t[f"transformer.h.{block}.mlp.act"][0]
            torch.testing.assert_close(act[here].float(), right, rtol=2e-3, atol=2e-3)


def test_a_token_decides_units_of_later_blocks_and_chance_decides_none(answers):
    share, chance = (share_on_favourites(answers, shuffled=shuffled) for shuffled in (False, True))
    first, second, third = share.nanmean(dim=1).tolist()
    assert abs(first - chance[0].nanmean().item()) < 0.06  # no different from chance
    assert second > 0.4 and third > 0.35
    assert chance.nanmean(dim=1).max() < 0.32
    readable = (share >= 0.5).float().mean(dim=1)
    assert readable[0] < 0.1 and readable[1] > 0.25 and readable[2] > 0.2
    assert (chance >= 0.5).float().mean() < 0.02


def test_the_bird_fires_at_cranes_that_are_birds(model):
    tokenizer = load_tokenizer("crane")
    fires = {}
    for place in ("marsh", "city"):
        ids = [tokenizer.eot_token, *tokenizer.encode(f"In the {place}, the crane")]
        fires[place] = unit_answers(model, [ids]).act[BIRD[0]][-1, BIRD[1]].item()
    assert fires["marsh"] > 8 and abs(fires["city"]) < 0.5


def test_the_strongest_places_are_the_loudest_and_differ(rows, answers):
    found = list(strongest(answers, rows, *BIRD, n=20))
    act = answers.act[BIRD[0]][:, BIRD[1]].float()
    assert found[0][0] == act.max().item()
    assert [value for value, _, _ in found] == sorted((f[0] for f in found), reverse=True)
    ends = [tuple(rows[row][at - 2 : at + 1]) for _, row, at in found]
    assert len({end[1:] for end in ends}) < len(set(ends)) == len(ends)


def test_the_stored_places_are_where_the_model_fires(model):
    content = json.loads((ASSETS / "crane" / "units.json").read_text(encoding="utf-8"))
    sizes = [len(block) for block in content["blocks"]]
    assert sizes == [4 * model.config.n_embd] * model.config.n_layer
    bird = content["blocks"][BIRD[0]][BIRD[1]]
    tokenizer = load_tokenizer("crane")
    texts = [tokenizer.decode(ids[:-1]) for _, ids in bird]
    assert len(texts) == 5 and all(text.endswith(" crane") for text in texts)
    end = tokenizer.eot_token
    seeds = range(1_000_000, 1_000_000 + content["stories"])
    rows = [[end, *tokenizer.encode_ordinary(crane.story(seed)), end] for seed in seeds]
    joined = {" ".join(map(str, row)): row for row in rows}
    for value, ids in bird:
        wanted = " ".join(map(str, ids))
        found = next(row for text, row in joined.items() if f" {wanted} " in f" {text} ")
        answers = unit_answers(model, [found]).act[BIRD[0]][:, BIRD[1]]
        assert value in [round(one, 1) for one in answers.tolist()]


def test_contexts_have_the_token_and_the_next_one(model, rows):
    few = rows[:4]
    answers = unit_answers(model, few)
    for block, units in enumerate(contexts(model, few, n=2, before=3)):
        for unit, found in enumerate(units):
            places = strongest(answers, few, block, unit, n=2)
            for (answer, ids), (value, row, at) in zip(found, places, strict=True):
                assert ids[-2:] == few[row][at : at + 2] and answer == round(value, 1) >= 0
                assert len(ids) == min(at, 4) + 1 + (at == 0)
