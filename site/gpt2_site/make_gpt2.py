"""OpenAI's GPT-2 in 4 bits among the files of the built site: `make gpt2`, before it is published.

The pages then fetch these 81 MB from their own site, in place of 548 MB from the hub. The weights
of the pinned commit are rounded by the code that rounds them in a page (web/dev/round.mjs), and
written as a page stores them, in parts that GitHub Pages takes. What they are is added to a script
that pages load anyway: a site without them is not asked for what it does not have.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from gpt2_edu.hub import CONFIG, PUBLISHED, WEIGHTS, Published, fetch
from gpt2_edu.machine.files import atomic_write
from gpt2_site.chapters import ROOT
from gpt2_site.katex import NODE
from gpt2_site.make_pdf import SITE

SCRIPT = "base.js"  # with web/exhibits/published.mjs
ADDED = "\n(globalThis.gpt2Files ??= {}).gpt2_int4 = "  # what that looks for
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


def parts_and_manifest(
    folder: Path, published: Published
) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The parts by their names, and what a page is told of them."""
    weights = rounded(folder)
    sha256 = hashlib.sha256(weights).hexdigest()
    starts = range(0, len(weights), PART)
    parts = {
        f"gpt2-{sha256[:8]}-{n}.bin": weights[start : start + PART]
        for n, start in enumerate(starts)
    }
    return parts, {
        "title": "GPT-2 (124M) by OpenAI, in 4 bits",
        "licence": LICENCE,
        "repo": published.repo,
        "commit": published.commit,
        "made_from": {WEIGHTS: published.sha256[WEIGHTS]},
        "bytes": len(weights),
        "sha256": {f"{BACKEND}.safetensors": sha256},  # of the parts, joined
        "parts": {name: len(part) for name, part in parts.items()},
        "config": (folder / CONFIG).read_text("utf-8"),
    }


def main() -> int:
    parts, manifest = parts_and_manifest(fetch("gpt2"), PUBLISHED["gpt2"])
    for name, content in parts.items():
        with atomic_write(SITE / "_static" / "files" / name) as part:
            part.write_bytes(content)
        print(f"{name}: {len(content) / 1e6:.1f} MB")
    script = SITE / "_static" / SCRIPT
    built, *_ = script.read_text("utf-8").split(ADDED)
    with atomic_write(script) as part:
        part.write_text(f"{built}{ADDED}{json.dumps(manifest)};\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
