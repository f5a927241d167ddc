"""``gpt2-edu export``: a trained model as a folder in Hugging Face's layout, or for pages."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import Literal

import torch

from ..machine.files import named_path
from ..machine.options import option
from ..models import load_model
from ..quantize import quantize
from ..tokenizer import VOCABULARY, load_encoding
from ..training.config import SETTINGS
from ..web import save_for_page
from . import command
from .generate import chosen_weights


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """Which weights to write where."""

    run: str = option("a run folder of gpt2-edu train, a checkpoint, or a file saved in a page")
    out: str = option("folder to write: new or empty; with --page a file NAME.safetensors")
    which: Literal["best", "last"] = option("of a run folder: which checkpoint", "best")
    dtype: Literal["float32", "float16", "bfloat16"] = option(
        "type of the stored weights", "float32"
    )
    bits: int | None = option("round the matrices to integers of 8 or 4 bits, see quantize", None)
    group: int | None = option("with --bits: columns that share a scale (default: a row)", None)
    page: bool = option(
        "write one file that every exhibit of the book takes, with the model's tokenizer in it",
        False,
    )
    tokenizer: str | None = option(
        "with --page: another tokenizer than the model's own, by name or file of ranks", None
    )


@command(
    "gpt2-edu export runs/first --out my-gpt2 --dtype float16",
    "gpt2-edu export gpt2 --out gpt2-int8 --bits 8",
    "gpt2-edu export runs/first --out mine.safetensors --page",
    "gpt2-edu export mine.safetensors --out mine",
    positional="run",
)
def export(options: ExportOptions) -> None:
    """Write a trained model as a folder that transformers and from_pretrained load.

    Its vocabulary goes with it.
    """
    out = named_path(options.out)
    if options.group is not None and options.bits is None:
        raise ValueError("--group is for rounding: say to how many --bits")
    if options.page and options.bits is not None:
        raise ValueError("--bits is for a folder: leave out --page")
    if options.page:
        if out.suffix != ".safetensors" or out.exists():
            raise ValueError(f"{out} is not a new file NAME.safetensors: name one with --out")
    elif options.tokenizer is not None:
        raise ValueError("--tokenizer is for --page: a folder has the model's own")
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"{out} is not an empty folder: name a new one with --out")
    if (out.parent.parent / SETTINGS).is_file() and out.parent.name == "checkpoints":
        raise ValueError(f"{out.parent} is for the run's own checkpoints: choose another --out")
    source = chosen_weights(options.run, options.which)
    model = load_model(source).to(getattr(torch, options.dtype))
    kind: str = options.dtype
    if options.page:
        save_for_page(model, load_encoding(options.tokenizer or source), out)
    else:
        if options.bits is not None:
            model = quantize(model, options.bits, options.group)
            kind = f"{options.bits} bits, {model.nbytes():,} bytes with scales in {options.dtype}"
        model.save_pretrained(out)
        for name in VOCABULARY:
            if (source / name).is_file():
                shutil.copyfile(source / name, out / name)
    shown = options.run if named_path(options.run).is_file() else source
    print(f"{shown} → {out}, {model.num_parameters():,} parameters in {kind}")
