"""Chromium and a server for it, for benchmarks and tests; and what a page's process used."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
TICK = 1 / os.sysconf("SC_CLK_TCK")  # seconds by which the processor's clock advances
NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]


def program() -> str | None:
    """The one named by the variable CHROMIUM, or the first on PATH."""
    named = os.environ.get("CHROMIUM")
    return next(filter(None, map(shutil.which, [named] if named else NAMES)), None)


@contextmanager
def starter(missing: Callable[[str], object]) -> Iterator[Callable[..., Any]]:
    """What starts a Chromium, with more flags; ``missing`` is called where there is none."""
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        missing("playwright is not installed: pip install playwright")
    path = program()
    if path is None:
        missing(f"no Chromium: none of {', '.join(NAMES)} is on PATH, and CHROMIUM names none")
    with sync_playwright() as playwright:
        yield lambda *more: playwright.chromium.launch(executable_path=path, args=[*FLAGS, *more])


NONE: Mapping[str, str] = MappingProxyType({})


class Quiet(SimpleHTTPRequestHandler):
    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".mjs": "text/javascript"}

    def __init__(
        self,
        *args: object,
        made: Mapping[str, str] = NONE,
        kept: tuple[str, ...] = (),
        **more: object,
    ) -> None:
        self.made, self.kept = made, kept
        super().__init__(*args, **more)

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path not in self.made:
            return super().do_GET()
        content = self.made[path].encode()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def end_headers(self) -> None:
        if self.path.startswith(self.kept):
            self.send_header("Cache-Control", "max-age=3600")
        super().end_headers()

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def served(
    folder: Path, made: Mapping[str, str] = NONE, kept: tuple[str, ...] = ()
) -> Iterator[str]:
    """The address of a folder on this machine, and of scripts and pages that no file holds.

    Browsers may cache what is below the paths in ``kept``.
    """
    handler = partial(Quiet, directory=str(folder), made=made, kept=kept)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Page:
    """A page that offers its functions as ``bench``."""

    def __init__(self, browser, address: str) -> None:
        self.tools = browser.new_browser_cdp_session()
        self.page = browser.new_page()
        self.page.goto(address)
        self.page.wait_for_function("globalThis.bench !== undefined")

    def ask(self, call: str, *values: object):
        return self.page.evaluate("([call, ...values]) => bench[call](...values)", [call, *values])

    def choose(self, files: list[Path]) -> None:
        """Real files, as a reader chooses them; they are not copied into memory."""
        self.page.set_input_files("input[type=file]", files)

    def renderer(self) -> int:
        """The process that draws the page and runs its workers: of several, the largest."""
        processes = self.tools.send("SystemInfo.getProcessInfo")["processInfo"]
        return max((p["id"] for p in processes if p["type"] == "renderer"), key=peak_memory)


@contextmanager
def page_of_its_own(launch: Callable[..., Any], address: str) -> Iterator[Page]:
    """A page in a Chromium that has done nothing else."""
    browser = launch()
    try:
        yield Page(browser, address)
    finally:
        browser.close()


def peak_memory(process: int) -> int:
    """The most bytes that a process has held so far."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def processor_seconds(process: int) -> float:
    """What all threads of a process have worked so far; waiting does not count."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * TICK
