"""Make the model of Crane World that ships with the package: `make crane`.

In this order: the tokenizer from the first stories, the training run of the recipe "shipped", its
weights in float16, metrics of the very file that ships, and a card. Everything goes to
gpt2_edu/assets/crane, and nothing is taken from an earlier run. Two cores need twenty minutes.
"""

from __future__ import annotations

import json
import platform
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from benchmarks.common import cpu_name
from gpt2_edu import GPT2, crane, load_tokenizer, trace
from gpt2_edu.analysis.divergence import divergence
from gpt2_edu.analysis.evals import grade, report, sample_stories
from gpt2_edu.analysis.heads import (
    attention_statistics,
    head_effects,
    sense_only_from_hint,
)
from gpt2_edu.analysis.units import contexts
from gpt2_edu.bpe import train_bpe
from gpt2_edu.cli.export import ExportOptions, export
from gpt2_edu.config import GPT2Config
from gpt2_edu.language_model import eval_mode
from gpt2_edu.machine.files import file_sha256
from gpt2_edu.tokenizer import _RANKS, save_ranks
from gpt2_edu.training.recipes import RECIPES, train_crane
from gpt2_edu.training.run_log import Row
from gpt2_edu.training.trainer import Trainer

ASSETS = Path("gpt2_edu/assets/crane")
STORIES = 20_000  # that the tokenizer is trained on
SNAPSHOTS = (0, 10, 20, 50, 100, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000, 10_000)
SENTENCES = (
    "A crane ate fish.",
    "A crane lifted steel.",
    "By the river, the crane spread its wings",
)
UNSEEN = range(1_000_000, 1_002_000)  # seeds of stories that units are looked for in
COMPARED = {  # beginnings for both senses, with as many tokens, and words that may follow
    ("A crane ate fish", "A crane lifted steel"): None,
    ("In the marsh, the crane", "In the city, the crane"): (" spread", " lifted"),
}


class Watch:
    """Looks at the model at some steps: its attention to fixed sentences, and what it writes."""

    def __init__(self) -> None:
        self.tokenizer = load_tokenizer("crane")
        self.snapshots: list[Row] = []

    def __call__(self, row: Row, trainer: Trainer) -> None:
        if row["step"] not in SNAPSHOTS:
            return
        model = trainer.model
        state = torch.get_rng_state()
        samples = sample_stories(model, self.tokenizer, 50, seed=1)
        grades = grade(samples)
        self.snapshots.append(
            {
                "step": row["step"],
                "sample": samples[0],
                "grammatical": grades.stories.share,
                "attention": [self._attention(model, sentence) for sentence in SENTENCES],
            }
        )
        torch.set_rng_state(state)

    def _attention(self, model: GPT2, sentence: str) -> list[list[list[list[int]]]]:
        """Weights in hundredths: layers × heads × queries × keys up to the query."""
        ids = torch.tensor([self.tokenizer.encode(sentence)])
        with torch.no_grad(), eval_mode(model), trace(model) as tape:
            model(ids)
        layers = []
        for i in range(model.config.n_layer):
            weights = (tape[f"transformer.h.{i}.attn.weights"][0] * 100).round().int().tolist()
            layers.append([[row[: q + 1] for q, row in enumerate(head)] for head in weights])
        return layers

    def as_dict(self) -> dict[str, Any]:
        pieces = [
            [self.tokenizer.decode([i]) for i in self.tokenizer.encode(sentence)]
            for sentence in SENTENCES
        ]
        return {"sentences": SENTENCES, "tokens": pieces, "snapshots": self.snapshots}


