"""Model and tokenizer files for the browser.

A page opened from ``file://`` can load scripts only, so weights and tokenizers are embedded in
scripts. They are generated on demand.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
import re
import sys
from array import array
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tiktoken
from safetensors.torch import load_file, save

from .crane import story
from .crane.grammar import cell, crane_world
from .crane.shipping import shipped
from .machine.files import read_json
from .tokenizer import Encoding, load_tokenizer
from .tokenizer_json import TokenizerJSON
from .weights import save_tensors

if TYPE_CHECKING:
    from .language_model import LanguageModel

UNITS = 10_000  # of the published runs
# The tokenizer that comes with each: a draft has its large model's, the shell game a list of words.
MODELS = {"crane": "crane", "novice": "crane", "gpt2": "gpt2", "draft": None, "cups": None}
ASSETS = Path(__file__).resolve().parent / "assets"


def merges(encoding: tiktoken.Encoding) -> bytes:
    """A tokenizer in compact form: its 256 byte tokens, then the two ids of each merge.

    The ids are little-endian uint16. A third of the size of the rank file.
    """
    tokens = [encoding.decode_single_token_bytes(i) for i in range(encoding.n_vocab - 1)]
    rank = {token: i for i, token in enumerate(tokens)}
    pairs = array("H")
    for i, token in enumerate(tokens[256:], start=256):
        parts = [bytes([b]) for b in token]
        while len(parts) > 2:
            ranks = [rank.get(a + b, i) for a, b in pairwise(parts)]
            first = ranks.index(min(ranks))
            parts[first : first + 2] = [parts[first] + parts[first + 1]]
        pairs.extend(rank[part] for part in parts)
    if sys.byteorder == "big":
        pairs.byteswap()
    return b"".join(tokens[:256]) + pairs.tobytes()


def files_script(name: str) -> str:
    """A script with the files of the model "crane", "novice", "draft" or "cups", of the tokenizer
    "gpt2", or with stored passes: "gpt2_runs", "crane_learned", attention of the snapshots of
    its training, "crane_units", where the units of its MLPs fire most, "crane_grammar", all that a
    page needs to train on Crane World, and "crane_ask", the adapter with which the model answers
    questions.

    The config is text, the weights are in base64, the merges in base64 after gzip. "crane" also
    has all words of Crane World, so that a page can report words that the model has not seen, and
    what a crane does in either sense.
    Raises ValueError for other names.
    """
    stored = {
        "gpt2_runs": _published_passes,
        "crane_learned": _attention_while_it_learned,
        "crane_units": lambda: read_json(ASSETS / "crane" / "units.json"),
        "crane_grammar": crane_grammar,
        "crane_ask": lambda: _adapter(ASSETS / "ask"),
    }
    if name in stored:
        content = json.dumps(stored[name](), separators=(",", ":"))
        return f"(globalThis.gpt2Files ??= {{}}).{name} = {content};\n"
    if name not in MODELS:
        raise ValueError(f"there are files for {', '.join(map(repr, MODELS))}, not for {name!r}")
    files: dict[str, Any] = {}
    if tokenizer := MODELS[name]:
        files["merges"] = _compressed_merges(load_tokenizer(tokenizer))
    if name != "gpt2":
        folder = ASSETS / name
        files["config.json"] = (folder / "config.json").read_text(encoding="utf-8")
        weights = (folder / "model.safetensors").read_bytes()
        files["model.safetensors"] = base64.b64encode(weights).decode()
    if name == "crane":
        files["words"] = " ".join(sorted(_crane_words()))
        files["deeds"] = crane_deeds()
    return f"(globalThis.gpt2Files ??= {{}}).{name} = {json.dumps(files)};\n"


def _published_passes() -> list[dict[str, Any]]:
    """What OpenAI's GPT-2 did with five prompts, as the picture of a pass reads it."""
    shown = load_tokenizer("gpt2").decode
    runs = read_json(ASSETS / "gpt2_runs.json")["runs"]
    return [
        {
            "text": run["prompt"],
            "ids": run["ids"],
            "tokens": [shown([i]).replace(" ", "␣") for i in run["ids"]],
            "attention": run["attention"],
            "unit": 1 / UNITS,
            "next": [
                {"id": i, "name": shown([i]).replace(" ", "␣"), "p": math.exp(log_prob / UNITS)}
                for i, log_prob in zip(run["next_ids"][:6], run["next_log_probs"][:6], strict=True)
            ],
        }
        for run in runs
    ]


