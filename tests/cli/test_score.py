"""gpt2-edu score."""

from __future__ import annotations

import math
import re

import torch

from gpt2_edu import GPT2, load_tokenizer


def test_each_token_is_scored_after_those_before_it(run, folder):
    text = "A crane ate fish \U0001f426"
    tokenizer = load_tokenizer("gpt2")
    ids = [tokenizer.eot_token, *tokenizer.encode_ordinary(text)]
    with torch.no_grad():
        table = GPT2.from_pretrained(folder)(torch.tensor([ids]))[0][0].double().log_softmax(dim=-1)
    expected = [table[t, i].item() for t, i in enumerate(ids[1:])]
    _, *rows, last = run("score", text, "--model", folder, "--device", "cpu").splitlines()
    assert [float(row.split()[0]) for row in rows] == [round(p, 3) for p in expected]
    assert [row.split(maxsplit=2)[2] for row in rows] == [
        repr(tokenizer.decode([i])) for i in ids[1:]
    ]
    total, n_bytes = sum(expected), len(text.encode())
    assert last.startswith(f"{total:.3f} nats in {len(rows)} tokens and {n_bytes} bytes: ")
    perplexity, bits = re.fullmatch(r".*perplexity ([\d.]+), ([\d.]+) bits per byte", last).groups()
    assert math.isclose(float(perplexity), math.exp(-total / len(rows)), rel_tol=1e-4)
    assert bits == f"{-total / math.log(2) / n_bytes:.3f}"


def test_what_cannot_be_scored_is_refused(refused, folder):
    assert "there is no text to score" in refused("score", "", "--model", folder)
    said = refused("score", "crane " * 40, "--model", folder)
    assert re.search(r"a text to score has 2 … block_size\+1=32 tokens, got 4\d", said)
