"""A small tokenizer, and predictors of which every metric is known beforehand."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from gpt2_edu import GPT2Config, crane
from gpt2_edu.bpe import train_bpe
from gpt2_edu.crane.grammar import TRAINING, crane_world
from gpt2_edu.crane.parsing import initial_state, next_steps
from gpt2_edu.crane.surprisal import word_tokens
from gpt2_edu.tokenizer import make_encoding


@pytest.fixture(scope="session")
def tokenizer():
    return make_encoding("small", train_bpe(map(crane.story, range(100)), 401))


@pytest.fixture
def reader(make_model, tokenizer):
    """A random model whose window holds any story."""
    sizes = {"vocab_size": tokenizer.n_vocab, "block_size": 211}
    return make_model(GPT2Config(**sizes, n_layer=2, n_head=3, n_embd=21))


@pytest.fixture(scope="session")
def oracle(tokenizer):
    """The exact prediction: after each token, the share of all that the grammar can say."""
    grammar = crane_world()

    def fill(table: Tensor, row: list[int]) -> None:
        ways: dict = {(initial_state(grammar, "story"), None, ()): 1.0}
        for t, token in enumerate(row):
            if t:  # the ways that go on with this token
                ways = {(s, b, rest[1:]): p for (s, b, rest), p in ways.items() if rest[0] == token}
            if not ways or (t and token == tokenizer.eot_token):
                return
            longer: dict = {}
            for (state, before, rest), p in ways.items():
                if rest:
                    longer[state, before, rest] = longer.get((state, before, rest), 0) + p
                    continue
                for said, after, choices in next_steps(grammar, state, TRAINING):
                    key = (after, said, tuple(word_tokens(tokenizer, before, said)))
                    q = math.prod((share for _, _, share in choices), start=p)
                    longer[key] = longer.get(key, 0) + q
            ways = longer
            for (_, _, rest), p in ways.items():
                table[t, rest[0]] += p / sum(ways.values())

    def log_probs(ids: Tensor) -> Tensor:
        table = torch.zeros(*ids.shape, tokenizer.n_vocab, dtype=torch.float64)
        for b, row in enumerate(ids.tolist()):
            fill(table[b], row)
        return table.log()

    return log_probs


@pytest.fixture
def uniform(tokenizer):
    V = tokenizer.n_vocab
    return lambda ids: torch.full((*ids.shape, V), -math.log(V))