def _attention_while_it_learned() -> list[Any]:
    """Of each snapshot and text, block and head: the weights row by row, in hundredths."""
    kept = read_json(ASSETS / "crane" / "snapshots.json")
    return [
        [[[list(chain(*head)) for head in block] for block in text] for text in shot["attention"]]
        for shot in kept["snapshots"]
    ]


def _adapter(folder: Path) -> dict[str, str]:
    """An adapter in 16 bits, as the model is, and without the tied head's copy of the table."""
    found = load_file(folder / "adapter_model.safetensors")
    tensors = {name: t.half() for name, t in found.items() if not name.endswith("lm_head.weight")}
    return {
        "adapter_config.json": (folder / "adapter_config.json").read_text(encoding="utf-8"),
        "adapter_model.safetensors": base64.b64encode(save(tensors)).decode(),
    }


def crane_grammar() -> dict[str, Any]:
    """The grammar of Crane World, its tokenizer, and the least loss at each position of a story.

    The merges are in base64. The losses are those of the grammar itself, on the shipped model's
    validation stories.
    """
    found = read_json(ASSETS / "crane" / "measures.json")["metrics"]["validation"]
    pairs = zip(found["by_position"], found["gap_by_position"], strict=True)
    return {
        **shipped(crane_world()),
        "merges": base64.b64encode(merges(load_tokenizer("crane"))).decode(),
        "floor": [round(loss - gap, 4) for loss, gap in pairs],
    }


def save_for_page(model: LanguageModel, encoding: Encoding, path: Path) -> None:
    """Save a safetensors file for the book's pages, with config and tokenizer in its header.

    Raises ValueError if the tokenizer's number of tokens differs from the model's, or exceeds
    65,536, the most that pages can read.
    """
    if isinstance(encoding, TokenizerJSON):
        raise ValueError(f"the pages read merges like GPT-2's, and not {encoding.name}")
    if len(encoding._special_tokens) > 1:
        raise ValueError(
            f"the pages have one special token, and {encoding.name!r} has those of roles"
        )
    V = model.config.vocab_size
    if encoding.n_vocab != V:
        raise ValueError(
            f"the model has {V:,} tokens, the tokenizer {encoding.name!r} {encoding.n_vocab:,}: "
            "name the one that it was trained with"
        )
    if V > 2**16:
        raise ValueError(f"a page reads at most {2**16:,} tokens, the model has {V:,}")
    metadata = {
        "format": "pt",
        "gpt2-edu.config": json.dumps(model.layout.config_to_hugging_face(model.config)),
        "gpt2-edu.merges": _compressed_merges(encoding),
    }
    save_tensors(model.layout.to_hugging_face(model.published_state_dict()), path, metadata)


def crane_deeds() -> dict[str, list[str]]:
    """The first words of what a crane does, as a bird and as a machine."""
    lists = crane_world().lists
    deeds = {sense: lists[cell("sense", "does", f"crane-{sense}")] for sense in ("bird", "machine")}
    return {
        sense: list(dict.fromkeys(str(one.items[0]) for one in all_))
        for sense, all_ in deeds.items()
    }


def _crane_words() -> set[str]:
    """All words of Crane World, in both cases; the first 1,200 stories contain them all."""
    return {word for seed in range(1200) for word in re.findall("[A-Za-z]+", story(seed))}


def _compressed_merges(encoding: tiktoken.Encoding) -> str:
    return base64.b64encode(gzip.compress(merges(encoding), mtime=0)).decode()
