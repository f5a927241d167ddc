"""The bug museum: famous mistakes, each one edit or one changed part away from the real model.

``broken(model, "no mask")`` lends a copy of a model with the bug in it. ``case("no mask")`` trains
a small model with it and keeps what there is to see: the loss, where the heads look, what is
written. ``mystery(seed)`` does so without saying which bug it drew.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..config import GPT2Config
from ..generation import generate
from ..machine.messages import nearest
from ..model import GPT2
from ..tape import Edit, Tape, trace

# ---- The language of the museum: 24 sentences, in which the first animal decides the last word ---

END = "<|endoftext|>"
FOODS = {"crane": "fish", "bat": "fruit", "seal": "squid", "mouse": "bread"}
LOADS = {"crane": "steel", "bat": "stones", "seal": "boxes", "mouse": "wood"}
SENTENCES = tuple(
    f"A {who} beside a {other} {verb} {things[who]} ."
    for who in FOODS
    for other in FOODS
    if other != who
    for verb, things in (("ate", FOODS), ("lifted", LOADS))
)
WORDS = (END, *dict.fromkeys(" ".join(SENTENCES).split()))  # a word's place is its id
LENGTH = 9  # inputs of a sentence: END and its words but for the last
FLOOR = math.log(len(SENTENCES)) / LENGTH  # nats per prediction: all are equally likely


def encode(sentence: str) -> list[int]:
    """The ids of words with a space between; raises ValueError for a word that is not there."""
    words = sentence.split()
    for word in words:
        if word not in WORDS:
            raise ValueError(f"the museum does not know the word {word!r}. {nearest(word, WORDS)}")
    return [WORDS.index(word) for word in words]


def decode(ids: Iterable[int]) -> str:
    """Words for ids."""
    return " ".join(WORDS[i] for i in ids)


# Two ends, so that even targets two places ahead are there: (24, LENGTH + 2).
TEXTS = torch.tensor([encode(f"{END} {sentence} {END} {END}") for sentence in SENTENCES])


# ---- How a bug gets in --------------------------------------------------------------------------

Edits = dict[str, Edit]


def everywhere(model: GPT2, names: Sequence[str], edit: Edit) -> Edits:
    """The same edit of these tensors in every block."""
    layers = range(model.config.n_layer)
    return {f"transformer.h.{layer}.{name}": edit for layer in layers for name in names}


def instead(
    model: GPT2, target: str, formula: Callable[[Tensor], Tensor], source: str = "attn.scores"
) -> Edits:
    """In every block, ``formula`` of an earlier tensor in the place of a later one."""
    kept: list[Tensor] = []

    def keep(tensor: Tensor) -> Tensor:
        kept[:] = [tensor]
        return tensor

    return everywhere(model, [source], keep) | everywhere(
        model, [target], lambda _: formula(kept[0])
    )


def visible(scores: Tensor, diagonal: int | None = None) -> Tensor:
    """The mask for scores (…, T, S): rightly, the last query stands at the last key."""
    T, S = scores.shape[-2:]
    return torch.ones_like(scores, dtype=torch.bool).tril(S - T if diagonal is None else diagonal)


class EpsilonOutside(nn.LayerNorm):
    """Adds ε to the standard deviation instead of the variance."""

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        std = x.var(dim=-1, keepdim=True, correction=0).sqrt()
        return centred / (std + self.eps) * self.weight + self.bias


class UnbiasedVariance(nn.LayerNorm):
    """Divides by C - 1, which is what ``var`` does unless told otherwise."""

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = x.var(dim=-1, keepdim=True)
        return centred / torch.sqrt(variance + self.eps) * self.weight + self.bias


def exchange_norms(model: GPT2, norm: type[nn.LayerNorm]) -> None:
    """Let every LayerNorm compute as ``norm`` does, with the parameters that it has."""
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.__class__ = norm


class IfTargets(GPT2):
    """Asks a tensor whether it is true."""

    def forward(self, idx: Tensor, targets: Tensor | None = None, **others: Any) -> Any:
        return super().forward(idx, targets if targets else None, **others)


@dataclass(frozen=True)
class Bug:
    """A mistake: the line as it should be and as it is, and how one notices.

    ``spoil`` changes the parts of a model that must change, in place, and returns the edits to
    run it with. ``trained_with`` says whether a model has the bug from birth or meets it after
    training, ``shift`` how far ahead its targets are, and ``shows`` whether loss, maps or text
    give it away.
    """

    name: str
    right: str
    wrong: str
    symptom: str
    spoil: Callable[[GPT2], Edits] = field(repr=False)
    trained_with: bool = True
    shift: int = 1
    shows: bool = True

    def __str__(self) -> str:
        return f"right   {self.right}\nwrong   {self.wrong}"


HEALTHY = Bug(
    "no bug",
    right="all of it",
    wrong="nothing",
    symptom="The loss comes to rest on the floor, and the text is right.",
    spoil=lambda model: {},
    trained_with=False,
    shows=False,
)
BUGS: dict[str, Bug] = {}  # in the order of the rooms


def mistake(
    name: str, *, right: str, wrong: str, **traits: Any
) -> Callable[[Callable[[GPT2], Edits]], Callable[[GPT2], Edits]]:
    """Give a bug its room. The function below is how it gets in; its docstring is the symptom."""

    def enter(spoil: Callable[[GPT2], Edits]) -> Callable[[GPT2], Edits]:
        symptom = " ".join((spoil.__doc__ or "").split())
        BUGS[name] = Bug(name, right, wrong, symptom, spoil, **traits)
        return spoil

    return enter


def find(name: str) -> Bug:
    """The bug of this name, or "no bug"; raises ValueError with the nearest names."""
    known = {HEALTHY.name: HEALTHY} | BUGS
    if name not in known:
        raise ValueError(f"no room is called {name!r}. {nearest(name, known)}")
    return known[name]


@contextmanager
def broken(model: GPT2, name: str) -> Iterator[tuple[GPT2, Tape]]:
    """A copy of the model with this bug, for as long as the ``with`` block lasts, and its tape.

    Wrong targets are no part of a model, so with these two bugs the copy is like the model.
    Raises ValueError for an unknown name, and what ``trace`` raises.
    """
    spoil, copy = find(name).spoil, deepcopy(model)
    with trace(copy, edits=spoil(copy)) as tape:
        yield copy, tape


# ---- The rooms ----------------------------------------------------------------------------------

_MASK = "scores.masked_fill(~visible, -torch.inf).softmax(dim=-1)"
_TARGETS = "idx, targets = text[:, :-1], text[:, 1:]"


@mistake("no mask", right=_MASK, wrong="scores.softmax(dim=-1)")
def no_mask(model: GPT2) -> Edits:
    """The loss falls through the floor to 0, the maps have colour above the diagonal, and the
    text has lost its variety.
    """
    return instead(model, "attn.masked_scores", lambda scores: scores)


@mistake(
    "mask after softmax",
    right=_MASK,
    wrong="scores.softmax(dim=-1).masked_fill(~visible, 0)",
)
def mask_after_softmax(model: GPT2) -> Edits:
    """The loss falls through the floor; above the diagonal there is nothing, but the rows of the
    maps do not sum to 1, some are empty; the text is wrong or has lost its variety.
    """
    return instead(model, "attn.weights", lambda s: s.softmax(dim=-1).masked_fill(~visible(s), 0))


@mistake("finite mask", right=_MASK, wrong="scores.masked_fill(~visible, -4).softmax(dim=-1)")
def finite_mask(model: GPT2) -> Edits:
    """The loss rests on the floor, then falls through it in steps; a head has its colour above
    the diagonal; the text is wrong or has lost its variety.
    """
    # -4 stands for -10,000, so that a model learns within seconds to go below it.
    return instead(model, "attn.masked_scores", lambda s: s.masked_fill(~visible(s), -4))


@mistake("wrong view", right="x.view(B, T, H, D).transpose(1, 2)", wrong="x.view(B, H, T, D)")
def wrong_view(model: GPT2) -> Edits:
    """The loss falls through the floor although the maps are clean triangles whose rows sum to 1,
    and the text is wrong.
    """

    def scramble(x: Tensor) -> Tensor:  # (B, H, T, D), split rightly; undo that, then view
        return x.transpose(1, 2).reshape(x.shape)

    return everywhere(model, ("attn.q", "attn.k", "attn.v"), scramble)


@mistake(
    "targets off by none",
    right=_TARGETS,
    wrong="idx, targets = text[:, :-1], text[:, :-1]",
    shift=0,
)
def targets_off_by_none(model: GPT2) -> Edits:
    """The loss falls to 0, the maps are triangles, and the text says one word for ever."""
    return {}


@mistake(
    "targets off by two", right=_TARGETS, wrong="idx, targets = text[:, :-2], text[:, 2:]", shift=2
)
def targets_off_by_two(model: GPT2) -> Edits:
    """The loss comes to rest above the floor, and the text skips words from the first one on."""
    return {}


@mistake("positions forgotten", right="x = tok_emb + pos_emb", wrong="x = tok_emb")
def positions_forgotten(model: GPT2) -> Edits:
    """The loss comes to rest above the floor; the text has the right form, but mixes up who did
    what.
    """
    return {"pos_emb": torch.zeros_like}


@mistake(
    "softmax before cross-entropy",
    right="F.cross_entropy(logits, targets)",
    wrong="F.cross_entropy(logits.softmax(dim=-1), targets)",
)
def softmax_before_cross_entropy(model: GPT2) -> Edits:
    """The loss gets stuck less than 1 below where it began, and words come nearly by chance."""
    return {"logits": lambda logits: logits.softmax(dim=-1)}


@mistake(
    "dropout left on",
    right="F.dropout(x, 0.1, self.training)",
    wrong="F.dropout(x, 0.1)",
    trained_with=False,
)
def dropout_left_on(model: GPT2) -> Edits:
    """Trained well; in use, the loss is another one each time that it is measured."""

    def drop(x: Tensor) -> Tensor:
        return F.dropout(x, 0.1)  # the function's own default is training=True

    return {"embd": drop} | everywhere(model, ("attn.out", "mlp.out"), drop)


@mistake(
    "transposed Conv1D",
    right="c_proj.weight.copy_(stored.T)",
    wrong="c_proj.weight.copy_(stored)",
    trained_with=False,
)
def transposed_conv1d(model: GPT2) -> Edits:
    """Trained well; in use, the loss is far too high and the text broken, while the maps of the
    first block are as they were.
    """
    for name, parameter in model.named_parameters():
        if name.endswith("attn.c_proj.weight"):  # square: it fits the wrong way round as well
            with torch.no_grad():
                parameter.copy_(parameter.T.clone())
    return {}


@mistake(
    "cache with the wrong mask",
    right="visible = torch.ones(T, S, dtype=torch.bool).tril(S - T)",
    wrong="visible = torch.ones(T, S, dtype=torch.bool).tril()",
    trained_with=False,
)
def cache_with_the_wrong_mask(model: GPT2) -> Edits:
    """Loss and maps are perfect, and the text repeats itself."""

    def top_left(scores: Tensor) -> Tensor:
        return scores.masked_fill(~visible(scores, diagonal=0), -torch.inf)

    return instead(model, "attn.masked_scores", top_left)


@mistake(
    "scale by C",
    right="q @ k.transpose(-2, -1) / math.sqrt(D)",
    wrong="q @ k.transpose(-2, -1) / math.sqrt(C)",
    trained_with=False,
    shows=False,
)
def scale_by_c(model: GPT2) -> Edits:
    """With weights trained rightly, the maps are paler and the loss is a little too high; trained
    with the bug, nothing is to be seen.
    """
    return everywhere(model, ["attn.scores"], lambda s: s / math.sqrt(model.config.n_head))


@mistake(
    "ε outside the root",
    right="(x - mean) / torch.sqrt(variance + eps)",
    wrong="(x - mean) / (torch.sqrt(variance) + eps)",
    trained_with=False,
    shows=False,
)
def epsilon_outside(model: GPT2) -> Edits:
    """Nothing is to be seen; the logits differ a little, most where variances are small."""
    exchange_norms(model, EpsilonOutside)
    return {}


@mistake(
    "unbiased variance",
    right="x.var(dim=-1, correction=0)",
    wrong="x.var(dim=-1)",
    trained_with=False,
    shows=False,
)
def unbiased_variance(model: GPT2) -> Edits:
    """Nothing is to be seen; each LayerNorm's result is smaller by √((C - 1) / C)."""
    exchange_norms(model, UnbiasedVariance)
    return {}


