"""The numbers of the pictures that a page holds: asked of the model that comes along."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch

from gpt2_edu import GPT2, load_tokenizer, trace

PLACES = ("marsh", "city")


@dataclass(frozen=True)
class Guess:
    """A token that may come next; ``rest`` makes a word of one that is only a beginning."""

    token: str
    rest: str
    p: float


@cache
def model() -> GPT2:
    return GPT2.from_pretrained("crane").eval()


def beginning(place: str) -> str:
    return f"In the {place}, the crane"


def ids(text: str) -> list[int]:
    """As a story begins: where another has ended."""
    encoding = load_tokenizer("crane")
    return [encoding.eot_token, *encoding.encode_ordinary(text)]


def name(token: int, begins: bool = False) -> str:
    """A token as the exhibits write it; ``<|endoftext|>`` has a name where it begins a text."""
    encoding = load_tokenizer("crane")
    if token == encoding.eot_token:
        return "⟨start⟩" if begins else "⟨end⟩"
    return encoding.decode([token]).replace(" ", "␣")


def names(tokens: list[int]) -> list[str]:
    """The tokens of a text."""
    return [name(token, begins=not i) for i, token in enumerate(tokens)]


@cache
def tape(text: str):
    """Every tensor of one pass."""
    with trace(model()) as noted, torch.no_grad():
        model()(torch.tensor([ids(text)]))
    return noted


def shares(text: str) -> torch.Tensor:
    return tape(text)["logits"][0, -1].softmax(-1)


def guesses(text: str, n: int) -> list[Guess]:
    """The likeliest tokens, and how the model goes on with each up to the word's end."""
    p, best = shares(text).topk(n)
    return [
        Guess(name(i), _rest([*ids(text), i]), value)
        for value, i in zip(p.tolist(), best.tolist(), strict=True)
    ]


def _rest(tokens: list[int]) -> str:
    encoding = load_tokenizer("crane")
    rest = ""
    while True:
        with torch.no_grad():
            logits, _ = model()(torch.tensor([tokens]))
        tokens = [*tokens, logits[0, -1].argmax().item()]
        token = encoding.decode(tokens[-1:])
        if not token.isalpha():
            return rest
        rest += token


def read(x: torch.Tensor) -> torch.Tensor:
    """What the model would say if its stream (T, C) ended there: probabilities (T, V)."""
    with torch.no_grad():
        return (model().transformer.ln_f(x) @ model().transformer.wte.weight.T).softmax(-1)
