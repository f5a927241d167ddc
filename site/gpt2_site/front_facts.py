"""The numbers on the first page and on "Open the model": asked of the model that comes along."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

import gpt2_edu
from gpt2_edu import GPT2, load_tokenizer, trace

PLACES = ("marsh", "city")
HEAD = (1, 0)  # the head that looks from the crane back at its place
ASSETS = Path(gpt2_edu.__file__).parent / "assets" / "crane"


@dataclass(frozen=True)
class Guess:
    """A token that may come next; ``rest`` makes a word of one that is only a beginning."""

    token: str
    rest: str
    p: float


@dataclass(frozen=True)
class Look:
    """Where a head looks from the last token most."""

    head: str
    token: str
    weight: float


@cache
def model() -> GPT2:
    return GPT2.from_pretrained("crane").eval()


def beginning(place: str) -> str:
    return f"In the {place}, the crane"


def ids(text: str) -> list[int]:
    """As a story begins: where another has ended."""
    encoding = load_tokenizer("crane")
    return [encoding.eot_token, *encoding.encode_ordinary(text)]


def names(tokens: list[int]) -> list[str]:
    """Tokens as the exhibits write them."""
    shown = [load_tokenizer("crane").decode([i]).replace(" ", "␣") for i in tokens]
    return ["⟨end⟩" if name == "<|endoftext|>" else name for name in shown]


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
        Guess(names([i])[0], _rest([*ids(text), i]), value)
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


def weights(text: str, block: int, head: int) -> torch.Tensor:
    """The attention weights of a head, (T, T)."""
    return tape(text)[f"transformer.h.{block}.attn.weights"][0, head]


def looks(text: str) -> list[Look]:
    """Where each head looks from the last token."""
    tokens = names(ids(text))
    found = []
    for block in range(model().config.n_layer):
        for head in range(model().config.n_head):
            weight, key = weights(text, block, head)[-1].max(0)
            found.append(Look(f"{block}.{head}", tokens[key], weight.item()))
    return found


def read(x: torch.Tensor) -> torch.Tensor:
    """What the model would say if its stream (T, C) ended there: probabilities (T, V)."""
    with torch.no_grad():
        return (model().transformer.ln_f(x) @ model().transformer.wte.weight.T).softmax(-1)


def lens(text: str) -> list[tuple[str, Guess]]:
    """What the model would say after the embeddings and after each block."""
    stages = {"embeddings": "embd"}
    for n in range(model().config.n_layer):
        stages[f"block {n}"] = f"transformer.h.{n}.resid_post"
    said = []
    for stage, path in stages.items():
        p, best = read(tape(text)[path][0, -1]).max(-1)
        said.append((stage, Guess(names([best.item()])[0], "", p.item())))
    return said


def vectors(tokens: list[int], n: int) -> list[list[float]]:
    """The first numbers of each token's vector."""
    return model().transformer.wte.weight[tokens, :n].tolist()


def training() -> tuple[list[tuple[int, float]], float]:
    """The stored run that trained the model: (step, loss), and the floor that no model can beat."""
    lines = (ASSETS / "log.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    curve = [(row["step"], row.get("loss", row.get("val_loss"))) for row in rows]
    measures = json.loads((ASSETS / "measures.json").read_text(encoding="utf-8"))
    return curve, measures["metrics"]["validation"]["floor"]
