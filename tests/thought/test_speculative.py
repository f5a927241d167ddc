"""Speculative decoding: the large model's distribution, whatever the draft."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from gpt2_edu import GPT2, GPT2Config, generate, load_tokenizer
from gpt2_edu.analysis.reward_runs import novice
from gpt2_edu.analysis.thought import Remembered
from gpt2_edu.thought import speculate
from gpt2_edu.thought.speculative import Reader, accept, beyond
from tests.thorough import thorough

START = torch.tensor([[load_tokenizer("crane").eot_token]])
V = 5


def tiny(seed: int, n_embd: int = 8, block_size: int = 12) -> GPT2:
    """A random model whose predictions are far from even."""
    torch.manual_seed(seed)
    sizes = GPT2Config(
        vocab_size=V,
        block_size=block_size,
        n_layer=1,
        n_head=2,
        n_embd=n_embd,
        initializer_range=0.6,
    )
    return GPT2(sizes).eval()


def joint(model: GPT2, idx: torch.Tensor, n: int) -> torch.Tensor:
    """The exact probabilities of the next n tokens, (V, …, V) flattened."""
    probs, texts = torch.ones(1), idx
    for _ in range(n):
        with torch.no_grad():
            p = model(texts)[0][:, -1].softmax(dim=-1)
        probs = (probs.unsqueeze(1) * p).flatten()
        new = torch.arange(V).repeat(len(texts)).unsqueeze(1)
        texts = torch.cat([texts.repeat_interleave(V, dim=0), new], dim=1)
    return probs


def chi_square(counts: torch.Tensor, probs: torch.Tensor) -> float:
    """How many standard deviations a chi-square statistic lies above its mean."""
    expected = counts.sum() * probs
    rare = expected < 5
    seen = torch.cat([counts[~rare], counts[rare].sum()[None]])
    wanted = torch.cat([expected[~rare], expected[rare].sum()[None]])
    kept = wanted > 0
    statistic = ((seen - wanted)[kept] ** 2 / wanted[kept]).sum().item()
    degrees = int(kept.sum()) - 1
    return (statistic - degrees) / (2 * degrees) ** 0.5


def drawn(rule, n: int = 3000, ahead: int = 2) -> float:
    """The models compute each text once: what is drawn is as if they computed it every time."""
    model, draft = (Remembered(tiny(seed), 3) for seed in (0, 1))
    idx = torch.tensor([[1, 4]])
    generator, counts = torch.Generator().manual_seed(0), torch.zeros(V**3)
    for _ in range(n):
        found = speculate(model, draft, idx, 3, ahead=ahead, generator=generator, rule=rule)
        a, b, c = found.idx[0, 2:].tolist()
        counts[(a * V + b) * V + c] += 1
    return chi_square(counts, joint(model.model, idx, 3))


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [thorough(1), 2, thorough(4)])
def test_texts_have_the_distribution_of_the_large_model(ahead):
    assert abs(drawn(accept, ahead=ahead)) < 4


def from_p(p, q, drafted, generator):
    """The likely mistake: after a rejection the token is drawn from p itself."""
    kept, _ = accept(p, q, drafted, generator)
    return kept, int(torch.multinomial(p[kept], 1, generator=generator))


@pytest.mark.thorough
@pytest.mark.slow
def test_a_wrong_rule_is_found_by_the_same_test():
    assert drawn(from_p) > 20


def test_the_rule_keeps_p_for_each_token_by_formula():
    """min(p, q) by acceptance, and what is rejected times what p has beyond q."""
    p, q = torch.tensor([0.5, 0.2, 0.3]), torch.tensor([0.1, 0.6, 0.3])
    kept = torch.minimum(p, q)
    left = beyond(p, q)
    torch.testing.assert_close(kept + (1 - kept.sum()) * left / left.sum(), p)
    torch.testing.assert_close(beyond(p, p), p)


def test_what_is_kept_ends_at_the_first_rejection():
    p = torch.eye(4)[[0, 1, 2]]  # (3, 4): certain of 0, then 1, then 2
    q = torch.full((2, 4), 0.25)
    assert accept(p, q, torch.tensor([0, 1])) == (2, 2)
    assert accept(p, q, torch.tensor([0, 3])) == (1, 1)
    assert accept(p, q, torch.tensor([2, 1])) == (0, 0)
    assert accept(p[2:], q[:0], torch.tensor([], dtype=torch.long)) == (0, 2)


@pytest.mark.parametrize("ahead", [0, 1, 4, 50])
def test_greedy_text_is_that_of_the_model(ahead):
    model = GPT2.from_pretrained("crane")
    found = speculate(model, novice(), START, 60, ahead=ahead, temperature=0.0)
    assert found.idx.equal(generate(model, START, 60, temperature=0.0))
    assert found.rounds + found.accepted == 60
    assert found.rounds < 60 or ahead == 0


def test_a_model_that_drafts_for_itself_is_always_right():
    model = tiny(0)
    found = speculate(model, model, torch.tensor([[1]]), 11, ahead=4)
    assert (found.rounds, found.accepted, found.drafted) == (3, 8, 8)


def test_the_text_ends_with_the_end_token_wherever_it_falls():
    """It may be drafted and kept, or drawn after the drafted ones."""
    where = Counter()
    for seed in range(60):
        generator = torch.Generator().manual_seed(seed)
        found = speculate(tiny(0), tiny(1), torch.tensor([[1]]), 11, eos_id=2, generator=generator)
        new = found.idx[0, 1:].tolist()
        assert 2 not in new[:-1]
        assert new[-1] == 2 or len(new) == 11
        where[new[-1] == 2, len(new) == found.rounds + found.accepted] += 1
    assert where[True, True] and where[True, False]


def test_caches_give_what_the_whole_text_gives_after_a_step_back():
    model, idx = tiny(0), torch.tensor([[1, 2, 3, 4, 0, 1]])
    reader = Reader(model, 12)
    reader(idx, 3)
    idx = torch.cat([idx[:, :4], torch.tensor([[2, 2]])], dim=1)  # two tokens were taken back
    reader.cache.length = 4
    with torch.no_grad():
        torch.testing.assert_close(reader(idx, 2), model(idx)[0][0, -2:])
    with torch.no_grad():
        torch.testing.assert_close(reader(idx, 2), model(idx)[0][0, -2:])


def test_functions_draft_as_well():
    table = torch.randn(V, V)
    model, idx = tiny(0), torch.tensor([[1, 4]])
    found = speculate(model, lambda idx: table[idx], idx, 8, temperature=0.0)
    assert found.idx.equal(generate(model, idx, 8, temperature=0.0))
    with pytest.raises(ValueError, match="5 tokens, the draft one of 7"):
        speculate(model, lambda idx: torch.randn(V, 7)[idx], idx, 8)


def test_what_does_not_go_together_is_told():
    model, idx = tiny(0), torch.tensor([[1]])
    with pytest.raises(ValueError, match="vocabulary of 5 tokens, the draft one of 1024"):
        speculate(model, novice(), idx, 3)
    with pytest.raises(ValueError, match="move all to one device"):
        speculate(model, GPT2(model.config).to("meta"), idx, 3)
    with pytest.raises(ValueError, match="one text, got 2"):
        speculate(model, tiny(1), torch.tensor([[1], [2]]), 3)
    with pytest.raises(ValueError, match="block_size=4"):
        speculate(model, tiny(1, block_size=4), idx, 8)
    with pytest.raises(ValueError, match="the id 9"):
        speculate(model, tiny(1), torch.tensor([[9]]), 3)
    with pytest.raises(ValueError, match="ahead must be at least 0"):
        speculate(model, tiny(1), idx, 3, ahead=-1)
