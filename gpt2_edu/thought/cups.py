"""A shell game: a ball lies under one of five cups, pairs of cups change places, where is it now?

    game = game(seed=0, swaps=3)    # text "C AB CE BD", steps "C E E", answer "E"

The game is followed by a word that says how to answer. It is given, or the model chooses it:

    now:     the answer at once                                "E"
    steps:   the place after each swap, the last the answer    "C E E"
    dots:    as many tokens, which say nothing before the last ". . E"

No fixed number of blocks can be expected to follow any number of swaps at once: it is a product of
permutations of five things, which is as hard as any sequential computation of logarithmic depth
(Barrington 1989; Merrill and Sabharwal 2023). A step that is written down is read back, so each
token needs to follow one swap only (Wei et al. 2022; Nye et al. 2021).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from torch import Tensor

from ..config import GPT2Config, check_int
from ..machine.messages import short_repr
from ..tuning.messages import Rendered, example_batch

CUPS = "ABCDE"
SWAPS = [a + b for a, b in combinations(CUPS, 2)]
NOW, STEPS, DOTS, DOT, END = "now:", "steps:", "dots:", ".", "<|endoftext|>"
WORDS = (*CUPS, *SWAPS, NOW, STEPS, DOTS, DOT, END)  # a word is a token, its place the id
MOST = 8  # swaps in a game of training
IDS = {word: i for i, word in enumerate(WORDS)}


@dataclass(frozen=True)
class Game:
    """A game in words, separated by spaces."""

    text: str  # the cup that hides the ball, and the swaps
    steps: str  # where the ball is after each swap
    answer: str  # where it is at the end


def game(seed: int, swaps: int) -> Game:
    """The game of a seed with so many swaps. Raises ValueError for fewer than one."""
    check_int("seed", seed, 0)
    check_int("swaps", swaps, 1)
    chosen = random.Random(seed * 1000 + swaps)
    return play(chosen.choice(CUPS), [chosen.choice(SWAPS) for _ in range(swaps)])


def play(start: str, swaps: Sequence[str]) -> Game:
    """The game that begins with the ball under a cup and makes these swaps."""
    places = [start]
    for swap in swaps:
        a, b = tuple(swap)
        places.append({a: b, b: a}.get(places[-1], places[-1]))
    return Game(" ".join([start, *swaps]), " ".join(places[1:]), places[-1])


def read(text: str) -> Game:
    """The game that a text begins with. Raises ValueError for a text that begins with none."""
    start, *rest = text.split() or [""]
    swaps = []
    for word in rest:
        if word not in SWAPS:
            break
        swaps.append(word)
    if start not in IDS or IDS[start] >= len(CUPS) or not swaps:
        raise ValueError(f"a game is a cup and its swaps, such as C AB CE; got {short_repr(text)}")
    return play(start, swaps)


def judge(game: Game, text: str) -> bool:
    """Whether an answer is right: its last word is where the ball is."""
    return text.split()[-1:] == [game.answer]


# ---- As tokens ---------------------------------------------------------------------------------


def encode(text: str) -> list[int]:
    """The ids of words. Raises ValueError for others."""
    if unknown := [word for word in text.split() if word not in IDS]:
        raise ValueError(f"unknown word {short_repr(unknown[0])}. Known: {' '.join(WORDS)}")
    return [IDS[word] for word in text.split()]


def decode(ids: Sequence[int]) -> str:
    """The words of ids, up to the first <|endoftext|>."""
    words = [WORDS[i] for i in ids]
    return " ".join(words[: words.index(END)] if END in words else words)


def prompt(game: Game, ask: str = "") -> list[int]:
    """What a model reads before it answers: <|endoftext|>, the game, and the word that asks.

    Without that word, the model writes it: it chooses how to answer.
    """
    return encode(f"{END} {game.text} {ask}")


def written(game: Game, ask: str, every: int = 1) -> str:
    """What a model is to answer: after STEPS, the place after each ``every``-th swap, and the last.

    Raises ValueError for another word than NOW, STEPS and DOTS.
    """
    places = game.steps.split()
    if ask == NOW:
        return game.answer
    if ask == DOTS:
        return " ".join([DOT] * (len(places) - 1) + [game.answer])
    if ask != STEPS:
        raise ValueError(f"{short_repr(ask)} does not say how to answer: {NOW}, {STEPS} or {DOTS}")
    check_int("every", every, 1)
    kept = places[::-1][::every][::-1]  # counted from the end, so that the last step is the answer
    return " ".join(kept)


def rows(
    games: Sequence[Game],
    steps: bool | Sequence[bool],
    *,
    dots: bool = False,
    every: int = 1,
    chosen: bool = False,
) -> tuple[Tensor, Tensor]:
    """Inputs and targets of these games with their answers, both int64 (B, T).

    ``steps`` says, for all or for each, whether steps are written down or the answer is given at
    once; ``dots`` has dots in the place of steps, ``every`` fewer of them. Targets are -100 but for
    the answer, the end after it and, if the way is to be ``chosen`` by the model, the word before
    it. Shorter rows are filled with <|endoftext|> on the right.
    """
    each = [steps] * len(games) if isinstance(steps, bool) else steps
    examples = []
    for one, in_steps in zip(games, each, strict=True):
        way = (DOTS if dots else STEPS) if in_steps else NOW
        given, answer = prompt(one), encode(f"{written(one, way, every)} {END}")
        ids = [*given, IDS[way], *answer]
        learned = [False] * len(given) + [chosen] + [True] * len(answer)
        examples.append(Rendered(ids, learned))
    return example_batch(examples)


def config(n_layer: int = 2, n_embd: int = 64) -> GPT2Config:
    """The sizes of a model that plays, with a window for twelve swaps in steps."""
    return GPT2Config(
        vocab_size=len(WORDS),
        block_size=32,
        n_layer=n_layer,
        n_head=4,
        n_embd=n_embd,
        initializer_range=0.1,  # 0.02 suits OpenAI's widths
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        resid_pdrop=0.0,
    )
