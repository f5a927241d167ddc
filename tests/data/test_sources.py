"""Every source of text, and clear refusals of what cannot be read."""

from __future__ import annotations

import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpt2_edu import load_tokenizer
from gpt2_edu.crane import story
from gpt2_edu.data import TokenShards, sources
from gpt2_edu.data.prepare import PrepareConfig, is_for_validation, prepare
from gpt2_edu.data.sources import last_cut
from tests.data.helpers import ENCODING, EOT, STORIES, ids_of, refused, run


def expected_ids(texts) -> tuple[list[int], list[int]]:
    """What the training and validation split must be, from the texts one by one."""
    train, val = [], []
    for i, text in enumerate(texts):
        split = val if is_for_validation(i, 0, 0.2) else train
        split += [EOT, *ENCODING.encode_ordinary(text)]
    return train, val


# ---- Sources ----------------------------------------------------------------------------------


def check_stories(tmp_path, *sources, **settings_) -> None:
    header = run(tmp_path, *sources, val_fraction=0.2, **settings_)
    train, val = expected_ids(STORIES)
    assert val, "the test needs a document in each split"
    assert ids_of(tmp_path / "out") == train
    assert ids_of(tmp_path / "out", "val") == val
    assert header.documents == len(STORIES)
    assert header.tokens("train") == len(train) and header.tokens("val") == len(val)
    assert {shard.tokens for shard in header.shards[:-1]} - {97} <= {len(train) % 97}


def test_jsonl_is_a_document_a_line(tmp_path, jsonl):
    jsonl.write_text("\n \n" + jsonl.read_text() + '{"text": ""}\n{"text": null}\n')
    check_stories(tmp_path, jsonl)


def test_jsonl_takes_another_field(tmp_path, jsonl):
    jsonl.write_text(jsonl.read_text().replace('"text"', '"story"'))
    check_stories(tmp_path, jsonl, text_field="story")


def test_a_folder_is_read_in_sorted_order_a_document_a_file(tmp_path):
    folder = tmp_path / "texts"
    for i in reversed(range(len(STORIES))):
        path = folder / f"part{i // 10}" / f"{i:03d}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(STORIES[i])
    (folder / ".DS_Store").write_bytes(b"\0\0")
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref")
    check_stories(tmp_path, folder)


@pytest.fixture
def datasets(tmp_path, monkeypatch, missing):
    try:
        import datasets
    except ImportError:
        missing("datasets is not installed")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return datasets


def test_a_dataset_is_read_from_a_folder_of_data(tmp_path, jsonl, datasets):
    (tmp_path / "data").mkdir()
    jsonl.rename(tmp_path / "data" / "train.jsonl")
    check_stories(tmp_path, f"dataset:{tmp_path / 'data'}")


def test_a_dataset_is_read_from_a_folder_of_parquet(tmp_path, datasets):
    (tmp_path / "data").mkdir()
    stories = datasets.Dataset.from_dict({"text": [*STORIES, None]})
    stories.to_parquet(tmp_path / "data" / "train.parquet")
    check_stories(tmp_path, f"dataset:{tmp_path / 'data'}")


def test_a_missing_library_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    refused(lambda: run(tmp_path, "dataset:some"), "pip install datasets")


def test_stories_of_crane_world_are_a_source(tmp_path):
    out = str(tmp_path / "stories")
    header = prepare(PrepareConfig(sources=("crane:50",), out=out, tokenizer="crane"))
    shards, encoding = TokenShards(out), load_tokenizer("crane")
    assert header.documents == 50
    first = encoding.encode(story(0))
    assert shards.read(0, len(first) + 2).tolist() == [
        encoding.eot_token,
        *first,
        encoding.eot_token,
    ]


@pytest.mark.parametrize("name", ["crane:", "crane:0", "crane:-3", "crane:many"])
def test_a_number_of_stories_that_cannot_be_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match="the form is crane:COUNT"):
        prepare(PrepareConfig(sources=(name,), out=str(tmp_path / "out"), tokenizer="crane"))


