"""`make serve`: what a person gets who types a wrong port, or one that is taken."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import serve

SCRIPT = Path(serve.__file__)


def test_a_port_in_use_is_said_with_the_way_out(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert serve.main(str(taken.getsockname()[1])) == 1
    assert "is in use. Name another one: make serve PORT=8001" in capsys.readouterr().err


def test_what_is_no_port_is_said(capsys):
    for port in ("x", "0", "70000", "-1", ""):
        assert serve.main(port) == 2
        assert "a number from 1 to 65535" in capsys.readouterr().err


def test_pages_are_served_until_ctrl_c(tmp_path):
    """A copy of the script serves what is built beside it."""
    (tmp_path / "book").mkdir()
    (tmp_path / "_build" / "html").mkdir(parents=True)
    (tmp_path / "_build" / "html" / "index.html").write_text("here")
    copy = tmp_path / "book" / "serve.py"
    copy.write_bytes(SCRIPT.read_bytes())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run = subprocess.Popen([sys.executable, copy, str(port)], stdout=subprocess.PIPE, text=True)
    assert f"http://127.0.0.1:{port}/" in run.stdout.readline()
    with urlopen(f"http://127.0.0.1:{port}/") as page:
        assert page.read() == b"here"
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=20)
    assert run.returncode == 0
