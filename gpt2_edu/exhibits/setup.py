"""Notebook set-up: styles of exhibits, figures and printed tensors."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from cycler import cycler

from ..machine import notebook_errors
from ..machine.display import Exhibit
from .jupyter import STATIC, enable_exhibits, in_live_kernel

# One colour for each role, on every page and in every figure. They are distinguishable with all
# common forms of colour blindness (Okabe and Ito 2008).
COLOURS = {
    "q": "#0072b2",
    "k": "#d55e00",
    "v": "#009e73",
    "weights": "#8b4a9c",
    "plain": "#56606b",
    "bird": "#004e54",
    "machine": "#c08a00",
}
STYLE = Path(__file__).parents[1] / "assets" / "book.mplstyle"  # of matplotlib's figures


def stylesheet() -> str:
    """The exhibits' CSS."""
    return (STATIC / "exhibits.css").read_text(encoding="utf-8")


def setup() -> None:
    """Prepare a notebook: stylesheet, figure style, four decimals for tensors, short errors.

    Published pages link stylesheet and scripts themselves; Jupyter gets both from the output of
    this call. Colab isolates every output in a frame, so there each output includes the
    stylesheet.
    """
    from IPython import get_ipython
    from IPython.display import HTML, display

    plt.style.use([STYLE, {"axes.prop_cycle": cycler(color=list(COLOURS.values()))}])
    torch.set_printoptions(precision=4, sci_mode=False)

    shell = get_ipython()
    if os.environ.get("GPT2_EDU_BOOK") == "1":
        torch.set_num_threads(1)  # stored outputs were computed with one thread
        return
    if shell is not None:
        notebook_errors.install(shell)
    if "google.colab" in sys.modules:
        Exhibit.style = f"<style>{stylesheet()}</style>"
    elif shell is not None:
        style = HTML(f"<style>{stylesheet()}</style>")
        if in_live_kernel():
            enable_exhibits(style)
        else:
            display(style)
