"""Files from elsewhere: what lies is refused at once, what is damaged is never used."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import torch
from safetensors.torch import save_file

from gpt2_edu import GPT2, sample_next
from gpt2_edu.data.prepare import PrepareConfig, prepare
from gpt2_edu.data.shards import HEADER, read_header
from gpt2_edu.fast import pack
from gpt2_edu.machine import files
from gpt2_edu.machine.files import parse_json
from gpt2_edu.machine.messages import escape_control, join_some, short_repr

pytestmark = pytest.mark.slow

# Loads a checkpoint with its own config, then with each of those that lie: together in 200 MB.
BOUND = """
import json, resource, sys, time
from pathlib import Path
from gpt2_edu import GPT2
folder, lies = Path(sys.argv[1]), json.loads(sys.stdin.read())
GPT2.from_pretrained(folder)
config = json.loads((folder / "config.json").read_text())
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before, found = peak(), []
for lie in lies:
    (folder / "config.json").write_text(json.dumps(config | lie))
    began, said = time.process_time(), ""
    try:
        GPT2.from_pretrained(folder)
    except ValueError as error:
        said = str(error)
    found.append([time.process_time() - began, peak() - before, said])
print(json.dumps(found))
"""
LIES = [
    {"n_layer": 10**9},
    {"n_layer": 999},
    {"n_layer": 10**999},
    {"n_embd": 3 * 10**8},
    {"vocab_size": 2 * 10**9},
    {"n_embd": 3 * 2**29, "n_head": 3},
    {"layer_norm_epsilon": 1e999},
    {"n_inner": [0] * 100_000},
]


def test_a_config_that_lies_costs_no_memory_and_no_time(make_model, config, tmp_path):
    make_model(config).save_pretrained(tmp_path / "model")
    done = subprocess.run(
        [sys.executable, "-c", BOUND, tmp_path / "model"],
        input=json.dumps(LIES),
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONINTMAXSTRDIGITS": "0"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for lie, (seconds, memory, said) in zip(LIES, json.loads(done.stdout), strict=True):
        assert seconds < 3 and memory < 200e6, (list(lie), seconds, memory)
        assert 0 < len(said) < 1000 and "config.json" in said, list(lie)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize("where", ["h.1.attn.c_attn.weight", "wte.weight", "ln_f.bias"])
def test_weights_that_are_no_numbers_write_no_text(make_model, config, tmp_path, value, where):
    model = make_model(config)
    parameter = model.get_parameter(f"transformer.{where}")
    with torch.no_grad():
        parameter.view(-1)[3] = value
    with pytest.raises(ValueError, match=where):
        pack(model)
    model.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=f"non-finite values in transformer.{where}"):
        GPT2.from_pretrained(tmp_path)


@pytest.mark.parametrize("temperature", [0, 1.0])
@pytest.mark.parametrize("value", [NAN, INF])
def test_a_prediction_that_is_no_number_is_no_token(temperature, value):
    logits = torch.zeros(2, 5)
    logits[1, 3] = value
    with pytest.raises(FloatingPointError, match="not finite"):
        sample_next(logits, temperature=temperature)
    logits[1, 3] = -INF  # a token that somebody forbids
    assert (sample_next(logits, temperature=temperature) != 3)[1]


def test_a_vocabulary_that_its_tokenizer_lacks_is_refused(tmp_path):
    from gpt2_edu.data import TokenShards

    (tmp_path / "a.txt").write_text("A crane ate fish. " * 9)
    source, out = (str(tmp_path / name) for name in ("a.txt", "out"))
    prepare(PrepareConfig(sources=(source,), out=out, tokenizer="gpt2"))
    header = json.loads((tmp_path / "out" / HEADER).read_text())
    (tmp_path / "out" / HEADER).write_text(json.dumps(header | {"vocab_size": 60_000}))
    with pytest.raises(ValueError, match=r"hold 60,000 ids.*50,257"):
        _ = TokenShards(tmp_path / "out").encoding
    assert read_header(tmp_path / "out").vocab_size == 60_000


@pytest.mark.parametrize(
    ("name", "value"),
    [("overwrite", "no"), ("seed", None), ("seed", "x"), ("seed", float("nan")), ("out", "")]
    + [("val_fraction", NAN), ("shard_tokens", 10**400), ("tokenizer", 3)],
)
def test_a_setting_of_another_type_overwrites_nothing(name, value):
    with pytest.raises((TypeError, ValueError), match=name) as error:
        config = PrepareConfig(**{"sources": ("a",), "out": "b", name: value})
        assert config.shard_tokens == 10**400  # large, and a number
        raise ValueError(name)
    assert len(str(error.value)) < 200


def test_a_full_disk_names_the_file_and_leaves_nothing(tmp_path, make_model, config, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(
        OSError, match=r"the disk is full: not enough space for .*model.safetensors"
    ):
        make_model(config).save_pretrained(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_names_from_a_file_do_not_obey_in_a_terminal(tmp_path, make_model, config):
    model = make_model(config)
    state = {f"\x1b[31m{'x' * 500}{i}": torch.zeros(2) for i in range(500)}
    model.save_pretrained(tmp_path)
    save_file(state, tmp_path / "model.safetensors")
    with pytest.raises(ValueError) as error:
        GPT2.from_pretrained(tmp_path)
    said = str(error.value)
    assert said.replace("\n", "").isprintable() and len(said) < 10_000
    assert "and 5" in said and "more" in said


def test_what_is_shown_of_the_outside_is_short_and_plain():
    for value in ("\x1b[2J" * 999, "\u202e\ud800", 10**9999, [[[[[[1]]]]]] * 999, {"\x07": "\x9b"}):
        assert short_repr(value).isprintable() and len(short_repr(value)) < 300
    assert escape_control("one\ntwo\t\x1b[31m\x9b\u202e") == "one\ntwo\t\\x1b[31m\\x9b\\u202e"
    assert join_some(range(99), most=3) == "0, 1, 2, and 96 more"
    for text in (b"[" * 10**6, b"\xff", b"", b"{", b"9" * 10**5):
        with pytest.raises(ValueError, match=r"^x is not valid JSON"):
            parse_json(text, "x")


# ---- Calls that mean something else


def test_no_name_is_not_the_current_folder(make_model, config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for call in (GPT2.from_pretrained, make_model(config).save_pretrained):
        with pytest.raises(ValueError, match=r"'' names no file or folder"):
            call("")
    assert list(tmp_path.iterdir()) == []


def test_home_of_an_unknown_user_is_an_error_in_words(make_model, config):
    for call in (GPT2.from_pretrained, make_model(config).save_pretrained, read_header):
        with pytest.raises(ValueError, match="home directory of a user that this machine does not"):
            call("~no-such-user/model")
