"""gpt2-edu export."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace

import pytest
import torch
from safetensors import safe_open

from gpt2_edu import GPT2, fast, generate, load_tokenizer
from gpt2_edu.cli import main
from gpt2_edu.quantize import quantize
from gpt2_edu.web import merges

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_what_is_exported_can_be_loaded(run, refused, folder, tmp_path, dtype):
    out = tmp_path / "out"
    assert dtype in run("export", folder, "--out", out, "--dtype", dtype)
    expected, got = GPT2.from_pretrained(folder), GPT2.from_pretrained(out)
    for (name, a), b in zip(expected.named_parameters(), got.parameters(), strict=True):
        assert torch.equal(a.to(getattr(torch, dtype)).float(), b), name
    assert "is not an empty folder" in refused("export", folder, "--out", out)


def test_one_file_for_the_pages_holds_model_config_and_tokenizer(run, refused, folder, tmp_path):
    out = tmp_path / "mine.safetensors"
    run("export", folder, "--out", out, "--page")
    with safe_open(out, "pt") as file:
        metadata, names = file.metadata(), set(file.keys())
        wte = file.get_tensor("transformer.wte.weight")
    assert "transformer.h.0.attn.c_attn.weight" in names and "lm_head.weight" not in names
    assert torch.equal(wte, GPT2.from_pretrained(folder).wte.weight)
    config = json.loads((folder / "config.json").read_text())
    assert json.loads(metadata["gpt2-edu.config"]) == config
    packed = base64.b64decode(metadata["gpt2-edu.merges"])
    assert gzip.decompress(packed) == merges(load_tokenizer("gpt2"))
    assert list(tmp_path.glob("*.part*")) == []
    assert "is not a new file NAME.safetensors" in refused("export", folder, "--out", out, "--page")


def test_what_does_not_fit_a_page_is_refused_before_it_is_written(refused, folder, tmp_path):
    out = tmp_path / "mine.safetensors"
    words = ("export", folder, "--out", out, "--page")
    assert "the tokenizer 'crane' 1,024" in refused(*words, "--tokenizer", "crane")
    assert "unknown tokenizer 'bert'" in refused(*words, "--tokenizer", "bert")
    assert "is for --page" in refused(
        "export", folder, "--out", tmp_path / "o", "--tokenizer", "gpt2"
    )
    assert "NAME.safetensors" in refused("export", folder, "--out", tmp_path / "o", "--page")
    assert not out.exists()


@pytest.mark.parametrize("words, kind", [(["--bits", 8], "8 bits"), (["--bits", 4], "4 bits")])
def test_integers_are_written_and_generate(run, folder, tmp_path, capsys, words, kind):
    out = tmp_path / "out"
    said = run("export", folder, "--out", out, *words)
    small = quantize(GPT2.from_pretrained(folder), words[1])
    assert f"parameters in {kind}, {small.nbytes():,} bytes with scales in float32" in said
    assert (out / "model.safetensors").stat().st_size < small.nbytes() + 10_000
    ids = load_tokenizer("gpt2").encode_ordinary("A crane ate")
    text = generate(small, torch.tensor([ids]), 9, temperature=0)[0].tolist()
    main(["generate", "A crane ate", "--model", str(out), "--max-new-tokens", "9"] + GREEDY)
    printed = capsys.readouterr()
    assert printed.out == load_tokenizer("gpt2").decode(text) + "\n"
    packed = words[1] == 8 and fast.fbgemm_is_here()  # the kernel for 4 bits takes no 15 columns
    assert ("weights packed in 8 bits; --no-fast" in printed.err) == packed


def test_integers_are_packed_where_there_is_a_kernel_for_them(
    run, make_model, small, tmp_path, capsys
):
    out = tmp_path / "out"
    make_model(replace(small, n_head=1, n_embd=32)).save_pretrained(tmp_path / "model")
    run("export", tmp_path / "model", "--out", out, "--bits", 4)
    main(["generate", "A crane ate", "--model", str(out), "--max-new-tokens", "3"] + GREEDY)
    assert "weights packed in 4 bits; --no-fast" in capsys.readouterr().err


GREEDY = ["--temperature", "0", "--no-stop", "--device", "cpu"]


def test_bits_that_mean_nothing_are_refused(refused, folder, tmp_path):
    words = ("export", folder, "--out", tmp_path / "out")
    assert "bits must be 8 or 4, got 3" in refused(*words, "--bits", 3)
    assert "group must divide" in refused(*words, "--bits", 8, "--group", 4)
    assert "say to how many --bits" in refused(*words, "--group", 5)
    assert "leave out --page" in refused(
        "export", folder, "--out", tmp_path / "o.safetensors", "--page", "--bits", 8
    )
    assert not (tmp_path / "out").exists()
