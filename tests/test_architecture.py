"""The house: which room imports which, what an import costs, what the outside can rely on."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import architecture
import pytest

import gpt2_edu

PACKAGE = Path(gpt2_edu.__file__).parent
# These import as their readers do.
TASKS = (PACKAGE / "exercises" / "tasks", PACKAGE / "exercises" / "steps")

# Each room (a folder, or a file of the root) and exactly the rooms that it imports.
IMPORTS = {
    "machine": set(),
    "config": {"machine"},
    "tape": {"machine"},
    "tokenizer": {"machine"},
    "weights": {"config", "machine"},
    "cache": {"config", "machine"},
    "model": {"cache", "config", "tape", "weights"},
    "packed": {"machine", "model", "weights"},
    "kernels": {"cache", "model"},
    "decoding": {"cache", "kernels", "model"},
    "generation": {"cache", "decoding", "kernels", "machine", "model", "tape"},
    "flops": {"config", "machine", "model"},
    "course": {"config", "machine", "tape", "tokenizer"},
    "crane": {"machine", "tokenizer"},
    "data": {"crane", "machine", "tokenizer"},
    "analysis": {"config", "crane", "generation", "machine", "model", "tape", "weights"},
    "training": {"config", "crane", "data", "flops", "generation", "machine", "model"}
    | {"tokenizer", "weights"},
    "web": {"crane", "tokenizer", "weights"},
    "exhibits": {"machine", "tape", "tokenizer", "web"},
    "labs": {
        "analysis",
        "config",
        "data",
        "exhibits",
        "flops",
        "generation",
        "machine",
        "model",
        "tape",
    }
    | {"training"},
    "exercises": {"machine"},
    "cli": {"analysis", "config", "data", "flops", "generation", "machine", "model", "packed"}
    | {"tape", "tokenizer", "training", "web", "weights"},
    "trainer": {"training"},
    "__main__": {"cli"},
}


def imports() -> dict[str, set[str]]:
    return {
        room: targets - {""}
        for room, targets in architecture.arrows(PACKAGE, without=TASKS).items()
    }


def test_every_room_imports_what_the_table_says_and_the_table_grants_nothing_else():
    assert imports() == IMPORTS


def test_arrows_go_one_way_only():
    """The table lists rooms in an order in which each builds on those above it."""
    above: set[str] = set()
    for room, targets in IMPORTS.items():
        assert targets <= above, room
        above.add(room)


def test_no_two_files_import_each_other_in_a_circle():
    graph = architecture.arrows(PACKAGE, by_file=True, without=TASKS)
    done: set[str] = set()

    def follow(file: str, way: tuple[str, ...]) -> None:
        assert file not in way, " → ".join([*way, file])
        if file not in done:
            for target in graph.get(file, ()):
                follow(target, (*way, file))
            done.add(file)

    for file in graph:
        follow(file, ())


def test_the_package_itself_is_imported_by_readers_tasks_and_the_command_line_alone():
    assert {room for room, targets in architecture.arrows(PACKAGE).items() if "" in targets} <= {
        "cli",
        "exercises",
    }


def test_the_picture_of_the_rooms_is_drawn_from_these_imports():
    drawn = architecture.PICTURE.read_text(encoding="utf-8")
    assert drawn == architecture.svg(architecture.of_folders(architecture.arrows(PACKAGE)))


def test_the_checks_above_see_every_way_to_write_an_import(tmp_path):
    for name in ("labs", "exhibits"):
        (tmp_path / name).mkdir()
    for name in ("cache", "model", "tape", "cli", "trainer"):
        (tmp_path / f"{name}.py").write_text("")
    (tmp_path / "exhibits" / "some.py").write_text(
        "import gpt2_edu.labs\nfrom gpt2_edu.cache import x\nfrom .. import model\n"
        "from ..tape import note\nfrom . import other\nfrom .third import y\nimport torch\n"
        "def f():\n    from ..trainer import Trainer\n    from gpt2_edu import cli, GPT2\n"
        "if TYPE_CHECKING:\n    from ..never import z\n"
    )
    found = architecture.arrows(tmp_path)["exhibits"]
    assert found == {"labs", "cache", "model", "tape", "trainer", "cli", ""}


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
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        public = [
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
        ]
        if {*TASKS} & {*path.parents}:
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
    assert {f"{room}/" for room in IMPORTS if (PACKAGE / room).is_dir()} <= files
    code = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    names = re.findall(r"`(\w+)(?:\.(\w+))?(?:\([^`]*\))?`", page)
    missing = {part for name in names for part in name if part and part not in code}
    assert missing - {"_toc", "yml"} == set()
