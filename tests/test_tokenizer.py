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
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers, trainers

import gpt2_edu.tokenizer
from gpt2_edu import load_tokenizer, stream_text
from gpt2_edu.bpe import LONGEST, count_pieces, train_bpe
from gpt2_edu.tokenizer import (
    END_OF_TEXT,
    load_encoding,
    make_encoding,
    save_ranks,
    tokenizer_name,
    until,
)


@pytest.fixture(scope="module")
def tokenizer() -> tiktoken.Encoding:
    return load_tokenizer("gpt2")


@pytest.fixture(autouse=True)
def no_network(monkeypatch) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError(f"a tokenizer reached for the network: {args}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Another day of waking up", [6610, 1110, 286, 23137, 510]),
        ("Hello, I'm a language model,", [15496, 11, 314, 1101, 257, 3303, 2746, 11]),
        ("A crane ate fish", [32, 41175, 15063, 5916]),
        ("Crane", [13916, 1531]),
        ("crane", [6098, 1531]),
        ("", []),
    ],
)
def test_a_text_has_the_ids_that_the_book_prints(tokenizer, text, ids):
    assert tokenizer.encode(text) == ids
    assert tokenizer.decode(ids) == text


def test_there_are_256_bytes_50000_merges_and_one_special(tokenizer):
    sizes = (tokenizer.n_vocab, tokenizer.max_token_value, tokenizer.eot_token)
    assert sizes == (50257, 50256, 50256)
    tokens = tokenizer.token_byte_values()
    assert len(tokens) == len(set(tokens)) == 50256
    assert list(train_bpe([], 257)) == [tokenizer.decode_single_token_bytes(i) for i in range(256)]
    assert tokenizer.special_tokens_set == {END_OF_TEXT}


def test_the_special_token_appears_only_where_it_is_allowed(tokenizer):
    with pytest.raises(ValueError, match="disallowed special token"):
        tokenizer.encode("fish<|endoftext|>crane")
    assert tokenizer.encode(END_OF_TEXT, allowed_special="all") == [50256]
    assert 50256 not in tokenizer.encode_ordinary(END_OF_TEXT)
    assert tokenizer.decode([50256]) == END_OF_TEXT


# ---- Against tiktoken's own "gpt2" --------------------------------------------------------------


def split_in_two(token: bytes, ranks: dict[bytes, int]) -> list[bytes]:
    """The two tokens whose merge made this one: all earlier merges applied to its bytes."""
    parts = [bytes([b]) for b in token]
    while len(parts) > 2:
        merged = [a + b for a, b in itertools.pairwise(parts)]
        best = min(range(len(merged)), key=lambda i: ranks.get(merged[i], len(ranks)))
        parts[best : best + 2] = [merged[best]]
    return parts


def letters_for_bytes() -> dict[int, str]:
    """The letter that stands for each byte in OpenAI's and Hugging Face's files, in their order."""
    printable = [b for b in range(256) if chr(b).isprintable() and chr(b) != " "]
    letters = {b: chr(b) for b in printable}
    for b in range(256):
        if b not in letters:
            letters[b] = chr(256 + len(letters) - len(printable))
    return letters


def openais_files(ranks: dict[bytes, int]) -> tuple[bytes, bytes]:
    """vocab.bpe and encoder.json as OpenAI published them, rebuilt from the ranks."""
    letters = letters_for_bytes()

    def shown(token: bytes) -> str:
        return "".join(letters[b] for b in token)

    tokens = sorted(ranks, key=ranks.__getitem__)
    merges = [" ".join(map(shown, split_in_two(token, ranks))) for token in tokens[256:]]
    vocabulary = {shown(token): i for i, token in enumerate(tokens)} | {END_OF_TEXT: len(tokens)}
    return "\n".join(["#version: 0.2", *merges, ""]).encode(), json.dumps(vocabulary).encode()


def test_it_is_the_encoding_that_tiktoken_downloads(tokenizer, monkeypatch):
    """OpenAI's two files, rebuilt from the ranks, have the hashes that tiktoken names."""
    named = {}
    monkeypatch.setattr(
        tiktoken_ext.openai_public,
        "data_gym_to_mergeable_bpe_ranks",
        lambda **settings: named.update(settings) or {},
    )
    made = tiktoken_ext.openai_public.gpt2()
    vocab_bpe, encoder_json = openais_files(tokenizer._mergeable_ranks)
    assert hashlib.sha256(vocab_bpe).hexdigest() == named["vocab_bpe_hash"]
    assert hashlib.sha256(encoder_json).hexdigest() == named["encoder_json_hash"]
    assert tokenizer._pat_str == made["pat_str"]
    assert tokenizer._special_tokens == made["special_tokens"]
    assert tokenizer.n_vocab == made["explicit_n_vocab"]


@settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(st.text() | st.text(st.sampled_from(" \t\n\u3000'sdmtlrev12é鶴🐟\u0301")))
def test_a_text_comes_back_as_it_went(text):
    tokenizer = load_tokenizer("gpt2")
    ids = tokenizer.encode_ordinary(text)
    assert tokenizer.decode(ids) == text
    assert "".join(stream_text(tokenizer, ids)) == text


# ---- Where it comes from ------------------------------------------------------------------------


@pytest.fixture
def from_the_start(monkeypatch, tmp_path) -> None:
    """No tokenizer is remembered, by us or by tiktoken's cache of files."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    gpt2_edu.tokenizer._shipped.cache_clear()
    yield
    gpt2_edu.tokenizer._shipped.cache_clear()


def test_loading_needs_no_network(from_the_start):
    """Every socket in this file refuses to connect; see no_network."""
    with pytest.raises(AssertionError, match="reached for the network"):
        socket.create_connection(("localhost", 9))
    assert load_tokenizer("gpt2").encode(" crane") == [41175]
    assert load_tokenizer("gpt2") is load_tokenizer("gpt2")


def test_a_damaged_file_of_ranks_is_refused(from_the_start, monkeypatch, tmp_path):
    whole = Path(gpt2_edu.tokenizer.__file__).parent / "assets" / "gpt2.tiktoken"
    (tmp_path / "assets").mkdir()
    monkeypatch.setattr(gpt2_edu.tokenizer, "files", lambda package: tmp_path)

    (tmp_path / "assets" / "gpt2.tiktoken").write_bytes(whole.read_bytes()[:-1])
    with pytest.raises(ValueError, match="is damaged: install gpt2-edu again"):
        load_tokenizer("gpt2")


def test_a_tokenizer_is_found_by_the_size_of_a_model(monkeypatch):
    assert (tokenizer_name(50257), tokenizer_name(1024)) == ("gpt2", "crane")
    with pytest.raises(ValueError, match="has 1025 tokens: name the one"):
        tokenizer_name(1025)


def test_an_unknown_tokenizer_is_answered_with_the_known():
    with pytest.raises(ValueError, match=r"'gtp2'\. Known: gpt2, crane\. Did you mean 'gpt2'\?"):
        load_tokenizer("gtp2")


def test_a_file_that_has_no_ranks_is_refused_with_the_form_that_they_have(tmp_path):
    path = tmp_path / "mine.tiktoken"
    save_ranks(train_bpe([CHAPTER_1], 265), path)
    assert load_tokenizer(path).encode_ordinary(" crane") == load_tokenizer(str(path)).encode(
        " crane"
    )
    whole = path.read_bytes()
    for damaged in (whole[:-20], b"a crane ate fish\n", b"YQ== 0\nYg== 2\n", b"\xff\x00", b""):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"mine.tiktoken is not a file of ranks"):
            load_tokenizer(path)
    with pytest.raises(ValueError, match="has neither tokenizer"):
        load_tokenizer(tmp_path)


def test_a_config_that_is_no_object_is_refused_by_name(tmp_path):
    config, tokenizer_json = tmp_path / "config.json", tmp_path / "tokenizer.json"
    for text, kind in (("[]", "list"), ("null", "NoneType")):
        config.write_text(text)
        tokenizer_json.unlink(missing_ok=True)
        message = f"config.json must hold a JSON object, got {kind}"
        with pytest.raises(ValueError, match=message):
            load_tokenizer(tmp_path)
        tokenizer_json.write_text("{}")
        with pytest.raises(ValueError, match=message):
            load_encoding(tmp_path)


# ---- New ranks ----------------------------------------------------------------------------------

CHAPTER_1 = "a crane ate a crab, a crane ate a fish"


def made_up_texts(seed: int, n_words: int = 300, n_texts: int = 100) -> list[str]:
    """Sentences of made-up words, most of which occur a few times: hundreds of equal counts."""
    rng = random.Random(seed)
    signs = "abcdefgh" * 4 + "é鶴🐟0123'"
    words = ["".join(rng.choices(signs, k=rng.randrange(1, 9))) for _ in range(n_words)]
    return [rng.choice(["", " "]).join(rng.choices(words, k=12)) + "  \n" for _ in range(n_texts)]


def pairs_merged(ranks: dict[bytes, int]) -> list[tuple[bytes, bytes]]:
    tokens = sorted(ranks, key=ranks.__getitem__)
    return [tuple(split_in_two(token, ranks)) for token in tokens[256:]]


def hugging_face(texts: list[str], vocab_size: int) -> tokenizers.Tokenizer:
    """The same training by the library ``tokenizers``, whose ids are ours plus one."""
    other = tokenizers.Tokenizer(models.BPE())
    other.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END_OF_TEXT],  # this library puts it first
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    other.train_from_iterator(texts, trainer)
    return other


@pytest.mark.parametrize(
    ("texts", "vocab_size"),
    [
        ([CHAPTER_1], 257 + 13),
        (made_up_texts(seed=1), 257 + 900),
    ],
    ids=["chapter 1 to its end", "many ties"],
)
def test_hugging_faces_trainer_learns_the_same_merges_in_the_same_order(texts, vocab_size):
    ranks = train_bpe(texts, vocab_size)
    other = hugging_face(texts, vocab_size)
    byte_of = {letter: byte for byte, letter in letters_for_bytes().items()}

    def as_bytes(shown: str) -> bytes:
        return bytes(byte_of[letter] for letter in shown)

    merges = json.loads(other.to_str())["model"]["merges"]
    assert pairs_merged(ranks) == [(as_bytes(left), as_bytes(right)) for left, right in merges]
    vocabulary = other.get_vocab()
    assert vocabulary.pop(END_OF_TEXT) == 0
    assert ranks == {as_bytes(shown): i - 1 for shown, i in vocabulary.items()}

    encoding = make_encoding("new", ranks)
    held_out = [
        *(
            "A crane ate 2 fish.",
            "🐟🦩 👩‍🔬 鶴é",
            "  two  spaces\t\n\n",
            "1234567 0 x2",
            "I'm we'LL",
        ),
        "I'm we'LL they've don't",
        *made_up_texts(seed=4, n_texts=20),
    ]
    for text in held_out:
        ids = encoding.encode_ordinary(text)
        assert ids == [i - 1 for i in other.encode(text).ids]
        assert encoding.decode(ids) == text


def test_chapter_1s_small_text_shrinks_to_16_tokens():
    """Of equals, the lowest ids win: so the merges after the first are not the first ones met."""
    ranks = train_bpe([CHAPTER_1], 265)
    assert list(ranks)[256:] == [b" a", b"cr", b" cr", b" cra", b"ne", b"te", b" ate", b" crane"]
    encoding = make_encoding("chapter 1", ranks)
    assert len(encoding.encode(CHAPTER_1)) == 16
    assert encoding.encode(" crane") == [263]
    assert len(encoding.encode(" fish")) == 5
    assert encoding.encode(END_OF_TEXT, allowed_special="all") == [264]


def test_a_piece_without_end_is_learned_from_in_parts_of_a_stated_size():
    """A merge goes through each piece that holds its pair: in one of 10 MB, for hours."""
    endless = "".join(f"{chr(0x4E00 + i * i % 999)}鶴" for i in range(5000))
    rest = "=" * (201 - LONGEST)
    counts = count_pieces([endless, rest, f"{endless}. {'=' * 200} crane crane"])
    assert max(map(len, counts)) == LONGEST < 200
    assert counts[" crane"] == 2 and counts[rest] == 2
    letters = sum(len(piece) * n for piece, n in counts.items() if piece.isalpha())
    assert letters == 2 * len(endless)
    ranks = train_bpe([endless], 300)
    assert "鶴".encode() in ranks


def test_the_special_token_is_not_learned_from_texts_that_spell_it():
    ranks = train_bpe(["<|endoftext|>fish"] * 9, 257 + 13)
    assert END_OF_TEXT.encode() not in ranks
    assert b"endoftext" in ranks


def test_texts_and_sizes_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match=r"vocab_size=300 .* after 2 merges .* at most 259"):
        train_bpe(["abc", "abc"], 300)
    assert list(train_bpe(["abc", "abc"], 259))[256:] == [b"ab", b"abc"]
    with pytest.raises(ValueError, match="at least 257, got 256"):
        train_bpe([CHAPTER_1], 256)
    with pytest.raises(TypeError, match="vocab_size must be an int"):
        train_bpe([CHAPTER_1], 300.0)
    with pytest.raises(TypeError, match=r"Write \[text\]"):
        train_bpe(CHAPTER_1, 258)
    with pytest.raises(TypeError, match="text 1 is a bytes"):
        train_bpe(["fish", b"fish"], 258)


def test_saved_ranks_are_tiktokens_file_byte_for_byte(tokenizer, tmp_path):
    shipped = Path(gpt2_edu.tokenizer.__file__).parent / "assets" / "gpt2.tiktoken"
    shuffled = dict(sorted(tokenizer._mergeable_ranks.items()))
    save_ranks(shuffled, tmp_path / "again.tiktoken")
    assert (tmp_path / "again.tiktoken").read_bytes() == shipped.read_bytes()


def test_ranks_that_cannot_encode_every_text_are_refused():
    ranks = train_bpe([CHAPTER_1], 265)
    without = {token: i - (i > 32) for token, i in ranks.items() if i != 32}
    with pytest.raises(ValueError, match=r"all 256 bytes.*not \[65\]"):
        make_encoding("no A", without)
    for wrong in ({b" fish": 300}, {b" crane": 0}, {b" crane": -1}):
        with pytest.raises(ValueError, match="each once"):
            make_encoding("gap", ranks | wrong)


def test_special_tokens_that_ranks_name_follow_the_one_that_ends_a_text(tmp_path):
    ranks = train_bpe([CHAPTER_1], 265)
    n = len(ranks)
    named = ranks | {END_OF_TEXT.encode(): n, b"<|user|>": n + 1}
    encoding = make_encoding("roles", named)
    assert (encoding.n_vocab, encoding.eot_token, encoding._mergeable_ranks) == (n + 2, n, ranks)
    assert encoding.encode("a<|user|>", allowed_special="all")[-1] == n + 1
    assert n + 1 not in encoding.encode_ordinary("a<|user|>")
    save_ranks(named, tmp_path / "roles.tiktoken")
    assert load_tokenizer(tmp_path / "roles.tiktoken")._special_tokens == encoding._special_tokens
    for wrong in ({b"<|user|>": n + 2}, {b"<|user|>": 7}, {b"<|user|>": n}):
        with pytest.raises(ValueError, match="each once"):
            make_encoding("gap", named | wrong)


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


# ---- Stop strings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "stop", "expected"),
    [
        ("one. two.", ["."], "one"),
        ("one. two.", [". t"], "one"),
        ("one. two.", ["xyz", "wo"], "one. t"),
        ("aab", ["ab"], "a"),
        ("ababac", ["abac"], "ab"),
        ("abcd", ["abcd", "bc"], "a"),  # bc is complete first
        ("xabc", ["abc", "bc"], "x"),  # of two that end together, the longer
        ("no stop he", ["hen"], "no stop he"),
        ("a crane\U0001f426!", ["\U0001f426"], "a crane"),
        ("text", [], "text"),
    ],
)
def test_a_stop_string_is_found_wherever_pieces_end(text, stop, expected):
    for cuts in range(2 ** min(len(text) - 1, 9)):
        ends = [i for i in range(1, len(text)) if cuts >> (i - 1) & 1]
        pieces = [text[a:b] for a, b in itertools.pairwise([0, *ends, len(text)])]
        assert "".join(until(pieces, stop)) == expected


def test_text_before_a_stop_string_is_not_held_back_and_no_piece_after_it_is_taken():
    taken = []

    def pieces():
        for piece in ("A cra", "ne. ", "The", " end"):
            taken.append(piece)
            yield piece

    assert list(until(pieces(), [". T"])) == ["A cra", "ne", ""]
    assert taken == ["A cra", "ne. ", "The"]


def test_a_stop_string_that_means_nothing_is_refused():
    with pytest.raises(ValueError, match="a stop string needs at least one character"):
        list(until(["a"], ["b", ""]))
    for wrong in (".", [1]):
        with pytest.raises(TypeError, match="stop takes a list of strings"):
            list(until(["a"], wrong))
