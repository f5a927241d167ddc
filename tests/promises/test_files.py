"""Files from elsewhere: what lies is refused at once, what is damaged is never used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from gpt2_edu import GPT2, KVCache, generate, load_tokenizer, sample_next
from gpt2_edu.data.prepare import PrepareConfig, prepare
from gpt2_edu.data.shards import HEADER, read_header
from gpt2_edu.fast import pack
from gpt2_edu.machine import files
from gpt2_edu.machine.files import parse_json
from gpt2_edu.machine.messages import escape_control, join_some, short_repr

BOUND = """
import json, resource, sys, time
from pathlib import Path
from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.weights import read_config
folder, lie = Path(sys.argv[1]), json.loads(sys.stdin.read())
GPT2.from_pretrained(folder)
config = json.loads((folder / "config.json").read_text())
(folder / "config.json").write_text(json.dumps(config | lie))
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before, began = peak(), time.perf_counter()
try:
    GPT2.from_pretrained(folder)
except ValueError as error:
    said = str(error)
print(json.dumps([time.perf_counter() - began, peak() - before, said]))
"""


@pytest.mark.parametrize(
    "lie",
    [
        {"n_layer": 10**9},
        {"n_layer": 999},
        {"n_layer": 10**999},
        {"n_embd": 3 * 10**8},
        {"vocab_size": 2 * 10**9},
        {"n_embd": 3 * 2**29, "n_head": 3},
        {"layer_norm_epsilon": 1e999},
        {"n_inner": [0] * 100_000},
    ],
    ids=lambda lie: (
        f"{next(iter(lie))}-{str(next(iter(lie.values())))[:12]}"
        if next(iter(lie.values())) != 10**999
        else "endless"
    ),
)
def test_a_config_that_lies_costs_no_memory_and_no_time(make_model, config, tmp_path, lie):
    make_model(config).save_pretrained(tmp_path / "model")
    sys.set_int_max_str_digits(0)
    lying = json.dumps(lie)
    sys.set_int_max_str_digits(4300)
    done = subprocess.run(
        [sys.executable, "-c", BOUND, tmp_path / "model"],
        input=lying,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONINTMAXSTRDIGITS": "0"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    seconds, memory, said = json.loads(done.stdout)
    assert seconds < 3 and memory < 200e6, (seconds, memory)
    assert len(said) < 1000 and "config.json" in said


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
    with pytest.raises(ValueError, match=f"not finite: look at transformer.{where}"):
        GPT2.from_pretrained(tmp_path)


def test_what_is_too_large_for_half_precision_is_said(make_model, config):
    model = make_model(config)
    with torch.no_grad():
        model.wte.weight[0, 0] = 1e6
    with pytest.raises(ValueError, match=r"not all finite in torch.float16: .*wte"):
        pack(model, torch.float16)


@pytest.mark.parametrize("temperature", [0, 1.0])
@pytest.mark.parametrize("value", [NAN, INF])
def test_a_prediction_that_is_no_number_is_no_token(make_model, config, temperature, value):
    logits = torch.zeros(2, 5)
    logits[1, 3] = value
    with pytest.raises(FloatingPointError, match="not finite"):
        sample_next(logits, temperature=temperature)
    logits[1, 3] = -INF  # a token that somebody forbids
    assert (sample_next(logits, temperature=temperature) != 3)[1]
    model = make_model(config)
    with torch.no_grad():
        model.transformer.ln_f.weight[0] = NAN
    with pytest.raises(FloatingPointError, match=r"not finite: transformer.ln_f.weight"):
        generate(model, torch.tensor([[1, 2]]), 3, temperature=temperature)


def test_a_vocabulary_that_its_tokenizer_lacks_is_refused(tmp_path):
    from gpt2_edu.data import TokenShards

    (tmp_path / "a.txt").write_text("A crane ate fish. " * 9)
    prepare(PrepareConfig(sources=(str(tmp_path / "a.txt"),), out=str(tmp_path / "out")))
    header = json.loads((tmp_path / "out" / HEADER).read_text())
    (tmp_path / "out" / HEADER).write_text(json.dumps(header | {"vocab_size": 60_000}))
    with pytest.raises(ValueError, match=r"hold 60,000 ids.*50,257"):
        TokenShards(tmp_path / "out").check_tokenizer("gpt2")
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
        OSError, match=r"the disk is full: there is no room for .*model.safetensors"
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


def test_a_cache_of_integers_is_refused(config):
    with pytest.raises(TypeError, match="dtype"):
        KVCache(config, 1, 5, dtype=torch.int64)


def test_a_call_without_a_model_or_ids_raises_type_error(make_model, config):
    model = make_model(config)
    for call in (
        lambda: GPT2("gpt2"),
        lambda: model(None),
        lambda: model(torch.tensor([[1]]), padding=[0]),
        lambda: pack(model, "bf16"),
        lambda: pack(pack(model)),
        lambda: generate(model, torch.tensor([[1]]), 2.5),
        lambda: generate(model, torch.tensor([[1]]), 2, temperature="x"),
    ):
        with pytest.raises(TypeError):
            call()


def test_texts_written_in_threads_leave_a_model_in_training(make_model, config):
    import threading

    model = make_model(config).train()
    idx = torch.tensor([[1, 2]])
    threads = [threading.Thread(target=generate, args=(model, idx, 9)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.training


def test_ranks_with_another_byte_are_not_used(tmp_path, monkeypatch):
    import gpt2_edu.tokenizer

    content = bytearray(
        Path(gpt2_edu.tokenizer.__file__).parent.joinpath("assets/gpt2.tiktoken").read_bytes()
    )
    content[5000] ^= 1
    (tmp_path / "gpt2_edu/assets").mkdir(parents=True)
    (tmp_path / "gpt2_edu/assets/gpt2.tiktoken").write_bytes(content)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    monkeypatch.setattr(gpt2_edu.tokenizer, "files", lambda package: tmp_path / package)
    load_tokenizer.cache_clear()
    with pytest.raises(ValueError, match=r"gpt2.tiktoken of this package is damaged"):
        load_tokenizer("gpt2")
    load_tokenizer.cache_clear()
