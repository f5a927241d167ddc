"""gpt2-edu generate."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch

from gpt2_edu import GPT2, generate, load_tokenizer


def greedy(folder: Path, text: str, n: int) -> str:
    ids = load_tokenizer("gpt2").encode_ordinary(text)
    out = generate(GPT2.from_pretrained(folder), torch.tensor([ids]), n, temperature=0)
    return load_tokenizer("gpt2").decode(out[0].tolist())


@pytest.mark.parametrize("extra", [[], ["--no-cache"], ["--samples", "1"]], ids=str)
def test_a_text_is_continued_as_the_package_does(run, folder, extra):
    words = ["--max-new-tokens", 9, "--temperature", 0, "--precision", "float32", "--no-stop"]
    out = run("generate", "A crane ate", "--model", folder, *words, *extra)
    assert out == greedy(folder, "A crane ate", 9) + "\n"


def test_the_same_seed_gives_the_same_text(run, folder):
    def text(seed: int) -> str:
        return run("generate", "A crane", "--model", folder, "--max-new-tokens", 9, "--seed", seed)

    assert text(1) == text(1) != text(2)


def test_samples_are_told_apart(run, folder):
    out = run(
        "generate", "A crane", "--model", folder, "--max-new-tokens", 5, "--samples", 3, "--seed", 0
    )
    assert out.count("A crane") == 3
    assert [line for line in out.splitlines() if line.startswith("---")] == [
        "--- 1",
        "--- 2",
        "--- 3",
    ]


def test_a_model_finds_its_own_tokenizer(run, tmp_path, make_model, small):
    make_model(dataclasses.replace(small, vocab_size=1024)).save_pretrained(tmp_path)
    out = run("generate", "A crane", "--model", tmp_path, "--max-new-tokens", 3, "--seed", 0)
    assert out.startswith("A crane")
    assert "transformer.wte.weight" not in out
    assert "tok_emb" in run("inspect", tmp_path, "--text", "A crane")


def test_an_empty_prompt_begins_a_new_text(run, folder):
    assert run("generate", "", "--model", folder, "--max-new-tokens", 3, "--seed", 0).strip()


def test_a_text_that_outgrows_the_window_names_the_option(refused, run, folder):
    said = refused("generate", "A crane", "--model", folder, "--max-new-tokens", 99)
    assert "block_size=31" in said
    assert "crop" in said
    words = ["--max-new-tokens", 40, "--overflow", "crop", "--seed", 0, "--no-stop"]
    assert run("generate", "A crane", "--model", folder, *words).startswith("A crane")


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
        (["--samples", 0], "--samples must be at least 1"),
        (["--max-new-tokens", -1], "max_new_tokens must be 0 or more"),
        (["--device", "gpu"], "unknown device 'gpu'"),
    ]:
        assert part in refused("generate", "A crane", "--model", folder, *words)
    assert "no folder" in refused("generate", "x", "--model", tmp_path / "nowhere")
