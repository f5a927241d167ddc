"""What pages load: the scripts that are built from web/, and the files that come as scripts."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path

import pytest

from gpt2_edu import load_tokenizer, web
from gpt2_site.theme import OWN

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
STATIC = ROOT / "gpt2_edu" / "exhibits" / "static"


LIMITS = {  # kB
    "gpt2": 32,  # GPT-2 and Llama, adapters, and drafts
    "train": 16,
    "runs": 37,
    "base": 13,
    "flow": 30,  # with each unit of an MLP, and light
    "deep": 50,  # with heads of many blocks, words that are offered, a block to scale
    "beside": 12,  # tensors, a text that gives a vector, the crane while it learned
    "space": 145,  # three.js, and what it draws; when somebody turns the picture
    "scale": 13,
    "card": 12,  # most of it sentences
    "live": 67,
    "learn": 18,  # the choices, the curve, stories, heads, gradients, ways on, every refusal
    "reward": 12,
    "scaling": 12,
    "offline": 5,
}


@pytest.mark.parametrize(("script", "limit"), [(f"{name}.js", kB) for name, kB in LIMITS.items()])
def test_script_is_small(script, limit):
    """Kilobytes on the way to the reader."""
    assert len(gzip.compress((STATIC / script).read_bytes())) <= limit * 1024


def test_every_file_can_be_read_in_one_sitting():
    lengths = {
        str(path.relative_to(WEB)): path.read_text(encoding="utf-8").count("\n")
        for path in WEB.rglob("*")
        if "node_modules" not in path.parts and path.suffix in (".mjs", ".wat")
    }
    assert {name: length for name, length in lengths.items() if length > 300} == {}


@pytest.mark.parametrize("name", list(web.MODELS))
def test_files_travel_in_scripts_unchanged(name):
    before, _, after = web.files_script(name).partition(f".{name} = ")
    assert before == "(globalThis.gpt2Files ??= {})"
    files = json.loads(after.rstrip(";\n"))
    if tokenizer := web.MODELS[name]:
        merges = gzip.decompress(base64.b64decode(files.pop("merges")))
        assert merges == web.merges(load_tokenizer(tokenizer))
    if name != "gpt2":
        folder = web.ASSETS / name
        assert files.pop("config.json") == (folder / "config.json").read_text()
        weights = base64.b64decode(files.pop("model.safetensors"))
        assert weights == (folder / "model.safetensors").read_bytes()
    if name == "crane":
        words = files.pop("words").split()
        assert "marsh" in words and words == sorted(words), "the file is the same each time"
        assert "ate" in files["deeds"]["bird"] and "lifted" in files.pop("deeds")["machine"]
    assert files == {}


def test_other_names_are_refused():
    with pytest.raises(ValueError, match="bert"):
        web.files_script("bert")


def test_a_module_of_the_base_is_known_by_its_name_alone():
    """The bundler takes ./NAME.mjs for the base's, in whichever folder it is imported."""
    base = re.findall(r"\./(\w+)\.mjs", (WEB / "exhibits" / "base.mjs").read_text("utf-8"))
    folders = [WEB / name for name in ("card", "flow", "scale", "learn", "reward", "scaling")]
    others = [path.stem for folder in folders for path in folder.glob("*.mjs")]
    assert base and not set(base) & set(others)


def test_a_page_loads_the_script_and_the_styles_of_an_exhibit_that_has_its_own():
    """The frame's script asks for the one, the theme for the others."""
    frame = (ROOT / "site" / "static" / "frame.js").read_text("utf-8")
    asked = re.search(r"/gpt2-\(([\w|]+)\)\$/", frame)
    assert asked
    defined = {
        path.parent.name
        for path in WEB.glob("*/all.mjs")
        if f'define("{path.parent.name}"' in path.read_text("utf-8")
    }
    assert defined == set(asked[1].split("|")) == set(OWN)
    assert all((STATIC / f"{name}.css").exists() for name in defined)