def test_several_sources_are_read_as_named(tmp_path):
    texts = {"b": "second file", "a": "first file"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    run(tmp_path, tmp_path / "b", tmp_path / "a", val_fraction=0)
    encode = ENCODING.encode_ordinary
    assert ids_of(tmp_path / "out") == [EOT, *encode("second file"), EOT, *encode("first file")]


def test_a_typed_end_of_text_is_ordinary_text(tmp_path):
    (tmp_path / "a.txt").write_text("one <|endoftext|> two")
    run(tmp_path, tmp_path / "a.txt", val_fraction=0)
    ids = ids_of(tmp_path / "out")
    assert ids.count(EOT) == 1 and ids[0] == EOT
    assert ENCODING.decode(ids[1:]) == "one <|endoftext|> two"


def test_bytes_come_back_as_they_were_but_for_the_byte_order_mark(tmp_path, small_pieces):
    text = "Zeile eins\r\n\r\n  zwei — 鶴が飛ぶ 🐦\t\x1c\u3000 drei\n" * 40 + "\n\n "
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    run(tmp_path, tmp_path / "a.txt", val_fraction=0)
    assert ids_of(tmp_path / "out") == [EOT, *ENCODING.encode_ordinary(text)]


@given(text=st.text(st.sampled_from("ab 1.'s\n\t\r\x1c\x85\xa0\u2003é鶴,") | st.characters()))
@example(text="word \n  next")
@example(text="a\x1c b")
@example(text="!\x1c\n?")
@settings(deadline=None, max_examples=300)
def test_a_text_cut_in_two_has_the_same_tokens(text):
    cut = last_cut(text)
    assert 0 <= cut < max(len(text), 1)
    encode = ENCODING.encode_ordinary
    text = text.encode("utf-8", "replace").decode()
    assert encode(text[:cut]) + encode(text[cut:]) == encode(text)


def test_a_long_text_is_cut_between_words():
    assert last_cut("one two three") == len("one two")
    assert last_cut("one\n\n\nthree") == len("one")
    assert last_cut("no!\x1c!") == 0  # white space to Python, not to the pattern
    assert last_cut("unbroken") == last_cut("") == last_cut("  \n ") == 0


@pytest.mark.parametrize("text", ["ACGT" * 5000, "\n" * 20_000, "鶴" * 7001, " a b" + "x" * 9001])
def test_a_text_without_spaces_is_read_in_pieces(tmp_path, small_pieces, text):
    (tmp_path / "a.txt").write_text(text, encoding="utf-8", newline="")
    (source,) = sources.find_sources(
        [str(tmp_path / "a.txt")], sources.ReadOptions("text", "strict")
    )
    pieces = list(source.pieces())
    assert "".join(piece.text for piece in pieces) == text
    assert max(len(piece.text) for piece in pieces) <= 2 * 101
    run(tmp_path, tmp_path / "a.txt", val_fraction=0)
    assert ENCODING.decode(ids_of(tmp_path / "out")[1:]) == text


# ---- What can be wrong with the input ---------------------------------------------------------


@pytest.mark.parametrize(
    "name, raw, said",
    [
        ("a.txt", b"", ["there is no text in"]),
        ("a.txt", b"text\0more", ["a.txt is not text", "NUL"]),
        ("a.txt", b"\x89PNG\r\n\x1a\n\0", ["is not UTF-8"]),
        ("a.txt", "zwölf".encode("utf-16"), ["is not UTF-8"]),
        ("a.txt", b"x" * 250 + b" zw\xf6lf", ["a.txt is not UTF-8", "errors='replace'"]),
        ("a.txt", b"end \xe2\x82", ["is not UTF-8"]),
        ("a.jsonl", b'{"text": "a"}\n{"text"\n', ["a.jsonl:2 is not JSON", '{"text"']),
        ("a.jsonl", b"[" * 99999, ["a.jsonl:1 is not JSON"]),
        ("a.jsonl", b'{"text": "a"}\n\n["a"]', ["a.jsonl:3 is a JSON list"]),
        ("a.jsonl", b'{"story": "a", "id": 3}', ["a.jsonl:1 has no field 'text'", "story, id"]),
        ("a.jsonl", b'{"text": 7}', ["a.jsonl:1: 'text' is 7"]),
        ("a.jsonl", b'{"text": "\xff"}', ["a.jsonl is not UTF-8"]),
        ("a.jsonl", b'{"text": "\\ud800"}', ["a.jsonl:1", "surrogate", "errors='replace'"]),
        ("a.jsonl", b'{"text": ""}\n', ["there is no text in", "a.jsonl"]),
        ("a.json", b'[\n{"text": "a"}]', ["a.json:1 is not JSON", "Each line"]),
        ("a.parquet", b"PAR1 no, a text", ["a.parquet is Parquet: name its folder as dataset:"]),
    ],
)
def test_bad_input_is_named_with_its_place(tmp_path, small_pieces, name, raw, said):
    (tmp_path / name).write_bytes(raw)
    refused(lambda: run(tmp_path, tmp_path / name), *said)


@pytest.mark.parametrize(
    "name, raw, text",
    [
        ("a.txt", b"zw\xf6lf", "zw\ufffdlf"),
        ("a.jsonl", b'{"text": "zw\xf6lf"}', "zw\ufffdlf"),
        ("a.jsonl", b'{"text": "a\\ud800b"}', "a\ufffdb"),
    ],
)
def test_on_request_bad_bytes_are_replaced(tmp_path, name, raw, text):
    (tmp_path / name).write_bytes(raw)
    run(tmp_path, tmp_path / name, errors="replace", val_fraction=0)
    assert ENCODING.decode(ids_of(tmp_path / "out")[1:]) == text


def test_a_dataset_that_cannot_be_opened_or_lacks_the_column_is_refused(tmp_path, datasets):
    refused(lambda: run(tmp_path, f"dataset:{tmp_path / 'no'}"), "cannot be opened", "CONFIG")
    (tmp_path / "data").mkdir()
    datasets.Dataset.from_dict({"n": [1]}).to_parquet(tmp_path / "data" / "train.parquet")
    source = f"dataset:{tmp_path / 'data'}"
    refused(lambda: run(tmp_path, source), "no column 'text'", "It has: n")
    refused(lambda: run(tmp_path, source, text_field="n"), "row 1", "is 1")
    refused(lambda: run(tmp_path, f"{source}::test"), "cannot be opened")


def test_sources_that_are_not_there_are_named(tmp_path):
    refused(lambda: run(tmp_path, tmp_path / "no"), "no", "dataset:NAME", kind=FileNotFoundError)
    (tmp_path / "empty").mkdir()
    refused(lambda: run(tmp_path, tmp_path / "empty"), "there is no text in")
    (tmp_path / "a.txt").write_text("a")
    refused(lambda: run(tmp_path, tmp_path / "a.txt", tokenizer="gpt3"), "gpt3", "gpt2")
    assert not (tmp_path / "out").exists()
