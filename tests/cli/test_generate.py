"""gpt2-edu generate."""

from __future__ import annotations

import dataclasses
import re
from importlib import import_module
from pathlib import Path

import pytest
import torch

from gpt2_edu import GPT2, crane, fast, generate, load_tokenizer
from gpt2_edu.cli import main
from gpt2_edu.quantize import quantize

pytestmark = pytest.mark.slow

generate_module = import_module("gpt2_edu.cli.generate")


def greedy(folder: Path, text: str, n: int) -> str:
    ids = load_tokenizer("gpt2").encode_ordinary(text)
    out = generate(GPT2.from_pretrained(folder), torch.tensor([ids]), n, temperature=0)
    return load_tokenizer("gpt2").decode(out[0].tolist())


@pytest.mark.parametrize("extra", [[], ["--no-cache"], ["--no-fast"], ["--samples", "1"]], ids=str)
def test_a_text_is_continued_as_the_package_does(run, folder, extra):
    words = ["--max-new-tokens", 9, "--temperature", 0, "--precision", "float32", "--no-stop"]
    out = run("generate", "A crane ate", "--model", folder, *words, *extra)
    assert out == greedy(folder, "A crane ate", 9) + "\n"


@pytest.mark.parametrize("amx", [False, True])
def test_weights_are_packed_where_that_is_faster_and_said(folder, monkeypatch, capsys, amx):
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    made, pack = [], fast.pack

    def seen(model, dtype, **how):
        made.append(dtype)
        return pack(model, dtype, **how)

    monkeypatch.setattr(fast, "pack", seen)
    words = ["generate", "A crane", "--model", str(folder), "--max-new-tokens", "3"]
    words += ["--device", "cpu"]
    main([*words, "--precision", "float32"])
    assert made == [torch.float32] * (not amx)
    assert ("--no-fast" in capsys.readouterr().err) is not amx
    main([*words, "--precision", "bf16"])
    assert made[-1] == torch.bfloat16
    said = capsys.readouterr()
    assert said.err.endswith(" in bfloat16; --no-fast runs the plain model in float32\n")
    assert said.out.startswith("A crane") and "--no-fast" not in said.out
    made.clear()
    main([*words, "--no-fast"])
    assert made == [] and capsys.readouterr().err == ""


def test_a_compiled_step_is_for_these_texts_and_said(folder, capsys, monkeypatch):
    made = []
    monkeypatch.setattr(fast, "Compiled", lambda *arguments: made.append(arguments[1:]))
    words = ["generate", "A crane ate", "--model", str(folder), "--max-new-tokens", "5"]
    main([*words, "--temperature", "0", "--no-stop", "--no-fast", "--compile"])
    out, err = capsys.readouterr()
    assert made == [(1, 8)] and out == greedy(folder, "A crane ate", 5) + "\n"
    assert err == "step compiled; --no-compile runs the plain model in float32\n"


def test_integers_are_packed_for_the_compiled_step(folder, tmp_path, monkeypatch, capsys):
    quantize(GPT2.from_pretrained(folder)).save_pretrained(tmp_path / "small")
    models = []
    monkeypatch.setattr(fast, "Compiled", lambda model, *arguments: models.append(model))
    words = ["generate", "A crane", "--model", str(tmp_path / "small"), "--device", "cpu"]
    main([*words, "--max-new-tokens", "3", "--compile"])
    assert any(isinstance(module, fast.PackedWords) for module in models[0].modules())
    assert "weights packed in 8 bits, step compiled" in capsys.readouterr().err


def test_to_compile_without_a_compiler_is_refused(refused, folder, monkeypatch):
    monkeypatch.setattr("gpt2_edu.machine.device.cpp_compiler", lambda: None)
    said = refused("generate", "A crane", "--model", folder, "--compile", "--device", "cpu")
    assert "needs a C++ compiler" in said


def test_texts_that_do_not_fit_into_memory_are_refused_before_they_are_allocated(
    refused, folder, monkeypatch
):
    monkeypatch.setattr(generate_module, "available_memory", lambda device: 2_000_000)
    words = ("generate", "A crane", "--model", folder, "--max-new-tokens", 20, "--device", "cpu")
    said = refused(*words, "--samples", 900)
    # 900 texts of 22 tokens, each with a key and a value of 15 entries of 4 bytes in one layer
    assert f"{900 * 22 * 120 / 2**30:.2f} GiB" in said and "0.00 GiB free" in said
    assert "fewer texts" in said


def test_the_same_seed_gives_the_same_text(run, folder):
    def text(seed: int) -> str:
        return run("generate", "A crane", "--model", folder, "--max-new-tokens", 9, "--seed", seed)

    assert text(1) == text(1) != text(2)


def test_a_model_finds_its_own_tokenizer(run, tmp_path, make_model, small):
    make_model(dataclasses.replace(small, vocab_size=1024)).save_pretrained(tmp_path)
    out = run("generate", "A crane", "--model", tmp_path, "--max-new-tokens", 3, "--seed", 0)
    assert out.startswith("A crane")
    assert "transformer.wte.weight" not in out
    assert "tok_emb" in run("inspect", tmp_path, "--text", "A crane")


def test_a_text_that_outgrows_the_window_names_the_option(refused, run, folder):
    said = refused("generate", "A crane", "--model", folder, "--max-new-tokens", 99)
    assert "2 prompt tokens and 99 new ones need a window of 100" in said
    assert "block_size=31" in said and "--max-new-tokens 30; --overflow crop" in said
    words = ["--max-new-tokens", 40, "--overflow", "crop", "--seed", 0, "--no-stop"]
    assert run("generate", "A crane", "--model", folder, *words).startswith("A crane")


