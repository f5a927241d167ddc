"""A GPT-2 on disk, in Hugging Face's form: names and layouts of the tensors, load and save.

Two things differ from our modules. The four projections of a block are stored as ``Conv1D``,
(in, out), where ``nn.Linear`` keeps (out, in), so they are transposed. And some files carry the
causal mask as a buffer, which we compute. The tied lm_head is stored once, as wte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from .checkpoints import weights_folder
from .config import GPT2Config
from .hub import CONFIG as CONFIG
from .hub import PUBLISHED, fetch
from .hub import WEIGHTS as WEIGHTS
from .machine.files import atomic_write, locked, named_path, read_json, write_text
from .machine.messages import escape_control, join_some, nearest, short_repr

BUNDLED = {"crane": Path(__file__).parent / "assets" / "crane"}  # weights in this package

_CONV1D = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")
_MASK_BUFFERS = (".attn.bias", ".attn.masked_bias")
_SIZES = ("vocab_size", "n_layer", "n_head", "n_embd")
_RATES = ("embd_pdrop", "attn_pdrop", "resid_pdrop", "layer_norm_epsilon", "initializer_range")

# Settings of a Hugging Face config that GPT-2 as published fixes, with the values that mean it.
_GPT2_ONLY: dict[str, tuple[object, ...]] = {
    "model_type": ("gpt2",),
    "activation_function": ("gelu_new", "gelu_pytorch_tanh"),
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "add_cross_attention": (False,),
    "tie_word_embeddings": (True,),
}


def to_hugging_face(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Our state dict in Hugging Face's layout: Conv1D transposed, the tied lm_head left out."""
    return {
        key: (value.t() if key.endswith(_CONV1D) else value).contiguous()
        for key, value in state.items()
        if key != "lm_head.weight"
    }