@mistake(
    "erf for tanh",
    right='F.gelu(x, approximate="tanh")',
    wrong="F.gelu(x)",
    trained_with=False,
    shows=False,
)
def erf_for_tanh(model: GPT2) -> Edits:
    """Nothing is to be seen; the logits differ a little, from the first MLP on."""
    return instead(model, "mlp.act", F.gelu, source="mlp.pre")


@mistake(
    "tied by copy",
    right="lm_head.weight = wte.weight",
    wrong="lm_head.weight = nn.Parameter(wte.weight.clone())",
    shows=False,
)
def tied_by_copy(model: GPT2) -> Edits:
    """Nothing is to be seen; there are V · C parameters too many."""
    model.lm_head.weight = nn.Parameter(model.lm_head.weight.detach().clone())
    return {}


@mistake("if targets", right="if targets is not None:", wrong="if targets:", shows=False)
def if_targets(model: GPT2) -> Edits:
    """The first step of training raises an error."""
    model.__class__ = IfTargets
    return {}


# ---- What a visitor sees ------------------------------------------------------------------------


STEPS = 300  # of training
MEASURED = 30  # times: the loss in use
WRITTEN = 100  # texts


@dataclass(frozen=True)
class Case:
    """A small model with a bug: how it learned, what it does afterwards, what it writes."""

    losses: tuple[float, ...]  # one of each step of training
    in_use: tuple[float, ...]  # measured again and again after training, on the same sentences
    weights: (
        Tensor  # (H, LENGTH, LENGTH): where the heads look in "A crane beside a bat ate fish ."
    )
    texts: tuple[str, ...]  # drawn one word after the other

    @property
    def right(self) -> int:
        """How many of the texts are sentences of the language."""
        return sum(text in SENTENCES for text in self.texts)

    @property
    def different(self) -> int:
        """How many of the language's 24 sentences are among them."""
        return len({*self.texts} & {*SENTENCES})

    def plot(self) -> Any:
        """Loss, maps and three texts as one matplotlib figure. □ is the end of a text."""
        import matplotlib.pyplot as plt

        figure, axes = plt.subplot_mosaic(
            [["loss", "loss"], ["text", "text"], [0, 1], [2, 3]],
            figsize=(5, 7),
            height_ratios=[1.5, 0.7, 1.4, 1.4],
        )
        steps, top = len(self.losses), max(1.2, 1.3 * max(self.in_use))
        ax = axes["loss"]
        ax.axvspan(steps, steps + len(self.in_use), color="#e8eef5")
        # In a notebook, C3 and C4 are the colours of weights and of what is plain.
        ax.plot([*self.losses, *self.in_use], color="C3", label="this model")
        ax.plot(_trained()[1], color="C4", ls="--", label="healthy model")
        ax.axhline(FLOOR, color="C4", ls=":", lw=1, label="floor")
        ax.set(xlabel="step (shaded: in use)", ylabel="loss", ylim=(0, top))
        ax.legend()
        texts = "\n".join(text.replace(END, "□") for text in self.texts[:3])
        axes["text"].text(0, 0.5, f"What it writes:\n{texts}", va="center", in_layout=False)
        axes["text"].axis("off")
        labels = decode(TEXTS[0, :LENGTH].tolist()).replace(END, "□").split()
        blank = [""] * LENGTH
        for head, weights in enumerate(self.weights):
            ax = axes[head]
            ax.imshow(weights.numpy(), vmin=0, vmax=1, cmap="Purples")
            ax.set_title(f"head {head}")
            ax.set_xticks(range(LENGTH), labels if head > 1 else blank, rotation=90, fontsize=9)
            ax.set_yticks(range(LENGTH), blank if head % 2 else labels, fontsize=9)
            ax.set_xlabel("key" if head > 1 else "")
            ax.set_ylabel("" if head % 2 else "query")
        figure.tight_layout()
        return figure


