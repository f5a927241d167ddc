"""Starting the program that sets mathematics, on a machine that is slow at the wrong moment."""

from __future__ import annotations

import sys
import time

import pytest
from sphinxcontrib.katex import KaTeXServer

from gpt2_site import katex as site_katex

SLOW = """
import socket, sys, time
time.sleep(0.2)
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])  # the socket is there
time.sleep(0.2)
server.listen()           # and now it answers
server.accept()
time.sleep(60)
"""


def start(monkeypatch, tmp_path, code: str):
    command = lambda socket: [sys.executable, "-c", code, str(socket)]  # noqa: E731
    monkeypatch.setattr(KaTeXServer, "build_command", command)
    return site_katex.start_server_process(KaTeXServer, tmp_path, timeout=5)


def test_a_socket_that_does_not_listen_yet_is_waited_for(monkeypatch, tmp_path):
    process, connection = start(monkeypatch, tmp_path, SLOW)
    with process, connection:
        assert process.poll() is None
        process.kill()


def test_a_server_that_ends_is_not_waited_for(monkeypatch, tmp_path):
    begin = time.monotonic()
    with pytest.raises(Exception, match="KaTeX server did not came up"):
        start(monkeypatch, tmp_path, "")
    assert time.monotonic() - begin < site_katex.PATIENCE / 2
