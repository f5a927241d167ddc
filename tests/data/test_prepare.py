"""Text to shards: every source, the same bytes however often it was killed, and clear refusals."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import gpt2_edu.data.prepare
import gpt2_edu.data.sources
from gpt2_edu import load_tokenizer
from gpt2_edu.crane import story
from gpt2_edu.data.prepare import PrepareConfig, is_for_validation, prepare
from gpt2_edu.data.shards import TokenShards
from gpt2_edu.data.sources import last_cut

ENCODING = load_tokenizer("gpt2")
EOT = ENCODING.eot_token
STORIES = [f"Story {i}: the crane flew over the {'deep ' * (i % 5)}lake.\n" for i in range(61)]


def run(tmp_path, *sources, **settings_):
    """Prepare into tmp_path/out; the small shards make borders fall everywhere."""
    settings_ = {"out": str(tmp_path / "out"), "shard_tokens": 97} | settings_
    return prepare(PrepareConfig(sources=tuple(map(str, sources)), **settings_))


def ids_of(out, split="train") -> list[int]:
    shards = TokenShards(out, split)
    return shards.read(0, len(shards)).tolist()


def content(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def expected_ids(texts) -> tuple[list[int], list[int]]:
    """What the training and validation split must be, from the texts one by one."""
    train, val = [], []
    for i, text in enumerate(texts):
        split = val if is_for_validation(i, 0, 0.2) else train
        split += [EOT, *ENCODING.encode_ordinary(text)]
    return train, val


def refused(call, *parts: str, kind=ValueError) -> None:
    with pytest.raises(kind) as error:
        call()
    for part in parts:
        assert part in str(error.value)


@pytest.fixture
def jsonl(tmp_path):
    path = tmp_path / "stories.jsonl"
    path.write_text("".join(json.dumps({"id": 1, "text": text}) + "\n" for text in STORIES))
    return path


@pytest.fixture
def small_pieces(monkeypatch):
    """Many pieces and batches out of little text, and a record after each; the disk can be slow."""
    monkeypatch.setattr(gpt2_edu.data.sources, "BLOCK", 101)
    monkeypatch.setattr(gpt2_edu.data.prepare, "BATCH", 307)
    monkeypatch.setattr(gpt2_edu.data.prepare, "COMMIT_EVERY", 0.0)
    monkeypatch.setattr(os, "fsync", lambda handle: None)


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


def test_parquet_is_a_document_a_row(tmp_path, missing):
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        missing("pyarrow is not installed")
    table = pa.table({"n": range(len(STORIES) + 1), "text": [*STORIES, None]})
    parquet.write_table(table, tmp_path / "s.parquet", row_group_size=7)
    check_stories(tmp_path, tmp_path / "s.parquet")


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


def test_a_saved_dataset_is_read_with_the_split_that_is_named(tmp_path, datasets):
    stories = datasets.Dataset.from_dict({"text": STORIES})
    stories.save_to_disk(tmp_path / "one")
    check_stories(tmp_path, f"dataset:{tmp_path / 'one'}")
    datasets.DatasetDict(main=stories).save_to_disk(tmp_path / "many")
    check_stories(tmp_path, f"dataset:{tmp_path / 'many'}::main", overwrite=True)


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


def test_a_long_text_is_not_held_whole():
    assert last_cut("one two three") == len("one two")
    assert last_cut("one\n\n\nthree") == len("one")
    assert last_cut("no!\x1c!") == 0  # white space to Python, not to the pattern
    assert last_cut("unbroken") == last_cut("") == last_cut("  \n ") == 0


# ---- Training and validation ------------------------------------------------------------------


def test_of_one_document_the_end_is_for_validation(tmp_path, small_pieces):
    text = "".join(STORIES)
    (tmp_path / "play.txt").write_text(text)
    header = run(tmp_path, tmp_path / "play.txt", val_fraction=0.2)
    train, val = ids_of(tmp_path / "out"), ids_of(tmp_path / "out", "val")
    assert train + val == [EOT, *ENCODING.encode_ordinary(text)]
    assert len(val) == round(0.2 * (len(train) + len(val)))
    assert len(val) > 97, "the cut must fall before the last shard for this test to mean much"
    assert header.documents == 1


def test_few_documents_of_which_none_is_drawn_still_leave_a_validation_split(tmp_path, jsonl):
    lines = jsonl.read_text().splitlines()[:3]
    assert not any(is_for_validation(i, 0, 0.05) for i in range(3))
    jsonl.write_text("\n".join(lines))
    run(tmp_path, jsonl, val_fraction=0.05)
    train, val = ids_of(tmp_path / "out"), ids_of(tmp_path / "out", "val")
    assert len(val) == max(1, round(0.05 * (len(train) + len(val))))


def test_no_validation_on_request(tmp_path, jsonl):
    header = run(tmp_path, jsonl, val_fraction=0)
    assert header.tokens("val") == 0
    assert [shard.split for shard in header.shards] == ["train"] * len(header.shards)


def test_the_draw_follows_number_and_seed_and_keeps_the_fraction():
    drawn = [[is_for_validation(i, seed, 0.1) for i in range(20000)] for seed in (0, 1)]
    assert drawn[0] != drawn[1]
    for of_seed in drawn:
        assert 1800 < sum(of_seed) < 2200
    assert not any(is_for_validation(0, seed, 0.9) for seed in range(9))  # the first always trains
    assert not any(is_for_validation(i, 0, 0.0) for i in range(1000))
    # A larger fraction keeps what a smaller one drew.
    assert all(is_for_validation(i, 0, 0.2) for i in range(20000) if drawn[0][i])


# ---- The same bytes ---------------------------------------------------------------------------


def test_the_number_of_threads_changes_no_byte(tmp_path, jsonl, small_pieces):
    run(tmp_path, jsonl, out=str(tmp_path / "one"), workers=1, val_fraction=0.2)
    run(tmp_path, jsonl, out=str(tmp_path / "five"), workers=5, val_fraction=0.2)
    assert content(tmp_path / "one") == content(tmp_path / "five")
    assert json.loads(content(tmp_path / "one")["header.json"])["documents"] == 61


STEPS = ["fsync", "replace", "truncate", "unlink"]


@pytest.mark.parametrize("one_file", [True, False])
def test_a_preparation_that_stops_at_any_step_ends_with_the_same_bytes(
    tmp_path, jsonl, small_pieces, monkeypatch, one_file
):
    """Stops it before its n-th change of the disk, for every n, until a run comes through."""
    source = jsonl
    source.write_text("\n".join(jsonl.read_text().splitlines()[:23]))
    if one_file:  # the validation split is cut from the end, which moves files about
        source = tmp_path / "play.txt"
        source.write_text("".join(STORIES[:17]))
    run(tmp_path, source, out=str(tmp_path / "whole"), val_fraction=0.2, workers=1)
    wanted = content(tmp_path / "whole")

    class PowerCut(BaseException):
        pass

    def stop_at(n):
        left = [n]

        def counted(function):
            def call(*args, **kwargs):
                left[0] -= 1
                if left[0] < 0:
                    raise PowerCut
                return function(*args, **kwargs)

            return call

        return counted

    for step in range(1000):
        out = tmp_path / f"out{step}"
        with monkeypatch.context() as patch:
            counted = stop_at(step)
            for name in STEPS:
                patch.setattr(os, name, counted(getattr(os, name)))
            patch.setattr(Path, "unlink", counted(Path.unlink))
            try:
                run(tmp_path, source, out=str(out), val_fraction=0.2, workers=1)
                break
            except PowerCut:
                pass
        if not (out / "header.json").exists():
            with pytest.raises((FileNotFoundError, ValueError)):
                TokenShards(out)
        run(tmp_path, source, out=str(out), val_fraction=0.2, workers=2)
        assert content(out) == wanted, f"stopped at step {step}"
    assert step > 30


CHILD = """
import os, sys, time
import gpt2_edu.data.prepare as p, gpt2_edu.data.sources as s
s.BLOCK, p.BATCH, p.COMMIT_EVERY = 4001, 3001, 0.01
slow = p._encode
p._encode = lambda *a: (os.write(1, b"working\\n"), time.sleep(0.005), slow(*a))[2]
p.prepare(p.PrepareConfig(sources=(sys.argv[1],), out=sys.argv[2], workers=2,
                          shard_tokens=9973, val_fraction=0.1))
