"""Batches in an order that no interruption and no number of ranks changes."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import gpt2_edu.data.batches
from gpt2_edu import load_tokenizer
from gpt2_edu.data import BatchLoader, TokenShards, validation_batches
from gpt2_edu.data.prepare import PrepareConfig, prepare
from tests.data.helpers import refused, run


class Counting:
    """Stands in for TokenShards: token number i is i."""

    folder, split, fingerprint = "nowhere", "train", "f" * 64

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens

    def __len__(self) -> int:
        return self.tokens

    def read(self, start: int, length: int):
        assert 0 <= start and start + length <= self.tokens
        return torch.arange(start, start + length)

    windows = TokenShards.windows


def epoch_of_windows(tokens: int, block_size: int, seed: int, epoch: int) -> list[int]:
    """The inputs' first tokens of an epoch, in order, read one window at a time."""
    loader = BatchLoader(Counting(tokens), 1, block_size, seed=seed)
    starts = []
    while loader.epoch <= epoch:
        inputs, targets = loader.next_batch()
        assert inputs.dtype == torch.int64 and torch.equal(targets, inputs + 1)
        if loader.epoch == epoch:
            starts.append(inputs[0, 0].item())
    return starts


def ranks_of(shards, batch_size: int, world_size: int) -> list[BatchLoader]:
    return [
        BatchLoader(shards, batch_size, 13, rank=rank, world_size=world_size)
        for rank in range(world_size)
    ]


def next_of(ranks: list[BatchLoader]):
    """The inputs of all ranks, one below the other."""
    return torch.cat([loader.next_batch()[0] for loader in ranks])


@given(block_size=st.integers(1, 13), extra=st.integers(1, 200), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_an_epoch_has_every_window_once(block_size, extra, seed):
    """Less than one block is left out at either end."""
    tokens = block_size + extra
    starts = sorted(epoch_of_windows(tokens, block_size, seed, epoch=1))
    assert starts == [starts[0] + i * block_size for i in range(len(starts))]
    assert 0 <= starts[0] < block_size
    assert 0 <= tokens - 1 - (starts[-1] + block_size) < block_size


def test_cuts_move_from_epoch_to_epoch():
    assert len({min(epoch_of_windows(211, 13, 0, epoch)) for epoch in range(20)}) > 5


def test_order_is_that_of_older_checkpoints():
    """These numbers must never change: a resumed run would see other windows."""
    assert epoch_of_windows(60, 7, 5, 0) == [28, 7, 21, 42, 35, 49, 0, 14]
    assert epoch_of_windows(60, 7, 5, 1) == [3, 45, 52, 31, 10, 17, 38, 24]


@given(
    tokens=st.integers(14, 300),
    batch_size=st.integers(1, 5),
    world_size=st.integers(1, 4),
    before=st.integers(0, 12),
)
@settings(deadline=None, max_examples=40)
def test_resumes_with_the_same_windows_on_any_number_of_ranks(
    tokens, batch_size, world_size, before
):
    """Row by row: rank r has rows r · batch_size … of the batch of one rank."""
    shards = Counting(tokens)
    (one,) = ranks_of(shards, batch_size * world_size, 1)
    for _ in range(before):
        one.next_batch()
    state = json.loads(json.dumps(one.state_dict()))
    ranks = ranks_of(shards, batch_size, world_size)
    for loader in ranks:
        loader.load_state_dict(state)
    for _ in range(6):
        assert torch.equal(next_of(ranks), one.next_batch()[0])
    assert all(loader.state_dict() == one.state_dict() for loader in ranks)


def test_fills_a_batch_from_later_epochs():
    loader = BatchLoader(Counting(15), 7, 13)  # one window an epoch, at 0 or 1
    inputs, _ = loader.next_batch()
    assert set(inputs[:, 0].tolist()) <= {0, 1} and loader.epoch == 6


@pytest.mark.parametrize("changed", [{"seed": 1}, {"block_size": 11}, {"fingerprint": "0"}])
def test_refuses_a_position_in_another_order(changed):
    loader = BatchLoader(Counting(101), 2, 13)
    state = loader.state_dict() | changed
    refused(lambda: loader.load_state_dict(state), f"{next(iter(changed))} was", "is now")


def test_refuses_a_text_shorter_than_one_window(folder):
    shards, val = TokenShards(folder), TokenShards(folder, "val")
    BatchLoader(shards, 2, 318)  # 319 tokens: exactly one window
    refused(lambda: BatchLoader(shards, 2, 319), "319 tokens", "block_size=319 needs 320")
    refused(lambda: validation_batches(val, 2, 53, 1), "needs 54", "larger val_fraction")


def test_copies_to_cuda_from_pinned_memory_without_waiting(monkeypatch):
    calls = []
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda t: calls.append("pin") or t)
    to = torch.Tensor.to
    monkeypatch.setattr(
        torch.Tensor, "to", lambda t, d, **k: calls.append((d.type, k)) or to(t, "cpu")
    )
    gpt2_edu.data.batches._windows(Counting(9), [0, 3], 3, torch.device("cuda"))
    assert calls == ["pin", ("cuda", {"non_blocking": True})]


