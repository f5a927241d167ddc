"""Train the novice and reward it in all ways, and store what came out: `make reward`.

The files are gpt2_edu/assets/novice and gpt2_edu/assets/reward.json; what is measured,
gpt2_edu/analysis/reward_runs.py says. One core needs an hour and a half. A novice that is there is
not trained again, and each run is stored at once: to make all, delete both first.
"""

from __future__ import annotations

import sys

import torch

from gpt2_edu import GPT2
from gpt2_edu.analysis.reward_runs import (
    FILE,
    MORE,
    NOVICE,
    PLOTS,
    RECIPE,
    SAMPLES_SEED,
    WAYS,
    measure,
    novice,
    some_texts,
)
from gpt2_edu.analysis.since import SEEDS, held_out, train
from gpt2_edu.crane.surprisal import mean_and_error
from gpt2_site.make_since import Results


def main(*names: str) -> None:
    torch.set_num_threads(1)  # sums in one order, so that the same machine gives the same numbers
    if not NOVICE.exists():
        make_novice()
    results = Results(FILE)
    results.begin(
        "made",
        command="make reward",
        torch=torch.__version__.partition("+")[0],
        seeds={"held_out": SEEDS["held_out"], "samples": SAMPLES_SEED},
    )
    floor, _ = mean_and_error([row.tolist() for row in held_out().surprisals])
    results.begin("language", entropy=floor, plots=PLOTS)
    if "novice" not in results.content:
        results.begin("novice", **measure(novice()), texts=some_texts(novice()))
    results.begin("tuned", "runs", ways={name: way.keywords for name, way in WAYS.items()})
    for seed in range(3):  # whole rounds, wherever it is stopped
        for name in names or WAYS:
            run(results, name, seed)


def run(results: Results, name: str, seed: int) -> None:
    """Change a novice in one way, and measure it."""
    if key := results.missing("tuned.runs", variant=name, seed=seed):
        model = novice()
        curve = WAYS[name](model, seed)
        row = key | measure(model) | {"curve": curve.columns}
        if seed == 0:
            row["texts"] = some_texts(model)
        else:  # one run's texts are enough to read
            del curve.columns["text"]
        results.add("tuned.runs", row)


def make_novice() -> None:
    """Train the novice until one story in eight is right."""
    torch.manual_seed(0)
    model = GPT2(RECIPE.config(RECIPE.T))
    train(model, RECIPE, seed=0)
    seed = 0
    while measure(model, 200)["right"] < 24:
        seed += 1
        train(model, MORE, seed)
    ship(model, RECIPE.steps + seed * MORE.steps)


def ship(model: GPT2, steps: int) -> None:
    """Write the novice in float16, with a card."""
    model.half().save_pretrained(NOVICE)
    found = measure(novice())
    card = f"""# A novice of Crane World

A GPT-2 with {model.num_parameters():,} parameters ({RECIPE.n_layer} layers of {RECIPE.n_head} heads, width {RECIPE.n_embd}, window {RECIPE.T}, the
vocabulary of `crane`), trained too briefly on stories of Crane World: of {found["of"]:,} stories that
it writes {found["right"]} are right, and its loss is {found["nats"]:.3f} nats per token above the floor. The book's
chapter on reward begins with it: `GPT2.from_pretrained` of this folder loads it.

- **Data**: {RECIPE.stories:,} stories, of the seeds from 0 on, written by the grammar.
- **Command**: `make reward`, which trains it if this folder is missing: {RECIPE.steps:,} steps of {RECIPE.batch_size} windows
  of {RECIPE.T} tokens, each from the beginning of a story, with a learning rate of {RECIPE.lr} that falls
  to 0 as a cosine; then {MORE.steps} more at a time, from {MORE.lr}, until 24 of 200 stories were right:
  {steps:,} steps in all.
- **Files**: `model.safetensors` (float16, the layout of Hugging Face), `config.json`.

MIT, like the package. The stories and the weights are made by the package itself.
"""  # noqa: E501
    (NOVICE / "README.md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
