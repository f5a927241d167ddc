"""Every kind of source gives the same tokens, and bad input is named with its place."""

from __future__ import annotations

import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpt2_edu import load_tokenizer
from gpt2_edu.crane import story
from gpt2_edu.data import sources
from gpt2_edu.data.prepare import is_for_validation
from gpt2_edu.data.sources import last_cut
from tests.data.helpers import ENCODING, EOT, STORIES, ids_of, refused, run


def check_stories(tmp_path, *names, **settings_) -> None:
    """The splits are what the stories give one by one."""
    header = run(tmp_path, *names, val_fraction=0.2, **settings_)
    expected = {"train": [], "val": []}
    for i, text in enumerate(STORIES):
        split = "val" if is_for_validation(i, 0, 0.2) else "train"
        expected[split] += [EOT, *ENCODING.encode_ordinary(text)]
    for split, ids in expected.items():
        assert ids_of(tmp_path / "out", split) == ids
        assert header.tokens(split) == len(ids) > 0
    assert header.documents == len(STORIES)
    full = [shard.tokens for shard in header.shards if shard.split == "train"][:-1]
    assert set(full) == {97}


def test_jsonl_is_a_document_a_line(tmp_path, jsonl):
    lines = jsonl.read_text().replace('"text"', '"story"')
    jsonl.write_text("\n \n" + lines + '{"story": ""}\n{"story": null}\n')
    check_stories(tmp_path, jsonl, text_field="story")


def test_a_folder_is_a_document_a_file_in_sorted_order(tmp_path):
    folder = tmp_path / ".texts"  # which is named, so it is read
    for i in reversed(range(len(STORIES))):
        path = folder / f"part{i // 10}" / f"{i:03d}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(STORIES[i])
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref")
    check_stories(tmp_path, folder)


def test_several_sources_are_read_as_named(tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).write_text(f"{name} file")
    run(tmp_path, tmp_path / "second", tmp_path / "first", val_fraction=0)
    encode = ENCODING.encode_ordinary
    assert ids_of(tmp_path / "out") == [EOT, *encode("second file"), EOT, *encode("first file")]


def test_crane_world_is_a_source(tmp_path):
    header = run(tmp_path, "crane:50", tokenizer="crane")
    encoding = load_tokenizer("crane")
    first = [encoding.eot_token, *encoding.encode(story(0)), encoding.eot_token]
    assert header.documents == 50 and ids_of(tmp_path / "out")[: len(first)] == first


@pytest.fixture
def datasets(tmp_path, monkeypatch, missing):
    try:
        import datasets
    except ImportError:
        missing("datasets is not installed")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return datasets


def test_a_dataset_is_a_folder_of_jsonl_or_parquet(tmp_path, jsonl, datasets):
    for name in ("lines", "columns"):
        (tmp_path / name).mkdir()
    jsonl.rename(tmp_path / "lines" / "train.jsonl")
    check_stories(tmp_path, f"dataset:{tmp_path / 'lines'}")
    stories = datasets.Dataset.from_dict({"text": [*STORIES, None]})
    stories.to_parquet(tmp_path / "columns" / "train.parquet")
    check_stories(tmp_path, f"dataset:{tmp_path / 'columns'}", overwrite=True)


def test_refuses_a_dataset_that_has_no_text(tmp_path, datasets, monkeypatch):
    refused(lambda: run(tmp_path, f"dataset:{tmp_path / 'no'}"), "cannot be opened", "CONFIG")
    (tmp_path / "data").mkdir()
    datasets.Dataset.from_dict({"n": [1]}).to_parquet(tmp_path / "data" / "train.parquet")
    source = f"dataset:{tmp_path / 'data'}"
    refused(lambda: run(tmp_path, source), "no column 'text'", "It has: n")
    refused(lambda: run(tmp_path, source, text_field="n"), "row 1", "is 1")
    refused(lambda: run(tmp_path, f"{source}::test"), "cannot be opened")
    monkeypatch.setitem(sys.modules, "datasets", None)
    refused(lambda: run(tmp_path, source), "pip install datasets")


def test_a_typed_end_of_text_is_ordinary_text(tmp_path):
    (tmp_path / "a.txt").write_text("one <|endoftext|> two")
    run(tmp_path, tmp_path / "a.txt", val_fraction=0)
    first, *rest = ids_of(tmp_path / "out")
    assert first == EOT not in rest and ENCODING.decode(rest) == "one <|endoftext|> two"


def test_keeps_every_byte_but_the_byte_order_mark(tmp_path, small_pieces):
    text = "Zeile eins\r\n\r\n  zwei — 鶴が飛ぶ 🐦\t\x1c\u3000 drei\n" * 40 + "\n\n "
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    run(tmp_path, tmp_path / "a.txt", val_fraction=0)
    assert ids_of(tmp_path / "out") == [EOT, *ENCODING.encode_ordinary(text)]


@given(text=st.text(st.sampled_from("ab 1.'s\n\t\r\x1c\x85\xa0\u2003é鶴,") | st.characters()))
@example(text="word \n  next")
@example(text="a\x1c b")
@example(text="!\x1c\n?")
@settings(deadline=None, max_examples=200)
def test_a_cut_changes_no_token(text):
    cut = last_cut(text)
    assert 0 <= cut < max(len(text), 1)
    encode = ENCODING.encode_ordinary
    text = text.encode("utf-8", "replace").decode()
    assert encode(text[:cut]) + encode(text[cut:]) == encode(text)


def test_cuts_between_words():
    assert last_cut("one two three") == len("one two")
    assert last_cut("one\n\n\nthree") == len("one")
    assert last_cut("no!\x1c!") == 0  # white space to Python, not to the pattern
    assert last_cut("unbroken") == last_cut("") == last_cut("  \n ") == 0


@pytest.mark.parametrize("text", ["ACGT" * 999, "\n" * 2000, "鶴" * 701, " a b" + "x" * 901])
def test_a_text_without_spaces_is_read_in_pieces(tmp_path, small_pieces, text):
    (tmp_path / "a.txt").write_text(text, encoding="utf-8", newline="")
    options = sources.ReadOptions("text", "strict")
    (source,) = sources.find_sources([str(tmp_path / "a.txt")], options)
    pieces = [piece.text for piece in source.pieces()]
    assert "".join(pieces) == text and max(map(len, pieces)) <= 2 * 101


@pytest.mark.parametrize(
    "name, raw, said",
    [
        ("a.txt", b"", ["there is no text in"]),
        ("a.txt", b"text\0more", ["a.txt is not text", "NUL"]),
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
        ("a.parquet", b"PAR1 no, a text", ["a.parquet is Parquet: name its folder as dataset:"]),
    ],
)
def test_names_the_place_of_bad_input(tmp_path, small_pieces, name, raw, said):
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
def test_replaces_bad_bytes_on_request(tmp_path, name, raw, text):
    (tmp_path / name).write_bytes(raw)
    run(tmp_path, tmp_path / name, errors="replace", val_fraction=0)
    assert ENCODING.decode(ids_of(tmp_path / "out")[1:]) == text


def test_names_sources_that_are_not_there(tmp_path):
    refused(lambda: run(tmp_path, tmp_path / "no"), "no", "dataset:NAME", kind=FileNotFoundError)
    for name in ("crane:", "crane:0", "crane:-3", "crane:many"):
        refused(lambda name=name: run(tmp_path, name), "the form is crane:COUNT")
    assert not (tmp_path / "out").exists()
