"""What a model of Crane World learns from questions, and what it forgets.

The shipped model is tuned on exchanges of ``crane.ask`` in several ways, and asked about stories
that it has not seen. ``make ask`` runs all of it, ``stored()`` reads the results, and since.py's
``difference`` says whether two ways can be told apart.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import crane
from ..crane.grammar import crane_world
from ..language_model import eval_mode
from ..model import GPT2
from ..tokenizer import Encoding, load_tokenizer
from ..training.optim import learning_rate, make_optimizer
from ..training.plain import crane_ids
from ..tuning import (
    LoraConfig,
    Rendered,
    add_lora,
    conversation,
    example_batch,
    plain,
    render,
    with_roles,
)
from ..tuning.messages import LossOn
from .scoring import pad_right
from .since import excess, held_out

FILE = Path(str(files("gpt2_edu") / "assets" / "ask.json"))
ADAPTER = Path(str(files("gpt2_edu") / "assets" / "ask"))
SEEDS = {"held_out": 21, "senses": 31, "test_senses": 32}  # of training: 0, 1, 2 …
STORIES = 20_000  # the plain ones that training draws from
SENSES = 20  # two of each word
ALIKE = 64  # exchanges of about the same length, from which a batch is drawn: little is filled up

Rows = Literal["read", "unread"]  # of the token table: those that plain stories use, or all others


@dataclass(frozen=True)
class Recipe:
    """How the shipped model is tuned."""

    rank: int = 0  # of LoRA on all maps; 0: all weights are trained
    tables: bool | Rows = False  # whether LoRA trains the token embeddings as well, or which rows
    loss_on: LossOn = "answers"
    stories: int = 0  # of each batch, plain stories instead of exchanges
    before_answer: str = " "
    steps: int = 300
    batch_size: int = 16
    lr: float = 2e-3
    exchanges: int = 6000  # to learn from


LORA = Recipe(lr=4e-3)
WAYS = {
    "whole": Recipe(),
    "everything": Recipe(loss_on="everything"),
    "stories": Recipe(stories=4),
    "no space": Recipe(before_answer=""),
    **{f"rank {r} + table": replace(LORA, rank=r, tables=True) for r in (4, 1, 8, 2)},
    **{f"rank {r}": replace(LORA, rank=r) for r in (4, 1, 8, 2)},
    "rank 4, higher rate": replace(LORA, rank=4, lr=1e-2),
    "rank 4 + unread rows": replace(LORA, rank=4, tables="unread"),
    "rank 4 + read rows": replace(LORA, rank=4, tables="read"),
}
SHIPPED = replace(LORA, rank=4, tables=True, stories=4, steps=1000)


# ---- Tuning -------------------------------------------------------------------------------------


def tune(
    recipe: Recipe, seed: int, watch: Callable[[int, GPT2], object] = lambda step, model: None
) -> GPT2:
    """The shipped model with roles after tuning; the seed decides batches and the start of LoRA.

    ``watch`` is called with the number of steps made and the model, after each.
    """
    model, encoding = with_roles(GPT2.from_pretrained("crane"), load_tokenizer("crane"))
    torch.manual_seed(seed)
    if recipe.rank:
        tables = recipe.tables is not False
        config = LoraConfig(rank=recipe.rank, alpha=2 * recipe.rank, train_tables=tables)
        model = add_lora(model, config)
        if isinstance(recipe.tables, str):
            of_rows = table_rows(recipe.tables).unsqueeze(1)
            table = model.get_parameter("transformer.wte.tables.default")
            table.register_hook(lambda grad: grad * of_rows)
    texts = lessons(recipe.exchanges, recipe.before_answer)
    optimizer = make_optimizer(model, lr=recipe.lr, betas=(0.9, 0.99), weight_decay=0.0)
    model.train()
    for step in range(recipe.steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(
                step, steps=recipe.steps, lr=recipe.lr, min_lr=0.0, warmup_steps=20
            )
        alike = min(ALIKE, len(texts))
        start = int(torch.randint(len(texts) - alike + 1, ()))
        drawn = torch.randperm(alike)[: recipe.batch_size - recipe.stories].tolist()
        batch = [texts[start + i] for i in drawn]
        loss = mean_loss(model, *example_batch(batch, loss_on=recipe.loss_on))
        if recipe.stories:
            told = torch.randint(STORIES, (recipe.stories,)).tolist()
            batch = [plain(crane.story(i), encoding) for i in told]
            of_stories = mean_loss(model, *example_batch(batch))
            loss = loss + recipe.stories / recipe.batch_size * of_stories
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        watch(step + 1, model)
    return model.eval()


@cache
def table_rows(which: Rows) -> Tensor:
    """Which rows of the token table with roles those are, (V,) of bool."""
    read = torch.zeros(chat_encoding().n_vocab, dtype=torch.bool)
    read[crane_ids(STORIES)] = True
    return read if which == "read" else ~read


def count_trained(model: GPT2, recipe: Recipe) -> int:
    """How many weights are trained. The rows of a table that are not do not count."""
    n = sum(p.numel() for p in model.parameters() if p.requires_grad)
    fixed = ~table_rows(recipe.tables) if isinstance(recipe.tables, str) else torch.zeros(0)
    return n - int(fixed.sum()) * model.config.n_embd


def mean_loss(model: GPT2, idx: Tensor, targets: Tensor) -> Tensor:
    """The loss of ``model(idx, targets)``, with logits only where there is a target."""
    kept = targets >= 0
    with head_reads(model, lambda x: x[kept]):
        logits, _ = model(idx)  # (targets, V)
    return F.cross_entropy(logits, targets[kept])


@contextmanager
def head_reads(model: GPT2, choose: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Inside, the head reads only what ``choose`` takes of the activations (B, T, C)."""
    hook = model.lm_head.register_forward_pre_hook(lambda _, inputs: (choose(inputs[0]),))
    try:
        yield
    finally:
        hook.remove()


