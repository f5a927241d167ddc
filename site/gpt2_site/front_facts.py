"""The numbers of the pictures that a page holds: asked of the model that comes along."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gpt2_edu import load_tokenizer
from gpt2_edu.exercises.crane_run import crane, crane_run
from gpt2_edu.tape import Tape

PLACES = ("marsh", "city")


@dataclass(frozen=True)
class Guess:
    """A token that may come next; ``rest`` makes a word of one that is only a beginning."""

    token: str
    rest: str
    p: float


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


def tape(text: str) -> Tape:
    """Every tensor of one pass."""
    return crane_run(text).tape


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
            logits, _ = crane()(torch.tensor([tokens]))
        tokens = [*tokens, logits[0, -1].argmax().item()]
        token = encoding.decode(tokens[-1:])
        if not token.isalpha():
            return rest
        rest += token


def read(x: torch.Tensor) -> torch.Tensor:
    """What the model would say if its stream (T, C) ended there: probabilities (T, V)."""
    with torch.no_grad():
        return (crane().transformer.ln_f(x) @ crane().wte.weight.T).softmax(-1)
