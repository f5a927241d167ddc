"""Train a grid of models on Crane World, and store their losses: `make scaling`.

The file is gpt2_edu/assets/scaling.json, and gpt2_edu/analysis/scaling.py reads it. Each seed takes
one core half an hour. A run is stored as soon as it ends, and those in the file are not made again:
to make all, delete it first. Each seed goes from the cheapest run to the most expensive, so the
runs that there are at any time are those below some amount of compute, and a seed less of the
others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import count, product

import torch
from torch import Tensor, nn

from gpt2_edu import GPT2, crane, load_tokenizer
from gpt2_edu.analysis.scaling import FILE
from gpt2_edu.analysis.scoring import score_tokens
from gpt2_edu.analysis.since import SEEDS, held_out
from gpt2_edu.config import GPT2Config
from gpt2_edu.flops import flops_per_token, parameters_by_part
from gpt2_edu.training.optim import learning_rate, make_optimizer
from gpt2_site.make_since import Results

B, T = 8, 112  # windows of a step, each from the beginning of a story, and tokens of a window
STEPS = (280, 840, 2520, 7560)  # 0.25, 0.75, 2.3 and 6.8 million tokens
WINDOWS = 89_600  # to choose from: more than any run needs
WIDTHS = (8, 12, 20, 32, 48, 80)  # of two blocks with two heads
TRIED = tuple(product((8, 20, 48), (0.00375, 0.0075, 0.015, 0.03, 0.06)))  # widths, rates
TRIED_STEPS = 1120
EPOCHS = (2, 4, 16, 64)  # how often a run of REPEATED steps sees the same windows
REPEATED = (32, 2520)  # width and steps
N_SEEDS = 3


def main() -> None:
    torch.set_num_threads(1)  # sums in one order, so that the same machine gives the same numbers
    results = Results(FILE)
    begin(results)
    for C, lr in TRIED:
        run(results, "rates", C, TRIED_STEPS, lr, seed=99)
    for seed in range(N_SEEDS):
        for C, steps in by_cost(product(WIDTHS, STEPS)):
            run(results, "grid", C, steps, rate(C), seed)
        for epochs in EPOCHS:
            C, steps = REPEATED
            run(results, "repeated", C, steps, rate(C), seed, epochs)


def begin(results: Results) -> None:
    """What is the same for all runs."""
    results.begin(
        "made",
        command="make scaling",
        torch=torch.__version__.partition("+")[0],
        seeds={"held_out": SEEDS["held_out"]},
    )
    results.begin(
        "runs",
        "rates",
        "grid",
        "repeated",
        floor=torch.cat(list(held_out().surprisals)).mean().item(),
        vocabulary=len(used_ids()),
        batch_size=B,
        T=T,
    )


def rate(C: int) -> float:
    """The peak of the learning rate for a width: near the best of those that were tried."""
    return float(f"{0.5 / C:.3g}")  # as the file holds it


def by_cost(cells: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Widths and steps, from the least compute to the most."""
    return sorted(cells, key=lambda cell: flops_per_token(config(cell[0]), T) * cell[1])


def run(
    results: Results, kind: str, C: int, steps: int, lr: float, seed: int, epochs: int = 1
) -> None:
    """Train a model, unless it is among the results, and store what there is to say of it.

    ``early`` has its loss at the ends of shorter runs, when its learning rate was still high.
    """
    d = steps * B * T
    key = {"n_embd": C, "d": d, "unique": d // epochs, "seed": seed, "lr": lr}
    if not (key := results.missing(f"runs.{kind}", **key)):
        return
    torch.manual_seed(seed)
    model = GPT2(config(C))
    early = []
    for done in train(model, steps, lr, seed, epochs):
        if done in STEPS or done == steps:
            early.append([done * B * T, loss(model)])
    *early, (_, last) = early
    parts = parameters_by_part(model.config)
    results.add(
        f"runs.{kind}",
        key
        | {
            "n_layer": model.config.n_layer,
            "n": sum(parts.values()) - parts["wte"] - parts["wpe"],
            "flops": float(flops_per_token(model.config, T) * d),
            "loss": last,
        }
        | ({"early": early} if early and kind == "grid" else {}),
    )


def config(C: int) -> GPT2Config:
    """Two blocks of width C."""
    return GPT2Config(
        vocab_size=len(used_ids()),
        block_size=T,
        n_layer=2,
        n_head=2,
        n_embd=C,
        initializer_range=0.6 / C**0.5,  # as GPT-2's 0.02 is for its 768
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        resid_pdrop=0.0,
    )


# ---- Data ---------------------------------------------------------------------------------------


@cache
def used_ids() -> Tensor:
    """The ids of `crane` that occur in stories, sorted: the others would only cost time."""
    encoding = load_tokenizer("crane")
    texts = [crane.story(seed) for seed in crane.random_seeds(3000, SEEDS["held_out"])]
    used = {i for row in encoding.encode_ordinary_batch(texts) for i in row}
    return torch.tensor(sorted(used | {encoding.eot_token}))


def renumber(ids: Tensor) -> Tensor:
    """Ids of `crane` as places among those that occur. Raises ValueError for any other."""
    places = torch.searchsorted(used_ids(), ids).clamp(max=len(used_ids()) - 1)
    if not used_ids()[places].equal(ids):
        raise ValueError("there are ids that do not occur in the stories that were looked through")
    return places


@lru_cache(maxsize=1)
def windows(n: int) -> Tensor:
    """n windows (n, T + 1) that do not overlap, each from an <|endoftext|> on."""
    encoding = load_tokenizer("crane")
    rows: list[list[int]] = []
    row: list[int] = []
    for first in count(step=1000):
        texts = [crane.story(seed) for seed in range(first, first + 1000)]
        for ids in encoding.encode_ordinary_batch(texts):
            row += [encoding.eot_token, *ids]
            if len(row) > T:  # the rest of the last story is left out
                rows.append(row[: T + 1])
                row = []
        if len(rows) >= n:
            return renumber(torch.tensor(rows[:n]))
    raise AssertionError("count() does not end")


# ---- Training -----------------------------------------------------------------------------------


def train(model: GPT2, steps: int, lr: float, seed: int, epochs: int = 1) -> Iterator[int]:
    """Train a model with a cosine that ends with the run, and yield how many steps are done.

    All windows are new, or the first of ``epochs`` parts of them are read so many times, each time
    in another order.
    """
    generator = torch.Generator().manual_seed(1000 + seed)
    data = windows(WINDOWS)
    chosen = torch.randperm(len(data), generator=generator)[: steps * B // epochs]
    orders = [chosen[torch.randperm(len(chosen), generator=generator)] for _ in range(epochs)]
    optimizer = make_optimizer(model, lr=lr, betas=(0.9, 0.99), weight_decay=0.01)
    model.train()
    for step, batch in enumerate(torch.cat(orders).split(B)):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, steps=steps, lr=lr, min_lr=0.0, warmup_steps=50)
        rows = data[batch]
        _, nats = model(rows[:, :-1], rows[:, 1:])
        optimizer.zero_grad()
        nats.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield step + 1


def loss(model: GPT2) -> float:
    """Nats per token on new stories, whose exact floor is known."""
    rows = [renumber(torch.tensor(row)).tolist() for row in held_out().rows]
    return -torch.cat(score_tokens(model, rows)).mean().item()


if __name__ == "__main__":
    main()
