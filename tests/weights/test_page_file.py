"""A model in one file, as the book's pages save it, goes wherever a model's folder goes."""

from __future__ import annotations

import base64
import gzip
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from gpt2_edu import GPT2, GPT2Config, Llama, LlamaConfig, load_model, load_tokenizer
from gpt2_edu.bpe import train_bpe
from gpt2_edu.cli import main
from gpt2_edu.models import load_model_tokenizer
from gpt2_edu.tokenizer import header_texts, make_encoding, ranks_of_merges
from gpt2_edu.web import merges, save_for_page
from tests.weights.helpers import assert_same_weights, refused

TEXT = "Über dem Moor hob der Kran 🏗 zwei Kraniche, or one crane lifted another. " * 9


@pytest.fixture(scope="module")
def encoding():
    return make_encoding("own", train_bpe([TEXT], 300))


@pytest.fixture
def model(make_model):
    return make_model(GPT2Config(vocab_size=300, block_size=13, n_layer=2, n_head=3, n_embd=21))


@pytest.fixture
def file(model, encoding, tmp_path) -> Path:
    save_for_page(model, encoding, tmp_path / "mine.safetensors")
    return tmp_path / "mine.safetensors"


def rewritten(file: Path, **changes: str | None) -> Path:
    """The file with other texts in its header."""
    texts = header_texts(file) | {f"gpt2-edu.{key}": text for key, text in changes.items()}
    texts = {key: text for key, text in texts.items() if text is not None}
    save_file(load_file(file), file, metadata=texts)
    return file


def packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, mtime=0)).decode()


def test_it_is_the_model_and_the_tokenizer_that_were_saved(file, model, encoding):
    again = GPT2.from_pretrained(str(file))
    assert again.config == model.config
    assert_same_weights(again, model)
    for tokenizer in (load_tokenizer(str(file)), load_model_tokenizer(file, again)):
        assert tokenizer.n_vocab == 300
        assert tokenizer._mergeable_ranks == encoding._mergeable_ranks
        assert tokenizer.encode_ordinary(TEXT) == encoding.encode_ordinary(TEXT)


@pytest.mark.parametrize("tied", [True, False])
def test_a_llama_is_read_back(encoding, tmp_path, tied):
    sizes = {"n_layer": 2, "n_head": 4, "n_kv_head": 2, "n_embd": 20, "n_inner": 24}
    config = LlamaConfig(
        vocab_size=300, block_size=13, head_size=6, tie_word_embeddings=tied, **sizes
    )
    llama = Llama(config).eval()
    file = tmp_path / "llama.safetensors"
    save_for_page(llama, encoding, file)
    again = load_model(file)
    assert isinstance(again, Llama) and again.config == config
    idx = torch.tensor([[1, 2, 3]])
    assert again.eval()(idx)[0].equal(llama(idx)[0])
    assert load_model_tokenizer(file, again).encode_ordinary(TEXT) == encoding.encode_ordinary(TEXT)


@pytest.mark.parametrize("name", ["crane", "gpt2"])
def test_merges_are_another_form_of_the_ranks(name):
    encoding = load_tokenizer(name)
    assert ranks_of_merges(merges(encoding)) == encoding._mergeable_ranks


def test_a_file_that_was_saved_again_is_read_again(file, make_model, model, encoding):
    GPT2.from_pretrained(file)
    other = make_model(model.config, seed=1)
    save_for_page(other, encoding, file)
    assert_same_weights(GPT2.from_pretrained(file), other)


@pytest.mark.thorough
def test_nothing_is_left_behind(file, tmp_path):
    """Also on a system that lets its user make no links."""
    code = """
import pathlib, sys, gpt2_edu
gpt2_edu.GPT2.from_pretrained(sys.argv[1])
refused = []
def refuse(*_):
    refused.append(True)
    raise OSError
pathlib.Path.symlink_to = refuse
gpt2_edu.GPT2.from_pretrained(sys.argv[1])
assert refused
"""
    (tmp_path / "temporary").mkdir()
    environment = {"TMPDIR": str(tmp_path / "temporary"), "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-c", code, str(file)]
    subprocess.run(command, env=environment, check=True)
    assert list((tmp_path / "temporary").iterdir()) == []
    assert file.is_file()


