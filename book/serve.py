"""Serve the built pages on this machine, and on no other: `make serve PORT=8000`."""

from __future__ import annotations

import errno
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SITE = Path(__file__).resolve().parent.parent / "_build" / "html"


class OurServer(ThreadingHTTPServer):
    allow_reuse_address = sys.platform != "win32"


def main(port: str) -> int:
    if not port.isdecimal() or not 0 < int(port) < 2**16:
        print(f"PORT={port} is no port: a number from 1 to 65535", file=sys.stderr)
        return 2
    try:
        handler = partial(SimpleHTTPRequestHandler, directory=str(SITE))
        server = OurServer(("127.0.0.1", int(port)), handler)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        why = "is in use" if error.errno == errno.EADDRINUSE else "is not for everybody"
        print(f"Port {port} {why}. Name another one: make serve PORT=8001", file=sys.stderr)
        return 1
    print(f"Serving on http://127.0.0.1:{port}/ (Ctrl-C ends it)", flush=True)
    with server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
