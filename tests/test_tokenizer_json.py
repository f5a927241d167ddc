"""A tokenizer.json beside a model: as the tokenizers package has it, with tiktoken's methods."""

from __future__ import annotations

import dataclasses
import json

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from gpt2_edu import Llama, LlamaConfig, load_model, load_tokenizer, stream_text
from gpt2_edu.cli import main
from gpt2_edu.exhibits import Bars, Tokens
from gpt2_edu.models import load_model_tokenizer
from gpt2_edu.tokenizer_json import TokenizerJSON, bytes_of_characters

TEXTS = ["A crane ate a fish.", "naïve  café\n\tЖуравль", "🐟 <|endoftext|> 鹤", "", "\x00\xad\xa0"]
SIZES = LlamaConfig(
    vocab_size=320, block_size=32, n_layer=1, n_head=2, n_kv_head=1, n_embd=8, n_inner=12,
    head_size=4,
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small model as the hub keeps one, with 20 rows more than its tokenizer has tokens."""
    folder = tmp_path_factory.mktemp("model")
    theirs = Tokenizer(models.BPE())
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    theirs.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<|endoftext|>", "<|im_start|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    theirs.train_from_iterator(TEXTS * 20, trainer)
    theirs.save(str(folder / "tokenizer.json"))
    Llama(SIZES).save_pretrained(folder)
    return folder


@pytest.fixture
def ours(folder) -> TokenizerJSON:
    return TokenizerJSON(folder, "<|endoftext|>")


@pytest.mark.parametrize("text", TEXTS)
def test_ids_and_text_are_those_of_tokenizers(text, folder, ours):
    theirs = Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids = theirs.encode(text, add_special_tokens=False).ids
    plain = ours.encode_ordinary(text)
    assert ours.encode(text, allowed_special="all") == ids
    assert ours.decode(ids) == text == "".join(stream_text(ours, ids))
    assert ours.decode(plain) == text and ours.eot_token not in plain
    if "<|" not in text:
        assert plain == ids == ours.encode(text)


def test_the_table_of_bytes_is_that_of_gpt2():
    table = bytes_of_characters()
    assert {*table} == {*pre_tokenizers.ByteLevel.alphabet()}
    assert sorted(table.values()) == list(range(256))
    assert table["A"] == 65 and table["Ġ"] == 32 and table["Ċ"] == 10


def test_a_special_token_in_a_text_is_refused_unless_allowed(ours):
    with pytest.raises(ValueError, match=r"the special token '<\|im_start\|>'"):
        ours.encode("a <|im_start|> b")


def test_the_end_of_a_text_is_what_the_model_says(folder, tmp_path):
    for name in ("tokenizer.json", "config.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    assert TokenizerJSON(tmp_path, "<|endoftext|>").eot_token == 0
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [1, 0]}')
    assert TokenizerJSON(tmp_path, "<|endoftext|>").eot_token == 1
    (tmp_path / "generation_config.json").unlink()
    with pytest.raises(ValueError, match="does not say which token ends a text"):
        TokenizerJSON(tmp_path, "<eos>")


def test_an_id_without_a_token_is_refused(ours):
    with pytest.raises(ValueError, match="is not an id of"):
        list(stream_text(ours, [300]))


@pytest.mark.parametrize("content, message", [
    ("{", "cannot be read"),
    (None, "is not a byte-level vocabulary.* its decoder is 'Metaspace'"),
])  # fmt: skip
def test_another_file_is_refused(content, message, folder, tmp_path):
    if content is None:
        stored = json.loads((folder / "tokenizer.json").read_text())
        stored["decoder"] = {
            "type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True
        }  # fmt: skip
        content = json.dumps(stored)
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ValueError, match=message):
        TokenizerJSON(tmp_path, "<|endoftext|>")


def test_the_commands_take_such_a_model(folder, capsys):
    model = load_model(folder)
    assert type(model) is Llama and load_model("crane").config.n_layer == 3
    assert load_model_tokenizer(folder, model).n_vocab == 300
    options = ["--max-new-tokens", "5", "--seed", "1", "--no-stop"]
    assert main(["generate", "A crane", "--model", str(folder), *options]) is None
    assert capsys.readouterr().out.startswith("A crane")
    assert main(["score", "A crane ate", "--model", str(folder)]) is None
    assert "nats" in capsys.readouterr().out
    assert main(["tokenize", "A 鹤", "--tokenizer", str(folder), "--ids"]) is None
    assert capsys.readouterr().out == "34 292\n"
    assert main(["tokenize", "34 292", "--tokenizer", str(folder), "--decode"]) is None
    assert capsys.readouterr().out == "A 鹤\n"


def test_exhibits_show_its_tokens(ours):
    ids = ours.encode_ordinary("A 鹤")
    shown = Tokens("A 鹤", ours)
    assert shown.ids == ids and shown.labels == ["A", "␣鹤"]
    probabilities = torch.zeros(ours.n_vocab).index_fill_(0, torch.tensor(ids), 1 / len(ids))
    assert {*Bars.of(probabilities, ours, rows=len(ids)).now} == {*shown.labels}


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(folder, tmp_path):
    Llama(dataclasses.replace(SIZES, vocab_size=299)).save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    with pytest.raises(ValueError, match=r"the model has 299 tokens, the tokenizer .* 300"):
        load_model_tokenizer(tmp_path, load_model(tmp_path))


def test_a_model_without_a_tokenizer_says_so(tmp_path):
    Llama(SIZES).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="no tokenizer of this package has 320 tokens"):
        load_model_tokenizer(tmp_path, load_model(tmp_path))
    assert load_tokenizer("crane").n_vocab == 1024
