"""Adapters on disk, in the format of Hugging Face's ``peft``: adapter_config.json and one file.

The file's names are those of the published model, after ``base_model.model.``: A and B of each map,
and the token embeddings if they are trained. Its header has the SHA-256 of the blocks that the
adapter was trained on, so that it is not put on another model; an adapter that peft saved has none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors.torch import load_file
from torch import Tensor

from .. import gpt2_weights
from ..language_model import LanguageModel
from ..machine.files import locked, named_path, read_object, write_text
from ..machine.messages import join_some, short_repr
from ..tokenizer import Encoding, header_texts, save_encoding
from ..weights import differences, misfits, not_finite, save_tensors
from .adapted import adapted
from .lora import LoraConfig, LoraLinear, adapters, add_lora

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
PREFIX, BASE = "base_model.model.", "gpt2-edu.base"
HEAD = f"{PREFIX}lm_head.weight"
BUNDLED = {"ask": Path(__file__).parents[1] / "assets" / "ask"}  # adapters in this package
TABLES = ("wte", "embed_tokens", "lm_head")  # of GPT-2, of Llama, and of both
M = TypeVar("M", bound=LanguageModel)

# What peft can do besides, with the values that mean that it does not.
_FIXED: dict[str, tuple[object, ...]] = {
    "peft_type": ("LORA",),
    "bias": ("none",),
    "use_dora": (False, None),
    "use_rslora": (False, None),
    "lora_bias": (False, None),
    "rank_pattern": ({}, None),
    "alpha_pattern": ({}, None),
    "layers_to_transform": (None, []),
    "exclude_modules": (None, []),
    "target_parameters": (None, []),
    "trainable_token_indices": (None, [], {}),
    "megatron_config": (None,),
}


def save_adapter(
    model: LanguageModel,
    folder: str | PathLike[str],
    name: str = "default",
    *,
    base: str = "",
    encoding: Encoding | None = None,
    dtype: torch.dtype = torch.float32,
) -> None:
    """Write an adapter of a model into a folder.

    ``base`` is the path or name of the model that it was trained on, ``encoding`` a tokenizer to
    lie beside it, such as one with roles, and ``dtype`` the type of the stored tensors. Raises
    ValueError if the model has no such adapter.
    """
    if name not in adapters(model):
        known = join_some(adapters(model)) or "none"
        raise ValueError(f"this model has no adapter {name!r}. It has: {known}")
    config, place = adapters(model)[name], named_path(folder)
    tensors = {key: t.detach().to("cpu", dtype) for key, t in stored_tensors(model, name).items()}
    tables = [key.split(".")[-2] for key in tensors if ".lora_" not in key]
    if tables and model.is_tied():  # peft ties the embeddings to a head that it is told of
        tensors[HEAD], tables = tensors[table_name(model)].clone(), ["lm_head"]
    settings = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": config.rank,
        "lora_alpha": config.alpha,
        "lora_dropout": 0.0,
        "target_modules": list(config.targets),
        "modules_to_save": tables or None,
        "ensure_weight_tying": bool(tables) and model.is_tied(),
        "fan_in_fan_out": model.layout is gpt2_weights,  # peft's base has W transposed
        "bias": "none",
        "inference_mode": True,
    }
    with locked(place, wait=60):
        save_tensors(tensors, place / WEIGHTS, {BASE: fingerprint(model)})
        write_text(place / CONFIG, json.dumps(settings, indent=2) + "\n")
        if encoding is not None:
            save_encoding(encoding, place)


def load_adapter(model: M, folder: str | PathLike[str], name: str = "default") -> M:
    """Add the adapter in a folder to a model, ready to learn, and use it. Returns the model.

    "ask" is the one in this package, with which the model of Crane World answers questions.
    Raises FileNotFoundError for a missing file and ValueError, before anything is changed, for one
    that is damaged, for what peft does besides LoRA, and for an adapter of another model.
    """
    model.can_learn()
    place = adapter_folder(folder)
    for file in (CONFIG, WEIGHTS):
        if not (place / file).is_file():
            raise FileNotFoundError(f"{place} holds no adapter: it lacks {file}")
    path, settings = place / WEIGHTS, read_object(place / CONFIG)
    config = lora_config(settings, place / CONFIG)
    if header_texts(path).get(BASE) not in (None, fingerprint(model)):
        base = short_repr(settings.get("base_model_name_or_path"))
        raise ValueError(
            f"{path} belongs to another model, named {base}: the weights of the blocks are not "
            "those that it was trained on"
        )
    try:
        blank = add_lora(type(model).blank(model.config), config)
    except ValueError as error:
        raise ValueError(f"{place / CONFIG} does not fit this model: {error}") from error
    found, expected = load_file(path), stored_tensors(blank, "default")
    if config.train_tables and model.is_tied():
        head, table = found.pop(HEAD, None), found.get(table_name(model))
        alike = head is None or table is None or head.equal(table)
        if not (alike and settings.get("ensure_weight_tying")):
            raise ValueError(f"{path} has a head of its own: here it is the token embeddings")
    problems = differences(found, expected, model.layout, tied=False)
    problems += [f"not finite: {key}" for key in not_finite(found)]
    if problems:
        these = join_some(problems, separator="\n  ")
        raise ValueError(f"{path} does not fit this model:\n  {these}")
    add_lora(model, config, name)
    with torch.no_grad():
        for key, parameter in stored_tensors(model, name).items():
            parameter.copy_(found[key])
    return model


def adapter_folder(name: str | PathLike[str]) -> Path:
    """The folder of an adapter, by its path or as the name of one in this package."""
    folder = named_path(name)
    return BUNDLED.get(str(name), folder) if not folder.exists() else folder


def lora_config(settings: Mapping[str, Any], path: Path) -> LoraConfig:
    """The same as a LoraConfig. Raises ValueError for what is not plain LoRA."""
    problems = misfits(settings, ("r", "lora_alpha", "target_modules"), _FIXED)
    names, tables = settings.get("target_modules"), settings.get("modules_to_save") or []
    if not isinstance(names, list):
        problems.append(f"target_modules is {short_repr(names)}, not a list of names")
    if not isinstance(tables, list) or not all(str(one).endswith(TABLES) for one in tables):
        problems.append(f"modules_to_save is {short_repr(tables)}, not the token embeddings")
    try:
        if not problems:
            return LoraConfig(
                rank=settings["r"],
                alpha=settings["lora_alpha"],
                targets=tuple(names or ()),
                train_tables=bool(tables),
            )
    except (TypeError, ValueError) as error:
        problems.append(str(error))
    raise ValueError(f"{path} does not describe LoRA as it is here: {'; '.join(problems)}")


def stored_tensors(model: LanguageModel, name: str) -> dict[str, Tensor]:
    """The parameters of an adapter under peft's names."""
    found: dict[str, Tensor] = {}
    for at, module in adapted(model).items():
        place = PREFIX + published_name(model, at)
        if not isinstance(module, LoraLinear):
            if name in module.tables and not (at == "lm_head" and model.is_tied()):
                found[f"{place}.weight"] = module.tables[name]
        elif name in module.configs:
            found[f"{place}.lora_A.weight"] = module.lora_A[name]
            found[f"{place}.lora_B.weight"] = module.lora_B[name]
    return found


def published_name(model: LanguageModel, at: str) -> str:
    """What Hugging Face calls a module of ours."""
    if at == "lm_head":
        return at
    (key,) = model.layout.to_hugging_face({f"{at}.weight": torch.empty(0, 0)})
    return str(key).removesuffix(".weight")


def table_name(model: LanguageModel) -> str:
    """What peft calls the token embeddings."""
    return f"{PREFIX}{published_name(model, 'transformer.wte')}.weight"


def fingerprint(model: LanguageModel) -> str:
    """The SHA-256 of the blocks of a model below its adapters, in float32."""
    digest, state = hashlib.sha256(), model.state_dict()
    for at in sorted(type(model).blank(model.config).state_dict()):
        if at.startswith("transformer.h."):
            digest.update(f"{at} {tuple(state[at].shape)}\n".encode())
            digest.update(state[at].float().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
