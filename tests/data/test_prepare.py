"""A preparation is whole or absent, splits its documents, and overwrites nothing unasked."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpt2_edu.data.prepare
from gpt2_edu.bpe import train_bpe
from gpt2_edu.data import TokenShards
from gpt2_edu.data.prepare import PrepareConfig, ShardWriter, is_for_validation, replace_shards
from gpt2_edu.data.sources import in_parts
from gpt2_edu.machine.files import locked
from gpt2_edu.tokenizer import RANKS, save_ranks
from tests.data.helpers import ENCODING, EOT, STORIES, content, ids_of, refused, run
from tests.thorough import thorough

pytestmark = pytest.mark.slow


def test_takes_validation_from_all_over_one_document(tmp_path, small_pieces):
    """Its last pages alone can be an index, or another matter."""
    text = "".join(STORIES) * 6
    (tmp_path / "play.txt").write_text(text)
    header = run(tmp_path, tmp_path / "play.txt", val_fraction=0.2)
    train, val = ids_of(tmp_path / "out"), ids_of(tmp_path / "out", "val")
    whole = [EOT, *ENCODING.encode_ordinary(text)]
    parts, count = 3, round(0.2 * len(whole)) // 3  # of at least 256 tokens
    assert header.made["validation"].startswith("3 passages")
    ends = [len(whole) * (part + 1) // parts for part in range(parts)]
    assert val == [i for end in ends for i in whole[end - count : end]]
    assert train == [i for a, b in zip([0, *ends], ends) for i in whole[a : b - count]]
    assert 97 < count and header.documents == 1  # some shards are for validation as a whole


def test_ids_take_two_bytes_where_all_fit_in_them(tmp_path):
    assert [ShardWriter(tmp_path, 1, size).dtype for size in (2**16, 2**16 + 1)] == ["<u2", "<u4"]


def test_few_documents_leave_a_validation_split_unless_unwanted(tmp_path, jsonl):
    jsonl.write_text("\n".join(jsonl.read_text().splitlines()[:3]))
    run(tmp_path, jsonl, val_fraction=0.05)
    train, val = ids_of(tmp_path / "out"), ids_of(tmp_path / "out", "val")
    assert len(val) == max(1, round(0.05 * (len(train) + len(val))))
    header = run(tmp_path, jsonl, val_fraction=0, overwrite=True)
    assert {shard.split for shard in header.shards} == {"train"}


def test_draws_by_number_and_seed():
    drawn = [[is_for_validation(i, seed, 0.1) for i in range(20000)] for seed in (0, 1)]
    assert drawn[0] != drawn[1]
    assert all(1800 < sum(of_seed) < 2200 for of_seed in drawn)
    assert not any(is_for_validation(0, seed, 0.9) for seed in range(9))  # the first always trains
    # A larger fraction keeps what a smaller one drew.
    assert all(is_for_validation(i, 0, 0.2) for i in range(20000) if drawn[0][i])


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
        ({"vocab_size": 300, "tokenizer": "gpt2"}, ValueError),
    ],
)
def test_refuses_settings_by_name(wrong, kind):
    refused(lambda: PrepareConfig(**({"sources": ("a",), "out": "b"} | wrong)), *wrong, kind=kind)


def test_threads_change_no_byte(tmp_path, jsonl, small_pieces):
    for name, workers in (("one", 1), ("five", 5)):
        run(tmp_path, jsonl, out=str(tmp_path / name), workers=workers, val_fraction=0.2)
    assert content(tmp_path / "one") == content(tmp_path / "five")


# ---- A vocabulary of its own --------------------------------------------------------------------


def learned(tmp_path, text: str | bytes, **settings) -> TokenShards:
    """What becomes of a text for which no tokenizer is named."""
    raw = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "text.txt").write_bytes(raw)
    run(tmp_path, tmp_path / "text.txt", tokenizer=None, overwrite=True, **settings)
    return TokenShards(tmp_path / "out")


def read(shards: TokenShards) -> str:
    """The text of a split without validation."""
    first, *ids = ids_of(shards.folder)
    assert first == shards.encoding.eot_token
    return shards.encoding.decode(ids)


def test_a_text_gets_a_vocabulary_of_its_own_that_its_shards_carry(tmp_path):
    text = " ".join(f"The crane flew over lake {i}." for i in range(2000))  # of 57 kB
    shards = learned(tmp_path, text, val_fraction=0)
    assert shards.vocab_size == round(2 * len(text) ** 0.5) == shards.encoding.n_vocab > 400
    assert shards.encoding.encode_ordinary("The crane") == ids_of(tmp_path / "out")[1:3]
    assert read(shards) == text
    assert learned(tmp_path, text, vocab_size=300).vocab_size == 300

    before = content(tmp_path / "out")
    for name in (tmp_path / "out", tmp_path / "out" / RANKS):  # for another text
        (tmp_path / "other.txt").write_text("The other crane. ")
        run(tmp_path, tmp_path / "other.txt", out=str(tmp_path / "two"), tokenizer=str(name),
            overwrite=True)  # fmt: skip
        assert (tmp_path / "two" / RANKS).read_bytes() == before[RANKS]
    run(tmp_path, tmp_path / "other.txt", out=str(tmp_path / "two"), overwrite=True)
    assert not (tmp_path / "two" / RANKS).exists()  # now GPT-2's
    save_ranks(train_bpe([text], 300), tmp_path / "out" / RANKS)
    assert TokenShards(tmp_path / "out").encoding.n_vocab == 300  # the same
    save_ranks(train_bpe(["other text"], 260), tmp_path / "out" / RANKS)
    refused(lambda: TokenShards(tmp_path / "out").encoding, "is another tokenizer")


@pytest.mark.parametrize(
    "text, settings, parts",
    [
        ("A crane ate.", {}, ("12 bytes of text are too few", "1,000")),
        ("A crane ate. " * 99, {"vocab_size": 2000}, ("vocab_size=2000 is too many", "at most 2")),
        ("A crane ate. " * 99, {"vocab_size": 200}, ("at least 257",)),
        ("A crane ate. ".encode("utf-16-le") * 99, {}, ("NUL", "UTF-16", "save it as UTF-8")),
        ("A crâne ate. ".encode("latin-1") * 99, {}, ("is not UTF-8",)),
        ("A crane ate. ".encode("utf-16")[:-1], {}, ("is not UTF-16",)),
        ("", {}, ("no text in",)),
    ],
)
def test_a_text_that_will_not_do_is_refused_and_nothing_is_left(tmp_path, text, settings, parts):
    refused(lambda: learned(tmp_path, text, **settings), *parts)
    assert not (tmp_path / "out").exists()


def test_texts_of_other_kinds_give_a_vocabulary_too(tmp_path):
    chinese = "".join(f"第{i}只鹤在湖边吃鱼。" for i in range(200))
    assert chinese in read(learned(tmp_path, chinese, val_fraction=0))
    text = "The crane eats fish. \n" * 99
    shards = learned(tmp_path, text)
    assert shards.vocab_size < 280 and "repeats itself" in shards.header.made["vocabulary"]
    assert read(learned(tmp_path, text.encode("utf-16"), val_fraction=0)) == text


def test_merges_of_a_long_text_are_learned_from_pieces_of_all_of_it(
    tmp_path, small_pieces, monkeypatch
):
    monkeypatch.setattr(gpt2_edu.data.prepare, "SAMPLE", 2000)
    text = " ".join(f"{'crane' if i < 600 else 'otter'} {i}" for i in range(1200))
    shards = learned(tmp_path, text, vocab_size=280)
    assert "from 1 in 8 of its pieces" in shards.header.made["vocabulary"]
    tokens = {shards.encoding.decode([i]) for i in range(280)}
    assert {" crane", " otter"} <= tokens


def test_merges_of_a_document_on_one_line_are_learned_from_bounded_parts(tmp_path, monkeypatch):
    """A line of 10 MB without a space was a single word, which every merge went through."""
    monkeypatch.setattr(gpt2_edu.data.prepare, "SAMPLE", 2000)
    monkeypatch.setattr(gpt2_edu.data.prepare, "PART", 500)
    learned_from = []

    def learn(texts, *args, **kwargs):
        learned_from.extend(texts)
        return train_bpe(texts, *args, **kwargs)

    monkeypatch.setattr(gpt2_edu.data.prepare, "train_bpe", learn)
    text = "".join(f"{chr(0x4E00 + i * i % 99)}鹤" for i in range(4000))
    (tmp_path / "one.jsonl").write_text(json.dumps({"text": text}, ensure_ascii=False))
    header = run(tmp_path, tmp_path / "one.jsonl", tokenizer=None, vocab_size=300, val_fraction=0)
    assert max(map(len, learned_from)) == 500 and sum(map(len, learned_from)) <= 2000
    assert "from 1 in 4 of its pieces" in header.made["vocabulary"]
    assert read(TokenShards(tmp_path / "out")) == text


@given(text=st.text(st.sampled_from("ab 1.\n鶴,")), longest=st.integers(1, 9))
def test_parts_are_the_text_and_none_is_too_long(text, longest):
    parts = list(in_parts(text, longest))
    assert "".join(parts) == text and max(map(len, parts)) <= longest


class PowerCut(BaseException):
    """What no handler catches."""


@pytest.mark.parametrize("overwrite", [thorough(False), True])
def test_a_kill_at_any_step_leaves_old_new_or_nothing(
    tmp_path, jsonl, small_pieces, monkeypatch, overwrite
):
    """Stops it before its n-th change of the disk, for every n, until a run comes through."""
    jsonl.write_text("\n".join(jsonl.read_text().splitlines()[:23]))
    run(tmp_path, jsonl, out=str(tmp_path / "undisturbed"), val_fraction=0.2)
    wanted, new = content(tmp_path / "undisturbed"), TokenShards(tmp_path / "undisturbed").header
    play = tmp_path / "play.txt"
    play.write_text("".join(STORIES[:9]))

    for step in range(1000):
        out, left = tmp_path / f"out{step}", [step]
        old = run(tmp_path, play, out=str(out)) if overwrite else None

        def counted(function, left=left):
            def call(*args, **kwargs):
                left[0] -= 1
                if left[0] < 0:
                    raise PowerCut
                return function(*args, **kwargs)

            return call

        with monkeypatch.context() as patch:
            for place, name in (
                (os, "fsync"), (os, "replace"), (os, "rename"), (Path, "unlink"), (Path, "mkdir"),
            ):  # fmt: skip
                patch.setattr(place, name, counted(getattr(place, name)))
            patch.setattr("shutil.rmtree", counted(lambda *args, **kwargs: None))
            try:
                run(tmp_path, jsonl, out=str(out), val_fraction=0.2, overwrite=overwrite)
                break
            except PowerCut:
                pass
        if (out / "header.json").exists():
            assert TokenShards(out).header in (old, new)
        again = overwrite or (out / "header.json").exists()
        run(tmp_path, jsonl, out=str(out), val_fraction=0.2, overwrite=again)
        assert content(out) == wanted, f"stopped at step {step}"
    assert step > 10


def test_all_files_are_on_the_disk_under_their_names_before_the_header_is(tmp_path, monkeypatch):
    part, done = tmp_path / "part", []
    part.mkdir()
    for name in ("header.json", "train-00000.bin", "val-00000.bin"):
        (part / name).write_text("1")
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: done.append(b.name) or replace(a, b))
    monkeypatch.setattr(gpt2_edu.data.prepare, "sync", lambda path: done.append("synced"))
    replace_shards(tmp_path, part)
    shard = done.index("val-00000.bin")
    assert done[shard:] == ["val-00000.bin", "synced", "header.json", "synced"]


def test_replaces_finished_shards_only_on_request_and_with_success(tmp_path, jsonl):
    run(tmp_path, jsonl, shard_tokens=50)
    before, text = content(tmp_path / "out"), jsonl.read_text()
    refused(lambda: run(tmp_path, jsonl), "holds finished shards", "overwrite=True")
    jsonl.write_text("{broken")
    refused(lambda: run(tmp_path, jsonl, overwrite=True), "stories.jsonl:1")
    assert content(tmp_path / "out") == before
    jsonl.write_text(text)
    run(tmp_path, jsonl, overwrite=True)
    assert len(content(tmp_path / "out")) < len(before)
    TokenShards(tmp_path / "out")


def test_leaves_a_folder_of_other_things_alone(tmp_path, jsonl):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    refused(lambda: run(tmp_path, jsonl), "not empty", "thesis.txt")
    run(tmp_path, jsonl, overwrite=True)
    assert (tmp_path / "out" / "thesis.txt").read_text() == "years of work"
    refused(lambda: run(tmp_path, tmp_path), "lies inside the source")
    refused(lambda: run(tmp_path, jsonl, out=str(jsonl)), "lies inside the source")


def test_refuses_a_folder_in_use(tmp_path, jsonl):
    (tmp_path / "out").mkdir()
    with locked(tmp_path / "out"):
        refused(lambda: run(tmp_path, jsonl), "another process is writing", kind=BlockingIOError)
    run(tmp_path, jsonl)
