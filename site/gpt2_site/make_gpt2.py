"""OpenAI's GPT-2 in 4 bits among the files of the built site: `make gpt2`, before it is published.

The pages then fetch these 81 MB from their own site, in place of 548 MB from the hub. The weights
of the pinned commit are rounded by the code that rounds them in a page (web/dev/round.mjs), and
written as a page stores them, in parts that GitHub Pages takes. A manifest says what they are.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gpt2_edu.hub import CONFIG, PUBLISHED, WEIGHTS, Published, fetch
from gpt2_edu.machine.files import atomic_write
from gpt2_site.chapters import ROOT
from gpt2_site.katex import NODE
from gpt2_site.make_pdf import SITE

MANIFEST = "gpt2_int4.json"  # where web/exhibits/published.mjs looks for it
BACKEND = "wasm-int4"  # of web/backend.mjs, that computes with them
PART = 95_000_000  # bytes; GitHub takes files up to 100 MB
LICENCE = "MIT, modified, (c) 2019 OpenAI: https://github.com/openai/gpt-2/blob/master/LICENSE"


def rounded(folder: Path) -> bytes:
    """The weights in a folder, as a page stores them."""
    with tempfile.TemporaryDirectory() as made:
        path = Path(made, "rounded")
        program = [NODE, ROOT / "web" / "dev" / "round.mjs"]
        subprocess.run([*program, folder, BACKEND, path], check=True)
        return path.read_bytes()


def files(folder: Path, published: Published) -> Iterator[tuple[str, bytes]]:
    """Names and contents: the parts, then the manifest."""
    weights = rounded(folder)
    sha256 = hashlib.sha256(weights).hexdigest()
    parts = {}
    for n, start in enumerate(range(0, len(weights), PART)):
        name, part = f"gpt2-{sha256[:8]}-{n}.bin", weights[start : start + PART]
        parts[name] = len(part)
        yield name, part
    manifest = {
        "title": "GPT-2 (124M) by OpenAI, in 4 bits",
        "licence": LICENCE,
        "repo": published.repo,
        "commit": published.commit,
        "made_from": {WEIGHTS: published.sha256[WEIGHTS]},
        "bytes": len(weights),
        "sha256": {f"{BACKEND}.safetensors": sha256},  # of the parts, joined
        "parts": parts,
        "config": (folder / CONFIG).read_text("utf-8"),
    }
    yield MANIFEST, json.dumps(manifest, indent=1).encode()


def main() -> int:
    for name, content in files(fetch("gpt2"), PUBLISHED["gpt2"]):
        with atomic_write(SITE / "_static" / "files" / name) as part:
            part.write_bytes(content)
        print(f"{name}: {len(content) / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
