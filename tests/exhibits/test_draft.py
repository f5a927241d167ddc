"""Drafted texts: what is stored of each pass is what both models have, and what the rule says."""

from __future__ import annotations

import pytest
import torch
from bs4 import BeautifulSoup

from gpt2_edu import GPT2, load_tokenizer
from gpt2_edu.exhibits import Speculated
from gpt2_edu.exhibits.draft import WRITTEN
from gpt2_edu.web import ASSETS

BEGINNINGS = ["By the river, the crane", "Six pigeons sat"]


@pytest.fixture(scope="module")
def models() -> tuple[GPT2, GPT2]:
    return GPT2.from_pretrained("crane").eval(), GPT2.from_pretrained(ASSETS / "novice").eval()


@pytest.fixture(scope="module")
def speculated(models) -> Speculated:
    return Speculated(
        *models, load_tokenizer("crane"), BEGINNINGS, ahead=3, seed=1, caption="Drafted."
    )


def test_what_is_stored_is_what_both_models_have(models, speculated):
    encoding = load_tokenizer("crane")
    ids = [encoding.eot_token, *encoding.encode_ordinary(BEGINNINGS[0])]
    begun = len(ids)
    by_name = {encoding.decode([i]).replace(" ", "␣"): i for i in range(1023)}
    by_name["⟨end⟩"] = encoding.eot_token
    fates = []
    for one in speculated.rounds:
        drafted = [by_name[token["name"]] for token in one["drafted"]]
        with torch.no_grad():
            p, q = (m(torch.tensor([ids + drafted]))[0][0].softmax(dim=-1) for m in models)
        for i, token in enumerate(one["drafted"]):
            at = len(ids) - 1 + i
            assert token["p"] == pytest.approx(p[at, drafted[i]].item(), abs=1e-3)
            assert token["q"] == pytest.approx(q[at, drafted[i]].item(), abs=1e-3)
            shares = {n: (share, other) for n, _, share, other in token["bars"]}
            assert p[at].argmax().item() in shares and q[at].argmax().item() in shares
            for n, (share, other) in shares.items():
                assert share == pytest.approx(p[at, n].item(), abs=1e-3)
                assert other == pytest.approx(q[at, n].item(), abs=1e-3)
            if token["dart"] is None:
                assert token["fate"] == "unread" and fates[-1] != "stays"
            else:
                within = token["dart"] * q[at, drafted[i]] < p[at, drafted[i]]
                assert token["fate"] == ("stays" if within else "goes")
            fates.append(token["fate"])
        stay = [
            i for i, token in zip(drafted, one["drafted"], strict=True) if token["fate"] == "stays"
        ]
        rest = p[len(ids) - 1 + len(stay)]
        if len(stay) < len(drafted):
            rest = (rest - q[len(ids) - 1 + len(stay)]).clamp(min=0)
            rest = rest / rest.sum()
        ids += stay
        if one["next"]:
            token = by_name[one["next"]["name"]]
            assert one["next"]["p"] == pytest.approx(rest[token].item(), abs=1e-3)
            ids.append(token)
    assert {"stays", "goes", "unread"} == set(fates)
    assert len(ids) - begun == WRITTEN or ids[-1] == encoding.eot_token
    assert speculated.settings["found"] == speculated.rounds


def test_a_model_that_drafts_for_itself_is_always_accepted(models):
    model, _ = models
    speculated = Speculated(model, model, load_tokenizer("crane"), BEGINNINGS, ahead=3)
    assert {t["fate"] for one in speculated.rounds for t in one["drafted"]} == {"stays"}
    assert repr(speculated).startswith("Speculated('By the river, the crane', ")


def test_it_is_printed_pass_by_pass(speculated):
    soup = BeautifulSoup(speculated._repr_html_(), "html.parser")
    rows = soup.select("tbody tr")
    assert len(rows) == len(speculated.rounds)
    assert {len(row.find_all(["th", "td"])) for row in rows} == {5}
    for row, one in zip(rows, speculated.rounds, strict=True):
        tokens = [*one["drafted"], *([one["next"]] if one["next"] else [])]
        assert [code.text for code in row.find_all("code")] == [token["name"] for token in tokens]
        assert row.text.count("✗") == sum(token["fate"] == "goes" for token in one["drafted"])
