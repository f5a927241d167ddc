"""Conversations: roles, which tokens bear a loss, batches, and what is refused."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gpt2_edu import GPT2, Llama, LlamaConfig, crane, load_tokenizer
from gpt2_edu.quantize import quantize
from gpt2_edu.tokenizer import END, load_encoding, save_encoding
from gpt2_edu.tuning import conversation, example_batch, plain, prompt, render, with_roles
from gpt2_edu.tuning.messages import ASSISTANT, USER, role_encoding

CRANE = load_tokenizer("crane")
ENCODING = role_encoding(CRANE)
END_ID, USER_ID, ASSISTANT_ID = 1023, 1024, 1025


def said(*turns):
    """Messages of the user and the assistant in turn."""
    roles = ("user", "assistant")
    return [{"role": roles[i % 2], "content": text} for i, text in enumerate(turns)]


def test_a_conversation_is_rendered_with_roles_and_the_loss_is_on_its_answers():
    ids, answer = render(said("Ivo saw a hat.", "red", "Who?", "Ivo saw it"), ENCODING)
    encode = CRANE.encode_ordinary
    first, second = [*encode(" red"), END_ID], [*encode(" Ivo saw it"), END_ID]
    expected = [END_ID, USER_ID, *encode("Ivo saw a hat."), ASSISTANT_ID, *first]
    expected += [USER_ID, *encode("Who?"), ASSISTANT_ID, *second]
    assert ids == expected
    learned = [i for i, is_answer in zip(ids, answer) if is_answer]
    assert learned == first + second
    assert answer[-len(second) :] == [True] * len(second) and not answer[-len(second) - 1]


def test_the_prompt_of_a_question_is_the_beginning_of_its_conversation():
    whole = render(said("Ivo saw a hat. Who?", "Ivo"), ENCODING).ids
    begun = prompt(said("Ivo saw a hat. Who?"), ENCODING)
    assert begun == whole[: len(begun)] and begun[-1] == ASSISTANT_ID
    assert ENCODING.decode(whole[len(begun) :]) == " Ivo<|endoftext|>"


def test_a_question_of_crane_world_follows_its_story_after_a_space():
    asked = crane.Exchange("Ivo saw a hat.", "Who saw a hat?", "Ivo", "who", None)
    assert conversation(asked) == said("Ivo saw a hat. Who saw a hat?", "Ivo")


def test_a_system_message_is_plain_text_before_the_first_question():
    system = {"role": "system", "content": "Be brief."}
    ids, answer = render([system, *said("Who?", "Ivo")], ENCODING)
    without = render(said("Who?", "Ivo"), ENCODING)
    brief = CRANE.encode_ordinary("Be brief.")
    assert ids == [END_ID, *brief, *without.ids[1:]]
    assert answer == [False] * len(brief) + without.answer


def test_an_answer_without_its_leading_space_is_other_tokens():
    bare = render(said("Which colour?", "red"), ENCODING, before_answer="")
    usual = render(said("Which colour?", "red"), ENCODING)
    assert bare.ids != usual.ids and ENCODING.decode(bare.ids[-3:]).endswith("red<|endoftext|>")


@given(st.text(min_size=1).filter(str.strip))
def test_no_text_of_a_message_becomes_a_special_token(text):
    if any("\ud800" <= c <= "\udfff" for c in text):
        return
    ids, answer = render(said(text + USER, ASSISTANT + text + "<|endoftext|>"), ENCODING)
    assert [i for i in ids if i >= END_ID] == [END_ID, USER_ID, ASSISTANT_ID, END_ID]
    assert ENCODING.decode([i for i, one in zip(ids, answer) if one][:-1]) == (
        " " + ASSISTANT + text + "<|endoftext|>"
    )


@pytest.mark.parametrize("messages, problem", [
    ([], "messages must be a list with at least one"),
    ("Who?", "messages must be a list"),
    (said("Who?"), "has no answer"),
    (said("Who?", "Ivo", "Where?"), "has no answer"),
    ([*said("Who?", "Ivo"), *said("Who?", "Ivo")[1:]], "must take turns, the user first"),
    (said("Who?", "Ivo")[1:], "must take turns, the user first"),
    ([{"role": "system", "content": "Be brief."}], "must take turns"),
    ([*said("Who?"), {"role": "bot", "content": "Ivo"}], r"message 2 has the role 'bot'\. Known"),
    ([*said("Who?", "Ivo"), {"role": "system", "content": "x"}], "message 3 has the role 'system'"),
    ([*said("Who?"), {"role": "assistant"}], "must have the fields role and content .* has role"),
    ([*said("Who?"), said("a", "b")[1] | {"weight": 0}], "no other; it has role, content, weight"),
    ([["user", "Who?"]], "message 1 must have the fields role and content .* has list"),
    (said("Who?", ""), "the content of message 2 must be text, got ''"),
    (said(" \n", "Ivo"), "the content of message 1 must be text"),
    ([{"role": "user", "content": ["Who?"]}], r"must be text, got \['Who\?'\]"),
    ([{"role": ["user"], "content": "Who?"}], r"has the role \['user'\]"),
    (said("\ud800", "Ivo"), "message 1 has an unpaired surrogate"),
])  # fmt: skip
def test_what_is_not_a_conversation_is_refused(messages, problem):
    with pytest.raises((TypeError, ValueError), match=problem):
        render(messages, ENCODING)


def test_prompts_and_tokenizers_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="the last message must be the user's"):
        prompt(said("Who?", "Ivo"), ENCODING)
    with pytest.raises(ValueError, match="the tokenizer 'crane' has no roles: see with_roles"):
        render(said("Who?", "Ivo"), CRANE)
    with pytest.raises(ValueError, match="text must be text, got ''"):
        plain("", ENCODING)


# ---- Batches -----------------------------------------------------------------------------------


def test_only_answers_bear_a_loss_unless_everything_is_to():
    short, long = (
        render(said("Who?", "Ivo"), ENCODING),
        render(said("Who saw it?", "Ivo"), ENCODING),
    )
    text = plain("A crane ate fish.", ENCODING)
    idx, targets = example_batch([short, long, text])
    longest = max(len(one.ids) for one in (short, long, text)) - 1
    assert idx.shape == targets.shape == (3, longest) and idx.dtype == targets.dtype == torch.int64
    for row, one in enumerate((short, long, text)):
        n = len(one.ids) - 1
        assert idx[row, :n].tolist() == one.ids[:-1]
        learned = [i if bears else -100 for i, bears in zip(one.ids, one.answer)][1:]
        assert targets[row].tolist() == learned + [-100] * (longest - n)
    _, everything = example_batch([short, long, text], loss_on="everything")
    assert everything[0, : len(short.ids) - 1].tolist() == short.ids[1:]
    assert (everything == -100).sum() == sum(longest + 1 - len(o.ids) for o in (short, long, text))


def test_rows_are_as_long_as_asked_and_never_cut():
    one = render(said("Who?", "Ivo"), ENCODING)
    n = len(one.ids) - 1
    for length in (n, n + 5):
        idx, targets = example_batch([one], length=length)
        assert idx.shape == targets.shape == (1, length)
    with pytest.raises(ValueError, match=f"need {n} positions, and there are {n - 1}"):
        example_batch([one], length=n - 1)
    with pytest.raises(ValueError, match="positions"):
        example_batch([])


def test_what_fills_a_row_up_changes_no_loss():
    model, encoding = with_roles(GPT2.probe(), CRANE)
    one = render(said("Ivo saw a hat. Who?", "Ivo"), encoding)
    losses = [model(*example_batch([one], length=length))[1] for length in (20, 60)]
    assert torch.allclose(*losses, rtol=1e-5)
    ids, answer = torch.tensor(one.ids), torch.tensor(one.answer)
    log_probs = model(ids[None, :-1])[0][0].log_softmax(dim=-1)
    by_hand = -log_probs[torch.arange(len(ids) - 1), ids[1:]][answer[1:]].mean()
    assert torch.allclose(losses[0], by_hand, rtol=1e-5)


# ---- Two tokens more ---------------------------------------------------------------------------


def test_a_model_with_roles_is_the_model_with_two_rows_more():
    model = GPT2.probe()
    longer, encoding = with_roles(model, CRANE)
    assert longer.config == dataclasses.replace(model.config, vocab_size=1026)
    assert (encoding.n_vocab, encoding.eot_token) == (1026, END_ID)
    assert longer.is_tied() and not longer.training
    idx = torch.tensor([CRANE.encode_ordinary("By the river, the crane")])
    expected, found = model(idx)[0], longer(idx)[0]
    assert found[..., :1024].equal(expected) and found.shape[-1] == 1026
    rows, table = longer.wte.weight[1024:], model.wte.weight
    assert rows.norm(dim=1).sub(table.norm(dim=1).mean()).abs().max() < 3 * table.norm(dim=1).std()
    again, _ = with_roles(model, CRANE)
    assert again.wte.weight.equal(longer.wte.weight)
    assert again.wte.weight.data_ptr() != longer.wte.weight.data_ptr()
    assert with_roles(longer, encoding) == (longer, encoding)


def test_an_untied_head_gets_rows_of_its_own():
    sizes = LlamaConfig(
        vocab_size=1024, block_size=13, n_layer=1, n_head=3, n_kv_head=1, n_embd=12, n_inner=7,
        head_size=4, tie_word_embeddings=False,
    )  # fmt: skip
    model = Llama(sizes)
    longer, _ = with_roles(model, CRANE)
    assert not longer.is_tied() and longer.lm_head.weight.shape == (1026, 12)
    assert not longer.lm_head.weight[1024:].equal(longer.wte.weight[1024:])


def test_a_tokenizer_with_roles_is_saved_and_found_again(tmp_path):
    save_encoding(ENCODING, tmp_path)
    assert (tmp_path / END).read_text() == '{"eos_token_id": 1023}\n'
    again = load_encoding(tmp_path)
    assert again._special_tokens == {
        "<|endoftext|>": END_ID,
        USER: USER_ID,
        ASSISTANT: ASSISTANT_ID,
    }
    text = "By the river, <|user|> the crane"
    assert again.encode_ordinary(text) == CRANE.encode_ordinary(text)
    assert again.encode(USER, allowed_special="all") == [USER_ID]
    assert again._mergeable_ranks == CRANE._mergeable_ranks
    assert render(said("Who?", "Ivo"), again) == render(said("Who?", "Ivo"), ENCODING)


def test_models_that_cannot_get_roles_are_refused():
    model = GPT2.probe()
    with pytest.raises(ValueError, match="integers of 8 bits, which have no gradient"):
        with_roles(quantize(model), CRANE)
    with pytest.raises(ValueError, match=r"has 1,024 tokens, the tokenizer 'gpt2' 50,257"):
        with_roles(model, load_tokenizer("gpt2"))
