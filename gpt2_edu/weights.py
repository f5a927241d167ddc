"""Models on disk, in Hugging Face's form: load and save.

How the files of a family differ from our modules is in a module of its own, its ``layout``:
gpt2_weights.py or llama_weights.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from .checkpoints import weights_folder
from .hub import CONFIG as CONFIG
from .hub import INDEX as INDEX
from .hub import NAME, PUBLISHED, fetch, fetch_repository, indexed
from .hub import WEIGHTS as WEIGHTS
from .machine.files import atomic_write, locked, named_path, read_object, write_text
from .machine.messages import escape_control, join_some, nearest, short_repr
from .page_file import unpacked

ASSETS = Path(__file__).parent / "assets"
BUNDLED = {name: ASSETS / name for name in ("crane", "draft", "novice")}  # weights in this package


def read_config(path: Path, layout: ModuleType) -> Any:
    """The sizes in a config.json; ValueError for settings that the family does not have."""
    stored = read_object(path)
    try:
        return layout.config_from_hugging_face(stored)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} does not describe a {layout.FAMILY}: {error}") from error


def misfits(
    stored: Mapping[str, Any], needed: Iterable[str], fixed: Mapping[str, tuple[object, ...]]
) -> list[str]:
    """The settings that a config.json lacks, and those with a value that the family never has."""
    problems = [f"{name} is missing" for name in needed if name not in stored]
    for name, allowed in fixed.items():
        if stored.get(name, allowed[0]) not in allowed:
            problems.append(f"{name} is {short_repr(stored[name])}, not {allowed[0]!r}")
    return problems


# ---- Folders -----------------------------------------------------------------------------------


def save(
    config: Any,
    state: Mapping[str, Tensor],
    path: str | PathLike[str],
    layout: ModuleType,
    more: Mapping[str, object] | None = None,
) -> None:
    """Write a state dict and its config as the folder that ``transformers`` reads.

    ``more`` joins the settings of the config. Each file is renamed to its final name when it is
    complete, so an interrupted save leaves the old file as it was. Raises ValueError if the path
    is a file.
    """
    folder = named_path(path)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: save_pretrained needs a folder")
    described = layout.config_to_hugging_face(config) | dict(more or {})
    settings = json.dumps(described, indent=2) + "\n"
    with locked(folder, wait=60):
        save_tensors(layout.to_hugging_face(state), folder / WEIGHTS)
        (folder / INDEX).unlink(missing_ok=True)  # of a model that was here before
        write_text(folder / CONFIG, settings)


def save_tensors(
    tensors: Mapping[str, Tensor], path: Path, metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors to a safetensors file, whole or not at all."""
    with atomic_write(path) as part:
        save_file(dict(tensors), part, metadata={"format": "pt"} | dict(metadata or {}))


def locate(
    name_or_path: str | PathLike[str],
    which: Literal["best", "last"] = "best",
    *,
    check: Callable[[Path], object] = lambda config: None,
) -> Path:
    """The folder of a model's files, by path or name; one from the hub is fetched first.

    Of a run's folder, the checkpoint with the lowest validation loss, or the last; of one file
    with its config in the header, a temporary folder. Of a repository on the hub ``check`` gets
    the config.json, and may raise before the weights are fetched.
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
    if folder.suffix == ".safetensors":
        return unpacked(folder)
    if isinstance(name_or_path, str) and name_or_path in BUNDLED:
        return BUNDLED[name_or_path]
    if isinstance(name_or_path, str) and name_or_path in PUBLISHED:
        return fetch(name_or_path)
    on_hub = isinstance(name_or_path, str) and NAME.fullmatch(name_or_path)
    if on_hub and not folder.parent.is_dir():
        name = str(name_or_path)
        pinned = [short for short in PUBLISHED if PUBLISHED[short].repo == name]
        return fetch(pinned[0]) if pinned else fetch_repository(name, check)
    names, known = "", [*BUNDLED, *PUBLISHED]
    # Not a path: perhaps a mistyped name, or the one that it has on the hub.
    if folder.name == str(name_or_path) or folder.name in PUBLISHED:
        names = f" Or the name of published weights. {nearest(folder.name.lower(), known)}"
    raise FileNotFoundError(
        f"there is no folder {str(folder)!r}. Give the path of a folder with {CONFIG} and "
        f"{WEIGHTS}, such as one written by save_pretrained, ours or that of transformers.{names}"
    )


def read_weights(
    folder: Path, expected: Mapping[str, Tensor], layout: ModuleType, tied: bool
) -> dict[str, Tensor]:
    """The tensors of a folder's safetensors files in our layout, floats as float32.

    ``expected`` has the names and shapes that the config asks for, and its types of integers;
    ``tied`` says whether the head is the table of token embeddings. Files are memory-mapped and
    their tensors copied one at a time: the weights are in memory once, and later changes of the
    files cannot reach them.
    """
    state: dict[str, Tensor] = {}
    files = weight_files(folder)
    for path in files:
        try:
            with safe_open(path, framework="pt") as file:
                for key in file.keys():
                    read = layout.from_hugging_face({key: file.get_tensor(key)})
                    for name, value in read.items():
                        state[name] = value.float() if value.is_floating_point() else value
        except (SafetensorError, OSError) as error:
            raise ValueError(
                f"{path} cannot be read as safetensors ({escape_control(str(error))}). It is "
                f"{path.stat().st_size:,} bytes; a download that was cut off looks like this. "
                "Fetch the file again."
            ) from error

    problems = differences(state, expected, layout, tied)
    path = files[0] if len(files) == 1 else folder
    heads = {key: table_of(key) for key in expected if tied and key.startswith("lm_head.")}
    if not problems:
        problems += [
            f"{head} differs from {table}; {layout.FAMILY} ties them"
            for head, table in heads.items()
            if head in state and not state[head].equal(state[table])
        ]
    if problems:
        these = join_some(problems, most=20, separator="\n  ")
        raise ValueError(f"{path} does not fit its {CONFIG}:\n  {these}")
    if bad := not_finite(state):
        raise ValueError(f"{path} contains non-finite values in {join_some(bad)}")
    return state | {head: state[table] for head, table in heads.items()}


def table_of(head: str) -> str:
    """The name that a tensor of lm_head has among the token embeddings."""
    return head.replace("lm_head.", "transformer.wte.")


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of a folder: one, or those that its index lists.

    Raises FileNotFoundError if one of several is missing, ValueError for an index of another form.
    """
    if not (folder / INDEX).is_file():
        return [folder / WEIGHTS]
    names = indexed(folder)
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
    layout: ModuleType,
    tied: bool,
) -> list[str]:
    """Where a state dict differs from the expected one in names, shapes and kinds of numbers."""
    problems = [
        f"missing: {key}"
        for key in expected
        if key not in state and not (tied and key.startswith("lm_head."))
    ]
    problems += [f"not part of a {layout.FAMILY}: {key}" for key in state if key not in expected]
    for key, value in state.items():
        if key in expected and value.shape != expected[key].shape:
            problems.append(
                f"wrong shape: {key} is {tuple(value.shape)}, "
                f"the config asks for {tuple(expected[key].shape)}"
            )
        elif key in expected and kind(value) != (wanted := kind(expected[key])):
            problems.append(f"wrong type: {key} holds {value.dtype}, not {wanted}")
    return problems


def kind(tensor: Tensor) -> str:
    """What a tensor holds: floats of any precision, or its type."""
    return "floats" if tensor.is_floating_point() else str(tensor.dtype)


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