@cache
def lessons(n: int, before_answer: str) -> tuple[Rendered, ...]:
    """The exchanges of the seeds 0, 1, 2 … to learn from, the shortest first."""
    texts = [rendered(crane.ask(seed), before_answer) for seed in range(n)]
    return tuple(sorted(texts, key=lambda text: len(text.ids)))


@cache
def chat_encoding() -> Encoding:
    """The tokenizer of the shipped model with roles."""
    return with_roles(GPT2.from_pretrained("crane"), load_tokenizer("crane"))[1]


def rendered(exchange: crane.Exchange, before_answer: str = " ") -> Rendered:
    """An exchange as a conversation with roles."""
    return render(conversation(exchange), chat_encoding(), before_answer=before_answer)


# ---- Asking -------------------------------------------------------------------------------------


@cache
def asked(n: int, held_out: str | None = None) -> tuple[crane.Exchange, ...]:
    """Exchanges about new stories; the same stories for ``held_out`` "form" as for None."""
    seeds = crane.random_seeds(n, SEEDS["held_out"])
    return tuple(crane.ask(seed, held_out=held_out) for seed in seeds)


@cache
def unsaid(n: int) -> tuple[crane.Exchange, ...]:
    """Questions how many were left, where the story ends before it says so."""
    found = []
    for exchange in asked(20 * n):
        left = re.search(r"(?:One|Two) of the \w+ flew away", exchange.story)
        if exchange.kind == "count" and "left" in exchange.question and left:
            found.append(replace(exchange, story=f"{exchange.story[: left.end()]}."))
    return tuple(found[:n])


def predicts(model: nn.Module, texts: Sequence[Rendered], batch_size: int = 50) -> list[bool]:
    """Whether each token of the answers is the most likely one after those before it.

    So it is exactly if the model, choosing the most likely token each time, writes the answer.
    """
    found = []
    with eval_mode(model), torch.inference_mode():
        for i in range(0, len(texts), batch_size):
            idx, targets = example_batch(texts[i : i + batch_size])
            best = model(idx)[0].argmax(dim=-1)
            found += ((best == targets) | (targets < 0)).all(dim=1).tolist()
    return found


def share(right: Iterable[bool]) -> float:
    """The share of True."""
    counted = list(right)
    return sum(counted) / len(counted)


def by_kind(exchanges: Sequence[crane.Exchange], right: Sequence[bool]) -> dict[str, list[int]]:
    """For each kind of question, how many are right and how many there are."""
    of = Counter(exchange.kind for exchange in exchanges)
    counts = Counter(one.kind for one, ok in zip(exchanges, right, strict=True) if ok)
    return {kind: [counts[kind], of[kind]] for kind in crane.kinds() if of[kind]}


@cache
def shipped_excess() -> tuple[Tensor, ...]:
    """Nats above the floor of each token of plain stories, before tuning."""
    return tuple(excess(GPT2.from_pretrained("crane"), held_out()))


