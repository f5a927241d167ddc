"""The package from outside: what importing it costs, and the names that others rely on.

Which module may import which is in pyproject.toml, and checked by ``lint-imports``.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import gpt2_edu

PACKAGE = Path(gpt2_edu.__file__).parent
TASKS = PACKAGE / "exercises" / "tasks"


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


def test_promised_names_are_there():
    promised = "GPT2 GPT2Config generate load_tokenizer note pick_device sample_next stream trace"
    assert set(promised.split()) <= set(gpt2_edu.__all__)
    assert all(hasattr(gpt2_edu, name) for name in gpt2_edu.__all__)
    for name in ("from_pretrained", "save_pretrained", "num_parameters"):
        assert callable(getattr(gpt2_edu.GPT2, name))


def test_generate_and_stream_have_the_promised_settings_with_their_defaults():
    parameters = inspect.signature(gpt2_edu.generate).parameters
    assert list(parameters)[:3] == ["model", "idx", "max_new_tokens"]
    promised = {"temperature": 1.0, "top_k": None, "top_p": None, "eos_id": None}
    promised |= {"generator": None, "use_cache": True}
    by_name = {n: p.default for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY}
    assert promised.items() <= by_name.items()
    assert inspect.signature(gpt2_edu.stream).parameters == parameters


def test_everything_public_says_what_it_is():
    silent = []
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        public = [
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
        ]
        if TASKS in path.parents:
            public = []  # what an exercise's functions are for is said once, at Exercise
        silent += [
            f"{path.relative_to(PACKAGE)}: {getattr(node, 'name', 'the module')}"
            for node in [tree, *public]
            if not ast.get_docstring(node)
        ]
    assert not silent


def test_what_the_architecture_page_names_is_there():
    page = (PACKAGE.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    files = set(re.findall(r"`([\w/.]+(?:\.py|\.mjs|\.wat|/|\.yml|\.json))`", page)) - {
        "run.json",
        "state.json",
        "my_gpt2.py",
    }
    places = (PACKAGE, PACKAGE.parent)
    assert [name for name in files if not any((place / name).exists() for place in places)] == []
    folders = {f"{path.name}/" for path in PACKAGE.iterdir() if path.is_dir()}
    assert folders - {"__pycache__/", "assets/"} <= files
    code = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    of_the_package, _, _ = page.partition("## How it is kept")
    names = re.findall(r"`(\w+)(?:\.(\w+))?(?:\([^`]*\))?`", of_the_package)
    missing = {part for name in names for part in name if part and part not in code}
    assert missing - {"_toc", "yml", "pyproject", "toml"} == set()
