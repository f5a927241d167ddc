"""The mixed reviews: their form, and every claim in them that can be computed."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from gpt2_edu import GPT2, GPT2Config, crane, llama, model, trace
from gpt2_edu.analysis.interventions import without
from gpt2_edu.cache import KVCache
from gpt2_edu.config import LlamaConfig
from gpt2_edu.exercises import checking, parts
from gpt2_edu.llama import Llama
from gpt2_edu.model import Block, positions_and_mask
from gpt2_edu.tuning import LoraConfig, add_lora
from gpt2_site.chapters import chapters, find
from gpt2_site.make_practice import questions
from gpt2_site.practice_tasks import answered_in_page, task
from gpt2_site.reviews import as_exercise, reviews

VALUES = [
    pytest.param(as_exercise(number, question), question, id=f"{review.slug} {number}")
    for review in reviews()
    for number, question in enumerate(questions(review), 1)
    if "right" in question
]


def small(**changes) -> GPT2:
    """A model of two blocks whose parts all matter."""
    settings = {"vocab_size": 11, "block_size": 8, "n_layer": 2, "n_head": 3, "n_embd": 12}
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(1)
        return GPT2(GPT2Config(**settings | {"initializer_range": 0.4} | changes)).eval()


def last(model: GPT2, *ids: int) -> torch.Tensor:
    with torch.no_grad():
        return model(torch.tensor([ids]))[0][0, -1]


# ---- Form


def test_there_is_a_review_after_each_part_but_the_first():
    ends = {chapter.part: chapter for chapter in chapters()}  # the last one of each part
    assert [review.after for review in reviews()] == list(ends.values())[1:]


@pytest.mark.parametrize("review", reviews(), ids=lambda review: review.slug)
def test_each_of_ten_questions_takes_two_chapters_that_have_been_read(review):
    asked = questions(review)
    assert len(asked) == 10
    for question in asked:
        told = [find(slug) for slug in question["chapters"]]
        assert len(set(told)) >= 2 and told == sorted(told, key=lambda c: c.number)
        assert told[-1].number <= review.after.number, question["text"]
    here = [q for q in asked if any(find(s).part == review.after.part for s in q["chapters"])]
    assert len(here) >= 8, "a review is mostly about its part"


@pytest.mark.parametrize(("exercise", "question"), VALUES)
def test_every_typed_mistake_is_told_by_its_own_words(exercise, question):
    assert answered_in_page(exercise) and len(exercise.mistakes) >= 3
    assert len(task(exercise)["mistakes"]) == len(exercise.mistakes)
    assert checking.examine(exercise, exercise.right).passed
    for mistake in exercise.mistakes:
        report = checking.examine(exercise, parts.execute(exercise, mistake.code))
        assert not report.passed and report.diagnosis == mistake.message


# ---- Claims, in the order of the questions


def test_the_mask_tells_a_second_layer_about_order():
    for layers, alike in ((1, True), (2, False)):
        model = small(n_layer=layers)
        model.transformer.wpe.weight.data.zero_()
        first, second = last(model, 3, 5, 7), last(model, 5, 3, 7)
        assert torch.allclose(first, second, atol=1e-5) is alike


def test_without_the_mask_the_last_token_changes_from_the_second_layer_on():
    q, k, v = torch.randn(3, 5, 4, generator=torch.manual_seed(0))
    ends = {}
    for causal in (True, False):
        one = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        two = F.scaled_dot_product_attention(one, one, one, is_causal=causal)
        ends[causal] = one[-1], two[-1]
    (one, two), (open_one, open_two) = ends.values()
    assert torch.allclose(one, open_one) and not torch.allclose(two, open_two)


def test_longer_queries_and_shorter_keys_give_the_same_scores():
    q, k = torch.randn(2, 5, 4, generator=torch.manual_seed(0))
    assert torch.equal((2 * q) @ (k / 2).T, q @ k.T)


def test_the_loss_falls_along_a_story():
    by_position = crane.entropy(50).by_position
    assert by_position[1] > 2 * by_position[40]


def test_one_head_or_twelve():
    shapes = [
        {name: p.shape for name, p in Block(GPT2Config(n_embd=768, n_head=n)).named_parameters()}
        for n in (1, 12)
    ]
    assert shapes[0] == shapes[1] and shapes[0]["attn.c_attn.weight"] == (2304, 768)
    assert 12 * 64 == 768 and math.sqrt(768 / 12) == 8 < math.sqrt(768)


def test_a_token_sees_across_the_end_of_a_text():
    end = 10
    model = small()
    assert not torch.allclose(last(model, 3, 5, end, 7), last(model, 4, 6, end, 7), atol=1e-3)


def test_without_attention_a_token_is_alone():
    model = small()
    assert not torch.allclose(last(model, 3, 5, 7), last(model, 4, 6, 7), atol=1e-3)
    for block in model.transformer.h:
        for parameter in block.attn.c_proj.parameters():
            parameter.data.zero_()
    assert torch.equal(last(model, 3, 5, 7), last(model, 4, 6, 7))


def test_a_longer_stream_gets_the_same_edit_of_attention():
    block = small().transformer.h[1]
    x = torch.randn(1, 5, 12, generator=torch.manual_seed(0))
    with torch.no_grad():
        edits = [block.attn(block.ln_1(factor * x)) for factor in (1, 10)]
        ends = [block(factor * x) / factor for factor in (1, 10)]
    torch.testing.assert_close(*edits, atol=1e-4, rtol=1e-4)
    assert not torch.allclose(*ends, atol=1e-2)


def test_parameters_of_a_block_with_half_an_mlp():
    C = 100
    block = Block(GPT2Config(n_embd=C, n_head=4))
    total = sum(p.numel() for p in block.parameters())
    block.mlp.c_fc, block.mlp.c_proj = torch.nn.Linear(C, 2 * C), torch.nn.Linear(2 * C, C)
    assert (total, sum(p.numel() for p in block.parameters())) == (121_300, 81_100)
    assert 2 * 2 * C**2 == 40_000 and 2 * C == 200


def test_without_its_bend_an_mlp_and_its_plus_are_one_matrix():
    up, down = torch.randn(2, 16, 4, generator=torch.manual_seed(0)).double()
    x = torch.randn(3, 4, generator=torch.manual_seed(1)).double()
    torch.testing.assert_close(x + x @ up.T @ down, x @ (torch.eye(4).double() + up.T @ down))


def test_a_part_that_runs_beside_attention_does_not_read_it():
    block = small().transformer.h[0]
    x, y = torch.randn(2, 1, 5, 12, generator=torch.manual_seed(0))
    y[:, -1] = x[:, -1]  # the same last token after another text
    with torch.no_grad():
        beside = [block.mlp(block.ln_2(text))[:, -1] for text in (x, y)]
        after = [
            block.mlp(block.ln_2(text + block.attn(block.ln_1(text))))[:, -1] for text in (x, y)
        ]
    assert torch.equal(*beside) and not torch.allclose(*after, atol=1e-3)


def test_a_column_whose_gamma_is_zero_is_kept_and_can_learn():
    block = small().transformer.h[0]
    block.ln_2.weight.data[5] = 0
    x = torch.randn(1, 3, 12, generator=torch.manual_seed(0))
    assert torch.equal(block.ln_2(x)[..., 5], block.ln_2.bias[5].expand(1, 3))
    out = block(x)
    assert (out[..., 5] != x[..., 5]).all()  # the MLP, too, writes there
    out.sum().backward()
    assert block.ln_2.weight.grad[5] != 0


def test_perplexities_and_temperatures():
    assert round(math.log(1024) / 10, 3) == 0.693 and 2**10 == 1024
    logits = torch.tensor([-3.0, -5.0])
    ratio = {tau: (logits / tau).softmax(0) for tau in (1, 2)}
    assert math.isclose(ratio[2][0] / ratio[2][1], math.e, rel_tol=1e-5)
    assert math.isclose(math.sqrt(ratio[1][0] / ratio[1][1]), math.e, rel_tol=1e-5)
    assert round(float(crane.entropy(200)), 2) == 0.44


def test_adamw_takes_the_same_steps_after_a_doubled_loss():
    ends = []
    for factor in (1, 2):
        weight = torch.nn.Parameter(torch.tensor([1.0, -2.0, 3.0]))
        optimizer = torch.optim.AdamW([weight], lr=0.1, weight_decay=0.0)
        for step in range(5):
            optimizer.zero_grad()
            (factor * ((step + 1) * weight**2 + weight).sum()).backward()
            optimizer.step()
        ends.append(weight.detach())
    torch.testing.assert_close(*ends, atol=1e-5, rtol=0)


def test_a_longer_window_does_not_fit_a_checkpoint():
    with pytest.raises(RuntimeError, match=r"wpe\.weight"):
        small(block_size=200).load_state_dict(small(block_size=128).state_dict())


def test_the_row_of_a_token_that_never_occurs_gets_a_gradient():
    model = small()
    ids = torch.tensor([[1, 2, 3, 4, 5]])
    model(ids[:, :-1], ids[:, 1:])[1].backward()
    assert model.transformer.wte.weight.grad[9].abs().max() > 1e-4


def test_a_swap_after_the_last_block_stays_at_its_position():
    model = small()
    ids = torch.tensor([[1, 2, 3, 4]])

    def swap(x):
        x = x.clone()
        x[:, 1] = torch.randn(12, generator=torch.manual_seed(0))
        return x

    before, changed = last(model, 1, 2, 3, 4), []
    for stage in ("transformer.h.1.resid_post", "transformer.h.0.resid_post"):
        with torch.no_grad(), trace(model, edits={stage: swap}):
            changed.append(not torch.allclose(model(ids)[0][0, -1], before, atol=1e-5))
    assert changed == [False, True]


def test_forms_of_gelu_differ_by_four_ten_thousandths():
    x = torch.linspace(-5, 5, 2001)
    apart = (F.gelu(x) - F.gelu(x, approximate="tanh")).abs().max()
    assert 3e-4 < apart < 5e-4


def test_a_cache_remembers_a_head_that_is_off():
    model = small()
    ids = torch.tensor([[1, 2, 3, 4, 5]])
    off = without(model, heads=[(0, 1)])
    with torch.no_grad():
        cache = KVCache(model.config, 1)
        model(ids[:, :-1], cache=cache)
        with trace(model, edits=off):
            kept = model(ids[:, -1:], cache=cache)[0][0, -1]
        with trace(model, edits=off):
            fresh = model(ids)[0][0, -1]
    assert not torch.allclose(kept, fresh, atol=1e-3)


def test_nats_and_ratios():
    assert round(math.exp(10.5 - 9.6), 2) == 2.46
    assert round(math.exp(9.6), -3) == 15_000
    assert 20_000 // 100 == 200


def test_a_cache_with_a_quarter_of_the_key_heads():
    config = LlamaConfig(
        vocab_size=11, block_size=8, n_layer=24, n_head=16, n_embd=1024, n_kv_head=4, n_inner=8
    )
    assert KVCache(config, 1, 1, dtype=torch.bfloat16).nbytes() == 24_576


def test_a_llama_does_not_see_where_a_text_begins(monkeypatch):
    ids = torch.tensor([[3, 5, 7]])
    sizes = {"vocab_size": 11, "block_size": 16, "n_layer": 2, "n_head": 2, "n_embd": 8}
    more = {"n_kv_head": 1, "head_size": 4, "n_inner": 8, "initializer_range": 0.4}
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(1)
        models = Llama(LlamaConfig(**sizes, **more)).eval(), small()
    found = []
    for first in (0, 5):

        def later(*given, first=first):
            positions, visible = positions_and_mask(*given)
            return positions + first, visible

        with monkeypatch.context() as patch:
            for module in (model, llama):
                patch.setattr(module, "positions_and_mask", later)
            found.append([one(ids)[0] for one in models])
    (turned, learned), (turned_later, learned_later) = found
    torch.testing.assert_close(turned, turned_later, atol=1e-4, rtol=1e-4)
    assert not torch.allclose(learned, learned_later, atol=1e-2)


def test_four_bits_and_a_scale_for_each_group():
    assert round(800e9 / (8e9 * 4.5 / 8)) == 178 and 800e9 / (8e9 * 2) == 50


def test_a_mean_over_no_targets_is_no_number():
    assert F.cross_entropy(torch.randn(3, 11), torch.full((3,), -100)).isnan()


def test_what_a_lora_of_rank_8_trains():
    one = small(n_layer=1, n_head=12, n_embd=768)
    add_lora(one, LoraConfig(rank=8, targets=("c_attn",)))
    trained = sum(p.numel() for p in one.parameters() if p.requires_grad)
    assert trained == 24_576 == 768 * 3 * 768 // 72 and 12 * trained == 294_912


def test_a_group_teaches_unless_its_rewards_are_equal():
    marks = torch.rand(100_000, 8, generator=torch.manual_seed(0)) < 0.1
    teaches = (marks != marks[:, :1]).any(dim=1).float().mean().item()
    assert teaches == pytest.approx(0.570, abs=0.006)
    assert 1 - 0.9**8 - 0.1**8 == pytest.approx(0.570, abs=5e-4)


def test_a_budget_for_twenty_tokens_a_parameter():
    assert 6 * 1e9 * 20e9 == 1.2e20


def test_a_cache_drops_rejected_drafts_by_its_length():
    one = small()
    text, drafts, new = torch.tensor([[1, 2, 3]]), torch.tensor([[4, 5, 6, 7]]), torch.tensor([[8]])
    whole = last(one, 1, 2, 3, 4, 5, 8)
    with torch.no_grad():
        for dropped, alike in ((2, True), (1, False), (0, False)):
            cache = KVCache(one.config, 1)
            one(text, cache=cache)
            one(drafts, cache=cache)
            cache.length -= dropped
            found = one(new, cache=cache)[0][0, -1]
            assert torch.allclose(found, whole, atol=1e-5) is alike
