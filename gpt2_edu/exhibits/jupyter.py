"""Exhibits that answer in JupyterLab and Notebook 7, as they do on the book's pages.

The first cell sends the packed scripts and the files that they need, 2.4 MB, as an output, and
puts the stylesheet in its place at once. Jupyter runs such a script when it hears of it, whether
the cell is in view or not, and keeps the output that stands there last: so a saved notebook grows
by nothing. A page that is loaded anew, or that does not trust a notebook's outputs, shows what
exhibits print, until the first cell runs.
"""

from __future__ import annotations

import json
import os
from functools import cache
from importlib.resources import files
from typing import Any

STATIC = files("gpt2_edu") / "exhibits" / "static"
PAGE_DARK = 'html[data-theme="dark"]'
LAB_DARK = 'body[data-jp-theme-light="false"]'
# A page tells exhibits its colours by these names; JupyterLab has its own for them.
COLOURS = """.jp-OutputArea .g2-live {
  --g2-page: var(--jp-layout-color0);
  --g2-edge: var(--jp-border-color1);
  --g2-room: var(--jp-layout-color2);
  --g2-muted: var(--jp-ui-font-color2);
  --g2-accent: var(--jp-brand-color1);
  --g2-mono: var(--jp-code-font-family);
}"""


def in_live_kernel() -> bool:
    """Whether somebody sits at this kernel: not while the book is made, nor in a script."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return hasattr(get_ipython(), "kernel") and os.environ.get("GPT2_EDU_BOOK") != "1"


@cache
def script() -> str:
    """What makes the exhibits of a page answer; nothing, where they do already."""
    from ..web import files_script

    def static(name: str) -> str:
        return (STATIC / name).read_text(encoding="utf-8")

    css = static("live.css").replace(PAGE_DARK, f":is({PAGE_DARK}, {LAB_DARK})") + COLOURS
    style = f'document.createElement("style"), {{ textContent: {json.dumps(css)} }}'
    parts = [
        f"document.head.append(Object.assign({style}));",
        *(files_script(name) for name in ("crane", "gpt2")),
        *(static(name) for name in ("gpt2.js", "live.js")),
    ]
    return "\n".join(["if (!globalThis.gpt2) {", *parts, "}"])


def bring(style: Any) -> None:
    """Have the exhibits of this notebook's page answer; ``style`` is the output that stays."""
    from IPython.display import Javascript, display

    display(Javascript(script()), display_id=True).update(style)
