"""Measure what compute at the time of answering buys, and store what came out: `make thought`.

The files are gpt2_edu/assets/thought.json, and the small models in gpt2_edu/assets/cups and
gpt2_edu/assets/draft; what is measured, gpt2_edu/analysis/thought.py says. One core needs an hour.
Each result is stored at once, and those in the file are not made again: to make all, delete all
three first. `make thought NB=speed` measures the speed again, of this machine.
"""

from __future__ import annotations

import platform
import sys
from copy import deepcopy
from dataclasses import asdict
from functools import cache

import torch

from gpt2_edu import GPT2
from gpt2_edu.analysis.since import SEEDS as STORY_SEEDS
from gpt2_edu.analysis.since import excess, held_out, train
from gpt2_edu.analysis.thought import (
    AHEAD,
    CUPS,
    DRAFT,
    DRAFT_RECIPE,
    DRAFTS,
    FILE,
    NUMBERS,
    PLAYERS,
    PROMPT,
    REWARD,
    SEEDS,
    SELDOM,
    SHIPPED,
    VOTES,
    chi_square,
    drafted,
    gpt2_sized,
    pass_times,
    play,
    rates,
    rewarded,
    taught,
    tries,
    votes,
)
from gpt2_edu.thought import cups
from gpt2_edu.thought.cups import DOTS, NOW, STEPS
from gpt2_site.make_since import Results

ASKS = {"both": (NOW, STEPS), "4 blocks": (NOW,), "dots": (DOTS,)}
WIDTHS = (1, 2, 3, 5, 9, 17)
ROUNDED = ("8 bits", "4 bits")  # each pass restores all weights: measured at one length only


def main(*parts: str) -> None:
    torch.set_num_threads(1)  # sums in one order, so that the same machine gives the same numbers
    ship()
    results = Results(FILE)
    version = torch.__version__.partition("+")[0]
    seeds = SEEDS | {"held_out": STORY_SEEDS["held_out"]}
    results.begin("made", command="make thought", torch=version, seeds=seeds)
    if parts == ("speed",):
        speed(results)
        return
    results.begin("tries", "rows", numbers=NUMBERS)
    results.begin("votes", "rows", votes=VOTES)
    results.begin("cups", "rows", players={name: asdict(one) for name, one in PLAYERS.items()})
    results.begin("reward", "rows", seldom=asdict(SELDOM), settings=REWARD)
    results.begin("drafts", "rows", "chi_square", prompt=PROMPT, recipe=asdict(DRAFT_RECIPE))
    draft_losses(results)
    for rule, draws in (("exact", 100_000), ("from p", 20_000)):  # fewer are enough to fail
        if results.missing("drafts.chi_square", rule=rule):
            results.add("drafts.chi_square", chi_square(rule, draws))
    for seed in range(5):  # whole rounds, wherever it is stopped
        player(results, "both", seed)
        reward(results, "both", seed, NOW)
        reward(results, "seldom", seed)
        if key := results.missing("tries.rows", seed=seed):
            results.add("tries.rows", key | tries(seed))
        if key := results.missing("votes.rows", seed=seed):
            results.add("votes.rows", key | votes(seed))
        for name in DRAFTS:
            for ahead in (4,) if name in ROUNDED else AHEAD:
                if key := results.missing("drafts.rows", draft=name, ahead=ahead, seed=seed):
                    results.add("drafts.rows", key | drafted(name, ahead, seed))
    for seed in range(5):
        for name in PLAYERS:
            player(results, name, seed)
    if "speed" not in results.content:
        speed(results)


@cache
def learned(name: str, seed: int) -> GPT2:
    """A player after training, not to be changed."""
    if (name, seed) == ("both", 0):
        return GPT2.from_pretrained(CUPS)
    return taught(SELDOM if name == "seldom" else PLAYERS[name], seed)


def player(results: Results, name: str, seed: int) -> None:
    """Let a player play in the ways that it was taught."""
    for ask in ASKS.get(name, (STEPS,)):
        if key := results.missing("cups.rows", player=name, ask=ask, seed=seed):
            results.add("cups.rows", key | play(learned(name, seed), ask))


def reward(results: Results, name: str, seed: int, ask: str = "") -> None:
    """Reward a player that is asked in this way, or chooses how to answer."""
    if key := results.missing("reward.rows", player=name, seed=seed):
        before, model = learned(name, seed), deepcopy(learned(name, seed))
        curve = rewarded(model, seed, ask)
        row = {"before": play(before, ask), "after": play(model, ask), "curve": curve}
        results.add("reward.rows", key | {"ask": ask} | row)