"""


def test_kill_9_at_random_moments_changes_no_byte(tmp_path):
    path = tmp_path / "stories.txt"
    path.write_text("".join(STORIES) * 150)
    whole = run(tmp_path, path, shard_tokens=9973, val_fraction=0.1)
    chance, kept, kills = random.Random(0), [], 0
    command = [sys.executable, "-c", CHILD, str(path), str(tmp_path / "killed")]
    environment = os.environ | {"PYTHONPATH": str(Path(gpt2_edu.__file__).parents[1])}
    for _ in range(5):
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as child:
            if kills < 3:
                for _ in range(chance.randint(15, 40)):  # pieces begun, whatever time they take
                    assert child.stdout.readline() == b"working\n"
                time.sleep(chance.uniform(0, 0.01))
                child.send_signal(signal.SIGKILL)
            child.stdout.read()
        code = child.returncode
        if code == 0:
            break
        kills += 1
        record = tmp_path / "killed" / "unfinished.json"
        kept.append(json.loads(record.read_text())["batches"] if record.exists() else 0)
    assert code == 0
    assert kills == 3 and kept == sorted(kept) and kept[-1] > 0  # work was kept each time
    # The source is named as before, so that the headers can be the same too.
    assert content(tmp_path / "killed") == content(tmp_path / "out")
    assert whole.tokens("val") > 9973


def test_finished_work_is_not_done_twice(tmp_path, jsonl, small_pieces, monkeypatch):
    encoded = []
    encode = gpt2_edu.data.prepare._encode

    def dies_at_the_seventh(batch, *rest):
        encoded.append(batch)
        if len(encoded) == 7:
            raise OSError("No space left on device")
        return encode(batch, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(gpt2_edu.data.prepare, "_encode", dies_at_the_seventh)
        with pytest.raises(OSError, match="No space left"):
            run(tmp_path, jsonl, workers=1)
    done = json.loads((tmp_path / "out" / "unfinished.json").read_text())["batches"]
    assert done == 6

    again = []
    with monkeypatch.context() as patch:
        patch.setattr(gpt2_edu.data.prepare, "_encode", lambda *a: again.append(a[0]) or encode(*a))
        run(tmp_path, jsonl, workers=1)
    assert again[0] == encoded[6]


def test_stopped_after_its_header_a_preparation_has_nothing_left_to_do(
    tmp_path, jsonl, monkeypatch
):
    unlink = Path.unlink

    def dies(path, missing_ok=False):
        if path.name == "unfinished.json":
            raise KeyboardInterrupt
        unlink(path, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", dies)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, jsonl)
    before = content(tmp_path / "out")
    monkeypatch.setattr(gpt2_edu.data.prepare, "_encode_all", pytest.fail)
    assert run(tmp_path, jsonl) == TokenShards(tmp_path / "out").header
    assert before.pop("unfinished.json")
    assert content(tmp_path / "out") == before


# ---- The folder -------------------------------------------------------------------------------


def stopped(tmp_path, source, monkeypatch) -> None:
    """Leaves an unfinished preparation with some work in it."""
    encode = gpt2_edu.data.prepare._encode
    calls = []

    def dies(*args):
        calls.append(args)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return encode(*args)

    with monkeypatch.context() as patch:
        patch.setattr(gpt2_edu.data.prepare, "_encode", dies)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, source, workers=1)


def test_another_preparation_in_an_unfinished_folder_says_what_differs(
    tmp_path, jsonl, small_pieces, monkeypatch
):
    stopped(tmp_path, jsonl, monkeypatch)
    before = content(tmp_path / "out")
    parts = ("not this one", "seed was 0, is now 7", "overwrite=True", "run it again as it was")
    refused(lambda: run(tmp_path, jsonl, seed=7), *parts)
    os.utime(jsonl, (1, 1))
    refused(lambda: run(tmp_path, jsonl), "files (names, sizes, times) was")
    assert content(tmp_path / "out") == before  # nothing is lost

    run(tmp_path, jsonl, seed=7, overwrite=True)
    run(tmp_path, jsonl, seed=7, out=str(tmp_path / "fresh"))
    assert content(tmp_path / "out") == content(tmp_path / "fresh")


def test_finished_shards_are_kept_unless_told_otherwise(tmp_path, jsonl):
    run(tmp_path, jsonl, shard_tokens=50)
    before = content(tmp_path / "out")
    refused(lambda: run(tmp_path, jsonl), "holds finished shards", "overwrite=True")
    refused(
        lambda: run(tmp_path, tmp_path / "nowhere", overwrite=True),
        "nowhere",
        kind=FileNotFoundError,
    )
    assert content(tmp_path / "out") == before
    run(tmp_path, jsonl, overwrite=True)
    assert len(content(tmp_path / "out")) < len(before)
    TokenShards(tmp_path / "out")


def test_a_folder_of_other_things_is_left_alone(tmp_path, jsonl):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    refused(lambda: run(tmp_path, jsonl), "not empty", "thesis.txt")
    run(tmp_path, jsonl, overwrite=True)
    assert (tmp_path / "out" / "thesis.txt").read_text() == "years of work"
    (tmp_path / "file").write_text("")
    refused(lambda: run(tmp_path, jsonl, out=str(tmp_path / "file")), "is a file")


def test_after_bad_input_the_folder_can_be_used_at_once(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("{broken")
    refused(lambda: run(tmp_path, path), "a.jsonl:1")
    path.write_text('{"text": "whole again"}')
    assert run(tmp_path, path).documents == 1


def test_a_record_without_its_files_is_refused(tmp_path, jsonl, small_pieces, monkeypatch):
    stopped(tmp_path, jsonl, monkeypatch)
    part = tmp_path / "out" / "train-00000.bin.part"
    os.truncate(part, 3)
    refused(lambda: run(tmp_path, jsonl), "train-00000.bin.part is missing or shorter")
    (tmp_path / "out" / "unfinished.json").write_text("{")
    refused(lambda: run(tmp_path, jsonl), "unfinished.json is damaged")


def test_two_preparations_do_not_write_to_one_folder(tmp_path, jsonl):
    (tmp_path / "out").mkdir()
    with gpt2_edu.data.prepare._locked(tmp_path / "out"):
        refused(lambda: run(tmp_path, jsonl), "another preparation is writing")
    run(tmp_path, jsonl)


def test_the_output_may_not_lie_among_the_sources(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    refused(lambda: run(tmp_path, tmp_path), "lies inside the source")


# ---- What can be wrong with the input ---------------------------------------------------------


@pytest.mark.parametrize(
    "name, raw, said",
    [
        ("a.txt", b"", ["a.txt is empty"]),
        ("a.txt", b"text\0more", ["a.txt is not text", "byte 4 is NUL"]),
        ("a.txt", b"\x89PNG\r\n\x1a\n\0", ["is not text"]),
        ("a.txt", "zwölf".encode("utf-16"), ["is not text", "UTF-16"]),
        ("a.txt", b"x" * 250 + b" zw\xf6lf", ["is not UTF-8", "byte 253", "--errors replace"]),
        ("a.txt", b"\xef\xbb\xbf" + b"ab\xff", ["byte 5"]),
        ("a.txt", b"end \xe2\x82", ["is not UTF-8: byte 4"]),
        ("a.jsonl", b'{"text": "a"}\n{"text"\n', ["a.jsonl:2 is not JSON", '{"text"']),
        ("a.jsonl", b"[" * 99999, ["a.jsonl:1 is not JSON"]),
        ("a.jsonl", b'{"text": "a"}\n\n["a"]', ["a.jsonl:3 is a JSON list"]),
        ("a.jsonl", b'{"story": "a", "id": 3}', ["a.jsonl:1 has no field 'text'", "story, id"]),
        ("a.jsonl", b'{"text": 7}', ["a.jsonl:1: 'text' is 7"]),
        ("a.jsonl", b'{"text": "\xff"}', ["a.jsonl:1 is not UTF-8", "byte 10"]),
        ("a.jsonl", b'{"text": "\\ud800"}', ["a.jsonl:1", "surrogate", "--errors replace"]),
        ("a.jsonl", b'{"text": ""}\n', ["there is no text in", "a.jsonl"]),
        ("a.json", b'[\n{"text": "a"}]', ["a.json:1 is not JSON", "Each line"]),
        ("a.parquet", b"PAR1 no, a text", ["a.parquet cannot be read as Parquet"]),
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


def test_parquet_without_the_column_or_with_broken_text_is_refused(tmp_path, missing):
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        missing("pyarrow is not installed")
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"story": ["a"], "n": [1]}), path)
    refused(lambda: run(tmp_path, path), "no column 'text'", "story, n", "text_field")
    refused(lambda: run(tmp_path, path, text_field="n"), "'n' holds int64, not text")
    broken = pa.array([b"a", b"zw\xf6lf"]).view(pa.string())
    parquet.write_table(pa.table({"text": broken}), path)
    refused(lambda: run(tmp_path, path), "row 2 is not UTF-8: byte 2")
    run(tmp_path, path, errors="replace", val_fraction=0)
    assert "zw\ufffdlf" in ENCODING.decode(ids_of(tmp_path / "out"))


def test_a_dataset_that_cannot_be_opened_or_lacks_the_column_is_refused(tmp_path, datasets):
    refused(lambda: run(tmp_path, f"dataset:{tmp_path / 'no'}"), "cannot be opened", "CONFIG")
    datasets.Dataset.from_dict({"n": [1]}).save_to_disk(tmp_path / "d")
    refused(lambda: run(tmp_path, f"dataset:{tmp_path / 'd'}"), "no column 'text'", "It has: n")
    refused(lambda: run(tmp_path, f"dataset:{tmp_path / 'd'}", text_field="n"), "row 1", "is 1")
    datasets.DatasetDict(main=datasets.Dataset.from_dict({"text": ["a"]})).save_to_disk(
        tmp_path / "many"
    )
    refused(lambda: run(tmp_path, f"dataset:{tmp_path / 'many'}"), "cannot be opened", "train")


@pytest.mark.parametrize("name, source", [("pyarrow", "a.parquet"), ("datasets", "dataset:some")])
def test_a_missing_library_says_what_to_install(tmp_path, monkeypatch, name, source):
    for module in [name, f"{name}.parquet"]:
        monkeypatch.setitem(sys.modules, module, None)
    if not source.startswith("dataset:"):
        source = tmp_path / source
        source.write_bytes(b"PAR1")
    refused(lambda: run(tmp_path, source), f"pip install {name}")


def test_sources_that_are_not_there_are_named(tmp_path):
    refused(lambda: run(tmp_path, tmp_path / "no"), "no", "dataset:NAME", kind=FileNotFoundError)
    (tmp_path / "empty").mkdir()
    refused(lambda: run(tmp_path, tmp_path / "empty"), "holds no files")
    (tmp_path / "a.txt").write_text("a")
    refused(lambda: run(tmp_path, tmp_path / "a.txt", tokenizer="gpt3"), "gpt3", "gpt2")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "wrong, kind",
    [
        ({"sources": ()}, ValueError),
        ({"sources": "a.txt"}, TypeError),
        ({"val_fraction": 1.0}, ValueError),
        ({"val_fraction": -0.1}, ValueError),
        ({"shard_tokens": 0}, ValueError),
        ({"workers": 0}, ValueError),
        ({"workers": 1.5}, TypeError),
        ({"errors": "ignore"}, ValueError),
    ],
)
def test_settings_that_cannot_be_are_refused(wrong, kind):
    refused(lambda: PrepareConfig(**({"sources": ("a",), "out": "b"} | wrong)), *wrong, kind=kind)
