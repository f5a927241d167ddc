"""Conversations as a model reads them: two special tokens for the roles, a loss on answers only.

A conversation is a list of messages, {"role": "user" or "assistant", "content": text}, and becomes

    <|endoftext|> <|user|> question <|assistant|> answer <|endoftext|>

The model still continues a text: it predicts what follows ``<|assistant|>``, and ``<|endoftext|>``
ends the answer. More turns follow in the same way. A first message of the role "system" is plain
text before the first question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypedDict, TypeVar

import numpy as np
import torch
from torch import Tensor

from ..language_model import LanguageModel
from ..machine.messages import join_some, short_repr
from ..tokenizer import END_OF_TEXT, Encoding, make_encoding
from ..tokenizer_json import TokenizerJSON

USER, ASSISTANT = "<|user|>", "<|assistant|>"
ROLES = ("user", "assistant")
IGNORED = -100  # as a target: no loss here
LossOn = Literal["answers", "everything"]
M = TypeVar("M", bound=LanguageModel)


class Message(TypedDict):
    """What one side says."""

    role: str
    content: str


class Rendered(NamedTuple):
    """A conversation as token ids, and for each of them whether it is part of an answer."""

    ids: list[int]
    answer: list[bool]


# ---- Two tokens more ---------------------------------------------------------------------------


def has_roles(encoding: Encoding) -> bool:
    """Whether a tokenizer has the two special tokens of the roles."""
    return not isinstance(encoding, TokenizerJSON) and USER in encoding._special_tokens


def role_encoding(encoding: Encoding) -> Encoding:
    """The tokenizer with ``<|user|>`` and ``<|assistant|>`` as its last two ids.

    Raises ValueError for a tokenizer.json: its model has a template of its own.
    """
    if isinstance(encoding, TokenizerJSON):
        raise ValueError(f"{encoding.name} has special tokens of its own: roles cannot be added")
    if has_roles(encoding):
        return encoding
    special = [token.encode() for token in (END_OF_TEXT, USER, ASSISTANT)]
    more = {token: encoding.eot_token + i for i, token in enumerate(special)}
    return make_encoding(f"{encoding.name} with roles", encoding._mergeable_ranks | more)


@torch.no_grad()
def with_roles(model: M, encoding: Encoding) -> tuple[M, Encoding]:
    """A copy of a model, and its tokenizer, with the two tokens of the roles; as they are if so.

    The vocabulary V becomes V + 2. The new rows of the table, and with it of the tied head, are
    drawn like the old ones: each column has its mean and deviation. They are the same every time.
    """
    model.can_learn()
    if model.config.vocab_size != encoding.n_vocab:
        raise ValueError(
            f"the model has {model.config.vocab_size:,} tokens, the tokenizer {encoding.name!r} "
            f"{encoding.n_vocab:,}: give the model's own"
        )
    longer = role_encoding(encoding)
    if longer is encoding:
        return model, encoding
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    for name in ("transformer.wte.weight", "lm_head.weight"):
        table = state[name]  # (V, C)
        draws = np.random.RandomState(0).standard_normal((len(ROLES), table.size(1)))
        rows = table.mean(dim=0) + table.std(dim=0) * torch.from_numpy(draws).to(table)
        state[name] = torch.cat((table, rows))  # (V + 2, C)
    copy = type(model).blank(replace(model.config, vocab_size=longer.n_vocab))
    copy.load_state_dict(state, assign=True)
    return copy.train(model.training), longer


# ---- Messages to ids ---------------------------------------------------------------------------


def render(messages: object, encoding: Encoding, *, before_answer: str = " ") -> Rendered:
    """A conversation that ends with an answer, as ids and which of them the answers are.

    An answer is encoded after a space, because `` red`` in a text and ``red`` are different tokens;
    its own ``<|endoftext|>`` belongs to it. Special tokens in a message are ordinary text. Raises
    TypeError or ValueError for anything but messages of the two roles in turn.
    """
    checked = check_messages(messages)
    if checked[-1]["role"] != "assistant":
        raise ValueError("the conversation has no answer: its last message is not the assistant's")
    return _render(checked, encoding, before_answer)


def prompt(messages: object, encoding: Encoding) -> list[int]:
    """The ids of a conversation that ends with a question, up to where the answer begins."""
    checked = check_messages(messages)
    if checked[-1]["role"] != "user":
        raise ValueError("the last message must be the user's: it is what is answered")
    return _render(checked, encoding, " ").ids + encoding.encode(ASSISTANT, allowed_special="all")


def plain(text: str, encoding: Encoding) -> Rendered:
    """A text without roles, between two ``<|endoftext|>``, all of it to be learned."""
    _check_text("text", text)
    ids = [encoding.eot_token, *encoding.encode_ordinary(text), encoding.eot_token]
    return Rendered(ids, [False] + [True] * (len(ids) - 1))


def _render(messages: list[Message], encoding: Encoding, before_answer: str) -> Rendered:
    if not has_roles(encoding):
        raise ValueError(f"the tokenizer {encoding.name!r} has no roles: see with_roles")
    ids, answer = [encoding.eot_token], [False]
    for message in messages:
        role, text = message["role"], message["content"]
        is_answer = role == "assistant"
        new = encoding.encode_ordinary(before_answer + text if is_answer else text)
        new += [encoding.eot_token] * is_answer
        if role in ROLES:  # the role's own token is given, and never to be predicted
            ids += encoding.encode(f"<|{role}|>", allowed_special="all")
            answer.append(False)
        ids, answer = ids + new, answer + [is_answer] * len(new)
    return Rendered(ids, answer)


def check_messages(messages: object) -> list[Message]:
    """The messages of a conversation. Raises TypeError or ValueError for what is not one."""
    if not isinstance(messages, list) or not messages:
        raise TypeError(f"messages must be a list with at least one, got {short_repr(messages)}")
    for i, message in enumerate(messages, start=1):
        if not isinstance(message, dict) or message.keys() != {"role", "content"}:
            held = join_some(message if isinstance(message, dict) else [type(message).__name__])
            raise ValueError(
                f"message {i} must have the fields role and content and no other; it has {held}"
            )
        _check_text(f"the content of message {i}", message["content"])
        role = message["role"]
        if role not in ROLES and not (role == "system" and i == 1):
            known = "user and assistant, and system for the first message"
            raise ValueError(f"message {i} has the role {short_repr(role)}. Known: {known}")
    turns = [message["role"] for message in messages if message["role"] != "system"]
    if turns != [ROLES[i % 2] for i in range(len(turns))] or not turns:
        raise ValueError(f"user and assistant must take turns, the user first, not {turns}")
    return messages


def _check_text(name: str, text: object) -> None:
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{name} must be text, got {short_repr(text)}")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(f"{name} has an unpaired surrogate, which is not text")


# ---- Ids to a batch ----------------------------------------------------------------------------


def example_batch(
    rendered: Iterable[Rendered],
    *,
    loss_on: LossOn = "answers",
    length: int | None = None,
    device: torch.device | str = "cpu",
) -> tuple[Tensor, Tensor]:
    """Inputs and targets of some conversations, both int64 (B, T).

    T is ``length``, or what the longest needs. The target of a token is the one after it, where the
    loss is to be taken, and -100 elsewhere: ``model(idx, targets)`` ignores it. Shorter rows are
    filled on the right, which causal attention never looks at. Raises ValueError if one is longer.
    """
    examples: Sequence[Any] = list(rendered)
    longest = max((len(example.ids) for example in examples), default=0) - 1
    T = longest if length is None else length
    if not 0 < longest <= T:
        raise ValueError(f"the conversations need {longest} positions, and there are {T}")
    idx = torch.full((len(examples), T), examples[0].ids[0])
    targets = torch.full((len(examples), T), IGNORED)
    for row, (ids, answer) in enumerate(examples):
        n = len(ids) - 1
        bears_loss = torch.tensor(answer[1:]) | (loss_on == "everything")
        idx[row, :n] = torch.tensor(ids[:-1])
        targets[row, :n] = torch.tensor(ids[1:]).masked_fill(~bears_loss, IGNORED)
    return idx.to(device), targets.to(device)
