"""Questions in the page: which ones are prepared, and what is stored of the first."""

from __future__ import annotations

import pytest
import torch
from bs4 import BeautifulSoup

from gpt2_edu import GPT2, crane, load_tokenizer
from gpt2_edu.analysis.reward_runs import plot
from gpt2_edu.exhibits import Asked, exchanges
from gpt2_edu.exhibits.ask import PLOTS
from gpt2_edu.tuning import conversation, render, with_roles


@pytest.fixture(scope="module")
def asked() -> Asked:
    plain = GPT2.from_pretrained("crane").eval()
    model, encoding = with_roles(plain, load_tokenizer("crane"))  # it has not learned to answer
    return Asked(model, plain, encoding, exchanges(3, 3), caption="Asked.")


def test_prepared_questions_are_of_every_kind_and_their_answers_right():
    prepared = exchanges()
    assert len(prepared) == 32 and prepared[0].kind == "sense" and "crane" in prepared[0].question
    assert {one.kind for one in prepared} == set(crane.kinds())
    assert all(crane.judge_answer(one.story, one.question, one.answer) for one in prepared)
    assert len({(one.story, one.question) for one in prepared}) == len(prepared)
    usual = [one in crane.questions_about(one.story) for one in prepared]
    assert usual == [True, True, True, False] * 8  # the last in a form that training never uses
    assert {plot(one.story) for one in prepared} == set(PLOTS)


def test_what_is_stored_is_what_the_models_do(asked):
    plain = GPT2.from_pretrained("crane").eval()
    model, encoding = with_roles(plain, load_tokenizer("crane"))
    [first, *_] = asked.exchanges
    ids, bears_loss = render(conversation(first), encoding)
    found = asked.found
    names = [name for part in found["read"] for name in part["names"]]
    assert names + found["right"] == [
        {0: "⟨start⟩", 1: "⟨user⟩"}.get(n)
        or {"<|assistant|>": "⟨assistant⟩", "<|endoftext|>": "⟨end⟩"}.get(encoding.decode([i]))
        or encoding.decode([i]).replace(" ", "␣")
        for n, i in enumerate(ids)
    ]
    assert len(found["right"]) == sum(bears_loss)
    texts = {part["role"]: "".join(part["names"]).replace("␣", " ") for part in found["read"]}
    assert texts["story"] + texts["question"] == f"{first.story} {first.question}"
    alone = [i for i in ids[: len(names)] if i < 1024]
    for which, start, said in ((model, ids[: len(names)], "answer"), (plain, alone, "plain")):
        with torch.no_grad():
            shares = which(torch.tensor([start]))[0][0, -1].softmax(dim=-1)
        assert found[said][0]["p"] == pytest.approx(shares.max().item(), abs=1e-3)
    bars = found["next"][0]
    assert [p for _, _, p, _ in bars] == sorted((p for _, _, p, _ in bars), reverse=True)
    with torch.no_grad():
        before = plain(torch.tensor([alone]))[0][0, -1].softmax(dim=-1)
    assert before.argmax().item() in [i for i, *_ in bars]
    assert all(b == pytest.approx(before[i].item(), abs=1e-3) for i, _, _, b in bars if i < 1024)
    assert len(found["next"]) == len(found["answer"])


def test_it_is_printed_with_its_roles_and_probabilities(asked):
    soup = BeautifulSoup(asked._repr_html_(), "html.parser")
    items = soup.find_all("b")
    assert [item["class"] for item in items[:3]] == [["of-mark"], ["of-mark"], ["of-story"]]
    assert items[-1].text == "⟨end⟩" and items[-1]["class"] == ["of-answer"]
    assert [row.find("code").text for row in soup.select("tbody tr")] == [
        one["name"] for one in asked.found["answer"]
    ]
    assert soup.find("q").text == asked.found["continued"]
    stories = asked.settings["stories"]
    assert [len(one["asked"]) for one in stories] == [3, 3, 3]
    assert [one["unseen"] for one in stories[0]["asked"]] == [False, False, True]
