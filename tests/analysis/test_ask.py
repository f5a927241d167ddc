"""Tuning on questions: what is trained, what is measured, and what is stored."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import product
from statistics import fmean

import pytest
import torch

from gpt2_edu import GPT2, crane, generate, load_tokenizer
from gpt2_edu.analysis import ask
from gpt2_edu.analysis.ask import (
    Recipe,
    asked,
    chat_encoding,
    classify,
    continuation,
    forgotten,
    mean_loss,
    measure,
    predicts,
    prompt_text,
    prompted,
    rendered,
    shipped_excess,
    stored,
    told,
    tune,
    unsaid,
)
from gpt2_edu.analysis.since import Truth, excess, held_out
from gpt2_edu.tuning import example_batch, load_adapter, with_roles
from gpt2_site import make_ask

pytestmark = pytest.mark.slow

TINY = Recipe(steps=3, batch_size=4, exchanges=20)


@pytest.fixture(scope="module")
def shipped():
    return with_roles(GPT2.from_pretrained("crane"), load_tokenizer("crane"))[0]


@pytest.fixture
def few(monkeypatch):
    """Eight stories to measure forgetting on."""
    stories = Truth(held_out().rows[:8], held_out().surprisals[:8])
    monkeypatch.setattr(ask, "held_out", lambda: stories)
    shipped_excess.cache_clear()
    yield
    shipped_excess.cache_clear()


# ---- Tuning --------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_model_and_another_seed_another():
    tables = [tune(TINY, seed).wte.weight.detach() for seed in (0, 0, 1)]
    assert torch.equal(tables[0], tables[1])
    assert not torch.equal(tables[0], tables[2])


@pytest.mark.parametrize("tables", [False, True])
def test_lora_changes_its_own_weights_and_the_table_only_if_asked(shipped, tables):
    model = tune(replace(TINY, rank=2, tables=tables), 0)
    base = shipped.state_dict()
    state = model.state_dict()
    assert all(torch.equal(state[name], tensor) for name, tensor in base.items() if name in state)
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    # Two numbers for each input and output of the 12 maps, and the table.
    assert trained == 2 * 3 * (512 + 256 + 640 + 640) + tables * 1026 * 128


@pytest.mark.thorough
@pytest.mark.parametrize("which", ["read", "unread"])
def test_only_the_chosen_rows_of_the_table_change(shipped, which):
    recipe = replace(TINY, rank=2, tables=which)
    model = tune(recipe, 0)
    changed = (model.wte.tables["default"] != shipped.wte.weight).any(dim=1)
    rows = ask.table_rows(which)
    assert torch.equal(changed, rows)  # as rows of the head, all would change
    assert ask.count_trained(model, recipe) == 2 * 3 * 2048 + 128 * rows.sum()


@pytest.mark.thorough
def test_unread_rows_are_those_that_no_plain_story_has():
    used = {i for seed in range(50) for i in chat_encoding().encode(crane.story(seed))}
    unread = ask.table_rows("unread")
    assert not unread[list(used)].any() and unread[1024:].all()  # the roles are in no story
    assert torch.equal(ask.table_rows("read"), ~unread)


def test_logits_only_where_there_is_a_target_give_the_same_loss_and_gradient(shipped):
    batch = example_batch([rendered(one) for one in asked(4)])
    shipped.requires_grad_(True)
    found = []
    for loss in (shipped(*batch)[1], mean_loss(shipped, *batch)):
        shipped.zero_grad()
        loss.backward()
        found.append((loss.detach(), shipped.wte.weight.grad.clone()))
    torch.testing.assert_close(found[0], found[1], atol=1e-5, rtol=1e-4)
    assert not shipped.lm_head._forward_pre_hooks


def test_a_batch_has_as_many_plain_stories_as_the_recipe_says(monkeypatch):
    seen = []
    real = ask.example_batch
    monkeypatch.setattr(
        ask, "example_batch", lambda texts, **kw: seen.append(texts) or real(texts, **kw)
    )
    tune(replace(TINY, stories=1, steps=2), 0)
    assert [len(texts) for texts in seen] == [3, 1, 3, 1]
    first = [text.ids[1] for texts in seen for text in texts]
    user = chat_encoding().encode_single_token("<|user|>")
    assert [i == user for i in first] == [True, True, True, False] * 2


def test_answers_without_their_space_are_other_tokens():
    exchange = next(one for one in asked(50) if one.kind == "colour")
    usual, bare = rendered(exchange), rendered(exchange, "")
    answer = [i for i, of in zip(usual.ids, usual.answer) if of]
    without = [i for i, of in zip(bare.ids, bare.answer) if of]
    assert chat_encoding().decode(answer) == f" {exchange.answer}<|endoftext|>"
    assert chat_encoding().decode(without) == f"{exchange.answer}<|endoftext|>"
    assert answer[0] != without[0]


# ---- Measuring -----------------------------------------------------------------------------------


def test_an_answer_counts_exactly_if_greedy_generation_writes_it(shipped):
    plain = GPT2.from_pretrained("crane")
    exchanges = [one for one in asked(60) if one.begun]
    texts = [continuation(prompt_text(one, "begun"), one.answer) for one in exchanges]
    right = predicts(plain, texts)
    assert 5 < sum(right) < len(right)
    for text, ok in list(zip(texts, right))[:12]:
        n = sum(text.answer)
        prompt = torch.tensor([text.ids[:-n]])
        written = generate(plain, prompt, n, top_k=1)[0, -n:].tolist()
        assert (written == text.ids[-n:]) == ok


def test_new_questions_are_none_of_training_and_held_out_forms_share_their_stories():
    lessons = {crane.ask(seed).story for seed in range(300)}
    assert not lessons & {one.story for one in asked(100)}
    assert [one.story for one in asked(100)] == [one.story for one in asked(100, "form")]


def test_an_unsaid_count_is_not_in_the_story():
    numbers = ["two", "three", "four", "five", "six", "seven", "eight"]
    found = unsaid(20)
    assert len(found) == 20
    for exchange in found:
        assert exchange.story.endswith(" flew away.")
        assert exchange.answer in numbers
        assert f"were {exchange.answer}" not in exchange.story
        assert f" {exchange.answer} " not in exchange.story


def test_forgetting_is_the_mean_over_all_tokens_of_which_two_are_given_apart(few, shipped):
    model = tune(replace(TINY, loss_on="everything", steps=6), 0)
    before = excess(GPT2.from_pretrained("crane"), ask.held_out())
    gaps = [a - b for a, b in zip(excess(model, ask.held_out()), before)]
    found = forgotten(model)
    assert found["forgot"] == pytest.approx(torch.cat(gaps).mean().item(), abs=1e-5)
    n = sum(map(len, gaps))
    inner = sum(gap[1:-1].sum().item() for gap in gaps) / n
    rest = found["forgot"] - found["at_start"] - found["at_end"]
    assert rest == pytest.approx(inner, abs=1e-5)
    assert abs(forgotten(shipped)["forgot"]) < 0.01  # two more tokens take hardly anything


@pytest.mark.thorough
def test_measures_have_all_kinds(few, shipped):
    found = measure(shipped, TINY, 60)
    assert set(found["by_kind"]) == set(crane.kinds())
    assert sum(of for _, of in found["by_kind"].values()) == 60
    assert found["right"] == sum(right for right, _ in found["by_kind"].values()) / 60
    assert found["right"] < 0.2


def test_prompts_are_made_of_what_the_model_has_read():
    exchange = next(one for one in asked(50) if one.kind == "colour")
    assert prompt_text(exchange, "asked") == f"{exchange.story} {exchange.question}"
    shown = prompt_text(exchange, "example")
    assert shown.endswith(f". {exchange.story} {exchange.question}")
    assert prompt_text(exchange, "begun").startswith(exchange.story)
    sense = next(one for one in asked(50) if one.kind == "sense")
    assert prompt_text(sense, "begun") is None
    assert "sense" not in prompted(asked(40), "begun")


def test_the_senses_asked_for_are_those_of_the_stories():
    for one in told(60, 5):
        exchange = one.exchange
        assert crane.judge_answer(exchange.story, exchange.question, exchange.answer)
    assert len({one.sense for one in told(300, 5)}) == ask.SENSES


@pytest.mark.parametrize(("how", "steps", "n"), [("frozen", 300, 700), ("tuned", 80, 400)])
@pytest.mark.thorough
def test_a_sense_is_learned_as_a_class_from_the_last_position(how, steps, n):
    found = classify(how, 0, steps=steps, n=n)
    assert found["of"] == 500
    assert found["right"] > 285  # by chance 250, and 3 standard errors are 34
    assert found["crane"][0] <= found["crane"][1] < 80


@pytest.mark.thorough
def test_a_stopped_run_continues_where_it_was(few, tmp_path, monkeypatch):
    monkeypatch.setattr(make_ask, "WAYS", {"whole": TINY, "rank 1": replace(TINY, rank=1)})
    made = []

    def watched(*args):
        made.append(args)
        return ask.watched(*args)

    monkeypatch.setattr(make_ask, "watched", watched)
    monkeypatch.setattr(make_ask, "measure", lambda model, way: measure(model, way, 20))
    for n in (2, 0):
        made.clear()
        results = make_ask.Results(tmp_path / "ask.json")
        results.begin("tuned", "runs", "senses")
        for name in ("whole", "rank 1"):
            make_ask.tuned(results, name, 3)
        assert len(made) == n
    runs = make_ask.Results(tmp_path / "ask.json").content["tuned"]["runs"]
    assert [(row["variant"], row["seed"]) for row in runs] == [("whole", 3), ("rank 1", 3)]
    assert runs[0]["trained"] == 742_528 + 2 * 128


# ---- What is stored ------------------------------------------------------------------------------


@pytest.fixture
def runs():
    return stored()["tuned"]["runs"]


def mean(runs, name, key="right"):
    return fmean(row[key] for row in runs if row["variant"] == name)


def test_the_stored_runs_are_whole_rounds_of_the_present_recipes(runs):
    assert stored()["tuned"]["ways"] == {name: asdict(way) for name, way in ask.WAYS.items()}
    assert stored()["shipped"]["recipe"] == asdict(ask.SHIPPED)
    seeds = range(len(runs) // len(ask.WAYS))
    assert len(seeds) >= 1
    assert [(row["seed"], row["variant"]) for row in runs] == list(product(seeds, ask.WAYS))


def test_four_plain_stories_of_sixteen_mend_what_tuning_forgets(runs):
    assert mean(runs, "whole", "forgot") > 0.3
    assert mean(runs, "stories", "forgot") < 0.03
    assert abs(mean(runs, "stories") - mean(runs, "whole")) < 0.1


def test_a_loss_on_everything_teaches_less_and_forgets_where_the_question_comes(runs):
    assert mean(runs, "everything") < mean(runs, "whole")
    places = mean(runs, "everything", "at_start") + mean(runs, "everything", "at_end")
    assert places > 0.5 * mean(runs, "everything", "forgot")


def test_a_frozen_table_and_a_missing_space_cost_most_answers(runs):
    for rank in (1, 2, 4, 8):
        assert mean(runs, f"rank {rank}") < mean(runs, f"rank {rank} + table") - 0.1
    assert mean(runs, "no space") < mean(runs, "whole") - 0.2


def test_rows_that_no_story_has_are_not_why_the_table_helps(runs):
    frozen, whole = mean(runs, "rank 4"), mean(runs, "rank 4 + table")
    assert (
        mean(runs, "rank 4 + unread rows") < (frozen + whole) / 2 < mean(runs, "rank 4 + read rows")
    )
    assert mean(runs, "rank 4, higher rate") > frozen


def test_a_tuned_model_tells_the_senses_better_than_a_map_on_frozen_activations():
    right = {row["variant"]: row["right"] for row in stored()["tuned"]["senses"]}
    assert 250 < right["frozen"] < right["tuned"] - 20
    assert right["asked"] > right["frozen"]


def test_without_training_the_model_answers_only_in_its_own_words():
    before = {row["how"]: row["by_kind"] for row in stored()["before"]["prompted"]}

    def part(how):
        right, of = map(sum, zip(*before[how].values()))
        return right / of

    assert part("asked") < 0.05
    assert part("example") < 0.05
    assert part("begun") > 0.7


def test_the_shipped_adapter_answers_as_stored(shipped):
    model = with_roles(GPT2.from_pretrained("crane"), load_tokenizer("crane"))[0]
    load_adapter(model, ask.ADAPTER)
    found = stored()["shipped"]
    assert found["right"] >= 0.93
    assert found["form"] >= 0.9
    assert found["forgot"] <= 0.02
    assert (
        abs(sum(predicts(model, [rendered(one) for one in asked(120)])) / 120 - found["right"])
        < 0.06
    )
    assert len(found["texts"]) == len(crane.kinds())
    for text in found["texts"]:
        written = crane.judge_answer(text["story"], text["question"], text["after"])
        assert written == (text["after"].strip() == text["answer"])
    assert sum(text["after"].strip() == text["answer"] for text in found["texts"]) >= 5


def test_the_files_are_small():
    assert ask.FILE.stat().st_size <= 60_000
    assert sum(file.stat().st_size for file in ask.ADAPTER.iterdir()) <= 600_000
