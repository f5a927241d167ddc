"""Interactive exhibits in JupyterLab and Notebook 7.

The first cell outputs the bundled scripts and their data (4 MB), then immediately replaces that
output by the stylesheet. Jupyter executes the script when it arrives and saves only the last
output, so the notebook does not grow. After a reload exhibits are static until the first cell runs.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

STATIC = Path(__file__).parent / "static"
PAGE_DARK = 'html[data-theme="dark"]'
LAB_DARK = 'body[data-jp-theme-light="false"]'
# The exhibits' CSS variables, mapped to those of JupyterLab's theme.
COLOURS = """.jp-OutputArea .g2-live {
  --g2-page: var(--jp-layout-color0);
  --g2-edge: var(--jp-border-color1);
  --g2-room: var(--jp-layout-color2);
  --g2-muted: var(--jp-ui-font-color2);
  --g2-accent: var(--jp-brand-color1);
  --g2-mono: var(--jp-code-font-family);
  color-scheme: light;
}
body[data-jp-theme-light="false"] .g2-live { color-scheme: dark; }"""


def in_live_kernel() -> bool:
    """True in an interactive Jupyter kernel; False in scripts and with GPT2_EDU_BOOK=1."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return hasattr(get_ipython(), "kernel") and os.environ.get("GPT2_EDU_BOOK") != "1"


@cache
def script() -> str:
    """The script that makes a page's exhibits interactive; it does nothing the second time."""
    from ..web import files_script

    def static(name: str) -> str:
        return (STATIC / name).read_text(encoding="utf-8")

    css = "".join(map(static, ("base.css", "live.css", "flow.css")))
    css = css.replace(PAGE_DARK, f":is({PAGE_DARK}, {LAB_DARK})") + COLOURS
    style = f'document.createElement("style"), {{ textContent: {json.dumps(css)} }}'
    parts = [
        f"document.head.append(Object.assign({style}));",
        *map(files_script, ("crane", "crane_ask", "crane_grammar", "cups", "draft", "gpt2")),
        *map(
            static, ("gpt2.js", "base.js", "flow.js", "deep.js", "beside.js", "space.js", "live.js")
        ),
    ]
    return "\n".join(["if (!globalThis.gpt2) {", *parts, "}"])


def enable_exhibits(style: Any) -> None:
    """Make this notebook's exhibits interactive; ``style`` is the output that remains."""
    from IPython.display import Javascript, display

    display(Javascript(script()), display_id=True).update(style)
