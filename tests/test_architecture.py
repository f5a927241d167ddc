"""The house: which room may know which, what an import costs, what the outside can rely on."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpt2_edu

PACKAGE = Path(gpt2_edu.__file__).parent

# Each room, and the rooms that it may build on; what those build on is open to it too.
MAY_IMPORT = {
    "config": set(),
    "device": set(),
    "files": set(),
    "tape": set(),
    "tokenizer": {"config"},
    "course": {"config", "tape", "tokenizer"},
    "cache": {"config"},
    "model": {"config", "tape", "cache"},
    "packed": {"model", "device"},
    "generation": {"model", "cache", "tokenizer"},
    "hub": {"config", "files"},
    "pretrained": {"model", "hub", "device"},
    "parity": {"model", "pretrained"},
    "data": {"tokenizer", "files"},
    "sources": {"crane"},
    "prepare": {"files", "data", "sources"},
    "optim": {"model"},
    "distributed": {"model"},
    "checkpoint": {"model", "data", "pretrained", "distributed"},
    "flops": {"config"},
    "train_config": {"pretrained"},
    "trainer": {
        "train_config",
        "checkpoint",
        "data",
        "device",
        "distributed",
        "flops",
        "generation",
        "optim",
    },
    "recipes": {"prepare", "trainer"},
    "measure": {"packed"},
    "bench": {"measure", "generation", "flops"},
    "doctor": {"hub", "packed", "device", "flops"},
    "crane": {"tokenizer"},
    "evals": {"crane", "generation", "model", "tokenizer"},
    "heads": {"evals", "tape"},
    "bugs": {"generation"},
    "exhibits": {"tape", "model", "tokenizer"},
    "labs": {"exhibits", "generation", "trainer"},
    "exercises": {"bugs", "course", "files", "flops", "heads", "parity", "trainer"},
}
ON_TOP = {"exhibits", "labs", "exercises", "bugs", "cli", "__main__"}  # no room below knows these

# The one arrow that points back, and only inside of functions: model.from_pretrained.
BACK = {("model", "pretrained")}


def open_to(room: str) -> set[str]:
    """The rooms that this one may import, directly or through others."""
    found, new = set(), set(MAY_IMPORT[room])
    while new:
        found |= new
        new = set().union(*(MAY_IMPORT[r] for r in new)) - found
    return found


def sources() -> list[tuple[str, Path]]:
    """Every Python file of the package with the room that it belongs to."""
    files = sorted(PACKAGE.rglob("*.py"))
    return [
        (path.relative_to(PACKAGE).parts[0].removesuffix(".py"), path)
        for path in files
        if path != PACKAGE / "__init__.py"
    ]


def rooms_imported(path: Path, node: ast.AST) -> Iterator[str]:
    """The rooms of ours that one import statement names."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        folders = ["gpt2_edu", *path.relative_to(PACKAGE).parts[:-1]]
        base = folders[: len(folders) + 1 - node.level] if node.level else []
        stem = ".".join([*base, *([node.module] if node.module else [])])
        names = [f"{stem}.{alias.name}" for alias in node.names]
    else:
        return
    for name in names:
        if name == "gpt2_edu" or name.startswith("gpt2_edu."):
            yield (name.split(".") + [""])[1]


def arrows(path: Path) -> Iterator[tuple[str, bool]]:
    """Each room that a file imports, and whether the import stands inside a function."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        for room in rooms_imported(path, node):
            yield room, id(node) in inside


def test_arrows_go_one_way_only():
    wrong = []
    for room, path in sources():
        if room == "cli" or path.name == "__main__.py":
            continue
        assert room in MAY_IMPORT, f"{path.name} has no place in the house: give it one above"
        for target, inside in arrows(path):
            allowed = target == room or target in open_to(room)
            if path.parent.name == "tasks":  # they import as their readers do
                allowed = allowed or target in gpt2_edu.__all__
            if not allowed and not (inside and (room, target) in BACK):
                wrong.append(f"{path.relative_to(PACKAGE)} imports {target or 'gpt2_edu'}")
    assert not wrong


def test_the_table_of_rooms_has_no_circle():
    for room in MAY_IMPORT:
        assert room not in open_to(room)


def test_no_room_below_knows_what_stands_on_top():
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {target}"
        for room, path in [*sources(), ("", PACKAGE / "__init__.py")]
        if room not in ON_TOP
        for target, _ in arrows(path)
        if target in ON_TOP
    ]
    assert not wrong


def test_the_checks_above_see_every_way_to_write_an_import(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    (tmp_path / "exhibits").mkdir()
    file = tmp_path / "exhibits" / "some.py"
    file.write_text(
        "import gpt2_edu.labs\nfrom gpt2_edu.cache import x\nfrom .. import model\n"
        "from ..tape import note\nfrom . import other\nfrom .third import y\nimport torch\n"
        "def f():\n    from ..trainer import Trainer\n    from gpt2_edu import cli\n"
    )
    assert list(arrows(file)) == [
        ("labs", False),
        ("cache", False),
        ("model", False),
        ("tape", False),
        ("exhibits", False),
        ("exhibits", False),
        ("trainer", True),
        ("cli", True),
    ]


def test_importing_the_package_loads_nothing_heavy():
    """Neither a picture library, nor a notebook, nor a second GPT-2."""
    heavy = ["matplotlib", "IPython", "ipywidgets", "transformers", "gpt2_edu.exhibits"]
    code = f"import sys, gpt2_edu; print([m for m in {heavy} if m in sys.modules])"
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_the_promised_names_are_there():
    promised = {
        "GPT2",
        "GPT2Config",
        "generate",
        "load_tokenizer",
        "note",
        "pick_device",
        "sample_next",
        "stream",
        "trace",
    }
    assert promised <= set(gpt2_edu.__all__)
    assert all(hasattr(gpt2_edu, name) for name in gpt2_edu.__all__)
    assert gpt2_edu.__all__ == sorted(gpt2_edu.__all__)
    for name in ("from_pretrained", "save_pretrained", "num_parameters"):
        assert callable(getattr(gpt2_edu.GPT2, name))


@pytest.mark.parametrize("function", [gpt2_edu.generate, gpt2_edu.stream])
def test_the_promised_knobs_are_there_with_their_defaults(function):
    parameters = inspect.signature(function).parameters
    assert list(parameters)[:3] == ["model", "idx", "max_new_tokens"]
    by_name = {n: p.default for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY}
    promised = {"temperature": 1.0, "top_k": None, "top_p": None, "eos_id": None, "generator": None}
    assert promised.items() <= by_name.items()


def test_everything_public_says_what_it_is():
    silent = []
    for _, path in [*sources(), ("", PACKAGE / "__init__.py")]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        public = [
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
        ]
        if path.parent.name == "tasks":
            public = []  # what an exercise's functions are for is said once, at Exercise
        silent += [
            f"{path.relative_to(PACKAGE)}: {getattr(node, 'name', 'the module')}"
            for node in [tree, *public]
            if not ast.get_docstring(node)
        ]
    assert not silent
