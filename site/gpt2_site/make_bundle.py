"""The book to carry: one zip with the site, the notebooks and the package.

`make bundle` puts it into _build/dist. The same sources give the same bytes.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

from gpt2_site.addresses import published, version
from gpt2_site.chapters import ROOT
from gpt2_site.make_pdf import OUT, SITE

LONG_AGO = (2026, 1, 1, 0, 0, 0)  # a zip file's times; the content decides
README = """\
GPT-2 from the first token, version {version}

To read: open site/index.html in a browser. No network is needed. Pictures answer, and the small
models run in the page. If your browser keeps nothing for pages that come from a disk (progress, or
OpenAI's weights once they are fetched), serve the folder instead, and open the address:

    python -m http.server --directory site --bind 127.0.0.1 8000

To run the notebooks, with Python 3.11 to 3.13, in this folder:

    python -m venv env
    env/bin/pip install "./{wheel}[book]" jupyterlab
    env/bin/jupyter lab notebooks

Newer versions: {address}
Text and figures: CC BY 4.0. Code: MIT. NOTICE names the parts that are the work of others.
"""


def entries() -> dict[str, Path | str]:
    """What the zip holds: names in it, and the files or texts that they are."""
    (wheel,) = OUT.glob(f"gpt2_edu-{version()}-*.whl")
    found: dict[str, Path | str] = {
        "README.txt": README.format(
            version=version(), wheel=wheel.name, address=published("book/index")
        ),
        wheel.name: wheel,
        **{name: ROOT / name for name in ("LICENSE", "LICENSE-TEXT", "NOTICE", "CITATION.cff")},
    }
    for folder, root in (("site", SITE), ("notebooks", ROOT / "notebooks")):
        for path in root.rglob("*"):
            if path.is_file() and ".ipynb_checkpoints" not in path.parts:
                found[f"{folder}/{path.relative_to(root).as_posix()}"] = path
    return found


def main() -> int:
    name = f"gpt2-edu-{version()}"
    target = OUT / f"{name}.zip"
    part = target.with_suffix(".zip.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as zipped:
            for inside, source in sorted(entries().items()):
                content = source if isinstance(source, str) else source.read_bytes()
                entry = zipfile.ZipInfo(f"{name}/{inside}", LONG_AGO)
                entry.external_attr = 0o644 << 16
                zipped.writestr(entry, content, zipfile.ZIP_DEFLATED)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    print(f"{target.name}: {target.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