# ---- Commands ---------------------------------------------------------------------------------


def run(*words: object) -> None:
    main([str(word) for word in words])


def test_commands_take_it(file, tmp_path, capsys):
    run("generate", "Über", "--model", file, "--max-new-tokens", 5, "--no-stop")
    assert capsys.readouterr().out.startswith("Über")
    run("inspect", file)
    assert "300" in capsys.readouterr().out
    (tmp_path / "text.txt").write_text(TEXT * 30, encoding="utf-8")
    data = tmp_path / "data"
    run("prepare", tmp_path / "text.txt", "--out", data, "--tokenizer", file)
    assert load_tokenizer(data)._mergeable_ranks == load_tokenizer(file)._mergeable_ranks
    sizes = ("--block-size", 13, "--batch-size", 2, "--steps", 2, "--warmup-steps", 1)
    run("train", "--data", data, "--out", tmp_path / "run", "--init-from", file, *sizes)
    begun, done = GPT2.from_pretrained(file), GPT2.from_pretrained(tmp_path / "run")
    moved = (done.wte.weight - begun.wte.weight).abs().max()
    assert 0 < moved < 0.01


def test_export_makes_a_folder_of_it_and_a_file_again(file, tmp_path, capsys):
    run("export", file, "--out", tmp_path / "folder")
    assert f"{file} → {tmp_path / 'folder'}" in capsys.readouterr().out
    assert_same_weights(GPT2.from_pretrained(tmp_path / "folder"), GPT2.from_pretrained(file))
    run("export", tmp_path / "folder", "--out", tmp_path / "again.safetensors", "--page")
    again = tmp_path / "again.safetensors"
    assert header_texts(again) == header_texts(file)
    assert_same_weights(GPT2.from_pretrained(again), GPT2.from_pretrained(file))


# ---- Damaged and hostile files ----------------------------------------------------------------


def test_a_file_without_a_config_asks_for_one(file, folder):
    refused(rewritten(file, config=None), ValueError, "mine.safetensors has no config", "--page")
    refused(folder / "model.safetensors", ValueError, "give the folder of its config.json")


def test_a_file_that_is_not_there_is_named(tmp_path):
    refused(tmp_path / "typo.safetensors", FileNotFoundError, "there is no file", "typo.safetens")


def test_a_file_that_was_cut_off_is_named(file):
    file.write_bytes(file.read_bytes()[:-9])
    refused(file, ValueError, "mine.safetensors cannot be read as safetensors", "bytes")
    with pytest.raises(ValueError, match=r"mine\.safetensors cannot be read"):
        load_tokenizer(file)


def test_a_config_of_another_model_is_refused(file):
    refused(rewritten(file, config="{"), ValueError, "is not valid JSON")
    refused(
        rewritten(file, config='{"model_type": "bert"}'),
        ValueError,
        "config.json does not describe",
    )


def test_without_a_tokenizer_it_is_a_model_that_asks_for_one(file, model):
    assert_same_weights(GPT2.from_pretrained(rewritten(file, merges=None)), model)
    with pytest.raises(ValueError, match="no tokenizer in its header"):
        load_tokenizer(file)


@pytest.mark.parametrize(
    "damaged",
    [
        "no base64!",
        base64.b64encode(b"no gzip").decode(),
        packed(bytes(range(256)) + b"\0\0\0\1")[:-12] + "AAAAAAAAAAAA",
        packed(bytes(range(256)))[:40],
        packed(b""),
        packed(bytes(range(255))),
        packed(bytes(256)),
        packed(bytes(range(256)) + b"\0\0\0"),
        packed(bytes(range(256)) + b"\0\0"),
        packed(bytes(range(256)) + b"\0\0\0\1"),
        packed(bytes(range(256)) + b"\0\0\1\0" * 2),
        packed(bytes(range(256)) + b"".join(2 * n.to_bytes(2, "little") for n in range(255, 300))),
        packed(bytes(2**24)),
    ],
)
def test_a_damaged_tokenizer_is_named(file, damaged):
    rewritten(file, merges=damaged)
    with pytest.raises(ValueError, match=r"tokenizer in the header of .*mine\.safetensors is dam"):
        load_tokenizer(file)
    with pytest.raises(ValueError, match="is damaged"):
        GPT2.from_pretrained(file)