def write_json(path: Path, content: Any, indent: int | None = None) -> None:
    separators = None if indent else (",", ":")
    text = json.dumps(content, indent=indent, separators=separators, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def rounded(found: dict[str, Any]) -> dict[str, Any]:
    """The same with floats to five significant digits, and lists for tuples, as JSON has it."""
    return json.loads(json.dumps(found), parse_float=lambda text: float(f"{float(text):.5g}"))


def measure(model: GPT2) -> dict[str, Any]:
    """The metrics of a model and what was found inside it."""
    tokenizer = load_tokenizer("crane")
    effects = head_effects(model, tokenizer, crane.random_seeds(200, 7))
    seeds = crane.random_seeds(40_000, 9)
    hints = [seed for seed in seeds if sense_only_from_hint("crane", seed)]
    by_hint = head_effects(model, tokenizer, hints[:300])
    attention = attention_statistics(model, tokenizer, crane.random_seeds(300, 7))
    pairs = {
        " / ".join(pair): divergence(model, tokenizer, *pair, followers)
        for pair, followers in COMPARED.items()
    }
    return {
        "metrics": report(model, tokenizer),
        "head_effects": asdict(effects),
        "head_effects_by_hint": asdict(by_hint),
        "attention": asdict(attention),
        "divergence": {name: asdict(found) for name, found in pairs.items()},
    }


def write_units(model: GPT2) -> None:
    """Where every unit of the MLPs fires most, for the exhibit of chapter 7."""
    tokenizer = load_tokenizer("crane")
    end = tokenizer.eot_token
    rows = [[end, *tokenizer.encode_ordinary(crane.story(seed)), end] for seed in UNSEEN]
    blocks = contexts(model, rows)
    write_json(ASSETS / "units.json", {"stories": len(UNSEEN), "blocks": blocks})


def main(out: str = "runs/crane") -> None:
    ASSETS.mkdir(parents=True, exist_ok=True)
    ranks = train_bpe(map(crane.story, range(STORIES)), GPT2Config.preset("crane").vocab_size)
    save_ranks(ranks, ASSETS / "crane.tiktoken")
    if (found := file_sha256(ASSETS / "crane.tiktoken")) != _RANKS["crane"][1]:
        sys.exit(
            "The grammar has changed, and its tokenizer with it. Put the new hash in the place of "
            f"the old one in gpt2_edu/tokenizer.py, then run this again:\n{found}"
        )
    watch = Watch()
    summary = train_crane("shipped", out, on_log=watch)
    exported = Path(out) / "exported"
    shutil.rmtree(exported, ignore_errors=True)
    export(ExportOptions(run=f"{out}/run", out=str(exported), which="last", dtype="float16"))
    for name in ("config.json", "model.safetensors"):
        shutil.copy(exported / name, ASSETS / name)
    shutil.copy(Path(out) / "run" / "log.jsonl", ASSETS / "log.jsonl")
    write_json(ASSETS / "snapshots.json", watch.as_dict())
    found = {
        "recipe": asdict(RECIPES["shipped"]) | {"seed": 0},
        "seconds": summary.seconds,
        "machine": {
            "processor": cpu_name(),
            "threads": torch.get_num_threads(),
            "python": platform.python_version(),
            "torch": torch.__version__,
        },
        **measure(GPT2.from_pretrained("crane")),
    }
    write_json(ASSETS / "measures.json", rounded(found), indent=1)
    write_units(GPT2.from_pretrained("crane"))
    (ASSETS / "README.md").write_text(card(rounded(found)), encoding="utf-8")


def card(found: dict[str, Any]) -> str:
    """The model card, from the content of measures.json."""
    config = GPT2Config.preset("crane")
    return f"""{_description(found, config)}
## Metrics

{_metrics(found["metrics"])}
{_heads(found)}
## Limits

It knows {config.vocab_size:,} tokens, about six hundred words and nothing of the world. Outside of
its stories it babbles. Its people have two pronouns and no lives.

## Licence

MIT, like the package. The stories and the weights are made by the package itself.
"""


def _description(found: dict[str, Any], config: GPT2Config) -> str:
    recipe, machine = found["recipe"], found["machine"]
    settings = ", ".join(f"{name}={value}" for name, value in recipe["settings"].items())
    return f"""# The model of Crane World

A GPT-2 with {GPT2(config).num_parameters():,} parameters ({config.n_layer} layers of
{config.n_head} heads, width {config.n_embd}, window {config.block_size}, vocabulary
{config.vocab_size:,}), trained on stories of Crane World, a small language whose grammar is part
of this package (`gpt2_edu/crane/grammar.md`). `GPT2.from_pretrained("crane")` loads it without a
network. It is meant for learning: small enough to look into, and its every guess can be checked.

- **Data**: {recipe["stories"]:,} stories, of the seeds from 0 on, written by the grammar; none of
  them is anybody's text.
- **Command**: `make crane`, which runs the recipe "shipped" with seed {recipe["seed"]}:
  {settings}.
- **Machine**: {machine["processor"]}, {machine["threads"]} threads, torch {machine["torch"]},
  {found["seconds"] / 60:.0f} minutes. The same command gives the same weights on the same machine,
  and on another one a model of the same quality.
- **Files**: `model.safetensors` (float16, the layout of Hugging Face), `config.json`,
  `crane.tiktoken` (the byte-pair ranks, trained on the first {STORIES:,} stories), `log.jsonl`
  (the whole run), `snapshots.json` (attention and samples at {len(SNAPSHOTS)} steps),
  `measures.json` (all figures below, and more).
"""


def _metrics(metrics: dict[str, Any]) -> str:
    check, samples, choices = metrics["validation"], metrics["samples"], metrics["forced_choice"]
    kinds = [kind.replace("_", " ") for kind in choices]
    every = [samples, *choices.values()]
    predictors = {"this model": choices, **metrics["baselines"]}
    by_predictor = [
        [name.replace("_", " "), *(percent(overall(grades[kind])) for kind in choices)]
        for name, grades in predictors.items()
    ]
    by_phenomenon = [
        [name, *(percent(kind["phenomena"].get(name, {}).get("share")) for kind in every)]
        for name in samples["phenomena"]
    ]
    return f"""\
Loss on {check["stories"]:,} new stories: {check["loss"]:.4f} nats per token. The grammar's own
entropy on the same stories, which no model can beat: {check["floor"]:.4f}. The gap:
{check["gap"]:.4f} ± {check["gap_error"]:.4f}.

Of {samples["stories"]["chances"]:,} stories written freely at temperature 1,
{percent(samples["stories"]["share"])} % are grammatical from the first word to the last.

The right continuation against a tempting wrong one, in per cent, for usual stories and for such as
training never shows (a homograph in a way of meeting it, a colour with a thing, a name in a plot):

{table(["who chooses", *kinds], by_predictor)}

By phenomenon, in per cent; the first column counts what the model's own stories get right:

{table(["phenomenon", "own stories", *kinds], by_phenomenon)}
"""


def _heads(found: dict[str, Any]) -> str:
    most = max(found["head_effects"]["heads"], key=lambda head: head["drops"]["sense"])
    hint = found["head_effects_by_hint"]
    needed = max(hint["heads"], key=lambda head: head["drops"]["sense"])
    others = max(drop for name, drop in needed["drops"].items() if name != "sense")
    hints = hint["intact"]["senses"]["crane"]["chances"]
    return f"""\
The head whose removal costs the senses most is head {most["head"]} of block {most["layer"]}, with
{most["drops"]["sense"]:.1f} points of all senses. Where a hint alone tells the sense of *crane*
("nothing but feathers and reeds, until the crane …", {hints} stories), it is head {needed["head"]}
of block {needed["layer"]}: without it {needed["drops"]["sense"]:.1f} points of *crane* are lost,
and at most {others:.1f} of anything else. `measures.json` has all heads.
"""


def table(header: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def overall(grades: dict[str, Any]) -> float:
    """The share of all choices that were right."""
    scores = grades["phenomena"].values()
    return sum(score["right"] for score in scores) / sum(score["chances"] for score in scores)


if __name__ == "__main__":
    main(*sys.argv[1:])
