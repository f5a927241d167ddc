"""Shards that notice damage, and a header that is checked before it is used."""

from __future__ import annotations

import json
import os

import pytest
import torch

from gpt2_edu import load_tokenizer
from gpt2_edu.data.shards import TokenShards, read_header, tokenizer_hash
from tests.data.helpers import SIZES, refused, write_shards

# ---- Reading ----------------------------------------------------------------------------------


def test_a_read_crosses_the_borders_of_shards(folder):
    shards = TokenShards(folder)
    assert len(shards) == sum(SIZES)
    everything = torch.arange(sum(SIZES))
    assert torch.equal(shards.read(0, len(shards)), everything)
    for start in range(len(shards)):
        for length in (0, 1, 13, 120):
            if start + length <= len(shards):
                read = shards.read(start, length)
                assert read.dtype == torch.int64
                assert torch.equal(read, everything[start : start + length]), (start, length)
    assert shards.read(len(shards), 0).shape == (0,)


@pytest.mark.parametrize("start, length", [(-1, 3), (0, 320), (319, 1), (3, -1)])
def test_a_read_outside_is_refused(folder, start, length):
    shards = TokenShards(folder)
    refused(lambda: shards.read(start, length), "'train'", "319")


def test_ids_above_65535_need_and_get_four_bytes(tmp_path):
    ids = [0, 65535, 65536, 2**31 + 7]
    write_shards(tmp_path, {"train-00000.bin": ids}, dtype="uint32", vocab_size=2**32)
    assert TokenShards(tmp_path).read(0, 4).tolist() == ids


def test_a_split_says_what_it_is(folder):
    train, val = TokenShards(folder), TokenShards(folder, "val")
    assert (train.tokenizer, train.vocab_size, train.dtype.name) == ("gpt2", 50257, "uint16")
    assert val.read(0, 2).tolist() == [1000, 1001]
    assert train.fingerprint != val.fingerprint
    assert TokenShards(str(folder)).fingerprint == train.fingerprint
    refused(lambda: TokenShards(folder, "test"), "'test'", "train, val")


def test_other_tokens_have_another_fingerprint(folder):
    before = TokenShards(folder).fingerprint
    files = {"train-00000.bin": [*range(1, 102)], "train-00001.bin": [*range(7)]}
    for path in folder.iterdir():
        path.unlink()
    write_shards(folder, files)
    assert TokenShards(folder).fingerprint != before


def test_a_split_that_was_not_made_is_named(tmp_path):
    write_shards(tmp_path, {"train-00000.bin": range(5)})
    refused(lambda: TokenShards(tmp_path, "val"), "no split 'val'", "val_fraction")


def test_one_flipped_bit_is_found_and_its_file_named(folder):
    path = folder / "train-00002.bin"
    raw = bytearray(path.read_bytes())
    raw[100] ^= 4
    path.write_bytes(raw)
    refused(lambda: TokenShards(folder), "train-00002.bin is damaged", "SHA-256")


@pytest.mark.parametrize("change", [-1, -2, 2])
def test_a_shard_of_another_size_is_found(folder, change):
    path = folder / "train-00001.bin"
    os.truncate(path, path.stat().st_size + change)
    refused(lambda: TokenShards(folder), "train-00001.bin", f"{14 + change} bytes", "14")


def test_a_missing_shard_is_named(folder):
    (folder / "train-00001.bin").unlink()
    call = lambda: TokenShards(folder)  # noqa: E731
    refused(call, "train-00001.bin is missing", "prepare the text again", kind=FileNotFoundError)


def test_shards_of_another_tokenizer_are_refused_with_both_hashes(folder):
    TokenShards(folder).check_tokenizer("gpt2")
    ours = tokenizer_hash(load_tokenizer("gpt2"))
    stored = json.loads((folder / "header.json").read_text())
    stored |= {"tokenizer": "other", "tokenizer_hash": "5" * 64}
    (folder / "header.json").write_text(json.dumps(stored))
    shards = TokenShards(folder)
    refused(lambda: shards.check_tokenizer("gpt2"), "'other'", "5" * 64, ours)


def test_the_hash_of_a_tokenizer_follows_all_that_decides_the_ids():
    import tiktoken

    def encoding(pattern=r"\w+|\W", ranks=(b"a", b"b", b"ab"), special="<|endoftext|>"):
        return tiktoken.Encoding(
            "t",
            pat_str=pattern,
            mergeable_ranks={token: i for i, token in enumerate(ranks)},
            special_tokens={special: 3},
        )

    same = tokenizer_hash(encoding())
    assert tokenizer_hash(encoding()) == same
    others = [
        encoding(pattern=r"\w|\W"),
        encoding(ranks=(b"b", b"a", b"ab")),
        encoding(special="<|end|>"),
    ]
    assert same not in [tokenizer_hash(other) for other in others]


# ---- The header -------------------------------------------------------------------------------


def test_a_folder_that_holds_no_shards_says_what_it_holds(tmp_path, folder):
    refused(
        lambda: TokenShards(tmp_path / "no"), "there is no folder", "no", kind=FileNotFoundError
    )
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("x")
    refused(
        lambda: TokenShards(tmp_path / "other"), "no header", "notes.txt", kind=FileNotFoundError
    )
    (folder / "header.json").unlink()
    (folder / ".unfinished").mkdir()
    refused(lambda: TokenShards(folder), "interrupted", "again", kind=FileNotFoundError)


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda h: h.update(version=2), "version 1"),
        (lambda h: h.update(format="x"), "reads only"),
        (lambda h: h.pop("dtype"), "lacks 'dtype'"),
        (lambda h: h.update(dtype="int16"), "'int16'"),
        (lambda h: h.update(vocab_size="many"), "'many'"),
        (lambda h: h.update(vocab_size=0), "cannot be 0"),
        (lambda h: h.update(tokenizer_hash=None), "tokenizer_hash must be str"),
        (lambda h: h["shards"][0].update(file="../train-00000.bin"), "no name for a"),
        (lambda h: h["shards"][0].update(split="val"), "no name for a"),
        (lambda h: h["shards"][0].update(tokens=0), "0 tokens"),
        (lambda h: h["shards"][0].update(sha256=7), "sha256 must be str"),
        (lambda h: h["shards"][0].pop("sha256"), "lacks 'sha256'"),
    ],
)
def test_a_header_that_makes_no_sense_is_refused(folder, change, said):
    stored = json.loads((folder / "header.json").read_text())
    change(stored)
    (folder / "header.json").write_text(json.dumps(stored))
    refused(lambda: read_header(folder), "header.json cannot be used", said)


@pytest.mark.parametrize("content", ["", '{"format": ', "[]", "\x00"])
def test_a_header_that_is_no_header_is_refused(folder, content):
    (folder / "header.json").write_text(content)
    refused(lambda: read_header(folder), "header.json cannot be used")
