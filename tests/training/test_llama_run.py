"""Runs of Llamas: new and from a folder, stopped and resumed, with a tokenizer.json, exported."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from gpt2_edu import GPT2, Llama, LlamaConfig, load_model
from gpt2_edu.cli import main
from gpt2_edu.cli.train import train_config
from gpt2_edu.data import TokenShards
from gpt2_edu.data.prepare import PrepareConfig, prepare
from gpt2_edu.models import load_config, load_model_tokenizer
from gpt2_edu.tokenizer import VOCABULARY
from gpt2_edu.tokenizer_json import TokenizerJSON
from gpt2_edu.trainer import Trainer
from gpt2_edu.training.config import LOG
from gpt2_edu.training.run_log import read_log
from tests.training.small_run import press_ctrl_c, result, small_config

LLAMA = {"family": "llama", "n_embd": 24, "n_kv_head": 1, "dropout": 0.0}
TEXT = "By the river, the crane ate fish, and Ivo forgot the time. " * 80


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("llama") / "run"
    Trainer(small_config(data, out, **LLAMA)).train()
    return out


def test_a_run_leaves_a_llama_that_has_learned(finished, data):
    model = load_model(finished)
    expected = LlamaConfig(
        vocab_size=97, block_size=13, n_layer=2, n_head=3, n_kv_head=1, n_embd=24, n_inner=64,
        head_size=8, rope_base=10_000.0, initializer_range=model.config.initializer_range,
    )  # fmt: skip
    assert type(model) is Llama and model.config == expected
    rows = read_log(finished / LOG)
    assert rows[0]["parameters"] == model.num_parameters()
    assert "N·(H + K)·D·C" in rows[0]["utilisation_is"]
    losses = [row["val_loss"] for row in rows if "val_loss" in row]
    assert losses[-1] < losses[0] - 0.1
    assert any("sample" in row for row in rows)


@pytest.mark.parametrize("stopped_after", [1, 5, 9])
def test_a_run_that_was_stopped_and_resumed_equals_one_that_was_not(
    stopped_after, data, finished, tmp_path
):
    out = tmp_path / "run"
    Trainer(small_config(data, out, **LLAMA), on_log=press_ctrl_c(stopped_after)).train()
    assert stopped_after <= read_log(out / LOG)[-1]["step"] < 12
    done = Trainer.resume(out).train()
    assert done.finished and result(out) == result(finished)


def test_a_run_is_not_resumed_as_another_family(data, finished):
    with pytest.raises(ValueError, match="family was 'llama', is now 'gpt2'"):
        other = LLAMA | {"family": "gpt2", "n_kv_head": None}
        Trainer(small_config(data, finished, resume=True, **other)).train()


def test_the_weights_to_start_from_are_used(data, finished, tmp_path):
    settings = {"n_layer": None, "n_head": None, "n_embd": None, "dropout": 0.0, "steps": 4}
    config = small_config(data, tmp_path / "run", init_from=str(finished), **settings)
    Trainer(config).train()
    first, _ = (read_log(tmp_path / "run" / LOG)[i] for i in (0, 1))
    last = min(row["val_loss"] for row in read_log(finished / LOG) if "val_loss" in row)
    assert first["val_loss"] == pytest.approx(last, rel=1e-5)


# ---- A model of the hub, with its tokenizer.json -------------------------------------------------


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A small model with more rows than its tokenizer has tokens."""
    folder = tmp_path_factory.mktemp("published") / "model"
    sizes = {"vocab_size": 320, "block_size": 32, "n_layer": 1, "n_head": 2, "n_kv_head": 1}
    config = LlamaConfig(**sizes, n_embd=8, n_inner=12, head_size=4, initializer_range=0.2)
    Llama(config).save_pretrained(folder)
    theirs = Tokenizer(models.BPE())
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    theirs.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=290,
        special_tokens=["<|endoftext|>", "<|im_start|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    theirs.train_from_iterator([TEXT], trainer)
    theirs.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="module")
def text(published, tmp_path_factory):
    """Shards of a text in the model's own tokens."""
    folder = tmp_path_factory.mktemp("text")
    (folder / "a.txt").write_text(TEXT)
    prepare(PrepareConfig(sources=(str(folder / "a.txt"),), out=str(folder / "data"),
                          tokenizer=str(published)))  # fmt: skip
    return folder / "data"


def tuned(text, published, out, **changed):
    sizes = {"n_layer": None, "n_head": None, "n_embd": None, "dropout": 0.0}
    return small_config(text, out, init_from=str(published), **sizes | changed)


def test_shards_keep_a_tokenizer_json_and_the_token_that_ends_a_text(text, published):
    shards = TokenShards(text)
    model = Llama.from_pretrained(published)
    theirs = load_model_tokenizer(published, model)
    assert isinstance(shards.encoding, TokenizerJSON)
    assert shards.header.tokenizer == "tokenizer.json" and shards.vocab_size == theirs.n_vocab
    ids = shards.read(0, 40).tolist()
    assert ids[0] == shards.encoding.eot_token == theirs.eot_token
    assert TEXT.startswith(theirs.decode(ids[1:]))
    changed = (text / "tokenizer.json").read_text().replace("<|im_start|>", "<|im_begin|>")
    kept = (text / "tokenizer.json").read_text()
    (text / "tokenizer.json").write_text(changed)
    try:
        with pytest.raises(ValueError, match="is another tokenizer"):
            _ = TokenShards(text).encoding
    finally:
        (text / "tokenizer.json").write_text(kept)


