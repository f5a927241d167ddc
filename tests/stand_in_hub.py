"""A stand-in for the Hugging Face hub, on loopback: the part of its protocol for downloads.

A small file is served at its URL, with git's digest of it as ETag. A large one is a redirect to
another host, with its size and SHA-256 in headers, as the hub does for files stored with LFS.
Pages of any site may fetch both, and read no header that is not safe by the rules of CORS.
"""

from __future__ import annotations

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def git_sha1(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class StandInHub:
    """``with StandInHub() as hub``: serves the published files and records the requests.

    The other attributes are faults that a test can set; counters count down to 0.
    """

    def __init__(self) -> None:
        self.files: dict[str, tuple[bytes, str]] = {}  # path → content, commit
        self.requests: list[tuple[str, str, str | None]] = []  # method, file's name, Range
        self.cut = 0  # number of downloads of a large file that break off half-way
        self.spoil = 0  # number of downloads that arrive with a wrong byte
        self.missing_bytes = 0  # by which each arrives shorter than its announced size
        self.failures = 0  # number of requests for files that are answered with ``status``
        self.status = 500
        self.pause = 0.0  # seconds between the first and the second half of a large file
        self.go_on = threading.Event()  # ends the pause
        self.whole = False  # send all of a large file, whatever Range asks for
        self.signed_in = True  # else a page to sign in comes in place of each file
        self.lies: list[dict[str, str]] = []  # headers of the next answers to HEAD, one for each
        self.cors = "*"  # the sites whose pages may fetch

    def publish(self, repo: str, commit: str, folder: Path, branch: str | None = None) -> None:
        """Serve a folder as this commit and, if one is given, as a branch that names it."""
        for file in folder.iterdir():
            for revision in (commit, branch) if branch else (commit,):
                self.files[f"/{repo}/resolve/{revision}/{file.name}"] = (file.read_bytes(), commit)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def asked(self, method: str, name: str = "model.safetensors") -> list[str | None]:
        """The Range headers of all requests with this method for one file."""
        return [r for m, n, r in self.requests if (m, n) == (method, name)]

    def __enter__(self) -> StandInHub:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def end_headers(self) -> None:
                self.send_header("Access-Control-Allow-Origin", hub.cors)
                super().end_headers()

            def do_HEAD(self) -> None:
                hub.answer(self)

            def do_GET(self) -> None:
                hub.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *args: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path.removeprefix("/cdn")
        wanted = request.headers.get("Range")
        self.requests.append((request.command, path.rsplit("/", 1)[-1], wanted))
        if path.startswith("/api/"):  # the library's own questions, on which no file depends
            return reply(request, 404)
        if self.failures:
            self.failures -= 1
            return reply(request, self.status)
        if not self.signed_in:
            return reply(request, 200, {"Content-Type": "text/html; charset=utf-8"}, b"Sign in")
        lie = self.lies.pop(0) if self.lies and request.command == "HEAD" else {}
        if path not in self.files:
            folder = path.rpartition("/")[0] + "/"
            beside = [commit for name, (_, commit) in self.files.items() if name.startswith(folder)]
            headers = {"X-Error-Code": "EntryNotFound" if beside else "RepoNotFound"}
            if beside:
                headers["X-Repo-Commit"] = beside[0]
            return reply(request, 404, headers | lie)
        content, commit = self.files[path]
        if request.path.startswith("/cdn"):
            return self.send_large(request, content, wanted)
        headers = {"X-Repo-Commit": commit, "ETag": f'"{git_sha1(content)}"'}
        if path.endswith(".safetensors"):
            headers["X-Linked-ETag"] = f'"{hashlib.sha256(content).hexdigest()}"'
            headers["X-Linked-Size"] = str(len(content))
            headers["Location"] = f"http://localhost:{self.server.server_port}/cdn{path}"
            return reply(request, 302, headers | lie)
        reply(request, 200, headers | lie, content)

    def send_large(self, request: BaseHTTPRequestHandler, content: bytes, wanted: str | None):
        if self.spoil:
            self.spoil -= 1
            content = content[:-1] + bytes([content[-1] ^ 1])
        content = content[: len(content) - self.missing_bytes]
        if self.whole:
            wanted = None
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        if start and start >= len(content):
            return reply(request, 416)
        headers = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
        content = content[start:]
        half = len(content) // 2
        reply(
            request, 206 if wanted else 200, headers if wanted else {}, content[:half], len(content)
        )
        request.wfile.flush()
        self.go_on.wait(self.pause)
        if self.cut:
            self.cut -= 1
            request.close_connection = True
        elif request.command == "GET":
            request.wfile.write(content[half:])


def reply(
    request: BaseHTTPRequestHandler,
    status: int,
    headers: dict[str, str] | None = None,
    content: bytes = b"",
    length: int | None = None,
) -> None:
    request.send_response(status)
    for name, value in (headers or {}).items():
        request.send_header(name, value)
    request.send_header("Content-Length", str(len(content) if length is None else length))
    request.end_headers()
    if request.command == "GET":
        request.wfile.write(content)
