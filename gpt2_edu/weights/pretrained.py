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
from typing import TYPE_CHECKING, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ..config import GPT2Config
from ..machine.device import shapes_only
from ..machine.files import locked, whole_file, write_text
from ..machine.messages import nearest
from ..machine.outside import listed, printable, read_json, shown
from .hub import CONFIG, PUBLISHED, WEIGHTS, fetch

if TYPE_CHECKING:  # model.py builds on this file
    from ..model import GPT2

Model = TypeVar("Model", bound="GPT2")
BUNDLED = {"crane": Path(__file__).parents[1] / "assets" / "crane"}  # weights in this package

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
    """The sizes in a config.json; ValueError if it asks for what GPT-2 as published does not do."""
    stored = read_json(path)
    if not isinstance(stored, dict):
        raise ValueError(f"{path} must hold a JSON object, got {type(stored).__name__}")

    problems = [f"{name} is missing" for name in (*_SIZES, "n_positions") if name not in stored]
    for name, allowed in _GPT2_ONLY.items():
        if stored.get(name, allowed[0]) not in allowed:
            problems.append(f"{name} is {shown(stored[name])}, GPT-2 has {allowed[0]!r}")
    inner, width = stored.get("n_inner"), stored.get("n_embd", 0)
    if inner is not None and not (isinstance(width, int) and inner == 4 * width):
        problems.append(f"n_inner is {shown(inner)}, GPT-2 has 4 · n_embd")
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


def load_pretrained(name_or_path: str | PathLike[str], cls: type[Model]) -> Model:
    """A GPT-2 of class ``cls``, in float32 and eval mode, with the weights of a checkpoint.

    ``name_or_path`` is a folder, or "crane" for the small model of Crane World that is part of
    this package, or "gpt2", "gpt2-medium", "gpt2-large" or "gpt2-xl" for OpenAI's weights from the
    Hugging Face hub; a folder with such a name comes first. The sizes are those of its config.json.

    Raises FileNotFoundError if the folder or a file in it is missing or the hub cannot be reached,
    and ValueError if the config is not a GPT-2's, the file is damaged, or tensors are missing,
    unknown, of the wrong shape or not finite; then they are named together.
    """
    folder = locate(name_or_path)
    config = read_config(folder / CONFIG)
    _check_sizes(folder, config)  # before anything of the sizes that it claims is made
    with shapes_only():  # the numbers come from the file
        model = cls(config)
    state = _read_weights(folder / WEIGHTS)
    _check_state(state, model.state_dict(), folder / WEIGHTS)
    state["lm_head.weight"] = state["transformer.wte.weight"]
    model.load_state_dict(state, assign=True)
    model.tie_weights()  # assign made two parameters of the table
    return model.eval()


def save_pretrained(model: GPT2, path: str | PathLike[str]) -> None:
    """Write the folder that ``load_pretrained`` and ``transformers`` read.

    Each file is renamed to its final name when it is complete, so an interrupted save leaves the
    old file as it was. Raises ValueError if the path is a file or lm_head is no longer tied to wte.
    """
    folder = named_path(path)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: save_pretrained needs a folder")
    if model.lm_head.weight is not model.wte.weight:
        raise ValueError(
            "lm_head.weight is no longer tied to transformer.wte.weight. A GPT-2 checkpoint holds "
            "one table for both, so saving would lose lm_head."
        )
    config = json.dumps(config_to_hugging_face(model.config), indent=2) + "\n"
    with locked(folder, wait=60):
        save_tensors(to_hugging_face(model.state_dict()), folder / WEIGHTS)
        write_text(folder / CONFIG, config)


def save_tensors(
    tensors: Mapping[str, Tensor], path: Path, metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors to a safetensors file, whole or not at all."""
    with whole_file(path) as part:
        save_file(dict(tensors), part, metadata={"format": "pt"} | dict(metadata or {}))


def locate(name_or_path: str | PathLike[str]) -> Path:
    """The folder of a checkpoint, by path or name; one from the hub is fetched first."""
    folder = named_path(name_or_path)
    if folder.is_dir():
        missing = [name for name in (CONFIG, WEIGHTS) if not (folder / name).is_file()]
        if missing:
            held = listed(sorted(path.name for path in folder.iterdir()))
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


def named_path(path: str | PathLike[str]) -> Path:
    """A path that somebody gave. Raises TypeError for what is none, ValueError for no name."""
    if not isinstance(path, str | PathLike):
        raise TypeError(f"a path must be a str or a Path, got {shown(path)}")
    if not str(path) or "\0" in str(path):
        raise ValueError(f"{shown(str(path))} names no file or folder; the current folder is '.'")
    return Path(path).expanduser()


def _check_sizes(folder: Path, config: GPT2Config) -> None:
    """Refuse a config whose sizes are far beyond what the file beside it holds.

    The header of the weights is small, and safetensors compares it with the file's length.
    """
    path = folder / WEIGHTS
    try:
        with safe_open(path, framework="pt") as file:
            tensors = len(file.keys())
    except (SafetensorError, OSError) as error:
        raise _unreadable(path, error) from error
    size = path.stat().st_size
    tables = (config.vocab_size + config.block_size) * config.n_embd  # numbers, of a byte or more
    if config.n_layer > tensors or tables > size:
        claimed = ", ".join(f"{name}={getattr(config, name):,}" for name in (*_SIZES, "block_size"))
        raise ValueError(
            f"{path} does not fit its {CONFIG}, which claims {claimed}: it holds {tensors:,} "
            f"tensors in {size:,} bytes"
        )


def _unreadable(path: Path, error: Exception) -> ValueError:
    return ValueError(
        f"{path} cannot be read as safetensors ({printable(str(error))}). It is "
        f"{path.stat().st_size:,} bytes; a download that was cut off looks like this. Fetch the "
        "file again."
    )


def require_finite(state: Mapping[str, Tensor], what: str) -> None:
    """Raise ValueError, naming the tensors, if a number in them is infinite or none."""
    bad = [
        name
        for name, value in state.items()
        # A finite sum has finite terms, and is faster to see.
        if value.is_floating_point() and not value.sum().isfinite() and not value.isfinite().all()
    ]
    if bad:
        raise ValueError(f"{what} are not all finite numbers: look at {listed(bad)}")


def _read_weights(path: Path) -> dict[str, Tensor]:
    """The file's tensors in our layout, floats as float32.

    The file is memory-mapped and its tensors are copied one at a time: the weights are in memory
    once, and later changes of the file cannot reach them.
    """
    state: dict[str, Tensor] = {}
    try:
        with safe_open(path, framework="pt") as file:
            for key in file.keys():
                for name, value in from_hugging_face({key: file.get_tensor(key)}).items():
                    state[name] = value.float() if value.is_floating_point() else value
    except (SafetensorError, OSError) as error:
        raise _unreadable(path, error) from error
    return state


def _check_state(state: Mapping[str, Tensor], expected: Mapping[str, Tensor], path: Path) -> None:
    """Compare names and shapes with the model's and report every difference at once."""
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
    head = state.get("lm_head.weight")
    if not problems and head is not None and not head.equal(state["transformer.wte.weight"]):
        problems.append("lm_head.weight differs from transformer.wte.weight; GPT-2 ties them")
    if problems:
        these = listed(problems, most=20, separator="\n  ")
        raise ValueError(f"{path} does not fit its config.json:\n  {these}")
    require_finite(state, f"the weights in {path}")