def test_a_llama_of_a_folder_is_tuned_resumed_and_exported(text, published, tmp_path, capsys):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    Trainer(tuned(text, published, whole)).train()
    Trainer(tuned(text, published, parts), on_log=press_ctrl_c(5)).train()
    Trainer.resume(parts).train()
    assert result(parts) == result(whole)

    model = load_model(whole)
    tokenizer = load_model_tokenizer(whole, model)
    theirs = load_model_tokenizer(published, model)
    assert tokenizer.encode_ordinary(TEXT[:50]) == theirs.encode_ordinary(TEXT[:50])
    assert tokenizer.eot_token == theirs.eot_token
    assert main(["export", str(whole), "--out", str(tmp_path / "mine")]) is None
    assert {*VOCABULARY[1:]} <= {path.name for path in (tmp_path / "mine").iterdir()}
    idx = torch.tensor([tokenizer.encode_ordinary("By the river")])
    assert load_model(tmp_path / "mine")(idx)[0].equal(model(idx)[0])
    options = ["--max-new-tokens", "5", "--seed", "1", "--no-stop"]
    assert main(["generate", "By the river", "--model", str(tmp_path / "mine"), *options]) is None
    with pytest.raises(SystemExit):
        main(["export", str(whole), "--out", str(tmp_path / "mine.safetensors"), "--page"])
    assert "the pages read merges like GPT-2's, and not " in capsys.readouterr().err


def test_a_sample_with_an_id_that_no_token_has_is_shown(text, published, tmp_path):
    """A row beyond the tokenizer's may be drawn from a model that has not learned not to."""
    trainer = Trainer(tuned(text, published, tmp_path / "run", steps=4))
    trainer.train()
    assert trainer.tokenizer.decode([trainer.tokenizer.n_vocab, *trainer.prompt]).startswith("�")


# ---- Refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("changed, message", [
    (LLAMA | {"dropout": 0.1}, "a Llama has no dropout: leave out dropout=0.1"),
    ({"n_kv_head": 1}, "n_kv_head=1 is for family='llama'"),
    (LLAMA | {"n_kv_head": 2}, "n_head=3 is not divisible by n_kv_head=2"),
    (LLAMA | {"n_embd": 21}, "head_size=7 is odd"),
    (LLAMA | {"init_from": "there"}, "init_from has its own family and sizes: leave out model"),
    ({"family": "mistral"}, "family must be"),
])  # fmt: skip
def test_settings_that_do_not_go_together_are_refused(changed, message, tmp_path):
    with pytest.raises((TypeError, ValueError), match=message):
        small_config(tmp_path, tmp_path / "run", **changed)


def test_dropout_is_refused_for_a_llama_to_start_from(text, published, tmp_path):
    with pytest.raises(ValueError, match="a Llama has no dropout"):
        Trainer(tuned(text, published, tmp_path / "run", dropout=0.1)).train()
    assert not (tmp_path / "run").exists()


def test_text_of_another_tokenizer_is_refused(data, text, finished, published, tmp_path):
    with pytest.raises(ValueError, match="has a vocabulary of 290 tokens, and the text in"):
        Trainer(tuned(data, published, tmp_path / "run")).train()
    with pytest.raises(ValueError, match=r"has 97 ids .* have 290 ids"):
        Trainer(tuned(text, finished, tmp_path / "run")).train()
    assert not (tmp_path / "run").exists()


# ---- The command line ----------------------------------------------------------------------------


def test_a_run_is_proposed_for_a_llama_too(text):
    given = {"data": str(text), "family": "llama", "n_embd": 32, "steps": 50}
    config = train_config(**given)
    assert (config.family, config.dropout, config.n_embd) == ("llama", 0.0, 32)
    assert type(config.model_config(290)) is LlamaConfig
    for field in dataclasses.fields(config):
        if field.name not in ("family", "dropout"):
            other = train_config(**given | {"family": "gpt2"})
            assert getattr(config, field.name) == getattr(other, field.name), field.name


def test_a_run_from_a_long_window_uses_a_part_of_it_unless_told(published, tmp_path):
    model = load_model(published)
    sizes = dataclasses.replace(model.config, block_size=8192)
    Llama(sizes).save_pretrained(tmp_path)
    assert train_config(init_from=str(tmp_path)).block_size == 1024
    assert train_config(init_from=str(tmp_path), block_size=2048).block_size == 2048
    assert train_config(init_from=str(published)).block_size == 32
    assert train_config(init_from=str(tmp_path)).model_config(290) == sizes


def test_the_command_trains_a_llama(data, tmp_path):
    sizes = "--n-layer 1 --n-head 2 --n-embd 16 --n-kv-head 1 --block-size 8 --dropout 0".split()
    run = "--steps 2 --batch-size 2 --eval-every 0 --sample-every 0 --quiet --device cpu".split()
    out = tmp_path / "run"
    paths = ["--data", str(data), "--out", str(out), "--model", "gpt2", "--family", "llama"]
    assert main(["train", *paths, *sizes, *run]) is None
    assert load_config(out).n_kv_head == 1
    with pytest.raises(ValueError, match="model_type is 'llama', not 'gpt2'"):
        GPT2.from_pretrained(out)
