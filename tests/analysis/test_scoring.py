"""Log-probabilities belong to their tokens, and the baselines predict what they should."""

from __future__ import annotations

import pytest
import torch

from gpt2_edu import crane
from gpt2_edu.analysis import scoring


def test_log_probs_are_without_dropout_and_restore_the_mode(model, idx):
    expected = model(idx)[0].log_softmax(dim=-1)
    model.train()
    torch.testing.assert_close(scoring.model_log_probs(model)(idx), expected)
    assert model.training


def test_a_window_as_long_as_the_text_changes_nothing(model, idx):
    T = idx.size(1)
    full = scoring.model_log_probs(model)(idx)
    assert torch.equal(scoring.window_log_probs(model, T)(idx), full)
    assert torch.equal(scoring.window_log_probs(model, T + 1)(idx), full)
    assert not torch.allclose(scoring.window_log_probs(model, T - 1)(idx), full)


def test_a_window_sees_the_last_tokens_and_no_others(model, idx):
    idx[1] = idx[0]  # one text twice, so that windows are shared
    answers = scoring.window_log_probs(model, 3)(idx)
    for t in range(idx.size(1)):
        alone = model(idx[:, max(0, t - 2) : t + 1])[0][:, -1].log_softmax(dim=-1)
        torch.testing.assert_close(answers[:, t], alone)


def test_a_bigram_counts_pairs():
    bigram = scoring.Bigram(torch.tensor([0, 1, 0, 1, 0, 2]), vocab_size=3, add=1.0)
    expected = torch.tensor([[1, 3, 2], [3, 1, 1], [1, 1, 1]])
    expected = expected / expected.sum(dim=-1, keepdim=True)
    torch.testing.assert_close(bigram(torch.tensor([[0, 1, 2]])).exp(), expected[None])
    for add in (0.0, float("nan")):  # a pair that never occurs would have the probability 0
        with pytest.raises(ValueError, match="add must be above 0"):
            scoring.Bigram(torch.tensor([0, 1]), vocab_size=3, add=add)


def test_encode_words_matches_the_tokenizer(tokenizer):
    for seed in range(6):
        story = crane.annotated_story(seed)
        ids, starts = scoring.encode_words(tokenizer, story.words)
        end = tokenizer.eot_token
        assert ids == [end, *tokenizer.encode_ordinary(story.text), end]
        for word, start, stop in zip(story.words, starts, starts[1:], strict=False):
            assert tokenizer.decode(ids[start:stop]).strip() == word
        assert starts[-1] == len(ids) - 1


def test_scores_do_not_depend_on_the_batch(model):
    rows = [[5, 6, 7, 8], [9, 10], [11, 12, 13]]
    for batch_size in (1, 2, 3):
        for row, said in zip(rows, scoring.score_tokens(model, rows, batch_size)):
            alone = model(torch.tensor([row]))[0][0].detach().log_softmax(dim=-1)
            expected = [float(alone[i, token]) for i, token in enumerate(row[1:])]
            assert said.tolist() == pytest.approx(expected, rel=1e-4)


def test_the_score_of_one_text(model):
    ids = [5, 6, 7, 8, 9]
    found = scoring.score(model, ids)
    assert found.shape == (4,)
    assert torch.equal(found, scoring.score_tokens(model, [ids])[0])
    window = model.config.block_size
    assert scoring.score(model, [1] * (window + 1)).shape == (window,)
    for n in (0, 1, window + 2):
        with pytest.raises(ValueError, match=rf"block_size\+1={window + 1} tokens, got {n}"):
            scoring.score(model, [1] * n)
