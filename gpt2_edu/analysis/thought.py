"""What compute at the time of answering buys, measured where right and wrong are known.

Four experiments: several tries at the same beginning of a story, votes on the answer to a question,
a shell game at once and with its steps written down, and drafts that a larger model checks.
``make thought`` runs all of it and stores the results, ``stored()`` reads them, ``interval`` says
what several seeds can tell.
"""

from __future__ import annotations

import json
import math
import random
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import torch
from torch import Tensor, nn

from .. import crane
from ..config import GPT2Config
from ..generation import Model, generate
from ..language_model import LanguageModel
from ..model import GPT2
from ..quantize import quantize
from ..sampling import next_probabilities
from ..thought import cups, majority, pass_at_k, speculate
from ..thought.speculative import Rule, accept
from ..tokenizer import load_tokenizer
from ..training.optim import learning_rate, make_optimizer
from ..training.plain import crane_ids
from ..tuning import conversation, load_adapter, merge, prompt, with_roles
from ..tuning.preferences import text_log_probs
from ..tuning.reward import Step, Texts, decode, learn, write
from ..weights import BUNDLED
from .ask import ADAPTER, chat_encoding
from .reward_runs import novice, plot
from .since import STUDENT, Difference
from .since import Recipe as StoryRecipe

ASSETS = Path(str(files("gpt2_edu") / "assets"))
FILE = ASSETS / "thought.json"
CUPS = ASSETS / "cups"
DRAFT = BUNDLED["draft"]
SEEDS = {"beginnings": 41, "questions": 51, "games": 1_000_000}  # of sampling and training: 0, 1 …
NUMBERS = (1, 2, 4, 8, 16, 32)  # of tries
VOTES = (1, 4, 16)
SWAPS = (1, 2, 3, 4, 5, 6, 7, 8, 10)  # 10 are more than in any game of training


def interval(values: Sequence[float]) -> Difference:
    """The mean of what some seeds gave, and how far its 95 % interval reaches to either side.

    The interval is Student's. Raises ValueError for fewer than two values, or more than five.
    """
    if len(values) not in STUDENT:
        raise ValueError(f"an interval needs 2 to 5 values, got {len(values)}")
    return Difference(fmean(values), STUDENT[len(values)] * stdev(values) / math.sqrt(len(values)))


# ---- Several tries at a story --------------------------------------------------------------------


@cache
def beginnings(n: int, seed: int, S: int = 24) -> Tensor:
    """The first S tokens of n new stories that are longer, (n, S)."""
    encoding = load_tokenizer("crane")
    texts = map(crane.story, crane.random_seeds(2 * n, SEEDS["beginnings"] + seed))
    found = [[encoding.eot_token, *encoding.encode_ordinary(text)] for text in texts]
    return torch.tensor([row[:S] for row in found if len(row) > S][:n])


def tries(seed: int, problems: int = 100, n: int = 32) -> dict[str, Any]:
    """What the novice makes of the beginnings of stories, n times each.

    ``right`` counts, for each beginning, its continuations that make a right story. The others are
    means over beginnings, by NUMBERS k: each takes the tries in groups of k, and asks whether the
    one that is picked is right. The ``judge`` picks a right one if there is one, ``likeliest`` the
    one to which the novice gives the largest probability, ``per_token`` the largest geometric mean
    of its tokens' probabilities; ``formula`` is ``pass_at_k``, ``plugged`` 1 - (1 - p)^k with the
    mean p of all.
    """
    model, generator = novice(), torch.Generator().manual_seed(seed)
    right, likely, mean = (torch.zeros(problems, n) for _ in range(3))
    for i, beginning in enumerate(beginnings(problems, seed)):
        texts = write(model, beginning.expand(n, -1), generator)
        with torch.no_grad():
            likely[i] = text_log_probs(model, texts)
        mean[i] = likely[i] / texts.drawn.sum(dim=1)
        right[i] = torch.tensor([float(plot(text) is not None) for text in decode(texts)])

    def picked(scores: Tensor, k: int) -> float:
        best = scores.view(problems, -1, k).argmax(dim=-1, keepdim=True)
        return right.view(problems, -1, k).gather(-1, best).mean().item()

    counts = right.sum(dim=1).int().tolist()
    numbers = [k for k in NUMBERS if k <= n]
    return {
        "n": n,
        "right": counts,
        "judge": [picked(right, k) for k in numbers],
        "formula": [fmean(pass_at_k(n, c, k) for c in counts) for k in numbers],
        "plugged": [1 - (1 - right.mean().item()) ** k for k in numbers],
        "likeliest": [picked(likely, k) for k in numbers],
        "per_token": [picked(mean, k) for k in numbers],
    }


