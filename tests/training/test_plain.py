"""The plain loop learns, and its windows are what a next token needs."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from gpt2_edu import load_tokenizer
from gpt2_edu.training import plain


def test_targets_are_the_inputs_one_token_further_on():
    torch.manual_seed(0)
    inputs, targets = plain.batch(torch.arange(100), batch_size=3, T=7)
    assert inputs.shape == targets.shape == (3, 7)
    assert torch.equal(targets, inputs + 1)


def test_windows_come_from_the_first_to_the_last_token():
    torch.manual_seed(0)
    inputs, targets = plain.batch(torch.arange(9), batch_size=400, T=7)
    assert set(inputs[:, 0].tolist()) == {0, 1}
    assert targets.max() == 8


def test_a_table_of_pairs_learns_the_language_and_writes_words_of_it():
    torch.manual_seed(0)
    ids = plain.crane_ids(200)
    encoding = load_tokenizer("crane")
    assert ids[0] == encoding.eot_token
    model = nn.Embedding(encoding.n_vocab, encoding.n_vocab)
    nn.init.zeros_(model.weight)
    losses = plain.train(model, ids, steps=60, lr=0.3)
    assert losses[0] == pytest.approx(math.log(encoding.n_vocab), abs=1e-4)
    assert losses[-1] < 3
    text = plain.write(model, "In the", n=30)
    assert text.startswith("In the")
    assert "<|endoftext|>" not in text


def test_each_new_token_is_what_the_last_one_predicts_up_to_the_end_of_the_text():
    encoding = load_tokenizer("crane")
    story = "In the marsh"
    end, ids = encoding.eot_token, encoding.encode_ordinary(story)
    certain = nn.Embedding(encoding.n_vocab, encoding.n_vocab)  # of each token, the one after it
    nn.init.zeros_(certain.weight)
    with torch.no_grad():
        certain.weight[[end, *ids], [*ids, end]] = 100
    assert plain.write(certain, "In") == story