def draft_losses(results: Results) -> None:
    """The loss of each draft that is a model, above the floor of new stories."""
    if "nats" not in results.content["drafts"]:
        names = ("one block", "two blocks", *ROUNDED)
        losses = {
            name: torch.cat(excess(DRAFTS[name](), held_out())).mean().item() for name in names
        }
        results.begin("drafts", nats=losses)
        results.write()


def speed(results: Results) -> None:
    """What a pass costs, and tokens per second, on the machine that this runs on."""
    models = {"crane": GPT2.from_pretrained("crane"), "draft": GPT2.from_pretrained("draft")}
    small = pass_times(models, WIDTHS, rounds=101)
    large = pass_times({"gpt2": gpt2_sized()}, WIDTHS)
    machine = f"one core of {platform.machine()}, float32"
    results.begin("speed", machine=machine, passes=small | large, rates=rates())
    results.write()


# ---- The models that ship ------------------------------------------------------------------------


def ship() -> None:
    """Train the shell game's model and the draft, unless they are there."""
    if not CUPS.exists():
        model = taught(SHIPPED, seed=0)
        model.half().save_pretrained(CUPS)
        model = GPT2.from_pretrained(CUPS)
        right = {ask: play(model, ask)["right"] for ask in (NOW, STEPS)}
        (CUPS / "README.md").write_text(cups_card(model, right), encoding="utf-8")
    if not DRAFT.exists():
        torch.manual_seed(0)
        model = GPT2(DRAFT_RECIPE.config(128))
        train(model, DRAFT_RECIPE, seed=0)
        model.half().save_pretrained(DRAFT)
        (DRAFT / "README.md").write_text(draft_card(GPT2.from_pretrained(DRAFT)), encoding="utf-8")


def cups_card(model: GPT2, right: dict[str, list[float]]) -> str:
    """What to know of the shell game's model before using it."""
    now, steps = (", ".join(f"{100 * share:.0f}" for share in right[ask]) for ask in (NOW, STEPS))
    return f"""# A player of the shell game

A GPT-2 with {model.num_parameters():,} parameters ({SHIPPED.n_layer} layers of {model.config.n_head} heads, width {model.config.n_embd}, window {model.config.block_size},
{len(cups.WORDS)} words, those of `gpt2_edu.thought.cups`). Asked with `now:` it says at once under which of five
cups the ball is, asked with `steps:` it writes down the place after each swap.

- **Command**: `make thought`, which trains it if this folder is missing: {SHIPPED.steps:,} steps of {SHIPPED.batch_size} games,
  half of them asked either way, with at most {cups.MOST} swaps, and a learning rate of at most {SHIPPED.lr}.
- **Answers**: of games with 1, 2, 3, 4, 5, 6, 7, 8 and, never trained, 10 swaps, right are {now} %
  at once, {steps} % in steps.
- **Files**: `model.safetensors` (float16, the layout of Hugging Face), `config.json`.

MIT, like the package. The games and the weights are made by the package itself.
"""  # noqa: E501


def draft_card(model: GPT2) -> str:
    """What to know of the draft before using it."""
    nats = torch.cat(excess(model, held_out())).mean().item()
    return f"""# A draft for the model of Crane World

A GPT-2 with {model.num_parameters():,} parameters (one layer, width {model.config.n_embd}, window {model.config.block_size}, the vocabulary of
`crane`), which drafts what `crane` checks: `gpt2_edu.thought.speculate`. Its loss is {nats:.3f} nats per
token above the floor. `GPT2.from_pretrained("draft")` loads it.

- **Command**: `make thought`, which trains it if this folder is missing: {DRAFT_RECIPE.steps:,} steps of {DRAFT_RECIPE.batch_size}
  windows of {DRAFT_RECIPE.T} tokens, each from the beginning of one of {DRAFT_RECIPE.stories:,} stories, with a learning rate
  of {DRAFT_RECIPE.lr} that falls to 0 as a cosine.
- **Files**: `model.safetensors` (float16, the layout of Hugging Face), `config.json`.

MIT, like the package. The stories and the weights are made by the package itself.
"""  # noqa: E501


if __name__ == "__main__":
    main(*sys.argv[1:])