# ---- Votes on an answer --------------------------------------------------------------------------


@cache
def answering() -> GPT2:
    """The shipped model with the adapter that answers questions."""
    model, _ = with_roles(GPT2.from_pretrained("crane"), load_tokenizer("crane"))
    return merge(load_adapter(model, ADAPTER)).eval()


def answers(
    exchanges: Sequence[crane.Exchange], n: int, generator: torch.Generator, temperature: float
) -> list[list[str]]:
    """n answers to each question."""
    encoding, found = chat_encoding(), []
    for one in exchanges:
        ids = prompt(conversation(one)[:1], encoding)
        new = generate(
            answering(),
            torch.tensor([ids]).expand(n, -1),
            min(12, 129 - len(ids)),
            temperature=temperature,
            eos_id=encoding.eot_token,
            generator=generator,
        )[:, len(ids) :].tolist()
        texts = [encoding.decode([i for i in row if i != encoding.eot_token]) for row in new]
        found.append([text.strip() for text in texts])
    return found


def votes(seed: int, problems: int = 300, n: int = 16) -> dict[str, Any]:
    """Right answers to questions about new stories, by the number of votes.

    ``right`` is the share by VOTES, each in groups of so many of the n answers that were drawn;
    ``greedy`` that of the most likely answer, of which there is one. ``by_kind`` has for each kind
    of question how many there are, and the same shares: first greedy, then by VOTES.
    """
    exchanges = [crane.ask(i) for i in crane.random_seeds(problems, SEEDS["questions"] + seed)]
    generator = torch.Generator().manual_seed(seed)
    drawn = answers(exchanges, n, generator, temperature=1.0)
    likeliest = answers(exchanges, 1, generator, temperature=0.0)

    def shares(kept: Sequence[int]) -> list[float]:
        found = [fmean(likeliest[i][0] == exchanges[i].answer for i in kept)]
        for k in VOTES:
            elected = [
                majority(drawn[i][g : g + k]) == exchanges[i].answer
                for i in kept
                for g in range(0, n, k)
            ]
            found.append(fmean(elected))
        return found

    kinds: dict[str, list[int]] = {}
    for i, one in enumerate(exchanges):
        kinds.setdefault(one.kind, []).append(i)
    greedy, *right = shares(range(problems))
    return {
        "of": problems,
        "greedy": greedy,
        "right": right,
        "by_kind": {kind: [len(kept), *shares(kept)] for kind, kept in sorted(kinds.items())},
    }


# ---- The shell game ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recipe:
    """How a model learns the shell game."""

    written: float = 0.0  # share of the games whose steps are written down
    every: int = 1
    dots: bool = False
    chosen: bool = False  # whether it learns as well which way it is to answer
    n_layer: int = 2
    steps: int = 1500
    batch_size: int = 64
    lr: float = 3e-3


SHIPPED = Recipe(written=0.5, steps=3000)
PLAYERS = {
    "both": SHIPPED,  # one model that is asked either way; that of seed 0 is the shipped one
    "dots": Recipe(written=1.0, dots=True),
    "every 2": Recipe(written=1.0, every=2),
    "every 4": Recipe(written=1.0, every=4),
    "4 blocks": Recipe(n_layer=4),
}
SELDOM = Recipe(written=0.2, chosen=True)  # one that chooses, and writes steps one time in five
REWARD = {"steps": 200, "groups": 8, "n": 16, "lr": 5e-4}


def taught(recipe: Recipe, seed: int) -> GPT2:
    """A player after training."""
    torch.manual_seed(seed)
    return teach(new_player(recipe), recipe, seed)


def new_player(recipe: Recipe) -> GPT2:
    """A model that knows nothing of the game."""
    return GPT2(cups.config(recipe.n_layer))


