"""``gpt2-edu export``: a trained model as a folder in Hugging Face's layout, or for pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from ..machine.files import named_path
from ..machine.options import option
from ..model import GPT2
from ..tokenizer import load_tokenizer, tokenizer_name
from ..training.checkpoint import model_folder
from ..training.config import SETTINGS
from ..web import save_for_page
from . import command


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """Which weights to write where."""

    run: str = option("a run folder of gpt2-edu train, or one of its checkpoints")
    out: str = option("folder to write: new or empty; with --page a file NAME.safetensors")
    which: Literal["best", "last"] = option("of a run folder: which checkpoint", "best")
    dtype: Literal["float32", "float16", "bfloat16"] = option(
        "type of the stored weights", "float32"
    )
    page: bool = option(
        "write one file that every exhibit of the book takes, with the model's tokenizer in it",
        False,
    )
    tokenizer: str | None = option(
        "with --page: the tokenizer of the model; if not given, the one of its size", None
    )


@command(
    "gpt2-edu export runs/first --out my-gpt2 --dtype float16",
    "gpt2-edu export runs/first --out mine.safetensors --page",
    positional="run",
)
def export(options: ExportOptions) -> None:
    """Write a trained model as a folder that transformers and from_pretrained load."""
    out = named_path(options.out)
    if options.page:
        if out.suffix != ".safetensors" or out.exists():
            raise ValueError(f"{out} is not a new file NAME.safetensors: name one with --out")
    elif options.tokenizer is not None:
        raise ValueError("--tokenizer is for --page: a folder holds a model without its tokenizer")
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"{out} is not an empty folder: name a new one with --out")
    if (out.parent.parent / SETTINGS).is_file() and out.parent.name == "checkpoints":
        raise ValueError(f"{out.parent} is for the run's own checkpoints: choose another --out")
    source = model_folder(options.run, options.which)
    model = GPT2.from_pretrained(source).to(getattr(torch, options.dtype))
    if options.page:
        name = options.tokenizer or tokenizer_name(model.config.vocab_size)
        save_for_page(model, load_tokenizer(name), out)
    else:
        model.save_pretrained(out)
    print(f"{source} → {out}, {model.num_parameters():,} parameters in {options.dtype}")
