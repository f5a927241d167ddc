"""The engine behind messages: it writes Python's texts, drops what is stale, survives errors."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import gpt2_edu
from gpt2_edu import GPT2, crane, generate, load_tokenizer

CRANE = str(Path(gpt2_edu.__file__).parent / "assets" / "crane")
LOAD = {"id": 1, "call": "load", "model": "crane", "folder": CRANE}


def answers(node, *requests) -> dict[int, list[dict]]:
    """All answers by the request's id, in order."""
    found: dict[int, list[dict]] = {}
    for answer in node("run_host.mjs", {"requests": list(requests)}):
        found.setdefault(answer["id"], []).append(answer)
    return found


def stream(number: int, ids: list[int], n: int, **more) -> dict:
    settings = {"temperature": 0} | more.pop("settings", {})
    return {"id": number, "call": "stream", "model": "crane", "ids": ids, "n": n} | {
        "settings": settings,
        **more,
    }


def test_a_hundred_greedy_texts_are_pythons(node):
    model, encoding = GPT2.from_pretrained("crane").eval(), load_tokenizer("crane")
    prompts = []
    for seed in range(100):
        ids = [encoding.eot_token, *encoding.encode_ordinary(crane.story(seed))]
        prompts.append(ids[: 3 + seed % 40])
    requests = [stream(number, ids, 20) for number, ids in enumerate(prompts, start=2)]
    found = answers(node, LOAD, *requests)
    for number, ids in enumerate(prompts, start=2):
        expected = generate(model, torch.tensor([ids]), 20, temperature=0)[0, len(ids) :]
        assert found[number][-1]["result"]["ids"] == expected.tolist()
        assert [a["token"] for a in found[number][:-1]] == expected.tolist()


def test_past_the_window_it_goes_on_only_when_asked(node):
    model = GPT2.from_pretrained("crane").eval()
    ids = list(range(120))
    crop = stream(3, ids, 20, settings={"overflow": "crop"})
    found = answers(node, LOAD, stream(2, ids, 20), crop)
    assert "do not fit into the model's window of 128" in found[2][-1]["error"]
    expected = generate(model, torch.tensor([ids]), 20, temperature=0, overflow="crop")[0, 120:]
    assert found[3][-1]["result"]["ids"] == expected.tolist()


def test_it_stops_at_the_end_of_a_text_and_draws_by_the_seed(node):
    settings = {"temperature": 1, "topK": 50, "topP": 0.9, "eosId": 1023}
    one, two, other = (
        stream(n, [1023], 127, settings=settings | {"seed": seed})
        for n, seed in ((2, 7), (3, 7), (4, 8))
    )
    found = answers(node, LOAD, one, two, other)
    texts = [found[n][-1]["result"]["ids"] for n in (2, 3, 4)]
    assert texts[0] == texts[1] != texts[2]
    for ids in texts:
        assert ids[-1] == 1023
        text = load_tokenizer("crane").decode(ids[:-1])
        assert crane.judge(text).grammatical, text


def test_of_what_is_dragged_only_the_latest_is_answered(node):
    runs = [
        {"id": n, "call": "run", "model": "crane", "ids": [n], "key": "drag", "lastOnly": True}
        for n in range(2, 12)
    ]
    found = answers(node, LOAD, *runs)
    assert [n for n in range(2, 12) if "result" in found[n][-1]] == [11]
    assert all("superseded" in found[n][-1]["error"] for n in range(2, 11))


def test_a_text_that_is_being_written_can_be_stopped_or_replaced(node):
    long = stream(2, [1023], 100, key="write")
    cancel = {"id": 0, "call": "cancel", "target": 2, "after": "token of 2"}
    found = answers(node, LOAD, long, cancel)
    assert 1 <= len(found[2][-1]["result"]["ids"]) < 100
    newer = stream(3, [1023], 2, key="write", after="token of 2")
    found = answers(node, LOAD, long, newer)
    assert len(found[2][-1]["result"]["ids"]) < 100
    assert len(found[3][-1]["result"]["ids"]) == 2


def test_tensors_are_recorded_by_name_and_edits_are_applied(node):
    wanted = ["transformer.h.1.attn.weights", "logits"]
    run = {"id": 2, "call": "run", "model": "crane", "ids": [1, 2, 3], "record": wanted}
    edit = {"transformer.h.1.attn.heads": {"scale": 0}}
    found = answers(node, LOAD, run, run | {"id": 3, "edits": edit})
    noted = found[2][-1]["result"]["noted"]
    assert [entry["path"] for entry in noted] == wanted
    assert noted[0]["shape"] == [1, 4, 3, 3]
    assert found[3][-1]["result"]["logits"] != found[2][-1]["result"]["logits"]


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"call": "run", "model": "other", "ids": [1]}, 'there is no model "other": load it first'),
        ({"call": "run", "model": "crane", "ids": []}, "start from at least one"),
        (
            {"call": "run", "model": "crane", "ids": [1], "edits": {"x": {"scale": 1}}},
            'noted as "x"',
        ),
        ({"call": "dance", "model": "crane"}, 'unknown call "dance"'),
    ],
)
def test_an_error_is_a_sentence_and_the_engine_goes_on(node, request_, said):
    found = answers(node, LOAD, {"id": 2} | request_, stream(3, [1023], 1))
    assert said in found[2][-1]["error"]
    assert "result" in found[3][-1]


def test_a_model_that_cannot_be_loaded_leaves_the_one_that_was_there(node, tmp_path):
    (tmp_path / "config.json").write_text((Path(CRANE) / "config.json").read_text())
    whole = (Path(CRANE) / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    found = answers(node, LOAD, LOAD | {"id": 2, "folder": str(tmp_path)}, stream(3, [1023], 1))
    assert "cut off" in found[2][-1]["error"]
    assert "result" in found[3][-1]
