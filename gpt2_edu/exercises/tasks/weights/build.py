"""Weights from a file."""

import re
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from .... import model
from ...comparing import Labelled, kind_of
from ...exercise import Case, Mistake
from ..gpt2.build import theirs

PARTS = ("load",)
IMPORTS = (
    "import json",
    "from pathlib import Path",
    "from safetensors.torch import load_file",
)

START = '''
def load(folder):
    """The model in a folder with config.json and model.safetensors."""
    config = json.loads((Path(folder) / "config.json").read_text())
    sizes = ("vocab_size", "n_positions", "n_layer", "n_head", "n_embd")
    # GPT2 is your own, from my_gpt2.py, so try load through build.
    model = GPT2(*(config[size] for size in sizes))
    tensors = {}
    for name, tensor in load_file(Path(folder) / "model.safetensors").items():
        ...  # its name in your model; transposed or not
        tensors[name] = tensor
    tensors["lm_head.weight"] = tensors["embeddings.wte.weight"]
    model.load_state_dict(tensors)
    return model
'''

SOLUTION = '''
def load(folder):
    """The model in a folder with config.json and model.safetensors."""
    config = json.loads((Path(folder) / "config.json").read_text())
    sizes = ("vocab_size", "n_positions", "n_layer", "n_head", "n_embd")
    model = GPT2(*(config[size] for size in sizes))
    tensors = {}
    for name, tensor in load_file(Path(folder) / "model.safetensors").items():
        name = name.removeprefix("transformer.")
        if name.endswith((".attn.bias", ".attn.masked_bias")):
            continue  # the mask, which older files contain
        if name.startswith(("wte", "wpe")):
            name = f"embeddings.{name}"
        if name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
            tensor = tensor.T  # stored as (in, out)
        tensors[name] = tensor
    tensors["lm_head.weight"] = tensors["embeddings.wte.weight"]
    model.load_state_dict(tensors)
    return model
'''


MISTAKES = (
    Mistake(
        "The names do not fit yet. Remove `transformer.`, and put `embeddings.` in front of those "
        "that then begin with `wte` or `wpe`.",
        ('name = f"embeddings.{name}"', "pass"),
    ),
    Mistake(
        "`my_name` and `CONV1D` are on the chapter's page, but `load` goes into a different file. "
        "Write their work out inside it.",
        ('name = name.removeprefix("transformer.")', "name = my_name(name)"),
    ),
    Mistake(
        "`my_name` and `CONV1D` are on the chapter's page, but `load` goes into a different file. "
        "Write their work out inside it.",
        (
            'name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight"))',
            "name.endswith(CONV1D)",
        ),
    ),
    Mistake(
        "The head has a copy of the table, so that the two would drift apart in training. "
        "`load_state_dict(tensors)` alone leaves them one parameter.",
        (
            "    return model",
            "    model.lm_head.weight = nn.Parameter(model.lm_head.weight.clone())\n    return model",
        ),
    ),
    Mistake(
        "`assign=True` puts the file's own tensors into the model, in their type, and the head is "
        "no longer the table. Leave it out, so that the numbers are copied.",
        ("load_state_dict(tensors)", "load_state_dict(tensors, assign=True)"),
    ),
    Mistake(
        "The sizes are in another order than GPT2 takes them: vocab_size, n_positions, n_layer, "
        "n_head, n_embd, as the start has them.",
        ('"n_layer", "n_head"', '"n_head", "n_layer"'),
    ),
    Mistake(
        "The sizes are in another order than GPT2 takes them: vocab_size, n_positions, n_layer, "
        "n_head, n_embd, as the start has them.",
        ('"vocab_size", "n_positions"', '"n_positions", "vocab_size"'),
    ),
    Mistake(
        "A weight is transposed when it should not be, or the reverse. Four in each block are stored "
        "as (in, out), those of `c_attn`, `c_fc` and both `c_proj`. Transpose these and no others.",
        ("tensor = tensor.T  # stored as (in, out)", "pass"),
    ),
    Mistake(
        "All shapes fit, and yet it is a different model. `attn.c_proj.weight` is square, so it is "
        "easily missed. It is stored as (in, out) like the other three.",
        (
            '"c_attn.weight", "c_proj.weight", "c_fc',
            '"c_attn.weight", "mlp.c_proj.weight", "c_fc',
        ),
    ),
    Mistake(
        "A file with masks in it does not load. Skip names that end in `.attn.bias` or "
        "`.attn.masked_bias` with `continue`.",
        ("            continue  # the mask, which older files contain", "            pass"),
    ),
    Mistake(
        "You skip real biases, because `c_attn.bias` ends in `attn.bias` too. The dot in `.attn.bias` keeps "
        "them apart.",
        ('(".attn.bias", ".attn.masked_bias")', '("attn.bias", "attn.masked_bias")'),
    ),
    Mistake(
        "Every tensor with two axes is transposed. `wte` and `wpe` are tables, not layers, and stay "
        "as they are. Go by name.",
        ('name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight"))', "tensor.ndim == 2"),
    ),
    Mistake(
        "`c_fc` is not transposed. Four weights in each block are stored as (in, out), those of "
        "`c_attn`, `c_fc` and both `c_proj`.",
        ('"c_attn.weight", "c_proj.weight", "c_fc.weight"', '"c_attn.weight", "c_proj.weight"'),
    ),
    Mistake(
        "`mlp.c_proj` is not transposed. Four weights in each block are stored as (in, out), those "
        "of `c_attn`, `c_fc` and both `c_proj`.",
        ('"c_attn.weight", "c_proj.weight", "c_fc', '"c_attn.weight", "attn.c_proj.weight", "c_fc'),
    ),
    Mistake(
        "`wpe` has no `embeddings.` in front. Both tables are in `embeddings`.",
        ('("wte", "wpe")', '"wte"'),
    ),
    Mistake(
        "The loop ends at the first mask, so what follows it is lost. Skip the mask alone, with "
        "`continue`.",
        ("            continue  # the mask", "            break  # the mask"),
    ),
    Mistake(
        "`view` and `reshape` do not transpose; they cut the same row of numbers into other pieces. "
        "Use `tensor.T`.",
        ("tensor = tensor.T", "tensor = tensor.reshape(tensor.T.shape)"),
    ),
    Mistake(
        "One kind of mask is still there, `.attn.masked_bias`. Skip it as well.",
        ('(".attn.bias", ".attn.masked_bias")', '".attn.bias"'),
    ),
    Mistake(
        "`strict=False` hides that hardly a name fits, so the blocks keep their random start. Load "
        "without it, and fix the names that it complains of.",
        ('        name = name.removeprefix("transformer.")\n', ""),
        (
            """\
        if name.startswith(("wte", "wpe")):
            name = f"embeddings.{name}"
""",
            "",
        ),
        ('tensors["embeddings.wte.weight"]', 'tensors["transformer.wte.weight"]'),
        ("load_state_dict(tensors)", "load_state_dict(tensors, strict=False)"),
    ),
    Mistake(
        "`strict=False` hides that no name of a block fits, so the blocks keep their random start. Load "
        "without it, and fix the names that it complains of.",
        (
            'name = name.removeprefix("transformer.")',
            'name = name.replace("transformer.w", "embeddings.w")',
        ),
        (
            """\
        if name.startswith(("wte", "wpe")):
            name = f"embeddings.{name}"
""",
            "",
        ),
        ("load_state_dict(tensors)", "load_state_dict(tensors, strict=False)"),
    ),
)