def test_without_a_number_as_many_tokens_are_added_as_fit(folder, refused, capsys, monkeypatch):
    asked, stream = [], generate_module.stream

    def noted(model, idx, n, **knobs):
        asked.append(n)
        return stream(model, idx, n, **knobs)

    monkeypatch.setattr(generate_module, "stream", noted)
    words = ["generate", "A crane", "--model", str(folder), "--no-fast"]
    main([*words, "--no-stop"])
    assert capsys.readouterr().err == (
        "at most 30 new tokens, which fill the window of 31; --overflow crop goes on and forgets "
        "the oldest tokens\n"
    )
    main([*words, "--overflow", "crop"])
    assert capsys.readouterr().err == "" and asked == [30, 100]
    words[1] = "crane" * 32
    said = refused(*words)
    assert "the prompt has" in said and "Shorten it; --overflow crop" in said


def test_a_model_with_another_vocabulary_is_refused(refused, tmp_path, make_model, small):
    make_model(dataclasses.replace(small, vocab_size=101)).save_pretrained(tmp_path)
    assert "no tokenizer of this package has 101 tokens" in refused(
        "generate", "A crane", "--model", tmp_path
    )
    said = refused("generate", "A crane", "--model", tmp_path, "--tokenizer", "gpt2")
    assert "has 101 tokens, the tokenizer 'gpt2' 50,257" in said
    assert "--tokenizer" in said


def test_bad_values_are_refused_in_a_sentence(refused, folder, tmp_path):
    for words, part in [
        (["--temperature", -1], "temperature must be 0"),
        (["--top-k", 0], "top_k keeps at least 1"),
        (["--top-p", 2], "(0, 1]"),
        (["--min-p", 2], "min_p is a share of the largest in [0, 1], got 2.0"),
        (["--repetition-penalty", 0], "repetition_penalty divides"),
        (["--stop-at", ""], "a stop string needs at least one character"),
        (["--samples", 0], "--samples must lie in 1"),
        (["--samples", 10_001], "--samples must lie in 1 … 10,000"),
        (["--seed", -1], "--seed must lie in 0"),
        (["--max-new-tokens", -1], "max_new_tokens must be at least 0"),
        (["--device", "gpu"], "unknown device 'gpu'"),
        (["--no-fast", "--precision", "bf16"], "--no-fast is in float32"),
        (["--no-cache", "--compile"], "--compile is for generation with a cache"),
    ]:
        few = [] if "--max-new-tokens" in words else ["--max-new-tokens", 3]
        assert part in refused("generate", "A crane", "--model", folder, *few, *words)
    assert "no folder" in refused("generate", "x", "--model", tmp_path / "nowhere")


def test_a_text_ends_before_a_stop_string(run, folder):
    words = ["--max-new-tokens", 12, "--temperature", 0, "--precision", "float32", "--no-stop"]
    new = run("generate", "A crane", "--model", folder, *words)[len("A crane") : -1]
    for at in (0, 7):
        stop = new[at : at + 3]
        expected = "A crane" + new[: new.index(stop)]
        said = run("generate", "A crane", "--model", folder, *words, "--stop-at", stop, "\x07")
        assert said == expected + "\n"
    two = run("generate", "A crane", "--model", folder, *words, "--samples", 2, "--stop-at", stop)
    assert two == f"--- 1\n{expected}\n--- 2\n{expected}\n"


def test_the_knobs_reach_the_draw(run, folder):
    words = ["generate", "A crane", "--model", folder, "--max-new-tokens", 9, "--precision"]
    words += ["float32", "--no-stop"]
    assert run(*words, "--min-p", 1) == greedy(folder, "A crane", 9) + "\n"
    ids = torch.tensor([load_tokenizer("gpt2").encode_ordinary("A crane")])
    model = GPT2.from_pretrained(folder)
    expected = generate(model, ids, 9, temperature=0, repetition_penalty=3.0)[0].tolist()
    said = run(*words, "--temperature", 0, "--repetition-penalty", 3)
    assert said == load_tokenizer("gpt2").decode(expected) + "\n"


def test_with_the_grammar_each_text_is_a_story(run, refused, folder):
    words = ["generate", "By the river, the crane", "--temperature", 3, "--max-new-tokens", 110]
    said = run(*words, "--model", "crane", "--grammar", "--samples", 3, "--seed", 0)
    texts = [part.partition("\n")[2].rstrip("\n") for part in said.split("--- ")[1:]]
    assert len(texts) == 3
    for text in texts:
        assert crane.judge(text).kind == "story"
    assert "leave out --no-stop" in refused(*words, "--model", "crane", "--grammar", "--no-stop")
    assert "no story of Crane World begins with 'Once'" in refused(
        "generate", "Once", "--model", "crane", "--grammar"
    )


def test_a_draft_leaves_the_text_as_it_is_and_says_how_it_went(capsys):
    words = ["generate", "By the river, the crane", "--model", "crane", "--temperature", "0"]
    main(words)
    plain = capsys.readouterr().out
    main([*words, "--draft", "draft"])
    out, err = capsys.readouterr()
    assert out == plain
    tokens, passes, kept, drafted = map(int, re.findall(r"\d+", err.splitlines()[-1]))
    assert passes < tokens <= passes + kept and kept <= drafted


@pytest.mark.parametrize(
    "extra", [["--samples", "2"], ["--grammar"], ["--no-cache"], ["--compile"]]
)
def test_what_a_draft_is_not_for_is_told(refused, extra):
    said = refused("generate", "A crane", "--model", "crane", "--draft", "draft", *extra)
    assert f"leave out {extra[0]}" in said


def test_a_draft_of_another_vocabulary_is_told(refused, folder):
    said = refused("generate", "A crane", "--model", "crane", "--draft", folder)
    assert "must use the same tokenizer" in said
