"""Shards that notice damage, and a header that is checked before it is used."""

from __future__ import annotations

import json
import os

import pytest
import tiktoken
import torch

from gpt2_edu import load_tokenizer
from gpt2_edu.data.shards import TokenShards, read_header, tokenizer_hash
from tests.data.helpers import SIZES, refused, write_shards


def test_reads_across_shards(folder):
    shards = TokenShards(folder)
    everything = torch.arange(sum(SIZES))
    for start in range(len(shards) + 1):
        for length in (0, 1, 13, 120, len(shards)):
            if start + length <= len(shards):
                read = shards.read(start, length)
                assert read.dtype == torch.int64
                assert torch.equal(read, everything[start : start + length]), (start, length)


@pytest.mark.parametrize("start, length", [(-1, 3), (0, 320), (319, 1), (3, -1)])
def test_refuses_a_read_outside(folder, start, length):
    refused(lambda: TokenShards(folder).read(start, length), "'train'", "319")


def test_ids_above_65535_have_four_bytes(tmp_path):
    ids = [0, 65535, 65536, 2**31 + 7]
    write_shards(tmp_path, {"train-00000.bin": ids}, dtype="uint32", vocab_size=2**32)
    assert TokenShards(tmp_path).read(0, 4).tolist() == ids


def test_splits_and_fingerprints(folder):
    train, val = TokenShards(str(folder)), TokenShards(folder, "val")
    assert (train.tokenizer, train.vocab_size, train.dtype.name) == ("gpt2", 50257, "uint16")
    assert val.read(0, 2).tolist() == [1000, 1001]
    assert train.fingerprint == TokenShards(folder).fingerprint != val.fingerprint
    refused(lambda: TokenShards(folder, "test"), "'test'", "train, val")
    for path in folder.iterdir():
        path.unlink()
    write_shards(folder, {"train-00000.bin": [*range(1, 102)]})
    assert TokenShards(folder).fingerprint != train.fingerprint
    refused(lambda: TokenShards(folder, "val"), "no split 'val'", "val_fraction")


def test_names_a_damaged_shard(folder):
    path = folder / "train-00001.bin"
    raw = path.read_bytes()
    path.write_bytes(raw[:5] + bytes([raw[5] ^ 4]) + raw[6:])
    refused(lambda: TokenShards(folder), "train-00001.bin is damaged", "SHA-256")
    for size in (len(raw) - 1, len(raw) + 2):
        os.truncate(path, size)
        refused(lambda: TokenShards(folder), "train-00001.bin", f"{size} bytes", "14")
    path.unlink()
    refused(lambda: TokenShards(folder), "train-00001.bin is missing", kind=FileNotFoundError)


def test_refuses_shards_of_another_tokenizer(folder):
    assert TokenShards(folder).encoding is load_tokenizer("gpt2")
    stored = json.loads((folder / "header.json").read_text())
    (folder / "header.json").write_text(json.dumps(stored | {"tokenizer_hash": "5" * 64}))
    ours = tokenizer_hash(load_tokenizer("gpt2"))
    refused(lambda: TokenShards(folder).encoding, "of 'gpt2'", "5" * 64, ours)


def test_hash_of_a_tokenizer_follows_all_that_decides_the_ids():
    def encoding(pattern=r"\w+|\W", tokens=(b"a", b"b", b"ab"), special="<|endoftext|>"):
        ranks = {token: i for i, token in enumerate(tokens)}
        return tiktoken.Encoding(
            "t", pat_str=pattern, mergeable_ranks=ranks, special_tokens={special: 3}
        )

    others = [
        encoding(pattern=r"\w|\W"),
        encoding(tokens=(b"b", b"a", b"ab")),
        encoding(special="<|end|>"),
    ]
    same = tokenizer_hash(encoding())
    assert tokenizer_hash(encoding()) == same
    assert same not in map(tokenizer_hash, others)


def test_says_what_a_folder_without_header_holds(tmp_path, folder):
    missing = {"kind": FileNotFoundError}
    refused(lambda: TokenShards(tmp_path / "no"), "there is no folder", "no", **missing)
    (folder / "header.json").unlink()
    refused(lambda: TokenShards(folder), "no header", "train-00000.bin", **missing)
    (folder / ".unfinished").mkdir()
    refused(lambda: TokenShards(folder), "interrupted", **missing)


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
def test_refuses_a_header_that_makes_no_sense(folder, change, said):
    stored = json.loads((folder / "header.json").read_text())
    change(stored)
    (folder / "header.json").write_text(json.dumps(stored))
    refused(lambda: read_header(folder), "header.json cannot be used", said)


@pytest.mark.parametrize("content", ["", '{"format": ', "[]", "\x00"])
def test_refuses_a_header_that_is_none(folder, content):
    (folder / "header.json").write_text(content)
    refused(lambda: read_header(folder), "header.json cannot be used")
