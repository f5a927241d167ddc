"""Decoding constrained by the grammar: every text is a story, and what the constraint costs."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from gpt2_edu import GPT2, crane, generate, load_tokenizer, sample_next
from gpt2_edu.analysis.scoring import score
from gpt2_edu.crane.constraint import Constraint

ENCODING = load_tokenizer("crane")
END = ENCODING.eot_token


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def flat(idx: torch.Tensor) -> torch.Tensor:
    """Logits (B, T, V) of a model that knows nothing."""
    return torch.zeros(*idx.shape, ENCODING.n_vocab)


def stories(rows: torch.Tensor) -> list[str]:
    return [
        ENCODING.decode(row[: row.index(END)]) for row in rows[:, 1:].tolist() if END in row[1:]
    ]


def test_even_a_model_that_knows_nothing_writes_stories():
    """Mostly letter by letter: any cut of a word into tokens is allowed."""
    choose = Constraint(ENCODING, [""] * 8, partial(sample_next, generator=seeded()))
    rows = generate(flat, torch.full((8, 1), END), 600, eos_id=END, choose=choose)
    written = stories(rows)
    assert len(written) == 8
    assert all(crane.judge(text).kind == "story" for text in written)
    assert rows.size(1) > 1.5 * max(len(ENCODING.encode(text)) for text in written)


def test_every_story_can_be_written_with_the_constraint():
    for seed in range(6):
        ids = [*ENCODING.encode(crane.story(seed)), END]
        script = iter(torch.tensor(ids).split(1))
        choose = Constraint(ENCODING, [""], lambda _, script=script: next(script))
        for i in ids:
            allowed = choose.allowed(torch.zeros(1, ENCODING.n_vocab))
            assert allowed[0, i]
            assert choose(torch.zeros(1, ENCODING.n_vocab)).item() == i
        allowed = choose.allowed(torch.zeros(1, ENCODING.n_vocab))
        assert allowed.nonzero().tolist() == [[0, END]]


def test_the_prompts_are_continued():
    prompts = ["By the river, the crane", "One windy morning, Nora"]
    choose = Constraint(ENCODING, prompts, partial(sample_next, generator=seeded()))
    allowed = choose.allowed(torch.zeros(2, ENCODING.n_vocab))
    assert allowed[0, ENCODING.encode(" ate")[0]]
    assert not allowed[:, END].any()
    rows = generate(flat, torch.zeros(2, 1).long(), 600, eos_id=END, choose=choose)
    for prompt, more in zip(prompts, stories(rows), strict=True):
        assert crane.judge(prompt + more).kind == "story"
    for text in ("By the river, the crame", "By  the", "<|endoftext|>", "Ünd"):
        with pytest.raises(ValueError, match="no story of Crane World begins with"):
            Constraint(ENCODING, [text])
    with pytest.raises(ValueError, match="follows 2 texts, got logits of 3"):
        choose(torch.zeros(3, ENCODING.n_vocab))


def test_log_kept_is_what_separates_it_from_the_model():
    """Sum of log q under the constraint, plus log_kept, is log p of the text under the model."""
    model = GPT2.from_pretrained("crane")
    log_q = torch.zeros(1)

    def draw(kept: torch.Tensor) -> torch.Tensor:
        new = sample_next(kept, generator=generator)
        log_q.add_(kept.log_softmax(dim=-1)[0, new])
        return new

    for seed in range(3):
        generator = seeded(seed)
        log_q.zero_()
        choose = Constraint(ENCODING, [""], draw)
        rows = generate(model, torch.tensor([[END]]), 127, eos_id=END, choose=choose)
        log_p = score(model, rows[0].tolist()).sum().item()
        assert log_p == pytest.approx(log_q.item() + choose.log_kept.item(), abs=1e-3)
        assert choose.log_kept.item() < 0


def test_an_ended_text_may_only_end_and_its_weight_stays():
    constraint = Constraint(ENCODING, [""] * 8, partial(sample_next, generator=seeded()))
    model = GPT2.from_pretrained("crane")
    start = torch.full((8, 1), END)
    generate(model, start, 127, eos_id=END, choose=constraint)
    log_kept = constraint.log_kept.clone()
    assert (log_kept < 0).all()
    assert generate(model, start, 5, choose=constraint)[:, 1:].unique().tolist() == [END]
    assert torch.equal(constraint.log_kept, log_kept)