def newborn() -> GPT2:
    """The museum's small model before training: one block of four heads. Always the same."""
    config = GPT2Config(
        vocab_size=len(WORDS),
        block_size=12,
        n_layer=1,
        n_head=4,
        n_embd=32,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        resid_pdrop=0.0,
        initializer_range=0.1,
    )
    with torch.random.fork_rng(devices=[]):  # the reader's random numbers stay as they are
        torch.default_generator.manual_seed(0)
        return GPT2(config)


def train(model: GPT2, shift: int = 1, steps: int = STEPS) -> tuple[float, ...]:
    """Train on all sentences at once, with targets ``shift`` places ahead; returns the losses."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        loss = model(TEXTS[:, :LENGTH], TEXTS[:, shift : shift + LENGTH])[1]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return tuple(losses)


@cache
def _trained() -> tuple[GPT2, tuple[float, ...]]:
    model = newborn()
    losses = train(model)
    return model.eval(), losses


def healthy() -> GPT2:
    """A small model of the museum, trained without a bug. It is yours: each call gives a copy."""
    return deepcopy(_trained()[0])


def case(name: str) -> Case:
    """Everything there is to see of a bug; takes about a second. Raises as ``broken`` does."""
    bug = find(name)
    with torch.random.fork_rng(devices=[]):
        model, losses = _trained()
        torch.default_generator.manual_seed(0)
        with broken(newborn() if bug.trained_with else model, name) as (copy, tape):
            if bug.trained_with:
                losses = train(copy, bug.shift)
            copy.eval()
            targets = TEXTS[:, bug.shift : bug.shift + LENGTH]
            with torch.no_grad():
                in_use = tuple(copy(TEXTS[:, :LENGTH], targets)[1].item() for _ in range(MEASURED))
            weights = tape["transformer.h.0.attn.weights"][0]
            generator = torch.Generator().manual_seed(0)
            start = torch.zeros(WRITTEN, 1, dtype=torch.int64)  # END
            drawn = generate(copy, start, LENGTH, generator=generator)
    texts = tuple(decode(ids).removesuffix(f" {END}") for ids in drawn[:, 1:].tolist())
    return Case(losses, in_use, weights, texts)


# ---- The detective game -------------------------------------------------------------------------


class Mystery:
    """A case without its name: ``plot()`` shows it, ``guess("…")`` answers."""

    def __init__(self, bug: Bug) -> None:
        self._bug, self.case = bug, case(bug.name)

    def plot(self) -> Any:
        """What the case shows."""
        return self.case.plot()

    def guess(self, name: str) -> str:
        """Whether this is the bug, in words; never an error."""
        try:
            guessed = find(name)
        except ValueError as error:
            return f"Nothing lost: {error}"
        if guessed is HEALTHY:
            return "There is a bug. Compare this case with the healthy model."
        if guessed is self._bug:
            return f"Yes, it is {name}. {self._bug.symptom}\n{self._bug}"
        return f"Not {name}. There you would see this: {guessed.symptom} Look again."


def mystery(seed: int) -> Mystery:
    """A bug drawn by seed from those that show."""
    return Mystery(random.Random(seed).choice([bug for bug in BUGS.values() if bug.shows]))
