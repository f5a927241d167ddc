"""A model that was trained by the page's code is the same model in Python and in transformers."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from gpt2_edu import GPT2, GPT2Config, crane, load_tokenizer
from gpt2_edu.bpe import train_bpe
from gpt2_edu.exercises import my_gpt2
from gpt2_edu.tokenizer import header_texts, make_encoding
from gpt2_edu.web import save_for_page
from gpt2_edu.weights import config_to_hugging_face
from tests.node import ask

# Every kind of piece: contractions, digits, white space of all sorts, bytes that are no Latin-1.
TEXT = "Über dem Moor hob   der Kran 🏗 1,234 Kraniche.\n\n\tIt's they'll\u00a0\u3000x \r\n ال"
NO_DROPOUT = {"embd_pdrop": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0}
SIZES = {"vocab_size": 400, "block_size": 11, "n_layer": 2, "n_head": 3, "n_embd": 21}
CONFIG = GPT2Config(**SIZES, **NO_DROPOUT, initializer_range=0.1)
PROMPTS = [[399], [5, 3, 398, 0, 7], list(range(11))]


@pytest.fixture(scope="module")
def encoding():
    learned = train_bpe([TEXT * 4, *map(crane.story, range(30))], 400)
    return make_encoding("own", learned)


@pytest.fixture
def gone(make_model, encoding, tmp_path):
    """A function that saves a model for the page and lets the page train and save it."""
    model = make_model(CONFIG)
    save_for_page(model, encoding, tmp_path / "before.safetensors")

    def go(steps: int) -> tuple[GPT2, Path, Path, list[list[float]]]:
        generator = torch.Generator().manual_seed(3)
        ids = torch.randint(400, (12,), generator=generator).tolist()
        request = {"steps": steps, "ids": ids, "prompts": PROMPTS, "out": str(tmp_path)}
        found = ask("run_goes.mjs", request | {"path": str(tmp_path / "before.safetensors")})
        with zipfile.ZipFile(tmp_path / found["names"][1]) as packed:
            assert packed.testzip() is None
            assert all(entry.compress_type == zipfile.ZIP_DEFLATED for entry in packed.filelist)
            packed.extractall(tmp_path / "unpacked")
        (folder,) = (tmp_path / "unpacked").iterdir()
        return model, tmp_path / found["names"][0], folder, found["logits"]

    return go


def test_there_and_back_changes_no_bit(gone, tmp_path):
    _, file, _, _ = gone(steps=0)
    before, after = load_file(tmp_path / "before.safetensors"), load_file(file)
    assert before.keys() == after.keys()
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())
    old, new = header_texts(tmp_path / "before.safetensors"), header_texts(file)
    assert new["format"] == "pt"
    assert json.loads(new["gpt2-edu.config"]) == config_to_hugging_face(CONFIG)
    assert json.loads(old["gpt2-edu.config"]) == config_to_hugging_face(CONFIG)


def test_logits_and_ids_are_those_of_the_page_in_python(gone, encoding):
    model, file, folder, logits = gone(steps=30)
    for path in (file, folder):
        again = GPT2.from_pretrained(path)
        assert again.config == CONFIG
        for prompt, expected in zip(PROMPTS, logits, strict=True):
            found = again(torch.tensor([prompt]))[0].flatten()
            assert (found - torch.tensor(expected)).abs().max() < 1e-5
            assert (model(torch.tensor([prompt]))[0].flatten() - found).abs().max() > 0.1
        tokenizer = load_tokenizer(path)
        assert tokenizer._mergeable_ranks == encoding._mergeable_ranks
        assert tokenizer.encode_ordinary(TEXT) == encoding.encode_ordinary(TEXT)


def test_the_readers_own_gpt2_loads_the_folder(gone, tmp_path, monkeypatch):
    """By chapter 12's ``load``, here the book's."""
    monkeypatch.chdir(tmp_path)
    _, _, folder, logits = gone(steps=30)
    mine = my_gpt2("weights").load(folder).eval()
    for prompt, expected in zip(PROMPTS, logits, strict=True):
        found = mine(torch.tensor([prompt])).detach().flatten()
        assert (found - torch.tensor(expected)).abs().max() < 1e-5


def test_logits_and_ids_are_those_of_the_page_in_transformers(gone, encoding):
    transformers = pytest.importorskip("transformers")
    _, _, folder, logits = gone(steps=30)
    again = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    assert type(again).__name__ == "GPT2LMHeadModel"
    for prompt, expected in zip(PROMPTS, logits, strict=True):
        found = again(torch.tensor([prompt])).logits.detach().flatten()
        assert (found - torch.tensor(expected)).abs().max() < 1e-5
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = encoding.encode_ordinary(TEXT)
    assert len({*ids}) > 30
    assert tokenizer(TEXT)["input_ids"] == ids
    assert tokenizer.decode(ids, clean_up_tokenization_spaces=False) == TEXT
    assert tokenizer.eos_token_id == encoding.eot_token == again.config.eos_token_id
    written = again.generate(torch.tensor([[399]]), max_new_tokens=3, do_sample=False)
    assert tokenizer.decode(written[0])