def from_hugging_face(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Hugging Face's layout in ours, copied. OpenAI's files leave out ``transformer.``."""
    ours = {}
    for key, value in state.items():
        if key.endswith(_MASK_BUFFERS):
            continue
        if not key.startswith(("transformer.", "lm_head.")):
            key = "transformer." + key
        is_conv1d = key.endswith(_CONV1D) and value.ndim == 2
        ours[key] = (value.t() if is_conv1d else value).clone(memory_format=torch.contiguous_format)
    return ours


def config_to_hugging_face(config: GPT2Config) -> dict[str, object]:
    """The settings of config.json, as ``transformers.GPT2Config`` reads them."""
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "activation_function": "gelu_new",
        "n_positions": config.block_size,
        "bos_token_id": config.vocab_size - 1,
        "eos_token_id": config.vocab_size - 1,
        **{name: getattr(config, name) for name in _SIZES + _RATES},
    }


def read_config(path: Path) -> GPT2Config:
    """The sizes in a config.json; ValueError for settings that GPT-2 does not have."""
    stored = read_json(path)
    if not isinstance(stored, dict):
        raise ValueError(f"{path} must hold a JSON object, got {type(stored).__name__}")

    problems = [f"{name} is missing" for name in (*_SIZES, "n_positions") if name not in stored]
    for name, allowed in _GPT2_ONLY.items():
        if stored.get(name, allowed[0]) not in allowed:
            problems.append(f"{name} is {short_repr(stored[name])}, GPT-2 has {allowed[0]!r}")
    inner, width = stored.get("n_inner"), stored.get("n_embd", 0)
    if inner is not None and not (isinstance(width, int) and inner == 4 * width):
        problems.append(f"n_inner is {short_repr(inner)}, GPT-2 has 4 · n_embd")
    if problems:
        raise ValueError(f"{path} does not describe a GPT-2: {'; '.join(problems)}")
    try:
        return GPT2Config(
            block_size=stored["n_positions"],
            **{name: stored[name] for name in _SIZES + _RATES if name in stored},
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} does not describe a GPT-2: {error}") from error


# ---- Folders -----------------------------------------------------------------------------------


def save(config: GPT2Config, state: Mapping[str, Tensor], path: str | PathLike[str]) -> None:
    """Write a state dict and its config as the folder that ``transformers`` reads.

    Each file is renamed to its final name when it is complete, so an interrupted save leaves the
    old file as it was. Raises ValueError if the path is a file.
    """
    folder = named_path(path)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: save_pretrained needs a folder")
    settings = json.dumps(config_to_hugging_face(config), indent=2) + "\n"
    with locked(folder, wait=60):
        save_tensors(to_hugging_face(state), folder / WEIGHTS)
        write_text(folder / CONFIG, settings)


def save_tensors(
    tensors: Mapping[str, Tensor], path: Path, metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors to a safetensors file, whole or not at all."""
    with atomic_write(path) as part:
        save_file(dict(tensors), part, metadata={"format": "pt"} | dict(metadata or {}))


def locate(name_or_path: str | PathLike[str], which: Literal["best", "last"] = "best") -> Path:
    """The folder of a model's files, by path or name; one from the hub is fetched first.

    Of a run's folder, the checkpoint with the lowest validation loss, or the last.
    """
    folder = named_path(name_or_path)
    if folder.is_dir():
        folder = weights_folder(folder, which)
        missing = [name for name in (CONFIG, WEIGHTS) if not (folder / name).is_file()]
        if missing:
            held = join_some(sorted(path.name for path in folder.iterdir()))
            raise FileNotFoundError(
                f"{folder} lacks {' and '.join(missing)}. It holds: {held or 'nothing'}."
            )
        return folder
    if isinstance(name_or_path, str) and name_or_path in BUNDLED:
        return BUNDLED[name_or_path]
    if isinstance(name_or_path, str) and name_or_path in PUBLISHED:
        return fetch(name_or_path)
    names, known = "", [*BUNDLED, *PUBLISHED]
    # Not a path: perhaps a mistyped name, or the one that it has on the hub.
    if folder.name == str(name_or_path) or folder.name in PUBLISHED:
        names = f" Or the name of published weights. {nearest(folder.name.lower(), known)}"
    raise FileNotFoundError(
        f"there is no folder {str(folder)!r}. Give the path of a folder with {CONFIG} and "
        f"{WEIGHTS}, such as one written by save_pretrained, ours or that of transformers.{names}"
    )


def read_weights(path: Path, expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a safetensors file in our layout, floats as float32.

    ``expected`` has the names and shapes that the config asks for. The file is memory-mapped and
    its tensors are copied one at a time: the weights are in memory once, and later changes of the
    file cannot reach them.
    """
    state: dict[str, Tensor] = {}
    try:
        with safe_open(path, framework="pt") as file:
            for key in file.keys():
                for name, value in from_hugging_face({key: file.get_tensor(key)}).items():
                    state[name] = value.float() if value.is_floating_point() else value
    except (SafetensorError, OSError) as error:
        raise ValueError(
            f"{path} cannot be read as safetensors ({escape_control(str(error))}). It is "
            f"{path.stat().st_size:,} bytes; a download that was cut off looks like this. Fetch "
            "the file again."
        ) from error

    problems = differences(state, expected)
    head = state.get("lm_head.weight")
    if not problems and head is not None and not head.equal(state["transformer.wte.weight"]):
        problems.append("lm_head.weight differs from transformer.wte.weight; GPT-2 ties them")
    if problems:
        these = join_some(problems, most=20, separator="\n  ")
        raise ValueError(f"{path} does not fit its {CONFIG}:\n  {these}")
    if bad := not_finite(state):
        raise ValueError(f"{path} holds numbers that are not finite: look at {join_some(bad)}")
    state["lm_head.weight"] = state["transformer.wte.weight"]
    return state


def differences(state: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> list[str]:
    """Where a state dict differs from the expected one in names, shapes and kinds of numbers."""
    problems = [f"missing: {key}" for key in expected if key not in {*state, "lm_head.weight"}]
    problems += [f"not part of a GPT-2: {key}" for key in state if key not in expected]
    for key, value in state.items():
        if key in expected and value.shape != expected[key].shape:
            problems.append(
                f"wrong shape: {key} is {tuple(value.shape)}, "
                f"the config asks for {tuple(expected[key].shape)}"
            )
        elif key in expected and not value.is_floating_point():
            problems.append(f"wrong type: {key} holds {value.dtype}, not floats")
    return problems


def not_finite(tensors: Mapping[str, Tensor]) -> list[str]:
    """The names of the tensors with an infinite entry or a NaN."""
    return [
        name
        for name, value in tensors.items()
        # A finite sum has finite terms, and is faster to compute.
        if value.is_floating_point()
        and not value.is_meta
        and not value.sum().isfinite()
        and not value.isfinite().all()
    ]
