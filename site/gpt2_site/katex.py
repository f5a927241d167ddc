"""Sphinx extension: wait until KaTeX's server listens.

sphinxcontrib.katex connects as soon as the socket is there, which may be a moment before anything
listens on it: then the build ends with "Connection refused" and leaves the server running.
"""

from __future__ import annotations

import socket
import time
from pathlib import Path
from subprocess import PIPE, Popen

from sphinx.application import Sphinx
from sphinxcontrib.katex import KaTeXServer

PAUSE = 0.01  # seconds between two tries
PATIENCE = 60.0  # seconds: on a busy machine node itself may take some


def start_server_process(
    cls: type[KaTeXServer], rundir: Path, timeout: float
) -> tuple[Popen[bytes], socket.socket]:
    """Start the server and connect to it. Raises KaTeXServer's own error after PATIENCE."""
    path = rundir / "katex.sock"
    process = Popen(cls.build_command(socket=path), stdin=PIPE, stdout=PIPE, cwd=rundir)
    end = time.monotonic() + max(timeout, PATIENCE)
    while process.poll() is None and time.monotonic() < end:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(path))
            return process, connection
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            time.sleep(PAUSE)
    with process:  # closes its pipes, too
        process.kill()
    raise cls.timeout_error(timeout)


def wait_for_server() -> None:
    """From now on KaTeX's server is started so."""
    KaTeXServer.start_server_process = classmethod(start_server_process)


def setup(app: Sphinx) -> dict[str, bool]:
    wait_for_server()
    return {"parallel_read_safe": True, "parallel_write_safe": True}