def teach(model: GPT2, recipe: Recipe, seed: int) -> GPT2:
    """Train a model on games, which the seed decides. Games of training have 1 to 8 swaps."""
    chance = random.Random(seed)
    optimizer = make_optimizer(model, lr=recipe.lr, betas=(0.9, 0.99), weight_decay=0.01)
    for step in range(recipe.steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(
                step, steps=recipe.steps, lr=recipe.lr, min_lr=0.0, warmup_steps=50
            )
        games = [
            cups.game(chance.randrange(SEEDS["games"]), chance.randint(1, cups.MOST))
            for _ in range(recipe.batch_size)
        ]
        steps = [i < recipe.written * len(games) for i in range(len(games))]
        way: dict[str, Any] = {
            "dots": recipe.dots,
            "every": recipe.every,
            "chosen": recipe.chosen,
        }
        _, loss = model(*cups.rows(games, steps, **way))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model.eval()


def said(
    model: LanguageModel, games: Sequence[cups.Game], ask: str = "", **knobs: Any
) -> list[str]:
    """What a model answers to games with equally many swaps."""
    idx = torch.tensor([cups.prompt(one, ask) for one in games])
    room = model.config.block_size + 1 - idx.size(1)
    new = generate(model, idx, room, eos_id=cups.IDS[cups.END], **knobs)[:, idx.size(1) :]
    return [cups.decode(row) for row in new.tolist()]


def play(model: LanguageModel, ask: str = "", swaps: Sequence[int] = SWAPS, n: int = 500) -> Any:
    """Right answers to new games by the number of swaps: the most likely ones, or drawn.

    ``right`` and ``written`` are shares: of right answers, and of those in steps; ``right_written``
    is the share of right ones among these, None without any. ``tokens`` is the mean number of
    tokens that the model writes, with the <|endoftext|>. Given no word that asks, the model chooses
    one and draws its answer as likely as it says.
    """
    columns: dict[str, Any] = {name: [] for name in ("right", "written", "right_written", "tokens")}
    for number in swaps:
        games = [cups.game(SEEDS["games"] + i, number) for i in range(n)]
        if ask:
            texts = said(model, games, ask, temperature=0.0)
        else:
            texts = said(model, games, generator=torch.Generator().manual_seed(0))
        right = [cups.judge(one, text) for one, text in zip(games, texts, strict=True)]
        steps = [in_steps(f"{ask} {text}") for text in texts]
        among = [ok for ok, yes in zip(right, steps, strict=True) if yes]
        columns["right"].append(fmean(right))
        columns["written"].append(fmean(steps))
        columns["right_written"].append(fmean(among) if among else None)
        columns["tokens"].append(fmean(len(text.split()) + 1 for text in texts))
    return {"swaps": swaps, **columns}


def in_steps(text: str) -> bool:
    """Whether an answer is written in steps."""
    return cups.STEPS in text.split()


def spell(texts: Texts) -> list[str]:
    """Games and answers in words; one that the window has cut off ends in an ellipsis."""
    end, rows = cups.IDS[cups.END], texts.ids[:, 1:].tolist()
    return [cups.decode(row) + " …" * (end not in row) for row in rows]


def answered(text: str) -> float:
    """1 if a game ends with the right answer, however it came to be; else 0: the reward."""
    return float(cups.judge(cups.read(text), text))


def rewarded(model: GPT2, seed: int, ask: str = "", every: int = 20) -> list[dict[str, Any]]:
    """Reward a player for right answers. Returns what it did on the way, by step.

    Given a word that asks, it answers in this way; else it chooses the way as well.
    ``right``, ``written`` and ``tokens`` are those of its own texts since the last row, drawn as
    likely as it says, for games of 1 to 8 swaps.
    """
    chance, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    curve: list[dict[str, Any]] = []
    seen: list[Step] = []

    def games() -> Tensor:
        swaps = chance.randint(1, cups.MOST)
        seeds = [chance.randrange(SEEDS["games"]) for _ in range(int(REWARD["groups"]))]
        return torch.tensor([cups.prompt(cups.game(one, swaps), ask) for one in seeds])

    def watch(step: Step) -> None:
        seen.append(step)
        if len(seen) % every == 0:
            texts = [text for one in seen[-every:] for text in one.texts]
            lengths = [
                len(text.removeprefix(cups.read(text).text).removeprefix(f" {ask}").split())
                for text in texts
            ]
            curve.append(
                {
                    "step": len(seen),
                    "right": torch.cat([one.rewards for one in seen[-every:]]).mean().item(),
                    "written": fmean(map(in_steps, texts)),
                    "tokens": fmean(length + 1 for length in lengths),
                }
            )

    with warnings.catch_warnings():  # of groups that are all equal: one swap is always right
        warnings.simplefilter("ignore", RuntimeWarning)
        learn(
            model,
            answered,
            int(REWARD["steps"]),
            n=int(REWARD["n"]),
            lr=REWARD["lr"],
            beginnings=games,
            spell=spell,
            generator=generator,
            on_step=watch,
        )
    return curve


# ---- Drafts --------------------------------------------------------------------------------------

DRAFT_RECIPE = StoryRecipe(steps=4000, batch_size=16, T=112, n_layer=1, whole=True)
PROMPT = "By the river, the crane"
AHEAD = (1, 2, 4, 8)


@cache
def bigrams() -> Callable[[Tensor], Tensor]:
    """A draft without weights: how often each token followed another in 20,000 stories."""
    ids, V = crane_ids(20_000), load_tokenizer("crane").n_vocab
    counts = torch.full((V, V), 0.01)
    counts.index_put_((ids[:-1], ids[1:]), torch.ones(len(ids) - 1), accumulate=True)
    table = counts.log()
    return lambda idx: table[idx]


DRAFTS: dict[str, Callable[[], Any]] = {
    "one block": lambda: GPT2.from_pretrained("draft"),
    "two blocks": novice,
    "bigrams": bigrams,
    "8 bits": lambda: quantize(GPT2.from_pretrained("crane"), 8),
    "4 bits": lambda: quantize(GPT2.from_pretrained("crane"), 4),
}


def drafted(name: str, ahead: int, seed: int, n: int = 20) -> dict[str, Any]:
    """What the shipped model keeps of a draft's proposals, in n stories of at most 111 tokens."""
    encoding, generator = load_tokenizer("crane"), torch.Generator().manual_seed(seed)
    model, draft = GPT2.from_pretrained("crane"), DRAFTS[name]()
    start, end = torch.tensor([[encoding.eot_token]]), encoding.eot_token
    texts = [
        speculate(model, draft, start, 111, ahead=ahead, eos_id=end, generator=generator)
        for _ in range(n)
    ]
    shown = [encoding.decode([i for i in one.idx[0].tolist() if i != end]) for one in texts]
    return {
        "tokens": sum(one.idx.size(1) - 1 for one in texts),
        "rounds": sum(one.rounds for one in texts),
        "drafted": sum(one.drafted for one in texts),
        "accepted": sum(one.accepted for one in texts),
        "right": sum(plot(text) is not None for text in shown),
        "of": n,
    }


def from_p(p: Tensor, q: Tensor, ids: Tensor, generator: Any = None) -> tuple[int, int]:
    """A wrong rule, easily written: what replaces a rejected token is drawn from p itself."""
    kept, _ = accept(p, q, ids, generator)
    return kept, int(torch.multinomial(p[kept], 1, generator=generator))


RULES: dict[str, Rule] = {"exact": accept, "from p": from_p}


class Remembered:
    """A model as a function from ids (1, T) to its last logits, each text computed once."""

    def __init__(self, model: Model, last: int) -> None:
        self.model, self.last = model, last
        self.known: dict[tuple[int, ...], Tensor] = {}

    def __call__(self, idx: Tensor) -> Tensor:
        key = tuple(idx[0].tolist())
        if key not in self.known:
            output = self.model(idx)
            logits = output[0] if isinstance(output, tuple) else output
            self.known[key] = logits[:, -self.last :]
        return self.known[key]


def exact(model: Remembered, idx: Tensor, n: int, least: float) -> dict[tuple[int, ...], float]:
    """The probabilities of the next n tokens, of those that are likelier than ``least``."""
    found: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(n):
        longer: dict[tuple[int, ...], float] = {}
        for new, p in found.items():
            ids = torch.cat([idx, torch.tensor([new], dtype=torch.long)], dim=1)
            probs = p * next_probabilities(model(ids)[:, -1].double())[0]
            for i in (probs > least).nonzero()[:, 0].tolist():
                longer[*new, i] = probs[i].item()
        found = longer
    return found


@torch.no_grad()
def chi_square(
    rule: str, draws: int = 100_000, n: int = 3, seed: int = 0, name: str = "one block"
) -> dict[str, Any]:
    """The next n tokens after PROMPT, drawn often by ``speculate``, beside their probabilities.

    Texts that are to be expected five times or more are counted each, the others as one class. The
    models compute each text once: what is drawn is as if they computed it every time. ``p`` is the
    probability of a larger ``statistic`` if the distributions are the same.
    """
    encoding, generator = load_tokenizer("crane"), torch.Generator().manual_seed(seed)
    model, draft = (Remembered(m, n) for m in (GPT2.from_pretrained("crane"), DRAFTS[name]()))
    idx = torch.tensor([[encoding.eot_token, *encoding.encode_ordinary(PROMPT)]])
    wanted = {key: draws * p for key, p in exact(model, idx, n, 5 / draws).items()}
    counts = dict.fromkeys(wanted, 0)
    for _ in range(draws):
        text = speculate(
            model, draft, idx, n, ahead=n - 1, generator=generator, rule=RULES[rule]
        ).idx[0, idx.size(1) :]
        key = tuple(text.tolist())
        if key in counts:
            counts[key] += 1
    seen = [*counts.values(), draws - sum(counts.values())]
    expected = [*wanted.values(), draws - sum(wanted.values())]
    return {"rule": rule, "draws": draws, "n": n, **compare(seen, expected)}


def compare(seen: Sequence[float], expected: Sequence[float]) -> dict[str, Any]:
    """Pearson's chi-square of counts and what is to be expected, and its p."""
    statistic = sum((a - b) ** 2 / b for a, b in zip(seen, expected, strict=True))
    degrees = len(seen) - 1
    halves = torch.tensor([degrees / 2, statistic / 2], dtype=torch.float64)
    p = torch.special.gammaincc(halves[0], halves[1]).item()
    return {"statistic": statistic, "degrees": degrees, "p": p}


# ---- What a pass costs ---------------------------------------------------------------------------


def pass_times(
    models: Mapping[str, LanguageModel], widths: Iterable[int], rounds: int = 15, length: int = 64
) -> dict[str, dict[int, float]]:
    """Milliseconds of a pass over so many new tokens after ``length`` others, the median of rounds.

    All models and widths take turns, so that whatever else the machine does meets all alike.
    """
    widths = list(widths)
    caches = {name: model.make_cache(1, length + max(widths)) for name, model in models.items()}
    seen: dict[tuple[str, int], list[float]] = {}
    with torch.inference_mode():
        for name, model in models.items():
            model(torch.ones(1, length, dtype=torch.long), cache=caches[name])
        for turn in range(rounds + 1):
            for name, model in models.items():
                for width in widths:
                    caches[name].length = length
                    idx = torch.ones(1, width, dtype=torch.long)
                    before = time.perf_counter()
                    model(idx, cache=caches[name])
                    if turn:  # the first pass warms up
                        after = time.perf_counter()
                        seen.setdefault((name, width), []).append(1000 * (after - before))
    found: dict[str, dict[int, float]] = {}
    for (name, width), times in seen.items():
        found.setdefault(name, {})[width] = sorted(times)[len(times) // 2]
    return found


def rates(rounds: int = 7, n: int = 100) -> dict[str, list[float]]:
    """Tokens per second of the shipped model in each round, plainly and with each draft.

    n tokens at a time, cached, at temperature 1; all ways take turns.
    """
    model, start = (
        GPT2.from_pretrained("crane"),
        torch.tensor([[load_tokenizer("crane").eot_token]]),
    )
    ways: dict[str, Callable[..., Any]] = {"plain": partial(generate, model, start, n)}
    for name in ("one block", "bigrams"):
        draft = DRAFTS[name]()
        for ahead in AHEAD:
            ways[f"{name}, {ahead}"] = partial(speculate, model, draft, start, n, ahead=ahead)
    found: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name, way in ways.items():
            generator = torch.Generator().manual_seed(turn)
            before = time.perf_counter()
            way(generator=generator)
            if turn:
                found[name].append(n / (time.perf_counter() - before))
    return found


def gpt2_sized() -> GPT2:
    """A model of GPT-2's smallest size with random weights: its time is that of the trained one."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return GPT2(GPT2Config()).eval()


def speed_up(tokens: float, ahead: int, large: Mapping[int, float], small: float) -> float:
    """How many times as fast drafts make a model: ``tokens`` a round, by the times of passes.

    A round takes ``ahead`` passes of the draft, ``small`` each, and one of the model over
    ahead + 1 tokens, ``large[ahead + 1]``; without drafts a token takes ``large[1]``.
    """
    return tokens * large[1] / (large[ahead + 1] + ahead * small)


# ---- What is stored ------------------------------------------------------------------------------


@cache
def stored(path: Path = FILE) -> dict[str, Any]:
    """What ``make thought`` found. Rows have a ``seed``; see the function named for their content.

    "tries" has the ``rows`` of ``tries``, "votes" those of ``votes``. "cups" has the recipes of all
    ``players`` and a row of ``play`` for each, with the word that ``ask``s. "reward" has a row for
    each player that was ``rewarded``, with the ``curve``, and with ``play`` before and after:
    "both", asked for the answer at once, and "seldom", which chooses how to answer. "drafts" has
    the ``rows`` of ``drafted``, the ``chi_square`` of each rule, and ``nats`` above the floor of
    each draft; "speed" the ``pass_times`` and ``rates`` of the machine that it names.
    """
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
