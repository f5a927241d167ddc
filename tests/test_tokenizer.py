"""The tokenizer: GPT-2's own, byte for byte, from the package's own file and nothing else."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import socket
from pathlib import Path

import pytest
import tiktoken
import tiktoken_ext.openai_public

import gpt2_edu.tokenizer
from gpt2_edu import load_tokenizer, stream_text
from gpt2_edu.tokenizer import END_OF_TEXT


@pytest.fixture(scope="module")
def tokenizer() -> tiktoken.Encoding:
    return load_tokenizer("gpt2")


@pytest.fixture(autouse=True)
def no_network(monkeypatch) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError(f"a tokenizer reached for the network: {args}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def random_texts(n: int, seed: int = 0) -> list[str]:
    """n different texts: every plane of Unicode, and the mixes that the split pattern decides on.

    Surrogates aside, which no UTF-8 can hold.
    """
    rng = random.Random(seed)
    spaces = " \t\n\r\v\f\u00a0\u2003\u3000\u200b\ufeff"
    words = ["don't", "we'LL", "I'm", "they've", "he'd", "Crane", " crane", "12345", "x2", "_"]
    marks = "!?.,;:'\"()[]{}<>|@#$%^&*+-=/\\~`…—«»’"

    def anything() -> str:
        code = rng.randrange(0x110000 - 0x800)
        return chr(code if code < 0xD800 else code + 0x800)

    makers = [
        anything,
        lambda: chr(rng.randrange(0x80)),
        lambda: chr(rng.randrange(0x80, 0x800)),
        lambda: rng.choice(spaces) * rng.randrange(1, 4),
        lambda: rng.choice(words),
        lambda: rng.choice(marks),
        lambda: "e\u0301",  # a letter and a combining accent
        lambda: chr(rng.randrange(0x1F300, 0x1FAFF)) + rng.choice(["", "\u200d", "\ufe0f"]),
    ]
    texts = dict.fromkeys(["", " ", "\n", "\x00", "  \n\n  ", "a" * 1000, " " * 1000])
    while len(texts) < n:
        pick = rng.sample(makers, rng.randrange(1, 4))
        texts["".join(rng.choice(pick)() for _ in range(rng.randrange(1, 30)))] = None
    return list(texts)


def test_ten_thousand_random_texts_come_back_as_they_went(tokenizer):
    texts = random_texts(10_000)
    for text, ids in zip(texts, tokenizer.encode_ordinary_batch(texts, num_threads=2), strict=True):
        assert tokenizer.decode(ids) == text
        assert tokenizer.encode(text) == ids
        assert all(0 <= i < 50256 for i in ids)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Another day of waking up", [6610, 1110, 286, 23137, 510]),
        ("This will be tokenized", [1212, 481, 307, 11241, 1143]),
        ("Hello, I'm a language model,", [15496, 11, 314, 1101, 257, 3303, 2746, 11]),
        ("A crane ate fish", [32, 41175, 15063, 5916]),
        (" crane", [41175]),
        ("Crane", [13916, 1531]),
        ("crane", [6098, 1531]),
        ("", []),
    ],
)
def test_a_text_has_the_ids_that_the_book_prints(tokenizer, text, ids):
    assert tokenizer.encode(text) == ids
    assert tokenizer.decode(ids) == text


def test_case_and_the_leading_space_matter(tokenizer):
    def pieces(text: str) -> list[str]:
        return [tokenizer.decode([i]) for i in tokenizer.encode(text)]

    assert pieces("Crane") == ["Cr", "ane"]
    assert pieces("This will be tokenized")[-2:] == [" token", "ized"]
    assert pieces(" crane") == [" crane"]


def test_there_are_256_bytes_50000_merges_and_one_special(tokenizer):
    assert (tokenizer.n_vocab, tokenizer.max_token_value, tokenizer.eot_token) == (
        50257,
        50256,
        50256,
    )
    tokens = tokenizer.token_byte_values()
    assert len(tokens) == len(set(tokens)) == 50256
    assert {bytes([b]) for b in range(256)} <= set(tokens)
    assert tokenizer.special_tokens_set == {END_OF_TEXT}


def test_the_special_token_appears_only_where_it_is_allowed(tokenizer):
    text = "fish<|endoftext|>crane"
    with pytest.raises(ValueError, match=r"disallowed special token '<\|endoftext\|>'"):
        tokenizer.encode(text)
    assert tokenizer.encode(END_OF_TEXT, allowed_special={END_OF_TEXT}) == [50256]
    assert tokenizer.encode(END_OF_TEXT, allowed_special="all") == [50256]
    for ids in (
        tokenizer.encode(END_OF_TEXT, disallowed_special=()),
        tokenizer.encode_ordinary(END_OF_TEXT),
    ):
        assert len(ids) == 7
        assert 50256 not in ids
        assert tokenizer.decode(ids) == END_OF_TEXT
    assert tokenizer.encode(text, allowed_special="all").count(50256) == 1
    assert tokenizer.decode([50256]) == END_OF_TEXT


def test_a_character_can_span_tokens_that_are_no_text_alone(tokenizer):
    ids = tokenizer.encode("🐟")
    assert len(ids) > 1
    assert [tokenizer.decode([i]) for i in ids] != list("🐟")
    assert any("\ufffd" in tokenizer.decode([i]) for i in ids)
    assert tokenizer.decode(ids) == "🐟"


# ---- Against tiktoken's own "gpt2" --------------------------------------------------------------


def split_in_two(token: bytes, ranks: dict[bytes, int]) -> list[bytes]:
    """The two tokens whose merge made this one: all earlier merges applied to its bytes."""
    parts = [bytes([b]) for b in token]
    while len(parts) > 2:
        merged = [a + b for a, b in itertools.pairwise(parts)]
        best = min(range(len(merged)), key=lambda i: ranks.get(merged[i], len(ranks)))
        parts[best : best + 2] = [merged[best]]
    return parts


def openais_files(ranks: dict[bytes, int]) -> tuple[bytes, bytes]:
    """vocab.bpe and encoder.json as OpenAI published them, rebuilt from the ranks."""
    printable = [b for b in range(256) if chr(b).isprintable() and chr(b) != " "]
    letters = {b: chr(b) for b in printable}
    for b in range(256):
        if b not in letters:
            letters[b] = chr(256 + len(letters) - len(printable))

    def shown(token: bytes) -> str:
        return "".join(letters[b] for b in token)

    tokens = sorted(ranks, key=ranks.__getitem__)
    merges = [" ".join(map(shown, split_in_two(token, ranks))) for token in tokens[256:]]
    vocabulary = {shown(token): i for i, token in enumerate(tokens)} | {END_OF_TEXT: len(tokens)}
    return "\n".join(["#version: 0.2", *merges, ""]).encode(), json.dumps(vocabulary).encode()


@pytest.fixture
def original(tokenizer, monkeypatch, tmp_path) -> tiktoken.Encoding:
    """tiktoken.get_encoding("gpt2"), its two downloads put into its cache beforehand.

    Addresses and hashes are those that tiktoken itself names; it checks the hashes again.
    """
    named = {}
    with monkeypatch.context() as patch:
        patch.setattr(
            tiktoken_ext.openai_public,
            "data_gym_to_mergeable_bpe_ranks",
            lambda **settings: named.update(settings) or {},
        )
        tiktoken_ext.openai_public.gpt2()
    vocab_bpe, encoder_json = openais_files(tokenizer._mergeable_ranks)
    for content, name in ((vocab_bpe, "vocab_bpe"), (encoder_json, "encoder_json")):
        assert hashlib.sha256(content).hexdigest() == named[f"{name}_hash"]
        address = named[f"{name}_file"].encode()
        (tmp_path / hashlib.sha1(address).hexdigest()).write_bytes(content)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})  # nothing remembered, before or after
    return tiktoken.get_encoding("gpt2")


def test_it_is_the_very_encoding_that_tiktoken_downloads(tokenizer, original):
    assert original is not tokenizer
    assert tokenizer.name == original.name
    assert tokenizer._pat_str == original._pat_str
    assert tokenizer._mergeable_ranks == original._mergeable_ranks
    assert tokenizer._special_tokens == original._special_tokens
    assert tokenizer.n_vocab == original.n_vocab
    for text in random_texts(2_000, seed=1):
        assert tokenizer.encode(text) == original.encode(text)
    mixed = "a<|endoftext|>b" * 3
    assert tokenizer.encode(mixed, allowed_special="all") == original.encode(
        mixed, allowed_special="all"
    )


# ---- Where it comes from ------------------------------------------------------------------------


@pytest.fixture
def from_the_start(monkeypatch, tmp_path) -> None:
    """No tokenizer is remembered, by us or by tiktoken's cache of files."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    load_tokenizer.cache_clear()
    yield
    load_tokenizer.cache_clear()


