"""``gpt2-edu crane``: a model of Crane World, trained from nothing and evaluated."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal

from ..analysis import evals
from ..machine.options import option
from ..model import GPT2
from ..tokenizer import load_tokenizer
from ..training.recipes import train_crane
from . import STOPPED, command


@dataclass(frozen=True, kw_only=True)
class CraneOptions:
    """Which run, and where."""

    out: str = option("folder for the stories and the run: new or empty")
    recipe: Literal["laptop", "shipped"] = option(
        "some three minutes on two cores, or the model that ships with this package", "laptop"
    )
    seed: int = option("number from which weights and order of the stories follow", 0)
    device: str = option("auto, cpu, cuda, cuda:1 or mps", "auto")
    samples: int = option("stories that the trained model writes for its marks; 0: no marks", 300)
    quiet: bool = option("show no progress bar and no samples", False)


@command("gpt2-edu crane --out runs/laptop", "gpt2-edu crane --out runs/crane --recipe shipped")
def crane(options: CraneOptions) -> None:
    """Train a model on Crane World from nothing, and mark what it writes."""
    if options.samples < 0:
        raise ValueError(f"--samples must be at least 0, got {options.samples}")
    done = train_crane(
        options.recipe, options.out, seed=options.seed, device=options.device, quiet=options.quiet
    )
    if not done.finished:
        sys.exit(STOPPED)
    print(f"{done.step} steps in {done.seconds:,.0f} s. The weights: {done.checkpoint}")
    if options.samples:
        model, tokenizer = GPT2.from_pretrained(done.checkpoint), load_tokenizer("crane")
        print(evals.validation(model, tokenizer, max(options.samples, 2)))
        print(evals.grade(evals.sample_stories(model, tokenizer, options.samples)))
        safer = evals.sample_stories(model, tokenizer, options.samples, top_p=0.99)
        share = evals.grade(safer).stories.share
        print(f"Without the least likely hundredth of each guess (top_p=0.99): {share:.1%}")
    print(f'Let it write: gpt2-edu generate "A crane" --model {options.out}/run')