@given(
    tokens=st.integers(14, 500),
    batch_size=st.integers(1, 7),
    n_batches=st.integers(1, 9),
    world_size=st.integers(1, 5),
)
@settings(deadline=None, max_examples=40)
def test_validation_counts_the_same_windows_once_on_any_number_of_ranks(
    tokens, batch_size, n_batches, world_size
):
    seen = []
    for rank in range(world_size):
        place = {"rank": rank, "world_size": world_size}
        batches = list(validation_batches(Counting(tokens), batch_size, 13, n_batches, **place))
        for i, (inputs, targets) in enumerate(batches):
            assert torch.equal(targets, inputs + 1)
            assert len(inputs) == batch_size or i == len(batches) - 1
            seen += inputs[:, 0].tolist()
    windows = (tokens - 1) // 13
    assert len(seen) == len(set(seen)) == min(windows, n_batches * batch_size)
    gaps = np.diff([*sorted(seen), windows * 13]) / 13
    assert gaps.max() - gaps.min() <= 1  # spread evenly, to the end


# ---- Windows that begin with a document --------------------------------------------------------


@pytest.fixture(scope="module")
def stories(tmp_path_factory):
    """40 short stories, tokenized."""
    out = str(tmp_path_factory.mktemp("stories"))
    prepare(PrepareConfig(sources=("crane:40",), out=out, tokenizer="crane", shard_tokens=700))
    return TokenShards(out)


def test_aligned_windows_are_every_document_once_an_epoch(stories):
    eot, block_size = load_tokenizer("crane").eot_token, 50
    everything = stories.read(0, len(stories))
    fits = int(((everything == eot).nonzero()[:, 0] + block_size < len(stories)).sum())
    loader = BatchLoader(stories, fits, block_size, seed=3, align=True)
    inputs, targets = loader.next_batch()
    assert loader.epoch == 0 and (inputs[:, 0] == eot).all()
    assert torch.equal(inputs[:, 1:], targets[:, :-1])
    assert len({tuple(row.tolist()) for row in inputs}) == fits > 20
    batches = list(validation_batches(stories, 3, 50, 4, align=True))
    assert sum(len(inputs) for inputs, _ in batches) == 12
    assert all((inputs[:, 0] == eot).all() for inputs, _ in batches)


def test_refuses_to_align_where_it_cannot(stories, tmp_path):
    state = BatchLoader(stories, 1, 50, align=True).state_dict()
    refused(lambda: BatchLoader(stories, 1, 50).load_state_dict(state), "align was True")
    (tmp_path / "one.txt").write_text("One long text. " * 99)  # parts of it become the val split
    run(tmp_path, tmp_path / "one.txt")
    shards = TokenShards(tmp_path / "out", "val")
    refused(lambda: validation_batches(shards, 1, 5, 1, align=True), "no document in the split")
