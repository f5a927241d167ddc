"""``gpt2-edu export``: a trained model as a folder in Hugging Face's layout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from ..machine.options import option
from ..model import GPT2
from ..training.checkpoint import model_folder
from . import command


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """Which weights to write where."""

    run: str = option("a run folder of gpt2-edu train, or one of its checkpoints")
    out: str = option("folder to write: new or empty")
    which: Literal["best", "last"] = option("of a run folder: which checkpoint", "best")
    dtype: Literal["float32", "float16", "bfloat16"] = option(
        "type of the stored weights", "float32"
    )


@command("gpt2-edu export runs/first --out my-gpt2 --dtype float16", positional="run")
def export(options: ExportOptions) -> None:
    """Write a trained model as a folder that transformers and from_pretrained load."""
    out = Path(options.out).expanduser()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"{out} is not an empty folder: name a new one with --out")
    source = model_folder(options.run, options.which)
    model = GPT2.from_pretrained(source).to(getattr(torch, options.dtype))
    model.save_pretrained(out)
    print(f"{source} → {out}, {model.num_parameters():,} parameters in {options.dtype}")
