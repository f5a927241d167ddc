"""Two texts diverge where they first differ, and the logit lens ends at the logits."""

from __future__ import annotations

import pytest
import torch

from gpt2_edu import trace
from gpt2_edu.analysis.divergence import divergence


def test_texts_diverge_at_the_first_difference_and_not_before(reader, tokenizer):
    found = divergence(reader, tokenizer, "a,b,c,d", "a,b,x,d")
    differ = [a != b for a, b in found.tokens]
    at = differ.index(True)
    assert differ == [i == at for i in range(len(differ))] and len(differ) > at + 1 > 1
    assert found.stages[:3] == ("embd", "h.0.resid_mid", "h.0.resid_post")
    assert len(found.stages) == 1 + 2 * reader.config.n_layer
    for distances in (found.cosine, found.relative):
        assert [d > 1e-6 for d in distances[0]] == differ
        for row in distances[1:]:
            assert max(row[:at]) < 1e-6 < min(row[at:])
    assert found.lens is None


def test_distances_are_those_of_the_vectors(reader, tokenizer):
    found = divergence(reader, tokenizer, "a,b", "a,x")
    vectors = []
    for text in ("a,b", "a,x"):
        ids = [tokenizer.eot_token, *tokenizer.encode_ordinary(text)]
        with torch.no_grad(), trace(reader) as t:
            reader(torch.tensor([ids]))
        vectors.append(t["transformer.h.1.resid_mid"][0, -1])
    a, b = vectors
    i = found.stages.index("h.1.resid_mid")
    assert found.cosine[i][-1] == pytest.approx(float(1 - a @ b / a.norm() / b.norm()), rel=1e-4)
    mean = float(a.norm() + b.norm()) / 2
    assert found.relative[i][-1] == pytest.approx(float((a - b).norm()) / mean, rel=1e-4)


def test_the_last_stage_prefers_followers_as_the_logits_do(reader, tokenizer):
    found = divergence(reader, tokenizer, "a,b", "a,x", followers=(" a", " crane"))
    one, two = (tokenizer.encode_ordinary(word)[0] for word in (" a", " crane"))
    preferences = []
    for text in ("a,b", "a,x"):
        ids = [tokenizer.eot_token, *tokenizer.encode_ordinary(text)]
        logits = reader(torch.tensor([ids]))[0][0, -1].detach()
        preferences.append(float(logits[one] - logits[two]))
    assert found.lens[-1][-1] == pytest.approx(preferences[0] - preferences[1], rel=1e-3)
    assert found.lens[0][-1] != pytest.approx(found.lens[-1][-1], rel=1e-3)


def test_different_lengths_or_equal_followers_raise(reader, tokenizer):
    with pytest.raises(ValueError, match=r"has 3 .* has 5"):
        divergence(reader, tokenizer, "a,b", "a,b,c")
    with pytest.raises(ValueError, match="different tokens"):
        divergence(reader, tokenizer, "a,b", "a,c", followers=(" a", " a"))
    with pytest.raises(ValueError, match="different tokens"):
        divergence(reader, tokenizer, "a,b", "a,c", followers=("", " a"))