def test_loading_needs_no_network(from_the_start):
    """Every socket in this file refuses to connect; see no_network."""
    with pytest.raises(AssertionError, match="reached for the network"):
        socket.create_connection(("localhost", 9))
    assert load_tokenizer("gpt2").encode(" crane") == [41175]


def test_loading_twice_gives_the_same_object():
    assert load_tokenizer("gpt2") is load_tokenizer("gpt2")


def test_a_damaged_file_of_ranks_is_refused(from_the_start, monkeypatch, tmp_path):
    whole = Path(gpt2_edu.tokenizer.__file__).parent / "assets" / "gpt2.tiktoken"
    lines = whole.read_bytes().splitlines(keepends=True)
    (tmp_path / "assets").mkdir()
    damaged = tmp_path / "assets" / "gpt2.tiktoken"
    monkeypatch.setattr(gpt2_edu.tokenizer, "files", lambda package: tmp_path)

    swapped = [*lines[:300], lines[301], lines[300], *lines[302:]]
    for content in (b"".join(lines[:-1]), b"".join(swapped), b"", b"<html>"):
        damaged.write_bytes(content)
        with pytest.raises(ValueError, match="Hash mismatch"):
            load_tokenizer("gpt2")
    damaged.write_bytes(b"".join(lines))
    assert load_tokenizer("gpt2").n_vocab == 50257