TOLERANCE = 1e-4
TIED = "the head and the table of tokens are one parameter"
SIZES = (13, 7, 2, 3, 12)
CRANE = Path(model.__file__).parent / "assets" / "crane"


@cache
def folder(what: str) -> Path:
    """A folder with weights: those of Crane World, small ones, or small ones with old ballast."""
    if what == "crane":
        return CRANE
    path = Path(tempfile.mkdtemp())
    theirs(SIZES).save_pretrained(path)
    if what == "old":
        tensors = load_file(path / "model.safetensors")
        for layer in range(SIZES[2]):
            tensors[f"transformer.h.{layer}.attn.bias"] = torch.ones(1, 1, 7, 7).tril()
            tensors[f"transformer.h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)
        save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})
    return path


class WrongShape(RuntimeError):
    """What a strict load says of a tensor that lies the wrong way."""


class WrongSize(RuntimeError):
    """What a strict load says of a tensor that has other sizes than the model's."""


class WrongName(RuntimeError):
    """What a strict load says of a name that is missing, or that it does not know."""


def use(mine: Any, what: str, idx: Tensor) -> Labelled:
    try:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)
            whole = mine.load(folder(what))
        is_model = isinstance(whole, nn.Module)
        if not is_model:
            raise ValueError(f"load returns {kind_of(whole)}. Return `model`")
        tied = whole.lm_head.weight is whole.embeddings.wte.weight
        return Labelled({"logits": whole(idx), TIED: tied})
    except RuntimeError as error:
        if found := re.search(r"size mismatch for .*", str(error)):
            stored, own = re.findall(r"Size\(\[(.*?)\]", found[0])
            turned = stored.split(", ")[::-1] == own.split(", ")
            raise (WrongShape if turned else WrongSize)(found[0]) from None
        if found := re.search(r'Missing key\(s\) in state_dict: "(.*?)"', str(error)):
            raise WrongName(f"{found[1]} of the model is not in tensors") from None
        if found := re.search(r'Unexpected key\(s\) in state_dict: "(.*?)"', str(error)):
            raise WrongName(f"{found[1]} in tensors is not in the model") from None
        raise


@torch.no_grad()
def right(what: str, idx: Tensor) -> Labelled:
    whole = model.GPT2.from_pretrained(folder("crane" if what == "crane" else "small"))
    return Labelled({"logits": whole(idx)[0], TIED: True})


def cases() -> list[Case]:
    idx = torch.tensor([[1, 2, 3, 4, 5]])
    return [
        Case("a small model", ("small", idx)),
        Case("a file with masks in it", ("old", idx)),
        Case("the model of Crane World", ("crane", torch.tensor([[1023, 258, 483, 5]]))),
    ]
