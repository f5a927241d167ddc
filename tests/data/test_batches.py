"""Batches in an order that no interruption and no number of ranks changes."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gpt2_edu.data.batches
from gpt2_edu import load_tokenizer
from gpt2_edu.data import BatchLoader, TokenShards, validation_batches
from gpt2_edu.data.prepare import PrepareConfig, prepare
from tests.data.helpers import refused


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


# ---- Training batches -------------------------------------------------------------------------


def epoch_of_windows(tokens: int, block_size: int, seed: int, epoch: int) -> list[int]:
    """The inputs' first tokens of an epoch, in order, read one window at a time."""
    loader = BatchLoader(Counting(tokens), 1, block_size, seed=seed)
    starts = []
    while True:
        inputs, _ = loader.next_batch()
        if loader.epoch > epoch:
            return starts
        if loader.epoch == epoch:
            starts.append(inputs[0, 0].item())


@given(
    block_size=st.integers(1, 13),
    extra=st.integers(1, 200),
    seed=st.integers(0, 2**32 - 1),
    epoch=st.integers(0, 2),
)
@settings(deadline=None, max_examples=60)
def test_every_window_comes_once_an_epoch_and_only_the_ends_are_left_out(
    block_size, extra, seed, epoch
):
    tokens = block_size + extra
    starts = sorted(epoch_of_windows(tokens, block_size, seed, epoch))
    assert len(starts) >= 1
    first = starts[0]
    assert starts == [first + i * block_size for i in range(len(starts))]
    assert 0 <= first < block_size
    left_out = tokens - 1 - (starts[-1] + block_size)
    assert 0 <= left_out < block_size


def test_targets_are_the_tokens_after_the_inputs(folder):
    loader = BatchLoader(TokenShards(folder), 5, 11, seed=3)
    inputs, targets = loader.next_batch()
    assert inputs.shape == targets.shape == (5, 11)
    assert inputs.dtype == targets.dtype == torch.int64
    assert inputs.is_contiguous() and targets.is_contiguous()
    assert torch.equal(targets, inputs + 1)  # token i is i
    assert torch.equal(inputs[:, 1:], targets[:, :-1])


def test_the_order_is_shuffled_and_differs_between_seeds_and_epochs():
    orders = [
        epoch_of_windows(997, 7, seed, epoch) for seed, epoch in [(0, 0), (0, 1), (1, 0), (1, 1)]
    ]
    assert all(order != sorted(order) for order in orders)
    for i, one in enumerate(orders):
        assert all(one != other for other in orders[i + 1 :])
    assert orders[0] == epoch_of_windows(997, 7, 0, 0)


def test_the_cuts_move_from_epoch_to_epoch():
    offsets = {min(epoch_of_windows(211, 13, 0, epoch)) for epoch in range(20)}
    assert len(offsets) > 5


def test_the_order_is_the_one_that_older_checkpoints_rely_on():
    """These numbers must never change: a resumed run would see other windows."""
    assert epoch_of_windows(60, 7, 5, 0) == [28, 7, 21, 42, 35, 49, 0, 14]
    assert epoch_of_windows(60, 7, 5, 1) == [3, 45, 52, 31, 10, 17, 38, 24]


@given(
    tokens=st.integers(14, 300),
    batch_size=st.integers(1, 7),
    before=st.integers(0, 20),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=60)
def test_a_state_taken_anywhere_continues_with_the_same_batches(tokens, batch_size, before, seed):
    loader = BatchLoader(Counting(tokens), batch_size, 13, seed=seed)
    for _ in range(before):
        loader.next_batch()
    state = json.loads(json.dumps(loader.state_dict()))
    again = BatchLoader(Counting(tokens), batch_size, 13, seed=seed)
    again.load_state_dict(state)
    assert again.state_dict() == state
    for _ in range(10):
        for one, other in zip(loader.next_batch(), again.next_batch()):
            assert torch.equal(one, other)
    assert loader.state_dict() == again.state_dict()


@given(
    tokens=st.integers(14, 300),
    batch_size=st.integers(1, 5),
    world_size=st.integers(1, 4),
    steps=st.integers(1, 8),
)
@settings(deadline=None, max_examples=60)
def test_the_ranks_together_see_what_one_rank_would(tokens, batch_size, world_size, steps):
    """Row by row: rank r has rows r · batch_size … of the batch of one rank."""
    shards = Counting(tokens)
    one = BatchLoader(shards, batch_size * world_size, 13)
    ranks = [
        BatchLoader(shards, batch_size, 13, rank=r, world_size=world_size)
        for r in range(world_size)
    ]
    for _ in range(steps):
        expected = one.next_batch()
        parts = [loader.next_batch() for loader in ranks]
        for i in range(2):
            assert torch.equal(torch.cat([part[i] for part in parts]), expected[i])
        assert all(loader.state_dict() == one.state_dict() for loader in ranks)


def test_a_run_saved_on_two_ranks_continues_with_the_same_windows_on_one_and_on_four():
    shards = Counting(1009)
    two = [BatchLoader(shards, 6, 7, rank=r, world_size=2) for r in range(2)]
    for _ in range(5):
        for loader in two:
            loader.next_batch()
    state = two[1].state_dict()
    expected = [torch.cat([loader.next_batch()[0] for loader in two]) for _ in range(9)]

    for world_size, batch_size in [(1, 12), (4, 3)]:
        ranks = [
            BatchLoader(shards, batch_size, 7, rank=r, world_size=world_size)
            for r in range(world_size)
        ]
        for loader in ranks:
            loader.load_state_dict(state)
        for inputs in expected:
            assert torch.equal(torch.cat([loader.next_batch()[0] for loader in ranks]), inputs)