@pytest.mark.parametrize("name", ["gtp2", "gpt-2", "GPT2x", "cl100k_base", ""])
def test_an_unknown_tokenizer_is_answered_with_the_known(name):
    with pytest.raises(ValueError) as error:
        load_tokenizer(name)
    assert f"unknown tokenizer {name!r}. Known: gpt2" in str(error.value)
    assert ("Did you mean 'gpt2'?" in str(error.value)) == (name in ("gtp2", "gpt-2"))


# ---- Text as it comes ---------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["naïve café 東京 🦩🐟", "a crane ate fish", "👩‍🔬" * 5, ""])
def test_a_stream_of_ids_never_shows_half_a_character(tokenizer, text):
    pieces = list(stream_text(tokenizer, tokenizer.encode_ordinary(text)))
    assert "".join(pieces) == text
    assert "\ufffd" not in text
    assert len(pieces) == len(tokenizer.encode_ordinary(text)) + 1  # one for each, and the rest


def test_a_piece_comes_as_soon_as_its_character_is_whole(tokenizer):
    ids = tokenizer.encode_ordinary("🦩 crane")
    arrived = []
    for piece in stream_text(tokenizer, iter(ids)):
        arrived.append(piece)
        if piece == "🦩":
            break
    assert arrived[:-1] == [""] * (len(arrived) - 1)
    assert len(arrived) == len(ids) - 1  # before " crane" was asked for


def test_half_a_character_at_the_end_is_shown_as_such(tokenizer):
    ids = tokenizer.encode_ordinary("crane🦩")[:-1]
    assert "".join(stream_text(tokenizer, ids)) == "crane\ufffd"


def test_the_end_of_the_text_is_streamed_as_it_is_written(tokenizer):
    assert "".join(stream_text(tokenizer, [64, 50256, 65])) == "a<|endoftext|>b"
