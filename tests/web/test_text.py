"""Tokenizers and sampling of the page: tiktoken's ids, Python's probabilities."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest
import torch

import gpt2_edu
from gpt2_edu import load_tokenizer, web
from gpt2_edu.sampling import next_probabilities

ASSETS = Path(gpt2_edu.__file__).parent / "assets"
RANKS = {"gpt2": ASSETS / "gpt2.tiktoken", "crane": ASSETS / "crane" / "crane.tiktoken"}

HARD = [
    "",
    " ",
    "\n",
    "A crane ate fish",
    "Hello, I'm a language model,",
    "don't we'll they've I'd it's he'RE",
    "a  b   c\t\td \n\n e",
    "trailing   ",
    "\ufefffirst",
    "x\x85y\xa0z\u2003w\u2028v\u3000u\u200bt",
    "日本語のテキスト",
    "Привет, мир",
    "ÅÄÖ café e\u0301",
    "😀👩‍👩‍👧‍👦🇩🇪",
    "½ ² ٣ Ⅳ",
    "<|endoftext|>",
    "a" * 3000,
    "1234567890" * 50,
    "=" * 200,
    "\x00\x01\x7f",
]
PIECES = [
    *"abcXYZ019.,!?'\"-_ \t\n\r",
    *" \x85\xa0\u1680\u2009\u2028\u3000\ufeff\u200b\u180e",
    *"éßñжя中文字한글あア😀🏳️‍🌈ⅣⅧ½²٣۵\u0301\u0327",
    *("'s", "'ll", " the", " crane", "ing", "<|endoftext|>", "\r\n", "   "),
]


def hard_strings(n: int, seed: int = 0) -> list[str]:
    """Random strings of what is hard: contractions, white space, scripts, emoji, marks."""
    draw = random.Random(seed)
    return HARD + ["".join(draw.choices(PIECES, k=draw.randint(1, 40))) for _ in range(n)]


@pytest.mark.parametrize("name", RANKS)
def test_texts_have_tiktokens_ids_and_come_back(node, name):
    texts, encoding = hard_strings(20_000), load_tokenizer(name)
    answer = node("run_text.mjs", {"ranks": str(RANKS[name]), "texts": texts})
    wrong = [t for t, ids in zip(texts, answer["ids"]) if ids != encoding.encode_ordinary(t)]
    assert wrong == []
    assert answer["back"] == texts


def merges(name: str) -> dict[str, list[int]]:
    content = web.merges(load_tokenizer(name))
    return {"bytes": list(content[:256]), "pairs": list(memoryview(content[256:]).cast("H"))}


@pytest.mark.parametrize("name", RANKS)
def test_two_ids_for_each_merge_say_all_that_a_tokenizer_is(node, name):
    texts, encoding = hard_strings(200, seed=1), load_tokenizer(name)
    ids = node("run_text.mjs", {"merges": merges(name), "texts": texts})["ids"]
    assert ids == [encoding.encode_ordinary(text) for text in texts]


def test_the_history_of_merges_goes_from_bytes_to_tokens(node):
    encoding = load_tokenizer("gpt2")
    texts = [" crane", "tokenized", "日本"]
    answer = node("run_text.mjs", {"ranks": str(RANKS["gpt2"]), "history": texts})
    for text, (rounds,) in zip(texts, answer["history"]):
        assert [encoding.decode_single_token_bytes(i) for i in rounds[0]] == [
            bytes([b]) for b in text.encode()
        ]
        assert rounds[-1] == encoding.encode_ordinary(text)
        for before, after in pairwise(rounds):
            assert encoding.decode_bytes(before) == encoding.decode_bytes(after)
            new = set(after) - set(before)
            assert len(new) <= 1, "a round merges one pair"
            assert len(after) < len(before)


def test_what_is_no_whole_character_is_shown_as_such_and_no_id_is_refused(node):
    encoding = load_tokenizer("gpt2")
    half = encoding.encode("😀")[:1]
    request = {"ranks": str(RANKS["gpt2"]), "decode": [half, [50256], [50257]]}
    decoded = node("run_text.mjs", request)["decoded"]
    assert decoded == [encoding.decode(half), "<|endoftext|>", decoded[2]]
    assert "50257 is no id" in decoded[2]["error"]


LOGITS = [3.0, 1.0, 1.0, -2.0, 0.5, 3.0, -50.0, 2.25, 1.0]


@pytest.mark.parametrize("temperature", [0.0, 1e-40, 0.1, 0.7, 1.0, 5.0])
def test_probabilities_are_pythons(node, temperature):
    knobs = [
        {"temperature": temperature, "topK": k, "topP": p, "minP": m}
        for k in (None, 1, 2, 3, 4, 9, 20)
        for p in (None, 1e-9, 0.3, 0.5, 0.9, 0.999, 1.0)
        for m in (None, 0, 0.05, 0.4, 1)
    ]
    answer = node("run_text.mjs", {"logits": LOGITS, "knobs": knobs})
    for given, got in zip(knobs, answer["probabilities"]):
        expected = next_probabilities(
            torch.tensor([LOGITS]),
            temperature=temperature,
            top_k=given["topK"],
            top_p=given["topP"],
            min_p=given["minP"],
        )[0]
        torch.testing.assert_close(torch.tensor(got, dtype=torch.float32), expected), given


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"temperature": -1}, "temperature must be 0 (greedy) or above"),
        ({"topK": 0}, "at least 1"),
        ({"topK": 1.5}, "a whole number of tokens"),
        ({"topP": 0}, "above 0 and at most 1"),
        ({"topP": 1.1}, "above 0 and at most 1"),
        ({"minP": -0.1}, "from 0 to 1"),
        ({"minP": 1.5}, "from 0 to 1"),
    ],
)
def test_knobs_that_mean_nothing_are_refused(node, knobs, said):
    answer = node("run_text.mjs", {"logits": LOGITS, "knobs": [knobs]})
    assert said in answer["probabilities"][0]["error"]


def test_logits_that_are_no_numbers_are_refused(node):
    for bad in ("NaN", "Infinity"):
        answer = node("run_text.mjs", {"logits": [1.0, bad], "knobs": [{}]})
        assert "logits are not" in answer["probabilities"][0]["error"]


def test_draws_follow_the_probabilities_and_the_seed(node):
    probabilities = [0.5, 0.0, 0.25, 0.125, 0.0625, 0.0625]
    draws = {"probabilities": probabilities, "n": 100_000, "seed": 7}
    counts = node("run_text.mjs", {"draws": draws})["counts"]
    assert counts == node("run_text.mjs", {"draws": draws})["counts"]
    assert counts != node("run_text.mjs", {"draws": draws | {"seed": 8}})["counts"]
    assert counts[1] == 0
    chi = sum((c - 1e5 * p) ** 2 / (1e5 * p) for c, p in zip(counts, probabilities) if p)
    assert chi < 23.5  # five free counts: one seed in four thousand is beyond
