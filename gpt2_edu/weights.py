"""Models on disk, in Hugging Face's form: names and layouts of the tensors, load and save.

A ``Layout`` says how a family of models is kept; this file has GPT-2's, llama_weights.py Llama's.
In GPT-2's files two things differ from our modules. The four projections of a block are stored as
``Conv1D``, (in, out), where ``nn.Linear`` keeps (out, in), so they are transposed. And some files
carry the causal mask as a buffer, which we compute. The tied lm_head is stored once, as wte.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

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

INDEX = WEIGHTS + ".index.json"  # of weights in several files
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


@dataclass(frozen=True)
class Layout:
    """How a family of models is kept on disk."""

    family: str  # in messages
    read_config: Callable[[Mapping[str, Any]], Any]  # of config.json; ValueError for another model
    write_config: Callable[[Any], dict[str, object]]
    read: Callable[[Mapping[str, Tensor]], dict[str, Tensor]]  # tensors of a file, in our layout
    write: Callable[[Mapping[str, Tensor]], dict[str, Tensor]]


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


def config_from_hugging_face(stored: Mapping[str, Any]) -> GPT2Config:
    """The sizes in a config.json; ValueError for settings that GPT-2 does not have."""
    problems = [f"{name} is missing" for name in (*_SIZES, "n_positions") if name not in stored]
    for name, allowed in _GPT2_ONLY.items():
        if stored.get(name, allowed[0]) not in allowed:
            problems.append(f"{name} is {short_repr(stored[name])}, GPT-2 has {allowed[0]!r}")
    inner, width = stored.get("n_inner"), stored.get("n_embd", 0)
    if inner is not None and not (isinstance(width, int) and inner == 4 * width):
        problems.append(f"n_inner is {short_repr(inner)}, GPT-2 has 4 · n_embd")
    if problems:
        raise ValueError("; ".join(problems))
    return GPT2Config(
        block_size=stored["n_positions"],
        **{name: stored[name] for name in _SIZES + _RATES if name in stored},
    )


GPT2_LAYOUT = Layout(
    "GPT-2",
    config_from_hugging_face,
    config_to_hugging_face,
    from_hugging_face,
    to_hugging_face,
)


def read_config(path: Path, layout: Layout = GPT2_LAYOUT) -> Any:
    """The sizes in a config.json; ValueError for settings that the family does not have."""
    stored = read_json(path)
    if not isinstance(stored, dict):
        raise ValueError(f"{path} must hold a JSON object, got {type(stored).__name__}")
    try:
        return layout.read_config(stored)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} does not describe a {layout.family}: {error}") from error


# ---- Folders -----------------------------------------------------------------------------------


def save(
    config: Any,
    state: Mapping[str, Tensor],
    path: str | PathLike[str],
    layout: Layout = GPT2_LAYOUT,
) -> None:
    """Write a state dict and its config as the folder that ``transformers`` reads.

    Each file is renamed to its final name when it is complete, so an interrupted save leaves the
    old file as it was. Raises ValueError if the path is a file.
    """
    folder = named_path(path)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: save_pretrained needs a folder")
    settings = json.dumps(layout.write_config(config), indent=2) + "\n"
    with locked(folder, wait=60):
        save_tensors(layout.write(state), folder / WEIGHTS)
        (folder / INDEX).unlink(missing_ok=True)  # of a model that was here before
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
        weights = INDEX if (folder / INDEX).is_file() else WEIGHTS
        missing = [name for name in (CONFIG, weights) if not (folder / name).is_file()]
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


def read_weights(
    folder: Path, expected: Mapping[str, Tensor], layout: Layout = GPT2_LAYOUT, tied: bool = True
) -> dict[str, Tensor]:
    """The tensors of a folder's safetensors files in our layout, floats as float32.

    ``expected`` has the names and shapes that the config asks for; ``tied`` says whether the head
    is the table of token embeddings. Files are memory-mapped and their tensors copied one at a
    time: the weights are in memory once, and later changes of the files cannot reach them.
    """
    state: dict[str, Tensor] = {}
    files = weight_files(folder)
    for path in files:
        try:
            with safe_open(path, framework="pt") as file:
                for key in file.keys():
                    for name, value in layout.read({key: file.get_tensor(key)}).items():
                        state[name] = value.float() if value.is_floating_point() else value
        except (SafetensorError, OSError) as error:
            raise ValueError(
                f"{path} cannot be read as safetensors ({escape_control(str(error))}). It is "
                f"{path.stat().st_size:,} bytes; a download that was cut off looks like this. "
                "Fetch the file again."
            ) from error

    problems = differences(state, expected, layout, tied)
    head, path = state.get("lm_head.weight"), files[0] if len(files) == 1 else folder
    if tied and head is not None and not problems:
        if not head.equal(state["transformer.wte.weight"]):
            problems.append(
                f"lm_head.weight differs from transformer.wte.weight; {layout.family} ties them"
            )
    if problems:
        these = join_some(problems, most=20, separator="\n  ")
        raise ValueError(f"{path} does not fit its {CONFIG}:\n  {these}")
    if bad := not_finite(state):
        raise ValueError(f"{path} contains non-finite values in {join_some(bad)}")
    if tied:
        state["lm_head.weight"] = state["transformer.wte.weight"]
    return state


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of a folder: one, or those that its index lists.

    Raises FileNotFoundError if one of several is missing, ValueError for an index of another form.
    """
    if not (folder / INDEX).is_file():
        return [folder / WEIGHTS]
    index = read_json(folder / INDEX)
    listed = index.get("weight_map") if isinstance(index, dict) else None
    files = list(listed.values()) if isinstance(listed, dict) else []
    if not files or any(not isinstance(name, str) or name != Path(name).name for name in files):
        raise ValueError(f"{folder / INDEX} must map tensors to files of its folder")
    names = sorted({*files})
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise FileNotFoundError(
            f"{folder} lacks {join_some(missing)}: {len(names) - len(missing)} of the {len(names)} "
            f"files that its {INDEX} lists are there. Fetch the others, too."
        )
    return [folder / name for name in names]


def differences(
    state: Mapping[str, Tensor],
    expected: Mapping[str, Tensor],
    layout: Layout = GPT2_LAYOUT,
    tied: bool = True,
) -> list[str]:
    """Where a state dict differs from the expected one in names, shapes and kinds of numbers."""
    known = {*state, "lm_head.weight"} if tied else {*state}
    problems = [f"missing: {key}" for key in expected if key not in known]
    problems += [f"not part of a {layout.family}: {key}" for key in state if key not in expected]
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