def forgotten(model: nn.Module) -> dict[str, float]:
    """Nats per token that plain stories cost more than before, and the parts of two tokens in that.

    A story begins with the token after <|endoftext|> and ends with another. There a tuned model may
    expect a role or a question: what these two add is given apart, and is part of ``forgot``.
    """
    apart = [a - b for a, b in zip(excess(model, held_out()), shipped_excess(), strict=True)]
    n = sum(map(len, apart))
    return {
        "forgot": sum(row.sum().item() for row in apart) / n,
        "at_start": sum(row[0].item() for row in apart) / n,
        "at_end": sum(row[-1].item() for row in apart) / n,
    }


def measure(model: GPT2, recipe: Recipe, n: int = 500) -> dict[str, Any]:
    """What a tuned model answers right, and what it has forgotten."""

    def right(exchanges: Sequence[crane.Exchange]) -> list[bool]:
        return predicts(model, [rendered(one, recipe.before_answer) for one in exchanges])

    usual, form = right(asked(n)), right(asked(n, "form"))
    return {
        "trained": count_trained(model, recipe),
        "right": share(usual),
        "by_kind": by_kind(asked(n), usual),
        "form": share(form),
        "form_by_kind": by_kind(asked(n, "form"), form),
        "thing": share(right(asked(n, "thing"))),
        "unsaid": share(right(unsaid(n // 5))),
        **forgotten(model),
    }


def watched(recipe: Recipe, seed: int, every: int = 100) -> tuple[GPT2, list[list[float]]]:
    """A tuned model, and its share of right answers to 200 questions by the number of steps."""
    curve: list[list[float]] = []
    texts = [rendered(one, recipe.before_answer) for one in asked(200)]

    def watch(step: int, model: GPT2) -> None:
        if step % every == 0:
            curve.append([step, share(predicts(model, texts))])

    return tune(recipe, seed, watch), curve


# ---- Before any tuning --------------------------------------------------------------------------


def prompted(exchanges: Sequence[crane.Exchange], how: str) -> dict[str, list[int]]:
    """How many the shipped model answers right, by kind, in the ways that need no training.

    "asked": story and question, and the answer is to follow. "example": the same after one exchange
    of the same kind, the shortest; those that do not fit into the window with it are left out.
    "begun": the story, and the beginning of a sentence that goes on with the answer; questions
    without one are left out. Right is the answer as the most likely next tokens.
    """
    model, texts, kept = GPT2.from_pretrained("crane"), [], []
    for exchange in exchanges:
        text = prompt_text(exchange, how)
        if text is None:
            continue
        new = continuation(text, exchange.answer)
        if len(new.ids) <= model.config.block_size:
            texts.append(new)
            kept.append(exchange)
    return by_kind(kept, predicts(model, texts))


def prompt_text(exchange: crane.Exchange, how: str) -> str | None:
    """What stands before the answer; None if the exchange cannot be put like this."""
    question = f"{exchange.story} {exchange.question}"
    if how == "begun":
        return exchange.begun and f"{exchange.story} {exchange.begun}"
    if how == "example":
        shown = shortest(exchange.kind)
        return f"{shown.story} {shown.question} {shown.answer}. {question}"
    return question


@cache
def shortest(kind: str) -> crane.Exchange:
    """The shortest exchange of a kind among the first of training."""
    encoding = load_tokenizer("crane")
    found = [one for one in map(crane.ask, range(1000)) if one.kind == kind]
    return min(found, key=lambda one: len(encoding.encode_ordinary(one.story + one.question)))


def continuation(text: str, answer: str) -> Rendered:
    """A text of which the answer is the end, as the shipped model reads it."""
    encoding = load_tokenizer("crane")
    before = [encoding.eot_token, *encoding.encode_ordinary(text)]
    new = encoding.encode_ordinary(f" {answer}")
    return Rendered([*before, *new], [False] * len(before) + [True] * len(new))


# ---- The simplest case: a class ------------------------------------------------------------------


class Told(NamedTuple):
    """A story, and which of the senses it is about."""

    exchange: crane.Exchange  # which asks for it
    sense: int


@cache
def told(n: int, seed: int) -> tuple[Told, ...]:
    """Stories of all words, each with the question for its sense."""
    found = []
    for one in crane.random_seeds(n, seed):
        story = crane.annotated_story(one)
        sense = next(value[1] for slot, value in story.filled if slot.name == "s")
        word, _, meaning = crane_world().tables["sense"].keys[sense].partition("-")
        asks = crane.Exchange(story.text, f"Which {word} was it?", meaning, "sense", None)
        found.append(Told(asks, sense))
    return tuple(found)


def last_activations(model: GPT2, texts: Sequence[Sequence[int]]) -> Tensor:
    """What the head reads at the last token of each text, (B, C)."""
    read: list[Tensor] = []
    ends = torch.tensor([len(text) - 1 for text in texts])

    def last(x: Tensor) -> Tensor:
        read.append(x[torch.arange(len(texts)), ends])
        return read[-1]

    with head_reads(model, last):
        model(pad_right(texts))
    return read[-1]


def classify(how: str, seed: int, steps: int = 300, n: int = 2000) -> dict[str, Any]:
    """How many of 500 new stories are told right by a class, read from the last position.

    The class is one of the two senses of the story's word. "frozen": a linear map on the
    activations of the shipped model, which stays as it is. "tuned": the model learns with the map.
    """
    encoding, model = load_tokenizer("crane"), GPT2.from_pretrained("crane")
    torch.manual_seed(seed)
    head = nn.Linear(model.config.n_embd, SENSES)
    learn, test = told(n, SEEDS["senses"] + 100 * seed), told(500, SEEDS["test_senses"])

    def ids(stories: Iterable[Told]) -> list[list[int]]:
        texts = [one.exchange.story for one in stories]
        return [[encoding.eot_token, *encoding.encode_ordinary(text)] for text in texts]

    def activations(texts: list[list[int]]) -> Tensor:
        with torch.no_grad():
            parts = [last_activations(model, texts[i : i + 50]) for i in range(0, len(texts), 50)]
        return torch.cat(parts)

    words = list(crane_world().tables["sense"].cells["word"].values())
    alike = torch.tensor([[word == other for other in words] for word in words])
    classes = torch.tensor([one.sense for one in learn])

    def scores(x: Tensor, senses: Tensor) -> Tensor:
        """Logits of all senses (B, 20), -∞ for those of other words."""
        return head(x).masked_fill(~alike[senses], -torch.inf)

    rows = ids(learn)
    whole = nn.ModuleList([model, head]) if how == "tuned" else head
    frozen = activations(rows) if how == "frozen" else None
    lr = 1e-3 if how == "tuned" else 1e-2
    optimizer = make_optimizer(whole, lr=lr, betas=(0.9, 0.99), weight_decay=0.0)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, steps=steps, lr=lr, min_lr=0.0, warmup_steps=20)
        if frozen is not None:  # all of them at once
            loss = F.cross_entropy(scores(frozen, classes), classes)
        else:
            drawn = torch.randint(n, (16,)).tolist()
            x = last_activations(model, [rows[i] for i in drawn])
            loss = F.cross_entropy(scores(x, classes[drawn]), classes[drawn])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        of_test = torch.tensor([one.sense for one in test])
        best = scores(activations(ids(test)), of_test).argmax(dim=-1).tolist()
    right = [guess == one.sense for guess, one in zip(best, test, strict=True)]
    return {"right": sum(right), "crane": crane_only(test, right), "of": len(test)}


def asked_senses(model: nn.Module) -> dict[str, Any]:
    """How many of the same senses a tuned model gets right when it is asked."""
    test = told(500, SEEDS["test_senses"])
    right = predicts(model, [rendered(one.exchange) for one in test])
    return {"right": sum(right), "crane": crane_only(test, right), "of": len(test)}


def crane_only(test: Sequence[Told], right: Sequence[bool]) -> list[int]:
    """How many of the stories of cranes are right, and how many there are."""
    cranes = [
        ok for one, ok in zip(test, right, strict=True) if "Which crane" in one.exchange.question
    ]
    return [sum(cranes), len(cranes)]


# ---- What is stored ------------------------------------------------------------------------------


@cache
def stored(path: Path = FILE) -> dict[str, Any]:
    """What ``make ask`` found. A pair is of right answers and all; a share is from 0 to 1.

    "before" has ``prompted``: for each way that needs no training, pairs by kind. "tuned" has the
    recipes of all ``ways``; ``runs``, a row of ``measure`` for each way and seed, with the share
    of 200 right answers every 100 steps as ``curve``; and ``senses``, in which the sense of 500
    stories is read as a class ("frozen", "tuned") or asked for. "shipped" is the same of the
    adapter that ships, with the answers to a question of each kind as ``texts``.
    """
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