def test_a_batch_larger_than_the_corpus_is_filled_from_the_epochs_after():
    loader = BatchLoader(Counting(15), 7, 13)  # one window an epoch, at 0 or 1
    inputs, _ = loader.next_batch()
    assert inputs.shape == (7, 13)
    assert set(inputs[:, 0].tolist()) <= {0, 1}
    assert loader.epoch == 6


@pytest.mark.parametrize(
    "name, other",
    [
        ("seed", lambda: BatchLoader(Counting(101), 2, 13, seed=1)),
        ("block_size", lambda: BatchLoader(Counting(101), 2, 11)),
    ],
)
def test_a_state_of_another_order_is_refused(name, other):
    state = BatchLoader(Counting(101), 2, 13).state_dict()
    refused(lambda: other().load_state_dict(state), f"{name} was", "is now")


def test_a_state_of_other_data_is_refused():
    loader = BatchLoader(Counting(101), 2, 13)
    state = loader.state_dict()
    refused(
        lambda: loader.load_state_dict(state | {"fingerprint": "0" * 64}),
        "fingerprint was '000",
    )


def test_a_corpus_shorter_than_one_window_says_how_much_is_missing(folder):
    shards = TokenShards(folder)
    BatchLoader(shards, 2, 318)  # 319 tokens: exactly one window
    parts = ("319 tokens", "block_size=319 needs 320", "smaller block_size")
    refused(lambda: BatchLoader(shards, 2, 319), *parts)
    val = TokenShards(folder, "val")
    call = lambda: validation_batches(val, 2, 53, 1)  # noqa: E731
    refused(call, "53 tokens", "needs 54", "larger val_fraction")


def test_on_cuda_the_batch_is_pinned_and_copied_without_waiting(monkeypatch):
    """Without a GPU: the calls that the copy is made of."""
    calls = []
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda t: calls.append("pin") or t)
    to = torch.Tensor.to
    monkeypatch.setattr(
        torch.Tensor, "to", lambda t, d, **k: calls.append((d.type, k)) or to(t, "cpu")
    )
    gpt2_edu.data.batches._windows(Counting(9), [0, 3], 3, torch.device("cuda"))
    assert calls == ["pin", ("cuda", {"non_blocking": True})]


# ---- Validation batches -----------------------------------------------------------------------


@given(
    tokens=st.integers(14, 500),
    batch_size=st.integers(1, 7),
    n_batches=st.integers(1, 9),
    world_size=st.integers(1, 5),
)
@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
def test_validation_windows_are_the_same_on_any_number_of_ranks_and_each_counted_once(
    tokens, batch_size, n_batches, world_size
):
    shards = Counting(tokens)
    seen = []
    for rank in range(world_size):
        batches = list(
            validation_batches(shards, batch_size, 13, n_batches, rank=rank, world_size=world_size)
        )
        for i, (inputs, targets) in enumerate(batches):
            assert torch.equal(targets, inputs + 1)
            assert 1 <= len(inputs) <= batch_size
            assert len(inputs) == batch_size or i == len(batches) - 1
            seen += inputs[:, 0].tolist()
    windows = (tokens - 1) // 13
    assert len(seen) == len(set(seen)) == min(windows, n_batches * batch_size)
    assert all(start % 13 == 0 and start + 14 <= tokens for start in seen)
    gaps = np.diff([*sorted(seen), windows * 13]) // 13
    assert gaps.max() - gaps.min() <= 1  # spread evenly, to the end


# ---- Windows that begin with a document --------------------------------------------------------


@pytest.fixture
def stories(tmp_path):
    """A folder of 40 short stories, tokenized."""
    sources, out = ("crane:40",), str(tmp_path / "stories")
    prepare(PrepareConfig(sources=sources, out=out, tokenizer="crane", shard_tokens=700))
    return TokenShards(out)


def test_aligned_windows_begin_with_a_document_and_each_comes_once_an_epoch(stories):
    eot, block_size = load_tokenizer("crane").eot_token, 50
    everything = stories.read(0, len(stories))
    fits = (everything == eot).nonzero()[:, 0] + block_size < len(stories)
    loader, seen = BatchLoader(stories, 1, block_size, seed=3, align=True), []
    while loader.epoch == 0:
        inputs, targets = loader.next_batch()
        assert inputs[0, 0] == eot and torch.equal(inputs[0, 1:], targets[0, :-1])
        seen.append(tuple(inputs[0].tolist()))
        if len(seen) == int(fits.sum()):
            break
    assert len(set(seen)) == len(seen) == int(fits.sum()) > 20


def test_aligned_validation_begins_every_window_with_a_document(stories):
    eot = load_tokenizer("crane").eot_token
    batches = list(validation_batches(stories, 3, 50, 4, align=True))
    assert sum(len(inputs) for inputs, _ in batches) == 12
    assert all((inputs[:, 0] == eot).all() for inputs, _ in batches)


def test_aligned_and_unaligned_positions_are_not_exchanged(stories):
    state = BatchLoader(stories, 1, 50, align=True).state_dict()
    with pytest.raises(ValueError, match="align was True, is now False"):
        BatchLoader(stories, 1, 50).load_state_dict(state)


def test_alignment_is_refused_where_no_document_begins(tmp_path):
    source, out = tmp_path / "one.txt", str(tmp_path / "shards")
    source.write_text("One long text. " * 99)  # its tail becomes the validation split
    prepare(PrepareConfig(sources=(str(source),), out=out))
    with pytest.raises(ValueError, match="no document in the split 'val'"):
        validation_batches(TokenShards(out, "val"), 1, 5, 1, align=True)
