"""What nobody should give the page: damaged files, hostile requests, more than memory holds."""

from __future__ import annotations

import random

import pytest

from gpt2_edu import GPT2, GPT2Config, load_tokenizer
from tests.fuzz.pages import damaged, is_plain, problems
from tests.web.test_text import RANKS

ODD = GPT2Config(vocab_size=101, block_size=13, n_layer=2, n_head=3, n_embd=21)
LONG = GPT2Config(vocab_size=7, block_size=256, n_layer=2, n_head=2, n_embd=64)


def test_a_damaged_checkpoint_is_what_python_makes_of_it_or_is_refused_in_a_sentence():
    """The long version is: python -m tests.fuzz --only pages"""
    assert list(problems([damaged(seed) for seed in range(200)])) == []


@pytest.fixture(scope="module")
def seen(node, folder):
    """What run_bad_requests.mjs saw."""
    request = {"folder": folder(GPT2(ODD)), "long": folder(GPT2(LONG))}
    return node("run_bad_requests.mjs", request)


def test_a_hostile_request_is_answered_and_the_engine_lives(seen):
    answers = seen["answers"]
    assert len(answers) > 1000
    wrong = [a for a in answers if a.get("error") is not None and not is_plain(a["error"])]
    assert wrong == []
    assert [a["what"] for a in answers if a.get("alive") is False] == []


# What may be anything in a request: nothing comes of it.
HARMLESS = {"lastOnly", "settings", "tape", "eosId", "unload", "edits", "switches", "headsOff"}


def test_what_means_nothing_is_refused(seen):
    accepted: dict[str, int] = {}
    for answer in seen["answers"]:
        if answer.get("refused") is False:
            accepted[answer["what"]] = accepted.get(answer["what"], 0) + 1
    few = {what: count for what, count in accepted.items() if what not in HARMLESS}
    assert max(few.values()) <= 16, few
    assert {"call", "model", "config", "weights", "a head", "an edit"}.isdisjoint(few)
    assert few["run ids"] == few["run an id"] == few["gelu"] == few["overflow"] == 1


def test_heads_that_are_not_there_cannot_be_switched_off(seen):
    assert [head for head, error in seen["heads"].items() if not error] == ["0.0", "1.2", "00.1"]
    assert all(is_plain(error) for error in seen["heads"].values() if error)


def test_ten_million_tokens_are_refused_by_their_number(seen):
    assert "10000000 tokens are too many" in seen["knobs"]["long ids"]
    assert "10000000 tokens and 2 new ones do not fit" in seen["knobs"]["long prompt"]
    assert "0 or more" in seen["knobs"]["n huge"]
    assert seen["knobs"]["typed"] == 2


def test_requests_that_cross_are_answered_in_their_order(seen):
    errors = [answer.get("error") for answer in seen["crossed"]]
    missing = 'there is no model "m": load it first'
    assert errors == [None, None, None, None, missing, None, None]
    assert len(seen["crossed"][0]["result"]["ids"]) == 30


@pytest.mark.parametrize("backend", ["plain", "wasm", "wasm-half", "wasm-int8"])
def test_where_memory_ends_there_is_a_sentence_and_the_older_model(seen, backend):
    found = seen["memory"][backend]
    assert "no room for 1 million parameters: choose a smaller model" in found["loading"]
    assert "no memory left: use fewer tokens" in found["running"]
    assert "no memory left: use fewer tokens" in found["streaming"]
    assert found["alive"]
    assert "again" not in found, "with memory back, the same request is answered"


def test_passes_of_every_length_want_no_more_memory_than_the_longest(seen):
    assert seen["grown"] == 0


def test_numbers_may_stand_beyond_two_gibibytes(seen):
    assert seen["far"] == {"wasm": True, "wasm-half": True, "wasm-int8": True}


def test_texts_that_no_one_writes_have_tiktokens_ids(node):
    """Also a piece of 100,000 letters, where each round must look only where it merges."""
    draw, encoding = random.Random(0), load_tokenizer("gpt2")
    tokens = [encoding.decode_single_token_bytes(i) for i in range(50256)]
    words = [token.decode() for token in tokens if token.isalpha()]
    texts = [
        "a" * 100_000,
        "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=100_000)),
        "".join(draw.choices(words, k=20_000)),
        "".join(chr(draw.randrange(0xAC00, 0xD7A4)) for _ in range(20_000)),
        "👩\u200d👩\u200d👧\u200d👦" * 3000,
        "e" + "\u0301" * 20_000,
        " " * 50_000 + "x",
        "\x00" * 10_000,
        "\u05e9\u05dc\u05d5\u05dd \u202e abc \u0645\u0631\u062d\u0628\u0627" * 300,
        "\ud800",
        "a\udc00b \ud83d x \udca9\ud83d",
        "\ud800" * 5000,
    ]
    ids = node("run_text.mjs", {"ranks": str(RANKS["gpt2"]), "texts": texts})["ids"]
    for text, own in zip(texts, ids, strict=True):
        assert own == encoding.encode_ordinary(text), text[:20]
