"""What pages load: the modules packed into one script, and the files that come as scripts."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
from pathlib import Path

import pytest

from gpt2_edu import load_tokenizer, web
from tests.node import NODE

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
STATIC = ROOT / "gpt2_edu" / "exhibits" / "static"


@pytest.fixture
def pack(missing):
    """A script as `make web` makes it."""
    if not (ROOT / "web" / "node_modules" / "esbuild-wasm").is_dir():
        missing("run: make web/node_modules/.ready")

    def run(script: str) -> str:
        command = [NODE, "web/build.mjs", script]
        return subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=True
        ).stdout

    return run


@pytest.mark.parametrize("script", ["gpt2.js", "console.js", "live.js"])
def test_the_packed_scripts_come_from_the_modules(pack, script):
    assert (STATIC / script).read_text(encoding="utf-8") == pack(script), "run: make web"


def test_the_engine_is_small():
    """All that runs a model, without the console: 20 kB on the way to the reader."""
    assert len(gzip.compress((STATIC / "gpt2.js").read_bytes())) <= 20 * 1024


def test_the_exhibits_are_small():
    """All elements of the book, without the engine: 60 kB on the way to the reader."""
    assert len(gzip.compress((STATIC / "live.js").read_bytes())) <= 60 * 1024


def test_every_file_can_be_read_in_one_sitting():
    lengths = {
        str(path.relative_to(WEB)): path.read_text(encoding="utf-8").count("\n")
        for path in WEB.rglob("*")
        if "node_modules" not in path.parts and path.suffix in (".mjs", ".wat", ".py")
    }
    assert len(lengths) > 20
    assert {name: length for name, length in lengths.items() if length > 300} == {}


@pytest.mark.parametrize("name", ["crane", "gpt2"])
def test_files_travel_in_scripts_unchanged(name):
    before, _, after = web.files_script(name).partition(f".{name} = ")
    assert before == "(globalThis.gpt2Files ??= {})"
    files = json.loads(after.rstrip(";\n"))
    assert gzip.decompress(base64.b64decode(files.pop("merges"))) == web.merges(
        load_tokenizer(name)
    )
    if name == "crane":
        folder = web.ASSETS / name
        assert files.pop("config.json") == (folder / "config.json").read_text()
        weights = base64.b64decode(files.pop("model.safetensors"))
        assert weights == (folder / "model.safetensors").read_bytes()
        assert "marsh" in files.pop("words").split()
    assert files == {}


def test_other_names_are_refused():
    with pytest.raises(ValueError, match='"crane" and "gpt2", not for \'bert\''):
        web.files_script("bert")
