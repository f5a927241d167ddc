"""Weights in and out: a folder with config.json and model.safetensors, by its path or a name."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ..machine.device import shapes_only
from ..machine.files import PART
from ..machine.messages import nearest
from .hub import PUBLISHED, fetch
from .hugging_face import (
    CONFIG,
    WEIGHTS,
    config_to_hugging_face,
    from_hugging_face,
    read_config,
    to_hugging_face,
)

if TYPE_CHECKING:  # model.py builds on this file
    from ..model import GPT2

Model = TypeVar("Model", bound="GPT2")
BUNDLED = {"crane": Path(__file__).parents[1] / "assets" / "crane"}  # weights in this package


def load_pretrained(name_or_path: str | PathLike[str], cls: type[Model]) -> Model:
    """A GPT-2 of class ``cls``, in float32 and eval mode, with the weights of a checkpoint.

    ``name_or_path`` is a folder, or "crane" for the small model of Crane World that is part of
    this package, or "gpt2", "gpt2-medium", "gpt2-large" or "gpt2-xl" for OpenAI's weights from the
    Hugging Face hub; a folder with such a name comes first. The sizes are those of its config.json.

    Raises FileNotFoundError if the folder or a file in it is missing or the hub cannot be reached,
    and ValueError if the config is not a GPT-2's, the file is damaged, or tensors are missing,
    unknown or of the wrong shape; then all of them are named together.
    """
    folder = locate(name_or_path)
    config = read_config(folder / CONFIG)
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
    folder = Path(path).expanduser()
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: save_pretrained needs a folder")
    if model.lm_head.weight is not model.wte.weight:
        raise ValueError(
            "lm_head.weight is no longer tied to transformer.wte.weight. A GPT-2 checkpoint holds "
            "one table for both, so saving would lose lm_head."
        )
    folder.mkdir(parents=True, exist_ok=True)
    config, weights = folder / (CONFIG + PART), folder / (WEIGHTS + PART)
    config.write_text(json.dumps(config_to_hugging_face(model.config), indent=2) + "\n")
    save_file(to_hugging_face(model.state_dict()), weights, metadata={"format": "pt"})
    shutil.copymode(config, weights)  # save_file lets nobody but the owner read
    os.replace(weights, folder / WEIGHTS)
    os.replace(config, folder / CONFIG)


def locate(name_or_path: str | PathLike[str]) -> Path:
    """The folder of a checkpoint, by path or name; one from the hub is fetched first."""
    folder = Path(name_or_path).expanduser()
    if folder.is_dir():
        missing = [name for name in (CONFIG, WEIGHTS) if not (folder / name).is_file()]
        if missing:
            held = sorted(path.name for path in folder.iterdir())[:8]
            raise FileNotFoundError(
                f"{folder} lacks {' and '.join(missing)}. It holds: {', '.join(held) or 'nothing'}."
            )
        return folder
    if isinstance(name_or_path, str) and name_or_path in BUNDLED:
        return BUNDLED[name_or_path]
    if isinstance(name_or_path, str) and name_or_path in PUBLISHED:
        return fetch(name_or_path)
    names = ""
    if folder.name == str(name_or_path):  # not a path: perhaps a mistyped name
        known = [*BUNDLED, *PUBLISHED]
        names = f" Or the name of published weights. {nearest(folder.name.lower(), known)}"
    raise FileNotFoundError(
        f"there is no folder {str(folder)!r}. Give the path of a folder with {CONFIG} and "
        f"{WEIGHTS}, such as one written by save_pretrained, ours or that of transformers.{names}"
    )


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
        raise ValueError(
            f"{path} cannot be read as safetensors ({error}). It is {path.stat().st_size:,} bytes; "
            "a download that was cut off looks like this. Fetch the file again."
        ) from error
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
        listed = "\n  ".join(problems)
        raise ValueError(f"{path} does not fit its config.json:\n  {listed}")
